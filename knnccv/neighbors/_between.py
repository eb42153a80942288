"""Distances from queries to a gallery, computed for blocks of queries when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self, overload

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import as_reals, check_finite, rectangular, refuse_fitted
from ._distinct_rows import distinct_rows
from ._metrics import Metric, ranking
from ._sources import DistanceMatrix
from ._square_input import as_matrix

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
    """

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

    def _values(self, start: int, stop: int) -> Array:
        raise NotImplementedError


class BetweenDistances(Between):
    """A matrix of distances, in memory or memory-mapped."""

    def __init__(self, matrix: Array, same: Array | None) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], "precomputed", same, given=True)
        self._matrix = matrix

    def _values(self, start: int, stop: int) -> Array:
        return self._matrix[start:stop]


class BetweenFeatures(Between):
    """Feature vectors: matrix products for Euclidean distances and angles, scipy's distances otherwise."""

    def __init__(self, queries: Array, gallery: Array, metric: Metric, params: Any, same: Array | None):
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        super().__init__(len(queries), len(gallery), name, same)
        prepared = ranking(np.concatenate([queries, gallery]), metric, params)
        products = prepared.kind == "sqeuclidean"
        self._compare = prepared.compare
        self._queries, self._gallery = prepared.data[: len(queries)], prepared.data[len(queries) :]
        del prepared  # its data may be large
        self._products = products
        self._places: Array | None = None
        if self._products:
            # Equal gallery items tie to the last bit only if they are multiplied once.
            places = distinct_rows(self._gallery, 1)
            if places is not None and int(places.max()) + 1 < len(gallery):
                first = np.unique(places, return_index=True)[1]
                self._places, self._gallery = places, self._gallery[first]
            center = self._gallery.mean(axis=0, dtype=np.float64)  # keeps the squares small
            self._queries = self._queries - center
            centered = self._gallery - center
            self._squares = np.einsum("ij,ij->i", centered, centered)
            centered *= -2
            self._gallery = centered.T

    def _values(self, start: int, stop: int) -> Array:
        if not self._products:
            return self._compare(self._queries[start:stop], self._gallery)
        values = np.empty((stop - start, self.n_gallery))
        for tile in range(start - start % TILE, stop, TILE):
            rows = self._queries[tile : tile + TILE]
            with one_blas_thread():
                found = rows @ self._gallery + self._squares
            begin, end = max(tile, start), min(tile + len(rows), stop)
            if (begin, end) == (start, stop) and self._places is None:
                return np.asarray(found[begin - tile : end - tile])
            part = found[begin - tile : end - tile]
            values[begin - start : end - start] = part if self._places is None else part[:, self._places]
        return values


class FromPairs:
    """Constructors of `Neighbors` from distances, and between two sets of items."""

    @classmethod
    def between(
        cls,
        queries: Any,
        gallery: Any,
        metric: Metric = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        same: Any = None,
    ) -> Between:
        """Distances from queries to a gallery, for `knnccv.retrieval`.

        Parameters
        ----------
        queries : array of shape (n_queries, n_features)
            Finite real numbers.
        gallery : array of shape (n_gallery, n_features)
            The items that are searched. If it is the same object as `queries`, no query finds itself.
        metric : str or callable, default "euclidean"
            As in `from_data`. Euclidean distances, cosine, correlation and haversine are ordered by matrix
            products in double precision, whose rounding may order items that differ by a part in 10^14 in
            either way; equal gallery items tie exactly. All others are computed pair by pair.
        metric_params : mapping, optional
            As in `from_data`.
        same : integer array of shape (n_queries,), optional
            The gallery item that is the query itself, or -1. It is never found.

        Returns
        -------
        Between
            Computes distances in blocks of queries when they are needed.

        Raises
        ------
        ValueError, TypeError
            If the features are not as above, or their numbers differ.

        Examples
        --------
        >>> from knnccv import Neighbors
        >>> Neighbors.between([[0.0], [4.0]], [[1.0], [2.0], [5.0]])
        <Between 2 queries and 3 gallery items (euclidean)>
        """
        if queries is gallery and same is None:
            same = np.arange(len(queries))
        first, second = _features("queries", queries), _features("gallery", gallery)
        if first.shape[1] != second.shape[1]:
            msg = (
                "queries and gallery must have the same number of features, "
                f"got {first.shape[1]} and {second.shape[1]}"
            )
            raise ValueError(msg)
        identical = None if same is None else check_same(same, len(first), len(second))
        return BetweenFeatures(first, second, metric, metric_params, identical)

    @overload
    @classmethod
    def from_distances(cls, D: Any, queries: None = None) -> Self: ...

    @overload
    @classmethod
    def from_distances(cls, D: Any, queries: Any) -> Between: ...

    @classmethod
    def from_distances(cls, D: Any, queries: Any = None) -> Any:
        """Orders by a matrix of dissimilarities.

        Parameters
        ----------
        D : array of shape (n_items, n_items)
            ``D[x, j]`` is the dissimilarity of sample j to the tested sample x. It need not be symmetric.
            The diagonal is ignored and may be NaN or infinite; all other values must be finite. Not copied.
        queries : "other", True or integer array of shape (n_queries,), optional
            If given, D has shape (n_queries, n_gallery): the rows are queries, the columns the gallery of
            `knnccv.retrieval`, and a `Between` is returned. "other" or True: no query is in the gallery.
            An array: the gallery item that is the query itself, which is never found, or -1. D may be
            memory-mapped; it is read in blocks of rows, and all its values must be finite.

        Returns
        -------
        Neighbors, or Between if `queries` is given

        Raises
        ------
        ValueError, TypeError
            If it is not a square matrix of at least two finite real rows, or holds similarities: every
            row's largest value is on the diagonal.
        """
        if queries is not None:
            return between_distances(D, queries)
        make: Any = cls
        return make(DistanceMatrix(as_matrix(D)))


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


def _features(name: str, X: Any) -> Array:
    """Features of queries or gallery as a float64 array of two dimensions."""
    refuse_fitted(name, X)
    if hasattr(X, "tocsr"):
        msg = f"{name} is a sparse matrix; pass {name}.toarray()"
        raise TypeError(msg)
    data = as_reals(name, X, f"{name} must hold real numbers")
    if data.ndim != 2 or 0 in data.shape:
        msg = f"{name} must have shape (n_items, n_features), got {data.shape}"
        raise ValueError(msg)
    return data
