"""Forecast of the run time if large tied groups dominate it, and the warning about it.

In large tied groups a list must reach the end of the group, and in stratified designs a group of several
classes costs many votes: a run of a second may become one of hours. Only the data show which. So a
few samples, spread over all, are tried before the run. The list of each is deepened as far as necessary,
and the kernel is timed on growing parts of it while that is fast. The rest is extrapolated by the observed
power of the length. Processor time is measured, so that other programs on the machine do not matter.

The forecast is cheap, and runs only if a rough bound (`hardest`) allows a long run time.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._parallel import aside
from .._typing import Array
from ..kernel import compile_at_once
from ._deepen import deepen, first_depth

if TYPE_CHECKING:
    from ..neighbors import NeighborLists, Neighbors
    from ._problem import ScoringProblem

LONG = 60.0  # seconds from which a run is announced
HARD = 0.02  # seconds of one sample from which the caller's own thread is kept free
MIN_TRIALS, MAX_TRIALS = 3, 16  # samples that are tried
TRIAL_SECONDS = 0.5  # for all trials together
FIRST_LENGTH = 128  # of the first part of a list on which the kernel is timed
ENOUGH = 0.1  # seconds of one call from which the rest is extrapolated
LARGE = 64  # size of a tied group that is worth a warning
LARGER_TOL = 1e-6
BY_INDEX = "ties='index' takes tied samples in the order of the data"
ROOTS = tuple(str(Path(__file__).parents[2] / name) for name in ("knnccv", "knnccv_variants"))


class SlowComputationWarning(UserWarning):
    """The computation will take long, in most cases because of large tied groups."""


def hardest(problem: ScoringProblem, depth: int) -> float:
    """Rough bound of the seconds for one sample whose list, of this depth, is one tied group."""
    if problem.ties != "random" or problem.radius is not None:
        return 0.0
    n_classes = len(problem.labels.classes)
    seconds = 0.0
    for kind in problem.training_sets:
        k = problem.nearest(kind)
        seconds += depth * k * (2e-8 * depth + 2e-8 * n_classes * k)
    return seconds


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


def may_be_long(problem: ScoringProblem, depth: int, n_rows: int) -> bool:
    """Return True if `n_rows` rows with lists of this depth are worth a forecast."""
    problems = _PROBLEM_COUNT.get(_ProblemCount(1))
    return not problems.announced and hardest(problem, depth) * n_rows * problems.number > LONG


@dataclass(frozen=True)
class Trial:
    """Seconds of the search and of the kernel, and size of the largest tied group."""

    searched: float
    scored: float
    largest: int

    @property
    def seconds(self) -> float:
        """Seconds of search and kernel together."""
        return self.searched + self.scored


Attempt = Callable[[Array], Trial]


def forecast(attempt: Attempt, rows: Array, n_trials: int = MAX_TRIALS) -> Trial:
    """Extrapolate the trials of a few rows to all of them, on one processor."""
    trials: list[Trial] = []
    attempt(rows[:1])  # includes one-time costs, and is not counted
    started = time.perf_counter()
    while len(trials) < min(n_trials, len(rows)):
        # Multiples of the golden section are spread evenly for any number of trials.
        at = int(len(rows) * math.modf((len(trials) + 0.5) * 0.6180339887)[0])
        trials.append(attempt(rows[at : at + 1]))
        spent = time.perf_counter() - started
        if spent > TRIAL_SECONDS and (len(trials) >= MIN_TRIALS or spent > MIN_TRIALS * TRIAL_SECONDS):
            break
    share = len(rows) / len(trials)
    return Trial(
        share * math.fsum(trial.searched for trial in trials),
        share * math.fsum(trial.scored for trial in trials),
        max(trial.largest for trial in trials),
    )


def attempt_with(scorer: Any, depth: int, tol: float) -> Attempt:
    """A trial of one row; its list is deepened from this depth on, as the driver does."""

    def attempt(row: Array) -> Trial:
        started = time.thread_time()
        deep = depth
        while True:
            lists, lengths = scorer.usable(scorer.neighbors.search(row, deep), row)
            if deep >= scorer.neighbors.max_depth or (scorer.tails(lists, lengths, row) <= tol / 2).all():
                break
            deep = min(2 * deep, scorer.neighbors.max_depth)
        searched = time.thread_time() - started
        start, largest = _largest_group(lists.values[0, : lengths[0]])
        return Trial(searched, _time_kernel(scorer, lists, int(lengths[0]), row, start), largest)

    return attempt


def attempt_whole(compute: Callable[[Array], Any], neighbors: Neighbors, times: int = 1) -> Attempt:
    """A trial of one row that is computed in one step, and needed `times` times.

    Rows without large tied groups are not computed: they do not decide the run time.
    """

    def attempt(row: Array) -> Trial:
        largest = _largest_group(neighbors.search(row, neighbors.max_depth).values[0])[1]
        if largest < LARGE:
            return Trial(0.0, 0.0, largest)
        started = time.thread_time()
        compute(row)
        return Trial(0.0, times * (time.thread_time() - started), largest)

    return attempt


def _largest_group(values: Array) -> tuple[int, int]:
    """Start and size of the largest tied group of a list."""
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    if not len(starts):
        return 0, 0
    sizes = np.diff(starts, append=len(values))
    at = int(np.argmax(sizes))
    return int(starts[at]), int(sizes[at])


def _time_kernel(scorer: Any, lists: NeighborLists, length: int, row: Array, start: int) -> float:
    """Seconds for a list of this length; of a long one a part, which ends within the group, is timed."""
    seconds, power, part, before = 0.0, 2.0, 0, 0
    while part < length and seconds < ENOUGH:
        size = 2 * before or FIRST_LENGTH
        part = min(start + size, length)
        n_compiled = -1
        while n_compiled != (n_compiled := _count_compiled(scorer)):  # the first may include compiling
            begun = time.thread_time()
            scorer.scores_and_tails(lists, np.array([part]), row)
            took = time.thread_time() - begun
        if before and took > seconds:
            power = min(math.log(took / seconds) / math.log((part - start) / before), 3.0)
        seconds, before = took, part - start
    return seconds * ((length - start) / before) ** power if before else 0.0


def _count_compiled(scorer: Any) -> int:
    """Number of kernels that have been compiled; one may have left rows to the next."""
    steps = (step for part in scorer.parts for step in part.steps)
    return sum(len(getattr(step.kernel, "signatures", ())) for step in steps)


def announce(
    attempt: Attempt,
    rows: Array,
    n_workers: int,
    others: Sequence[tuple[str, Attempt, Array]],
    problem: ScoringProblem,
) -> bool:
    """Warn if tied groups make these rows take long on `n_workers` (0: unknown); return True if so.

    ``others`` are alternatives: description, trial and rows of each. The warning names the alternatives
    that at least halve the time.
    """
    compile_at_once()  # or the time of interpreted code would be forecast
    found = aside(forecast, attempt, rows)
    problems = _PROBLEM_COUNT.get(_ProblemCount(1))
    seconds = problems.number * found.seconds / max(n_workers, 1)
    if found.largest < LARGE or seconds < LONG:
        return False
    ways = [
        text
        for text, other, other_rows in others
        if 2 * aside(forecast, other, other_rows, MIN_TRIALS).seconds < found.seconds
    ]
    if 2 * found.scored > found.seconds:
        ways += _fixed_sizes(problem)
    if not ways:
        return False  # the ties do not decide the run time
    on = f"with {n_workers} worker{'s' if n_workers > 1 else ''}" if n_workers else "of processor time"
    about = "about" if problems.number == 1 else "at most about"  # the first problem is the hardest
    msg = (
        f"this will take {about} {in_words(seconds)} {on}: some {len(rows)} samples have up to "
        f"{found.largest} tied neighbors each, which are averaged over all their orders. "
        f"Faster alternatives, which change the score: {'; '.join(ways)}"
    )
    problems.announced = True
    warnings.warn(msg, SlowComputationWarning, stacklevel=callers_level())
    return True


def _fixed_sizes(problem: ScoringProblem) -> list[str]:
    """Designs without strata as alternatives to a stratified one, if the rule has a kernel for them."""
    kind = problem.training_sets[0]
    if not kind.stratified or problem.variant.fixed is None:
        return []
    plain = [*problem.design.without_strata(), f"Subsample({kind.most_train})"]
    return [f"cv={' or '.join(plain)} fixes the size of the training sets, not that of their classes"]


def announce_scores(
    scorer: Any, problem: ScoringProblem, rows: Array, depth: int, tol: float, n_workers: int
) -> bool:
    """`announce` for the rows that the driver has yet to score, at this depth."""
    n_items = scorer.neighbors.n_items
    by_index = replace(scorer, average_ties=False)
    first = first_depth(problem, scorer.neighbors, tol, scorer.fixed_tails)
    others = [(BY_INDEX, attempt_with(by_index, first, tol), np.arange(n_items))]
    if tol < LARGER_TOL:
        first = first_depth(problem, scorer.neighbors, LARGER_TOL, scorer.fixed_tails)
        larger = attempt_with(scorer, first, LARGER_TOL)
        others.append((f"tol={LARGER_TOL:g} reads fewer neighbors", larger, np.arange(n_items)))
    return announce(attempt_with(scorer, depth, tol), rows, n_workers, others, problem)


def announce_profile(work: Any, problem: ScoringProblem, n_workers: int) -> None:
    """`announce` for a surface: `work` is the pass over its chunks."""
    if not may_be_long(problem, work.neighbors.max_depth, len(work.rows)):
        return

    def whole(work: Any) -> Attempt:
        alone = np.zeros(1, np.int64)  # number of the only chunk
        return attempt_whole(lambda row: replace(work, rows=row)(alone, False), work.neighbors)

    others = [(BY_INDEX, whole(replace(work, average_ties=False)), work.rows)]
    announce(whole(work), work.rows, n_workers, others, problem)


def announce_trials(scorer: Any, problem: ScoringProblem, rows: Array, depth: int, n_workers: int) -> None:
    """`announce` for random runs, by a trial of one run."""
    if not may_be_long(problem, scorer.neighbors.max_depth, len(rows) * scorer.fold_of.shape[1]):
        return

    def whole(scorer: Any) -> Attempt:
        one = replace(
            scorer, fold_of=np.ascontiguousarray(scorer.fold_of[:, :1]), kind_of=scorer.kind_of[:1]
        )

        def score(row: Array) -> None:
            deepen(one, row, depth, lambda *_: None)

        return attempt_whole(score, scorer.neighbors, scorer.fold_of.shape[1])

    others = [(BY_INDEX, whole(replace(scorer, average_ties=False)), rows)]
    announce(whole(scorer), rows, n_workers, others, problem)


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
