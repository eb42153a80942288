"""Forecast of the run time if large tied groups dominate it, and the warning about it.

In large tied groups a list must reach the end of the group, and in stratified designs a group of several
classes costs many votes: a run of a second may become one of hours. Only the data show which. So a
few samples, spread over all, are scored before the run, and their time is extrapolated to all. Processor
time is measured, so that other programs on the machine do not matter.

The forecast is cheap, and is made only if a rough bound (`hardest`) allows a long run time.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..._base.parallel import WorkerPool, aside
from ..._base.typing import Array
from ...kernel import compile_at_once
from ...neighbors import Neighbors
from ._problem import ScoringProblem

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


class _ProblemCount:
    """Number of problems that are solved one after the other; whether a warning was given."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.announced = False


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
