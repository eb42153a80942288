"""The search for RIB's parameters: greedy, as in Figure 2 of Wilson & Martinez 1999, and exhaustive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from ._sweep import sweep
from ._votes import MAJORITY, VOTE_WEIGHTINGS, Fitness, Setting, VoteLists

WEIGHTED = np.arange(1, len(VOTE_WEIGHTINGS))
BOTH = np.array([False, True])
THOUSANDTHS = 1000
"""Three rounds of eleven w_k, each ten times as narrow as the one before, end at multiples of 0.001."""

DIGITS = 12
"""Decimals of mean confidences that are compared: sums of floats differ in their last bits."""


class Grid(NamedTuple):
    """Values of the parameters, of which all combinations are tried; kernels by their index."""

    n_neighbors: Array
    kernel: Array
    avgk: Array
    w_k: Array

    @classmethod
    def of(cls, setting: Setting) -> Grid:
        """Create the grid of a single setting."""
        w_k = 1.0 if setting.w_k is None else setting.w_k
        return cls(
            np.array([setting.n_neighbors]),
            np.array([VOTE_WEIGHTINGS.index(setting.kernel)]),
            np.array([bool(setting.avgk)]),
            np.array([w_k], np.float64),
        )


@dataclass
class Evaluator:
    """Fitness of settings on given neighbor lists.

    Attributes
    ----------
    lists : VoteLists
        Neighbors of the labeled samples.
    confident : bool
        Whether the mean confidence breaks ties of the number of correct samples.
    nearest_first, n_jobs, progress
        As for `sweep`.
    report : callable, optional
        Called with every step.
    path : list of dict
        The steps so far, each the varied parameter and the best setting of an iteration.
    best : tuple of (Setting, Fitness), or None
        The best of them.
    """

    lists: VoteLists
    confident: bool
    nearest_first: bool
    n_jobs: int | None = None
    progress: bool = False
    report: Callable[[dict[str, Any]], None] | None = None
    path: list[dict[str, Any]] = field(default_factory=list)
    best: tuple[Setting, Fitness] | None = None
    n_tried: int = 0

    @property
    def depth(self) -> int:
        """The largest k."""
        return int(self.lists.distances.shape[1])

    def better(self, one: Fitness, other: Fitness) -> bool:
        """Check whether `one` is strictly fitter than `other`."""
        return one[: 1 + self.confident] > other[: 1 + self.confident]

    def tried(self, grid: Grid) -> tuple[Setting, Fitness]:
        """Find the fittest combination; of equal ones the first in the order k, kernel, avgk, w_k."""
        correct, confidence = sweep(
            self.lists, *grid, nearest_first=self.nearest_first, n_jobs=self.n_jobs, progress=self.progress
        )
        confidence = confidence.round(DIGITS)
        self.n_tried += correct.size
        found = correct == correct.max()
        if self.confident:
            found &= confidence == confidence[found].max()
        at = tuple(np.argwhere(found)[0].tolist())
        k, kernel, avgk, w_k = (values[place].item() for values, place in zip(grid, at, strict=True))
        plain = kernel == MAJORITY
        setting = Setting(k, VOTE_WEIGHTINGS[kernel], None if plain else w_k, None if plain else avgk)
        return setting, Fitness(int(correct[at]), float(confidence[at]), len(self.lists.distances))

    def try_one(self, parameter: str, setting: Setting) -> Fitness:
        """Record a single setting as a step, and return its fitness."""
        fitness = self.tried(Grid.of(setting))[1]
        self.offer(parameter, setting, fitness)
        return fitness

    def offer(self, parameter: str, setting: Setting, fitness: Fitness) -> bool:
        """Record a step, and keep its setting if it is the fittest so far."""
        improved = self.best is None or self.better(fitness, self.best[1])
        if improved:
            self.best = setting, fitness
        step = {
            "parameter": parameter,
            **asdict(setting),
            "n_correct": fitness.n_correct,
            "confidence": fitness.confidence,
            "cvc": fitness.cvc,
            "lcv": fitness.lcv,
            "improved": improved,
            "n_tried": self.n_tried,
        }
        self.n_tried = 0
        self.path.append(step)
        if self.report is not None:
            self.report(step)
        return improved

    def try_majority(self) -> None:
        """Try majority votes of all k; they have no other parameter."""
        every = Grid.of(Setting(1, "majority", None, None))._replace(
            n_neighbors=np.arange(1, self.depth + 1)
        )
        self.offer("majority", *self.tried(every))


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
        current, fitness = start, evaluator.try_one("start", start)
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
    """Find the best value of one parameter, with the others fixed; w_k in three rounds of eleven."""
    given = Grid.of(current)
    if parameter != "w_k":
        values = {"n_neighbors": np.arange(2, evaluator.depth + 1), "kernel": WEIGHTED, "avgk": BOTH}
        return evaluator.tried(given._replace(**{parameter: values[parameter]}))
    lowest, highest = 0, THOUSANDTHS
    best: tuple[Setting, Fitness] | None = None
    for _ in range(3):
        width = (highest - lowest) // 10
        w_ks = (lowest + width * np.arange(11)) / THOUSANDTHS
        found, its_fitness = evaluator.tried(given._replace(w_k=w_ks))
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
        w_ks = np.arange(n_w_k) / (n_w_k - 1)
        every = Grid(np.arange(2, evaluator.depth + 1), WEIGHTED, BOTH, w_ks)
        evaluator.offer("grid", *evaluator.tried(every))
    evaluator.try_majority()
