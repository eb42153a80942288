"""Vectors of eight numbers, against NumPy."""

import numpy as np
import pytest

from knnccv.kernel import jit, simd
from knnccv.kernel.simd import LANES

NAN, INF = np.nan, np.inf
SPECIAL = [0.0, -0.0, 1.0, 1.0, NAN, INF, -INF, 3.0], [-0.0, 0.0, 1.0, 2.0, 1.0, NAN, INF, -4.0]


def vectors():
    rng = np.random.default_rng(0)
    return [np.array(SPECIAL), np.array(SPECIAL[::-1]), *rng.normal(size=(5, 2, LANES))]


@jit
def apply_two(a, b, out):
    x, y = simd.load(a, 0), simd.load(b, 0)
    simd.store(out, 0, simd.add(x, y))
    simd.store(out, 1, simd.subtract(x, y))
    simd.store(out, 2, simd.larger(x, y))
    simd.store(out, 3, simd.product(x, y))
    simd.store(out, 4, simd.add_product(x, y, y))
    simd.store(out, 5, simd.subtract_product(x, y, y))
    simd.store(out, 6, simd.everywhere(2.5))
    return simd.at_most(x, y)


@jit
def fold(a, b):
    return simd.largest(simd.load(a, 0)), simd.sum_of_products(simd.load(a, 0), simd.load(b, 0))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("pair", vectors())
def test_every_lane_is_numpys(pair):
    a, b = (np.ascontiguousarray(x.reshape(1, LANES)) for x in pair)
    out = np.empty((7, LANES))
    bits = apply_two(a, b, out)
    x, y = pair
    expected = [x + y, x - y, np.where(x > y, x, y), x * y, x + y * y, x - y * y, np.full(LANES, 2.5)]
    np.testing.assert_array_equal(out, expected)
    assert bits == sum(1 << j for j in range(LANES) if x[j] <= y[j])


def test_folds():
    for x, y in vectors()[2:]:
        largest, total = fold(np.ascontiguousarray(x[None]), np.ascontiguousarray(y[None]))
        assert largest == x.max()
        z = x * y
        z = z[:4] + z[4:]
        z = z[:2] + z[2:]
        assert total == z[0] + z[1]


@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_rows_are_aligned(n_rows):
    assert simd.raw_rows(n_rows).shape == (n_rows, LANES)
    rows = simd.new_rows(n_rows)
    assert rows.shape == (n_rows, LANES)
    assert not rows.any()
    assert n_rows == 0 or rows.ctypes.data % 64 == 0
