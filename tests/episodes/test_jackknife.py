"""The jackknife over classes, over all data sets of classes from a small population."""

from __future__ import annotations

from itertools import product
from math import comb

import naive_episodes as naive
import numpy as np
import pytest

from knnccv.episodes import Episodes, expected_episodes

KINDS = [[(0, 0), (1, 3), (7, 1)], [(2, 0), (9, 9), (3, 3)], [(0, 1), (8, 2), (9, 8)]]


def of_kinds(kinds):
    X = np.array([point for kind in kinds for point in KINDS[kind]], float)
    return X, np.repeat(np.arange(len(kinds)), 3)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_the_bias_is_that_of_a_u_statistic(n_classes):
    """Effects of k classes count k (C - 1) / (C - k) times (Efron and Stein, Ann. Statist. 9, 1981)."""
    kernel = np.empty((3, 3))
    for pair in product(range(3), repeat=2):
        X, y = of_kinds(pair)
        D = ((X[:, None] - X) ** 2).sum(axis=-1)
        kernel[pair] = float(naive.episode_score(D, y.tolist(), 2, 1, "random"))
    alone = kernel.mean(axis=1)
    one = 4 * alone.var() / n_classes
    both = (kernel.var() - 2 * alone.var()) / comb(n_classes, 2)
    found = []
    for kinds in product(range(3), repeat=n_classes):
        X, y = of_kinds(kinds)
        r = expected_episodes(X, y, Episodes(2, 1), jackknife="class", n_jobs=1)
        found.append([r.score, r.standard_error**2])
    scores, squares = np.array(found).T
    assert scores.mean() == pytest.approx(kernel.mean(), abs=1e-13)
    assert scores.var() == pytest.approx(one + both, rel=1e-10)
    bias = 2 * (n_classes - 1) / (n_classes - 2)
    assert squares.mean() == pytest.approx(one + bias * both, rel=1e-10)
    assert squares.mean() > scores.var()
