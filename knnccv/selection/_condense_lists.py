"""The nearest candidates of every sample in a shrinking pool; searched again when few are left."""

from __future__ import annotations

from math import ceil

import numpy as np
from numba import types

from .._parallel import for_each
from .._typing import Array
from ..driver import usable_lengths
from ..kernel import compile_driver, jit
from ..neighbors import NeighborLists, Neighbors

SPARE = 4
"""Lists are this many times as long as needed, so that they serve until the pool is that much smaller."""
DEEP = 8  # lists longer than N / 8 cost more than a comparison with all samples
BLOCK_VALUES = 2**21


@jit
def keep_candidates(items, values, lengths, rows, kept, most, out_items, out_values, out_lengths):
    """Copy the candidates of the rows, at most `most` of them, and the rest of the last tied group.

    Row r of the result is the list ``rows[r]``; entries beyond ``out_lengths[r]`` stay as they are.
    """
    for r in range(len(rows)):
        x = rows[r]
        found = 0
        for i in range(lengths[x]):
            if not kept[items[x, i]]:
                continue
            if found >= most and values[x, i] != out_values[r, found - 1]:
                break
            out_items[r, found] = items[x, i]
            out_values[r, found] = values[x, i]
            found += 1
        out_lengths[r] = found


_ITEMS, _VALUES = types.Array(types.int32, 2, "C"), types.Array(types.float64, 2, "C")
_INTEGERS, _FLAGS = types.Array(types.int64, 1, "C"), types.Array(types.boolean, 1, "C")
KEEP_CANDIDATES = types.void(
    _ITEMS, _VALUES, _INTEGERS, _INTEGERS, _FLAGS, types.int64, _ITEMS, _VALUES, _INTEGERS
)


class PoolLists:
    """The nearest candidates of every sample; the pool only shrinks.

    Each list is a beginning of the sample's order of the pool, and ends before a tied group that may go on.

    Parameters
    ----------
    neighbors : Neighbors
    average_ties : bool
    n_jobs : int, optional
    """

    def __init__(self, neighbors: Neighbors, average_ties: bool, n_jobs: int | None) -> None:
        self.neighbors = neighbors
        self._average_ties = average_ties
        self._n_jobs = n_jobs
        n_items = neighbors.n_items
        self._items, self._values = np.empty((n_items, 0), np.int32), np.empty((n_items, 0))
        self._lengths = np.zeros(n_items, np.int64)
        self._ends = np.zeros(n_items, bool)  # no deeper lists exist

    @property
    def depth(self) -> int:
        """The width of the stored lists."""
        return self._items.shape[1]

    def ends(self, rows: Array) -> Array:
        """Whether deeper lists of the rows do not exist, a bool array."""
        known: Array = self._ends[rows]
        return known

    def of(self, rows: Array, kept: Array, most: int) -> NeighborLists:
        """The candidates of the rows: at most `most`, except that a tied group is whole."""
        items, values = np.zeros((len(rows), self.depth), np.int32), np.zeros((len(rows), self.depth))
        lengths = np.empty(len(rows), np.int64)
        fill = compile_driver(keep_candidates, KEEP_CANDIDATES)
        fill(self._items, self._values, self._lengths, rows, kept, most, items, values, lengths)
        width = max(int(lengths.max(initial=0)), 1)
        return NeighborLists(
            np.ascontiguousarray(items[:, :width]),
            np.ascontiguousarray(values[:, :width]),
            lengths,
            np.zeros(len(rows), bool),
        )

    def deepen(self, rows: Array, pool: Array, wanted: int) -> None:
        """Search the rows again, for about the `wanted` nearest candidates of the pool.

        Parameters
        ----------
        rows : int64 ndarray of shape (n_rows,)
        pool : bool ndarray of shape (n_items,)
            The samples of the pool; later pools must be parts of it.
        wanted : int
            At least 1.
        """
        n_items, n_pool = len(pool), int(pool.sum())
        want = min(wanted, n_pool)
        depth = ceil(1.1 * want * n_items / n_pool) + 8 if n_pool < n_items else want + 1
        near = self.neighbors
        compare = near.sees_all and depth > n_items // DEEP
        depth = min(depth, near.max_depth)
        width = min(want if compare else depth, n_pool)
        if width > self.depth:
            more = width - self.depth
            self._items = np.pad(self._items, ((0, 0), (0, more)))
            self._values = np.pad(self._values, ((0, 0), (0, more)))
        if compare:
            size = max(BLOCK_VALUES // n_items, 1)
        else:
            near.prepare(depth)
            if len(rows) == n_items:
                near.search_all(depth, n_jobs=self._n_jobs)
            size = near.rows_at_once(depth)
        columns = np.flatnonzero(pool)

        def fill(block: Array) -> None:
            if compare:
                self._compare(block, columns, want)
            else:
                self._search(block, pool, depth)

        for_each(fill, [rows[start : start + size] for start in range(0, len(rows), size)], self._n_jobs)

    def _search(self, rows: Array, pool: Array, depth: int) -> None:
        """Fill in the rows from lists of all samples."""
        lists = self.neighbors.search(rows, depth)
        lengths = usable_lengths(lists, self.neighbors, self._average_ties)
        places = np.arange(len(rows))
        width = min(self.depth, depth)
        items, values = np.zeros((len(rows), depth), np.int32), np.zeros((len(rows), depth))
        found = np.empty(len(rows), np.int64)
        keep = compile_driver(keep_candidates, KEEP_CANDIDATES)
        keep(lists.items, lists.values, lengths, places, pool, depth, items, values, found)
        self._items[rows, :width], self._values[rows, :width] = items[:, :width], values[:, :width]
        self._lengths[rows] = found
        self._ends[rows] = depth >= self.neighbors.max_depth

    def _compare(self, rows: Array, columns: Array, want: int) -> None:
        """Fill in the rows from the values of all pairs."""
        values = self.neighbors.values(rows)[:, columns]
        values[rows[:, None] == columns] = np.inf
        want = min(want, len(columns))
        near = np.argpartition(values, want - 1, axis=1)[:, :want] if want < len(columns) else None
        for r, x in enumerate(rows):
            at = np.arange(len(columns)) if near is None else np.sort(near[r])
            at = at[np.argsort(values[r, at], kind="stable")]
            found = values[r, at]
            n_known = len(at)
            if near is not None:
                n_known = int(np.searchsorted(found, found[-1]))
            elif columns[at[-1]] == x:
                n_known -= 1
            self._items[x, :n_known], self._values[x, :n_known] = columns[at[:n_known]], found[:n_known]
            self._lengths[x] = n_known
            self._ends[x] = near is None
