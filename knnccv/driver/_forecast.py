"""How long a question will take whose cost ties decide, told beforehand.

Where equally similar samples come in large groups, a list must reach the end of the group, and in
stratified designs a group of b samples of several classes costs O(b^2): a question of a second may become
one of hours. Only the data show which it is. So a few samples, spread over all, are tried beforehand, each
alone: its list is deepened as far as it must be, and the kernel is timed on more and more of it while that
is quick. The rest is extrapolated, by the power of the length that was seen. Processor time is measured, so
that other programs on the machine do not count.

This costs little, and it is done only where a rough bound (`hardest`) allows for a long time.
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
from ..designs import StratifiedKFold
from ._depth import first_depth

if TYPE_CHECKING:
    from ..neighbors import NeighborLists, Neighbors
    from ._problem import ScoringProblem

LONG = 60.0  # seconds from which a question is announced
HARD = 0.02  # seconds of one sample for which the caller's thread is too good
FEWEST, MOST = 3, 16  # samples that are tried
TRIAL = 0.5  # seconds that these may take together
FIRST_LENGTH = 128  # of a list on which the kernel is timed
ENOUGH = 0.1  # seconds of one call from which the rest is extrapolated
LARGE = 64  # a tied group that is worth a word
LARGER_TOL = 1e-6
BY_INDEX = "ties='index' takes equally similar samples in the order of the data"
ROOTS = tuple(str(Path(__file__).parents[2] / name) for name in ("knnccv", "knnccv_variants"))


class SlowComputationWarning(UserWarning):
    """What was asked will take long, as equally similar samples come in large groups."""


def hardest(question: ScoringProblem, depth: int) -> float:
    """Rough bound of the seconds that one sample may take whose list, of this depth, is one tied group."""
    if question.ties != "random":
        return 0.0
    n_classes = len(question.labels.classes)
    seconds = 0.0
    for kind in question.kinds:
        k = question.nearest(kind)
        seconds += depth * k * (2e-8 * depth + 2e-8 * n_classes * k)
    return seconds


class _QuestionCount:
    """How many questions are asked one after the other, and whether the first was announced."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.announced = False


_QUESTION_COUNT: ContextVar[_QuestionCount] = ContextVar("_QUESTION_COUNT")


@contextmanager
def of_many(number: int) -> Iterator[None]:
    """So many questions like the next one are asked here; one warning speaks for all."""
    token = _QUESTION_COUNT.set(_QuestionCount(number))
    try:
        yield
    finally:
        _QUESTION_COUNT.reset(token)


def may_be_long(question: ScoringProblem, depth: int, n_rows: int) -> bool:
    """Whether so many rows, with lists of this depth, are worth a forecast."""
    cells = _QUESTION_COUNT.get(_QuestionCount(1))
    return not cells.announced and hardest(question, depth) * n_rows * cells.number > LONG


@dataclass(frozen=True)
class Trial:
    """What one sample takes: seconds of the search and of the kernel, and its largest tied group."""

    searched: float
    scored: float
    largest: int

    @property
    def seconds(self) -> float:
        """Of both."""
        return self.searched + self.scored


Attempt = Callable[[Array], Trial]


def forecast(attempt: Attempt, rows: Array, most: int = MOST) -> Trial:
    """What all these rows take of one processor, from a few of them."""
    trials: list[Trial] = []
    attempt(rows[:1])  # pays for what comes once
    started = time.perf_counter()
    while len(trials) < min(most, len(rows)):
        # Multiples of the golden section are spread evenly, however many they will be.
        at = int(len(rows) * math.modf((len(trials) + 0.5) * 0.6180339887)[0])
        trials.append(attempt(rows[at : at + 1]))
        spent = time.perf_counter() - started
        if spent > TRIAL and (len(trials) >= FEWEST or spent > FEWEST * TRIAL):
            break
    share = len(rows) / len(trials)
    return Trial(
        share * math.fsum(trial.searched for trial in trials),
        share * math.fsum(trial.scored for trial in trials),
        max(trial.largest for trial in trials),
    )


def attempt_with(plan: Any, depth: int, tol: float) -> Attempt:
    """How one sample is tried alone; its list is deepened from this depth on, as the driver does."""

    def attempt(row: Array) -> Trial:
        started = time.thread_time()
        deep = depth
        while True:
            lists, lengths = plan.known(row, deep)
            if deep >= plan.neighbors.max_depth or (plan.tails(lists, lengths, row) <= tol / 2).all():
                break
            deep = min(2 * deep, plan.neighbors.max_depth)
        searched = time.thread_time() - started
        start, largest = _largest_group(lists.values[0, : lengths[0]])
        return Trial(searched, _time_kernel(plan, lists, int(lengths[0]), row, start), largest)

    return attempt


def attempt_whole(compute: Callable[[Array], Any], neighbors: Neighbors, times: int = 1) -> Attempt:
    """How a sample is tried that is computed in one step; so many `times` of it are wanted.

    Samples without large tied groups are not tried: they are not what this is about.
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
    """Where the largest tied group of a list starts, and its size."""
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    if not len(starts):
        return 0, 0
    sizes = np.diff(starts, append=len(values))
    at = int(np.argmax(sizes))
    return int(starts[at]), int(sizes[at])


def _time_kernel(plan: Any, lists: NeighborLists, length: int, row: Array, start: int) -> float:
    """Seconds for a list of this length; of a long one the part up to somewhere in the group is timed."""
    seconds, power, part, before = 0.0, 2.0, 0, 0
    while part < length and seconds < ENOUGH:
        size = 2 * before or FIRST_LENGTH
        part = min(start + size, length)
        n_compiled = -1
        while n_compiled != (n_compiled := _count_compiled(plan)):  # else the time is the compiler's
            begun = time.thread_time()
            plan.scores(lists, np.array([part]), row)
            took = time.thread_time() - begun
        if before and took > seconds:
            power = min(math.log(took / seconds) / math.log((part - start) / before), 3.0)
        seconds, before = took, part - start
    return seconds * ((length - start) / before) ** power if before else 0.0


def _count_compiled(plan: Any) -> int:
    """How many of the kernels have been compiled; a light one may have called for the full one."""
    return sum(len(getattr(kernel, "signatures", ())) for kernel in plan.kernels)


def announce(
    attempt: Attempt,
    rows: Array,
    n_workers: int,
    others: Sequence[tuple[str, Attempt, Array]],
    question: ScoringProblem,
) -> bool:
    """Warn if tied groups make these rows take long, on so many workers (0: not known); return whether.

    ``others`` are ways out: what to say of each, how its samples are tried, and which these are. Those are
    named that would at least halve the time.
    """
    found = aside(forecast, attempt, rows)
    cells = _QUESTION_COUNT.get(_QuestionCount(1))
    seconds = cells.number * found.seconds / max(n_workers, 1)
    if found.largest < LARGE or seconds < LONG:
        return False
    ways = [
        text
        for text, other, some in others
        if 2 * aside(forecast, other, some, FEWEST).seconds < found.seconds
    ]
    if 2 * found.scored > found.seconds:
        ways += _fixed_sizes(question)
    if not ways:
        return False  # it is not the ties that take the time
    on = f"with {n_workers} worker{'s' if n_workers > 1 else ''}" if n_workers else "of processor time"
    about = "about" if cells.number == 1 else "at most about"  # the first cell is the hardest
    msg = (
        f"this will take {about} {in_words(seconds)} {on}: some {len(rows)} samples have up to "
        f"{found.largest} equally similar neighbors each, which are averaged over all their orders. "
        f"Faster, but another question: {'; '.join(ways)}"
    )
    cells.announced = True
    warnings.warn(msg, SlowComputationWarning, stacklevel=callers_level())
    return True


def _fixed_sizes(question: ScoringProblem) -> list[str]:
    """Training sets that are not stratified, where they are and the rule does without."""
    kind = question.kinds[0]
    if not kind.stratified or question.variant.fixed is None:
        return []
    plain = f"Subsample({sum(kind.n_train) + kind.n_extra})"
    if isinstance(question.design, StratifiedKFold):
        plain = f"KFold({question.design.n_splits}) or {plain}"
    return [f"cv={plain} fixes the size of the training sets, not that of their classes"]


def announce_scores(
    plan: Any, question: ScoringProblem, rows: Array, depth: int, tol: float, n: int
) -> bool:
    """`announce` for the driver; with the rows that are still to be scored, at this depth."""
    n_items = plan.neighbors.n_items
    by_index = replace(plan, average_ties=False)
    first = first_depth(question, plan.neighbors, tol, plan.fixed_tails)
    others = [(BY_INDEX, attempt_with(by_index, first, tol), np.arange(n_items))]
    if tol < LARGER_TOL:
        first = first_depth(question, plan.neighbors, LARGER_TOL, plan.fixed_tails)
        larger = attempt_with(plan, first, LARGER_TOL)
        others.append((f"tol={LARGER_TOL:g} looks at fewer neighbors", larger, np.arange(n_items)))
    return announce(attempt_with(plan, depth, tol), rows, n, others, question)


def announce_profile(work: Any, question: ScoringProblem, n: int) -> None:
    """`announce` for a surface, by the pass over its profile."""
    if not may_be_long(question, work.neighbors.max_depth, len(work.rows)):
        return

    def whole(work: Any) -> Attempt:
        alone = np.zeros(1, np.int64)  # the number of the only chunk
        return attempt_whole(lambda row: replace(work, rows=row)(alone, False), work.neighbors)

    others = [(BY_INDEX, whole(replace(work, average_ties=False)), work.rows)]
    announce(whole(work), work.rows, n, others, question)


def announce_trials(plan: Any, question: ScoringProblem, rows: Array, depth: int, n: int) -> None:
    """`announce` for random runs, by one of them."""
    if not may_be_long(question, plan.neighbors.max_depth, len(rows) * len(plan.fold_of)):
        return

    def whole(plan: Any) -> Attempt:
        one = replace(plan, fold_of=plan.fold_of[:1], kind_of=plan.kind_of[:1])
        return attempt_whole(lambda row: one(row, depth), plan.neighbors, len(plan.fold_of))

    others = [(BY_INDEX, whole(replace(plan, average_ties=False)), rows)]
    announce(whole(plan), rows, n, others, question)


def in_words(seconds: float) -> str:
    """A time as people say it: "1 minute", "55 minutes", "14 hours", "3 days"."""
    for size, unit, most in ((60, "minutes", 90), (3600, "hours", 48)):
        if round(seconds / size) <= most:
            number = max(round(seconds / size), 1)
            return f"{number} {unit if number > 1 else unit[:-1]}"
    return f"{round(seconds / 86400)} days"


def callers_level() -> int:
    """The `stacklevel`, for `warnings.warn` in the calling function, of the first caller from outside."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ROOTS):
        level, frame = level + 1, frame.f_back
    return level
