"""The experiments of Mullin & Sukthankar (ICML 2000, section 4), repeated.

A set S is drawn from a pool of samples, many times. Each time the rule is scored on S by complete
cross-validation, by five folds and by single splits in many trials, and by holdout: S is the training set,
and the rest of the pool is the test set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from ...designs import Design, KFold, StratifiedKFold, StratifiedSubsample, Subsample
from ...driver import validate_problem
from ...montecarlo import monte_carlo_cv
from ...results import complete_cv
from ...runs import draw_runs
from ._paper import BAYES_ERROR, CCV, CV, GAUSSIANS, HOLDOUT, IN_ORDER, STRATIFIED, SUBSAMPLING, Block

N_FOLDS = 5
SEED = 2000
N_CALLS = 5
"""Number of calls of which the shortest time is taken, since other programs may run."""

BAYES_SAMPLES = 60_000
N_TEST = 500
"""Number of points that are generated to test on, in addition to S."""


@dataclass(frozen=True)
class Row:
    """The scores of one method, and the seconds of one trial and of the paper's number of trials.

    ``scores`` has the shape (n_draws, n_trials), with one trial if nothing is random once S is drawn.
    """

    scores: Array
    per_trial: float
    per_run: float

    @property
    def mean(self) -> float:
        """The mean over sets and trials."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; sets are independent, trials on one set are not."""
        return math.sqrt(float(self.scores.mean(axis=1).var(ddof=1)) / len(self.scores))

    @property
    def within(self) -> float:
        """An unbiased estimate of E[Var(trial | S)]."""
        return float(self.scores.var(axis=1, ddof=1).mean()) if self.scores.shape[1] > 1 else 0.0

    @property
    def variance(self) -> float:
        """An unbiased estimate of the variance of a single trial, Var(E[trial | S]) + E[Var(trial | S)].

        The variance of a mean of n trials is the first term and an n-th of the second.
        """
        share = 1 - 1 / int(self.scores.shape[1])
        return float(self.scores.mean(axis=1).var(ddof=1)) + share * self.within


@dataclass(frozen=True)
class Found:
    """The rows of a block; none if its data could not be obtained."""

    block: Block
    rows: Mapping[str, Row] = field(default_factory=dict)
    failure: str | None = None


def design_of(method: str, labels: Array) -> Design:
    """The design of a method: four fifths of all samples, or of each class to the nearest number."""
    if method in (CCV, IN_ORDER, SUBSAMPLING):
        return Subsample(4 * len(labels) // 5)
    if method == CV:
        return KFold(N_FOLDS)
    if method == CV + STRATIFIED:
        return StratifiedKFold(N_FOLDS)
    classes, counts = np.unique(labels, return_counts=True)
    nearest = (8 * counts + 5) // 10
    return StratifiedSubsample(per_class=dict(zip(classes.tolist(), nearest.tolist(), strict=True)))


def run_block(block: Block, number: int, n_draws: int, n_trials: int, *, progress: bool = False) -> Found:
    """Run a block on `n_draws` sets S; its number determines the random numbers."""
    from ...datasets import DatasetError

    try:
        sets = _draw_sets(block, number, n_draws)
    except DatasetError as error:
        return Found(block, failure=" ".join(str(error).split()))
    methods = [method for method in block.methods if method != HOLDOUT]
    scores = {method: np.empty((n_draws, 1 if method.startswith(CCV) else n_trials)) for method in methods}

    def score(piece: tuple[int, DrawnSet]) -> None:
        draw, drawn = piece
        for at, method in enumerate(methods):
            rng = np.random.default_rng([SEED, number, draw, at])
            scores[method][draw] = _ask(block, method, drawn, n_trials, rng)[0]

    for_each(score, list(enumerate(sets)), progress=progress, unit="set")
    scores[HOLDOUT] = np.array([[drawn.holdout] for drawn in sets])
    return Found(
        block,
        {method: Row(scores[method], *_seconds(block, method, sets[0])) for method in block.methods},
    )


@dataclass(frozen=True)
class DrawnSet:
    """One set S, the pool that it is drawn from, and the holdout score."""

    X: Array
    y: Array
    pool_X: Array
    pool_y: Array
    holdout: float


def _draw_sets(block: Block, number: int, n_draws: int) -> list[DrawnSet]:
    """Sets S are the training sets of random splits of the pool; holdout is the score of the split."""
    seed = [SEED, number]
    if block.data not in GAUSSIANS:
        data = POOLS[block.data]()
        return _of_pool(block, data.X, data.y, seed, n_draws)
    spread = calibrated(block.data)
    found = []
    for draw in range(n_draws):
        rng = np.random.default_rng([*seed, draw])
        X, y = gaussians(block.data, spread, block.n_drawn + N_TEST, rng)
        found += _of_pool(block, X, y, [*seed, draw, 1], 1)
    return found


def _of_pool(block: Block, X: Array, y: Array, seed: Sequence[int], n_draws: int) -> list[DrawnSet]:
    design = Subsample(block.n_drawn)
    asked = validate_problem(y, len(y), block.rule, design, None, "pooled", dict(block.parameters))
    trains = draw_runs(asked, n_draws, np.random.default_rng(seed)).all_folds() == -1
    rng = np.random.default_rng(seed)  # so that the same training sets are drawn again
    holdouts = monte_carlo_cv(
        X, y, block.rule, design, n_repeats=n_draws, random_state=rng, **block.parameters
    ).scores
    return [
        DrawnSet(X[train], y[train], X, y, float(score))
        for train, score in zip(trains, holdouts, strict=True)
    ]


def _ask(
    block: Block, method: str, drawn: DrawnSet, n_trials: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """The scores of a method on S, and the seconds of the computation."""
    ties = "index" if method == IN_ORDER else "random"
    asked = {"cv": design_of(method, drawn.y), "ties": ties, "n_jobs": 1, **block.parameters}
    if method.startswith(CCV):
        whole = complete_cv(drawn.X, drawn.y, block.rule, **asked)
        return np.array([whole.score]), whole.seconds
    runs = monte_carlo_cv(drawn.X, drawn.y, block.rule, n_repeats=n_trials, random_state=rng, **asked)
    return runs.scores, runs.seconds


def _seconds(block: Block, method: str, drawn: DrawnSet) -> tuple[float, float]:
    """Seconds per trial and per run, on one thread; all kernels are compiled at this point."""

    def holdout() -> float:
        asked = {"n_repeats": 1, "random_state": SEED, "n_jobs": 1, **block.parameters}
        design = Subsample(block.n_drawn)
        return monte_carlo_cv(drawn.pool_X, drawn.pool_y, block.rule, design, **asked).seconds

    def trials(number: int) -> float:
        return _ask(block, method, drawn, number, np.random.default_rng(SEED))[1]

    if method == HOLDOUT:
        once = _shortest(holdout)
        return once, once
    one = _shortest(partial(trials, 1))
    return one, one if method.startswith(CCV) else _shortest(partial(trials, block.n_trials))


def _shortest(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(N_CALLS))


def gaussians(geometry: str, spread: float, n_points: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random points of four equally likely Gaussians with unit covariance.

    Returns
    -------
    X : float64 ndarray of shape (n_points, 3)
    y : int64 ndarray of shape (n_points,)
    """
    means = spread * np.array(GAUSSIANS[geometry])
    y = rng.integers(len(means), size=n_points)
    return means[y] + rng.standard_normal((n_points, 3)), y


def bayes_error(geometry: str, spread: float, seed: Sequence[int]) -> float:
    """The share of `BAYES_SAMPLES` random points that are nearer to the mean of another class."""
    X, y = gaussians(geometry, spread, BAYES_SAMPLES, np.random.default_rng(seed))
    means = spread * np.array(GAUSSIANS[geometry])
    # |x - m|² without |x|², which is the same for all means.
    gaps = (means**2).sum(axis=1) - 2 * X @ means.T
    return float((gaps.argmin(axis=1) != y).mean())


@cache
def calibrated(geometry: str) -> float:
    """The factor of the means that gives the printed Bayes error, by bisection on fixed random points."""
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        if bayes_error(geometry, middle, [SEED]) > BAYES_ERROR:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _load(function: str, **arguments: Any) -> Any:
    from ... import datasets

    return getattr(datasets, function)(**arguments)


POOLS: Mapping[str, Callable[[], Any]] = {
    "Abalone-3": partial(_load, "fetch_abalone", n_classes=3),
    "Abalone-2": partial(_load, "fetch_abalone", n_classes=2),
    "Breast Cancer": partial(_load, "fetch_breast_cancer"),
}
"""The pools from which sets S are drawn without replacement."""
