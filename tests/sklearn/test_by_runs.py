"""Scores of the bridge by random runs, and intervals of its scores."""

from itertools import combinations

import numpy as np
import pytest
from bridge import exact_score, means_by_scikit_learn, recorded
from seeds import of_today
from sklearn import metrics
from sklearn import model_selection as ms
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.metrics import make_scorer, mean_squared_error, zero_one_loss
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import knnccv
from knnccv import compare, compare_all, complete_cv
from knnccv._core.luck.inference import InferenceWarning, draw_halvings
from knnccv.sklearn import _by_runs as by_runs
from knnccv.sklearn import expected_score

FOLDS, PLAIN = ms.StratifiedKFold(4, shuffle=True), ms.KFold(5, shuffle=True)
# scikit-learn 1.6 has no name for it.
D2 = make_scorer(metrics.d2_log_loss_score, response_method="predict_proba")


def KNN(k, **options):
    return KNeighborsClassifier(k, algorithm="kd_tree", **options)


def KNR(k, **options):
    return KNeighborsRegressor(k, algorithm="kd_tree", **options)


def uneven(n_items=150, n_classes=2):
    """Columns of very different scales; values instead of classes if there are none; or several outputs."""
    rng = np.random.default_rng(0)
    several = isinstance(n_classes, str)
    y = np.sort(rng.integers(0, 2 if several else n_classes or 2, n_items))
    X = rng.normal(size=(n_items, 3)) * [1.0, 4.0, 0.3] + 0.9 * y[:, None]
    if several:
        values = np.column_stack([y, X[:, 0] + rng.normal(size=n_items)])
        return X, values if n_classes == "values" else (values > 0.4).astype(int)
    return X, y if n_classes else X[:, 0] + rng.normal(size=n_items)


SOME_COLUMNS = ColumnTransformer([("s", StandardScaler(), [0, 1])], remainder="passthrough")
CASES = [
    (KNN(5), 2, FOLDS, "f1"),
    (KNN(5), 2, ms.RepeatedStratifiedKFold(n_splits=4, n_repeats=2), "roc_auc"),
    (KNN(4), 3, PLAIN, "f1_macro"),
    (KNN(5), 3, FOLDS, "roc_auc_ovr"),
    (KNN(5), 3, FOLDS, D2),
    (KNN(5), 4, FOLDS, "top_k_accuracy"),
    (KNN(3), 2, ms.ShuffleSplit(3, train_size=0.5, test_size=0.3), "jaccard"),
    (KNN(3), 2, ms.StratifiedShuffleSplit(3, test_size=0.3), "matthews_corrcoef"),
    (KNN(3), 2, ms.GroupKFold(4, shuffle=True), "f1"),
    (KNN(3), 2, ms.GroupShuffleSplit(3, test_size=0.3), "average_precision"),
    (KNN(7, weights="distance"), 3, FOLDS, "f1_macro"),
    (KNN(5, weights="distance"), 2, FOLDS, "roc_auc"),
    (KNN(5, weights="distance"), 3, FOLDS, "roc_auc_ovr"),
    (KNN(6, weights="distance"), 3, FOLDS, "roc_auc_ovo_weighted"),
    (KNN(10, weights="distance"), 3, FOLDS, "neg_log_loss"),
    (KNN(4, weights=lambda d: np.round(np.exp(-d), 1) + 0.1), 2, FOLDS, "average_precision"),
    (KNN(4, weights="distance"), 2, FOLDS, "neg_brier_score"),
    (KNN(4, weights="distance"), 3, FOLDS, D2),
    (make_pipeline(StandardScaler(), KNN(5)), 2, FOLDS, "roc_auc"),
    (KNN(5, weights=lambda d: np.exp(-d)), 2, FOLDS, "f1"),
    (KNN(5), 2, FOLDS, make_scorer(metrics.fbeta_score, beta=3, pos_label=0)),
    (make_pipeline(StandardScaler(), KNN(5)), 3, FOLDS, "f1_macro"),
    (make_pipeline(MinMaxScaler(), KNN(5, p=1)), 2, PLAIN, "roc_auc"),
    (make_pipeline(SOME_COLUMNS, KNN(3)), 2, ms.ShuffleSplit(2, test_size=0.2), None),
    (KNR(5), 0, PLAIN, None),
    (KNR(5, weights="distance"), 0, PLAIN, "neg_root_mean_squared_error"),
    (make_pipeline(StandardScaler(), KNR(4)), "values", PLAIN, "r2"),
    (make_pipeline(StandardScaler(), KNR(4)), "values", PLAIN, "neg_mean_absolute_error"),
    (KNR(3), "values", ms.GroupShuffleSplit(3, test_size=0.3), "neg_mean_squared_error"),
    (KNN(3), "labels", PLAIN, None),
    (
        KNN(3, weights="distance"),
        "labels",
        ms.ShuffleSplit(test_size=0.3),
        make_scorer(zero_one_loss),
    ),
    (KNN(3), "labels", PLAIN, "f1_macro"),
    (KNN(5), "labels", PLAIN, "roc_auc"),
    (make_pipeline(StandardScaler(), KNN(3)), "labels", PLAIN, make_scorer(metrics.hamming_loss)),
    (make_pipeline(StandardScaler(), KNR(4)), 0, PLAIN, "r2"),
]


def test_every_run_equals_scikit_learn(monkeypatch):
    """The scores of single runs are those whose mean is taken, on the splits that were drawn for them."""
    drawn = recorded(monkeypatch, by_runs, "runs_of", lambda runs, _: runs)
    scores = recorded(monkeypatch, by_runs, "controlled_mean", lambda _, given: given[0])
    for estimator, n_classes, cv, scoring in of_today(CASES, 3):
        X, y = uneven(n_classes=n_classes)
        groups = np.minimum(np.arange(150) // 5, 27) if "Group" in type(cv).__name__ else None
        expected_score(estimator, X, y, cv=cv, scoring=scoring, groups=groups, n_runs=2, random_state=3)
        wanted = means_by_scikit_learn(estimator, X, y, drawn[-1], scoring)
        where = f"{estimator}, {cv}, {scoring}"
        np.testing.assert_allclose(scores[-1], wanted, rtol=1e-10, atol=1e-12, err_msg=where)
        assert np.ptp(wanted) > 0, where
    assert len(scores) >= len(of_today(CASES, 3))  # twins have means of their own


PRECISE = [
    (KNN(5), 2, "f1"),
    (KNN(5), 2, "roc_auc"),
    (KNN(5, weights="distance"), 3, "f1_macro"),
    (make_pipeline(StandardScaler(), KNN(5)), 2, None),
    (make_pipeline(StandardScaler(), KNN(5)), 2, "roc_auc"),
    (make_pipeline(StandardScaler(), KNN(5)), 3, "neg_log_loss"),
    (make_pipeline(StandardScaler(), KNR(5)), 0, "r2"),
    (make_pipeline(StandardScaler(), KNR(5)), 0, "neg_root_mean_squared_error"),
]


@pytest.mark.parametrize(("rule", "n_classes", "scoring"), of_today(PRECISE, 3))
def test_as_many_runs_as_a_precision_needs(rule, n_classes, scoring):
    X, y = uneven(n_classes=n_classes)
    asked = {"cv": FOLDS if n_classes else PLAIN, "scoring": scoring}
    usual = expected_score(rule, X, y, **asked, n_jobs=1)
    scale = abs(usual.score) if str(scoring).startswith("neg_") else 1.0
    few = 1.3 * 0.01 / np.sqrt(150) * scale
    assert usual.std_error < few or (usual.n_runs, "takes some" in usual.explanation) == (1000, True)
    finer = expected_score(rule, X, y, **asked, precision=usual.std_error / 2.5, n_jobs=2)
    assert finer.n_runs > 2 * usual.n_runs
    assert finer.std_error < usual.std_error / 1.9
    # All stages are independent of each other, and the same for any number of threads.
    assert abs(finer.score - usual.score) < 4 * usual.std_error
    again = expected_score(rule, X, y, **asked, precision=usual.std_error / 2.5, n_jobs=1)
    assert (again.score, again.std_error, again.n_runs) == (finer.score, finer.std_error, finer.n_runs)
    fixed = expected_score(rule, X, y, **asked, n_runs=usual.n_runs)
    assert (fixed.n_runs, "takes some" in fixed.explanation) == (usual.n_runs, False)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "n_classes", "scoring"), of_today(PRECISE, 4))
def test_errors_of_a_precision_are_honest(rule, n_classes, scoring):
    """Against 20,000 runs, and over 100 seeds, at a precision that takes a pilot and one look more."""
    X, y = uneven(80, n_classes)
    asked = {"cv": FOLDS if n_classes else PLAIN, "scoring": scoring}
    exact = expected_score(rule, X, y, **asked, n_runs=20_000, random_state=10**6)
    pilot = expected_score(rule, X, y, **asked, n_runs=512 if rule is PRECISE[0][0] else 64)
    asked["precision"] = pilot.std_error / 1.8
    found = [expected_score(rule, X, y, **asked, random_state=seed) for seed in range(100)]
    scores, errors = np.array([(one.score, one.std_error) for one in found]).T
    assert abs(scores.mean() - exact.score) < 4 * np.hypot(scores.std() / 10, exact.std_error)
    assert 0.75 < np.sqrt((errors**2).mean()) / scores.std(ddof=1) < 1.4
    assert np.quantile(errors, 0.9) < 1.15 * asked["precision"]


def test_scikit_learn_fits_often_only_for_a_wanted_precision():
    X, y = uneven(60)
    rule = make_pipeline(PCA(2), KNN(3))
    cv = ms.StratifiedKFold(2, shuffle=True)
    few = expected_score(rule, X, y, cv=cv)
    assert few.n_runs == 20
    assert "; an error of 1.3e-03 takes some " in few.explanation
    more = expected_score(rule, X, y, cv=cv, precision=few.std_error / 1.5)
    assert 20 < more.n_runs < 200
    assert more.std_error < few.std_error / 1.2


def test_errors_are_stated_for_votes_that_no_run_shows():
    """The log loss of a sample without a vote is 36: its runs differ little where this never happens."""
    y = np.repeat([0, 1], [80, 20])
    X = np.random.default_rng(29).normal(size=(100, 4)) + 0.7 * y[:, None]
    cv = ms.StratifiedKFold(5, shuffle=True)
    exact = exact_score(KNN(9), X, y, cv=cv, scoring="neg_log_loss")

    # Relative to the log loss of the shares of the classes, which are those of every fold.
    usual = -0.8 * np.log(0.8) - 0.2 * np.log(0.2)
    asked = {"cv": cv, "scoring": D2, "n_runs": 512}
    found = [expected_score(KNN(9), X, y, random_state=seed, **asked) for seed in range(20)]
    assert np.median([one.std_error for one in found]) < 0.0015
    for one in found:
        assert abs(one.score - 1 - exact.score / usual) < 4 * one.std_error < 0.016


@pytest.mark.parametrize("weights", ["distance", pytest.param("uniform", marks=pytest.mark.slow)])
def test_average_precision_of_folds_without_a_positive_sample(weights):
    """All test sets of two of eight samples, by scikit-learn."""
    X, y = np.random.default_rng(5).normal(size=(8, 2)), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    splits = [(np.setdiff1d(np.arange(8), test), np.array(test)) for test in combinations(range(8), 2)]
    rule = KNN(3, weights=weights)
    with pytest.warns(UserWarning, match="No positive class"):
        wanted = ms.cross_val_score(rule, X, y, cv=splits, scoring="average_precision").mean()
    asked = {"cv": ms.KFold(4, shuffle=True), "n_runs": 400}
    found = expected_score(rule, X, y, scoring="average_precision", **asked)
    assert abs(found.score - wanted) < 4 * found.std_error < 0.1


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "neg_log_loss", "top_k_accuracy", D2], ids=str)
def test_folds_that_lack_a_class_are_undefined_for_any_weights(scoring, weights):
    X, y = uneven(60, 3)
    y[y == 2] = 0
    y[:4] = 2
    rule = KNN(4, weights=weights)
    with pytest.raises(ValueError, match="stratified splits, or fewer folds, may help"):
        expected_score(rule, X, y, cv=ms.KFold(6, shuffle=True), scoring=scoring, n_runs=5)
    two = ms.ShuffleSplit(1, train_size=35, test_size=25)  # a few test no sample of the class
    found = expected_score(rule, X, y, cv=two, scoring=scoring, n_runs=50)
    assert "in which the score is undefined, are left out" in found.explanation


@pytest.mark.parametrize("scoring", ["f1", "roc_auc"])
@pytest.mark.parametrize("rule", [KNN(3), KNN(3, weights="distance")], ids=str)
def test_scores_by_runs_know_their_tied_neighbors(rule, scoring):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(UserWarning, match="60 of 60 samples have"):
        found = expected_score(rule, X, y, cv=FOLDS, scoring=scoring, n_runs=50)
    assert found.n_tied == 60
    assert "n_tied=60," in repr(found)


RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
ONE, THREE = (KNeighborsClassifier(k, algorithm="kd_tree") for k in (1, 3))
FIVE_FOLDS = ms.KFold(5, shuffle=True)
FEW = 20


def of_half(rows, estimator, y, n_train, score):
    """The mean over all training sets within a half."""
    scores = []
    for train in combinations(rows, n_train):
        test = [x for x in rows if x not in train]
        fitted = estimator.fit(X[list(train)], y[list(train)])
        scores.append(score(y[test], fitted.predict(X[test])))
    return np.mean(scores)


def test_halves_are_those_of_enumeration():
    rows = np.arange(12)
    target = np.round(X @ [[1.0, 0.5], [0.3, -1.0]], 2)
    cv, estimator = ms.ShuffleSplit(test_size=0.5), KNeighborsRegressor(2, algorithm="kd_tree")
    halvings = draw_halvings(3, 12, np.random.default_rng(5))
    expected = [
        [of_half(halvings.rows(h, side), estimator, target, 3, mean_squared_error) for side in (0, 1)]
        for h in range(3)
    ]
    for sign in (1, -1):
        scorer = make_scorer(mean_squared_error, greater_is_better=sign > 0)
        found = exact_score(estimator, X[rows], target[rows], cv=cv, scoring=scorer)
        halves = found.half_scores(3, random_state=5)
        assert halves.scores == pytest.approx(sign * np.array(expected), abs=1e-5)
        with pytest.warns(InferenceWarning):
            error = found.standard_error(3, random_state=5)
        growth = np.mean(expected) / abs(found.score)  # an error is uncertain in proportion to itself
        wanted = np.sqrt(np.mean(np.diff(expected) ** 2)) / 2 / growth
        assert float(error) == pytest.approx(wanted, rel=1e-5)
        assert found.inference_terms().is_loss == (sign > 0)
        assert found.inference_terms().labels.shape == (12, 2)


def test_scorings_that_flip_the_sign_flip_the_interval():
    brier = exact_score(THREE, X, Y, cv=FIVE_FOLDS, scoring="neg_brier_score")
    low, high = brier.confidence_interval(n_halvings=FEW)
    ends = brier.result.confidence_interval(n_halvings=FEW)
    assert (low, high) == pytest.approx((-ends.high / 2, -ends.low / 2))
    assert low < brier.score < high <= 0
    assert not brier.inference_terms().is_loss
    loss = exact_score(THREE, X, Y, cv=FIVE_FOLDS, scoring=make_scorer(zero_one_loss))
    ends = exact_score(THREE, X, Y, cv=FIVE_FOLDS).confidence_interval(n_halvings=FEW)
    assert tuple(loss.confidence_interval(n_halvings=FEW)) == pytest.approx((1 - ends.high, 1 - ends.low))
    assert loss.inference_terms().is_loss


def test_comparisons():
    found = {k: exact_score(rule, X, Y, cv=FIVE_FOLDS) for k, rule in (("1", ONE), ("3", THREE))}
    results = [each.result for each in found.values()]
    for seed in (0, 7):
        mine = compare(*found.values(), n_halvings=FEW, random_state=seed)
        theirs = compare(*results, n_halvings=FEW, random_state=seed)
        assert (mine.difference, mine.pvalue) == (theirs.difference, theirs.pvalue)
    assert compare(found["1"], results[1], n_halvings=FEW).difference == mine.difference
    assert set(compare_all(found, n_halvings=FEW).names) == {"1", "3"}


PAIRS = np.arange(46) // 2


@pytest.mark.parametrize(
    ("theirs", "ours", "k"),
    [
        (ms.KFold(7, shuffle=True), knnccv.KFold(7), 3),
        (ms.StratifiedKFold(7, shuffle=True), knnccv.StratifiedKFold(7), 3),
        (ms.RepeatedStratifiedKFold(n_splits=7, n_repeats=2), knnccv.StratifiedKFold(7), 3),
        (ms.KFold(30, shuffle=True), knnccv.KFold(30), 3),
        (ms.GroupShuffleSplit(test_size=7), knnccv.LeaveGroupsOut(PAIRS, 7), 1),
    ],
)
def test_scores_are_as_uncertain_as_those_of_knnccv(theirs, ours, k):
    x, y = np.r_[X, 0.5 + X[:6]], np.r_[Y, 1 - Y[:6]]
    groups = PAIRS if isinstance(theirs, ms.GroupShuffleSplit) else None
    found = exact_score(KNN(k), x, y, cv=theirs, groups=groups)
    same = complete_cv(x, y, "knn", ours, n_neighbors=k, ties="index")
    assert found.score == pytest.approx(same.score, abs=1e-9)
    error, wanted = (one.standard_error(FEW, random_state=4) for one in (found, same))
    assert float(error) == pytest.approx(float(wanted), rel=1e-9)
    assert (error.of_groups, error.n_units) == (wanted.of_groups, wanted.n_units)
    assert error.of_groups == (groups is not None)
    interval, wanted = (one.confidence_interval(0.9, n_halvings=FEW) for one in (found, same))
    assert tuple(interval) == pytest.approx(tuple(wanted))
    assert interval.low < found.score < interval.high


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_halves_are_scored_by_the_same_splitter(scoring):
    """Halves of folds are folds of the halves; a class may be missing."""
    y = np.repeat([0, 1, 2], [15, 3, 2])
    for cv, of_half in (
        (ms.StratifiedShuffleSplit(test_size=0.3), ms.StratifiedShuffleSplit(test_size=3)),
        (ms.StratifiedKFold(4, shuffle=True), ms.StratifiedKFold(4, shuffle=True)),
        (ms.KFold(4, shuffle=True), ms.KFold(4, shuffle=True)),
    ):
        found = exact_score(ONE, X[:20], y, cv=cv, scoring=scoring)
        assert 0 < float(found.standard_error(100)) < 1
        scores = found.half_scores(100).scores
        strata = None if isinstance(cv, ms.KFold) and scoring == "accuracy" else y
        halvings = draw_halvings(100, 20, np.random.default_rng(0), classes=strata)
        n_checked = 0
        for (halving, side), score in np.ndenumerate(scores):
            rows = halvings.rows(halving, side)
            if set(y[rows]) == {0, 1} and np.sum(y[rows] == 1) > 1 and n_checked < 8:
                n_checked += 1
                expected = exact_score(ONE, X[rows], y[rows], cv=of_half, scoring=scoring)
                assert score == pytest.approx(expected.score, abs=1e-6), cv
        assert n_checked
