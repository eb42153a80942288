"""Scores by random runs: every run equals scikit-learn's on the same splits, the mean that of many runs."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from knnccv.sklearn import WholeData, ccv_scorer, expected_score
from knnccv.sklearn import _by_runs as by_runs
from knnccv.sklearn._estimators import prepare
from knnccv.sklearn._request import Request

KNN = KNeighborsClassifier
FOLDS = StratifiedKFold(4, shuffle=True)


def data(n_items=150, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, n_classes, n_items))
    X = rng.normal(size=(n_items, 3)) * [1.0, 4.0, 0.3] + 0.9 * y[:, None]
    return X, y


def groups_for(cv, n_items):
    return np.arange(n_items) // 5 if "Group" in type(cv).__name__ else None


def each_run(estimator, X, y, cv, scoring, n_runs, groups=None):
    """The scores of random runs by the engine, and by scikit-learn on the same splits."""
    request = Request(prepare(estimator, X, y, False), X, y, cv, groups, "folds", 1e-12, 1, 3)
    asked = by_runs.Question(request, scoring, *request.prepared.inside(1))
    runs = by_runs.runs_of(request, asked.labels, n_runs)
    is_counted = asked.votes_alike and asked.scorer is not None
    values, _ = (by_runs.count if is_counted else by_runs.predict)(asked, runs)
    expected = []
    for folds in runs.all_folds():
        splits = [
            (np.flatnonzero((folds != f) & (folds != -2)), np.flatnonzero(folds == f))
            for f in range(runs.n_folds)
        ]
        scores = cross_val_score(estimator, X, y, cv=splits, scoring=scoring, error_score="raise")
        expected.append(scores.mean())
    return values, np.array(expected)


BRUTE = {"algorithm": "brute"}
CASES = [
    (KNN(5, **BRUTE), 2, FOLDS, "f1"),
    (KNN(5, **BRUTE), 2, FOLDS, "roc_auc"),
    (KNN(4, **BRUTE), 3, KFold(5, shuffle=True), "f1_macro"),
    (KNN(5, **BRUTE), 3, FOLDS, "roc_auc_ovr"),
    (KNN(5, **BRUTE), 3, FOLDS, "neg_log_loss"),
    (KNN(5, **BRUTE), 4, FOLDS, "top_k_accuracy"),
    (KNN(3, **BRUTE), 2, ShuffleSplit(3, train_size=0.5, test_size=0.3), "jaccard"),
    (KNN(3, **BRUTE), 2, StratifiedShuffleSplit(3, test_size=0.3), "matthews_corrcoef"),
    (KNN(3, **BRUTE), 2, GroupKFold(4, shuffle=True), "f1"),
    (KNN(3, **BRUTE), 2, GroupShuffleSplit(3, test_size=0.3), "average_precision"),
    (KNN(7, weights="distance", **BRUTE), 3, FOLDS, "f1_macro"),
    (KNN(5, weights="distance", **BRUTE), 2, FOLDS, "roc_auc"),
    (KNN(5, weights=lambda d: np.exp(-d), **BRUTE), 2, FOLDS, "f1"),
    (KNN(5, **BRUTE), 2, FOLDS, make_scorer(fbeta_score, beta=3, pos_label=0)),
    (make_pipeline(StandardScaler(), KNN(5, **BRUTE)), 3, FOLDS, "f1_macro"),
    (make_pipeline(MinMaxScaler(), KNN(5, p=1, **BRUTE)), 2, KFold(5, shuffle=True), "roc_auc"),
    (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), [0, 1])], remainder="passthrough"), KNN(3, **BRUTE)
        ),
        2,
        ShuffleSplit(2, test_size=0.2),
        None,
    ),
    (KNeighborsRegressor(5, **BRUTE), 0, KFold(5, shuffle=True), None),
    (
        KNeighborsRegressor(5, weights="distance", **BRUTE),
        0,
        KFold(5, shuffle=True),
        "neg_mean_absolute_error",
    ),
    (make_pipeline(StandardScaler(), KNeighborsRegressor(4, **BRUTE)), 0, KFold(5, shuffle=True), "r2"),
]


@pytest.mark.parametrize(
    ("estimator", "n_classes", "cv", "scoring"), CASES, ids=map(str, range(len(CASES)))
)
def test_every_run_equals_scikit_learn(estimator, n_classes, cv, scoring):
    X, y = data(n_classes=n_classes or 2)
    if n_classes == 0:
        y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    found, expected = each_run(estimator, X, y, cv, scoring, 6, groups=groups_for(cv, 150))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert np.ptp(found) > 0


MEANS = [
    (KNN(5), 2, FOLDS, "f1"),
    (KNN(5), 2, FOLDS, "roc_auc"),
    (KNN(5), 2, RepeatedStratifiedKFold(n_splits=4, n_repeats=2), "average_precision"),
    (KNN(5), 3, KFold(4, shuffle=True), "f1_macro"),
    (KNN(3), 2, GroupKFold(4, shuffle=True), "f1"),
    (make_pipeline(StandardScaler(), KNN(5)), 2, FOLDS, None),
    (make_pipeline(StandardScaler(), KNN(5)), 3, FOLDS, "f1_macro"),
    (KNeighborsRegressor(5), 0, KFold(5, shuffle=True), "r2"),
    (GridSearchCV(KNN(), {"n_neighbors": [1, 5, 9]}, cv=KFold(3, shuffle=True)), 2, FOLDS, None),
]


@pytest.mark.parametrize(
    ("estimator", "n_classes", "cv", "scoring"), MEANS, ids=map(str, range(len(MEANS)))
)
def test_the_mean_is_that_of_scikit_learns_runs(estimator, n_classes, cv, scoring):
    X, y = data(100, n_classes or 2)
    if n_classes == 0:
        y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    asked = {"cv": cv, "scoring": scoring, "groups": groups_for(cv, 100), "random_state": 0}
    found = expected_score(estimator, X, y, **asked)
    assert not found.exact
    assert found.n_runs >= 200
    assert found.n_repeats == 0
    plain = expected_score(estimator, X, y, method="mc", n_repeats=25, **asked)
    assert found.std_error < plain.std_error / 2
    assert abs(found.score - plain.score) < 4.5 * np.hypot(found.std_error, plain.std_error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scoring", ["f1", "matthews_corrcoef", "roc_auc", "average_precision", "d2_log_loss_score"]
)
def test_stated_errors_are_those_over_seeds(scoring):
    X, y = data(80)
    found = [
        expected_score(KNN(3), X, y, cv=FOLDS, scoring=scoring, n_runs=200, random_state=seed)
        for seed in range(200)
    ]
    scores, errors = np.array([(each.score, each.std_error) for each in found]).T
    exact = expected_score(KNN(3), X, y, cv=FOLDS, scoring=scoring, n_runs=60_000, random_state=10**6)
    assert 0.8 < np.sqrt((errors**2).mean()) / scores.std(ddof=1) < 1.25
    assert abs(scores.mean() - exact.score) < 4 * np.hypot(scores.std() / np.sqrt(200), exact.std_error)


def test_errors_are_stated_for_votes_that_no_run_shows():
    """The log loss of a sample without a vote is 36: its runs differ little where this never happens."""
    y = np.repeat([0, 1], [80, 20])
    X = np.random.default_rng(29).normal(size=(100, 4)) + 0.7 * y[:, None]
    cv, prepared = StratifiedKFold(5, shuffle=True), prepare(KNN(9), X, y, False)
    exact = expected_score(KNN(9), X, y, cv=cv, scoring="neg_log_loss")
    assert exact.exact
    for seed in range(20):
        request = Request(prepared, X, y, cv, None, "folds", 1e-12, 1, seed)
        found = by_runs.score_by_runs(request, "neg_log_loss", 512, "")
        assert abs(found.score - exact.score) < 4 * found.std_error < 0.003


def test_a_search_compares_all_candidates_on_the_same_runs():
    X, y = data()
    scorer = ccv_scorer(4, scoring="f1_macro", n_runs=600)
    grid = {"n_neighbors": [1, 3, 5]}
    search = GridSearchCV(KNN(), grid, scoring=scorer, cv=WholeData(), error_score="raise").fit(X, y)
    single = [
        expected_score(KNN(k), X, y, cv=FOLDS, scoring="f1_macro", n_runs=600, random_state=0).score
        for k in (1, 3, 5)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], single, atol=1e-3)
    with pytest.raises(ValueError, match="ccv_scorer has no exact score"):
        ccv_scorer(4, scoring="f1_macro", method="exact")(KNN().fit(X, y), X, y)


def test_noise_scores_at_chance_with_a_scaler_inside():
    scores = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(80, 6)), rng.permutation(np.arange(80) % 2)
        scores.append(
            expected_score(make_pipeline(StandardScaler(), KNN(5)), X, y, cv=FOLDS, random_state=0).score
        )
    assert abs(np.mean(scores) - 0.5) < 4 * np.std(scores) / np.sqrt(10) + 0.02


def test_other_pipelines_run_scikit_learn_and_exact_scores_stay_exact():
    X, y = data(60)
    other = expected_score(make_pipeline(PCA(2), KNN(3)), X, y, cv=FOLDS, n_repeats=3, random_state=0)
    assert (other.n_repeats, other.n_runs) == (3, 0)
    assert expected_score(KNN(3), X, y, cv=FOLDS).exact
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and 45"):
        expected_score(KNN(50), X, y, cv=FOLDS, scoring="f1", random_state=0)
    with pytest.raises(ValueError, match="n_runs must be at least 2, got 1"):
        expected_score(KNN(5), X, y, cv=FOLDS, scoring="f1", n_runs=1)


def test_scores_that_are_undefined_in_few_runs_are_the_mean_of_the_others():
    X, y = data(40, seed=1)
    cv = KFold(4, shuffle=True)
    found = expected_score(KNN(3), X, y, cv=cv, scoring="roc_auc", random_state=0)
    assert "in which the score is undefined, are left out" in found.explanation
    plain, rng = [], np.random.default_rng(0)
    while len(plain) < 400:
        folds = rng.permutation(np.arange(40) % 4)
        if min(len(set(y[folds == f])) for f in range(4)) == 2:
            splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(4)]
            plain.append(cross_val_score(KNN(3), X, y, cv=splits, scoring="roc_auc").mean())
    assert abs(found.score - np.mean(plain)) < 4 * np.hypot(found.std_error, np.std(plain) / 20)
    with pytest.raises(ValueError, match=r"stratified folds, or fewer.* undefined in .*%"):
        expected_score(KNN(3), X, y, cv=KFold(13, shuffle=True), scoring="roc_auc", random_state=0)


def test_splits_without_a_law_run_scikit_learn_by_default():
    X, y = data(40)
    cv = StratifiedGroupKFold(4, shuffle=True)
    found = expected_score(KNN(3), X, y, cv=cv, groups=np.arange(40) // 2, random_state=0)
    assert (found.n_repeats, found.exact) == (20, False)


def test_lists_are_scaled_as_arrays():
    X, y = data(60)
    asked = {"cv": FOLDS, "random_state": 0, "n_runs": 64}
    estimator = make_pipeline(StandardScaler(), KNN(3))
    scores = {expected_score(estimator, x, y, **asked).score for x in (X, X.tolist(), X.astype(object))}
    assert len(scores) == 1


class Learned(TransformerMixin, BaseEstimator):
    """A step that scikit-learn fits in every training set, and that leaves the samples as they are."""

    def fit(self, X, y=None):  # noqa: ARG002
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    "cv", [FOLDS, KFold(4, shuffle=True), ShuffleSplit(3, test_size=0.3, train_size=50)]
)
@pytest.mark.parametrize("rule", [KNN(5), KNN(4, weights="distance"), KNeighborsRegressor(3)])
def test_runs_of_scikit_learn_are_corrected_by_the_exact_score_of_steps_that_are_fitted_once(cv, rule):
    """If the steps learn nothing, what is left of the error is that of other weights."""
    X, y = data(120, 3)
    y = y + X[:, 0] if isinstance(rule, KNeighborsRegressor) else y
    if isinstance(cv, StratifiedKFold) and isinstance(rule, KNeighborsRegressor):
        cv = KFold(5, shuffle=True)
    scoring = "neg_mean_squared_error" if isinstance(rule, KNeighborsRegressor) else None
    asked = {"cv": cv, "scoring": scoring, "random_state": 0}
    found = expected_score(make_pipeline(Learned(), rule), X, y, n_repeats=16, **asked)
    exact = expected_score(rule, X, y, **asked)
    plain = expected_score(rule, X, y, method="mc", n_repeats=16, **asked)
    assert (found.n_repeats, found.exact) == (16, False)
    assert "corrected by the exact score" in found.explanation
    if rule.weights == "uniform":
        assert found.score == pytest.approx(exact.score, rel=1e-12)
        assert found.std_error < 1e-12
    else:
        assert abs(found.score - exact.score) < 5 * np.hypot(found.std_error, exact.std_error) + 1e-12
    assert found.std_error < plain.std_error


@pytest.mark.slow
def test_the_corrected_error_of_runs_of_scikit_learn_is_honest():
    X, y = data(120)
    estimator = make_pipeline(StandardScaler(), PCA(2), KNN(5))
    answers = [
        expected_score(estimator, X, y, cv=FOLDS, n_repeats=12, random_state=seed) for seed in range(60)
    ]
    scores = np.array([each.score for each in answers])
    stated = np.sqrt(np.mean([each.std_error**2 for each in answers]))
    assert 0.7 < stated / scores.std(ddof=1) < 1.4
    plain = expected_score(estimator, X, y, cv=FOLDS, n_repeats=300, method="mc", random_state=99)
    assert abs(scores.mean() - plain.score) < 4 * np.hypot(
        scores.std(ddof=1) / np.sqrt(60), plain.std_error
    )
