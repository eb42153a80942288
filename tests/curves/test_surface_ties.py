"""Surfaces of data with large tied groups and equal rows, against the cells computed one by one."""

import numpy as np
import pytest

from knnccv import Neighbors, Subsample, complete_cv, surface
from knnccv.curves import _profile_surface, _surface


def cells(near, y, counts, sizes, rule, **arguments):
    def cell(k, size):
        return complete_cv(near, y, rule, Subsample(size), n_neighbors=k, tol=0, **arguments).score

    return np.array([[cell(k, size) for size in sizes] for k in counts])


def test_large_groups():
    """Distinct rows whose distances take few values."""
    for n_classes, n_bits in ((2, 1), (2, 9), (3, 3), (5, 1), (5, 9)):
        rng = np.random.default_rng(n_bits)
        X = np.column_stack([rng.integers(0, 2, (70, n_bits)), np.arange(70)])
        y = rng.integers(0, n_classes, 70)
        near = Neighbors.from_data(X, "hamming")
        counts, sizes = [1, 2, 3, 6, 7], [8, 30, 69]
        result = surface(near, y, counts, sizes, tol=0)
        np.testing.assert_allclose(result.scores, cells(near, y, counts, sizes, "knn"), rtol=1e-12)


def test_groups_that_go_on_beyond_the_depth():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (120, 4)), np.arange(120)])
    y = rng.integers(0, 4, 120)
    near = Neighbors.from_data(X, "hamming")
    result = surface(near, y, [1, 3, 5], [60, 110], tol=1e-5)
    expected = cells(near, y, [1, 3, 5], [60, 110], "knn")
    assert (np.abs(result.scores - expected) <= result.error_bound).all()
    assert result.error_bound.max() < 2e-5


@pytest.mark.parametrize("variant", ["knn", "rank", "nn"])
@pytest.mark.parametrize("average", ["pooled", "class"])
def test_equal_rows_are_counted(monkeypatch, variant, average):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (90, 3)).astype(float)
    y = rng.integers(0, 3, 90)
    arguments = {"train_sizes": [20, 60], "variant": variant, "average": average, "tol": 0}
    rows = []
    call = _profile_surface.ProfilePass.add_up

    def spied(self, chunk):
        rows.extend(chunk.tolist())
        return call(self, chunk)

    monkeypatch.setattr(_profile_surface.ProfilePass, "add_up", spied)
    near = Neighbors.from_data(X)
    result = surface(near, y, None if variant == "nn" else [1, 4], **arguments)
    assert len(rows) <= 24
    rows.clear()
    every = (np.arange(90), np.ones(90, np.int64))
    monkeypatch.setattr(_profile_surface, "one_of_alike", lambda *_: every)
    expected = surface(near, y, None if variant == "nn" else [1, 4], **arguments)
    assert len(rows) == 90
    np.testing.assert_allclose(result.scores, expected.scores, rtol=1e-12)
    np.testing.assert_allclose(result.error_bound, expected.error_bound, rtol=1e-9)


PAIRS = [("regression", {}), ("confidence", {}), ("confidence", {"score": "brier"})]


@pytest.mark.parametrize(("rule", "parameters"), PAIRS)
@pytest.mark.parametrize("average", ["pooled", "class"])
@pytest.mark.parametrize("ties", ["random", "index"])
@pytest.mark.parametrize("n_values", [2, 1000])
def test_sums_over_pairs(monkeypatch, rule, parameters, average, ties, n_values):
    rng = np.random.default_rng(3)
    X = rng.integers(0, n_values, (60, 2)).astype(float)
    y = rng.integers(0, 4, 60)
    if rule == "regression":
        if average == "class":
            pytest.skip("no classes")
        y = rng.normal(size=(60, 2)).round(1) + 50
    for near in (Neighbors.from_data(X), Neighbors.from_data(X, n_neighbors=25)):
        counts, sizes = [1, 2, 5, 9], [9, 30, 59]
        arguments = {"average": average, "ties": ties} | parameters
        monkeypatch.setattr(_surface, "profile_kind", lambda *_: None)
        expected = surface(near, y, counts, sizes, rule, tol=0, **arguments)
        monkeypatch.undo()
        result = surface(near, y, counts, sizes, rule, tol=0, **arguments)
        np.testing.assert_allclose(result.scores, expected.scores, rtol=1e-11)
        np.testing.assert_allclose(result.error_bound, expected.error_bound, rtol=1e-9, atol=1e-11)
        coarse = surface(near, y, counts, sizes, rule, tol=1e-3, **arguments)
        assert (np.abs(coarse.scores - expected.scores) <= coarse.error_bound + expected.error_bound).all()


def test_sums_over_pairs_do_not_depend_on_threads():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 9, (700, 2)).astype(float), rng.normal(size=700)
    one, two = (surface(X, y, [1, 7], [50, 600], "regression", n_jobs=n) for n in (1, 2))
    assert one.scores.tobytes() == two.scores.tobytes()
