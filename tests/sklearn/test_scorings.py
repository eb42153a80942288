"""Scorings against scikit-learn's own scorers on *all* splits of small data."""

from itertools import combinations, product

import numpy as np
import pytest
from exact_bridge import ccv_scorer, expected_score
from sklearn import config_context, metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, make_scorer, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    LeavePGroupsOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import knnccv
from knnccv.sklearn import ExpectedScore, WholeData


def data(counts, seed=0):
    """Make points without ties."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rng.normal(size=(len(y), 2)) + 0.6 * y[:, None], y


def rule(k, **options):
    return KNeighborsClassifier(k, algorithm="brute", **options)


def stratified_tests(y, cv):
    """Yield all test sets of each fold with the splitter's numbers per class."""
    numbers = [np.bincount(y[test], minlength=y.max() + 1) for _, test in cv.split(y[:, None], y)]
    for row in np.unique(numbers, axis=0):
        share = np.mean([(row == other).all() for other in numbers])
        parts = [combinations(np.flatnonzero(y == c), n) for c, n in enumerate(row)]
        yield share, [np.concatenate(chosen).astype(int) for chosen in product(*parts)]


class Answered(ClassifierMixin, BaseEstimator):
    """A classifier with stored predictions, since many scorers need the same ones."""

    def __init__(self, fitted=None, X=None):
        self.classes_ = getattr(fitted, "classes_", None)
        self.shares = None if fitted is None else fitted.predict_proba(X)
        self.labels = None if fitted is None else fitted.predict(X)

    def predict(self, X):  # noqa: ARG002
        return self.labels

    def predict_proba(self, X):  # noqa: ARG002
        return self.shares


def enumerated(estimator, X, y, folds, scorers):
    """Average scikit-learn's own score over folds and their test sets, for each scorer."""
    total = np.zeros(len(scorers))
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for share, tests in folds:
            for test in tests:
                train = np.setdiff1d(np.arange(len(y)), test)
                fitted = Answered(estimator.fit(X[train], y[train]), X[test])
                total += [scorer(fitted, X[test], y[test]) * share / len(tests) for scorer in scorers]
    return total


TWO = ["recall", make_scorer(recall_score, pos_label=0), make_scorer(recall_score, greater_is_better=False)]
ANY = [
    "recall_macro",
    "recall_micro",
    "recall_weighted",
    "precision_micro",
    "f1_micro",
    "neg_brier_score",
    "neg_log_loss",
    make_scorer(metrics.log_loss, response_method="predict_proba"),
    "neg_mean_absolute_error",
    make_scorer(recall_score, average="macro", zero_division=np.nan),
    make_scorer(metrics.fbeta_score, beta=2.0, average="micro"),
]
THREE = [
    make_scorer(recall_score, average="macro", labels=[2]),
    make_scorer(recall_score, average="macro", labels=[2, 0]),
]
BRIER = [
    make_scorer(
        metrics.brier_score_loss,
        response_method="predict_proba",
        greater_is_better=greater,
        scale_by_half=half,
    )
    for greater, half in ((True, True), (False, False), (True, "auto"))
]


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    ("counts", "n_splits", "scorings"),
    [((4, 3), 3, TWO + ANY + BRIER), ((3, 3, 2), 2, ANY + THREE + BRIER)],
    ids=["two", "three"],
)
def test_scorings_are_those_of_all_stratified_folds(counts, n_splits, scorings, k):
    X, y = data(counts, seed=sum(counts))
    cv = StratifiedKFold(n_splits, shuffle=True)
    scorers = [get_scorer(scoring) for scoring in scorings]
    wanted = enumerated(rule(k), X, y, stratified_tests(y, cv), scorers)
    for scoring, value in zip(scorings, wanted, strict=True):
        found = expected_score(rule(k), X, y, cv=cv, scoring=scoring)
        assert found.exact
        assert not found.deterministic
        assert found.score == pytest.approx(value, abs=1e-13), scoring


@pytest.mark.parametrize("k", [1, 2])
def test_means_over_tested_items_need_no_strata(k):
    X, y = data((4, 4), seed=3)
    scorings = ["neg_brier_score", "recall_micro", "f1_micro"]
    tests = [np.array(chosen) for chosen in combinations(range(8), 2)]
    wanted = enumerated(rule(k), X, y, [(1, tests)], [get_scorer(scoring) for scoring in scorings])
    found = expected_score(rule(k), X, y, cv=KFold(4, shuffle=True), scoring=scorings)
    assert [one.score for one in found.values()] == pytest.approx(wanted, abs=1e-13)
    accuracy = expected_score(rule(k), X, y, cv=KFold(4, shuffle=True)).score
    assert (
        expected_score(rule(k), X, y, cv=KFold(4, shuffle=True), scoring="recall_weighted").score
        == accuracy
    )


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_recalls_need_every_class_in_every_test_set():
    X, y = data((9, 5, 2))
    estimator = rule(3)
    for scoring in ("recall_macro", make_scorer(recall_score, average="macro", labels=[0])):
        for cv in (
            StratifiedKFold(3, shuffle=True),
            KFold(2, shuffle=True),
            StratifiedShuffleSplit(test_size=3),
        ):
            with pytest.raises(ValueError, match=r"only if every test set has .* at least one"):
                expected_score(estimator, X, y, cv=cv, scoring=scoring)
    # balanced_accuracy leaves out classes that are not tested; recall_macro counts those predicted as 0
    cv = StratifiedKFold(3, shuffle=True)
    balanced = expected_score(estimator, X, y, cv=cv, scoring="balanced_accuracy")
    left_out = make_scorer(recall_score, average="macro", zero_division=np.nan)
    assert expected_score(estimator, X, y, cv=cv, scoring=left_out).score == balanced.score
    both = StratifiedKFold(2, shuffle=True)
    same = expected_score(estimator, X, y, cv=both, scoring=["balanced_accuracy", "recall_macro"])
    assert same["recall_macro"].score == same["balanced_accuracy"].score
    pooled = expected_score(
        estimator, X, y, cv=KFold(2, shuffle=True), scoring="recall_macro", average="pooled"
    )
    assert pooled.score == pytest.approx(pooled.result.balanced_accuracy, abs=1e-13)
    one = make_scorer(recall_score, average="macro", labels=[1])
    pooled = expected_score(estimator, X, y, cv=KFold(2, shuffle=True), scoring=one, average="pooled")
    whole = knnccv.complete_cv(X, y, "knn", knnccv.KFold(2), n_neighbors=3, ties="index")
    assert pooled.score == pytest.approx(whole.per_class()[1], abs=1e-13)


AREAS = ["roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"]


@pytest.mark.parametrize(
    ("counts", "scorings"),
    [((4, 3), [*AREAS, make_scorer(metrics.roc_auc_score, response_method="predict_proba", max_fpr=1)]),
     ((3, 2, 3), ["roc_auc_ovo"])],
    ids=["two", "three"],
)  # fmt: skip
def test_the_area_of_one_neighbor_is_exact_in_stratified_folds(counts, scorings):
    X, y = data(counts, seed=5)
    cv = StratifiedKFold(2, shuffle=True)
    wanted = enumerated(rule(1), X, y, stratified_tests(y, cv), [get_scorer(name) for name in scorings])
    for scoring, value in zip(scorings, wanted, strict=True):
        found = expected_score(rule(1, weights="distance"), X, y, cv=cv, scoring=scoring)
        assert found.exact
        assert found.score == pytest.approx(value, abs=1e-13), scoring
        assert found.error_bound < 1e-12


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize(
    ("counts", "k", "cv", "scoring", "average"),
    [
        ((9, 9), 3, StratifiedKFold(3, shuffle=True), "roc_auc", "folds"),
        ((9, 9), 2, StratifiedKFold(3, shuffle=True), "roc_auc_ovo", "folds"),
        ((9, 9), 1, StratifiedKFold(3, shuffle=True), "roc_auc", "pooled"),
        ((9, 9), 1, KFold(3, shuffle=True), "roc_auc", "folds"),
        ((9, 2), 1, StratifiedKFold(3, shuffle=True), "roc_auc", "folds"),
        ((12, 2), 1, StratifiedShuffleSplit(train_size=2, test_size=12), "roc_auc", "folds"),
        ((9, 9, 9), 1, StratifiedKFold(3, shuffle=True), "roc_auc_ovr", "folds"),
        ((9, 9, 9), 1, StratifiedKFold(3, shuffle=True), "roc_auc_ovo_weighted", "folds"),
        ((9, 9), 3, KFold(3, shuffle=True), "neg_log_loss", "folds"),
        ((9, 2), 3, StratifiedKFold(3, shuffle=True), "neg_log_loss", "folds"),
        ((99, 99), 3, ShuffleSplit(test_size=60, train_size=60), "neg_log_loss", "folds"),
    ],
    ids=str,
)
def test_what_shares_cannot_give_exactly(counts, k, cv, scoring, average):
    X, y = data(counts)
    with pytest.raises(ValueError, match="there is no exact expected score"):
        expected_score(rule(k), X, y, cv=cv, scoring=scoring, average=average)


def test_log_loss_without_strata_is_exact_where_a_fold_hardly_lacks_a_class():
    X, y = data((200, 200))
    cv = KFold(4, shuffle=True)
    found = expected_score(rule(3), X, y, cv=cv, scoring="neg_log_loss")
    assert found.exact
    plain = expected_score(
        rule(3), X, y, cv=cv, scoring="neg_log_loss", method="mc", n_repeats=40, random_state=0
    )
    assert abs(found.score - plain.score) < 4 * plain.std_error
    whole = knnccv.complete_cv(
        X, y, "confidence", knnccv.KFold(4), ties="index", n_neighbors=3, score="log_loss"
    )
    assert found.score == -whole.score
    assert found.standard_error() == whole.standard_error()


@pytest.mark.slow
def test_recall_in_shuffle_splits():
    X, y = data((6, 3))
    cv = StratifiedShuffleSplit(1, test_size=3)
    scorings = ["recall", "neg_brier_score"]
    wanted = enumerated(rule(3), X, y, stratified_tests(y, cv), [get_scorer(name) for name in scorings])
    found = expected_score(rule(3), X, y, cv=cv, scoring=scorings)
    assert [one.score for one in found.values()] == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("scoring", ["recall", "recall_macro", "neg_brier_score"])
@pytest.mark.parametrize("average", ["folds", "pooled"])
def test_scorings_of_groups(scoring, k, average):
    X, y = data((9, 7), seed=1)
    groups = np.empty(16, int)
    for c in range(2):
        groups[y == c] = np.arange((y == c).sum()) % 5
    cv = GroupShuffleSplit(test_size=2)
    found = expected_score(rule(k), X, y, cv=cv, groups=groups, scoring=scoring, average=average)
    splits = list(LeavePGroupsOut(2).split(X, y, groups))
    assert found.exact
    assert found.result is None
    assert "scikit-learn's own" not in found.explanation
    scores = cross_val_score(rule(k), X, y, cv=splits, scoring=scoring)
    if average == "folds":
        assert found.score == pytest.approx(scores.mean(), abs=1e-13)
    elif scoring == "neg_brier_score":
        sizes = [len(test) for _, test in splits]
        assert found.score == pytest.approx(np.average(scores, weights=sizes), abs=1e-13)
    else:
        right = np.zeros((2, 2))
        for train, test in splits:
            hit = rule(k).fit(X[train], y[train]).predict(X[test]) == y[test]
            right += [[hit[y[test] == c].sum(), (y[test] == c).sum()] for c in range(2)]
        recalls = right[:, 0] / right[:, 1]
        assert found.score == pytest.approx(
            recalls[1] if scoring == "recall" else recalls.mean(), abs=1e-13
        )


def test_groups_without_a_class_are_left_to_scikit_learn():
    X, y = data((6, 6), seed=2)
    groups = np.where(y == 0, np.arange(12) % 3, 2 + np.arange(12) % 2)
    with pytest.warns(metrics._classification.UndefinedMetricWarning):
        found = expected_score(
            rule(1), X, y, cv=GroupShuffleSplit(test_size=1), groups=groups, scoring="recall_macro"
        )
    assert "scikit-learn's own scores of all" in found.explanation


@pytest.mark.parametrize(
    ("scoring", "reason"),
    [
        ("precision", "divides by a number of predictions"),
        ("precision_macro", "divides by a number of predictions"),
        ("f1", "divides by a number of predictions"),
        ("f1_weighted", "divides by a number of predictions"),
        ("jaccard_micro", "divides by a number of predictions"),
        ("roc_auc", "ranks the tested samples"),
        ("average_precision", "ranks the tested samples"),
        ("neg_root_mean_squared_error", "the mean of roots is not the root of the mean"),
        (make_scorer(recall_score, average="micro", labels=[1]), "has no exact expectation here"),
    ],
    ids=str,
)
def test_what_is_not_exact_says_why(scoring, reason):
    X, y = data((9, 9))
    with pytest.raises(
        ValueError, match=f"has no exact expectation here.*{reason}|{reason}.*exact are 'accuracy'"
    ):
        expected_score(rule(3), X, y, cv=StratifiedKFold(3, shuffle=True), scoring=scoring)


@pytest.mark.parametrize(
    ("scoring", "reason"),
    [
        ("r2", "divides by the spread of the tested values"),
        (None, "divides by the spread of the tested values"),
        ("neg_mean_absolute_error", "the absolute error of a mean of K values"),
        ("neg_root_mean_squared_error", "the mean of roots is not"),
    ],
)
def test_what_is_not_exact_of_regression_says_why(scoring, reason):
    X, y = data((9, 9))
    with pytest.raises(ValueError, match=f"has no exact expectation here .*{reason}"):
        expected_score(KNeighborsRegressor(3), X, y, cv=KFold(3, shuffle=True), scoring=scoring)


def test_wrong_arguments_of_recall_are_refused():
    X, y = data((6, 6, 6))
    cv = StratifiedKFold(3, shuffle=True)
    with pytest.raises(ValueError, match=r"recall with average='binary' is for two classes, got 3"):
        expected_score(rule(1), X, y, cv=cv, scoring="recall")
    names = np.array(["no", "yes"])[y % 2]
    with pytest.raises(
        ValueError, match=r"one of 'no', 'yes', got \[1\]: make_scorer\(recall_score, pos_label"
    ):
        expected_score(rule(1), X, names, cv=cv, scoring="recall")
    yes = expected_score(rule(1), X, names, cv=cv, scoring=make_scorer(recall_score, pos_label="yes"))
    assert yes.score == expected_score(rule(1), X, y % 2, cv=cv, scoring="recall").score
    with pytest.raises(
        ValueError, match=r"neg_brier_score of weights='distance' is exact for n_neighbors=1"
    ):
        expected_score(rule(2, weights="distance"), X, y, cv=cv, scoring="neg_brier_score")
    one = expected_score(rule(1, weights="distance"), X, y, cv=cv, scoring="neg_brier_score")
    assert one.score == expected_score(rule(1), X, y, cv=cv, scoring="neg_brier_score").score


def test_several_scorings_equal_single_ones():
    X, y = data((12, 9, 9))
    cv = StratifiedKFold(3, shuffle=True)
    names = ["accuracy", "balanced_accuracy", "recall_macro", "neg_brier_score"]
    costs = [[0, 1, 4], [2, 0, 1], [7, 3, 0]]
    mapping = {
        "plain": None,
        "costs": costs,
        "recall of 2": make_scorer(recall_score, labels=[2], average="macro"),
    }
    for scoring in (names, tuple(names), set(names), mapping):
        found = expected_score(rule(3), X, y, cv=cv, scoring=scoring)
        assert set(found) == set(scoring)
        for name, one in found.items():
            assert isinstance(one, ExpectedScore)
            asked = scoring[name] if isinstance(scoring, dict) else name
            alone = expected_score(rule(3), X, y, cv=cv, scoring=asked)
            assert (one.score, one.error_bound) == (alone.score, alone.error_bound)
    assert list(expected_score(rule(3), X, y, cv=cv, scoring=names)) == names
    assert isinstance(expected_score(rule(3), X, y, cv=cv, scoring=costs), ExpectedScore)


def test_neighbors_are_searched_once_for_several_scorings(monkeypatch):
    from knnccv.sklearn import _estimators

    calls = []
    search = _estimators._neighbors_of
    monkeypatch.setattr(_estimators, "_neighbors_of", lambda *a: calls.append(a) or search(*a))
    X, y = data((12, 9, 9))
    expected_score(
        rule(3), X, y, cv=KFold(3, shuffle=True), scoring=["accuracy", "neg_brier_score", "f1_micro"]
    )
    assert len(calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, np.random.default_rng(0), np.random.RandomState(0), None], ids=str)
def test_several_scorings_are_sampled_on_the_same_splits(seed):
    X, y = data((12, 9))
    cv = ShuffleSplit(4, test_size=0.4)
    scorings = {"one": "f1_macro", "same": "f1_macro", "exact": "accuracy"}
    found = expected_score(
        rule(3), X, y, cv=cv, scoring=scorings, method="auto", n_repeats=3, random_state=seed
    )
    assert found["one"].score == found["same"].score
    assert [found[name].exact for name in scorings] == [False, False, True]
    if seed == 3:
        alone = expected_score(rule(3), X, y, cv=cv, scoring="f1_macro", method="auto", random_state=3)
        assert alone.score == found["one"].score


def test_several_scorings_of_deterministic_splits():
    X, y = data((12, 9))
    found = expected_score(rule(3), X, y, cv=5, scoring=["accuracy", "f1"])
    for name, one in found.items():
        assert one.deterministic
        assert one.score == cross_val_score(rule(3), X, y, cv=5, scoring=name).mean()
    assert expected_score(rule(3), X, y, cv=LeaveOneOut(), scoring=["accuracy"])["accuracy"].deterministic


def test_the_scorer_takes_the_same_scorings_one_at_a_time():
    X, y = data((12, 9))
    cv = StratifiedKFold(3, shuffle=True)
    names = ["recall", "neg_brier_score", "recall_macro"]
    scorers = {name: ccv_scorer(cv, name) for name in names}
    search = GridSearchCV(
        rule(1),
        {"n_neighbors": [1, 3]},
        scoring=scorers,
        refit="recall",
        cv=WholeData(),
        error_score="raise",
    ).fit(X, y)
    for name in names:
        wanted = [expected_score(rule(k), X, y, cv=cv, scoring=name).score for k in (1, 3)]
        assert search.cv_results_[f"mean_test_{name}"].tolist() == wanted
    for scoring in (names, {"a": "recall"}):
        with pytest.raises(TypeError, match="ccv_scorer computes one score, got scoring="):
            ccv_scorer(cv, scoring)
    design = ccv_scorer(knnccv.StratifiedKFold(3), "recall_macro")
    by_name = ccv_scorer(knnccv.StratifiedKFold(3), "balanced_accuracy")
    model = rule(3).fit(X, y)
    assert design(model, X, y) == by_name(model, X, y)
    with pytest.raises(ValueError, match="only if every test set has"):
        ccv_scorer(knnccv.Subsample(0.5), "recall_macro")(model, X, y)
