"""The one loop over samples: search lists, work on them, search deeper ones where they were too short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..._base.parallel import ExecutorLike, WorkerPool
from ..._base.typing import Array
from ...kernel.sampling import fixed_tail
from ...neighbors import NeighborLists, Neighbors, distinct_rows
from ._problem import ScoringProblem


class Jobs(NamedTuple):
    """Where the work is done: in threads or by an executor, with or without a progress bar."""

    n_jobs: int | None = None
    executor: ExecutorLike | None = None
    progress: bool = False


FIRST_WITHIN = 64
"""Depth of the first lists where a radius says how deep they must be."""
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
    jobs: Jobs | None = None,
    *,
    keep: bool = False,
    begin: Begin | None = None,
) -> Iterator[tuple[Array, int, Any, Array]]:
    """Do the work for all rows; again with lists of twice the depth for those that are left open.

    Parameters
    ----------
    work : frozen dataclass
        What a worker needs for a block of samples. ``work.neighbors`` are replaced by a copy for the
        workers of an executor, and ``work.compile()`` is called once per process. ``work(lists, rows)``
        returns what is found for the rows, and a mask of the rows that need deeper lists.
    rows : int64 ndarray
        Samples, ascending.
    depth : int
        Depth of the first lists.
    jobs : Jobs, optional
    keep : bool, default False
        Let the neighbors keep the first lists, if they have room; `rows` must be all samples.
    begin : callable, optional
        Called before each round.

    Yields
    ------
    block, depth, found, is_open
        The rows of a block, the depth of their lists, what the work has found for them, and the mask of
        those that it leaves open, which may be changed.
    """
    jobs, neighbors = jobs or Jobs(), work.neighbors
    cache = neighbors.room(depth) if keep else None
    parts = neighbors.parts(jobs.executor)
    if jobs.executor is not None:
        work = replace(work, neighbors=neighbors.for_workers(depth, jobs.executor))
    with WorkerPool(
        _Search(work), n_jobs=jobs.n_jobs, executor=jobs.executor, progress=jobs.progress, parts=parts
    ) as workers:
        while len(rows):
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
                yield block, depth, found, is_open
                left.append(block[is_open])
            if cache is not None:
                neighbors.store(cache)
                cache = None
            if depth >= neighbors.max_depth:
                break
            rows = np.sort(np.concatenate(left))
            depth = min(2 * depth, neighbors.max_depth)


def first_depth(
    problem: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    tails: tuple[Array | None, ...] | None = None,
    least_train: int = 0,
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for the others.

    For groups it is twice the depth that suffices if they are not clustered.

    `tails` are the `fixed_tail` of the training sets, where they are known. `least_train` is the size of
    the smallest one, where that is not the design's, as in halves of the samples; else 0.
    """
    if problem.radius is not None:
        return min(FIRST_WITHIN if problem.radius < np.inf else neighbors.max_depth, neighbors.max_depth)
    depth = 1
    for kind, tail in zip(problem.training_sets, tails or repeat(None), strict=False):
        if tail is None:
            size = least_train or kind.least_train or kind.most_train
            tail = fixed_tail(kind.n_available, size, problem.nearest(kind))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, 2 * enough if problem.leaves_groups else enough)
    # One more position shows whether a tied group continues beyond the list.
    return min(depth + (problem.ties == "random"), neighbors.max_depth)


def alike_samples(problem: ScoringProblem, neighbors: Neighbors) -> Array | None:
    """The sample whose score serves for each sample, int64 (n_items,); None if every sample needs its own.

    A kernel is given the neighbors in order, the tied groups, and the tested sample's target. Let A and B
    be samples with equal features and equal targets. For every other sample the distance from A is that
    from B, to the last bit, since it is computed from equal numbers. A is not its own neighbor but B's, and
    B is A's, in a tied group of the same distance and with the same target. So the two lists have the same
    tied groups, with the same numbers of every target in them, and averaged over all orders of tied samples
    the scores are equal. Only the order within a tied group, in which the kernel adds, may differ: the
    scores that separate computations would give differ by roundings, which the error bound covers. The
    shares that a list leaves undecided are equal as well: it is cut before a tied group, never in one.

    In the order of the rows (``ties="index"``) a sample's place among its copies matters, and in designs
    that leave out groups its group does; there every sample has its own score.
    """
    if problem.ties != "random" or problem.leaves_groups:
        return None
    distinct = neighbors.distinct_rows()
    if distinct is None:
        return None
    parts = np.column_stack([distinct, problem.labels.codes])
    if problem.values.size:
        parts = np.column_stack([parts, np.ascontiguousarray(problem.values).view(np.int64)])
    alike = distinct_rows(parts, fewest_copies=2)
    if alike is None:
        return None
    first = np.unique(alike, return_index=True)[1]
    return np.asarray(first[alike], dtype=np.int64)


def one_of_alike(problem: ScoringProblem, neighbors: Neighbors) -> tuple[Array, Array]:
    """Samples of which one is in every set of `alike_samples`, and the size of the set for every sample."""
    alike = alike_samples(problem, neighbors)
    if alike is None:
        return np.arange(neighbors.n_items), np.ones(neighbors.n_items, np.int64)
    return np.unique(alike), np.bincount(alike, minlength=neighbors.n_items)
