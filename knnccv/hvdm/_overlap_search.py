"""Search in tables of nominal columns alone: the squared distance is the number of columns that differ."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..kernel import ZERO, jit
from ..neighbors import BLOCK_BYTES, Engine, NeighborLists

MISSING = 0
LARGEST_CODE = 2**8 - 1
MOST_COLUMNS = 2**8 - 2  # so that no count is that of the tested sample
TESTED = np.uint8(2**8 - 1)


@jit
def _fill_lists(codes, rows, items, values, may_tie_beyond):
    """Fill in the lists of the rows, ties in the order of the samples; O(n_columns * n_items) per row.

    Loops over single bytes are vectorized: 64 comparisons take one instruction if the processor has it.
    """
    n_columns, n_items = codes.shape
    depth = items.shape[1]
    counts = np.empty(n_items, np.uint8)  # of columns that differ
    places = np.empty(n_columns + 1, np.int64)  # of the next sample with a count
    for r in range(len(rows)):
        row = rows[r]
        counts[:] = 0
        for b in range(n_columns):
            own = codes[b, row]
            column = codes[b]
            if own == MISSING:
                for j in range(n_items):
                    counts[j] += np.uint8(1)
            else:
                for j in range(n_items):
                    counts[j] += np.uint8(column[j] != own)
        counts[row] = TESTED
        last = ZERO - 1  # the largest count in the list
        n_found = ZERO
        while n_found < depth:
            last += 1
            places[last] = n_found
            equal = ZERO
            for j in range(n_items):
                equal += counts[j] == last
            n_found += equal
        for j in range(n_items):
            count = counts[j]
            if count <= last and places[count] < depth:
                items[r, places[count]] = j
                values[r, places[count]] = count
                places[count] += 1
        may_tie_beyond[r] = n_found > depth


class OverlapSearch(Engine):
    """Counts the columns in which samples differ; a missing value differs from every value.

    Parameters
    ----------
    codes : int32 ndarray of shape (n_columns, n_items)
        The values of the columns, 0 for missing ones. See `serves_codes`.
    """

    def __init__(self, codes: Array) -> None:
        self.codes = np.ascontiguousarray(codes, dtype=np.uint8)
        self.max_depth = codes.shape[1] - 1

    @staticmethod
    def serves_codes(codes: Array) -> bool:
        """Return True if the values of the columns, and their number, are small enough."""
        return 0 < len(codes) <= MOST_COLUMNS and int(codes.max(initial=0)) <= LARGEST_CODE

    def rows_at_once(self) -> int:
        """Number of rows whose lists fit into some megabytes, even if they contain all samples."""
        row = 12 * self.codes.shape[1]
        return int(np.clip(BLOCK_BYTES // row, 16, 512))

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`."""
        items, values = np.empty((len(rows), depth), np.int32), np.empty((len(rows), depth))
        may_tie_beyond = np.empty(len(rows), bool)
        _fill_lists(self.codes, rows, items, values, may_tie_beyond)
        return NeighborLists.of_full_rows(items, values, may_tie_beyond)
