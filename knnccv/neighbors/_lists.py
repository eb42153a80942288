"""Neighbor lists of some samples, the result of every search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array


@dataclass
class NeighborLists:
    """Neighbor lists of some samples, one per row.

    Attributes
    ----------
    items : int32 ndarray of shape (n_rows, depth)
        Neighbors, the nearest first.
    values : float64 ndarray of shape (n_rows, depth)
        Surrogate values that order them, ascending; equal values are ties.
    lengths : int64 ndarray of shape (n_rows,)
        Number of neighbors in each row; later entries of `items` and `values` are undefined.
    may_tie_beyond : bool ndarray of shape (n_rows,)
        Whether a sample beyond the list may tie the last one in it.
    """

    items: Array
    values: Array
    lengths: Array
    may_tie_beyond: Array

    @classmethod
    def of_full_rows(cls, items: Array, values: Array, may_tie_beyond: Array) -> NeighborLists:
        """Lists that are filled up to their last position."""
        n_rows, depth = items.shape
        return cls(items, values, np.full(n_rows, depth, np.int64), may_tie_beyond)

    @classmethod
    def empty(cls, n_rows: int, depth: int) -> NeighborLists:
        """Uninitialized lists, to be filled by `put`."""
        return cls(
            np.empty((n_rows, depth), np.int32),
            np.empty((n_rows, depth)),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, bool),
        )

    def put(self, rows: Array, lists: NeighborLists) -> None:
        """Copy the lists of the samples `rows`, of the same depth, into these."""
        self.items[rows], self.values[rows] = lists.items, lists.values
        self.lengths[rows], self.may_tie_beyond[rows] = lists.lengths, lists.may_tie_beyond

    def cut(self, rows: Array | slice, depth: int) -> NeighborLists:
        """The lists of `rows`, cut at `depth`."""
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
