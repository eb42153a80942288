"""The neighbor order of every sample."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from .._parallel import check_pool, for_each
from .._typing import Array
from .._validation import check_bool, check_integer
from ._engines.brute_force import nearest_of
from ._inputs import lists_of_graph, lists_of_indices
from ._lists import NeighborLists
from ._metrics import Metric, PreparedMetric, ranking
from ._square_input import as_matrix

CACHE_BYTES = 2**29
# A block of rows should stay in a processor's own cache, but be worth a call.
FAST_BYTES = 2**20
FEWEST_ROWS = 16
BLOCK_BYTES = 2**24
ALGORITHMS = ("auto", "brute", "tree")
# Measured on two cores: in more dimensions the tree looks at most of its leaves, and plain comparison
# is faster.
MOST_FEATURES = 9
FEWEST_ITEMS = 1000
ENGINE_BLOCK = 1024
LIST_BLOCK = 4096
DEEP = 50  # lists deeper than this part of all samples take longer than a comparison of all pairs


class Neighbors:
    """Neighbor orders of N samples. Use one of the ``from_`` constructors.

    Attributes
    ----------
    n_items : int
        N.
    max_depth : int
        How deep the orders can be asked: N - 1, or less where given lists end earlier.
    metric : str
        What was measured, for people to read.
    ordered_by_index : bool
        Whether ties at the end of a cut list are known to be cut in the order of the samples.
    approximate : bool
        Whether nearer samples than those listed may exist, so that results cannot be certified.
    fitted_to_labels : str
        Empty, unless the distances were fitted to labels of the samples: "exact" where those of a tested
        sample leave its own label out, else "fixed". See `knnccv.hvdm`.

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
        n_items: int,
        max_depth: int,
        metric: str,
        *,
        ranking: PreparedMetric | None = None,
        matrix: Array | None = None,
        lists: NeighborLists | None = None,
        algorithm: str = "auto",
        device: str | None = None,
        approximate: bool = False,
        fitted_to_labels: str = "",
    ) -> None:
        self.n_items = n_items
        self.max_depth = max_depth
        self.metric = metric
        self.ordered_by_index = lists is None
        self.approximate = approximate
        self.fitted_to_labels = fitted_to_labels
        self._ranking = ranking
        self._matrix = matrix
        self._lists = lists
        self._algorithm = algorithm
        self._tree: Any = None
        self._product: Any = None
        self._heaps: Any = None
        self._building = threading.Lock()  # threads that ask at once wait for one tree, not build several
        self._device = device
        self._on_device: Any = None

    @classmethod
    def from_data(
        cls,
        X: Any,
        metric: Metric = "euclidean",
        n_neighbors: int | None = None,
        *,
        metric_params: Mapping[str, Any] | None = None,
        algorithm: str = "auto",
        device: Any = None,
    ) -> Neighbors:
        """Orders by a dissimilarity of feature vectors.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_items, n_features)
            Finite real numbers. Not copied if it is C-contiguous float64: leave it as it is while the
            neighbors are in use. Sparse data are never made dense as a whole; they serve "euclidean",
            "sqeuclidean", "manhattan", "cosine", "jaccard" and "tanimoto", with the same lists.
        metric : str or callable, default "euclidean"
            A name from the table in the notes, or ``metric(tested, other)`` → float, which need be
            neither symmetric nor a metric.
        n_neighbors : int, optional
            Never look deeper than this (1 to n_items - 1). Default: as deep as the question needs.
        metric_params : mapping, optional
            ``{"p": ...}`` for minkowski (default 2); ``{"V": covariance}`` or ``{"VI": inverse}``, one of
            them required, for mahalanobis.
        algorithm : {"auto", "brute", "tree"}, default "auto"
            How neighbors are searched: by a k-d tree, which serves the euclidean, manhattan, chebyshev and
            haversine metrics and is fast in few dimensions, or by comparing all pairs, which for euclidean
            distances matrix products speed up. The orders and the ties are the same, to the last bit.
            Sparse data have an engine of their own.
        device : str or torch.device, optional
            Where matrix products are computed and searched: "cuda", "cuda:1", "cpu", … (needs PyTorch:
            ``pip install 'knnccv[gpu]'``). It serves the euclidean, sqeuclidean, cosine, correlation and
            haversine metrics on dense data; what it proposes is measured again in double precision, so that
            orders and ties are the same, to the last bit. Fewer than 1,000 samples, and lists deeper than
            an eighth of all samples, are compared by the CPU. Processes of an executor each open the device
            for themselves (for CUDA they must not be forked). Default: no device, and PyTorch is not looked
            for.

        Raises
        ------
        ValueError, TypeError
            If the data, the metric or a parameter is not as above, or there is no such device.
        ImportError
            If `device` is given and PyTorch is missing.

        Warns
        -----
        UserWarning
            If X is square and symmetric with zeros on the diagonal, as distances are, or sparse and square
            with an empty diagonal, as neighbor graphs are.

        Notes
        -----
        The metrics are those of scipy and scikit-learn:

        - "euclidean" ("l2"), "sqeuclidean", "manhattan" ("l1", "cityblock"), "chebyshev", "minkowski".
        - "cosine", "correlation". A row without a direction (zero under cosine, constant under correlation)
          is at distance 1 from every other.
        - "hamming": the share of features that differ.
        - "jaccard": of the features that are not 0 in both, the share that are 0 in one. Of counts only
          their presence is compared.
        - "tanimoto": ``|x - y|^2 / (|x|^2 + |y|^2 - x.y)``, which for 0/1 data is "jaccard". (The other
          form for counts, 1 - sum of minima / sum of maxima, ranks as "braycurtis" does.)
        - "canberra", the sum of ``|x - y| / (|x| + |y|)``, and "braycurtis", ``sum |x - y| / sum |x + y|``.
          0 / 0 counts as 0, so that two empty rows are equal.
        - "mahalanobis": V is never taken from X, since distances would then depend on the split. A pair
          costs n_features squared.
        - "haversine": the angle between two places on a sphere, of latitude and longitude in radians.
        """
        prepared = ranking(X, metric, metric_params)
        n_items = len(prepared.data)
        depth = n_items - 1
        if n_neighbors is not None:
            depth = check_integer("n_neighbors", n_neighbors, 1, n_items - 1)
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            msg = f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, got {algorithm!r}"
            raise ValueError(msg)
        if prepared.nearest is not None and (algorithm == "tree" or device is not None):
            msg = "sparse X has an engine of its own: leave algorithm and device out, or pass X.toarray()"
            raise ValueError(msg)
        if algorithm == "tree" and (not prepared.kind or metric in ("cosine", "correlation")):
            served = "euclidean, manhattan, chebyshev and haversine"
            msg = f"algorithm 'tree' serves the {served} metrics, not {metric!r}"
            raise ValueError(msg)
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", "callable")
        if device is not None:
            from ._engines.torch_device import check_device, check_served

            if algorithm == "tree":
                msg = "algorithm 'tree' runs on the CPU: leave algorithm or device out"
                raise ValueError(msg)
            check_served(name, prepared.kind)
            device = check_device(device)
        return cls(n_items, depth, name, ranking=prepared, algorithm=algorithm, device=device)

    @classmethod
    def from_distances(cls, D: Any) -> Neighbors:
        """Orders by a square matrix of dissimilarities.

        Parameters
        ----------
        D : array of shape (n_items, n_items)
            ``D[x, j]``: how unlike sample j is to the tested sample x. It need not be symmetric. The
            diagonal is not looked at and may be NaN or infinite; all else must be finite. Not copied.

        Raises
        ------
        ValueError, TypeError
            If it is no square matrix of at least two finite real rows, or holds similarities: every row's
            largest value is on the diagonal.
        """
        matrix = as_matrix(D)
        return cls(len(matrix), len(matrix) - 1, "precomputed", matrix=matrix)

    @classmethod
    def from_lists(
        cls, indices: Any, distances: Any = None, *, approximate: bool = False, drop_self: bool = False
    ) -> Neighbors:
        """Orders that another program has found.

        Parameters
        ----------
        indices : integer array of shape (n_items, depth)
            Neighbors of every sample, without the sample itself unless `drop_self` is set. With
            `approximate`, -1 (as unsigned integers: their largest value) says that there are no more.
            Not copied if it is C-contiguous int32 and nothing else is given: leave it as it is while
            the neighbors are in use.
        distances : array of shape (n_items, depth), optional
            Their distances, small = near; equal ones are ties. Without them the order of `indices` is
            taken as it is, and nothing ties.
        approximate : bool, default False
            Whether nearer samples may be missing in the lists, as in those of faiss, hnswlib, pynndescent
            or cuVS. Results are then marked: ``certified`` is False, and ``error_bound`` infinite. See
            ``docs/approximate.md``.
        drop_self : bool, default False
            Whether the sample itself, wherever it is in its own list, is to be left out. Lists without it
            stay as they are, and are longer by one.

        Notes
        -----
        A list that is shorter than the question needs shows in the result's ``error_bound``. Since an
        sample beyond the list may tie the last one in it, the last tied group counts as unknown, unless
        the list is complete. Equal distances are put into the order of the samples. What `kneighbors`
        returns
        under a euclidean metric may tie where the data do not: square roots of neighboring numbers can be
        equal. Take "sqeuclidean" for lists that are to come back as they were.

        Raises
        ------
        ValueError, TypeError
            If the shapes differ, an index is out of range, repeated or the sample itself, a list is empty,
            a distance is not finite, or (with `approximate` or `drop_self`) distances fall along all lists,
            as similarities do.

        Examples
        --------
        >>> from knnccv import Neighbors
        >>> found = [[0, 1, 2], [1, 0, -1], [2, 1, 0]]
        >>> Neighbors.from_lists(found, approximate=True, drop_self=True)
        <Neighbors of 3 samples (lists, approximate), depth up to 2>
        """
        check_bool("approximate", approximate)
        check_bool("drop_self", drop_self)
        items, values, lengths = lists_of_indices(
            indices, distances, approximate=approximate, drop_self=drop_self
        )
        n_items, depth = items.shape
        may_tie_beyond = lengths < n_items - 1 if distances is not None else np.zeros(n_items, bool)
        lists = NeighborLists(items, values, lengths, may_tie_beyond)
        return cls(n_items, depth, "lists", lists=lists, approximate=approximate)

    @classmethod
    def from_graph(cls, graph: Any, *, approximate: bool = False) -> Neighbors:
        """Orders from a sparse neighbor graph with distances.

        Parameters
        ----------
        graph : scipy sparse matrix or array of shape (n_items, n_items)
            Row = tested sample, stored values = distances, as scikit-learn's
            ``kneighbors_graph(mode="distance")`` and ``radius_neighbors_graph`` give it. Rows may
            differ in length; entries on the diagonal are left out; a stored zero is a distance of 0.
        approximate : bool, default False
            Whether nearer samples may be missing in the graph; see `from_lists`.

        Raises
        ------
        ValueError, TypeError
            If it is not square and sparse, holds no distances, or a value is not finite.
        """
        check_bool("approximate", approximate)
        items, values, lengths = lists_of_graph(graph)
        n_items, depth = items.shape
        lists = NeighborLists(items, values, lengths, lengths < n_items - 1)
        return cls(n_items, depth, "graph", lists=lists, approximate=approximate)

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

        Raises
        ------
        ValueError
            If some sample has fewer known neighbors.
        """
        depth = check_integer("n_neighbors", n_neighbors, 1, self.max_depth)
        check_pool(n_jobs, None, progress=False)
        self.search_all(depth, n_jobs=n_jobs)
        items = np.empty((self.n_items, depth), np.int32)
        values = np.empty((self.n_items, depth))

        def fill(rows: Array) -> None:
            part = self.search(rows, depth)
            if part.lengths.min() < depth:
                at = int(part.lengths.argmin())
                msg = f"item {rows[at]} has only {part.lengths[at]} known neighbors, asked for {depth}"
                raise ValueError(msg)
            items[rows] = part.items
            values[rows] = self._ranking.to_distance(part.values) if self._ranking else part.values

        rows = self.visiting_order(np.arange(self.n_items), depth)
        size = self.rows_at_once(depth)
        blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
        for_each(fill, blocks, n_jobs)
        return items, values

    def rows_at_once(self, depth: int) -> int:
        """How many samples at a time fit the cache of a processor."""
        if self._known(depth) or self._finder is None:
            return LIST_BLOCK
        if self._engine(depth) != "plain":
            return ENGINE_BLOCK  # there is never a row of all samples
        row = 8 * self.n_items
        return int(np.clip(max(FAST_BYTES // row, min(FEWEST_ROWS, BLOCK_BYTES // row)), 1, 512))

    def visiting_order(self, rows: Array, depth: int) -> Array:
        """The rows, all different, in an order in which it is quick to ask for them."""
        if self._tree is None or self._known(depth):
            return rows
        wanted = np.zeros(self.n_items, bool)
        wanted[rows] = True
        order = self._tree.order.astype(np.int64)
        return order[wanted[order]]  # type: ignore[no-any-return]

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of some samples.

        Parameters
        ----------
        rows : int64 ndarray of shape (n_rows,)
            Tested samples.
        depth : int
            Positions wanted, 1 to `max_depth`.

        Raises
        ------
        ValueError
            If a callable metric returns what is not finite.
        """
        lists = self._lists
        if lists is not None and (depth <= lists.items.shape[1] or self._finder is None):
            return lists.cut(rows, min(depth, lists.items.shape[1]))
        rows = np.ascontiguousarray(rows)
        self.prepare(depth)
        engine = self._engine(depth)
        if engine == "tree" and self._tree is not None and self._ranking is not None:
            from ._engines.kd_tree import nearest_by_tree

            found = nearest_by_tree(self._tree, self._ranking.data, self._ranking.kind, rows, depth)
        elif engine == "product" and self._product is not None and self._ranking is not None:
            from ._engines.matrix_product import nearest_by_product

            found = nearest_by_product(
                self._product,
                self._heaps,
                self._ranking.data,
                rows,
                depth,
                self._values,
                self._on_device.proposals if self._on_device is not None else None,
                self._ranking.remeasure,
            )
        elif self._ranking is not None and self._ranking.nearest is not None:
            found = self._ranking.nearest(rows, depth)
        else:
            found = nearest_of(self._values(rows), rows, depth)
        items, ranked, may_tie_beyond = found
        return NeighborLists(items, ranked, np.full(len(rows), depth, np.int64), may_tie_beyond)

    def prepare(self, depth: int) -> None:
        """Build what the engine for lists of this depth needs."""
        if self._ranking is None or self._known(depth):
            return
        with self._building:
            name = self._engine(
                depth
            )  # here, since another thread may have found that products do not serve
            if name == "tree" and self._tree is None:
                from ._engines.kd_tree import Tree

                self._tree = Tree.of(self._ranking.data)
            elif name == "product" and self._product is None:
                from ._engines.matrix_product import ProductSearch

                embed = self._ranking.embed
                product = embed() if embed is not None else ProductSearch.of(self._ranking.data)
                if product is None:
                    self._ranking = replace(self._ranking, embed=None)  # the plain engine serves
                    return
                if self._device is not None:
                    from ._engines.torch_device import DeviceSearch

                    self._on_device = DeviceSearch(product, self._device)
                self._product = product

    def search_all(self, depth: int, *, n_jobs: int | None = None, progress: bool = False) -> None:
        """Compare all samples with all at once, in threads, where that saves work in `search`."""
        self.prepare(depth)
        if self._product is None or self._known(depth) or self._engine(depth) != "product":
            return
        heaps = self._heaps
        if heaps is not None and heaps.serve(depth):
            return
        if self._on_device is not None:
            self._heaps = self._on_device.heaps(depth, progress)
            return
        from ._engines.matrix_product import joined

        self._heaps = joined(self._product, depth, n_jobs, progress)

    def for_workers(self, depth: int) -> Neighbors:
        """The same without kept lists that are too short for this depth, and could be made anew."""
        if self._lists is None or self._finder is None or self._known(depth):
            return self
        light = copy(self)
        light._lists = None
        return light

    def __getstate__(self) -> dict[str, Any]:
        """What the engines have made of the data is made again rather than sent."""
        state = {**self.__dict__, "_tree": None, "_product": None, "_heaps": None, "_on_device": None}
        del state["_building"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._building = threading.Lock()

    def serves_cheaply(self, depth: int) -> bool:
        """Whether lists of this depth are at hand, or cost less than a look at all pairs."""
        return self._known(depth) or self._finder is None or DEEP * depth <= self.n_items

    @property
    def sees_all(self) -> bool:
        """Whether every sample can be compared with all others."""
        return self._finder is not None and self.max_depth == self.n_items - 1

    def proposer(self) -> Any:
        """A `ProductSearch` that proposes the distances of all pairs, and the data, if there is one."""
        if self._ranking is None or self._ranking.embed is not None:
            return None
        self.prepare(1)
        return None if self._product is None else (self._product, self._ranking.data)

    def values(self, rows: Array) -> Array:
        """What orders all samples for some rows, float64 (n_rows, n_items); needs `sees_all`."""
        return self._values(rows)

    def _known(self, depth: int) -> bool:
        lists = self._lists  # which another thread may replace
        return lists is not None and depth <= lists.items.shape[1]

    def _engine(self, depth: int) -> str:
        """Which engine serves lists of this depth: "tree", "product", "sparse" or "plain"."""
        kind = self._ranking.kind if self._ranking is not None else ""
        if self._ranking is not None and self._ranking.nearest is not None:
            return "sparse"
        if kind and self._algorithm == "tree":
            return "tree"
        if self._ranking is not None and self._ranking.embed is not None:
            return "product" if self.n_items >= max(FEWEST_ITEMS, 8 * depth) else "plain"
        if not kind or self._ranking is None or self.n_items < max(FEWEST_ITEMS, 8 * depth):
            return "plain"
        few = self._ranking.data.shape[1] <= MOST_FEATURES
        if self._algorithm == "auto" and self._device is None and few:
            return "tree"
        return "product" if kind == "sqeuclidean" else "plain"

    @property
    def _finder(self) -> PreparedMetric | Array | None:
        return self._ranking if self._ranking is not None else self._matrix

    def _values(self, rows: Array) -> Array:
        if self._matrix is not None:
            return np.array(self._matrix[rows], dtype=np.float64, order="C")
        if self._ranking is None:  # lists end where they end
            msg = "these neighbors hold no data to measure"
            raise RuntimeError(msg)
        data = self._ranking.data
        values = self._ranking.compare(data[rows], data)
        bad = ~np.isfinite(values)
        bad[np.arange(len(rows)), rows] = False
        if bad.any():
            r, j = (int(at) for at in np.argwhere(bad)[0])
            msg = (
                f"the distance of samples {int(rows[r])} and {j} under {self.metric} is "
                f"{values[r, j]}; it must be finite"
            )
            raise ValueError(msg)
        return values

    def room(self, depth: int) -> NeighborLists | None:
        """Room for all lists of that depth, to be filled by the driver and kept by `store`."""
        if self._finder is None or self._known(depth):
            return None
        if self.n_items * depth * 12 > CACHE_BYTES:
            return None
        return NeighborLists(
            np.empty((self.n_items, depth), np.int32),
            np.empty((self.n_items, depth)),
            np.empty(self.n_items, np.int64),
            np.empty(self.n_items, bool),
        )

    def store(self, lists: NeighborLists) -> None:
        """Keep lists of all samples for later questions."""
        if not self._known(lists.items.shape[1]):  # another thread's may be deeper
            self._lists = lists
        self._heaps = None


def as_neighbors(X: Any, metric: Metric, metric_params: Mapping[str, Any] | None) -> Neighbors:
    """`X` as the public functions take it: Neighbors, a matrix of dissimilarities, or data."""
    if isinstance(X, Neighbors):
        if metric_params or not (isinstance(metric, str) and metric == "euclidean"):
            msg = f"X is {X!r}, which was made with its own metric; leave metric and metric_params out"
            raise ValueError(msg)
        return X
    if hasattr(X, "neighbors") and hasattr(X, "pairwise"):
        msg = f"X is {X!r}, a distance; pass the neighbors of its fitted samples, {type(X).__name__}(...)"
        msg += ".fit(X, y).neighbors()"
        raise TypeError(msg)
    if isinstance(metric, str) and metric == "precomputed":
        if metric_params:
            msg = "metric 'precomputed' takes no metric_params"
            raise TypeError(msg)
        return Neighbors.from_distances(X)
    return Neighbors.from_data(X, metric, metric_params=metric_params)
