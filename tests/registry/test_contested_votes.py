"""Plurality votes from the contenders, against the general kernel, enumeration and rational numbers."""

from fractions import Fraction

import numpy as np
import pytest
from problems import blobs, check_votes

from knnccv import KFold, LeaveOut, Neighbors, Subsample, complete_cv
from knnccv_variants import votes

SIZES = (Subsample, KFold, LeaveOut)


@pytest.fixture
def contested(monkeypatch):
    """Serve every number of neighbors by contenders."""
    monkeypatch.setattr(votes, "MAX_COUNTED_NEIGHBORS", 0)


def by_the_general_kernel(monkeypatch, *arguments, **more):
    with monkeypatch.context() as patch:
        patch.setattr(votes, "contested_table", lambda *_: None)
        patch.setattr(votes, "max_counted_depth", lambda *_: 0)
        return complete_cv(*arguments, **more)


@pytest.mark.usefixtures("contested")
@pytest.mark.parametrize("seed", range(20))
def test_it_equals_the_enumeration(seed):
    check_votes(seed, SIZES)


@pytest.mark.parametrize(
    ("n_items", "n_classes", "k", "design"),
    [
        (100, 10, 51, KFold(5)),
        (120, 60, 31, KFold(7)),
        (100, 3, 40, Subsample(0.8)),
        (150, 30, 60, LeaveOut(1)),
        (120, 20, 40, KFold(2)),
        (80, 4, 62, Subsample(63)),
        (80, 4, 16, LeaveOut(60)),
        (800, 5, 20, Subsample(40)),
    ],
)
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_it_equals_the_general_kernel(monkeypatch, n_items, n_classes, k, design, spread):
    X, y = blobs(n_items + k, n_items, n_classes, spread)
    near = Neighbors.from_data(X)
    arguments = near, y, "knn", design
    expected = by_the_general_kernel(monkeypatch, *arguments, n_neighbors=k)
    found = complete_cv(*arguments, n_neighbors=k)
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12)
    assert abs(found.score - expected.score) <= found.error_bound


@pytest.mark.usefixtures("contested")
@pytest.mark.parametrize("seed", range(30))
def test_random_problems_equal_the_general_kernel(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(20, 200))
    n_classes = int(rng.integers(2, 12))
    X, y = blobs(seed, n_items, n_classes, rng.uniform(0, 2))
    if seed % 3 == 0:
        X = np.round(X, 1)  # tied groups go to the general kernel
    size = int(rng.integers(2, n_items))
    k = int(rng.integers(1, size + 1))
    arguments = Neighbors.from_data(X), y, "knn", Subsample(size)
    expected = by_the_general_kernel(monkeypatch, *arguments, n_neighbors=k)
    found = complete_cv(*arguments, n_neighbors=k)
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("contested")
@pytest.mark.parametrize(("n_items", "k"), [(40, 17), (60, 20)])
def test_the_bound_covers_the_rational_score(n_items, k):
    X, y = blobs(3, n_items, 6, 0.5)
    arguments = X, y, "knn", KFold(4)
    exact = complete_cv(*arguments, n_neighbors=k, exact=True).exact
    found = complete_cv(*arguments, n_neighbors=k)
    assert abs(Fraction(found.score) - exact) <= found.error_bound


def test_a_zero_one_loss_is_the_complement():
    """Losses have no contender table."""
    X, y = blobs(1, 60, 4)
    loss = 1 - np.eye(4)
    losses = complete_cv(X, y, "knn", KFold(3), n_neighbors=20, loss=loss).score
    plain = complete_cv(X, y, "knn", KFold(3), n_neighbors=20).score
    assert losses == pytest.approx(1 - plain, abs=1e-12)
