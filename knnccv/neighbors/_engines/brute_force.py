# mypy: allow-untyped-defs
"""Brute force: all values of a row are compared, and the smallest are sorted by (value, index).

Bit patterns of doubles, read as integers, have the order of the doubles. With the lowest bits replaced by
the index they are keys, which NumPy's vectorized sort orders many times faster than an argsort does. The
lost bits can only disturb the order within runs of keys whose upper bits agree. Such runs are sorted
again by the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.typing import Array
from ...kernel import inner, jit
from .engine import Engine, NeighborLists

# A block of rows should stay in a processor's own cache, but be worth a call.
FAST_BYTES = 2**20
FEWEST_ROWS = 16
BLOCK_BYTES = 2**24
SIGN = np.int64(-(2**63))
LARGEST = np.int64(2**63 - 1)


@inner
def _as_integer(pattern):
    """The bits of a double as an integer in the order of the doubles."""
    pattern = np.int64(0) if pattern == SIGN else pattern  # -0.0 ties 0.0
    return pattern ^ ((pattern >> 63) & LARGEST)  # of two negative values the longer is the smaller


@jit
def _fill_keys(bits, rows, low, keys):
    """Fill `keys` with integers in the order of the doubles, the bits in `low` replaced by the index.

    The key of the tested sample itself, if it is one of them, is the largest.
    """
    for r in range(len(bits)):
        for j in range(bits.shape[1]):
            keys[r, j] = (_as_integer(bits[r, j]) & ~low) | j
        if rows[r] >= 0:
            keys[r, rows[r]] = LARGEST


@inner
def _sort_run(values, run):
    """Sort a run of samples, given in ascending order, by (value, index).

    A hand-written Shell sort: NumPy's sorts take seconds to compile.
    """
    n = len(run)
    ascends = True
    for i in range(1, n):
        ascends = ascends and values[run[i - 1]] <= values[run[i]]
    gap = 0 if ascends else 1
    while 0 < gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            item = run[i]
            at = i
            while at >= gap:
                other = run[at - gap]
                if values[other] < values[item] or (values[other] == values[item] and other < item):
                    break
                run[at] = other
                at -= gap
            run[at] = item
        gap //= 3


@inner
def _sort_runs(row, values, tested, low, items, ranked, scratch):
    """Sort runs of keys that agree in their upper bits by value; return whether the cut end is a tie."""
    bits = values.view(np.int64)
    depth = len(items)
    start = 0
    tied = False
    while start < depth:
        top = row[start] & ~low
        end = start + 1
        while end < depth and row[end] & ~low == top:
            end += 1
        n_found = 0
        if end < depth:
            for i in range(start, end):
                scratch[n_found] = row[i] & low
                n_found += 1
        else:  # the last run may continue beyond the depth, where the row is not sorted
            for j in range(len(row)):
                if _as_integer(bits[j]) & ~low == top and j != tested:
                    scratch[n_found] = j
                    n_found += 1
        run = scratch[:n_found]
        _sort_run(values, run)
        for i in range(start, end):
            items[i] = run[i - start]
            ranked[i] = values[run[i - start]]
        tied = n_found > end - start and values[run[end - start]] == ranked[end - 1]
        start = end
    return tied


@jit
def _settle(keys, values, low, items, ranked, doubts):
    """Fill the lists from keys, of which the first `depth` are sorted and the smallest.

    ``doubts[r]`` is set if the lost bits disturb the order, or may do so at the list's end.
    Returns the number of rows with doubts; `_settle_doubts` is compiled only if there are any.
    """
    n_rows, depth = items.shape
    n_doubtful = 0
    for r in range(n_rows):
        row, nearest, sizes = keys[r], items[r], ranked[r]
        for i in range(depth):
            nearest[i] = row[i] & low
        for i in range(depth):
            sizes[i] = values[r, np.uint64(nearest[i])]
        descents = 0
        for i in range(1, depth):
            descents += sizes[i] < sizes[i - 1]
        beyond = 0
        for i in range(depth, len(row)):
            beyond += (row[i] & ~low) == (row[depth - 1] & ~low)
        doubts[r] = descents + beyond > 0
        n_doubtful += doubts[r]
    return n_doubtful


@jit
def _settle_doubts(keys, values, rows, low, items, ranked, doubts, may_tie_beyond):
    """Sort the doubtful rows, and fill in whether a sample beyond the list ties the last one in it."""
    scratch = np.empty(keys.shape[1], np.int64)
    for r in range(len(items)):
        if doubts[r]:
            may_tie_beyond[r] = _sort_runs(keys[r], values[r], rows[r], low, items[r], ranked[r], scratch)


def nearest_of(values: Array, rows: Array | None, depth: int) -> tuple[Array, Array, Array]:
    """The `depth` nearest other samples of every row.

    Parameters
    ----------
    values : float64 ndarray of shape (n_rows, n_items)
        Surrogate values.
    rows : int64 ndarray of shape (n_rows,), or None
        The tested sample of every row, which is left out of its list; None if it is not one of the samples.
    depth : int
        1 to the number of the others.

    Returns
    -------
    items : int32 ndarray of shape (n_rows, depth)
    ranked : float64 ndarray of shape (n_rows, depth)
        Their values, ascending; ties in the order of the samples.
    may_tie_beyond : bool ndarray of shape (n_rows,)
        Whether a sample beyond the list ties the last one in it.
    """
    n_rows, n_items = values.shape
    low = np.int64((1 << (n_items - 1).bit_length()) - 1)
    keys = np.empty((n_rows, n_items), np.int64)
    rows = np.full(n_rows, -1) if rows is None else rows
    _fill_keys(values.view(np.int64), rows, low, keys)
    keys.partition(depth - 1, axis=1)
    keys[:, :depth].sort(axis=1)
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    may_tie_beyond = np.zeros(n_rows, bool)
    doubts = np.zeros(n_rows, bool)
    if _settle(keys, values, low, items, ranked, doubts):
        _settle_doubts(keys, values, rows, low, items, ranked, doubts, may_tie_beyond)
    return items, ranked, may_tie_beyond


class BruteForce(Engine):
    """Compares tested samples with all samples.

    Parameters
    ----------
    n_items : int
    compare : callable
        ``compare(rows)`` → values that order all samples for these rows, float64 (n_rows, n_items).
    n_searched : int, optional
        Search this number of samples, with which `compare` compares, and test others. Default: all are
        searched.
    """

    def __init__(self, n_items: int, compare: Callable[[Array], Array], n_searched: int = 0) -> None:
        self.n_items = n_items
        self.n_searched = n_searched
        self.max_depth = n_searched or n_items - 1
        self.compare = compare

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`."""
        itself = None if self.n_searched else rows
        return NeighborLists.of_full_rows(*nearest_of(self.compare(rows), itself, depth))

    def rows_at_once(self) -> int:
        """Number of rows whose values fit the cache of a processor."""
        row = 8 * self.n_items
        return int(np.clip(max(FAST_BYTES // row, min(FEWEST_ROWS, BLOCK_BYTES // row)), 1, 512))
