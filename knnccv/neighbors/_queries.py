"""The neighbors that tested samples have among some others: in a pool, or in other groups.

The lists of a pool number its samples after those that are tested, as kernels do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.typing import Array
from .._base.validation import check
from ._between import Between, ComparedBetween, ListedBetween, between, between_distances
from ._engines.engine import Engine, NeighborLists, within
from ._inputs import as_features
from ._metrics import Metric
from ._neighbors import Neighbors
from ._sources import FeatureTable, Source, checksum_of


class _Renumbered(Engine):
    """An engine of a pool, whose samples are numbered after the queries."""

    def __init__(self, engine: Engine, n_queries: int) -> None:
        self.engine, self.n_queries = engine, n_queries

    @property
    def max_depth(self) -> int:  # type: ignore[override]
        """Longest lists that the engine serves."""
        return self.engine.max_depth

    def prepare(self) -> None:
        """Build the search structure."""
        self.engine.prepare()

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """The lists of some queries."""
        found = self.engine.search(rows, depth)
        return replace(found, items=found.items + np.int32(self.n_queries))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return self.engine.rows_at_once()


class QuerySource(Source):
    """The queries of a `Between`, with its gallery as the pool.

    Parameters
    ----------
    between : ComparedBetween or ListedBetween
    given : ndarray of shape (n_queries, n_pool), optional
        Its distances, which the caller still holds.
    """

    compares_all = False

    def __init__(self, between: ComparedBetween | ListedBetween, given: Array | None = None) -> None:
        self.between, self.given = between, given
        self.n_items, self.max_depth = between.n_queries, between.depth
        self.description, self.measured = between.metric, between.measured
        self.ordered_by_index = not any(engine.holds_lists for engine in between.engines)

    def engines(self) -> Sequence[Engine]:
        """The engines of the pool, the fastest first."""
        return [_Renumbered(engine, self.n_items) for engine in self.between.engines]

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values that order the samples."""
        return self.between.to_distance(values)

    def checksum(self) -> int:
        """Of the distances that the caller still holds; features are copied."""
        return 0 if self.given is None else checksum_of(self.given)


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
        return X, X._source.between.n_gallery
    must = "pass Neighbors.between(X_test, X) and the labels of the test set alone"
    check(not isinstance(X, Neighbors), must, X, TypeError)
    given = None
    if isinstance(metric, str) and metric == "precomputed":
        given, X = np.asarray(X), between_distances(X)
    elif not isinstance(X, Between):
        if hasattr(X, "tocsr") or hasattr(queries, "tocsr"):
            X = between(queries, X, metric, metric_params=metric_params)
        else:
            X = _of_features(X, queries, metric, metric_params)
    msg = f"the samples tested must not be in the pool, but {X!r} has queries that are in its gallery"
    check(X.same is None, msg)
    return Neighbors(QuerySource(X, given), approximate=X.approximate), X.n_gallery


def _of_features(
    X: Any, queries: Any, metric: Metric, metric_params: Mapping[str, Any] | None
) -> ListedBetween:
    kinds = (np.float32,)
    pool, tested = as_features("X", X, kinds), as_features("X_test", queries, kinds)
    msg = f"X has {pool.shape[1]} features, but X_test has {tested.shape[1]}"
    check(pool.shape[1] == tested.shape[1], msg)
    both = np.concatenate([pool, tested])
    table = FeatureTable(both, metric, metric_params, n_searched=len(pool))
    return replace(ListedBetween.of(table, len(pool)), measured=True)


class OtherGroups(Source, Engine):
    """The samples of other groups, in the order of given neighbors.

    Lists have at most `max_depth` samples, as many as lie outside the largest group.
    """

    compares_all = False

    def __init__(self, near: Neighbors, groups: Array) -> None:
        self._near, self._groups = near, groups
        self._largest = int(np.bincount(groups).max())
        self.n_items, self.max_depth = near.n_items, near.n_items - self._largest
        self.description, self.measured = near.metric, near.measured

    def engines(self) -> Sequence[Engine]:
        """The samples themselves at every depth."""
        return (self,)

    def to_distance(self, values: Array) -> Array:
        """Distances, from the values that order the samples."""
        return self._near.to_distance(values)

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return self._near.rows_at_once(min(self._largest, self._near.max_depth))

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """The nearest samples of other groups for each of the rows."""
        lists = self._near.search(rows, min(depth + self._largest - 1, self._near.max_depth))
        own, every, first = self._groups[rows], np.arange(len(rows)), np.zeros(len(rows), np.int64)
        found = within(lists, every, self._groups[None], first, own, depth, equal=False)
        found.may_tie_beyond[:] = True
        return found.cut(slice(None), depth)


def in_other_groups(near: Neighbors, groups: Array) -> Neighbors:
    """The same neighbors without those of a sample's own group, int64 (n_items,), as if searched."""
    return Neighbors(OtherGroups(near, groups), approximate=near.approximate)
