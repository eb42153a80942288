"""Neighbor lists of a block of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array


@dataclass
class NeighborLists:
    """Neighbor lists of some rows.

    ``items`` int32 (n_rows, depth) and ``values`` float64 (n_rows, depth) are filled up to ``lengths``
    int64 (n_rows,); ``open_end`` bool (n_rows,) tells where a sample beyond the list may tie its last.
    """

    items: Array
    values: Array
    lengths: Array
    may_tie_beyond: Array

    def put(self, rows: Array, some: NeighborLists) -> None:
        """Fill in those of `rows`, of the same depth."""
        self.items[rows], self.values[rows] = some.items, some.values
        self.lengths[rows], self.may_tie_beyond[rows] = some.lengths, some.may_tie_beyond

    def cut(self, rows: Array | slice, depth: int) -> NeighborLists:
        """Those of `rows`, no deeper than `depth`."""
        if isinstance(rows, np.ndarray) and len(rows) and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)  # saves a copy
        values = self.values[rows]
        lengths = self.lengths[rows]
        may_tie_beyond = self.may_tie_beyond[rows]
        if depth < values.shape[1]:
            longer = lengths > depth
            ties = values[:, depth - 1] == values[:, depth]
            may_tie_beyond = np.where(longer, ties, may_tie_beyond)
            lengths = np.minimum(lengths, depth)
        return NeighborLists(
            np.require(self.items[rows, :depth], requirements=("C", "W")),
            np.require(values[:, :depth], requirements=("C", "W")),
            np.ascontiguousarray(lengths),
            may_tie_beyond,
        )
