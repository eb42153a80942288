"""The nearest gallery items of every query, given or searched, in place of the distances of all."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import check_bool, check_integer
from ._between import Between, check_same
from ._engines.engine import serving
from ._given_lists import ListFormat, as_distances, as_finite, as_indices, check_integers, spread_rows
from ._list_readers import ArrayLists, mapping_of
from ._sources import FeatureTable

ROWS = 2**10


class ListedBetween(Between):
    """Base class: the nearest gallery items of every query, in lists that may end early."""

    truncated: ClassVar[bool] = True

    def lists(self, start: int, stop: int, *, fair: bool) -> tuple[Array, Array, Array, Array]:
        """The lists of some queries.

        Returns
        -------
        items : int64 ndarray of shape (n, depth)
            Gallery items, the nearest first.
        values : float64 ndarray of shape (n, depth)
            Their distances or other values, ascending; equal ones are ties.
        lengths : int64 ndarray of shape (n,)
            Number of items in each list.
        doubtful : bool ndarray of shape (n,)
            Whether an item beyond the list may be as near as the last one in it.
        """
        raise NotImplementedError

    def listed(self, start: int, stop: int, *, fair: bool) -> Array:
        """Values that order the listed gallery items; infinity for the others."""
        items, values, lengths, doubtful = self.lists(start, stop, fair=fair)
        n, depth = items.shape
        known = np.arange(depth) < lengths[:, None]
        ends = doubtful & (lengths > 0)
        last = values[np.arange(n), np.maximum(lengths - 1, 0)]
        known &= ~(ends[:, None] & (values == last[:, None]))
        places = np.zeros(items.shape)
        places[:, 1:] = np.cumsum(values[:, 1:] != values[:, :-1], axis=1)
        out = np.full((n, self.n_gallery), np.inf)
        out[np.nonzero(known)[0], items[known]] = places[known]
        return out

    def _values(self, start: int, stop: int) -> Array:
        values = self.listed(start, stop, fair=True)
        missing = np.isinf(values)
        if self.same is not None:
            itself = np.flatnonzero(self.same[start:stop] >= 0)
            at = itself, self.same[start:stop][itself]
            missing[at] = False
            values[at] = np.where(np.isinf(values[at]), self.n_gallery, values[at])
        if missing.any():
            q = int(missing.any(axis=1).argmax())
            msg = (
                f"the order of only {int((~missing[q]).sum())} of {self.n_gallery} gallery items is known "
                f"for query {start + q}; lists of the nearest serve expected_retrieval in float64 alone, "
                "all else needs distances to the whole gallery"
            )
            raise ValueError(msg)
        return values


class GivenBetween(ListedBetween):
    """Lists that another program has found, in memory or memory-mapped.

    Parameters
    ----------
    indices, distances, n_gallery, same, approximate, cut_ties
        As in `Neighbors.between_lists`.
    """

    def __init__(
        self, indices: Any, distances: Any, n_gallery: int, same: Any, *, approximate: bool, cut_ties: bool
    ) -> None:
        self.approximate = check_bool("approximate", approximate)
        self._cut_ties = check_bool("cut_ties", cut_ties)
        size = check_integer("n_gallery", n_gallery, 1)
        raw = as_indices(indices)
        if raw.ndim != 2 or 0 in raw.shape:
            msg = f"indices must have shape (n_queries, depth), got {raw.shape}"
            raise ValueError(msg)
        n_queries, depth = raw.shape
        if depth > size:
            msg = f"indices have {depth} columns, but n_gallery is {size}"
            raise ValueError(msg)
        check_integers(raw.dtype)
        identical = None if same is None else check_same(same, n_queries, size)
        super().__init__(n_queries, size, "lists", identical)
        found = None if distances is None else as_distances(distances, raw.shape)
        self._reader = ArrayLists(raw, found)
        self._how = ListFormat(size, depth, found is not None, self.approximate, of_gallery=True)
        if mapping_of(indices) is None:
            for start in range(0, n_queries, ROWS):
                self._checked(np.arange(start, min(start + ROWS, n_queries)))
        else:  # every row is checked when it is read
            self._checked(spread_rows(0, n_queries))

    def lists(self, start: int, stop: int, *, fair: bool) -> tuple[Array, Array, Array, Array]:  # noqa: ARG002
        """The given lists; the order of an item beyond them is not known where it may tie."""
        items, values, keep, lengths = self._checked(np.arange(start, stop))
        others = np.full(stop - start, self.n_gallery)
        n_others = lengths.copy()
        if self.same is not None:
            same = self.same[start:stop]
            others -= same >= 0
            n_others -= (keep & (items == same[:, None]) & (same >= 0)[:, None]).any(axis=1)
        may_tie = self._cut_ties and self._how.measured and not self.approximate
        return items, values, lengths, (n_others < others) & may_tie

    def _checked(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Items, values, which of them are listed, and how many, for some rows in ascending order.

        Raises
        ------
        ValueError
            If an index is out of range or repeated, or distances decrease or are not finite.
        """
        raw, found = self._reader.read(rows)
        items, keep, lengths = self._how.mark(raw, rows)
        items[~keep] = 0
        if found is None:
            positions = np.arange(items.shape[1], dtype=np.float64)
            return items, np.broadcast_to(positions, items.shape), keep, lengths
        values = np.where(keep, as_finite(found, keep, rows), np.inf)
        falls = keep[:, 1:] & (values[:, 1:] < values[:, :-1])
        if falls.any():
            r, j = (int(at) for at in np.argwhere(falls)[0])
            msg = (
                f"distances[{rows[r]}, {j + 1}] = {values[r, j + 1]} is smaller than the one before it, "
                f"{values[r, j]}; every list must have the nearest item first (negate similarities)"
            )
            raise ValueError(msg)
        return items, values, keep, lengths


class SearchedBetween(ListedBetween):
    """Lists that are searched block by block; their orders and ties are exact.

    Parameters
    ----------
    source : FeatureTable
        The gallery, and after it the queries.
    same : int64 ndarray of shape (n_queries,), or None
    n_neighbors : int
        As in `Neighbors.between`.
    """

    def __init__(self, source: FeatureTable, same: Array | None, n_neighbors: int) -> None:
        n_gallery = source.n_searched
        super().__init__(source.n_items - n_gallery, n_gallery, source.description, same)
        self._depth = check_integer("n_neighbors", n_neighbors, 1, n_gallery, "the size of the gallery")
        self._engines = tuple(source.engines())

    def lists(self, start: int, stop: int, *, fair: bool) -> tuple[Array, Array, Array, Array]:
        """Search; in the order of the gallery it is known what is beyond the end of a list."""
        same = None if self.same is None else self.same[start:stop]
        depth = min(self._depth + (same is not None), self.n_gallery)
        rows = self.n_gallery + np.arange(start, stop)
        with one_blas_thread():
            found = serving(self._engines, depth, prepare=True).search(rows, depth)
        items, values = found.items.astype(np.int64), found.values
        lengths, doubtful = found.lengths, found.may_tie_beyond
        if same is not None and depth > self._depth:
            longer = (items != same[:, None]).all(axis=1)  # without the query itself
            lengths = lengths - longer
            doubtful = np.where(longer, values[:, -2] == values[:, -1], doubtful)
        return items, values, lengths, doubtful & fair
