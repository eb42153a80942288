"""Standard errors and intervals of expected scores, against enumeration with scikit-learn's estimators."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from bridge import exact_score
from sklearn.metrics import make_scorer, mean_squared_error, zero_one_loss
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)  # fmt: skip
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import knnccv
from knnccv import Subsample, compare, compare_all, complete_cv
from knnccv.inference import InferenceWarning, draw_halvings

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
ONE, THREE = (KNeighborsClassifier(k, algorithm="kd_tree") for k in (1, 3))
FOLDS = KFold(5, shuffle=True)
FEW = 20


def of_half(rows, estimator, y, n_train, score):
    """The mean over all training sets within a half."""
    scores = []
    for train in combinations(rows, n_train):
        test = [x for x in rows if x not in train]
        fitted = estimator.fit(X[list(train)], y[list(train)])
        scores.append(score(y[test], fitted.predict(X[test])))
    return np.mean(scores)


@pytest.mark.parametrize("sign", [1, -1])
def test_halves_are_those_of_enumeration(sign):
    rows = np.arange(12)
    target = np.round(X @ [[1.0, 0.5], [0.3, -1.0]], 2)
    scorer = make_scorer(mean_squared_error, greater_is_better=sign > 0)
    cv, estimator = ShuffleSplit(test_size=0.5), KNeighborsRegressor(2, algorithm="kd_tree")
    found = exact_score(estimator, X[rows], target[rows], cv=cv, scoring=scorer)
    halvings = draw_halvings(3, 12, np.random.default_rng(5))
    expected = [
        [of_half(halvings.rows(h, side), estimator, target, 3, mean_squared_error) for side in (0, 1)]
        for h in range(3)
    ]
    halves = found.half_scores(3, random_state=5)
    assert halves.scores == pytest.approx(sign * np.array(expected), abs=1e-5)
    with pytest.warns(InferenceWarning):
        error = found.standard_error(3, random_state=5)
    assert float(error) == pytest.approx(np.sqrt(np.mean(np.diff(expected) ** 2) / 4), rel=1e-5)
    assert found.inference_terms().is_loss == (sign > 0)
    assert found.inference_terms().labels.shape == (12, 2)


def test_exact_scores_are_as_uncertain_as_their_results():
    groups = np.repeat(np.arange(20), 2)
    grouped = exact_score(ONE, X, Y, cv=GroupShuffleSplit(test_size=0.3), groups=groups)
    for found in (exact_score(THREE, X, Y, cv=FOLDS), grouped):
        error = found.standard_error(FEW)
        assert error == found.result.standard_error(FEW)
        assert error > 0
        interval = found.confidence_interval(0.9, n_halvings=FEW)
        assert interval == found.result.confidence_interval(0.9, n_halvings=FEW)
        assert interval.low < found.score < interval.high
    assert error.of_groups
    assert error.n_units == 20


def test_scorings_that_flip_the_sign_flip_the_interval():
    brier = exact_score(THREE, X, Y, cv=FOLDS, scoring="neg_brier_score")
    low, high = brier.confidence_interval(n_halvings=FEW)
    ends = brier.result.confidence_interval(n_halvings=FEW)
    assert (low, high) == pytest.approx((-ends.high / 2, -ends.low / 2))
    assert low < brier.score < high <= 0
    assert not brier.inference_terms().is_loss
    loss = exact_score(THREE, X, Y, cv=FOLDS, scoring=make_scorer(zero_one_loss))
    ends = exact_score(THREE, X, Y, cv=FOLDS).confidence_interval(n_halvings=FEW)
    assert tuple(loss.confidence_interval(n_halvings=FEW)) == pytest.approx((1 - ends.high, 1 - ends.low))
    assert loss.inference_terms().is_loss


def test_comparisons():
    found = {k: exact_score(rule, X, Y, cv=FOLDS) for k, rule in (("1", ONE), ("3", THREE))}
    results = [each.result for each in found.values()]
    for seed in (0, 7):
        mine = compare(*found.values(), n_halvings=FEW, random_state=seed)
        theirs = compare(*results, n_halvings=FEW, random_state=seed)
        assert (mine.difference, mine.pvalue) == (theirs.difference, theirs.pvalue)
    assert compare(found["1"], results[1], n_halvings=FEW).difference == mine.difference
    assert set(compare_all(found, n_halvings=FEW).names) == {"1", "3"}
    loss = exact_score(ONE, X, Y, cv=FOLDS, scoring=make_scorer(zero_one_loss))
    with pytest.raises(ValueError, match="one kind, got accuracy and zero_one_loss"):
        compare(found["1"], loss)


def test_scores_without_halves():
    found = exact_score(THREE, X, Y, cv=FOLDS)
    sampled = exact_score(THREE, X, Y, cv=FOLDS, method="mc", n_repeats=2, random_state=0)
    for result, text in (
        (sampled, "n_repeats=2: take method='exact'"),
        (exact_score(THREE, X, Y, cv=KFold(5)), "take a splitter with shuffle=True"),
        (pickle.loads(pickle.dumps(found)), "call expected_score again"),
        (copy.copy(found), "call expected_score again"),
    ):
        asks = (result.standard_error, result.confidence_interval, result.inference_terms)
        for ask in (*asks, lambda result=result: compare(found, result)):
            with pytest.raises(ValueError, match=text):
                ask()
        assert result.measure == "score"
    assert found.measure == complete_cv(X, Y, "nn", Subsample(20)).measure == "accuracy"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (KFold(7, shuffle=True), knnccv.KFold(7)),
        (StratifiedKFold(7, shuffle=True), knnccv.StratifiedKFold(7)),
        (RepeatedStratifiedKFold(n_splits=7, n_repeats=2), knnccv.StratifiedKFold(7)),
        (KFold(30, shuffle=True), knnccv.KFold(30)),
    ],
)
def test_folds_are_as_uncertain_as_those_of_knnccv(theirs, ours):
    x, y = np.r_[X, 0.5 + X[:7]], np.r_[Y, 1 - Y[:7]]
    found = exact_score(THREE, x, y, cv=theirs)
    same = complete_cv(x, y, "knn", ours, n_neighbors=3, ties="index")
    assert found.score == pytest.approx(same.score, abs=1e-9)
    error = float(same.standard_error(FEW, random_state=4))
    assert float(found.standard_error(FEW, random_state=4)) == pytest.approx(error, rel=1e-9)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_halves_are_scored_by_the_same_splitter(scoring):
    """Halves of folds are folds of the halves; a class may be missing."""
    y = np.repeat([0, 1, 2], [15, 3, 2])
    for cv, of_half in (
        (StratifiedShuffleSplit(test_size=0.3), StratifiedShuffleSplit(test_size=3)),
        (StratifiedKFold(4, shuffle=True), StratifiedKFold(4, shuffle=True)),
        (KFold(4, shuffle=True), KFold(4, shuffle=True)),
    ):
        found = exact_score(ONE, X[:20], y, cv=cv, scoring=scoring)
        assert 0 < float(found.standard_error(100)) < 1
        scores = found.half_scores(100).scores
        strata = None if isinstance(cv, KFold) and scoring == "accuracy" else y
        halvings = draw_halvings(100, 20, np.random.default_rng(0), classes=strata)
        n_checked = 0
        for (halving, side), score in np.ndenumerate(scores):
            rows = halvings.rows(halving, side)
            if set(y[rows]) == {0, 1} and np.sum(y[rows] == 1) > 1 and n_checked < 8:
                n_checked += 1
                expected = exact_score(ONE, X[rows], y[rows], cv=of_half, scoring=scoring)
                assert score == pytest.approx(expected.score, abs=1e-6), cv
        assert n_checked
