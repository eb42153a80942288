"""Distances from queries to a gallery, computed for blocks of queries when they are needed."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from .._typing import Array
from .._validation import as_reals, check_finite, rectangular

TILE = 64
"""Queries of one matrix product; blocks of any size are cut from these, so that they have the same bits."""
BLOCK_VALUES = 2**22


class Between:
    """Distances from each query to each item of a gallery. Use `Neighbors.between` or `from_distances`.

    Nothing is computed before it is needed, and then for blocks of queries.

    Attributes
    ----------
    n_queries, n_gallery : int
        Numbers of queries and of items in the gallery.
    metric : str
        Name of the metric or of the source, for display.
    same : int64 ndarray of shape (n_queries,), or None
        The gallery item that is the query itself, which is never found, or -1; None if there is none.
    given : bool
        Whether the distances were given, not computed.
    truncated : bool
        Whether only the nearest gallery items of every query are known; see `listed`.
    approximate : bool
        Whether nearer items than those listed may exist, so that results cannot be certified.
    """

    truncated: ClassVar[bool] = False
    approximate: bool = False

    def __init__(
        self, n_queries: int, n_gallery: int, metric: str, same: Array | None = None, *, given: bool = False
    ) -> None:
        self.n_queries = n_queries
        self.n_gallery = n_gallery
        self.metric = metric
        self.same = same
        self.given = given

    def __repr__(self) -> str:
        return f"<Between {self.n_queries} queries and {self.n_gallery} gallery items ({self.metric})>"

    def with_same(self, same: Array) -> Between:
        """A copy in which `same` are the queries themselves."""
        twin = copy(self)
        twin.same = same
        return twin

    @property
    def rows_at_once(self) -> int:
        """Number of queries that one call of `block` should have."""
        return int(min(max(BLOCK_VALUES // self.n_gallery // TILE, 1) * TILE, 4 * TILE))

    def block(self, start: int, stop: int) -> Array:
        """Values that order the gallery for some queries.

        Returns
        -------
        float64 ndarray of shape (stop - start, n_gallery)
            Small = near. Monotone in the distance, such as its square.

        Raises
        ------
        ValueError
            If a value is not finite.
        """
        values = np.ascontiguousarray(self._values(start, stop), dtype=np.float64)
        check_finite("distances", values, start)
        return values

    def listed(self, start: int, stop: int, *, fair: bool) -> Array:
        """Values that order the gallery items whose order is known; needs `truncated`.

        Parameters
        ----------
        start, stop : int
            The queries.
        fair : bool
            Whether equally near items are in random order, not in the order of the gallery.

        Returns
        -------
        float64 ndarray of shape (stop - start, n_gallery)
            Integers from 0 to n_gallery - 1, and infinity for items that are not listed.
        """
        raise NotImplementedError

    def _values(self, start: int, stop: int) -> Array:
        raise NotImplementedError


class BetweenDistances(Between):
    """A matrix of distances, in memory or memory-mapped."""

    def __init__(self, matrix: Array, same: Array | None) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], "precomputed", same, given=True)
        self._matrix = matrix

    def _values(self, start: int, stop: int) -> Array:
        return self._matrix[start:stop]


def between_distances(D: Any, queries: Any = "other") -> Between:
    """A matrix of distances from queries (rows) to a gallery (columns), checked but not copied."""
    if hasattr(D, "tocsr"):
        msg = "distances must be a dense array of shape (n_queries, n_gallery), got a sparse matrix"
        raise TypeError(msg)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    if matrix.ndim != 2 or 0 in matrix.shape:
        msg = f"distances must have shape (n_queries, n_gallery), got {matrix.shape}"
        raise ValueError(msg)
    small = {"f": 8, "i": 4, "u": 4, "b": 1}.get(matrix.dtype.kind, 0)  # bytes that float64 holds exactly
    if np.ma.is_masked(D) or matrix.dtype.itemsize > small:
        matrix = as_reals("distances", D, must)
    if queries is True or (isinstance(queries, str) and queries == "other"):
        return BetweenDistances(matrix, None)
    if isinstance(queries, (str, bool)):
        msg = f'queries must be "other" or the gallery index of every query, got {queries!r}'
        raise ValueError(msg)
    return BetweenDistances(matrix, check_same(queries, *matrix.shape))


def check_same(same: Any, n_queries: int, n_gallery: int) -> Array:
    """The gallery index of every query, or -1, as int64."""
    must = "the gallery index of every query must be an integer"
    items = rectangular(same, must)
    if items.shape != (n_queries,):
        msg = f"the gallery indices of the queries must have shape ({n_queries},), got {items.shape}"
        raise ValueError(msg)
    if items.dtype.kind not in "iu":
        msg = f"{must}, got dtype {items.dtype}"
        raise TypeError(msg)
    outside = np.flatnonzero((items < -1) | (items >= n_gallery))
    if len(outside):
        at = f"got {items[outside[0]]} for query {outside[0]}"
        msg = f"{must} from 0 to {n_gallery - 1}, or -1 for a query that is not in the gallery, {at}"
        raise ValueError(msg)
    return items.astype(np.int64)
