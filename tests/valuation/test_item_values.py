"""Values of samples against their definitions."""

import naive_values as naive
import numpy as np
import pytest

import knnccv
from knnccv import LeaveOut, Neighbors, item_values
from knnccv.datasets import load_wine

FAST = 20


def cases(n):
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= FAST else []) for seed in range(n)]


def problem(seed):
    """A small random problem; half of them with many ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    X = rng.integers(0, 4, (n, 1)).astype(float) if seed % 2 else rng.random((n, 2))
    return rng, X, rng.integers(0, 3, n), int(rng.integers(1, 4)), "random" if seed % 4 else "index"


def squares(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1).tolist()


@pytest.mark.parametrize("seed", cases(200))
def test_every_sample_tested_on_all_others(seed):
    _, X, y, k, ties = problem(seed)
    expected = np.array(naive.leave_one_out(squares(X, X), y, k, ties), dtype=float)
    found = item_values(X, y, n_neighbors=k, ties=ties, n_jobs=1)
    assert np.abs(found.values - expected).max() < 1e-15
    for depth in range(1, len(y) - 1):
        short = item_values(X, y, n_neighbors=k, ties=ties, depth=depth, n_jobs=1)
        assert np.abs(short.values - expected).max() <= short.error_bound


@pytest.mark.parametrize("seed", cases(200))
def test_other_samples_tested(seed):
    rng, X, y, k, ties = problem(seed)
    tests = X[rng.integers(0, len(X), 3)] + (rng.integers(0, 2, (3, X.shape[1])) if seed % 2 else 0.01)
    y_test = y[rng.integers(0, len(y), 3)]
    expected = np.array(naive.of_tests(squares(tests, X), y_test, y, k, ties), dtype=float)
    found = item_values(X, y, X_test=tests, y_test=y_test, n_neighbors=k, ties=ties, n_jobs=1)
    assert np.abs(found.values - expected).max() < 1e-15


def test_samples_beyond_a_list_are_one_tied_group():
    """If all samples are equally far, lists tell nothing, and the values are exact without them."""
    X, y = np.eye(12), np.repeat([0, 1, 2], [6, 4, 2])
    whole = item_values(X, y, n_neighbors=2)
    short = item_values(X, y, n_neighbors=2, depth=4)
    np.testing.assert_allclose(short.values, whole.values, rtol=0, atol=1e-14)
    assert len(np.unique(whole.values.round(9))) == 3  # the classes differ


def test_values_sum_to_the_share_of_right_neighbors():
    wine = load_wine()
    near = Neighbors.from_data(wine.X)
    items, _ = near.kneighbors(7)
    share = (wine.y[items] == wine.y[:, None]).mean()
    for depth in (None, 7, 30):
        found = item_values(near, wine.y, n_neighbors=7, ties="index", depth=depth)
        assert found.values.sum() == pytest.approx(share, rel=1e-12)


def test_rows_of_any_order_and_threads_give_the_same():
    wine = load_wine()
    order = np.random.default_rng(0).permutation(len(wine.y))
    one = item_values(wine.X, wine.y, n_jobs=1)
    for n_jobs in (2, 5):
        assert (item_values(wine.X, wine.y, n_jobs=n_jobs).values == one.values).all()
    shuffled = item_values(wine.X[order], wine.y[order]).values
    assert np.abs(shuffled - one.values[order]).max() < 1e-15


def test_wrong_labels_are_worth_least():
    wine = load_wine()
    X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    wrong = np.arange(0, len(wine.y), 10)
    y = wine.y.copy()
    y[wrong] = (y[wrong] + 1) % 3
    for method in ("shapley", "influence"):
        found = item_values(X, y, method).least_valuable(len(wrong))
        assert np.isin(found, wrong).mean() > 0.8, method


def test_influence_is_that_of_the_score():
    wine = load_wine()
    found = item_values(wine.X, wine.y, "influence", n_neighbors=3, cv=LeaveOut(1))
    result = knnccv.complete_cv(wine.X, wine.y, "knn", cv=LeaveOut(1), n_neighbors=3)
    assert (found.values == result.influence().total).all()
    assert "LeaveOut" in found.rule


def test_results_can_be_looked_at():
    pytest.importorskip("pandas")
    found = item_values([[0.0], [1.0], [5.0]], ["a", "a", "b"], n_neighbors=1)
    assert list(found.to_frame().columns) == ["label", "value"]
    assert np.asarray(found).shape == (3,)
    assert "ItemValues of 3 samples (shapley, K = 1" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "loo"}, "method must be"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"X_test": [[0.0]]}, "y_test is missing"),
        ({"y_test": [0]}, "X_test is missing"),
        ({"cv": LeaveOut(1)}, "does not use cv"),
        ({"method": "influence", "depth": 2}, "does not use depth"),
        ({"X_test": [[0.0]], "y_test": [0], "depth": 2}, "does not use depth"),
        ({"X_test": [[0.0]], "y_test": [9]}, "do not occur in y: 9"),
        ({"X_test": [[0.0, 1.0]], "y_test": [0]}, "same features"),
        ({"depth": 0}, "depth"),
        ({"ties": "fair"}, "ties must be"),
        ({"y": [0, 1]}, "has 3 samples, but y has 2"),
        ({"y": [0, 1, np.nan]}, "y"),
    ],
)
def test_bad_arguments(arguments, words):
    given = {"X": [[0.0], [1.0], [5.0]], "y": [0, 0, 1], **arguments}
    with pytest.raises(ValueError, match=words):
        item_values(**given)
