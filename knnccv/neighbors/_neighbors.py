"""Neighbor orders of a set of samples: the class `Neighbors`, and the argument `X` of public functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, overload

import numpy as np

from .._base.parallel import Parts, check_pool, for_each, is_client
from .._base.typing import Array
from .._base.validation import check, check_bool, check_integer
from ._between import Between, between, between_distances, between_lists
from ._engines.engine import Engine, NeighborLists, StoredLists, serving
from ._given_lists import lists_of_graph
from ._inputs import as_matrix, warn_of_signs
from ._list_readers import GivenLists, source_of_lists
from ._metrics import Metric
from ._sources import DistanceMatrix, FeatureTable, Source, warn_of_rows

CACHE_BYTES = 2**29


class Neighbors:
    """Neighbor orders of N samples. Use one of the ``from_`` constructors.

    Attributes
    ----------
    n_items : int
        N.
    max_depth : int
        Length of the longest available lists: N - 1, or less if the given lists are shorter.
    metric : str
        Name of the metric or of the source, for display.
    ordered_by_index : bool
        Whether ties at the end of a cut list are known to be cut in the order of the samples.
    measured : bool
        Whether there are distances; False if only the order of the neighbors is known.
    sees_all : bool
        Whether every sample can be compared with all others by `values`.
    approximate : bool
        Whether nearer samples than those listed may exist, so that results cannot be certified.
    fitted_to_labels : str
        Empty, unless the distances were fitted to labels of the samples: "exact" if the distances of a
        tested sample leave its own label out, "fixed" otherwise. See `knnccv.neighbors.hvdm`.
    fitted_without : int64 ndarray of shape (n_items,), or None
        The groups, if the distances of a tested sample were fitted to the samples of other groups.
    refitted : callable, or None
        ``refitted(group)``: the same, fitted without another group as well.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import Neighbors
    >>> near = Neighbors.from_data(np.array([[0.0], [1.0], [3.0]]))
    >>> near.kneighbors(2)[0]
    array([[1, 2],
           [0, 2],
           [1, 0]], dtype=int32)
    """

    def __init__(
        self,
        source: Source,
        n_neighbors: int | None = None,
        *,
        approximate: bool = False,
        fitted_to_labels: str = "",
    ) -> None:
        self.n_items: int = source.n_items
        self.max_depth: int = source.max_depth
        if n_neighbors is not None:
            self.max_depth = check_integer("n_neighbors", n_neighbors, 1, source.max_depth)
        self.metric: str = source.description
        self.ordered_by_index: bool = source.ordered_by_index
        self.measured: bool = source.measured
        self.sees_all: bool = source.compares_all and self.max_depth == self.n_items - 1
        self.approximate = approximate
        self.fitted_to_labels = fitted_to_labels
        self.fitted_without: Array | None = getattr(source, "groups", None)
        self.refitted: Callable[[int], Neighbors] | None = getattr(source, "refitted", None)
        self.copies_told = False  # whether copies of rows were looked for, or the caller does
        self._source = source
        self._engines: tuple[Engine, ...] = tuple(source.engines())
        self._stored: StoredLists | None = None
        self._checksum = source.checksum()

    @classmethod
    def from_data(
        cls,
        X: Any,
        metric: Metric = "euclidean",
        n_neighbors: int | None = None,
        *,
        metric_params: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
    ) -> Neighbors:
        """Orders by a dissimilarity of feature vectors.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_items, n_features)
            Finite real numbers. C-contiguous float64 data are not copied: do not change them while the
            neighbors are in use. Later calls refuse data whose checksum has changed. Sparse data are
            never made dense as a whole. They serve "euclidean", "sqeuclidean", "manhattan", "cosine",
            "jaccard" and "tanimoto", with the same lists.
        metric : str or callable, default "euclidean"
            A name from the table in the notes, or ``metric(tested, other)`` → float, which need be
            neither symmetric nor a metric.
        n_neighbors : int, optional
            Longest lists to search (1 to n_items - 1). Default: as long as a score needs.
        metric_params : mapping, optional
            ``{"p": ...}`` for minkowski (default 2); ``{"V": covariance}`` or ``{"VI": inverse}``, one of
            them required, for mahalanobis.
        algorithm : {"auto", "brute", "tree"}, default "auto"
            The search: "tree" is a k-d tree, which serves the euclidean, manhattan, chebyshev and haversine
            metrics and is fast for few features. "brute" compares all pairs, with matrix products for
            euclidean distances. Orders and ties are the same to the last bit. Sparse data have a search of
            their own.

        Raises
        ------
        ValueError, TypeError
            If the data, the metric or a parameter is not as above.

        Warns
        -----
        UserWarning
            If X is square and symmetric with zeros on the diagonal, like distances, or sparse and square
            with an empty diagonal, like a neighbor graph.

        Notes
        -----
        The metrics are those of scipy and scikit-learn:

        - "euclidean" ("l2"), "sqeuclidean", "manhattan" ("l1", "cityblock"), "chebyshev", "minkowski".
        - "cosine", "correlation". A row without a direction (zero under cosine, constant under correlation)
          has distance 1 to every other row.
        - "hamming": the share of features that differ.
        - "jaccard": of the features that are nonzero in at least one of two rows, the share that are zero
          in the other. Counts are compared by their presence only.
        - "tanimoto": ``|x - y|^2 / (|x|^2 + |y|^2 - x.y)``, which for 0/1 data is "jaccard". (The other
          form for counts, 1 - sum of minima / sum of maxima, ranks as "braycurtis" does.)
        - "canberra", the sum of ``|x - y| / (|x| + |y|)``; 0 / 0 counts as 0.
        - "braycurtis", ``sum |x - y| / sum (|x| + |y|)``, 0 of two empty rows, as in scikit-learn. That of
          scipy, with ``sum |x + y|``, differs for features of both signs.
        - "mahalanobis": V is never estimated from X, since distances would then depend on the split. A pair
          costs n_features squared.
        - "haversine": the angle between two places on a sphere, of latitude and longitude in radians.
        """
        return cls(FeatureTable(X, metric, metric_params, algorithm), n_neighbors)

    @classmethod
    def from_lists(
        cls, indices: Any, distances: Any = None, *, approximate: bool = False, drop_self: bool = False
    ) -> Neighbors:
        """Orders that another program has found.

        Parameters
        ----------
        indices : integer array or dask array of shape (n_items, depth)
            Neighbors of every sample, without the sample itself unless `drop_self` is set. With
            `approximate`, -1 (as unsigned integers: their largest value) marks the end of a shorter list.
            C-contiguous int32 indices alone are not copied: do not change them while the neighbors are in
            use. Later calls refuse indices whose checksum has changed.
        distances : array or dask array of shape (n_items, depth), optional
            Their distances, small = near; equal distances are ties. Without them the order of `indices` is
            kept, no samples tie, and rules that weigh by distance are refused.
        approximate : bool, default False
            Whether nearer samples may be missing in the lists, as in those of faiss, hnswlib, pynndescent
            or cuVS. Results are then marked: ``certified`` is False, and ``error_bound`` infinite. See
            ``docs/approximate.md``.
        drop_self : bool, default False
            Whether to remove the sample itself from its own list, at any position. Lists without it keep
            their length, and are longer by one than the others.

        Notes
        -----
        Rows of memory-mapped and of dask arrays are read, checked and freed block by block, each time that
        they are needed. Their `max_depth` is the arrays' width; see ``docs/approximate.md``.

        Lists that are too short increase the result's ``error_bound``. Since a sample beyond the list may
        tie the last one in it, the last tied group counts as unknown, unless the list is complete. Equal
        distances are sorted in the order of the samples. Euclidean distances of `kneighbors` may tie where
        the data do not, as square roots can be equal; "sqeuclidean" gives lists that can be read back.

        Raises
        ------
        ValueError, TypeError
            If the shapes differ, an index is out of range, repeated or the sample itself, a list is empty,
            a distance is not finite, distances decrease along all lists, as similarities do, or (unless
            `approximate`) the lists of two samples contradict each other.

        Examples
        --------
        >>> from knnccv import Neighbors
        >>> found = [[0, 1, 2], [1, 0, -1], [2, 1, 0]]
        >>> Neighbors.from_lists(found, approximate=True, drop_self=True)
        <Neighbors of 3 samples (lists, approximate), depth up to 2>
        """
        check_bool("approximate", approximate)
        check_bool("drop_self", drop_self)
        source = source_of_lists(indices, distances, approximate=approximate, drop_self=drop_self)
        return cls(source, approximate=approximate)

    @classmethod
    def from_graph(cls, graph: Any, *, approximate: bool = False) -> Neighbors:
        """Orders from a sparse neighbor graph with distances.

        Parameters
        ----------
        graph : scipy sparse matrix or array of shape (n_items, n_items)
            Row = tested sample, stored values = distances, as in scikit-learn's
            ``kneighbors_graph(mode="distance")`` and ``radius_neighbors_graph``. Rows may differ in
            length; entries on the diagonal are left out; a stored zero is a distance of 0.
        approximate : bool, default False
            Whether nearer samples may be missing in the graph; see `from_lists`.

        Raises
        ------
        ValueError, TypeError
            If it is not square and sparse, holds no distances, or a value is not finite. Unless
            `approximate`, if near samples are missing: two rows contradict each other, or are those of
            equal samples without their zero; or if far samples share more neighbors than near ones do, as
            in symmetric graphs of similarities.
        """
        check_bool("approximate", approximate)
        lists = lists_of_graph(graph, approximate=approximate)
        source = GivenLists(lists, len(lists.items), description="graph")
        return cls(source, approximate=approximate)

    between = staticmethod(between)

    between_lists = staticmethod(between_lists)

    @overload
    @classmethod
    def from_distances(cls, D: Any, queries: None = None) -> Neighbors: ...

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
        return cls(DistanceMatrix(as_matrix(D)))

    def __repr__(self) -> str:
        source = f"{self.metric}, approximate" if self.approximate else self.metric
        return f"<Neighbors of {self.n_items} samples ({source}), depth up to {self.max_depth}>"

    def kneighbors(self, n_neighbors: int, *, n_jobs: int | None = None) -> tuple[Array, Array]:
        """The nearest samples and their distances, ties in the order of the samples.

        Parameters
        ----------
        n_neighbors : int
            1 to `max_depth`.
        n_jobs : int, optional
            Threads. Default: all processors that this process may use.

        Returns
        -------
        indices : int32 ndarray of shape (n_items, n_neighbors)
        distances : float64 ndarray of shape (n_items, n_neighbors)
            For lists without distances their positions 0, 1, …

        Raises
        ------
        ValueError
            If some sample has fewer known neighbors.
        """
        depth = check_integer("n_neighbors", n_neighbors, 1, self.max_depth)
        check_pool(n_jobs, None, progress=False)
        lists = self.all_lists(depth, n_jobs, keep=False)
        at = int(lists.lengths.argmin())
        msg = f"sample {at} has only {lists.lengths[at]} known neighbors, not {depth}"
        check(lists.lengths[at] >= depth, msg)
        return lists.items, self._source.to_distance(lists.values)

    def check_unchanged(self) -> None:
        """Raise ValueError if the data have been changed in place since these neighbors were made."""
        msg = (
            "compute the score (or the Neighbors) again, from X.copy() if X is to change once more: "
            f"X was changed in place since {self!r} was made"
        )
        check(self._source.checksum() == self._checksum, msg)

    def _engine(self, depth: int, *, prepare: bool = False) -> Engine:
        """The first engine that serves lists of this depth; the last engine serves every depth."""
        lists = self._stored  # another thread may replace it
        if lists is not None and lists.serves(depth):
            return lists
        return serving(self._engines, depth, prepare=prepare)

    def rows_at_once(self, depth: int) -> int:
        """Number of rows that one call of `search` should have."""
        return self._engine(depth).rows_at_once()

    def visiting_order(self, rows: Array, depth: int) -> Array:
        """The rows, all different, in an order that makes the search fast."""
        in_store = self._engine(depth) is self._stored
        return rows if in_store else self._engines[0].visiting_order(rows)

    def prepare(self, depth: int) -> None:
        """Build the data structures that a search of this depth needs."""
        self._engine(depth, prepare=True)

    def search_all(self, depth: int, *, n_jobs: int | None = None, progress: bool = False) -> None:
        """Compare all samples at once in threads, if this makes later searches faster."""
        self._engine(depth, prepare=True).search_all(depth, n_jobs, progress)

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of some samples.

        Parameters
        ----------
        rows : int64 ndarray of shape (n_rows,)
            Tested samples.
        depth : int
            Length of the lists, 1 to `max_depth`.

        Raises
        ------
        ValueError
            If a callable metric returns a value that is not finite.
        """
        return self._engine(depth, prepare=True).search(np.ascontiguousarray(rows), depth)

    def lists(
        self, rows: Array, depth: int, n_jobs: int | None = 1, into: NeighborLists | None = None
    ) -> NeighborLists:
        """The lists of many samples, searched in threads; filled into the lists of all samples, if given.

        Parameters
        ----------
        rows : int64 ndarray of shape (n_rows,)
        depth : int
            Length of the lists, 1 to `max_depth`.
        n_jobs : int, optional
            Threads.
        into : NeighborLists, optional
            Lists of all samples that are filled in at the rows.

        Returns
        -------
        NeighborLists
            In the order of the rows, or `into`.
        """
        self.prepare(depth)
        lists = NeighborLists.empty(len(rows), depth) if into is None else into
        places = np.arange(len(rows)) if into is None else rows
        size = self.rows_at_once(depth)

        def fill(start: int) -> None:
            block = slice(start, start + size)
            lists.put(places[block], self.search(rows[block], depth))

        for_each(fill, range(0, len(rows), size), n_jobs)
        return lists

    def all_lists(self, depth: int, n_jobs: int | None = 1, *, keep: bool = True) -> NeighborLists:
        """The lists of all samples; with `keep`, later searches read them if there is room for them."""
        cache = self.room(depth) if keep else None
        self.search_all(depth, n_jobs=n_jobs)
        of_all = NeighborLists.empty(self.n_items, depth) if cache is None else cache
        lists = self.lists(self.visiting_order(np.arange(self.n_items), depth), depth, n_jobs, of_all)
        if cache is not None:
            self.store(cache)
        return lists.cut(slice(None), depth)

    def distances_of(self, lists: NeighborLists) -> Array:
        """The distances of lists, float64; entries beyond the end of a list may be anything."""
        with np.errstate(all="ignore"):
            found = self._source.to_distance(lists.values)
        return np.require(found, np.float64, ("C", "W"))

    def room(self, depth: int) -> NeighborLists | None:
        """Empty lists of all samples, to be filled and passed to `store`; None if they are not needed.

        They are not needed if given or stored lists serve this depth, or would take too much memory.
        """
        if self._engine(depth).holds_lists or self.n_items * depth * 12 > CACHE_BYTES:
            return None
        return NeighborLists.empty(self.n_items, depth)

    def store(self, lists: NeighborLists) -> None:
        """Store lists of all samples for later searches."""
        found, stored = StoredLists(lists), self._stored
        if stored is None or stored.max_depth < found.max_depth:  # another thread's may be longer
            self._stored = found
        for engine in self._engines:
            engine.release()

    def parts(self, executor: Any) -> Parts | None:
        """Given lists in parts that are sent with the tasks to this executor, or None."""
        return self._source.parts if is_client(executor) else None

    def for_workers(self, depth: int, executor: Any = None) -> Neighbors:
        """The same neighbors without what the executor's workers do not need.

        These are stored lists that are too short for this depth, and lists of which `parts` are sent.

        Raises
        ------
        TypeError
            If the workers could not read given lists.
        """
        source = self._source.for_workers(in_parts=self.parts(executor) is not None)
        if source is self._source and (self._stored is None or self._stored.serves(depth)):
            return self
        light = copy(self)
        light._stored = None
        if source is not self._source:
            light._source, light._engines = source, tuple(source.engines())
        return light

    def vectors(self) -> Array | None:
        """Samples whose squared Euclidean distances are the values, if there are many columns; or None."""
        return serving(self._engines, 1, prepare=False).vectors()

    def distinct_rows(self) -> Array | None:
        """The number of the distinct row of every sample, int64 (n_items,); None if few rows are equal."""
        return self._source.distinct_rows()

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values of lists that order the neighbors."""
        return self._source.to_distance(values)

    def values(self, rows: Array) -> Array:
        """Values that order all samples for some rows, float64 (n_rows, n_items); needs `sees_all`."""
        return self._source.compare(rows)


def as_neighbors(X: Any, metric: Metric, metric_params: Mapping[str, Any] | None) -> Neighbors:
    """Neighbors of the argument `X` of public functions: `Neighbors`, dissimilarities, or features."""
    if isinstance(X, Neighbors):
        msg = f"X is {X!r}, which already has a metric; omit metric and metric_params"
        check(not metric_params and isinstance(metric, str) and metric == "euclidean", msg)
        X.check_unchanged()
        return X
    if hasattr(X, "neighbors") and hasattr(X, "pairwise"):
        msg = f"X is {X!r}, a distance; pass the neighbors of its fitted samples, {type(X).__name__}(...)"
        msg += ".fit(X, y).neighbors()"
        raise TypeError(msg)
    if isinstance(metric, str) and metric == "precomputed":
        check(not metric_params, "metric 'precomputed' takes no metric_params", error=TypeError)
        return Neighbors.from_distances(X)
    found = Neighbors.from_data(X, metric, metric_params=metric_params)
    warn_of_signs(metric, X)
    return found


class SupervisedDistanceWarning(UserWarning):
    """Distances were fitted to the labels of all samples, including the labels to be predicted."""


def warn_copies(neighbors: Neighbors, codes: Array, stacklevel: int) -> None:
    """Warn of copies, which are tested while their originals train, once for these neighbors.

    Warns
    -----
    CopiesWarning
    """
    source, told = neighbors._source, neighbors.copies_told
    neighbors.copies_told = True
    if not told and isinstance(source, FeatureTable) and source.metric.kind != "sparse":
        warn_of_rows(source.metric.data, codes, stacklevel + 1)


def warn_label_leakage(neighbors: Neighbors, smallest_train: int, groups: Array | None = None) -> None:
    """Warn if the distances use more labels than the training sets, so that the score is optimistic.

    Parameters
    ----------
    neighbors : Neighbors
        Neighbors of all samples.
    smallest_train : int
        Size of the smallest training set. If it has all samples but the tested one, distances that leave
        out the label of the tested sample use exactly the labels of the training set.
    groups : int64 ndarray of shape (n_items,), optional
        The groups that are left out one by one. Distances that were fitted without each of these are exact.

    Warns
    -----
    SupervisedDistanceWarning
    """
    fitted = neighbors.fitted_to_labels
    if not fitted or (fitted == "exact" and smallest_train == neighbors.n_items - 1):
        return
    without = neighbors.fitted_without
    if groups is not None and without is not None and np.array_equal(without, groups):
        return
    what = (
        "the tested sample's own label is left out, but more labels are used than any training set has"
        if fitted == "exact"
        else "they include the labels of the tested samples, which columns of many values reveal"
    )
    msg = (
        f"the statistics of the {neighbors.metric} distance were fitted to the labels of all samples, once "
        f"for every split: {what}. The score is optimistic. Use a distance that does not use labels "
        "(knnccv.neighbors.hvdm.HEOM), or cross-validate the whole estimator (knnccv.rib.RIBClassifier)"
    )
    warnings.warn(msg, SupervisedDistanceWarning, stacklevel=3)
