"""Values of samples against their definitions, and the acceptance script's search for wrong labels."""

import importlib.util
from pathlib import Path

import naive_more as naive
import numpy as np
from seeds import over_seeds, seeds

from knnccv import LeaveOut, complete_cv, item_values
from knnccv.datasets import load_wine

SCRIPT = Path(__file__).parents[2] / "asv_benchmarks" / "acceptance.py"


def problem(seed):
    """A small random problem; half of them with many ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    X = rng.integers(0, 4, (n, 1)).astype(float) if seed % 2 else rng.random((n, 2))
    return rng, X, rng.integers(0, 3, n), int(rng.integers(1, 4)), "random" if seed % 4 else "index"


def squares(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1).tolist()


@over_seeds(10)
def test_values_are_those_of_all_subsets(seeds):
    """Every sample tested on all others, also by short lists, and other samples tested."""
    for seed in seeds:
        rng, X, y, k, ties = problem(seed)
        how = {"n_neighbors": k, "ties": ties, "n_jobs": 1}
        expected = np.array(naive.leave_one_out(squares(X, X), y, k, ties), dtype=float)
        assert np.abs(item_values(X, y, **how).per_item - expected).max() < 1e-15, seed
        for depth in range(1, len(y) - 1):
            short = item_values(X, y, depth=depth, **how)
            assert np.abs(short.per_item - expected).max() <= short.error_bound, seed
        tests = X[rng.integers(0, len(X), 3)] + (rng.integers(0, 2, (3, X.shape[1])) if seed % 2 else 0.01)
        y_test = y[rng.integers(0, len(y), 3)]
        expected = np.array(naive.of_tests(squares(tests, X), y_test, y, k, ties), dtype=float)
        found = item_values(X, y, test=(tests, y_test), **how)
        assert np.abs(found.per_item - expected).max() < 1e-15, seed


def of_the_theorem(right, k):
    """Theorem 1 of Jia et al. (2019): values of samples, the nearest first, for one test."""
    n = len(right)
    values = [right[-1] / n]
    for i in range(n - 1, 0, -1):
        values.append(values[-1] + (right[i - 1] - right[i]) / k * min(k, i) / i)
    return values[::-1]


def test_values_are_those_of_the_theorem():
    """pyDVL and OpenDataVal follow it; with fewer samples than K the farthest gets 1 / n, not 1 / K."""
    for seed in seeds(20):
        rng = np.random.default_rng(seed)
        n, n_tests, k = (int(rng.integers(*ends)) for ends in ((12, 40), (1, 9), (1, 20)))
        X, tests = rng.normal(size=(n, 3)), rng.normal(size=(n_tests, 3))
        y, y_test = np.append([0, 1, 2], rng.integers(0, 3, n - 3)), rng.integers(0, 3, n_tests)
        expected = np.zeros(n)
        for gaps, label in zip(squares(tests, X), y_test, strict=True):
            order = np.argsort(gaps)
            right = (y[order] == label).astype(int)
            expected[order] += of_the_theorem(right, k) - right[-1] * max(1 / n - 1 / k, 0)
        found = item_values(X, y, n_neighbors=k, test=(tests, y_test), n_jobs=1)
        np.testing.assert_allclose(
            found.per_item, expected / n_tests, rtol=0, atol=1e-14, err_msg=str(seed)
        )


def test_samples_beyond_a_list_are_one_tied_group():
    """If all samples are equally far, lists tell nothing, and the values are exact without them."""
    X, y = np.eye(12), np.repeat([0, 1, 2], [6, 4, 2])
    whole = item_values(X, y, n_neighbors=2)
    short = item_values(X, y, n_neighbors=2, depth=4)
    np.testing.assert_allclose(short.per_item, whole.per_item, rtol=0, atol=1e-14)
    assert len(np.unique(whole.per_item.round(9))) == 3  # the classes differ


def test_wrong_labels_are_worth_least():
    wine = load_wine()
    X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    wrong = np.arange(0, len(wine.y), 10)
    y = wine.y.copy()
    y[wrong] = (y[wrong] + 1) % 3
    for kind in ("shapley", "influence"):
        found = item_values(X, y, kind).least_valuable(len(wrong))
        assert np.isin(found, wrong).mean() > 0.8, kind
    found = item_values(X, y, "influence", n_neighbors=3, cv=LeaveOut(1))
    result = complete_cv(X, y, "knn", cv=LeaveOut(1), n_neighbors=3)
    assert (found.per_item == result.influence().per_item).all()


def test_the_acceptance_script_measures_rankings(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))  # for its import of the benchmarks
    spec = importlib.util.spec_from_file_location("acceptance", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    head, row = script.labels(["wine"], repeats=1)
    assert head[:4] == ("data", "Shapley", "influence", "A_x")
    assert row[:2] == ("wine", "0.83, 0.96 (0.00)")
    wrong = np.array([True, False, True, False, False])
    scores = np.array([-1.0, 0.0, 0.5, 0.5, 2.0])
    assert script.among_lowest(scores, wrong) == 0.5
    assert script.average_precision(scores, wrong) == (1 + 2 / 4) / 2
    codes, changed = script.flipped(np.repeat(["a", "b"], 10), seed=0)
    assert changed.sum() == 2
    assert (codes != np.repeat([0, 1], 10)).tolist() == changed.tolist()
