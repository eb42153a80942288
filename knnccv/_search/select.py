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
def _settle(keys, values, low, items, ranked, more):  # type: ignore[no-untyped-def]
    """From keys, of which the first `depth` are sorted and not above the rest, to the nearest items."""
    n_rows, depth = items.shape
    for r in range(n_rows):
        row = keys[r]
        start = 0
        for i in range(depth):
            j = row[i] & low
            items[r, i] = j
            ranked[r, i] = values[r, j]
            if row[i] & ~low != row[start] & ~low:
                start = i
            elif ranked[r, i] < ranked[r, max(i - 1, start)]:  # the bits that the keys lack
                end = i + 1
                while end < depth and row[end] & ~low == row[start] & ~low:
                    end += 1
                if end == depth:  # the last run may go on beyond the depth
                    break
                row[start:end] = _sort_run(values[r], row[start:end] & low) | (row[start] & ~low)
                for p in range(start, i + 1):
                    items[r, p] = row[p] & low
                    ranked[r, p] = values[r, items[r, p]]
        top = row[depth - 1] & ~low
        beyond = 0
        for i in range(depth, len(row)):
            beyond += (row[i] & ~low) == top
        run = np.empty(depth - start + beyond, np.int64)
        run[: depth - start] = row[start:depth]
        at = depth - start
        if beyond:
            for i in range(depth, len(row)):
                if (row[i] & ~low) == top:
                    run[at] = row[i]
                    at += 1
            run[depth - start :].sort()
        run = _sort_run(values[r], run & low)
        for i in range(start, depth):
            items[r, i] = run[i - start]
            ranked[r, i] = values[r, items[r, i]]
        more[r] = beyond > 0 and values[r, run[depth - start]] == ranked[r, depth - 1]


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
