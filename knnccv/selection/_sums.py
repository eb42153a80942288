"""The compiled pass that adds the differences of columns to sums that many candidates share."""

from __future__ import annotations

from numba import types

from ..kernel import jit


@jit
def add_columns(columns, numbers, row, squared, sums):
    """Add the squared or absolute differences between a row and all rows, in the order of `numbers`."""
    n_items = len(sums)
    for number in numbers:
        column = columns[number]
        own = column[row]
        if squared:
            for j in range(n_items):
                gap = own - column[j]
                sums[j] += gap * gap
        else:
            for j in range(n_items):
                sums[j] += abs(own - column[j])


@jit
def fill_shared(columns, kept, start, squared, sums):
    """``sums[r]``: the sums over the columns `kept`, for row ``start + r``; O(n_kept n_items) per row."""
    for r in range(len(sums)):
        sums[r] = 0.0
        add_columns(columns, kept, start + r, squared, sums[r])


@jit
def fill_values(columns, shared, start, candidates, which, rows, squared, values):
    """``values[i]``: the shared sums of ``rows[i]``, and those over ``candidates[which[i]]``."""
    for i in range(len(values)):
        values[i] = shared[rows[i] - start]
        add_columns(columns, candidates[which[i]], rows[i], squared, values[i])


_TABLE = types.Array(types.float64, 2, "C")
_NUMBERS = types.Array(types.int64, 1, "C")
FILL_SHARED = types.void(_TABLE, _NUMBERS, types.int64, types.boolean, _TABLE)
FILL_VALUES = types.void(
    _TABLE,
    _TABLE,
    types.int64,
    types.Array(types.int64, 2, "C"),
    _NUMBERS,
    _NUMBERS,
    types.boolean,
    _TABLE,
)
