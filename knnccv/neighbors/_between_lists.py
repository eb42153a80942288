"""The nearest gallery items of every query, given or searched, in place of the distances of all."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import check_bool, check_integer, rectangular
from ._between import Between, check_same
from ._engines.engine import serving
from ._given_rows import as_finite, spread_rows
from ._inputs import as_distances
from ._mapped_lists import mapping_of
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
        self._indices = as_rows(indices, size)
        n_queries = len(self._indices)
        super().__init__(
            n_queries, size, "lists", None if same is None else check_same(same, n_queries, size)
        )
        self._distances = distances
        if distances is not None:
            self._distances = as_distances(distances, self._indices.shape)
        if mapping_of(indices) is None:
            for start in range(0, n_queries, ROWS):
                self._checked(np.arange(start, min(start + ROWS, n_queries)))
        else:  # every row is checked when it is read
            self._checked(spread_rows(0, n_queries))

    def lists(self, start: int, stop: int, *, fair: bool) -> tuple[Array, Array, Array, Array]:  # noqa: ARG002
        """The given lists; the order of an item beyond them is not known where it may tie."""
        items, values, keep = self._checked(np.arange(start, stop))
        lengths = keep.sum(axis=1)
        others = np.full(stop - start, self.n_gallery)
        n_others = lengths.copy()
        if self.same is not None:
            same = self.same[start:stop]
            others -= same >= 0
            n_others -= (keep & (items == same[:, None]) & (same >= 0)[:, None]).any(axis=1)
        may_tie = self._cut_ties and self._distances is not None and not self.approximate
        return items, values, lengths, (n_others < others) & may_tie

    def _checked(self, rows: Array) -> tuple[Array, Array, Array]:
        """Items, values and which of them are listed, for some rows in ascending order.

        Raises
        ------
        ValueError
            If an index is out of range or repeated, or distances decrease or are not finite.
        """
        raw = np.asarray(self._indices[rows[0] : rows[-1] + 1][rows - rows[0]])
        items = raw.astype(np.int64)
        keep = np.ones(items.shape, np.bool_)
        if self.approximate:
            marker = int(np.array(-1).astype(raw.dtype).astype(np.int64))
            keep = items != marker if not 0 <= marker < self.n_gallery else keep
            again = ~keep[:, :-1] & keep[:, 1:]
            if again.any():
                r, j = (int(at) for at in np.argwhere(again)[0])
                msg = (
                    f"indices[{rows[r]}] continues after indices[{rows[r]}, {j}] = {raw[r, j]}, no neighbor"
                )
                raise ValueError(msg)
        outside = keep & ((items < 0) | (items >= self.n_gallery))
        if outside.any():
            r, j = (int(at) for at in np.argwhere(outside)[0])
            hint = ", or -1 for none with approximate=True" if items[r, j] == -1 else ""
            msg = (
                f"indices[{rows[r]}, {j}] is {raw[r, j]}; with n_gallery={self.n_gallery} it must be "
                f"between 0 and {self.n_gallery - 1}{hint}"
            )
            raise ValueError(msg)
        unlike = np.sort(np.where(keep, items, -1 - np.arange(items.shape[1])), axis=1)
        twice = unlike[:, 1:] == unlike[:, :-1]
        if twice.any():
            r, j = (int(at) for at in np.argwhere(twice)[0])
            msg = f"indices[{rows[r]}] holds gallery item {unlike[r, j]} twice"
            raise ValueError(msg)
        items[~keep] = 0
        if self._distances is None:
            return items, np.broadcast_to(np.arange(items.shape[1], dtype=np.float64), items.shape), keep
        found = np.asarray(self._distances[rows[0] : rows[-1] + 1][rows - rows[0]])
        values = np.where(keep, as_finite(found, keep, rows), np.inf)
        falls = keep[:, 1:] & (values[:, 1:] < values[:, :-1])
        if falls.any():
            r, j = (int(at) for at in np.argwhere(falls)[0])
            msg = (
                f"distances[{rows[r]}, {j + 1}] = {values[r, j + 1]} is smaller than the one before it, "
                f"{values[r, j]}; every list must have the nearest item first (negate similarities)"
            )
            raise ValueError(msg)
        return items, values, keep


def as_rows(indices: Any, n_gallery: int) -> Array:
    """Indices of shape (n_queries, depth) as an array, of which only shape and type are checked."""
    must = "indices must be integers"
    if np.ma.is_masked(indices):
        msg = "there are masked entries in indices; every value is needed"
        raise ValueError(msg)
    raw = rectangular(indices, must)
    if raw.ndim != 2 or 0 in raw.shape:
        msg = f"indices must have shape (n_queries, depth), got {raw.shape}"
        raise ValueError(msg)
    if raw.shape[1] > n_gallery:
        msg = f"indices have {raw.shape[1]} columns, but n_gallery is {n_gallery}"
        raise ValueError(msg)
    if raw.dtype.kind not in "iu":
        msg = f"{must}, got dtype {raw.dtype}"
        raise TypeError(msg)
    return raw


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
