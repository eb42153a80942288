"""Neighbor lists of a block of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array


@dataclass
class Lists:
    """Neighbour lists of some rows.

    ``items`` int32 (n_rows, depth) and ``values`` float64 (n_rows, depth) are filled up to ``lengths``
    int64 (n_rows,); ``open_end`` bool (n_rows,) tells where an item beyond the list may tie its last.
    """

    items: Array
    values: Array
    lengths: Array
    open_end: Array

    def put(self, rows: Array, some: Lists) -> None:
        """Fill in those of `rows`, of the same depth."""
        self.items[rows], self.values[rows] = some.items, some.values
        self.lengths[rows], self.open_end[rows] = some.lengths, some.open_end

    def cut(self, rows: Array | slice, depth: int) -> Lists:
        """Those of `rows`, no deeper than `depth`."""
        if isinstance(rows, np.ndarray) and len(rows) and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)  # saves a copy
        values = self.values[rows]
        lengths = self.lengths[rows]
        open_end = self.open_end[rows]
        if depth < values.shape[1]:
            longer = lengths > depth
            ties = values[:, depth - 1] == values[:, depth]
            open_end = np.where(longer, ties, open_end)
            lengths = np.minimum(lengths, depth)
        return Lists(
            np.require(self.items[rows, :depth], requirements=("C", "W")),
            np.require(values[:, :depth], requirements=("C", "W")),
            np.ascontiguousarray(lengths),
            open_end,
        )
