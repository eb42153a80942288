"""Distances from queries to a gallery, or its nearest items, for blocks of queries when they are needed.

Distances are given, or computed from dense or sparse features. Features stay as they are stored, in single
precision or memory-mapped, and become double precision piece by piece. The nearest items are given as
lists, or searched by an engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._base.parallel import one_blas_thread
from .._base.typing import Array
from .._base.validation import as_reals, check, check_bool, check_finite, check_integer, rectangular
from ._engines.brute_force import BruteForce
from ._engines.engine import Engine, serving
from ._engines.sparse_rows import SparseRows, compare_rows
from ._given_lists import ListFormat, as_distances, as_indices, check_integers, spread_rows
from ._inputs import as_features, check_sparse
from ._list_readers import ArrayLists, StreamedLists, mapping_of
from ._metrics import Metric, name_of, ranking, unchanged
from ._products import PIECE, TILE, Products, double, row_preparation
from ._sources import FeatureTable

Compare = Callable[[int, int], Array]

BLOCK_VALUES = 2**22
ROWS = 2**10  # of given lists that are checked at once


@dataclass(eq=False, repr=False)
class Between(ABC):
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
    measured : bool
        Whether values of lists, or of given distances, are the distances.
    truncated : bool
        Whether only the nearest gallery items of every query are known; see `listed`.
    approximate : bool
        Whether nearer items than those listed may exist, so that results cannot be certified.
    alike : bool
        Whether every query is at distance 0 of the gallery item of its number, though `same` is None: the
        features are equal, or the diagonal of given distances is 0.
    """

    n_queries: int
    n_gallery: int
    metric: str
    same: Array | None
    given: bool = field(default=False, kw_only=True)
    measured: bool = field(default=False, kw_only=True)
    approximate: bool = field(default=False, kw_only=True)
    alike: bool = field(default=False, kw_only=True)
    truncated: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"<Between {self.n_queries} queries and {self.n_gallery} gallery items ({self.metric})>"

    def with_same(self, same: Array) -> Between:
        """A copy in which `same` are the queries themselves."""
        return replace(self, same=same)

    @property
    def rows_at_once(self) -> int:
        """Number of queries that one call of `block` should have."""
        return int(min(max(BLOCK_VALUES // self.n_gallery // TILE, 1) * TILE, 4 * TILE))

    @abstractmethod
    def block(self, start: int, stop: int) -> Array:
        """Values that order the gallery for some queries.

        Returns
        -------
        float64 ndarray of shape (stop - start, n_gallery)
            Small = near. Monotone in the distance, such as its square.

        Raises
        ------
        ValueError
            If a value is not finite, or only the nearest items are known.
        """

    def rough(self, start: int, stop: int) -> tuple[Array, Array]:
        """Values as those of `block`, in less time, whose order may be wrong where they are close.

        Returns
        -------
        values : float64 ndarray of shape (stop - start, n_gallery)
        slack : float64 ndarray of shape (stop - start,)
            Values of a query that differ by no more may be tied, or in the other order.
        """
        return self.block(start, stop), np.zeros(stop - start)

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values of lists."""
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


@dataclass(eq=False, repr=False)
class ComparedBetween(Between):
    """All distances.

    Attributes
    ----------
    compare : callable
        ``compare(start, stop)`` → values that order the gallery for some queries.
    """

    compare: Compare

    @property
    def depth(self) -> int:
        """Length of the lists of the engine, the whole gallery."""
        return self.n_gallery

    @property
    def engines(self) -> Sequence[Engine]:
        """Brute force."""
        return (BruteForce(self.n_queries + self.n_gallery, self._values, self.n_gallery),)

    def _values(self, rows: Array) -> Array:
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        return np.concatenate([self.block(int(run[0]), int(run[-1]) + 1) for run in runs])

    def block(self, start: int, stop: int) -> Array:
        """Values that order the gallery for some queries."""
        values = np.ascontiguousarray(self.compare(start, stop), dtype=np.float64)
        if not isinstance(self.compare, Products):  # those of finite features are
            check_finite("distances", values, start)
        return values

    def rough(self, start: int, stop: int) -> tuple[Array, Array]:
        """Values whose order may be wrong where they are close, and how close that is."""
        if isinstance(self.compare, Products):
            return self.compare.rough(start, stop)
        return super().rough(start, stop)


@dataclass(eq=False, repr=False)
class ListedBetween(Between):
    """The nearest gallery items of every query, in lists that may end early.

    Attributes
    ----------
    engines : sequence of Engine
        They find the lists; the last one serves every depth.
    depth : int
        Length of the lists, without the query itself.
    distance : callable
        Distances from values of the lists.
    """

    truncated: ClassVar[bool] = True
    engines: Sequence[Engine]
    depth: int
    distance: Callable[[Array], Array] = unchanged

    @classmethod
    def of(cls, table: FeatureTable, depth: int) -> ListedBetween:
        """From the queries of a table to its gallery, as far as the nearest of a number."""
        size, engines = table.n_searched, table.engines()
        shape = table.n_items - size, size
        return cls(*shape, table.description, None, engines, depth, table.to_distance)

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values of lists."""
        return self.distance(values)

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
        same = None if self.same is None else self.same[start:stop]
        depth = min(self.depth + (same is not None), self.n_gallery)
        engine = serving(self.engines, depth, prepare=True)
        with one_blas_thread():
            found = engine.search(np.arange(start, stop), depth)
        items, values = found.items.astype(np.int64), found.values
        lengths, doubtful = found.lengths, found.may_tie_beyond
        if same is not None:
            known = np.arange(items.shape[1]) < lengths[:, None]
            unlisted = ~(known & (items == same[:, None])).any(axis=1)
            if items.shape[1] > self.depth:  # one item more, in place of the query itself
                lengths = lengths - unlisted
                doubtful = np.where(unlisted, values[:, -2] == values[:, -1], doubtful)
            only_itself = unlisted & (same >= 0) & (lengths == self.n_gallery - 1)
            doubtful = doubtful & ~only_itself
        # A search finds tied items in the order of the gallery; given lists may be cut anywhere.
        return items, values, lengths, doubtful & (fair or engine.holds_lists)

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

    def block(self, start: int, stop: int) -> Array:
        """The places of the gallery items, if all are known."""
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


def between_distances(D: Any, queries: Any = "other") -> Between:
    """A matrix of distances from queries (rows) to a gallery (columns), checked but not copied."""
    msg = "distances must be a dense array of shape (n_queries, n_gallery), got a sparse matrix"
    check(not hasattr(D, "tocsr"), msg, error=TypeError)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    msg = f"distances must have shape (n_queries, n_gallery), got {matrix.shape}"
    check(matrix.ndim == 2 and 0 not in matrix.shape, msg)
    small = {"f": 8, "i": 4, "u": 4, "b": 1}.get(matrix.dtype.kind, 0)  # bytes that float64 holds exactly
    if np.ma.is_masked(D) or matrix.dtype.itemsize > small:
        matrix = as_reals("distances", D, must)
    n_queries, n_gallery = matrix.shape
    same = None
    if not (queries is True or (isinstance(queries, str) and queries == "other")):
        must = 'queries must be "other" or the gallery index of every query'
        check(not isinstance(queries, (str, bool)), must, queries)
        same = check_same(queries, n_queries, n_gallery)
    compare = partial(_rows_of, matrix)
    alike = same is None and n_queries == n_gallery and not matrix.diagonal().any()
    return ComparedBetween(
        n_queries, n_gallery, "precomputed", same, compare, given=True, measured=True, alike=alike
    )


def _rows_of(matrix: Array, start: int, stop: int) -> Array:
    return matrix[start:stop]


def check_same(same: Any, n_queries: int, n_gallery: int) -> Array:
    """The gallery index of every query, or -1, as int64."""
    must = "the gallery index of every query must be an integer"
    items = rectangular(same, must)
    msg = f"the gallery indices of the queries must have shape ({n_queries},), got {items.shape}"
    check(items.shape == (n_queries,), msg)
    check(items.dtype.kind in "iu", f"{must}, got dtype {items.dtype}", error=TypeError)
    outside = np.flatnonzero((items < -1) | (items >= n_gallery))
    if len(outside):
        at = f"got {items[outside[0]]} for query {outside[0]}"
        msg = f"{must} from 0 to {n_gallery - 1}, or -1 for a query that is not in the gallery, {at}"
        raise ValueError(msg)
    return items.astype(np.int64)


def between_lists(
    indices: Any,
    distances: Any,
    n_gallery: int,
    *,
    same: Any = None,
    approximate: bool = False,
    cut_ties: bool = True,
) -> Between:
    """The nearest gallery items of every query, for `knnccv.retrieval`, as other programs find them.

    faiss, hnswlib and ``kneighbors`` of scikit-learn return such lists. Gallery items that are not in a
    list are at least as far as all that are. Scores are exact where all right items are listed; the
    others are bracketed: the exact score lies between `score` and ``score + error_bound``.

    Parameters
    ----------
    indices : integer array of shape (n_queries, depth)
        Gallery items, the nearest first. With `approximate`, -1 (as unsigned integers: their largest
        value) marks the end of a shorter list. Memory-mapped arrays are read in blocks of rows.
    distances : array of shape (n_queries, depth), or None
        Their distances, ascending; equal ones are ties. With None no items tie.
    n_gallery : int
        Number of items in the gallery.
    same : integer array of shape (n_queries,), optional
        The gallery item that is the query itself, listed or not, or -1. It is never found.
    approximate : bool, default False
        Whether nearer items may be missing in the lists. ``certified`` of scores is then False, and
        ``error_bound`` infinite.
    cut_ties : bool, default True
        Whether an item beyond a list may be as near as the last one in it, whose order is then unknown,
        with that of all that tie with it. False: all items beyond are farther.

    Returns
    -------
    Between

    Raises
    ------
    ValueError, TypeError
        If the shapes differ, an index is out of range or repeated, a distance is not finite, or
        distances decrease.

    Examples
    --------
    >>> from knnccv import Neighbors
    >>> Neighbors.between_lists([[3, 0], [1, 2]], [[0.1, 0.5], [0.2, 0.3]], 5)
    <Between 2 queries and 5 gallery items (lists)>
    """
    check_bool("approximate", approximate)
    check_bool("cut_ties", cut_ties)
    size = check_integer("n_gallery", n_gallery, 1)
    raw = as_indices(indices)
    check(raw.ndim == 2 and 0 not in raw.shape, "indices must have shape (n_queries, depth)", raw.shape)
    n_queries, depth = raw.shape
    check(depth <= size, f"indices have {depth} columns, but n_gallery is {size}")
    check_integers(raw.dtype)
    identical = None if same is None else check_same(same, n_queries, size)
    measured, unsure = distances is not None, cut_ties and not approximate
    how = ListFormat(size, depth, measured, approximate, of_gallery=True, cut_ties=unsure)
    arrays = [raw, as_distances(distances, raw.shape)] if measured else [raw]
    lists = StreamedLists(ArrayLists(*arrays), how)
    # Of a file every row is checked when it is read.
    checked = np.arange(n_queries) if mapping_of(indices) is None else spread_rows(0, n_queries)
    for start in range(0, len(checked), ROWS):
        lists.search(checked[start : start + ROWS], depth)
    return ListedBetween(
        n_queries, size, "lists", identical, (lists,), depth, approximate=approximate, measured=measured
    )


def between(
    queries: Any,
    gallery: Any,
    metric: Metric = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    same: Any = None,
    n_neighbors: int | None = None,
    algorithm: str = "auto",
) -> Between:
    """Distances from queries to a gallery, for `knnccv.retrieval`.

    Parameters
    ----------
    queries : array or scipy sparse matrix of shape (n_queries, n_features)
        Finite real numbers. Arrays of floats are not copied for Euclidean distances, cosine and
        correlation: they may be in half or single precision or memory-mapped, become double precision
        in blocks, and must not be changed meanwhile. Other metrics copy them.
    gallery : array or scipy sparse matrix of shape (n_gallery, n_features)
        The items that are searched. If it is the same object as `queries`, no query finds itself.
        A copy is another gallery, unless ``exclude="self"`` says otherwise; without it, scores warn.
        Sparse if `queries` are. Sparse features are never made dense; they serve "euclidean",
        "sqeuclidean", "manhattan", "cosine", "jaccard" and "tanimoto".
    metric : str or callable, default "euclidean"
        As in `from_data`. Euclidean distances, cosine, correlation and haversine are ordered by matrix
        products in double precision. Where their rounding could decide, pairs are measured as in
        `from_data`, as for all other metrics, so that orders and ties are the same.
    metric_params : mapping, optional
        As in `from_data`.
    same : integer array of shape (n_queries,), optional
        The gallery item that is the query itself, or -1. It is never found.
    n_neighbors : int, optional
        Search only so many nearest gallery items of every query (1 to n_gallery), besides the query
        itself. Right items beyond them are bracketed; see `between_lists`. Orders and ties are exact.
        Dense features only, which are copied. Default: compare with the whole gallery.
    algorithm : {"auto", "brute", "tree"}, default "auto"
        The search of the `n_neighbors` nearest, as in `from_data`: a k-d tree for few features, matrix
        products whose candidates are measured again, or a comparison of all pairs.

    Returns
    -------
    Between
        Computes distances in blocks of queries when they are needed.

    Raises
    ------
    ValueError, TypeError
        If the features are not as above, or their numbers differ; or `algorithm` is given without
        `n_neighbors`.

    Examples
    --------
    >>> from knnccv import Neighbors
    >>> Neighbors.between([[0.0], [4.0]], [[1.0], [2.0], [5.0]])
    <Between 2 queries and 3 gallery items (euclidean)>
    """
    if queries is gallery and same is None:
        same = np.arange(np.shape(queries)[0])
    sparse = hasattr(queries, "tocsr") or hasattr(gallery, "tocsr")
    read = check_sparse if sparse else partial(as_features, kinds=(np.float16, np.float32, np.float64))
    first, second = read("queries", queries), read("gallery", gallery)
    msg = (
        "queries and gallery must have the same number of features, "
        f"got {first.shape[1]} and {second.shape[1]}"
    )
    check(first.shape[1] == second.shape[1], msg)
    shape = first.shape[0], second.shape[0]
    identical = None if same is None else check_same(same, *shape)
    alike = identical is None and _equal(first, second, sparse)
    if n_neighbors is not None:
        msg = "n_neighbors searches dense features; omit it, or pass queries and gallery .toarray()"
        check(not sparse, msg)
        both, size = np.concatenate([second, first]), len(second)
        source = FeatureTable(both, metric, metric_params, algorithm, n_searched=size)
        depth = check_integer("n_neighbors", n_neighbors, 1, size, "the size of the gallery")
        return replace(ListedBetween.of(source, depth), same=identical, alike=alike)
    check(algorithm == "auto", "algorithm searches the nearest items; pass n_neighbors as well")
    compare = (sparse_comparison if sparse else comparison)(first, second, metric, metric_params)
    return ComparedBetween(*shape, name_of(metric), identical, compare, alike=alike)


def _equal(first: Any, second: Any, sparse: bool) -> bool:
    """Whether two sets of features are equal; large files are read up to the first difference."""
    if first.shape != second.shape:
        return False
    if sparse:
        return bool((first != second).nnz == 0)
    pieces = (slice(start, start + PIECE) for start in range(0, len(first), PIECE))
    return all(np.array_equal(first[piece], second[piece]) for piece in pieces)


def comparison(queries: Array, gallery: Array, metric: Metric, params: Any) -> Compare:
    """Feature vectors: matrix products for Euclidean distances and angles, scipy's distances otherwise.

    For products the features stay as they are stored, in single precision or memory-mapped, and become
    double precision piece by piece.
    """
    prepare = row_preparation(queries, gallery, metric, params)
    if prepare is None:
        prepared = ranking(np.concatenate([queries, gallery]), metric, params)
        queries, gallery = prepared.data[: len(queries)], prepared.data[len(queries) :]
        if prepared.kind != "sqeuclidean":
            return partial(_compared, prepared.compare, queries, gallery)
        prepare = double
    return Products(queries, gallery, prepare)


def _compared(compare: Any, queries: Array, gallery: Array, start: int, stop: int) -> Array:
    return np.asarray(compare(queries[start:stop], gallery))


def sparse_comparison(queries: Any, gallery: Any, metric: Metric, params: Any) -> Compare:
    """Sparse features, as CSR: for every query one pass over the gallery's columns of its features."""
    from scipy.sparse import csr_matrix, vstack  # takes 0.1 s, too long for `import knnccv`

    n_queries, n_gallery = queries.shape[0], gallery.shape[0]
    both = vstack([queries, gallery], format="csr")
    if both.shape[0] == both.shape[1]:  # would look like a graph
        both.resize(both.shape[0], both.shape[1] + 1)
    table = ranking(both, metric, params).data
    rows = table.rows
    cut = rows.starts[n_queries]
    part = rows.values[cut:], rows.columns[cut:], rows.starts[n_queries:] - cut
    found = SparseRows.of(csr_matrix(part, shape=(n_gallery, both.shape[1])))
    own = found._replace(
        starts=rows.starts[: n_queries + 1], columns=rows.columns[:cut], values=rows.values[:cut]
    )
    return partial(_sparse_values, own, table.sums[:n_queries], table.sums[n_queries:], table.kind)


def _sparse_values(
    rows: SparseRows, own_sums: Array, sums: Array, kind: int, start: int, stop: int
) -> Array:
    values = np.empty((stop - start, len(sums)))
    compare_rows(rows, own_sums, sums, kind, start, values)
    return values
