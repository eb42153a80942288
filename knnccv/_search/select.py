"""The nearest m of a row of values, in the order (value, index), ties at the end included rightly.

Doubles order as their bit patterns do, taken as integers. With the lowest bits replaced by the index they
are keys that NumPy's vectorised sort puts in order many times faster than an argsort could. What the lost
bits would have told is mended afterwards: only within runs of keys whose upper bits agree, by the values
themselves.
"""

from __future__ import annotations

import numpy as np

from ..kernel import Array, jit

SIGN = np.int64(-(2**63))
LARGEST = np.int64(2**63 - 1)


@jit
def _fill_keys(bits, rows, low, keys):  # type: ignore[no-untyped-def]
    """Integers in the order of the doubles, the bits in `low` replaced by the index; a row's own last."""
    for r in range(len(bits)):
        for j in range(bits.shape[1]):
            pattern = bits[r, j]
            pattern = np.int64(0) if pattern == SIGN else pattern  # -0.0 ties 0.0
            pattern ^= (pattern >> 63) & LARGEST  # of negative values the larger size is the smaller
            keys[r, j] = (pattern & ~low) | j
        keys[r, rows[r]] = LARGEST


@jit
def _sort_run(values, run):  # type: ignore[no-untyped-def]
    """The run's items, which ascend, in the order (value, index)."""
    for i in range(1, len(run)):
        if values[run[i]] < values[run[i - 1]]:
            return run[np.argsort(values[run], kind="mergesort")]
    return run


@jit
def _mend(row, values, low, items, ranked):  # type: ignore[no-untyped-def]
    """Sort again by value where the keys of a sorted row agree in their upper bits."""
    depth = len(items)
    start = 0
    while start < depth:
        end = start + 1
        while end < depth and row[end] & ~low == row[start] & ~low:
            end += 1
        if end > start + 1:
            run = _sort_run(values, row[start:end] & low)
            for i in range(start, end):
                items[i] = run[i - start]
                ranked[i] = values[run[i - start]]
        start = end


@jit
def _last_run(row, values, low, items, ranked):  # type: ignore[no-untyped-def]
    """Choose among the last item's run, which goes on beyond the depth; whether the last one is tied."""
    depth = len(items)
    top = row[depth - 1] & ~low
    start = depth - 1
    while start > 0 and row[start - 1] & ~low == top:
        start -= 1
    found = np.flatnonzero((row[start:] & ~low) == top) + start
    run = _sort_run(values, np.sort(row[found] & low))
    for i in range(start, depth):
        items[i] = run[i - start]
        ranked[i] = values[run[i - start]]
    return values[run[depth - start]] == ranked[depth - 1]


@jit
def _settle(keys, values, low, items, ranked, more):  # type: ignore[no-untyped-def]
    """From keys, of which the first `depth` are sorted and not above the rest, to the nearest items."""
    n_rows, depth = items.shape
    for r in range(n_rows):
        row, nearest, sizes = keys[r], items[r], ranked[r]
        for i in range(depth):
            nearest[i] = row[i] & low
        for i in range(depth):
            sizes[i] = values[r, np.uint32(nearest[i])]
        descents = 0
        for i in range(1, depth):
            descents += sizes[i] < sizes[i - 1]
        if descents > 0:  # the bits that the keys lack
            _mend(row, values[r], low, nearest, sizes)
        beyond = 0
        for i in range(depth, len(row)):
            beyond += (row[i] & ~low) == (row[depth - 1] & ~low)
        more[r] = beyond > 0 and _last_run(row, values[r], low, nearest, sizes)


def nearest_of(values: Array, rows: Array, depth: int) -> tuple[Array, Array, Array]:
    """The `depth` nearest other items of every row.

    Parameters
    ----------
    values : float64 ndarray of shape (n_rows, n_items)
        Surrogate values.
    rows : int64 ndarray of shape (n_rows,)
        Which item every row belongs to; it is left out, by index.
    depth : int
        1 to n_items - 1.

    Returns
    -------
    items : int32 ndarray of shape (n_rows, depth)
    ranked : float64 ndarray of shape (n_rows, depth)
        Their values, ascending; equal ones in the order of the items.
    open_end : bool ndarray of shape (n_rows,)
        Whether an item beyond the list ties the last one in it.
    """
    n_rows, n_items = values.shape
    low = np.int64((1 << (n_items - 1).bit_length()) - 1)
    keys = np.empty((n_rows, n_items), np.int64)
    _fill_keys(values.view(np.int64), rows, low, keys)
    keys.partition(depth - 1, axis=1)
    keys[:, :depth].sort(axis=1)
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    open_end = np.zeros(n_rows, bool)
    _settle(keys, values, low, items, ranked, open_end)
    return items, ranked, open_end
