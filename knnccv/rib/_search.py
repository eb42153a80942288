# mypy: allow-untyped-defs
"""The search for RIB's parameters: greedy, as in Figure 2 of Wilson & Martinez 1999, and exhaustive.

Behind both is `sweep`, leave-one-out votes for many settings of the weights at once, by eqs. (7) to (11):
sums over the neighbors serve all w_k of a setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._base.parallel import for_each
from .._base.typing import Array
from ..kernel import inner, jit
from ._votes import (
    EQUAL,
    GAUSSIAN,
    LINEAR,
    MAJORITY,
    VOTE_WEIGHTINGS,
    Fitness,
    Setting,
    VoteLists,
    scale_of,
    winner,
)

BLOCK = 256
"""Samples of a block. Sums are formed block by block, so they do not depend on the threads."""

MAX_SUMS = 2**22
"""Sums held at a time: one for every setting and block."""

LARGEST_POWER = 600.0
"""The largest logarithm of a power; neither the power nor its inverse overflows."""


@jit
def _linear(distances, local_codes, k, avgk, w_ks, number, height, votes):
    """Set ``votes[local, t]`` of the linear kernel for all w_k, ascending; O(k + classes * w_k).

    A weight is w_k + (1 - w_k) (1 - R_j) with R_j = D_j / D_k, so the sums of 1 and of 1 - R_j over the
    neighbors serve all w_k. Eq. (11) allows R_j > 1; such a neighbor is added when w_k is large enough for
    a positive weight.
    """
    scale = scale_of(distances, k, avgk)
    n_local = votes.shape[0]
    number[:n_local] = 0.0
    height[:n_local] = 0.0
    j = 0
    for t in range(len(w_ks)):
        w_k = w_ks[t]
        while j < k:
            rest = (scale - distances[j]) / scale
            if rest < 0 and w_k + (1 - w_k) * rest <= 0:
                break
            number[local_codes[j]] += 1
            height[local_codes[j]] += rest
            j += 1
        for local in range(n_local):
            # No weight is negative; rounding must not make the vote negative.
            votes[local, t] = max(w_k * number[local] + (1 - w_k) * height[local], 0.0)
        if w_k == 0 and distances[0] == scale:  # all distances are equal: the limit
            votes[:, t] = number[:n_local]


@inner
def _powers(distances, local_codes, k, avgk, squared, of_w_ks, powers, votes):
    """Set ``votes[local, t]`` of the gaussian or exponential kernel for all w_k; the nearest has vote 1.

    Of the pair ``of_w_ks``, ``logs`` are the logarithms of w_k. If w_k = t / n for t = 0 ... n, ``factors``
    (2, n + 1) are a prime factor of t and the quotient, and the powers of primes serve all t; otherwise it
    has shape (2, 0).
    """
    logs, factors = of_w_ks
    n = factors.shape[1] - 1
    scale = scale_of(distances, k, avgk)
    votes[:] = 0.0
    first = distances[0] / scale
    for j in range(k):
        row = votes[local_codes[j]]
        if distances[j] == distances[0]:
            for t in range(len(logs)):
                row[t] += 1.0
            continue
        ratio = distances[j] / scale
        power = ratio * ratio - first * first if squared else ratio - first
        # Avoid 0 times infinity if the difference vanishes in rounding.
        power = max(power, 1e-300)
        if n > 1 and -power * logs[1] < LARGEST_POWER:
            unit = np.exp(power * logs[1])
            row[1] += unit
            powers[1] = 1.0
            for t in range(2, n + 1):
                if factors[1, t] == 1:
                    powers[t] = np.exp(power * (logs[t] - logs[1]))
                else:
                    powers[t] = powers[factors[0, t]] * powers[factors[1, t]]
                row[t] += powers[t] * unit
        else:
            for t in range(len(logs)):
                row[t] += np.exp(power * logs[t])


@jit
def _score(votes, own_class, list_row, nearest_first, room, correct, confidence):
    """Add the results of one sample's ``votes[local, t]`` to all ``correct[t]`` and ``confidence[t]``."""
    classes, distances, local_codes = list_row
    max_votes, total = room
    n_local, n_w = votes.shape
    if own_class < 0 or own_class >= n_local:
        return
    max_votes[:] = 0.0
    total[:] = 0.0
    for local in range(n_local):
        for t in range(n_w):
            max_votes[t] = max(max_votes[t], votes[local, t])
            total[t] += votes[local, t]
    for t in range(n_w):
        confidence[t] += votes[own_class, t] / total[t]
        tied = max_votes[t] - EQUAL * max_votes[t]
        if votes[own_class, t] < tied:
            continue
        alone = True
        for local in range(n_local):
            if local != own_class and votes[local, t] >= tied:
                alone = False
        if (
            alone
            or winner(votes[:, t], n_local, classes, distances, local_codes, nearest_first) == own_class
        ):
            correct[t] += 1


@jit
def _sweep(lists, grid, of_w_ks, nearest_first, correct, confidence):
    """Add the results of all settings for some samples; settings in the order k, kernel, avgk, w_k."""
    n_w = len(grid.w_k)
    depth = lists.distances.shape[1]
    scratch = np.empty((depth, n_w))
    number, height = np.empty((2, depth))
    powers, max_votes, total = np.empty((3, n_w))
    room = max_votes, total
    for r in range(len(lists.distances)):
        distances, local_codes, own_class = lists.distances[r], lists.local_codes[r], lists.own_class[r]
        list_row = lists.classes[r], distances, local_codes
        n_local = 0
        n_seen = 0
        at = 0
        for k in grid.n_neighbors:
            while n_seen < k:
                n_local = max(n_local, local_codes[n_seen] + 1)
                n_seen += 1
            for kernel in grid.kernel:
                for avgk in grid.avgk:
                    end = at + n_w
                    if n_local == 1:  # all weights give the same votes
                        if own_class == 0:
                            for t in range(at, end):
                                correct[t] += 1
                                confidence[t] += 1.0
                        at = end
                        continue
                    votes = scratch[:n_local]
                    if kernel == MAJORITY or scale_of(distances, k, avgk) == 0:
                        votes[:] = 0.0
                        for j in range(k):
                            for t in range(n_w):
                                votes[local_codes[j], t] += 1.0
                    elif kernel == LINEAR:
                        _linear(distances, local_codes, k, avgk, grid.w_k, number, height, votes)
                    else:
                        squared = kernel == GAUSSIAN
                        _powers(distances, local_codes, k, avgk, squared, of_w_ks, powers, votes)
                    hits, shares = correct[at:end], confidence[at:end]
                    _score(votes, own_class, list_row, nearest_first, room, hits, shares)
                    at = end


def sweep(
    lists: VoteLists,
    grid: Grid,
    *,
    nearest_first: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[Array, Array]:
    """Count the correct samples of every setting, and average the confidence in the samples' true classes.

    Parameters
    ----------
    lists : VoteLists
        Neighbors of labeled samples; a sample is not in its own list.
    grid : Grid
        Numbers of neighbors and weights ascend.
    nearest_first : bool, default True
        Whether a tied vote goes to the nearest of the tied classes; otherwise to the smallest label.
    n_jobs, progress
        Threads; whether to show a progress bar.

    Returns
    -------
    int64 ndarray and float64 ndarray of shape (n_k, n_kernels, n_avgk, n_w_k)
        Cost per setting and sample: O(k) for powers, O(1) for the linear kernel.
    """
    shape = tuple(map(len, grid))
    n_items = len(lists.distances)
    starts = range(0, n_items, BLOCK)
    n_settings = math.prod(shape)
    correct = np.zeros(n_settings, np.int64)
    confidence = np.zeros(n_settings)
    with np.errstate(divide="ignore"):
        of_w_ks = np.log(grid.w_k), _prime_factors(grid.w_k)
    ks = grid.n_neighbors
    per_k = n_settings // len(ks)
    # A few k at a time, or the sums of the blocks would fill the memory.
    step = max(1, MAX_SUMS // max(len(starts) * per_k, 1))
    for k in range(0, len(ks), step):
        some = grid._replace(n_neighbors=ks[k : k + step])
        sums = np.zeros((len(starts), len(some.n_neighbors) * per_k))
        counts = np.zeros(sums.shape, np.int64)

        def fill(start: int, some: Grid = some, sums: Array = sums, counts: Array = counts) -> None:
            at = start // BLOCK
            part = lists.part(start, start + BLOCK)
            _sweep(part, some, of_w_ks, nearest_first, counts[at], sums[at])

        for_each(fill, starts, n_jobs, progress, unit="block")
        place = slice(k * per_k, k * per_k + counts.shape[1])
        correct[place] = counts.sum(axis=0)
        for row in sums:  # in the order of the blocks
            confidence[place] += row
    return correct.reshape(shape), (confidence / n_items).reshape(shape)


def _prime_factors(w_ks: Array) -> Array:
    """Factor t of w_k = t / n, t = 0 ... n, into its smallest prime and the quotient; otherwise (2, 0)."""
    n = len(w_ks) - 1
    if n < 2 or (w_ks != np.arange(n + 1) / n).any():
        return np.zeros((2, 0), np.int64)
    smallest = np.arange(n + 1)
    for p in range(2, int(n**0.5) + 1):
        if smallest[p] == p:
            multiples = smallest[p * p :: p]
            np.minimum(multiples, p, out=multiples)
    return np.stack([smallest, np.arange(n + 1) // np.maximum(smallest, 1)])


WEIGHTED = np.arange(1, len(VOTE_WEIGHTINGS))
BOTH = np.array([False, True])
THOUSANDTHS = 1000
"""Three rounds of eleven w_k, each ten times as narrow as the one before, end at multiples of 0.001."""

DIGITS = 12
"""Decimals of mean confidences that are compared: sums of floats differ in their last bits."""


class Grid(NamedTuple):
    """Values of the parameters, of which all combinations are tried."""

    n_neighbors: Array
    kernel: Array  # by their index in `VOTE_WEIGHTINGS`
    avgk: Array  # whether D'_k of eq. (11) replaces D_k
    w_k: Array  # weights of the k-th neighbor, each in [0, 1]

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
            self.lists, grid, nearest_first=self.nearest_first, n_jobs=self.n_jobs, progress=self.progress
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
