"""What kernels are given, what is compiled for them, and vectors of eight numbers."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from typing import NamedTuple

import numba
import numpy as np
import pytest

from knnccv.kernel import Tables, Task, as_python, constraints_for, jit, read_as, simd
from knnccv.kernel.simd import LANES


class Fields(NamedTuple):
    depth: int
    rule: int = 7


class Rates(NamedTuple):
    p_skip: float
    p_take: float


@jit
def depth_and_rule(array):
    fields = read_as(Fields, array)
    return fields.depth * 100 + fields.rule


@jit
def odds(array):
    p_skip, p_take = read_as(Rates, array)
    return p_take / p_skip


def test_fields_are_read_from_the_front():
    """As integers, floats and Fractions; defaults of the class fill no gap, as compiled code could not."""
    assert depth_and_rule(np.array([3, 4, 9])) == 304
    assert as_python(depth_and_rule)(np.array([3, 4, 9], dtype=object)) == 304
    assert read_as(Fields, np.array([3, 4, 9])) == Fields(3, 4)
    assert odds(np.array([0.25, 0.75, 5.0])) == 3
    exact = as_python(odds)(np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object))
    assert exact == 2
    assert isinstance(exact, Fraction)
    for read in (depth_and_rule, as_python(depth_and_rule)):
        for array in (np.empty(0, np.int64), np.array([3])):
            with pytest.raises(IndexError, match="fewer entries than the class has fields"):
                read(array)


@pytest.mark.parametrize("number", [float, Fraction])
def test_the_constraints_have_the_rule_s_numbers_by_name(number):
    task = Task((4,), (9,), stratified=False, held_out=1, n_classes=3, number=number)
    tables = Tables(Fields(depth=5), numbers=(number(1),))
    found = constraints_for(task, tables, n_nearest=2, fields=Fields)
    assert (found.n_nearest, found.n_classes, found.held_out) == (2, 3, 1)
    assert found.integers.tolist() == [5, 7]
    assert isinstance(found.unit, number)
    assert constraints_for(task, tables, n_nearest=30).n_nearest == 4, "no more than the training set has"
    assert constraints_for(task, Tables()).n_nearest == 0
    assert constraints_for(task, Tables([1, 2]), fields=Fields).integers.tolist() == [1, 2]


CALLS = """
import gc, json, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
from knnccv import KFold, complete_cv
from knnccv.retrieval import expected_retrieval

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
complete_cv(X, y)
complete_cv(X.round(), y, "knn", KFold(5))
complete_cv(X.round(), X[:, 0], "regression")
expected_retrieval(rng.normal(size=(60, 60)), y, y)
found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
own = {f"{each.__module__}.{each.__qualname__}": len(each.signatures) for each in found
       if each.__module__.startswith("knnccv")}
print(json.dumps({name: number for name, number in own.items() if number}))
"""
SEVERAL = {"knnccv.kernel.sampling.step_by_thinning": 2}
"""Counts of subsets are integers, or floating-point numbers."""


@pytest.mark.slow
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled: NUMBA_DISABLE_JIT")
def test_functions_are_compiled_once(tmp_path):
    """Nobody waits for needless signatures."""
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}  # which compiles faster
    done = subprocess.run(
        [sys.executable, "-c", CALLS], check=True, capture_output=True, text=True, env=empty
    )
    signatures = json.loads(done.stdout)
    several = {name: number for name, number in signatures.items() if number > 1}
    assert several.items() <= SEVERAL.items()
    assert 30 < sum(signatures.values()) <= 65


NAN, INF = np.nan, np.inf
SPECIAL = [0.0, -0.0, 1.0, 1.0, NAN, INF, -INF, 3.0], [-0.0, 0.0, 1.0, 2.0, 1.0, NAN, INF, -4.0]


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
def test_every_lane_is_numpys():
    usual = list(np.random.default_rng(0).normal(size=(5, 2, LANES)))
    for x, y in [np.array(SPECIAL), np.array(SPECIAL[::-1]), *usual]:
        out = np.empty((7, LANES))
        a, b = (np.ascontiguousarray(each[None]) for each in (x, y))
        bits = apply_two(a, b, out)
        expected = [x + y, x - y, np.where(x > y, x, y), x * y, x + y * y, x - y * y, np.full(LANES, 2.5)]
        np.testing.assert_array_equal(out, expected)
        assert bits == sum(1 << j for j in range(LANES) if x[j] <= y[j])
    for x, y in usual:
        largest, total = fold(np.ascontiguousarray(x[None]), np.ascontiguousarray(y[None]))
        assert largest == x.max()
        z = x * y
        z = z[:4] + z[4:]
        z = z[:2] + z[2:]
        assert total == z[0] + z[1]


def test_rows_are_aligned():
    for n_rows in (0, 1, 5):
        assert simd.raw_rows(n_rows).shape == (n_rows, LANES)
        rows = simd.lane_rows(n_rows)
        assert rows.shape == (n_rows, LANES)
        assert not rows.any()
        assert n_rows == 0 or rows.ctypes.data % 64 == 0
