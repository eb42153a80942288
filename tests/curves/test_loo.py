"""Leave-one-out curves against brute force, the kernels, and Kanagawa's identity."""

from fractions import Fraction

import numpy as np
import pytest

import knnccv
from knnccv import LeaveOut, Neighbors, complete_cv, loo_curve, loo_identity
from knnccv.datasets import load_diabetes, load_wine

KS = range(1, 51)


def brute_force(X, y, ks):
    """Every sample left out by its index; ties in the order of the data."""
    gaps = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(gaps, np.inf)
    order = np.argsort(gaps, axis=1, kind="stable")
    return np.array([np.mean((y[order[:, :k]].mean(axis=1) - y) ** 2) for k in ks])


def standardized(data):
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.y.astype(float)


@pytest.mark.parametrize("load", [load_diabetes, load_wine])
def test_figures_2_and_3(load):
    """Kanagawa 2024, figures 2 and 3: no two samples coincide, and all three agree."""
    X, y = standardized(load())
    expected = brute_force(X, y, KS)
    np.testing.assert_allclose(loo_curve(X, y), expected, rtol=1e-10)
    np.testing.assert_allclose(loo_identity(X, y), expected, rtol=1e-10)


@pytest.mark.parametrize(("load", "feature"), [(load_diabetes, 2), (load_wine, 1)])
def test_figure_4(load, feature):
    """Body mass index and malic acid alone: samples coincide, and the identity fails."""
    data = load()
    X, y = data.X[:, [feature]], data.y.astype(float)
    expected = brute_force(X, y, KS)
    np.testing.assert_allclose(loo_curve(X, y, ties="index"), expected, rtol=1e-10)
    off = np.abs(loo_identity(X, y, check=False) / expected - 1)
    assert off.max() > 0.1
    with pytest.raises(ValueError, match="coincide with another one"):
        loo_identity(X, y)
    fair = loo_curve(X, y)
    shuffled = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(loo_curve(X[shuffled], y[shuffled]), fair, rtol=1e-12)
    for k in (1, 2, 7, 50):
        kernel = complete_cv(X, y, "regression", LeaveOut(1), n_neighbors=k).score
        assert fair[k - 1] == pytest.approx(kernel, rel=1e-12)


def naive_identity(x, y, k):
    """The formula to the letter: the k + 1 nearest of all samples, the sample among them or not."""
    total = Fraction(0)
    for own, place in enumerate(x):
        order = sorted(range(len(x)), key=lambda j, place=place: (abs(x[j] - place), j))
        mean = Fraction(sum(int(y[j]) for j in order[: k + 1]), k + 1)
        total += (mean - int(y[own])) ** 2
    return float(Fraction(k + 1, k) ** 2 * total / len(x))


@pytest.mark.parametrize("asked", [[1], [2, 1], range(1, 12)])
@pytest.mark.parametrize("seed", range(5))
def test_the_identity_of_coinciding_items_to_the_letter(seed, asked):
    """More than k samples may come before the sample itself, regardless of the other k requested."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, 12), rng.integers(0, 9, 12)
    expected = [naive_identity(x.tolist(), y, k) for k in asked]
    found = loo_identity(x[:, None], y.astype(float), asked, check=False)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_votes_and_several_outputs():
    wine = load_wine()
    found = loo_curve(wine.X, wine.y, [3, 1, 8], variant="knn")
    expected = [complete_cv(wine.X, wine.y, "knn", LeaveOut(1), n_neighbors=k).score for k in (3, 1, 8)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    both = np.column_stack([wine.y, wine.X[:, 0]])
    each = loo_curve(wine.X, both[:, 0], [1, 5]) + loo_curve(wine.X, both[:, 1], [1, 5])
    np.testing.assert_allclose(loo_curve(wine.X, both, [1, 5]), each, rtol=1e-12)


def test_the_whole_of_small_data():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0]]), np.array([0.0, 1.0, 2.0, 6.0])
    for ties in ("index", "random"):
        found = loo_curve(X, y, [1, 2, 3], ties=ties)
        expected = [
            complete_cv(X, y, "regression", LeaveOut(1), n_neighbors=k, ties=ties).score for k in (1, 2, 3)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_threads_and_given_lists_change_nothing():
    X, y = standardized(load_diabetes())
    one, two = loo_curve(X, y, n_jobs=1), loo_curve(X, y, n_jobs=3)
    assert one.tobytes() == two.tobytes()
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(60))
    np.testing.assert_allclose(knnccv.loo_curve(near, y), one, rtol=1e-12)
    short = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(20))
    with pytest.raises(ValueError, match="50 neighbors are needed"):
        loo_curve(short, y)
    labels = (y > 100).astype(int)
    np.testing.assert_allclose(
        loo_curve(near, labels, [1, 50], "knn"), loo_curve(X, labels, [1, 50], "knn"), rtol=1e-12
    )
    with pytest.raises(ValueError, match="50 neighbors are needed"):
        loo_curve(short, labels, variant="knn")


def test_approximate_lists_are_refused():
    X, y = standardized(load_diabetes())
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(60), approximate=True)
    for ask in (loo_curve, loo_identity):
        with pytest.raises(ValueError, match="need exact neighbors"):
            ask(near, y)


def test_the_default_ends_with_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    assert loo_curve(X, y).shape == loo_identity(X, y).shape == (11,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 442}, "n_neighbors must be between 1 and 441"),
        ({"n_neighbors": [0]}, "n_neighbors must be between 1 and 441"),
        ({"variant": "rank"}, "variant must be one of"),
        ({"ties": "fair"}, "ties must be one of"),
    ],
)
def test_bad_input(arguments, message):
    data = load_diabetes()
    with pytest.raises(ValueError, match=message):
        loo_curve(data.X, data.y, **arguments)
