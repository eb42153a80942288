"""Influence on votes among several classes, in one walk, against the enumeration of all training sets."""

import naive
import numpy as np
import pytest

from knnccv import KFold, LeaveOut, Subsample, complete_cv

AVERAGES = ("pooled", "item", "class")


def problem(seed):
    """Distances, labels of three or four classes, K, a design and its enumeration for other labels."""
    rng = np.random.default_rng(seed)
    n_items, n_classes = 6 + seed % 3, 3 + seed % 2
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_items - n_classes)])
    size = int(rng.integers(2, n_items - 1))
    n_folds = int(rng.integers(2, 4))
    designs = [
        (Subsample(size), size, lambda n: naive.subsample(n, size)),
        (LeaveOut(1), n_items - 2, lambda n: naive.leave_out(n, 1)),
        (KFold(n_folds), (n_items - 1) // 2, lambda n: naive.kfold(n, n_folds)),
    ]
    design, n_train, make = designs[seed % len(designs)]
    k = int(rng.integers(1, min(n_train, 5) + 1))
    ranks = np.argsort(rng.random((n_items, n_items)), axis=1)
    ties = ("random", "index")[seed % 7 == 0]
    D = (ranks // (2 if seed % 7 == 0 else 1)).astype(float)
    return D, rng.permutation(y), k, design, make, ties


@pytest.mark.parametrize("seed", range(210))
def test_scores_without_each_sample_equal_the_enumeration(seed):
    D, y, k, design, make, ties = problem(seed)
    average = AVERAGES[seed % 3]
    asked = {"ties": ties, "average": average, "n_neighbors": k}
    result = complete_cv(D, y, "knn", design, metric="precomputed", n_jobs=1, **asked)
    found = result.score - result.influence().total
    for j in range(len(y)):
        rest = np.delete(np.arange(len(y)), j)
        others, labels = D[np.ix_(rest, rest)].tolist(), y[rest].tolist()
        exact = naive.complete(others, labels, "knn", make(len(rest)), average, ties, n_neighbors=k)
        assert found[j] == pytest.approx(float(exact), abs=1e-13)


def many(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 9, 300)
    return rng.normal(size=(300, 4)) + 0.3 * y[:, None], y


@pytest.mark.parametrize("k", [5, 12])
def test_longer_lists_equal_one_removal_at_a_time(k):
    X, y = many(k)
    result = complete_cv(X, y, "knn", KFold(7), n_neighbors=k, n_jobs=1)
    fast = result.influence().total
    at = np.random.default_rng(0).choice(len(y), 6, replace=False)
    for j in at:
        rest = np.delete(np.arange(len(y)), j)
        without = complete_cv(X[rest], y[rest], "knn", KFold(7), n_neighbors=k, n_jobs=1).score
        assert result.score - fast[j] == pytest.approx(without, abs=1e-13)


@pytest.mark.parametrize("decimals", [9, 1])
def test_folds_of_two_sizes_are_walked_together(decimals, monkeypatch):
    X, y = many(0)
    X = np.round(X, decimals)  # some samples have mixed tied groups, which other kernels serve
    result = complete_cv(X, y, "knn", KFold(3), n_neighbors=4, n_jobs=1)
    together = result.influence(n_jobs=1).total
    monkeypatch.setattr("knnccv.influence._removals._mean", lambda *_: [])
    apart = result.influence(n_jobs=1).total
    assert np.abs(together - apart).max() < 1e-14
    assert (result.influence(n_jobs=3).total == apart).all()
