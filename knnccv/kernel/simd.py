# ruff: noqa: ARG001
"""Vectors of eight doubles for compiled code: one vector instruction if the processor has it.

Numba does not vectorize straight-line code (LLVM's pass for it is switched off), and checks for overlapping
arrays before every inner loop that it does vectorize. So kernels that need it use explicit vectors, LLVM's
``<8 x double>``, with load, store, sums, differences, products, comparisons and folds. Additions and
multiplications follow IEEE and are not fused: the results equal those of scalar code, on every processor.

An array of lanes is a C-contiguous float64 array of shape (n_rows, 8). Row indices are not checked.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ._compile import jit

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


def _pointer(context: Any, builder: Any, rows_type: Any, rows: Any, index_type: Any, index: Any) -> Any:
    data = context.make_array(rows_type)(context, builder, rows).data
    row = context.cast(builder, index, index_type, types.intp)
    first = builder.mul(row, context.get_constant(types.intp, LANES))
    return builder.bitcast(builder.gep(data, [first]), _VECTOR.as_pointer())


def _load(typing_context, rows, r):

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, rows, args[0], r, args[1]), align=8)

    return _LANES(rows, r), generate


def _store(typing_context, rows, r, x):

    def generate(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, rows, args[0], r, args[1]), align=8)
        return context.get_dummy_value()

    return types.void(rows, r, x), generate


def _add_product(typing_context, x, a, b):
    """``x + a * b`` in every lane."""

    def generate(context, builder, signature, args):
        return builder.fadd(args[0], builder.fmul(args[1], args[2]))

    return _LANES(x, a, b), generate


def _subtract_product(typing_context, x, a, b):
    """``x - a * b`` in every lane."""

    def generate(context, builder, signature, args):
        return builder.fsub(args[0], builder.fmul(args[1], args[2]))

    return _LANES(x, a, b), generate


def _product(typing_context, a, b):
    """``a * b`` in every lane."""

    def generate(context, builder, signature, args):
        return builder.fmul(args[0], args[1])

    return _LANES(a, b), generate


def _fold(builder: Any, x: Any, combine: Any) -> Any:
    """Combine one half of the lanes with the other, until one number is left."""
    width = LANES
    while width > 1:
        width //= 2
        mask = ir.VectorType(_INDEX, width)
        low = builder.shuffle_vector(x, x, ir.Constant(mask, list(range(width))))
        high = builder.shuffle_vector(x, x, ir.Constant(mask, list(range(width, 2 * width))))
        x = combine(low, high)
    return builder.extract_element(x, ir.Constant(_INDEX, 0))


def _select_larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _largest(typing_context, a):
    """The largest of the lanes."""

    def generate(context, builder, signature, args):
        return _fold(builder, args[0], partial(_select_larger, builder))

    return types.float64(a), generate


def _everywhere(typing_context, value):
    """The same number in all lanes."""

    def generate(context, builder, signature, args):
        number = context.cast(builder, args[0], value, types.float64)
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_INDEX, 0))
        return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))

    return _LANES(value), generate


def _add(typing_context, a, b):

    def generate(context, builder, signature, args):
        return builder.fadd(*args)

    return _LANES(a, b), generate


def _subtract(typing_context, a, b):

    def generate(context, builder, signature, args):
        return builder.fsub(*args)

    return _LANES(a, b), generate


def _larger(typing_context, a, b):
    """The larger of two numbers in every lane; that of `b` if one is NaN."""

    def generate(context, builder, signature, args):
        return _select_larger(builder, *args)

    return _LANES(a, b), generate


def _at_most(typing_context, a, b):
    """An integer whose bit j is set if ``a <= b`` in lane j; NaN is not."""

    def generate(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_ordered("<=", *args), ir.IntType(LANES))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(a, b), generate


def _sum_of_products(typing_context, a, b):
    """Sum of ``a * b`` over the lanes, halves added to halves."""

    def generate(context, builder, signature, args):
        return _fold(builder, builder.fmul(args[0], args[1]), builder.fadd)

    return types.float64(a, b), generate


def _plain_load(rows, r):
    return rows[r].copy()


def _plain_store(rows, r, x):
    rows[r] = x


def _plain_add_product(x, a, b):
    return x + a * b


def _plain_subtract_product(x, a, b):
    return x - a * b


def _plain_largest(a):
    return a.max()


def _plain_everywhere(value):
    return np.full(LANES, float(value))


def _plain_sum_of_products(a, b):
    x = a * b
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return x[0]


def _plain_larger(a, b):
    return np.where(a > b, a, b)


def _plain_at_most(a, b):
    return sum(1 << j for j in range(LANES) if a[j] <= b[j])


load: Any
store: Any
add: Any
subtract: Any
add_product: Any
subtract_product: Any
product: Any
largest: Any
larger: Any
at_most: Any
everywhere: Any
sum_of_products: Any
if getattr(numba.config, "DISABLE_JIT", False):  # the same on NumPy's arrays of eight
    load, store, add_product = _plain_load, _plain_store, _plain_add_product
    add, subtract, product = np.add, np.subtract, np.multiply
    larger, at_most = _plain_larger, _plain_at_most
    everywhere, sum_of_products = _plain_everywhere, _plain_sum_of_products
    subtract_product, largest = _plain_subtract_product, _plain_largest
else:
    load, store, add_product = intrinsic(_load), intrinsic(_store), intrinsic(_add_product)
    add, subtract, product = intrinsic(_add), intrinsic(_subtract), intrinsic(_product)
    larger, at_most = intrinsic(_larger), intrinsic(_at_most)
    everywhere, sum_of_products = intrinsic(_everywhere), intrinsic(_sum_of_products)
    subtract_product, largest = intrinsic(_subtract_product), intrinsic(_largest)


@jit
def raw_rows(n_rows):
    """Rows of lanes with any values, aligned to cache lines: lanes across two lines take twice as long."""
    room = np.empty((n_rows + 1) * LANES)
    skip = -(room.ctypes.data // 8) % 8
    return room[skip : skip + n_rows * LANES].reshape(n_rows, LANES)


@jit
def new_rows(n_rows):
    """Zeros of shape (n_rows, LANES), aligned as those of `raw_rows`."""
    rows = raw_rows(n_rows)
    rows[:] = 0.0
    return rows
