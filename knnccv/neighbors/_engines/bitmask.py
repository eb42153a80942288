# ruff: noqa: ARG001
"""Compare 64 values at a time; the results are the bits of one integer.

Numba vectorizes a loop of comparisons but does not pack the results into bits. This code is therefore
written in LLVM's terms: two loads of ``<64 x float>``, two comparisons, and a cast of the results to bits.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

CHUNK = 64
_FLOATS = ir.VectorType(ir.FloatType(), CHUNK)
_BITS = ir.IntType(CHUNK)


def _chunk(context: Any, builder: Any, array_type: Any, array: Any, first: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.bitcast(builder.gep(data, [first]), _FLOATS.as_pointer())
    return builder.load(pointer, align=4)


def _small_ones(typing_context, values, first, limits, start, limit):
    """Bit j is set if ``values.flat[first + j]`` is at most `limit` or ``limits[start + j]`` (float32)."""

    def generate(context, builder, signature, args):
        values_at = context.cast(builder, args[1], first, types.intp)
        limits_at = context.cast(builder, args[3], start, types.intp)
        chunk = _chunk(context, builder, values, args[0], values_at)
        others = _chunk(context, builder, limits, args[2], limits_at)
        lane = ir.IntType(32)
        one = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), args[4], ir.Constant(lane, 0))
        everywhere = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, CHUNK), [0] * CHUNK))
        small = builder.or_(
            builder.fcmp_ordered("<=", chunk, everywhere), builder.fcmp_ordered("<=", chunk, others)
        )
        return builder.bitcast(small, _BITS)

    return types.int64(values, first, limits, start, limit), generate


def _first_bit(typing_context, bits):
    """Position of the lowest set bit; there must be one."""

    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(bits), generate


def _plain_small_ones(values, first, limits, start, limit):
    chunk = values.ravel()[first : first + CHUNK]
    small = (chunk <= limit) | (chunk <= limits[start : start + CHUNK])
    return sum(1 << j for j in range(CHUNK) if small[j])


def _plain_first_bit(bits):
    bits = int(bits)
    return (bits & -bits).bit_length() - 1


small_ones: Any
first_bit: Any
if getattr(numba.config, "DISABLE_JIT", False):
    small_ones, first_bit = _plain_small_ones, _plain_first_bit
else:
    small_ones, first_bit = intrinsic(_small_ones), intrinsic(_first_bit)
