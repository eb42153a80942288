"""Vectors of eight 64-bit words for compiled code: one bit for each of 512 random runs.

A row of words is a row of a C-contiguous uint64 array of shape (n_rows, 8). Row indices are not checked.
`add_bits` and `spread_bits` work on *vertical counters*: row ``level`` of a counter has the binary digit of
this level of 512 numbers, so that one addition counts for all of them.
"""

# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ._compile import inner, jit

WORDS = 8
BITS = 64 * WORDS
_VECTOR = ir.VectorType(ir.IntType(64), WORDS)
_INDEX = ir.IntType(32)
_PLAIN = bool(getattr(numba.config, "DISABLE_JIT", False))


class _Words(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Words")


_WORDS = _Words()


@register_model(_Words)
class _WordsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


def _pointer(context: Any, builder: Any, rows_type: Any, rows: Any, index_type: Any, index: Any) -> Any:
    data = context.make_array(rows_type)(context, builder, rows).data
    row = context.cast(builder, index, index_type, types.intp)
    first = builder.mul(row, context.get_constant(types.intp, WORDS))
    return builder.bitcast(builder.gep(data, [first]), _VECTOR.as_pointer())


def _load(typing_context, rows, r):

    def generate(context, builder, signature, args):
        return builder.load(_pointer(context, builder, rows, args[0], r, args[1]), align=8)

    return _WORDS(rows, r), generate


def _store(typing_context, rows, r, x):

    def generate(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, rows, args[0], r, args[1]), align=8)
        return context.get_dummy_value()

    return types.void(rows, r, x), generate


def _of_two(emit: Any) -> Any:
    """The definition of an intrinsic of two vectors, from ``emit(builder, a, b)``."""

    def define(typing_context, a, b):

        def generate(context, builder, signature, args):
            return emit(builder, *args)

        return _WORDS(a, b), generate

    return define


def _no_bits(typing_context):

    def generate(context, builder, signature, args):
        return ir.Constant(_VECTOR, [0] * WORDS)

    return _WORDS(), generate


def _all_bits(typing_context):

    def generate(context, builder, signature, args):
        return ir.Constant(_VECTOR, [-1] * WORDS)

    return _WORDS(), generate


def _any_bit(typing_context, a):

    def generate(context, builder, signature, args):
        different = builder.icmp_unsigned("!=", args[0], ir.Constant(_VECTOR, [0] * WORDS))
        packed = builder.bitcast(different, ir.IntType(WORDS))
        return builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(WORDS), 0))

    return types.boolean(a), generate


def _emit_but_not(builder: Any, a: Any, b: Any) -> Any:
    return builder.and_(a, builder.not_(b))


def _function(definition: Any, plain: Any) -> Any:
    """An intrinsic, or without compilation its like on NumPy's arrays of eight."""
    return plain if _PLAIN else intrinsic(definition)


def _plain_store(rows, r, x):
    rows[r] = x


load: Any = _function(_load, lambda rows, r: rows[r].copy())
store: Any = _function(_store, _plain_store)
both: Any = _function(_of_two(ir.IRBuilder.and_), np.bitwise_and)
either: Any = _function(_of_two(ir.IRBuilder.or_), np.bitwise_or)
differ: Any = _function(_of_two(ir.IRBuilder.xor), np.bitwise_xor)
but_not: Any = _function(_of_two(_emit_but_not), lambda a, b: a & ~b)
"""``a & ~b``."""
no_bits: Any = _function(_no_bits, lambda: np.zeros(WORDS, np.uint64))
all_bits: Any = _function(_all_bits, lambda: ~np.zeros(WORDS, np.uint64))
any_bit: Any = _function(_any_bit, lambda a: bool(a.any()))
"""Whether some bit is set."""


@jit
def word_rows(n_rows):
    """Zeros of shape (n_rows, 8), uint64, aligned to cache lines."""
    room = np.zeros((n_rows + 1) * WORDS, np.uint64)
    skip = -(room.ctypes.data // 8) % 8
    return room[skip : skip + n_rows * WORDS].reshape(n_rows, WORDS)


@inner
def add_bits(counters, first, n_levels, bits):
    """Add the bits to the vertical counter in the rows from `first` on; return what overflows."""
    for level in range(n_levels):
        row = first + level
        old = load(counters, row)
        store(counters, row, differ(old, bits))
        bits = both(old, bits)
        if not any_bit(bits):
            break
    return bits


@jit
def spread_bits(counters, first, n_levels, out):
    """Add the 512 numbers of a vertical counter to `out` (512,)."""
    for level in range(n_levels):
        for w in range(WORDS):
            word = counters[first + level, w]
            at = w * 64
            while word != 0:
                if word & np.uint64(1):
                    out[at] += 1 << level
                word >>= np.uint64(1)
                at += 1
