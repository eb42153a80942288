"""The neighbors that tested samples have in a pool of others, as a `Neighbors` of the tested samples.

Its lists number the samples of the pool after those that are tested, as kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.typing import Array
from ._between import Between, ComparedBetween, ListedBetween, between, between_distances
from ._engines.brute_force import BruteForce
from ._engines.engine import Engine, NeighborLists
from ._inputs import as_features
from ._metrics import Metric
from ._neighbors import Neighbors
from ._sources import FeatureTable, Source, checksum_of


class _Renumbered(Engine):
    """An engine of a pool and of queries after it, asked for the queries by their own numbers."""

    def __init__(self, engine: Engine, first: int, n_queries: int) -> None:
        self.engine, self.first, self.n_queries = engine, first, n_queries

    @property
    def max_depth(self) -> int:  # type: ignore[override]
        """Longest lists that the engine serves."""
        return self.engine.max_depth

    def prepare(self) -> None:
        """Build the search structure."""
        self.engine.prepare()

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """The lists of some queries."""
        found = self.engine.search(rows + self.first, depth)
        return replace(found, items=found.items + np.int32(self.n_queries))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return self.engine.rows_at_once()


class QuerySource(Source):
    """Queries and the engines that find their neighbors in a pool.

    Parameters
    ----------
    engines : sequence of Engine
        They search the pool for the queries from number `first` on.
    n_queries : int
    depth : int
        Longest lists.
    n_pool : int
        Number of samples in the pool.
    """

    compares_all = False

    def __init__(
        self,
        engines: Sequence[Engine],
        first: int,
        n_queries: int,
        depth: int,
        description: str,
        n_pool: int,
    ) -> None:
        self.n_pool = n_pool
        self.n_items, self.max_depth, self.description = n_queries, depth, description
        self._engines = tuple(_Renumbered(engine, first, n_queries) for engine in engines)
        self.distance: Callable[[Array], Array] | None = None
        self.table: Array | None = None

    def engines(self) -> Sequence[Engine]:
        """The engines, the fastest first."""
        return self._engines

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values that order the samples."""
        return values if self.distance is None else self.distance(values)

    def checksum(self) -> int:
        """Of the distances that the caller still holds; features are copied."""
        return 0 if self.table is None else checksum_of(self.table)


def neighbors_in_pool(
    X: Any, queries: Any, metric: Metric, metric_params: Mapping[str, Any] | None
) -> tuple[Neighbors, int]:
    """Neighbors of the queries in the pool X, and the number of samples in the pool.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_pool, n_features), or Between
        With ``metric="precomputed"`` distances of shape (n_queries, n_pool). Or the result of a call.
    queries : array or sparse matrix of shape (n_queries, n_features), or None
        None if X is a `Between` or holds distances.

    Raises
    ------
    ValueError, TypeError
        If the data are not as above, or queries are in the pool.
    """
    if isinstance(X, Neighbors) and isinstance(X._source, QuerySource):
        return X, X._source.n_pool
    if isinstance(X, Neighbors):
        msg = f"pass Neighbors.between(X_test, X) and the labels of the test set alone, got {X!r}"
        raise TypeError(msg)
    given = None
    if isinstance(metric, str) and metric == "precomputed":
        given, X = X, between_distances(X)
    elif not isinstance(X, Between):
        if not (hasattr(X, "tocsr") or hasattr(queries, "tocsr")):
            return _of_features(X, queries, metric, metric_params)
        X = between(queries, X, metric, metric_params, None, None, "auto")
    if X.same is not None:
        msg = f"the samples tested must not be in the pool, but {X!r} has queries that are in its gallery"
        raise ValueError(msg)
    n_queries, n_pool = X.n_queries, X.n_gallery
    if isinstance(X, ListedBetween):
        source = QuerySource(X.engines, X.first, n_queries, X.depth, X.metric, n_pool)
        source.ordered_by_index = not any(engine.holds_lists for engine in X.engines)
    else:
        assert isinstance(X, ComparedBetween)
        engine = BruteForce(n_queries + n_pool, _Comparison(X), n_pool)
        source = QuerySource((engine,), n_pool, n_queries, n_pool, X.metric, n_pool)
    source.measured = X.measured
    source.table = None if given is None else np.asarray(given)
    return Neighbors(source, approximate=X.approximate), n_pool


def _of_features(
    X: Any, queries: Any, metric: Metric, metric_params: Mapping[str, Any] | None
) -> tuple[Neighbors, int]:
    kinds = (np.float32,)
    pool, tested = as_features("X", X, kinds), as_features("X_test", queries, kinds)
    if pool.shape[1] != tested.shape[1]:
        msg = f"X has {pool.shape[1]} features, but X_test has {tested.shape[1]}"
        raise ValueError(msg)
    both = np.concatenate([pool, tested])
    table = FeatureTable(both, metric, metric_params, n_searched=len(pool))
    source = QuerySource(table.engines(), len(pool), len(tested), len(pool), table.description, len(pool))
    source.distance = table.to_distance
    return Neighbors(source), len(pool)


class _Comparison:
    """The values of a `Between` as `BruteForce` compares them: for rows of queries, infinity at the end."""

    def __init__(self, between: Between) -> None:
        self.between, self.n_pool = between, between.n_gallery

    def __call__(self, rows: Array) -> Array:
        values = np.full((len(rows), self.n_pool + 1), np.inf)
        at = 0
        for run in np.split(rows - self.n_pool, np.flatnonzero(np.diff(rows) != 1) + 1):
            values[at : at + len(run), :-1] = self.between.block(int(run[0]), int(run[-1]) + 1)
            at += len(run)
        return values
