"""`expected_score` of weights="distance" and functions: against enumeration, splits and scikit-learn."""

import pickle
from itertools import combinations

import numpy as np
import plain_weighted as plain
import pytest
from exact_bridge import ccv_scorer, expected_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from knnccv import KFold as AllFolds
from knnccv import StratifiedSubsample, Subsample, complete_cv
from knnccv.datasets import load_diabetes, load_wine
from knnccv.driver import _part
from knnccv.driver._rows import score_rows_by_distance
from knnccv.sklearn import WholeData


def fading(distances):
    return np.exp2(-distances / 30.0)


def equal(distances):  # noqa: ARG001
    return None


def near_only(distances):
    return (distances < 1e-9).astype(float)


WEIGHTS = {"distance": ("distance", plain.inverse), "function": (fading, fading)}


def data(seed, n_items=12, n_classes=3):
    rng = np.random.default_rng([seed, 5])
    y = rng.permutation(np.arange(n_items) % n_classes)
    return rng.normal(size=(n_items, 2)) + y[:, None] * 0.5, y


def right_or_not(y, predicted, target):
    return (predicted == y[target]).astype(float)


def scores_of_items(D, y, sizes, k, weigh, score=right_or_not):
    """A_x of every sample from all training sets with `sizes` (n_strata,) samples of each stratum.

    The strata are the classes if there are several sizes. Tied neighbors are in the order of the rows.
    """
    scores = np.empty(len(y))
    for x in range(len(y)):
        strata = [[i for i in range(len(y)) if i != x and (len(sizes) == 1 or y[i] == c)]
                  for c in range(len(sizes))]  # fmt: skip
        sets = [()]
        for members, size in zip(strata, sizes, strict=True):
            sets = [one + part for one in sets for part in combinations(members, size)]
        near = np.array([sorted(one, key=lambda i: (D[x, i], i))[:k] for one in sets])
        weights = weigh(D[x][near])
        if score is right_or_not:
            predicted = plain.classify(y[near], weights, y.max() + 1)
        else:
            predicted = (y[near] * weights).sum(axis=1) / weights.sum(axis=1)
        scores[x] = score(y, predicted, x).mean()
    return scores


def squared_error(y, predicted, target):
    return (predicted - y[target]) ** 2


def test_plain_splits_are_those_of_scikit_learn_to_the_last_bit():
    wine, diabetes = load_wine(), load_diabetes()
    cv = ShuffleSplit(12, test_size=0.3, random_state=0)
    near = plain.Sorted.from_data(wine.X)
    for given, weigh in WEIGHTS.values():
        estimator = KNeighborsClassifier(9, weights=given)
        for scoring in (plain.accuracy, plain.balanced_accuracy):
            mine = plain.split_scores(near, wine.y, cv.split(wine.X), 9, weigh, scoring)
            theirs = cross_val_score(estimator, wine.X, wine.y, cv=cv, scoring=scoring.__name__)
            assert mine.tolist() == theirs.tolist()
    X, y = diabetes.X[:150], diabetes.y[:150]
    mine = plain.split_scores(
        plain.Sorted.from_data(X), y, cv.split(X), 5, plain.inverse, plain.neg_mean_squared_error
    )
    estimator = KNeighborsRegressor(5, weights="distance", algorithm="kd_tree")
    assert (
        mine.tolist() == cross_val_score(estimator, X, y, cv=cv, scoring="neg_mean_squared_error").tolist()
    )


def test_exact_scores_equal_the_enumeration():
    X, y = data(1)
    D = plain.cdist(X, X)
    estimator = KNeighborsClassifier(4, weights="distance")
    cv = ShuffleSplit(test_size=5, train_size=7)
    items = scores_of_items(D, y, [7], 4, plain.inverse)
    found = expected_score(estimator, X, y, cv=cv)
    assert found.exact
    assert found.std_error == 0
    assert found.n_draws == 0
    assert found.error_bound < 1e-10
    assert found.score == pytest.approx(items.mean(), abs=1e-12)
    by_class = np.mean([items[y == c].mean() for c in range(3)])
    found = expected_score(
        estimator, X, y, cv=KFold(2, shuffle=True), scoring="balanced_accuracy", average="pooled"
    )
    items = scores_of_items(D, y, [6], 4, plain.inverse)
    by_class = np.mean([items[y == c].mean() for c in range(3)])
    assert found.score == pytest.approx(by_class, abs=1e-12)
    costs = 1.0 - np.eye(3)
    assert expected_score(estimator, X, y, cv=KFold(2, shuffle=True), scoring=costs).score == pytest.approx(
        1 - items.mean(), abs=1e-12
    )
    stratified = expected_score(estimator, X, y, cv=StratifiedKFold(2, shuffle=True))
    assert stratified.score == pytest.approx(
        scores_of_items(D, y, [2, 2, 2], 4, plain.inverse).mean(), abs=1e-12
    )


def test_ties_and_duplicates_in_the_order_of_the_rows():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (10, 2)).astype(float)
    y = np.arange(10) % 2
    D = plain.cdist(X, X)
    for k in (2, 3):
        items = scores_of_items(D, y, [5], k, plain.inverse)
        found = expected_score(KNeighborsClassifier(k, weights="distance"), X, y, cv=KFold(2, shuffle=True))
        assert found.ties == "index"
        assert found.score == pytest.approx(items.mean(), abs=1e-12)


def test_leave_one_out_is_scikit_learns_own_score():
    wine = load_wine()
    for given, _ in WEIGHTS.values():
        estimator = KNeighborsClassifier(9, weights=given)
        found = expected_score(estimator, wine.X, wine.y, cv=LeaveOneOut())
        assert found.exact
        near = plain.Sorted.from_data(wine.X)
        scores = plain.split_scores(near, wine.y, LeaveOneOut().split(wine.X), 9, WEIGHTS_OF[given])
        assert found.score == pytest.approx(scores.mean(), abs=1e-12)


WEIGHTS_OF = dict(WEIGHTS.values())


def test_regression_equals_the_enumeration():
    X, _ = data(4, 11)
    values = np.random.default_rng(4).normal(size=(11, 2))
    D = plain.cdist(X, X)
    asked = {"cv": ShuffleSplit(test_size=4, train_size=7), "scoring": "neg_mean_squared_error"}
    for given, weigh in WEIGHTS.values():
        true = [scores_of_items(D, column, [7], 3, weigh, squared_error).mean() for column in values.T]
        options = asked | ({"method": "auto", "random_state": 1} if given is fading else {})
        estimator = KNeighborsRegressor(3, weights=given)
        one = expected_score(estimator, X, values[:, 0], **options)
        both = expected_score(estimator, X, values, **options)
        assert len(both.result) == 2
        for found, expected in ((one, -true[0]), (both, -np.mean(true))):
            assert found.exact == (given == "distance")
            assert abs(found.score - expected) <= 1e-12 + 4 * found.std_error < 0.1
    errors = [result.std_error for result in both.result]
    assert both.std_error == pytest.approx(np.hypot(*errors) / 2)


def test_sampled_scores_agree_with_splits():
    wine = load_wine()
    near = plain.Sorted.from_data(wine.X)
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=150, random_state=1)
    estimator = KNeighborsClassifier(15, weights=fading)
    with pytest.raises(ValueError, match=r"no exact expected score: .* is a function, .*'auto' draws"):
        expected_score(estimator, wine.X, wine.y, cv=cv)
    asked = {"cv": cv, "method": "auto", "n_draws": 50}
    found = expected_score(estimator, wine.X, wine.y, **asked, random_state=0)
    assert not found.exact
    assert found.error_bound is None
    assert found.n_draws == 51  # kinds of folds: rounded up
    assert 0 < found.std_error < 0.004
    assert "51 training sets drawn for" in found.explanation
    mean, error = plain.mean_and_error(
        plain.split_scores(near, wine.y, cv.split(wine.X, wine.y), 15, fading), 4
    )
    assert abs(found.score - mean) < 4 * np.hypot(found.std_error, error)
    again = expected_score(estimator, wine.X, wine.y, **asked, random_state=0, n_jobs=2)
    assert (again.score, again.std_error) == (found.score, found.std_error)
    other = expected_score(estimator, wine.X, wine.y, **asked)
    assert other.score != found.score
    with pytest.raises(ValueError, match=r"needs an exact score, but this is .* n_draws=51"):
        found.standard_error()
    assert pickle.loads(pickle.dumps(found)).score == found.score


def test_several_scorings_share_the_neighbors_and_the_seed():
    wine = load_wine()
    estimator = KNeighborsClassifier(12, weights="distance")
    found = expected_score(
        estimator,
        wine.X,
        wine.y,
        cv=StratifiedKFold(3, shuffle=True),
        scoring=["accuracy", "recall_weighted", "f1_macro"],
        method="auto",
        n_draws=20,
        n_runs=20,
    )
    assert found["accuracy"].score == found["recall_weighted"].score
    assert found["accuracy"].n_draws >= 20
    assert (found["f1_macro"].n_draws, found["f1_macro"].n_runs) == (0, 20)


def test_functions_of_distances():
    X, y = data(6)
    cv = KFold(3, shuffle=True)
    asked = {"cv": cv, "method": "auto", "random_state": 2}
    for k, weigh in ((3, equal), (1, fading)):
        exact = expected_score(KNeighborsClassifier(k), X, y, cv=cv).score
        found = expected_score(KNeighborsClassifier(k, weights=weigh), X, y, **asked)
        assert abs(found.score - exact) < 4 * found.std_error < 0.02
    with pytest.raises(ValueError, match=r"near_only.* gives all neighbors of a sample the weight 0"):
        expected_score(KNeighborsClassifier(3, weights=near_only), X, y, **asked)
    brier = {"cv": cv, "scoring": "neg_brier_score"}
    with pytest.raises(ValueError, match=r"neg_brier_score of weights=.*fading.* is exact for"):
        expected_score(KNeighborsClassifier(1, weights=fading), X, y, **brier)


def test_groups_fall_back_to_scikit_learn():
    X, y = data(7)
    groups = np.repeat(np.arange(6), 2)
    estimator = KNeighborsClassifier(3, weights="distance")
    found = expected_score(estimator, X, y, cv=GroupShuffleSplit(test_size=2), groups=groups)
    assert "scikit-learn's own scores of all 15 splits" in found.explanation


def test_the_refusal_comes_before_the_work(monkeypatch):
    """At the first sample that has too many sets, whatever the number of threads."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(531, 8)), rng.integers(0, 2, 531)
    scored = []

    def counted(*arguments):
        scored.append(len(arguments[5]))
        score_rows_by_distance(*arguments)

    monkeypatch.setattr(_part, "score_rows_by_distance", counted)
    estimator, cv = KNeighborsClassifier(5, weights="distance"), KFold(5, shuffle=True)
    with pytest.raises(ValueError, match=r"weights='distance' with n_neighbors=5 .* have too many of them"):
        expected_score(estimator, X, y, cv=cv, n_jobs=1)
    assert sum(scored) < 100
    refusals = set()
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match=r"cannot score sample \d+ exactly") as refused:
            complete_cv(X, y, "weighted", AllFolds(5), method="exact", n_jobs=n_jobs)
        refusals.add(str(refused.value))
    assert len(refusals) == 1


@pytest.mark.parametrize("weights", ["distance", fading])
def test_samples_without_an_exact_score_are_refused_although_draws_agree(weights):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    X = np.column_stack([rng.normal(size=60), 30.0 * y])  # the vote of a sample is nearly always right
    X[:2, 1] = 15.0
    with pytest.raises(ValueError, match=r"have too many of them|is a function, which"):
        expected_score(KNeighborsClassifier(25, weights=weights), X, y, cv=ShuffleSplit(2, train_size=30))


def test_pipelines_that_learn_nothing():
    X, y = data(8)
    cv = KFold(3, shuffle=True)
    rule = KNeighborsClassifier(3, weights="distance")
    inside = expected_score(make_pipeline(Normalizer(), rule), X, y, cv=cv)
    assert inside.score == expected_score(rule, Normalizer().fit_transform(X), y, cv=cv).score


def test_a_search_over_weights():
    wine = load_wine()
    grid = {"n_neighbors": [2, 12], "weights": ["uniform", "distance"]}
    asked = {"scoring": ccv_scorer(Subsample(0.5), method="auto", n_draws=20), "cv": WholeData()}
    search = GridSearchCV(KNeighborsClassifier(), grid, **asked, error_score="raise")
    scores = search.fit(wine.X, wine.y).cv_results_["mean_test_score"]
    assert len(set(scores.tolist())) > 2
    assert scores.tolist() == search.fit(wine.X, wine.y).cv_results_["mean_test_score"].tolist()
    assert "scoring=None, n_draws=20" in repr(asked["scoring"])
    estimator = KNeighborsClassifier(12, weights="distance").fit(wine.X, wine.y)
    with pytest.raises(ValueError, match="ccv_scorer has no exact score: weights='distance'"):
        ccv_scorer(StratifiedSubsample(0.5))(estimator, wine.X, wine.y)
    with pytest.raises(ValueError, match="method must be one of 'exact', 'auto', got 'mc'"):
        ccv_scorer(method="mc")
