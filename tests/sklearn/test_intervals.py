"""Standard errors and intervals of expected scores, against enumeration with scikit-learn's estimators."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest
from exact_bridge import expected_score
from sklearn.metrics import make_scorer, mean_squared_error, zero_one_loss
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import knnccv
from knnccv import Subsample, compare, compare_all, complete_cv
from knnccv._labels import encode_labels, labels_of
from knnccv.inference import InferenceWarning, draw_halvings
from knnccv.sklearn._splitters import law_of

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
ONE, THREE = (KNeighborsClassifier(k, algorithm="brute") for k in (1, 3))
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
    cv, estimator = ShuffleSplit(test_size=0.5), KNeighborsRegressor(2, algorithm="brute")
    found = expected_score(estimator, X[rows], target[rows], cv=cv, scoring=scorer)
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
    found = expected_score(THREE, X, Y, cv=FOLDS)
    error = found.standard_error(FEW)
    assert float(error) == float(found.result.standard_error(FEW)) > 0
    assert error.target == found.result.standard_error(FEW).target
    interval = found.confidence_interval(0.9, n_halvings=FEW)
    assert interval == found.result.confidence_interval(0.9, n_halvings=FEW)
    assert interval.low < found.score < interval.high


def test_scorings_that_flip_the_sign_flip_the_interval():
    brier = expected_score(THREE, X, Y, cv=FOLDS, scoring="neg_brier_score")
    low, high = brier.confidence_interval(n_halvings=FEW)
    ends = brier.result.confidence_interval(n_halvings=FEW)
    assert (low, high) == pytest.approx((-ends.high / 2, -ends.low / 2))
    assert low < brier.score < high <= 0
    assert not brier.inference_terms().is_loss
    loss = expected_score(THREE, X, Y, cv=FOLDS, scoring=make_scorer(zero_one_loss))
    ends = expected_score(THREE, X, Y, cv=FOLDS).confidence_interval(n_halvings=FEW)
    assert tuple(loss.confidence_interval(n_halvings=FEW)) == pytest.approx((1 - ends.high, 1 - ends.low))
    assert loss.inference_terms().is_loss
    assert "zero_one_loss" in loss.confidence_interval(n_halvings=FEW).target


def test_groups_are_the_units():
    groups = np.repeat(np.arange(20), 2)
    found = expected_score(ONE, X, Y, cv=GroupShuffleSplit(test_size=0.3), groups=groups)
    error = found.standard_error(FEW)
    assert float(error) == float(found.result.standard_error(FEW))
    assert error.of_groups
    assert error.n_units == 20


def test_comparisons():
    found = {k: expected_score(rule, X, Y, cv=FOLDS) for k, rule in (("1", ONE), ("3", THREE))}
    results = [each.result for each in found.values()]
    for seed in (0, 7):
        mine = compare(*found.values(), n_halvings=FEW, random_state=seed)
        theirs = compare(*results, n_halvings=FEW, random_state=seed)
        assert (mine.difference, mine.pvalue) == (theirs.difference, theirs.pvalue)
    assert compare(found["1"], results[1], n_halvings=FEW).difference == mine.difference
    assert set(compare_all(found, n_halvings=FEW).names) == {"1", "3"}
    loss = expected_score(ONE, X, Y, cv=FOLDS, scoring=make_scorer(zero_one_loss))
    with pytest.raises(ValueError, match="one kind, got accuracy and zero_one_loss"):
        compare(found["1"], loss)


def test_scores_without_halves():
    sampled = expected_score(THREE, X, Y, cv=FOLDS, method="mc", n_repeats=2, random_state=0)
    listed = expected_score(THREE, X, Y, cv=KFold(5))
    found = expected_score(THREE, X, Y, cv=FOLDS)
    for result, text in (
        (sampled, "n_repeats=2: take method='exact'"),
        (listed, "take a splitter with shuffle=True"),
        (pickle.loads(pickle.dumps(found)), "call expected_score again"),
        (copy.copy(found), "call expected_score again"),
    ):
        for ask in (result.standard_error, result.confidence_interval, result.inference_terms):
            with pytest.raises(ValueError, match=text):
                ask()
        assert result.measure == "score"
        with pytest.raises(ValueError, match=text):
            compare(found, result)
    assert found.measure == "accuracy"
    assert complete_cv(X, Y, "nn", Subsample(20)).measure == "accuracy"


def sizes_of(halved, labels, n_folds):
    """How many folds have training sets of these sizes."""
    return sorted((kind.n_train, int(kind.probability * n_folds)) for kind in halved.training_sets(labels))


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("n_items", [39, 47])
def test_folds_of_halves_are_those_of_scikit_learn(n_items, stratified):
    y = RNG.permutation(np.repeat([0, 1, 2], [n_items // 2 + 3, n_items // 3, n_items]))[:n_items]
    ours, theirs = (knnccv.StratifiedKFold, StratifiedKFold) if stratified else (knnccv.KFold, KFold)
    data = np.zeros((n_items, 1))
    labels = encode_labels(y)
    law = law_of(theirs(7, shuffle=True), data, y, None, regression=False)
    for half in (0, 1):
        rows = draw_halvings(1, n_items, np.random.default_rng(1)).rows(0, half)
        halved = law.design.halved(labels, rows)
        inner = labels_of(labels, rows)
        expected = []
        for train, _ in theirs(7, shuffle=True, random_state=0).split(data[rows], y[rows]):
            counts = (
                np.bincount(y[rows][train], minlength=len(labels.classes)) if stratified else [len(train)]
            )
            expected.append(tuple(int(n) for n in counts))
        assert sizes_of(halved, inner, 7) == sorted((n, expected.count(n)) for n in set(expected))
        assert sizes_of(ours(7).halved(labels, rows), inner, 7) == sizes_of(halved, inner, 7)


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
    found = expected_score(THREE, x, y, cv=theirs)
    same = complete_cv(x, y, "knn", ours, n_neighbors=3, ties="index")
    assert found.score == pytest.approx(same.score, abs=1e-9)
    error = float(same.standard_error(FEW, random_state=4))
    assert float(found.standard_error(FEW, random_state=4)) == pytest.approx(error, rel=1e-9)


@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy"])
def test_halves_without_a_class(scoring):
    y = np.repeat([0, 1, 2], [15, 3, 2])
    found = expected_score(ONE, X[:20], y, cv=StratifiedShuffleSplit(test_size=0.3), scoring=scoring)
    assert 0 < float(found.standard_error(100)) < 1
    scores = found.half_scores(100).scores
    halvings = draw_halvings(100, 20, np.random.default_rng(0), classes=y)
    n_checked = 0
    for (halving, side), score in np.ndenumerate(scores):
        rows = halvings.rows(halving, side)
        if set(y[rows]) == {0, 1} and np.sum(y[rows] == 1) > 1 and n_checked < 8:
            n_checked += 1
            of_half = StratifiedShuffleSplit(test_size=3)
            expected = expected_score(ONE, X[rows], y[rows], cv=of_half, scoring=scoring)
            assert score == pytest.approx(expected.score, abs=1e-6)
    assert n_checked
