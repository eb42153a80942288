"""The nearest gallery items of every query, found by the search engines of `Neighbors.from_data`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import check_integer
from ._between_lists import ListedBetween
from ._engines.brute_force import nearest_of
from ._engines.engine import Engine
from ._lists import NeighborLists
from ._metrics import Metric
from ._sources import MOST_FEATURES, FeatureTable, longest_short_list


class SearchedBetween(ListedBetween):
    """Lists that are searched block by block; their orders and ties are exact.

    Parameters
    ----------
    queries, gallery : ndarray of shape (n, n_features)
    metric, params, same, n_neighbors, algorithm, device
        As in `Neighbors.between`.
    """

    def __init__(
        self,
        queries: Array,
        gallery: Array,
        metric: Metric,
        params: Mapping[str, Any] | None,
        same: Array | None,
        n_neighbors: int,
        algorithm: str,
        device: Any,
    ) -> None:
        source = _TwoTables(gallery, queries, metric, params, algorithm, device)
        super().__init__(len(queries), len(gallery), source.description, same)
        self._depth = check_integer("n_neighbors", n_neighbors, 1, len(gallery), "the size of the gallery")
        self._engines = tuple(source.engines())

    def lists(self, start: int, stop: int, *, fair: bool) -> tuple[Array, Array, Array, Array]:
        """Search; in the order of the gallery it is known what is beyond the end of a list."""
        same = None if self.same is None else self.same[start:stop]
        depth = min(self._depth + (same is not None), self.n_gallery)
        rows = self.n_gallery + np.arange(start, stop)
        with one_blas_thread():
            found = self._engine(depth).search(rows, depth)
        items, values = found.items.astype(np.int64), found.values
        lengths, doubtful = found.lengths, found.may_tie_beyond
        if same is not None and depth > self._depth:
            longer = (items != same[:, None]).all(axis=1)  # without the query itself
            lengths = lengths - longer
            doubtful = np.where(longer, values[:, -2] == values[:, -1], doubtful)
        return items, values, lengths, doubtful & fair

    def _engine(self, depth: int) -> Engine:
        for engine in self._engines:
            if engine.serves(depth):
                engine.prepare()
            if engine.serves(depth):
                break
        return engine


class _TwoTables(FeatureTable):
    """Gallery items, which are searched, and after them the queries."""

    def __init__(
        self,
        gallery: Array,
        queries: Array,
        metric: Metric,
        params: Mapping[str, Any] | None,
        algorithm: str,
        device: Any,
    ) -> None:
        self.n_searched = len(gallery)
        super().__init__(np.concatenate([gallery, queries]), metric, params, algorithm, device)

    def engines(self) -> Sequence[Engine]:
        """As for one table."""
        kind, data, n = self.metric.kind, self.metric.data, self.n_searched
        short = longest_short_list(n)
        brute_force = _BruteForce(n, self)
        if self.algorithm == "tree":
            from ._engines.kd_tree import KDTree

            return (KDTree(data, kind, n, n),)
        if not kind or not short:
            return (brute_force,)
        if self.algorithm == "auto" and self.device is None and data.shape[1] <= MOST_FEATURES:
            from ._engines.kd_tree import KDTree

            return KDTree(data, kind, short, n), brute_force
        if kind == "sqeuclidean" and self.device is None:
            from ._engines.matrix_product import MatrixProduct

            return MatrixProduct(data, short, self.compare, n_searched=n), brute_force
        if kind == "sqeuclidean":
            from ._engines.torch_device import TorchProduct

            return TorchProduct(data, short, self.compare, str(self.device), n), brute_force
        return (brute_force,)

    def compare(self, rows: Array) -> Array:
        """Values that order the gallery for some queries, and a last column of infinity.

        Raises
        ------
        ValueError
            If a distance is not finite.
        """
        data, n = self.metric.data, self.n_searched
        values = np.full((len(rows), n + 1), np.inf)
        values[:, :-1] = self.metric.compare(data[rows], data[:n])
        bad = ~np.isfinite(values[:, :-1])
        if bad.any():
            r, j = (int(at) for at in np.argwhere(bad)[0])
            msg = (
                f"the distance of query {int(rows[r]) - n} and gallery item {j} under {self.description} "
                f"is {values[r, j]}; it must be finite"
            )
            raise ValueError(msg)
        return values


class _BruteForce(Engine):
    """Compares queries with the whole gallery."""

    def __init__(self, n_searched: int, source: _TwoTables) -> None:
        self.max_depth = n_searched
        self._source = source

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of some queries."""
        tested = np.full_like(rows, self.max_depth)
        return NeighborLists.of_full_rows(*nearest_of(self._source.compare(rows), tested, depth))
