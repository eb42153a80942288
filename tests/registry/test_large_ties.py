"""Large tied groups in stratified designs, against counts of votes that are drawn without replacement."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from knnccv import Neighbors, StratifiedKFold, StratifiedSubsample, complete_cv
from knnccv.kernel import as_python
from knnccv.sampling import tie_times
from knnccv.voting import _stratified
from knnccv.voting._stratified import LARGE_GROUP, degree_for


def drawn(trained, k, own, score):
    """The mean score of K samples drawn from a training set with this number of every class."""
    total = Fraction(0)
    for votes in product(range(k + 1), repeat=len(trained)):
        if sum(votes) == k:
            ways = Fraction(1)
            for n, v in zip(trained, votes, strict=True):
                ways *= comb(n, v)
            total += ways * score(votes, own)
    return float(total / comb(sum(trained), k))


def right(votes, own):
    return int(votes.index(max(votes)) == own)


def brier(votes, own):
    k = sum(votes)
    return sum((Fraction(v, k) - (c == own)) ** 2 for c, v in enumerate(votes))


def any_right(votes, own):
    return int(votes[own] > 0)


def loss_of(votes, own):
    return LOSS[own][votes.index(max(votes))]


LOSS = [[0, 2, -1], [1, 0, 4], [3, 1, 1]]
CASES = [
    ("knn", {"n_neighbors": 1}, 1, right),
    ("knn", {"n_neighbors": 5}, 5, right),
    ("knn", {"n_neighbors": 4, "loss": np.array(LOSS)}, 4, loss_of),
    ("nn", {}, 1, right),
    ("nn", {"loss": np.array(LOSS)}, 1, loss_of),
    ("rank", {"rank": 3}, 3, any_right),
    ("confidence", {"n_neighbors": 4, "score": "brier"}, 4, brier),
]


@pytest.mark.parametrize(("rule", "parameters", "k", "score"), CASES)
@pytest.mark.parametrize("trained", [(300, 150, 100), (2, 4, 5), (530, 269, 1), (0, 1, 5)])
def test_where_all_tie(rule, parameters, k, score, trained):
    counts = (700, 270, 101)
    y = np.repeat(np.arange(3), counts)
    X = np.zeros((len(y), 1))
    design = StratifiedSubsample(per_class=dict(enumerate(trained)))
    result = complete_cv(X, y, rule, design, tol=0, n_jobs=1, **parameters)
    for own in range(3):
        expected = drawn(trained, k, own, score)
        np.testing.assert_allclose(result.per_item[y == own], expected, rtol=1e-13, atol=1e-15)
    assert result.error_bound < 1e-10


@pytest.mark.parametrize("seed", range(2))
def test_behind_nearer_samples(seed):
    """Large groups of two classes, one behind the other, by the table of votes and by random times."""
    rng = np.random.default_rng(seed)
    n_items = 180
    near = Neighbors.from_distances(
        np.sort(rng.choice([1.0, 2.0, 3.0], (n_items, n_items), p=[0.02, 0.5, 0.48]))
    )
    y = rng.permutation(np.arange(n_items) % 3 // 2)
    for k in (1, 3):
        for design in (StratifiedKFold(4), StratifiedSubsample(0.1)):
            expected = complete_cv(near, y, "knn", design, n_neighbors=k, tol=0)
            costs = np.eye(2)  # no table serves losses
            result = complete_cv(near, y, "knn", design, n_neighbors=k, loss=costs, tol=0)
            np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_nearest_of_many_classes(seed):
    """By generating functions, which count no times."""
    rng = np.random.default_rng(seed)
    n_items = 440
    y = rng.permutation(np.arange(n_items) % 7)
    near = Neighbors.from_distances(rng.choice([1.0, 2.0, 3.0], (n_items, n_items), p=[0.01, 0.44, 0.55]))
    for design in (StratifiedKFold(3), StratifiedSubsample(0.05)):
        expected = complete_cv(near, y, "nn", design, tol=0)
        result = complete_cv(near, y, "knn", design, n_neighbors=1, tol=0)
        np.testing.assert_allclose(result.per_item, expected.per_item, rtol=1e-12)


@pytest.mark.parametrize("size", [65, 1000, 30_000])
def test_the_nodes_suffice(size):
    """For integrands that are smooth, and for such that are peaked."""
    for end in (1.0, 0.3, 0.01):
        degree = as_python(degree_for)(size, end)
        assert degree <= size + 1
        nodes, weights = tie_times(degree, 1.0)
        for j in (0, 1, 5, size // 100, size // 2, size - 1):
            # size Bin(size - 1, x)(j), whose integral to `end` is P(more than j of size).
            found = float((weights * end * size * binom.pmf(j, size - 1, nodes * end)).sum())
            assert found == pytest.approx(float(binom.sf(j, size, end)), rel=1e-9, abs=1e-13)


def test_small_groups_take_all_nodes():
    assert degree_for(LARGE_GROUP, 1.0) >= LARGE_GROUP - 1
    assert np.finfo(float).eps / 100 > _stratified.NEGLIGIBLE
