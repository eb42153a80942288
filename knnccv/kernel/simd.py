# ruff: noqa: ARG001
"""Vectors of eight doubles for compiled code: one vector instruction if the processor has it.

Numba does not vectorize straight-line code (LLVM's pass for it is switched off), and checks for overlapping
arrays before every inner loop that it does vectorize. So kernels that need it use explicit vectors, LLVM's
``<8 x double>``, with load, store, sums, differences, products, comparisons and folds. Additions and
multiplications follow IEEE and are not fused: the results equal those of scalar code, on every processor.

An array of lanes is a C-contiguous float64 array of shape (n_rows, 8). Row indices are not checked.

`small_ones` compares 64 floats at a time; the results are the bits of one integer. Numba vectorizes a loop
of comparisons but does not pack the results into bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ._compile import jit

LANES = 8
CHUNK = 64
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLOATS = ir.VectorType(ir.FloatType(), CHUNK)
_INDEX = ir.IntType(32)
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", False))


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


def _chunk(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    first = context.cast(builder, index, index_type, types.intp)
    pointer = builder.bitcast(builder.gep(data, [first]), _FLOATS.as_pointer())
    return builder.load(pointer, align=4)


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    """A vector of this type with the same number everywhere."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(
        one, one, ir.Constant(ir.VectorType(_INDEX, vector.count), [0] * vector.count)
    )


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


def _load(typing_context, rows, r):

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, rows, args[0], r, args[1]), align=8)

    return _LANES(rows, r), generate


def _store(typing_context, rows, r, x):

    def generate(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, rows, args[0], r, args[1]), align=8)
        return context.get_dummy_value()

    return types.void(rows, r, x), generate


def _everywhere(typing_context, value):

    def generate(context, builder, signature, args):
        return _spread(builder, context.cast(builder, args[0], value, types.float64), _VECTOR)

    return _LANES(value), generate


def _small_ones(typing_context, values, first, limits, start, limit):

    def generate(context, builder, signature, args):
        chunk = _chunk(context, builder, values, args[0], first, args[1])
        others = _chunk(context, builder, limits, args[2], start, args[3])
        small = builder.or_(
            builder.fcmp_ordered("<=", chunk, _spread(builder, args[4], _FLOATS)),
            builder.fcmp_ordered("<=", chunk, others),
        )
        return builder.bitcast(small, ir.IntType(CHUNK))

    return types.int64(values, first, limits, start, limit), generate


def _of_one(emit: Callable[..., Any], result: Any) -> Callable[..., Any]:
    """The definition of an intrinsic of one argument, from ``emit(builder, a)``."""

    def define(typing_context, a):

        def generate(context, builder, signature, args):
            return emit(builder, *args)

        return result(a), generate

    return define


def _of_two(emit: Callable[..., Any], result: Any = _LANES) -> Callable[..., Any]:
    """The definition of an intrinsic of two vectors, from ``emit(builder, a, b)``."""

    def define(typing_context, a, b):

        def generate(context, builder, signature, args):
            return emit(builder, *args)

        return result(a, b), generate

    return define


def _of_three(emit: Callable[..., Any]) -> Callable[..., Any]:
    """The definition of an intrinsic of three vectors, from ``emit(builder, x, a, b)``."""

    def define(typing_context, x, a, b):

        def generate(context, builder, signature, args):
            return emit(builder, *args)

        return _LANES(x, a, b), generate

    return define


def _emit_larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _emit_at_most(builder: Any, a: Any, b: Any) -> Any:
    bits = builder.bitcast(builder.fcmp_ordered("<=", a, b), ir.IntType(LANES))
    return builder.zext(bits, ir.IntType(64))


def _emit_add_product(builder: Any, x: Any, a: Any, b: Any) -> Any:
    return builder.fadd(x, builder.fmul(a, b))


def _emit_subtract_product(builder: Any, x: Any, a: Any, b: Any) -> Any:
    return builder.fsub(x, builder.fmul(a, b))


def _emit_largest(builder: Any, a: Any) -> Any:
    return _fold(builder, a, partial(_emit_larger, builder))


def _emit_sum_of_products(builder: Any, a: Any, b: Any) -> Any:
    return _fold(builder, builder.fmul(a, b), builder.fadd)


def _emit_first_bit(builder: Any, bits: Any) -> Any:
    return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


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


def _plain_small_ones(values, first, limits, start, limit):
    chunk = values.ravel()[first : first + CHUNK]
    small = (chunk <= limit) | (chunk <= limits[start : start + CHUNK])
    return sum(1 << j for j in range(CHUNK) if small[j])


def _plain_first_bit(bits):
    bits = int(bits)
    return (bits & -bits).bit_length() - 1


def _function(definition: Callable[..., Any], plain: Any) -> Any:
    """An intrinsic, or without compilation its like on NumPy's arrays of eight."""
    return plain if _PLAIN else intrinsic(definition)


load: Any = _function(_load, _plain_load)
store: Any = _function(_store, _plain_store)
everywhere: Any = _function(_everywhere, _plain_everywhere)
"""The same number in all lanes."""
add: Any = _function(_of_two(ir.IRBuilder.fadd), np.add)
subtract: Any = _function(_of_two(ir.IRBuilder.fsub), np.subtract)
product: Any = _function(_of_two(ir.IRBuilder.fmul), np.multiply)
larger: Any = _function(_of_two(_emit_larger), _plain_larger)
"""The larger of two numbers in every lane; that of `b` if one is NaN."""
add_product: Any = _function(_of_three(_emit_add_product), _plain_add_product)
"""``x + a * b`` in every lane."""
subtract_product: Any = _function(_of_three(_emit_subtract_product), _plain_subtract_product)
"""``x - a * b`` in every lane."""
largest: Any = _function(_of_one(_emit_largest, types.float64), _plain_largest)
"""The largest of the lanes."""
sum_of_products: Any = _function(_of_two(_emit_sum_of_products, types.float64), _plain_sum_of_products)
"""Sum of ``a * b`` over the lanes, halves added to halves."""
at_most: Any = _function(_of_two(_emit_at_most, types.int64), _plain_at_most)
"""An integer whose bit j is set if ``a <= b`` in lane j; NaN is not."""
small_ones: Any = _function(_small_ones, _plain_small_ones)
"""Bit j is set if ``values.flat[first + j]`` is at most `limit` or ``limits[start + j]`` (float32)."""
first_bit: Any = _function(_of_one(_emit_first_bit, types.int64), _plain_first_bit)
"""Position of the lowest set bit; there must be one."""


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
