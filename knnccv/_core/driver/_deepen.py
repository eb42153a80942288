"""The one loop over samples: search lists, work on them, search deeper ones where they were too short.

Its run time is forecast if large tied groups dominate it. There a list must reach the end of the
group, and in stratified designs a group of several classes costs many votes: a run of a second may become
one of hours. Only the data show which. So a few samples, spread over all, are scored before the run, and
their time is extrapolated to all: processor time, so that other programs on the machine do not matter. The
forecast is cheap, and is made only if a rough bound (`hardest`) allows a long run time.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._base.parallel import ExecutorLike, WorkerPool, aside
from ..._base.typing import Array
from ...kernel import compile_at_once
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
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for the others.

    For groups it is twice the depth that suffices if they are not clustered. `tails` are the `fixed_tail`
    of the training sets, where they are known.
    """
    if problem.radius is not None:
        return min(FIRST_WITHIN if problem.radius < np.inf else neighbors.max_depth, neighbors.max_depth)
    depth = 1
    for kind, tail in zip(problem.training_sets, tails or repeat(None), strict=False):
        if tail is None:
            tail = fixed_tail(kind.n_available, kind.least_train or kind.most_train, problem.nearest(kind))
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


LONG = 60.0  # seconds from which a run is announced
HARD = 0.02  # seconds of one sample from which the caller's own thread is kept free
MIN_TRIALS, MAX_TRIALS = 3, 16  # samples that are tried
TRIAL_SECONDS = 0.5  # for all trials together
LARGE = 64  # size of a tied group that is worth a warning
ROOTS = tuple(str(Path(__file__).parents[3] / name) for name in ("knnccv", "knnccv_variants"))


class SlowComputationWarning(UserWarning):
    """The computation will take long, in most cases because of large tied groups."""


def hardest(problem: ScoringProblem, depth: int) -> float:
    """Rough bound of the seconds for one sample whose list, of this depth, is one tied group."""
    if problem.ties != "random" or problem.radius is not None:
        return 0.0
    n_classes, nearest = len(problem.labels.classes), map(problem.nearest, problem.training_sets)
    return sum(2e-8 * depth * k * (depth + n_classes * k) for k in nearest)


@dataclass
class _ProblemCount:
    """Number of problems that are solved one after the other; whether a warning was given."""

    number: int
    announced: bool = False


_PROBLEM_COUNT: ContextVar[_ProblemCount] = ContextVar("_PROBLEM_COUNT")


@contextmanager
def of_many(number: int) -> Iterator[None]:
    """Announce `number` problems that resemble the next one by a single warning."""
    token = _PROBLEM_COUNT.set(_ProblemCount(number))
    try:
        yield
    finally:
        _PROBLEM_COUNT.reset(token)


@dataclass
class Watch:
    """Warns before rows are scored that take long because of ties; and keeps hard ones out of this thread.

    It is called with the rows of every round of `deepen`, its ``begin``. The cost of a row is that of
    ``score(row)``, `times` times.
    """

    problem: ScoringProblem
    neighbors: Neighbors
    score: Callable[[Array], object]
    times: int = 1
    silent: bool = False
    n_tried: int = 0
    first_depth: int = 0

    def __call__(self, rows: Array, depth: int, workers: WorkerPool) -> None:
        """Look at the rows of a round, whose lists have this depth at first."""
        self.first_depth = self.first_depth or depth
        # In a later round a tied group may go on to the end of the list.
        reach = depth if depth == self.first_depth else self.neighbors.max_depth
        problems = _PROBLEM_COUNT.get(_ProblemCount(1))
        most = problems.number * len(rows) * self.times * hardest(self.problem, reach)
        if most > LONG and len(rows) != self.n_tried and not (self.silent or problems.announced):
            self.n_tried = len(rows)
            self.silent = problems.announced = self._announce(rows, workers.n_workers, problems.number)
        if self.times * hardest(self.problem, depth) > HARD:
            workers.stand_apart()

    def _announce(self, rows: Array, n_workers: int, n_problems: int) -> bool:
        """Warn if these rows take long on `n_workers` (0: unknown); return True if so."""
        compile_at_once()  # or the time of interpreted code would be forecast
        seconds, largest = aside(self._forecast, rows, n_problems)
        seconds /= max(n_workers, 1)
        if largest < LARGE or seconds < LONG:
            return False
        ways = "; ".join(["ties='index' takes tied samples in the order of the data", *self._fixed_sizes()])
        on = f"with {n_workers} worker{'s' if n_workers > 1 else ''}" if n_workers else "of processor time"
        about = "about" if n_problems == 1 else "at most about"  # the first problem is the hardest
        msg = (
            f"this will take {about} {in_words(seconds)} {on}: some {len(rows)} samples have up to "
            f"{largest} tied neighbors each, which are averaged over all their orders. "
            f"Alternatives that may be faster, and change the score: {ways}"
        )
        warnings.warn(msg, SlowComputationWarning, stacklevel=callers_level())
        return True

    def _forecast(self, rows: Array, n_problems: int = 1) -> tuple[float, int]:
        """Seconds on one processor for the rows with large tied groups, and the size of the largest."""
        # Multiples of the golden section are spread evenly over the rows.
        at = len(rows) * np.modf((np.arange(min(MAX_TRIALS, len(rows))) + 0.5) * 0.6180339887)[0]
        tried = rows[at.astype(np.int64)]
        sizes = np.array([self._largest_group(row) for row in tried])
        hard = np.flatnonzero(sizes >= LARGE)
        if not len(hard):
            return 0.0, int(sizes.max())
        share = n_problems * self.times * len(rows) / len(tried)
        # The first includes one-time costs: it is not counted, unless all is short even so.
        longest = share * len(hard) * self._seconds(tried[sizes.argmax()])
        if longest < LONG:
            return longest, int(sizes.max())
        spent, started = [], time.perf_counter()
        for row in tried[hard]:
            spent.append(self._seconds(row))
            passed = time.perf_counter() - started
            if passed > TRIAL_SECONDS * (1 if len(spent) >= MIN_TRIALS else MIN_TRIALS):
                break
        return share * len(hard) * math.fsum(spent) / len(spent), int(sizes.max())

    def _largest_group(self, row: int) -> int:
        values = self.neighbors.search(np.array([row]), self.neighbors.max_depth).values[0]
        return int(np.diff(np.flatnonzero(np.diff(values, append=np.nan) != 0), prepend=-1).max(initial=0))

    def _seconds(self, row: int) -> float:
        begun = time.thread_time()
        self.score(np.array([row]))
        return time.thread_time() - begun

    def _fixed_sizes(self) -> list[str]:
        """Designs without strata as alternatives to a stratified one, if the rule has a kernel for them."""
        kind = self.problem.training_sets[0]
        if not kind.stratified or self.problem.variant.fixed is None:
            return []
        plain = [*self.problem.design.without_strata(), f"Subsample({kind.most_train})"]
        return [f"cv={' or '.join(plain)} fixes the size of the training sets, not that of their classes"]


def in_words(seconds: float) -> str:
    """A rounded time: "1 minute", "55 minutes", "14 hours", "3 days"."""
    for size, unit, largest in ((60, "minutes", 90), (3600, "hours", 48)):
        if round(seconds / size) <= largest:
            number = max(round(seconds / size), 1)
            return f"{number} {unit if number > 1 else unit[:-1]}"
    return f"{round(seconds / 86400)} days"


def callers_level() -> int:
    """The `stacklevel` of the first caller outside the library, for a warning in the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ROOTS):
        level, frame = level + 1, frame.f_back
    return level
