"""Passes over chunks of samples, summed in an order that does not depend on threads and blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._parallel import ExecutorLike, WorkerPool
from .._typing import Array
from ..driver import ScoringProblem, announce_profile, one_of_alike
from ..neighbors import NeighborLists, Neighbors

CHUNK = 128


class Execution(NamedTuple):
    """The choice to keep the neighbors' lists, and the options of `WorkerPool`."""

    keep: bool
    n_jobs: int | None
    executor: ExecutorLike | None
    progress: bool


@dataclass(frozen=True)
class ChunkPass(ABC):
    """Everything a worker needs to add up one chunk of samples.

    Attributes
    ----------
    rows : int64 ndarray of shape (n_rows,)
        The samples, in the order in which they are cut into chunks.
    depth : int
        Depth of the lists; 0 if none are used.
    average_ties : bool
        Whether the tie rule is the mean over all orders.
    """

    neighbors: Neighbors
    rows: Array
    depth: int
    average_ties: bool

    @abstractmethod
    def add_up(self, chunk: Array) -> tuple[NeighborLists | None, Array, Array]:
        """Return the lists of a chunk or None, its share of the sum, and remarks on its samples."""

    def compile(self) -> None:  # noqa: B027
        """Do nothing: functions are compiled when they are called."""

    def __call__(self, rows: Array, keep_lists: bool) -> tuple[NeighborLists | None, Array, Array]:
        """`add_up` for one chunk, whose number is in `rows`; lists if requested."""
        lists, share, remarks = self.add_up(self.chunk(int(rows[0])))
        return lists if keep_lists else None, share, remarks

    def chunk(self, number: int) -> Array:
        """The rows of one chunk."""
        return self.rows[number * CHUNK : (number + 1) * CHUNK]

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-len(self.rows) // CHUNK)


def run_chunks(
    work: ChunkPass,
    problem: ScoringProblem,
    how: Execution,
    collect: Callable[[Array, Array, Array], None],
    first: bool = True,
) -> None:
    """Call `collect` with the rows, the share and the remarks of each chunk, in order.

    The `first` pass, over all samples, announces a long run time and lets the neighbors keep their lists.
    """
    neighbors, depth = work.neighbors, work.depth
    cache = neighbors.room(depth) if how.keep and depth and first else None
    if how.executor is not None:
        work = replace(work, neighbors=neighbors.for_workers(max(depth, 1)))
    with WorkerPool(
        work, n_jobs=how.n_jobs, executor=how.executor, progress=how.progress, unit="chunk"
    ) as workers:
        if work.average_ties:
            if first:
                announce_profile(work, problem, workers.n_workers)
            workers.stand_apart()
        for number, (lists, share, remarks) in workers.map(np.arange(work.n_chunks), 1, cache is not None):
            chunk = work.chunk(int(number[0]))
            if cache is not None and lists is not None:
                cache.put(chunk, lists)
            collect(chunk, share, remarks)
    if cache is not None:
        neighbors.store(cache)


def weigh_rows(
    problem: ScoringProblem, neighbors: Neighbors, depth: int, how: Execution
) -> tuple[Array, Array, Execution]:
    """One sample of each set of alike ones, the weights of all samples, and how to pass over them.

    All neighbors are searched, if this process does the work. Lists of some samples are not kept.
    """
    if how.executor is None:
        neighbors.search_all(depth, n_jobs=how.n_jobs, progress=how.progress)
    rows, copies = one_of_alike(problem, neighbors)
    if len(rows) < neighbors.n_items:
        how = how._replace(keep=False)
    weights = np.array([float(weight) for weight in problem.item_weights[0]])[problem.labels.codes]
    return rows, weights * copies, how


def sum_profiles(
    work: ChunkPass, shape: tuple[int, ...], weights: Array, problem: ScoringProblem, how: Execution
) -> tuple[Array, Array]:
    """The sum of all chunks' profiles of this shape, and the weight of the lists of each length.

    The remarks of the pass are the lengths.
    """
    profile = np.zeros(shape)
    ended = np.zeros(work.depth + 1)

    def collect(chunk: Array, share: Array, lengths: Array) -> None:
        np.add(profile, share, out=profile)
        np.add.at(ended, lengths, weights[chunk])

    run_chunks(work, problem, how, collect)
    return profile, ended
