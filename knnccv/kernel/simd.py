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

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ._compile import jit
from ._vectors import WIDTH, VectorType, aligned_rows, function_of, load_and_store, vector_function

LANES = WIDTH
CHUNK = 64
_FLOATS = ir.VectorType(ir.FloatType(), CHUNK)
_INDEX = ir.IntType(32)
_LANES = VectorType("Lanes", ir.DoubleType())
_function = partial(vector_function, __name__, _LANES)


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


def _everywhere(typing_context, value):

    def generate(context, builder, signature, args):
        return _spread(builder, context.cast(builder, args[0], value, types.float64), _LANES.vector)

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


def _emit_larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _emit_at_most(builder: Any, a: Any, b: Any) -> Any:
    bits = builder.bitcast(builder.fcmp_ordered("<=", a, b), ir.IntType(LANES))
    return builder.zext(bits, ir.IntType(64))


def _plain_sum_of_products(a, b):
    x = a * b
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return x[0]


def _plain_small_ones(values, first, limits, start, limit):
    chunk = values.ravel()[first : first + CHUNK]
    small = (chunk <= limit) | (chunk <= limits[start : start + CHUNK])
    return sum(1 << j for j in range(CHUNK) if small[j])


load, store = load_and_store(__name__, _LANES)
everywhere: Any = function_of(__name__, _everywhere, lambda value: np.full(LANES, float(value)))
"""The same number in all lanes."""
add: Any = _function(ir.IRBuilder.fadd, np.add)
subtract: Any = _function(ir.IRBuilder.fsub, np.subtract)
product: Any = _function(ir.IRBuilder.fmul, np.multiply)
larger: Any = _function(_emit_larger, lambda a, b: np.where(a > b, a, b))
"""The larger of two numbers in every lane; that of `b` if one is NaN."""
add_product: Any = _function(
    lambda builder, x, a, b: builder.fadd(x, builder.fmul(a, b)), lambda x, a, b: x + a * b, 3
)
"""``x + a * b`` in every lane."""
subtract_product: Any = _function(
    lambda builder, x, a, b: builder.fsub(x, builder.fmul(a, b)), lambda x, a, b: x - a * b, 3
)
"""``x - a * b`` in every lane."""
largest: Any = _function(
    lambda builder, a: _fold(builder, a, partial(_emit_larger, builder)), np.max, 1, types.float64
)
"""The largest of the lanes."""
sum_of_products: Any = _function(
    lambda builder, a, b: _fold(builder, builder.fmul(a, b), builder.fadd),
    _plain_sum_of_products,
    result=types.float64,
)
"""Sum of ``a * b`` over the lanes, halves added to halves."""
at_most: Any = _function(
    _emit_at_most, lambda a, b: sum(1 << j for j in range(LANES) if a[j] <= b[j]), result=types.int64
)
"""An integer whose bit j is set if ``a <= b`` in lane j; NaN is not."""
small_ones: Any = function_of(__name__, _small_ones, _plain_small_ones)
"""Bit j is set if ``values.flat[first + j]`` is at most `limit` or ``limits[start + j]`` (float32)."""
first_bit: Any = _function(
    lambda builder, bits: builder.cttz(bits, ir.Constant(ir.IntType(1), 1)),
    lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
    1,
    types.int64,
)
"""Position of the lowest set bit; there must be one."""


@jit
def raw_rows(n_rows):
    """Rows of lanes with any values, aligned to cache lines."""
    return aligned_rows(np.empty((n_rows + 1) * LANES))


@jit
def new_rows(n_rows):
    """Zeros of shape (n_rows, LANES), aligned as those of `raw_rows`."""
    return aligned_rows(np.zeros((n_rows + 1) * LANES))
