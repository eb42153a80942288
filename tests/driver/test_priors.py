"""Target priors: ``average`` as a mapping of label to share."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import designs, one_of_each, problem

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Subsample,
    compare,
    complete_cv,
    monte_carlo_cv,
    screened_cv,
    surface,
)
from knnccv.inference import InferenceWarning

SHARES = {"a": 0.7, "b": Fraction(1, 5), "c": 0.1}
DESIGNS = [5, KFold(7), LeaveOut(3), *one_of_each(np.arange(60) // 6)]
X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.repeat(["a", "b", "c"], [30, 20, 10])


@pytest.mark.parametrize("seed", range(200))
def test_equals_the_list_of_training_sets(seed):
    case = problem(seed)
    rng = np.random.default_rng(seed)
    parts = rng.integers(1, 9, len(case.classes))
    shares = {c: Fraction(int(n), int(parts.sum())) for c, n in zip(case.classes, parts, strict=True)}
    pairs = designs(case, seed)
    design, listed = pairs[seed % len(pairs)]
    inputs = case.distances.tolist(), case.y.tolist(), "nn", listed
    scores = naive.per_item(*inputs, average="item")
    means = {}
    for c in case.classes:
        tested = [a for a, label in zip(scores, case.y, strict=True) if label == c and a is not None]
        means[c] = sum(tested) / Fraction(len(tested)) if tested else None
    asked = {"metric": "precomputed", "average": shares}
    if None in means.values():
        with pytest.raises(ValueError, match="never tests a sample of it"):
            complete_cv(case.distances, case.y, "nn", design, **asked)
        return
    expected = sum(shares[c] * means[c] for c in case.classes)
    assert complete_cv(case.distances, case.y, "nn", design, exact=True, **asked).exact == expected
    found = complete_cv(case.distances, case.y, "nn", design, **asked)
    assert abs(Fraction(found.score) - expected) <= found.error_bound + 1e-16


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_all_results_use_the_shares(design):
    asked = {"cv": design, "average": SHARES}
    found = complete_cv(X, Y, "knn", n_neighbors=3, **asked)
    assert found.measure == "accuracy at given class shares"
    assert found.average == SHARES
    recalls = found.per_class()
    assert sum(float(SHARES[c]) * recalls[c] for c in SHARES) == pytest.approx(found.score, abs=1e-14)
    assert np.bincount(np.unique(Y, return_inverse=True)[1], found.weights) == pytest.approx(
        [0.7, 0.2, 0.1]
    )
    matrix = found.confusion()
    assert matrix.sum(axis=1) == pytest.approx([0.7, 0.2, 0.1])
    assert np.trace(matrix) == pytest.approx(found.score, abs=1e-12)
    balanced = complete_cv(X, Y, "knn", n_neighbors=3, cv=design, average="class")
    assert found.balanced_accuracy == pytest.approx(balanced.score, abs=1e-14)
    equal = complete_cv(X, Y, "knn", n_neighbors=3, cv=design, average=dict.fromkeys("abc", Fraction(1, 3)))
    assert equal.score == balanced.score
    runs = monte_carlo_cv(X, Y, "knn", n_neighbors=3, n_repeats=500, random_state=0, **asked)
    assert abs(runs.score - found.score) <= 4 * runs.standard_error + 1e-12
    if not isinstance(design, LeaveGroupsOut):
        gone, label = 7, Y[7]
        rest = complete_cv(np.delete(X, gone, 0), np.delete(Y, gone), "knn", n_neighbors=3, **asked)
        assert label in SHARES
        assert found.influence().total[gone] == pytest.approx(found.score - rest.score, abs=1e-12)


def test_intervals_and_comparisons_use_the_shares():
    one = complete_cv(X, Y, "knn", Subsample(0.5), average=SHARES, n_neighbors=1)
    two = complete_cv(X, Y, "knn", Subsample(0.5), average=SHARES, n_neighbors=3)
    heavy = complete_cv(X, Y, "nn", Subsample(0.5), average={"a": 0.1, "b": 0.1, "c": 0.8})
    with pytest.warns(InferenceWarning, match="class 'c' has 10 samples, fewer than 20, and counts more"):
        error = heavy.standard_error(50)
    assert 0.01 < error < 0.2
    assert compare(one, two, n_halvings=20).difference == pytest.approx(one.score - two.score)
    other = complete_cv(X, Y, "knn", Subsample(0.5), average={"a": 0.1, "b": 0.2, "c": 0.7}, n_neighbors=3)
    with pytest.raises(ValueError, match="weight"):
        compare(one, other)


@pytest.mark.slow
def test_surfaces_use_the_shares():
    found = surface(X, Y, [1, 3], [10, 20], average=SHARES)
    for i, k in enumerate([1, 3]):
        for j, size in enumerate([10, 20]):
            cell = complete_cv(X, Y, "knn", Subsample(size), average=SHARES, n_neighbors=k)
            assert found.scores[i, j] == pytest.approx(cell.score, abs=1e-6)
    assert found.average == SHARES


def test_screening_uses_the_shares():
    found = screened_cv(X, Y, lambda *_: [0], KFold(5), n_repeats=200, average=SHARES, random_state=0)
    exact = complete_cv(X[:, :1], Y, "nn", KFold(5), average=SHARES)
    assert abs(found.score - exact.score) < 4 * found.standard_error
    assert found.average == SHARES


def test_the_callers_mapping_may_change():
    shares = dict(SHARES)
    found = complete_cv(X, Y, "nn", average=shares)
    shares["a"] = 0
    assert found.average == SHARES


def test_decimals_are_read_as_written():
    found = complete_cv(
        X[::4], Y[::4], "nn", LeaveOut(1), average={"a": 0.7, "b": 0.2, "c": 0.1}, exact=True
    )
    recalls = found.per_class()
    assert float(found.exact) == pytest.approx(sum(float(SHARES[c]) * recalls[c] for c in SHARES))
    assert found.exact.denominator <= 10 * 8 * 5 * 3


def test_shares_in_single_precision_are_read_as_written():
    asked = X[::4], Y[::4], "nn", LeaveOut(1)
    shares = {"a": 0.7, "b": 0.2, "c": 0.1}  # as float32 they sum to 1 + 1e-8
    expected = complete_cv(*asked, average=shares, exact=True).exact
    for kind in (np.float16, np.float32, np.float64):
        given = {label: kind(share) for label, share in shares.items()}
        assert complete_cv(*asked, average=given, exact=True).exact == expected


REFUSED = {
    "word": ("classes", ValueError, "average must be one of 'pooled', 'item', 'class', or a mapping"),
    "list": ([0.5, 0.5], ValueError, "or a mapping of label to share, got"),
    "empty": ({}, ValueError, "the shares of average must sum to 1, got 0"),
    "missing": ({"a": 0.5, "b": 0.5}, ValueError, r"missing \['c'\], unknown \[\]"),
    "unknown": ({"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1}, ValueError, r"missing \[\], unknown \['d'\]"),
    "sum": ({"a": 0.5, "b": 0.2, "c": 0.2}, ValueError, r"must sum to 1, got 0\.9 .* every class needs"),
    "counts": (
        {"a": 30, "b": 20, "c": 10},
        ValueError,
        r"average\['a'\] must be a share in \(0, 1\], got 30",
    ),
    "zero": ({"a": 0.5, "b": 0.5, "c": 0.0}, ValueError, r"average\['c'\] must be a share.*positive"),
    "negative": ({"a": 1.0, "b": 0.5, "c": -0.5}, ValueError, r"average\['c'\] must be a share"),
    "nan": ({"a": float("nan"), "b": 0.5, "c": 0.5}, ValueError, r"average\['a'\] must be a share"),
    "text": (
        {"a": "0.5", "b": 0.3, "c": 0.2},
        TypeError,
        r"average\['a'\] must be a real number, got '0.5'",
    ),
    "none": ({"a": None, "b": 0.5, "c": 0.5}, TypeError, r"average\['a'\] must be a real number, got None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_shares_are_refused(name):
    average, error, pattern = REFUSED[name]
    with pytest.raises(error, match=pattern):
        complete_cv(X, Y, "nn", average=average)


def test_shares_need_classes():
    with pytest.raises(ValueError, match="'regression' has real targets, no classes; got average="):
        complete_cv(X, np.arange(60.0), "regression", average={0: 1})


def test_scikit_learns_scores_take_no_shares():
    pytest.importorskip("sklearn")
    from sklearn.neighbors import KNeighborsClassifier

    from knnccv.sklearn import expected_score

    with pytest.raises(ValueError, match="average must be one of 'folds', 'pooled'"):
        expected_score(KNeighborsClassifier(), X, Y, average=SHARES)
