"""The search for RIB's parameters: greedy, as in Figure 2 of Wilson & Martinez 1999, and exhaustive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ._sweep import sweep
from ._votes import MAJORITY, VOTE_WEIGHTINGS, VoteLists

WEIGHTED = tuple(range(1, len(VOTE_WEIGHTINGS)))
THOUSANDTHS = 1000
"""Three rounds of eleven w_k, each ten times as narrow as the one before, end at multiples of 0.001."""

DIGITS = 12
"""Decimals of mean confidences that are compared: sums of floats differ in their last bits."""


@dataclass(frozen=True)
class Setting:
    """The parameters of the votes; w_k and avgk are None for majority votes."""

    n_neighbors: int
    kernel: str
    w_k: float | None
    avgk: bool | None


@dataclass(frozen=True)
class Fitness:
    """Leave-one-out results of a setting: the number of correct samples and the mean confidence."""

    n_correct: int
    confidence: float
    n_items: int

    @property
    def lcv(self) -> float:
        """Share of correct samples."""
        return self.n_correct / self.n_items

    @property
    def cvc(self) -> float:
        """Eq. (2): (n_correct + confidence) / (n_items + 1)."""
        return (self.n_correct + self.confidence) / (self.n_items + 1)


@dataclass(frozen=True)
class Step:
    """One iteration of a search: the varied parameter and the best setting of the iteration."""

    parameter: str
    setting: Setting
    fitness: Fitness
    improved: bool
    n_tried: int

    def as_dict(self) -> dict[str, Any]:
        """Return the step as a row of a data frame."""
        return {
            "parameter": self.parameter,
            **asdict(self.setting),
            "n_correct": self.fitness.n_correct,
            "confidence": self.fitness.confidence,
            "cvc": self.fitness.cvc,
            "lcv": self.fitness.lcv,
            "improved": self.improved,
            "n_tried": self.n_tried,
        }


class Evaluator:
    """Fitness of settings on given neighbor lists."""

    def __init__(
        self,
        lists: VoteLists,
        *,
        confident: bool,
        nearest_first: bool,
        n_jobs: int | None = None,
        progress: bool = False,
        report: Callable[[Step], None] | None = None,
    ) -> None:
        self.lists = lists
        self.n_items, self.depth = lists.distances.shape
        self._confident = confident
        self._nearest_first = nearest_first
        self._n_jobs = n_jobs
        self._progress = progress
        self._report = report
        self.path: list[Step] = []
        self.best: tuple[Setting, Fitness] | None = None
        self._n_tried = 0

    def better(self, one: Fitness, other: Fitness) -> bool:
        """Check whether `one` is strictly fitter than `other`."""
        return self._key(one) > self._key(other)

    def _key(self, fitness: Fitness) -> tuple[float, ...]:
        return (fitness.n_correct, fitness.confidence)[: 1 + self._confident]

    def tried(
        self,
        ks: Array | list[int],
        kernels: tuple[int, ...],
        avgks: tuple[bool, ...],
        w_ks: Array,
    ) -> tuple[Setting, Fitness]:
        """Find the fittest combination; of equal ones the first in the order k, kernel, avgk, w_k."""
        correct, confidence = sweep(
            self.lists,
            np.asarray(ks, np.int64),
            np.array(kernels, np.int64),
            np.array(avgks, bool),
            np.asarray(w_ks, np.float64),
            nearest_first=self._nearest_first,
            n_jobs=self._n_jobs,
            progress=self._progress,
        )
        confidence = confidence.round(DIGITS)
        self._n_tried += correct.size
        found = correct == correct.max()
        if self._confident:
            found &= confidence == confidence[found].max()
        at = tuple(int(i) for i in np.argwhere(found)[0])
        kernel = kernels[at[1]]
        plain = kernel == MAJORITY
        setting = Setting(
            int(ks[at[0]]),
            VOTE_WEIGHTINGS[kernel],
            None if plain else float(w_ks[at[3]]),
            None if plain else bool(avgks[at[2]]),
        )
        return setting, Fitness(int(correct[at]), float(confidence[at]), self.n_items)

    def one(self, setting: Setting) -> Fitness:
        """Compute the fitness of a single setting."""
        w_k = 1.0 if setting.w_k is None else setting.w_k
        kernel = (VOTE_WEIGHTINGS.index(setting.kernel),)
        return self.tried([setting.n_neighbors], kernel, (bool(setting.avgk),), np.array([w_k]))[1]

    def offer(self, parameter: str, setting: Setting, fitness: Fitness) -> bool:
        """Record a step, and keep its setting if it is the fittest so far."""
        improved = self.best is None or self.better(fitness, self.best[1])
        if improved:
            self.best = setting, fitness
        step = Step(parameter, setting, fitness, improved, self._n_tried)
        self._n_tried = 0
        self.path.append(step)
        if self._report is not None:
            self._report(step)
        return improved

    def try_majority(self) -> None:
        """Try majority votes of all k; they have no other parameter."""
        ks = list(range(1, self.depth + 1))
        self.offer("majority", *self.tried(ks, (MAJORITY,), (False,), np.ones(1)))


def greedy(evaluator: Evaluator, start: Setting, patience: int, rng: np.random.Generator) -> None:
    """Vary one parameter at a time, at random but never the same twice in a row, as in Figure 2.

    Parameters
    ----------
    evaluator : Evaluator
        Records the steps and keeps the best setting.
    start : Setting
        The first setting, with a weighted kernel.
    patience : int
        The number of consecutive iterations without improvement that end the search.
    rng : numpy.random.Generator
        Chooses the parameters.
    """
    if evaluator.depth >= 2:
        current, fitness = start, evaluator.one(start)
        evaluator.offer("start", current, fitness)
        choices = ("n_neighbors", "kernel", "w_k", "avgk")
        last = ""
        idle = 0
        while idle < patience:
            possible = [name for name in choices if name != last]
            last = possible[int(rng.integers(len(possible)))]
            found, its_fitness = _adjusted(evaluator, last, current)
            # The present setting may not be among those tried: eleven w_k, or k from 2 after a start at 1.
            worse = evaluator.better(fitness, its_fitness)
            if evaluator.better(its_fitness, fitness) or (last != "w_k" and not worse):
                current, fitness = found, its_fitness
            idle = 0 if evaluator.offer(last, current, fitness) else idle + 1
    evaluator.try_majority()


def _adjusted(evaluator: Evaluator, parameter: str, current: Setting) -> tuple[Setting, Fitness]:
    """Find the best value of one parameter, with the others fixed."""
    assert current.w_k is not None
    ks = [current.n_neighbors]
    kernels: tuple[int, ...] = (VOTE_WEIGHTINGS.index(current.kernel),)
    avgks: tuple[bool, ...] = (bool(current.avgk),)
    w_ks = np.array([current.w_k])
    if parameter == "n_neighbors":
        ks = list(range(2, evaluator.depth + 1))
    elif parameter == "kernel":
        kernels = WEIGHTED
    elif parameter == "avgk":
        avgks = (False, True)
    else:
        return _refined(evaluator, ks, kernels, avgks)
    return evaluator.tried(ks, kernels, avgks, w_ks)


def _refined(
    evaluator: Evaluator,
    ks: list[int],
    kernels: tuple[int, ...],
    avgks: tuple[bool, ...],
) -> tuple[Setting, Fitness]:
    """Find the best w_k in three rounds of eleven, in thousandths."""
    lowest, highest = 0, THOUSANDTHS
    best: tuple[Setting, Fitness] | None = None
    for _ in range(3):
        width = (highest - lowest) // 10
        values = lowest + width * np.arange(11)
        found, its_fitness = evaluator.tried(ks, kernels, avgks, values / THOUSANDTHS)
        assert found.w_k is not None
        middle = round(found.w_k * THOUSANDTHS)
        lowest, highest = max(middle - width, 0), min(middle + width, THOUSANDTHS)
        if best is None or evaluator.better(its_fitness, best[1]):
            best = found, its_fitness
    assert best is not None
    return best


def grid(evaluator: Evaluator, n_w_k: int) -> None:
    """Try all k from 2, all kernels, both avgk and equally spaced w_k from 0 to 1; then majority votes."""
    if evaluator.depth >= 2:
        ks = list(range(2, evaluator.depth + 1))
        w_ks = np.arange(n_w_k) / (n_w_k - 1)
        evaluator.offer("grid", *evaluator.tried(ks, WEIGHTED, (False, True), w_ks))
    evaluator.try_majority()
