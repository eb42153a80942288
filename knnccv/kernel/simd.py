# mypy: allow-untyped-defs
# ruff: noqa: ARG001, ARG005
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

from .._base.typing import Array
from ._compile import jit

LANES = 8
CHUNK = 64
_FLOATS = ir.VectorType(ir.FloatType(), CHUNK)
_INDEX = ir.IntType(32)
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", False))


class VectorType(types.Type):
    """The type of vectors; `vector` is that of LLVM."""

    def __init__(self, name: str, element: Any) -> None:
        super().__init__(name=name)
        self.vector = ir.VectorType(element, LANES)


@register_model(VectorType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, fe_type.vector)


def function_of(module: str, definition: Callable[..., Any], plain: Any) -> Any:
    """An intrinsic of a module, whose source its callers' cache then knows; `plain` without compilation."""
    definition.__module__ = module
    found: Any = plain if _PLAIN else intrinsic(definition)
    if found is not plain:
        found.plain = plain
    return found


def vector_function(
    module: str, kind: VectorType, emit: Callable[..., Any], plain: Any, n: int = 2, result: Any = None
) -> Any:
    """A function of n vectors from ``emit(builder, ...)``, or `plain` on NumPy's arrays of eight.

    It returns a vector, unless another type is given as `result`.
    """
    found = result or kind

    def generate(context, builder, signature, args):
        return emit(builder, *args)

    typings = (
        lambda typing_context: (found(), generate),
        lambda typing_context, a: (found(a), generate),
        lambda typing_context, a, b: (found(a, b), generate),
        lambda typing_context, a, b, c: (found(a, b, c), generate),
    )
    return function_of(module, typings[n], plain)


def load_and_store(module: str, kind: VectorType) -> tuple[Any, Any]:
    """``load(rows, r)`` and ``store(rows, r, vector)`` of a row of an array; r is not checked."""

    def pointer(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        row = context.cast(builder, args[1], signature.args[1], types.intp)
        first = builder.mul(row, context.get_constant(types.intp, LANES))
        return builder.bitcast(builder.gep(data, [first]), kind.vector.as_pointer())

    def generate_load(*frame):
        return frame[1].load(pointer(*frame), align=8)

    def generate_store(context, builder, signature, args):
        builder.store(args[2], pointer(context, builder, signature, args), align=8)
        return context.get_dummy_value()

    def load(typing_context, rows, r):
        return kind(rows, r), generate_load

    def store(typing_context, rows, r, x):
        return types.void(rows, r, x), generate_store

    def plain_store(rows, r, x):
        rows[r] = x

    return function_of(module, load, lambda rows, r: rows[r].copy()), function_of(
        module, store, plain_store
    )


@jit
def aligned_rows(numbers):
    """The rows of ``numbers`` ((n_rows + 1) * 8,) but one, from the start of a cache line on.

    Vectors across two lines take twice as long.
    """
    skip, end = -(numbers.ctypes.data // 8) % 8, len(numbers) - LANES
    return numbers[skip : skip + end].reshape(end // LANES, LANES)


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


def lane_rows(n_rows: int, dtype: Any = float) -> Array:
    """Zeros of shape (n_rows, LANES), aligned as those of `raw_rows`.

    Not compiled: the functions that fill such rows are given them, and compile faster.
    """
    numbers = np.zeros((n_rows + 1) * LANES, dtype)
    skip = -(numbers.ctypes.data // 8) % LANES
    return numbers[skip : skip + n_rows * LANES].reshape(n_rows, LANES)
