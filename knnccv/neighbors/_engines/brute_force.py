"""The nearest m of a row of values, in the order (value, index), ties at the end included rightly.

Doubles order as their bit patterns do, taken as integers. With the lowest bits replaced by the index they
are keys that NumPy's vectorized sort puts in order many times faster than an argsort could. What the lost
bits would have told is mended afterwards: only within runs of keys whose upper bits agree, by the values
themselves.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...kernel import jit

SIGN = np.int64(-(2**63))
LARGEST = np.int64(2**63 - 1)
SHORT = 16  # runs of a merge sort that are sorted by insertion


@jit
def _as_integer(pattern):  # type: ignore[no-untyped-def]
    """The bits of a double as an integer in the order of the doubles."""
    pattern = np.int64(0) if pattern == SIGN else pattern  # -0.0 ties 0.0
    return pattern ^ ((pattern >> 63) & LARGEST)  # of negative values the larger size is the smaller


@jit
def _fill_keys(bits, rows, low, keys):  # type: ignore[no-untyped-def]
    """Integers in the order of the doubles, the bits in `low` replaced by the index; a row's own last."""
    for r in range(len(bits)):
        for j in range(bits.shape[1]):
            keys[r, j] = (_as_integer(bits[r, j]) & ~low) | j
        keys[r, rows[r]] = LARGEST


@jit
def _sort_run(values, run, spare):  # type: ignore[no-untyped-def]
    """The run's samples, which ascend, in the order (value, index); `spare` is as long.

    A merge sort of its own: NumPy's, in compiled code, takes seconds to compile.
    """
    n = len(run)
    ascends = True
    for i in range(1, n):
        ascends = ascends and values[run[i - 1]] <= values[run[i]]
    if ascends:
        return run
    for start in range(0, n, SHORT):
        for i in range(start + 1, min(start + SHORT, n)):
            item = run[i]
            at = i
            while at > start and values[run[at - 1]] > values[item]:
                run[at] = run[at - 1]
                at -= 1
            run[at] = item
    width = SHORT
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for at in range(start, end):
                if j == end or (i < middle and values[run[i]] <= values[run[j]]):
                    spare[at] = run[i]
                    i += 1
                else:
                    spare[at] = run[j]
                    j += 1
        run, spare = spare, run
        width *= 2
    return run


@jit
def _mend(row, values, low, items, ranked, scratch):  # type: ignore[no-untyped-def]
    """Sort again by value where the keys of a sorted row agree in their upper bits."""
    depth = len(items)
    start = 0
    while start < depth:
        end = start + 1
        while end < depth and row[end] & ~low == row[start] & ~low:
            end += 1
        if end > start + 1:
            for i in range(start, end):
                scratch[0, i] = row[i] & low
            run = _sort_run(values, scratch[0, start:end], scratch[1, start:end])
            for i in range(start, end):
                items[i] = run[i - start]
                ranked[i] = values[run[i - start]]
        start = end


@jit
def _last_run(row, bits, values, own, low, items, ranked, scratch):  # type: ignore[no-untyped-def]
    """Choose among the last item's run, which goes on beyond the depth; whether the last one is tied."""
    depth = len(items)
    top = row[depth - 1] & ~low
    start = depth - 1
    while start > 0 and row[start - 1] & ~low == top:
        start -= 1
    n_found = 0
    for j in range(len(row)):  # by index: beyond the depth the row is in no order
        if _as_integer(bits[j]) & ~low == top and j != own:
            scratch[0, n_found] = j
            n_found += 1
    run = _sort_run(values, scratch[0, :n_found], scratch[1, :n_found])
    for i in range(start, depth):
        items[i] = run[i - start]
        ranked[i] = values[run[i - start]]
    return values[run[depth - start]] == ranked[depth - 1]


@jit
def _settle(keys, values, low, items, ranked, doubts):  # type: ignore[no-untyped-def]
    """From keys, of which the first `depth` are sorted and not above the rest, to the nearest samples.

    ``doubts[r]``: 1 where the bits that the keys lack disturb the order, plus 2 where they may do so at
    the list's end. Returns how many rows have any; `_settle_doubts` is compiled only for those.
    """
    n_rows, depth = items.shape
    n_doubtful = 0
    for r in range(n_rows):
        row, nearest, sizes = keys[r], items[r], ranked[r]
        for i in range(depth):
            nearest[i] = row[i] & low
        for i in range(depth):
            sizes[i] = values[r, np.uint32(nearest[i])]
        descents = 0
        for i in range(1, depth):
            descents += sizes[i] < sizes[i - 1]
        beyond = 0
        for i in range(depth, len(row)):
            beyond += (row[i] & ~low) == (row[depth - 1] & ~low)
        doubts[r] = (descents > 0) + 2 * (beyond > 0)
        n_doubtful += doubts[r] > 0
    return n_doubtful


@jit
def _settle_doubts(keys, bits, values, rows, low, items, ranked, doubts, more):  # type: ignore[no-untyped-def]
    """Put the doubtful rows in order, and tell whether a sample beyond the list ties the last one in it."""
    scratch = np.empty((2, keys.shape[1]), np.int64)
    for r in range(len(items)):
        if doubts[r] & 1:
            _mend(keys[r], values[r], low, items[r], ranked[r], scratch)
        if doubts[r] & 2:
            more[r] = _last_run(keys[r], bits[r], values[r], rows[r], low, items[r], ranked[r], scratch)


def nearest_of(values: Array, rows: Array, depth: int) -> tuple[Array, Array, Array]:
    """The `depth` nearest other samples of every row.

    Parameters
    ----------
    values : float64 ndarray of shape (n_rows, n_items)
        Surrogate values.
    rows : int64 ndarray of shape (n_rows,)
        Which sample every row belongs to; it is left out, by index.
    depth : int
        1 to n_items - 1.

    Returns
    -------
    items : int32 ndarray of shape (n_rows, depth)
    ranked : float64 ndarray of shape (n_rows, depth)
        Their values, ascending; equal ones in the order of the samples.
    open_end : bool ndarray of shape (n_rows,)
        Whether a sample beyond the list ties the last one in it.
    """
    n_rows, n_items = values.shape
    low = np.int64((1 << (n_items - 1).bit_length()) - 1)
    keys = np.empty((n_rows, n_items), np.int64)
    bits = values.view(np.int64)
    _fill_keys(bits, rows, low, keys)
    keys.partition(depth - 1, axis=1)
    keys[:, :depth].sort(axis=1)
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    may_tie_beyond = np.zeros(n_rows, bool)
    doubts = np.zeros(n_rows, np.int64)
    if _settle(keys, values, low, items, ranked, doubts):
        _settle_doubts(keys, bits, values, rows, low, items, ranked, doubts, may_tie_beyond)
    return items, ranked, may_tie_beyond
