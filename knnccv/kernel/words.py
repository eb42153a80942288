# mypy: allow-untyped-defs
"""Vectors of eight 64-bit words for compiled code: one bit for each of 512 random runs.

A row of words is a row of a C-contiguous uint64 array of shape (n_rows, 8). Row indices are not checked.
`add_bits` and `spread_bits` work on *vertical counters*: row ``level`` of a counter has the binary digit of
this level of 512 numbers, so that one addition counts for all of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from .._base.typing import Array
from ._compile import inner, jit
from .simd import LANES, VectorType, lane_rows, load_and_store, vector_function

WORDS = LANES
BITS = 64 * WORDS
_WORDS = VectorType("Words", ir.IntType(64))
_function = partial(vector_function, __name__, _WORDS)


def _constant(number: int) -> Any:
    return lambda builder: ir.Constant(_WORDS.vector, [number] * WORDS)  # noqa: ARG005


def _emit_any_bit(builder: Any, a: Any) -> Any:
    different = builder.icmp_unsigned("!=", a, _constant(0)(builder))
    packed = builder.bitcast(different, ir.IntType(WORDS))
    return builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(WORDS), 0))


load, store = load_and_store(__name__, _WORDS)
both: Any = _function(ir.IRBuilder.and_, np.bitwise_and)
either: Any = _function(ir.IRBuilder.or_, np.bitwise_or)
differ: Any = _function(ir.IRBuilder.xor, np.bitwise_xor)
but_not: Any = _function(lambda builder, a, b: builder.and_(a, builder.not_(b)), lambda a, b: a & ~b)
"""``a & ~b``."""
no_bits: Any = _function(_constant(0), lambda: np.zeros(WORDS, np.uint64), 0)
all_bits: Any = _function(_constant(-1), lambda: ~np.zeros(WORDS, np.uint64), 0)
any_bit: Any = _function(_emit_any_bit, lambda a: bool(a.any()), 1, types.boolean)
"""Whether some bit is set."""


def word_rows(n_rows: int) -> Array:
    """Zeros of shape (n_rows, 8), uint64, aligned to cache lines."""
    return lane_rows(n_rows, np.uint64)


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
    """Add the first numbers of a vertical counter to `out`, a multiple of 64 of them."""
    for level in range(n_levels):
        for w in range(len(out) // 64):
            word, some = counters[first + level, w], out[w * 64 : w * 64 + 64]
            for b in range(64):  # without branches: vector instructions
                some[b] += np.int64((word >> np.uint64(b)) & np.uint64(1)) << level
