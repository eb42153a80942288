"""Scores of halves by random runs, against scikit-learn's fits, formulas by hand and exact halves."""

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, fbeta_score, get_scorer, make_scorer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import knnccv
from knnccv import InferenceWarning, compare, compare_all, tuned_score
from knnccv._core.luck.runs._planes import half_folds
from knnccv.sklearn import _halves, expected_score

KNN, KNR = (partial(kind, algorithm="kd_tree") for kind in (KNeighborsClassifier, KNeighborsRegressor))
X, y = make_classification(60, 5, weights=[0.6], flip_y=0.2, random_state=3)
X *= [1, 5, 0.2, 1, 3]
VALUES = X[:, 0] + np.sin(X[:, 2] * 9) + np.random.default_rng(0).normal(scale=0.3, size=60)
GROUPS = np.arange(60) % 20
FOLDS, UNSTRATIFIED = ms.StratifiedKFold(5, shuffle=True), ms.KFold(4, shuffle=True)
WITHIN = ms.KFold(2)
RULES = {
    "votes": (KNN(3), FOLDS),
    "weights": (KNN(4, weights="distance"), UNSTRATIFIED),
    "scaler": (make_pipeline(StandardScaler(), KNN(3)), FOLDS),
    "search": (ms.GridSearchCV(KNN(), {"n_neighbors": [1, 7]}, cv=WITHIN), UNSTRATIFIED),
    "scaled search": (
        ms.GridSearchCV(
            make_pipeline(StandardScaler(), KNN()),
            {"kneighborsclassifier__n_neighbors": [1, 5]},
            cv=WITHIN,
            scoring="f1",
        ),
        ms.KFold(3, shuffle=True),
    ),
    "fits": (make_pipeline(PCA(2), KNN(3)), FOLDS),
    "fits of decisions": (LinearSVC(), UNSTRATIFIED),
    "radius": (RadiusNeighborsClassifier(2.0, outlier_label=0), FOLDS),
    "single splits": (KNN(3), ms.ShuffleSplit(test_size=0.3, train_size=0.5)),
    "given numbers": (KNN(3), ms.StratifiedShuffleSplit(test_size=20, train_size=30)),
    "groups": (KNN(3), ms.GroupKFold(4, shuffle=True)),
    "strata of groups": (KNN(3), ms.StratifiedGroupKFold(3, shuffle=True)),
    "all pairs of groups": (KNN(3), ms.LeavePGroupsOut(2)),
    "means": (KNR(3), UNSTRATIFIED),
    "scaled means": (
        make_pipeline(StandardScaler(), KNR(3, weights="distance")),
        UNSTRATIFIED,
    ),
}
SLOW = "search", "fits of decisions", "radius", "groups", "strata of groups"
"""Kinds of which a cheaper one, or a harder one, is among the fast tests."""
SINGLE = "fits", "fits of decisions", "radius", "strata of groups", "all pairs of groups"
"""Scored fold by fold: fits of scikit-learn's, and folds of the same size in halves and in all samples."""
SCORINGS = {True: ["r2", "neg_root_mean_squared_error"], False: ["f1", "roc_auc", "accuracy"]}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in RULES]
)
def test_runs_of_halves_are_those_of_scikit_learn(name):
    rule, cv = RULES[name]
    is_regression, groups = "means" in name, GROUPS if "groups" in name else None
    targets = VALUES if is_regression else y
    scorings = SCORINGS[is_regression][: 2 if name in SINGLE else 3]
    if name == "all pairs of groups":  # in which a class may lack
        groups, scorings = GROUPS // 2, ["f1_macro", "accuracy"]
    found = expected_score(rule, X, targets, cv=cv, groups=groups, scoring=scorings, n_runs=2)
    fits = {}  # all scorings have the same folds
    for scoring, score in found.items():
        with warnings.catch_warnings(action="ignore", category=InferenceWarning):
            runs = score._by_runs().half_scores(2, random_state=1).runs
        request = score._evaluation.request
        asked = score._evaluation.asked(2, None, 1)
        halvings = _halves._halvings(request, asked)
        folds = half_folds(_halves._draw(request), halvings, 2, asked.rng).reshape(2, 2, 2, -1)
        for at in np.ndindex(2, 2, 2):
            inside = halvings.half_of[at[1]] == at[2]
            assert (folds[at][~inside] == -2).all()
            with warnings.catch_warnings(action="ignore"):  # of inner folds that lack a class
                key = folds[at].tobytes()
                fits[key] = fits.get(key) or _fits(rule, targets, folds[at])
                expected = _score(fits[key], targets, scoring, name not in SINGLE)
            assert runs[at] == pytest.approx(expected, abs=1e-12)


def _fits(rule, targets, folds):
    """The tested rows of every fold, and a fit to the others."""
    fits = []
    for fold in range(folds.max() + 1):
        train, tested = np.flatnonzero((folds != fold) & (folds != -2)), np.flatnonzero(folds == fold)
        fits.append((tested, clone(rule).fit(X[train], targets[train])))
    return fits


def _score(parts, targets, scoring, in_pairs):
    """The mean score of scikit-learn over pairs of adjacent folds, or over single folds for accuracy."""
    n_folds = len(parts)
    if n_folds < 3 or scoring == "accuracy" or not in_pairs:
        return np.mean([get_scorer(scoring)(fit, X[rows], targets[rows]) for rows, fit in parts])
    return np.mean(
        [_joint(scoring, targets, parts[at], parts[(at + 1) % n_folds]) for at in range(n_folds)]
    )


def _joint(scoring, targets, *parts):
    """The score of the predictions of several fits together."""
    scorer = get_scorer(scoring)
    method = "predict_proba" if scoring == "roc_auc" else "predict"
    rows = np.concatenate([rows for rows, _ in parts])
    answers = np.concatenate([getattr(fit, method)(X[some]) for some, fit in parts])
    answers = answers[:, 1] if answers.ndim == 2 else answers
    return scorer._sign * scorer._score_func(targets[rows], answers, **scorer._kwargs)


def test_two_runs_show_the_luck_that_exact_halves_show():
    exact = expected_score(KNN(5), X, y, cv=FOLDS)
    by_runs = [float(exact._by_runs().standard_error(400, random_state=seed)) for seed in range(4)]
    assert (exact._is_in_closed_form, exact._by_runs()._is_in_closed_form) == (True, False)
    assert np.mean(by_runs) == pytest.approx(float(exact.standard_error(400)), rel=0.05)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_the_variance_is_the_mean_product_of_two_runs():
    score = expected_score(KNN(3), X, y, cv=FOLDS, scoring="f1", n_runs=100)
    halves = score.half_scores(50)
    first, second = halves.runs[:, :, 0] - halves.runs[:, :, 1]
    assert halves.variance == pytest.approx(np.mean(first * second) / 4 + score.std_error**2)
    assert float(score.standard_error(50)) == math.sqrt(halves.variance)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_noisy_runs_of_single_splits_are_more():
    cv = ms.ShuffleSplit(test_size=6)
    score = expected_score(KNN(3), X, y, cv=cv, scoring="accuracy")._by_runs()
    assert len(score.half_scores(50).runs) == 16
    assert 0.03 < float(score.standard_error(50)) < 0.12


def test_floors_are_the_scores_of_a_constant_answer():
    three = np.digitize(X[:, 0], [-0.5, 1.0])
    constant = DummyClassifier(strategy="most_frequent").fit(X, three)
    f2 = make_scorer(fbeta_score, beta=2, average="macro")
    names = "f1_macro f1_weighted precision_macro recall_macro jaccard_weighted balanced_accuracy"
    for scoring in (*names.split(), "matthews_corrcoef", f2):
        score = expected_score(KNN(3), X, three, cv=FOLDS, scoring=scoring, n_runs=9)
        with warnings.catch_warnings(action="ignore"):
            expected = get_scorer(scoring)(constant, X, three)
        assert _halves._scale(score._evaluation.request).floor == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_intervals_by_hand():
    def found(rule, targets, cv, scoring):
        score = expected_score(rule, X, targets, cv=cv, scoring=scoring, n_runs=100)
        return score.score, score.half_scores(), score.confidence_interval()

    z = 2.0134  # of 1 / (1 / 59 + 1 / 200) = 45.6 degrees of freedom
    score, halves, interval = found(KNR(3), VALUES, UNSTRATIFIED, "r2")
    factor = math.exp(z * math.sqrt(halves.variance) / (1 - score))
    assert interval.method == "log"
    assert interval == pytest.approx((1 - (1 - score) * factor, 1 - (1 - score) / factor), rel=1e-4)
    score, halves, interval = found(KNN(3), y, FOLDS, "roc_auc")
    n = score * (1 - score) / halves.variance
    center, margin = score + z * z / 2 / n, z * math.sqrt(score * (1 - score) / n + (z / 2 / n) ** 2)
    assert interval == pytest.approx(
        [(center + sign * margin) / (1 + z * z / n) for sign in (-1, 1)], rel=1e-4
    )
    score, halves, interval = found(KNR(3), VALUES, UNSTRATIFIED, "neg_root_mean_squared_error")
    assert interval.method == "hall"
    assert interval.low < score < interval.high < 0
    assert interval.high - interval.low == pytest.approx(2 * z * math.sqrt(halves.variance), rel=0.4)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_comparisons_share_halves_and_splits():
    scaled, plain = (
        expected_score(RULES[name][0], X, y, cv=FOLDS, scoring="f1", n_runs=100)
        for name in ("scaler", "votes")
    )
    found = compare(scaled, plain, n_halvings=50)
    gaps = scaled.half_scores(50).runs - plain.half_scores(50).runs
    first, second = gaps[:, :, 0] - gaps[:, :, 1]
    variance = np.mean(first * second) / 4 + scaled.std_error**2 + plain.std_error**2
    assert found.difference == scaled.score - plain.score
    assert found.standard_error() == pytest.approx(math.sqrt(variance))
    assert found.measure == "F1"
    assert compare(plain, plain, n_halvings=50).pvalue == 1
    assert 0 <= found.misranked(50) <= 1
    assert found.misranked(50) == found.misranked(50)
    every = compare_all({"scaled": scaled, "plain": plain}, n_halvings=50)
    assert every.pvalues[0, 1] == found.pvalue
    # An exact score beside one of runs is scored by the same runs.
    accuracies = [expected_score(RULES[name][0], X, y, cv=FOLDS) for name in ("scaler", "votes")]
    assert [one.is_exact for one in accuracies] == [False, True]
    mixed = compare(*accuracies, n_halvings=50)
    gaps = np.subtract(*(one._by_runs().half_scores(50).runs for one in accuracies))
    assert np.array_equal(mixed.half_scores, gaps.mean(axis=0))


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_threads_copies_and_company_change_nothing():
    asked = {"cv": FOLDS, "n_runs": 64}
    one = expected_score(RULES["scaler"][0], X, y, scoring="f1", n_jobs=1, **asked)
    several = expected_score(RULES["scaler"][0], X, y, scoring=["roc_auc", "f1"], n_jobs=4, **asked)["f1"]
    assert np.array_equal(one.half_scores(30).runs, several.half_scores(30).runs)
    interval = one.confidence_interval(n_halvings=30)
    copy = pickle.loads(pickle.dumps(one))
    assert copy.confidence_interval(n_halvings=30) == interval
    assert compare(copy, several, n_halvings=30).pvalue == 1
    with pytest.raises(ValueError, match="a copy does not have the data"):
        copy.standard_error(31)
    whole = pickle.loads(pickle.dumps(one.with_data()))
    assert whole.standard_error(31) == one.standard_error(31)


def test_a_search_scores_itself_by_its_own_scoring():
    found = expected_score(RULES["scaled search"][0], X, y, cv=UNSTRATIFIED, n_runs=4)
    asked = expected_score(RULES["scaled search"][0], X, y, cv=UNSTRATIFIED, scoring="f1", n_runs=4)
    assert (found.measure, found.score) == ("F1", asked.score)


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_a_scoring_that_halves_lack_leaves_the_others():
    """Folds of the halves of nine samples of a class lack it: no AUC, but an accuracy, as if alone."""
    rare, rule, scorings = np.arange(60) < 9, RULES["fits"][0], ["accuracy", "roc_auc"]
    asked = {"cv": FOLDS, "n_runs": 2}
    found = expected_score(rule, X, rare, scoring=scorings, **asked)
    alone = expected_score(rule, X, rare, scoring="accuracy", **asked)
    assert found["accuracy"].half_scores(2).runs.tolist() == alone.half_scores(2).runs.tolist()
    with pytest.raises(ValueError, match=r"ROC AUC is undefined in 100% .* are False \(no"):
        found["roc_auc"].half_scores(2)


def test_halves_have_half_of_a_pool_and_of_its_test_set_or_of_the_groups():
    score = expected_score(KNN(3), X[20:], y[20:], cv=FOLDS, scoring="f1", test=(X[:20], y[:20]), n_runs=50)
    halves = score.half_scores(25)
    assert (halves.n_units, halves.train_size) == (20, 16)
    assert 0 < float(score.standard_error(25)) < 0.3
    cv = ms.GroupShuffleSplit(test_size=4, train_size=8)
    score = expected_score(KNN(3), X, y, cv=cv, groups=GROUPS, scoring="f1", n_runs=50)
    assert score.half_scores(20).train_size == 12  # 4 of 10 groups of 3 samples


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
@pytest.mark.parametrize("scaling", [None, "standard"])
def test_tuned_halves_are_those_of_the_search(scaling):
    """The halves have 30 samples, so that all folds have the same size."""
    found = tuned_score(X, y, [1, 3, 9], knnccv.KFold(5), scaling=scaling, n_runs=64)
    rule, grid = KNN(), {"n_neighbors": [1, 3, 9]}
    if scaling:
        rule = make_pipeline(StandardScaler(), rule)
        grid = {"kneighborsclassifier__n_neighbors": [1, 3, 9]}
    search = ms.GridSearchCV(rule, grid, cv=ms.LeaveOneOut())
    same = expected_score(search, X, y, cv=ms.KFold(5, shuffle=True), n_runs=64)
    assert found.half_scores(20).runs == pytest.approx(same.half_scores(20).runs)
    assert compare(found, same, n_halvings=20).half_scores == pytest.approx(0, abs=1e-12)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.confidence_interval(n_halvings=20) == found.confidence_interval(n_halvings=20)
    assert compare(found, same, n_halvings=20).misranked(20) == 0.5


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_tuned_halves_leave_out_what_is_too_large_for_them():
    found = tuned_score(X, y, [1, 3, 40], n_runs=512)
    assert "1 of 3 K are too large for halves, and left out there" in found.half_scores(20).warnings
    assert 0.02 < float(found.standard_error(50)) < 0.15
    balanced = tuned_score(X, y, [1, 3], average="class", n_runs=512)
    assert balanced.measure == "balanced accuracy"
    assert balanced.half_scores(20).floors.tolist() == [[0.5, 1.0, min(np.bincount(y))]]
    groups = tuned_score(X, y, [1, 3], knnccv.LeaveGroupsOut(GROUPS))
    assert groups.half_scores(20).of_groups
    with pytest.raises(ValueError, match="take more samples, or fewer neighbors"):
        tuned_score(X, y, [40], n_runs=512).standard_error()
    assert str(found).startswith("accuracy 0.")
    assert found.to_dict()["interval"] is None


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_scores_with_other_ranges_have_no_range():
    for scoring in (
        make_scorer(accuracy_score, normalize=False),
        make_scorer(balanced_accuracy_score, adjusted=True),
        lambda rule, X, y: 100 * rule.score(X, y),
    ):
        score = expected_score(KNN(3), X, y, cv=FOLDS, scoring=scoring, n_runs=4)
        interval = score.confidence_interval(n_halvings=5)
        assert interval.method == "wald"
        assert interval.low < score.score < interval.high
    three = np.digitize(X[:, 0], [-0.5, 1.0])
    score = expected_score(RULES["fits"][0], X, three, cv=FOLDS, scoring="neg_brier_score", n_runs=4)
    assert _halves._scale(score._evaluation.request).limits == (-2, 0)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_losses_are_better_if_they_are_smaller():
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    rules = RULES["scaler"][0], RULES["votes"][0]
    one, other = (expected_score(rule, X, y, cv=FOLDS, scoring=costs, n_runs=50) for rule in rules)
    found = compare(one, other, n_halvings=20)
    assert (found.is_loss, found.measure) == (True, "expected loss")
    likely = found.probability(0.0)
    assert (likely.first > likely.second) == (found.difference < 0)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_extremes_have_finite_intervals():
    asked = {"cv": UNSTRATIFIED, "scoring": "f1_macro", "n_runs": 9}
    one_class = expected_score(KNN(3), X, y * 0, **asked)
    assert 0.9 < one_class.confidence_interval().low < one_class.confidence_interval().high == 1
    assert str(one_class).startswith("macro F1 1; 95 % interval 0.9")
    outlier = np.r_[VALUES[:7], 300.0]
    score = expected_score(KNR(1), X[:8], outlier, cv=ms.KFold(2, shuffle=True), scoring="r2")
    assert np.isfinite(score.confidence_interval()).all()


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_an_interval_of_a_recall_stays_in_its_range():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(20, 2)), np.arange(20) % 2
    cv = ms.StratifiedKFold(3, shuffle=True)
    found = expected_score(KNN(3), features, labels, cv=cv, scoring="recall")
    low, high = found.confidence_interval()
    assert 0 <= low < found.score < high <= 1
    assert found.confidence_interval().target.startswith("recall in the population of KNeighborsClassifier")
    fixed = expected_score(KNN(3), features, labels, cv=3, scoring="f1")
    assert str(fixed) == f"F1 {fixed.score:.4g} (fixed splits)"
