"""Leave-one-out curves against brute force, the kernels, and Kanagawa's identity."""

from fractions import Fraction

import numpy as np
import pytest
from seeds import seeds

from knnccv import LeaveOut, Neighbors, complete_cv, loo_curve, loo_identity
from knnccv.datasets import load_diabetes, load_wine


def brute_force(X, y, ks):
    """Every sample left out by its index; ties in the order of the data."""
    gaps = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(gaps, np.inf)
    order = np.argsort(gaps, axis=1, kind="stable")
    return np.array([np.mean((y[order[:, :k]].mean(axis=1) - y) ** 2) for k in ks])


def kernel_scores(X, y, ks, variant, ties=None):
    def score(k):
        return complete_cv(X, y, variant, LeaveOut(1), n_neighbors=k, ties=ties).score

    return [score(k) for k in ks]


@pytest.mark.parametrize(("load", "feature"), [(load_diabetes, 2), (load_wine, 1)])
def test_figures_2_to_4_of_kanagawa(load, feature):
    """No two samples coincide, and all three agree; in one feature (body mass, malic acid) some do."""
    data = load()
    X, y = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.y.astype(float)
    expected = brute_force(X, y, range(1, 51))
    np.testing.assert_allclose(loo_curve(X, y), expected, rtol=1e-10)
    np.testing.assert_allclose(loo_identity(X, y), expected, rtol=1e-10)
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(60))
    np.testing.assert_allclose(loo_curve(near, y), expected, rtol=1e-10)
    X = data.X[:, [feature]]
    expected = brute_force(X, y, range(1, 51))
    np.testing.assert_allclose(loo_curve(X, y, ties="index"), expected, rtol=1e-10)
    off = np.abs(loo_identity(X, y, check=False) / expected - 1)
    assert off.max() > 0.1
    with pytest.raises(ValueError, match="coincide with another one"):
        loo_identity(X, y)
    ks = [1, 2, 7, 50]
    np.testing.assert_allclose(loo_curve(X, y, ks), kernel_scores(X, y, ks, "regression"), rtol=1e-12)


def naive_identity(x, y, k):
    """The formula to the letter: the k + 1 nearest of all samples, the sample among them or not."""
    total = Fraction(0)
    for own, place in enumerate(x):
        order = sorted(range(len(x)), key=lambda j, place=place: (abs(x[j] - place), j))
        mean = Fraction(sum(int(y[j]) for j in order[: k + 1]), k + 1)
        total += (mean - int(y[own])) ** 2
    return float(Fraction(k + 1, k) ** 2 * total / len(x))


def test_the_identity_of_coinciding_samples_to_the_letter():
    """More than k samples may come before the sample itself, regardless of the other k requested."""
    for seed in seeds(5):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 4, 12), rng.integers(0, 9, 12)
        for asked in ([1], [2, 1], range(1, 12)):
            expected = [naive_identity(x.tolist(), y, k) for k in asked]
            found = loo_identity(x[:, None], y.astype(float), asked, check=False)
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"seed {seed}, {asked}")
    y = np.arange(12.0)
    expected = naive_identity([5] * 12, y, 2)
    assert loo_identity(np.full((12, 1), 5.0), y, 2, check=False) == pytest.approx(expected, rel=1e-12)


def test_votes_and_several_outputs():
    wine = load_wine()
    ks = [3, 1, 8]
    expected = kernel_scores(wine.X, wine.y, ks, "knn")
    near = Neighbors.from_lists(*Neighbors.from_data(wine.X).kneighbors(60))
    for given in (wine.X, near):
        np.testing.assert_allclose(loo_curve(given, wine.y, ks, "knn"), expected, rtol=1e-12)
    both = np.column_stack([wine.y, wine.X[:, 0]])
    each = loo_curve(wine.X, both[:, 0], [1, 5]) + loo_curve(wine.X, both[:, 1], [1, 5])
    np.testing.assert_allclose(loo_curve(wine.X, both, [1, 5]), each, rtol=1e-12)


def test_the_whole_of_small_data():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0.0, 1.0, 2.0, 6.0])
    for ties in ("index", "random"):
        expected = kernel_scores(X, y, [1, 2, 3], "regression", ties)
        np.testing.assert_allclose(loo_curve(X, y, ties=ties), expected, rtol=1e-13)
    assert loo_identity(np.arange(12.0)[:, None] ** 2, np.arange(12.0)).shape == (11,)
