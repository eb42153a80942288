"""The one loop over samples: search lists, work on them, search deeper ones where they were too short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._parallel import ExecutorLike, WorkerPool
from .._typing import Array
from ..neighbors import NeighborLists, Neighbors


class Jobs(NamedTuple):
    """Where the work is done: in threads or by an executor, with or without a progress bar."""

    n_jobs: int | None = None
    executor: ExecutorLike | None = None
    progress: bool = False


class Work(Protocol):
    """A frozen dataclass with what a worker needs for a block of samples."""

    @property
    def neighbors(self) -> Neighbors:
        """The neighbors; replaced by a copy for the workers of an executor."""

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Any, ...], Array]:
        """Return what is found for the rows, and a mask of the rows that need deeper lists."""


Take = Callable[[Array, int, tuple[Any, ...], Array], None]
"""``take(block, depth, found, is_open)`` gets the rows of a block and the results of their `Work`."""
Begin = Callable[[Array, int, WorkerPool], None]
"""``begin(rows, depth, workers)`` is called before each round."""


@dataclass(frozen=True)
class _Search:
    """The work, after the search."""

    work: Any

    def compile(self) -> None:
        """Compile what blocks call."""
        self.work.compile()

    def __call__(self, rows: Array, depth: int, keep: bool) -> tuple[NeighborLists | None, Any, Array]:
        lists = self.work.neighbors.search(rows, depth)
        return lists if keep else None, *self.work(lists, rows)


def deepen(
    work: Any,
    rows: Array,
    depth: int,
    take: Take,
    jobs: Jobs | None = None,
    *,
    keep: bool = False,
    begin: Begin | None = None,
) -> int:
    """Do the work for all rows; again with lists of twice the depth for those that are left open.

    Parameters
    ----------
    work : Work
    rows : int64 ndarray
        Samples, ascending.
    depth : int
        Depth of the first lists.
    take : callable
        Gets the results, block by block. It may change the mask of open rows.
    jobs : Jobs, optional
    keep : bool, default False
        Let the neighbors keep the first lists, if they have room; `rows` must be all samples.
    begin : callable, optional
        Called before each round.

    Returns
    -------
    int
        Depth of the last lists.
    """
    jobs, neighbors = jobs or Jobs(), work.neighbors
    cache = neighbors.room(depth) if keep else None
    parts = neighbors.parts(jobs.executor)
    if jobs.executor is not None:
        work = replace(work, neighbors=neighbors.for_workers(depth, jobs.executor))
    deepest = depth
    with WorkerPool(
        _Search(work), n_jobs=jobs.n_jobs, executor=jobs.executor, progress=jobs.progress, parts=parts
    ) as workers:
        while len(rows):
            deepest = depth
            if begin is not None:
                begin(rows, depth, workers)
            neighbors.prepare(depth)
            if jobs.executor is None and len(rows) == neighbors.n_items:
                neighbors.search_all(depth, n_jobs=jobs.n_jobs, progress=jobs.progress)
            near, size = neighbors.visiting_order(rows, depth), neighbors.rows_at_once(depth)
            left = []
            for block, (lists, found, is_open) in workers.map(near, size, depth, cache is not None):
                if cache is not None and lists is not None:
                    cache.put(block, lists)
                take(block, depth, found, is_open)
                left.append(block[is_open])
            if cache is not None:
                neighbors.store(cache)
                cache = None
            if depth >= neighbors.max_depth:
                break
            rows = np.sort(np.concatenate(left))
            depth = min(2 * depth, neighbors.max_depth)
    return deepest
