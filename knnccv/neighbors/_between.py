"""Distances from queries to a gallery, computed for blocks of queries when they are needed.

They are given, or computed from dense or sparse features. Features stay as they are stored, in single
precision or memory-mapped, and become double precision piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import as_reals, check_finite, rectangular, refuse_fitted
from ._distinct_rows import mixed
from ._engines.sparse_rows import SparseRows, compare_rows, real_values
from ._measures import span
from ._metrics import ALIASES, Metric, ranking, unit_rows

TILE = 64
"""Queries of one matrix product; blocks of any size are cut from these, so that they have the same bits."""
BLOCK_VALUES = 2**22
PIECE = 4096
"""Gallery items of one matrix product; the same for every block, so that the bits are the same."""
PREPARED_BYTES = 2**28
"""Galleries up to this size are prepared once, larger ones whenever they are needed."""


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


class BetweenFeatures(Between):
    """Feature vectors: matrix products for Euclidean distances and angles, scipy's distances otherwise.

    For products the features stay as they are stored, in single precision or memory-mapped, and become
    double precision piece by piece.
    """

    def __init__(self, queries: Array, gallery: Array, metric: Metric, params: Any, same: Array | None):
        super().__init__(len(queries), len(gallery), name_of(metric), same)
        self._products: _Products | None = None
        prepare = _by_rows(queries, gallery, metric, params)
        if prepare is None:
            prepared = ranking(np.concatenate([queries, gallery]), metric, params)
            queries, gallery = prepared.data[: len(queries)], prepared.data[len(queries) :]
            prepare = _double if prepared.kind == "sqeuclidean" else None
            self._compare = prepared.compare
        if prepare is not None:
            self._products = _Products(queries, gallery, prepare)
        else:
            self._queries, self._gallery = queries, gallery

    def _values(self, start: int, stop: int) -> Array:
        if self._products is not None:
            return self._products.block(start, stop)
        return self._compare(self._queries[start:stop], self._gallery)


class _Products:
    """Squared Euclidean distances to the gallery, less a constant of the query, as matrix products.

    Parameters
    ----------
    queries, gallery : ndarray of shape (n, n_features)
    prepare : callable
        Rows in float64 and one length for angles, from stored rows.
    """

    def __init__(self, queries: Array, gallery: Array, prepare: Any) -> None:
        self._queries, self._gallery, self._prepare = queries, gallery, prepare
        # Equal gallery items tie to the last bit only if they are multiplied once.
        self._places, self._kept = self._distinct()
        n = len(gallery) if self._kept is None else len(self._kept)
        self._starts = range(0, n, PIECE)
        self._center = np.zeros(gallery.shape[1])  # keeps the squares small
        for rows in map(self._rows, self._starts):
            self._center += rows.sum(axis=0)
        self._center /= n
        self._squares = np.empty(n)
        self._ready: list[Array] | None = [] if 8 * n * gallery.shape[1] <= PREPARED_BYTES else None
        for start in self._starts:
            centered = self._rows(start) - self._center
            self._squares[start : start + PIECE] = np.einsum("ij,ij->i", centered, centered)
            if self._ready is not None:
                centered *= -2
                self._ready.append(centered.T)

    def block(self, start: int, stop: int) -> Array:
        """Values of some queries, of shape (stop - start, n_gallery)."""
        first = start - start % TILE
        queries = self._prepare(self._queries[first : -(-stop // TILE) * TILE]) - self._center
        values = np.empty((stop - start, len(self._squares)))
        with one_blas_thread():
            for column, piece in zip(self._starts, self._pieces(), strict=True):
                columns = slice(column, column + PIECE)
                for tile in range(first, stop, TILE):
                    found = queries[tile - first : tile - first + TILE] @ piece
                    begin, end = max(tile, start), min(tile + TILE, stop)
                    part = found[begin - tile : end - tile]
                    np.add(part, self._squares[columns], out=values[begin - start : end - start, columns])
        return values if self._places is None else values[:, self._places]

    def _pieces(self) -> Iterator[Array]:
        """The right factors of the products, of shape (n_features, PIECE)."""
        if self._ready is not None:
            yield from self._ready
            return
        for start in self._starts:
            yield (-2 * (self._rows(start) - self._center)).T

    def _rows(self, start: int) -> Array:
        """Prepared rows of the different gallery items from `start` on."""
        at = slice(start, start + PIECE)
        rows: Array = self._prepare(self._gallery[at if self._kept is None else self._kept[at]])
        return rows

    def _distinct(self) -> tuple[Array | None, Array | None]:
        """The number of the different item of every gallery item, and those items; None if all differ."""
        prepare, gallery, n = self._prepare, self._gallery, len(self._gallery)
        numbers = np.empty(n, np.uint64)
        for start in range(0, n, PIECE):
            numbers[start : start + PIECE] = mixed(prepare(gallery[start : start + PIECE]))
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        if len(first) == n:
            return None, None
        owner = first[inverse.ravel()]
        copies = np.flatnonzero(owner != np.arange(n))
        for start in range(0, len(copies), PIECE):
            some = copies[start : start + PIECE]
            unlike = (prepare(gallery[some]) != prepare(gallery[owner[some]])).any(axis=1)
            owner[some[unlike]] = some[unlike]  # different rows that are mixed to one number
        kept = np.unique(owner)
        return np.searchsorted(kept, owner), kept


def name_of(metric: Metric) -> str:
    """The name of a metric, for display."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)


def as_features(name: str, X: Any) -> Array:
    """Features of queries or gallery, two dimensions, checked; floats of up to 64 bits are not copied."""
    refuse_fitted(name, X)
    must = f"{name} must hold real numbers"
    raw = X if np.ma.isMaskedArray(X) else rectangular(X, must)
    if raw.ndim != 2 or 0 in raw.shape:
        msg = f"{name} must have shape (n_items, n_features), got {raw.shape}"
        raise ValueError(msg)
    if np.ma.isMaskedArray(X) or raw.dtype not in (np.float16, np.float32, np.float64):
        return as_reals(name, X, must)
    check_finite(name, raw)
    return np.asarray(raw)


def _by_rows(queries: Array, gallery: Array, metric: Metric, params: Any) -> Any:
    """The function that prepares rows alone, if products of them order as the metric does; else None."""
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else ""
    if params or name not in ("euclidean", "sqeuclidean", "cosine", "correlation"):
        return None
    if name in ("cosine", "correlation"):
        prepare = partial(_unit, name == "correlation")
        return None if any(_some_without_direction(rows, name) for rows in (queries, gallery)) else prepare
    spans = span(queries), span(gallery)
    moderate = all(largest <= 500 and smallest >= -450 for largest, smallest in spans)
    return _double if moderate else None


def _double(rows: Array) -> Array:
    return np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # no negative zeros


def _unit(centered: bool, rows: Array) -> Array:
    return unit_rows(np.ascontiguousarray(rows, dtype=np.float64), centered=centered)[0] + 0.0


def _some_without_direction(rows: Array, name: str) -> bool:
    """Return True if a row is zero, or constant under correlation."""
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        low = piece[:, :1] if name == "correlation" else 0
        if (piece == low).all(axis=1).any():
            return True
    return False


class BetweenSparse(Between):
    """Sparse features: for every query one pass over the gallery's columns of its features.

    Parameters
    ----------
    queries, gallery : scipy sparse matrix of shape (n, n_features)
    metric, params
        As in `Neighbors.between`.
    same : int64 ndarray or None
    """

    def __init__(self, queries: Any, gallery: Any, metric: Metric, params: Any, same: Array | None) -> None:
        from scipy.sparse import csr_matrix, vstack  # takes 0.1 s, too long for `import knnccv`

        n_queries, n_gallery = queries.shape[0], gallery.shape[0]
        super().__init__(n_queries, n_gallery, name_of(metric), same)
        both = vstack([queries, gallery], format="csr")
        if both.shape[0] == both.shape[1]:  # would look like a graph
            both.resize(both.shape[0], both.shape[1] + 1)
        table = ranking(both, metric, params).data
        rows = table.rows
        cut = rows.starts[n_queries]
        part = rows.values[cut:], rows.columns[cut:], rows.starts[n_queries:] - cut
        found = SparseRows.of(csr_matrix(part, shape=(n_gallery, both.shape[1])))
        self._table = found._replace(
            starts=rows.starts[: n_queries + 1], columns=rows.columns[:cut], values=rows.values[:cut]
        )
        self._sums = table.sums[:n_queries], table.sums[n_queries:]
        self._kind = table.kind

    def _values(self, start: int, stop: int) -> Array:
        values = np.empty((stop - start, self.n_gallery))
        compare_rows(self._table, *self._sums, self._kind, start, values)
        return values


def check_sparse(name: str, X: Any) -> Any:
    """Sparse features of queries or gallery as CSR, checked.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers of two dimensions.
    """
    if not hasattr(X, "tocsr"):
        msg = f"queries and gallery must both be sparse or both dense, but {name} is dense"
        raise TypeError(msg)
    if len(X.shape) != 2 or 0 in X.shape:
        msg = f"{name} must have shape (n_items, n_features), got {X.shape}"
        raise ValueError(msg)
    csr = X.tocsr()
    real_values(name, csr)
    return csr
