"""The experiments of Mullin & Sukthankar (ICML 2000, section 4), carried out again.

Of a pool of samples a sample S is drawn, again and again. Each time the rule is judged by what S tells of
it:
by complete cross-validation, by five folds and by single splits, in many trials; and by holdout, with S as
training set and the rest of the pool as test set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from ..._labels import encode_labels
from ..._parallel import for_each
from ..._typing import Array
from ...designs import Design, KFold, StratifiedKFold, StratifiedSubsample, Subsample

HOLDOUT, CCV, CV, SUBSAMPLING = "Holdout", "CCV", "CV", "Subsampling"
STRATIFIED = " (stratified)"
IN_ORDER = "CCV, ties in the order of the file"
N_FOLDS = 5
SEED = 2000
CALLS = 5
"""Of how many calls a time is the shortest, as others may be busy on the machine."""

GAUSSIANS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "regular tetrahedron": ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)),
    "square": ((1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)),
    "line, equally spaced": ((-3, 0, 0), (-1, 0, 0), (1, 0, 0), (3, 0, 0)),
}
"""Where the means of four Gaussians may stand, up to a factor."""

GEOMETRY = "square"
BAYES_ERROR = 0.504
BAYES_SAMPLES = 60_000
N_TEST = 500
"""Points that are generated to test on, beside those of S."""


@dataclass(frozen=True)
class Printed:
    """A row of a table: mean and variance times 1000, seconds per trial and per run."""

    mean: float
    variance: float
    per_trial: float
    per_run: float


@dataclass(frozen=True)
class Block:
    """One block of a table.

    Attributes
    ----------
    title : str
        What it is.
    data : str
        Key of `POOLS`, or of `GAUSSIANS`.
    n_drawn : int
        Samples of a sample S.
    n_draws, n_trials : int
        How many samples the paper draws, and how many trials it makes of each.
    printed : mapping of str to Printed
        By method.
    rule : str
        Name of the variant.
    parameters : mapping
        The variant's.
    unprinted : tuple of str
        Methods that the paper does not have.
    """

    title: str
    data: str
    n_drawn: int
    n_draws: int
    n_trials: int
    printed: Mapping[str, Printed]
    rule: str = "nn"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unprinted: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.printed, *self.unprinted)


@dataclass(frozen=True)
class Row:
    """What a method said.

    Attributes
    ----------
    scores : float64 ndarray of shape (n_draws, n_trials)
        Of every trial on every sample; one trial where nothing is random once S is drawn.
    per_trial, per_run : float
        Seconds of one trial, and of as many as the paper makes.
    """

    scores: Array
    per_trial: float
    per_run: float

    @property
    def mean(self) -> float:
        """Over samples and trials."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean; samples are independent, the trials on one are not."""
        return math.sqrt(float(self.scores.mean(axis=1).var(ddof=1)) / len(self.scores))

    @property
    def within(self) -> float:
        """E[Var(trial | S)], without bias."""
        return float(self.scores.var(axis=1, ddof=1).mean()) if self.scores.shape[1] > 1 else 0.0

    @property
    def variance(self) -> float:
        """Of a single trial, Var(E[trial | S]) + E[Var(trial | S)], without bias.

        The means of n trials vary by the first and an n-th of the second.
        """
        share = 1 - 1 / int(self.scores.shape[1])
        return float(self.scores.mean(axis=1).var(ddof=1)) + share * self.within


@dataclass(frozen=True)
class Found:
    """The rows of a block, none where its data could not be had."""

    block: Block
    rows: Mapping[str, Row] = field(default_factory=dict)
    failure: str | None = None


def design_of(method: str, labels: Array) -> Design:
    """The splits of a method: four fifths of the samples, or of each class to the nearest number."""
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
    """Carry a block out.

    Parameters
    ----------
    block : Block
        Which.
    number : int
        Of the block, for the random numbers.
    n_draws, n_trials : int
        How many samples, and trials on each.
    progress : bool, default False
        Show a bar.
    """
    from ...datasets import DatasetError

    try:
        samples = _samples(block, number, n_draws)
    except DatasetError as error:
        return Found(block, failure=" ".join(str(error).split()))
    pieces = list(enumerate(samples))
    methods = [method for method in block.methods if method != HOLDOUT]
    scores = {method: np.empty((n_draws, 1 if method.startswith(CCV) else n_trials)) for method in methods}

    def judge(piece: tuple[int, Sample]) -> None:
        draw, sample = piece
        for at, method in enumerate(methods):
            rng = np.random.default_rng([SEED, number, draw, at])
            scores[method][draw] = _ask(block, method, sample, n_trials, rng)[0]

    for_each(judge, pieces, progress=progress, unit="sample")
    scores[HOLDOUT] = np.array([[sample.holdout] for sample in samples])
    return Found(
        block,
        {method: Row(scores[method], *_seconds(block, method, samples[0])) for method in block.methods},
    )


@dataclass(frozen=True)
class Sample:
    """S, the pool that it is drawn from, and the holdout score."""

    X: Array
    y: Array
    pool_X: Array
    pool_y: Array
    holdout: float


def _samples(block: Block, number: int, n_draws: int) -> list[Sample]:
    """Samples are the training sets of a random subsample of the pool; so is holdout its score."""
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


def _of_pool(block: Block, X: Array, y: Array, seed: Sequence[int], n_draws: int) -> list[Sample]:
    from ...montecarlo import monte_carlo_cv

    design = Subsample(block.n_drawn)
    coded = encode_labels(y)
    rng = np.random.default_rng(seed)
    trains = [design.draw(coded, rng)[0] == -1 for _ in range(n_draws)]
    rng = np.random.default_rng(seed)  # so that the same training sets are drawn again
    holdouts = monte_carlo_cv(
        X, y, block.rule, design, n_repeats=n_draws, random_state=rng, **block.parameters
    ).scores
    return [
        Sample(X[train], y[train], X, y, float(score))
        for train, score in zip(trains, holdouts, strict=True)
    ]


def _ask(
    block: Block, method: str, sample: Sample, n_trials: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Scores of a method on S, and the seconds that it took."""
    from ...driver import complete_cv
    from ...montecarlo import monte_carlo_cv

    ties = "index" if method == IN_ORDER else "random"
    asked = {"cv": design_of(method, sample.y), "ties": ties, "n_jobs": 1, **block.parameters}
    if method.startswith(CCV):
        whole = complete_cv(sample.X, sample.y, block.rule, **asked)
        return np.array([whole.score]), whole.seconds
    runs = monte_carlo_cv(sample.X, sample.y, block.rule, n_repeats=n_trials, random_state=rng, **asked)
    return runs.scores, runs.seconds


def _seconds(block: Block, method: str, sample: Sample) -> tuple[float, float]:
    """Per trial and per run, on one thread; everything is compiled by now."""
    from ...montecarlo import monte_carlo_cv

    def holdout() -> float:
        design = Subsample(block.n_drawn)
        runs = monte_carlo_cv(
            sample.pool_X,
            sample.pool_y,
            block.rule,
            design,
            n_repeats=1,
            random_state=SEED,
            n_jobs=1,
            **block.parameters,
        )
        return runs.seconds

    def trials(number: int) -> float:
        return _ask(block, method, sample, number, np.random.default_rng(SEED))[1]

    if method == HOLDOUT:
        once = _shortest(holdout)
        return once, once
    one = _shortest(partial(trials, 1))
    return one, one if method.startswith(CCV) else _shortest(partial(trials, block.n_trials))


def _shortest(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(CALLS))


def gaussians(geometry: str, spread: float, n_points: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points of four equally likely Gaussians with unit covariance.

    Returns
    -------
    X : float64 ndarray of shape (n_points, 3)
    y : int64 ndarray of shape (n_points,)
    """
    means = spread * np.array(GAUSSIANS[geometry])
    y = rng.integers(len(means), size=n_points)
    return means[y] + rng.standard_normal((n_points, 3)), y


def bayes_error(geometry: str, spread: float, seed: Sequence[int]) -> float:
    """Share of `BAYES_SAMPLES` random points that are nearer to another mean than to their own."""
    X, y = gaussians(geometry, spread, BAYES_SAMPLES, np.random.default_rng(seed))
    means = spread * np.array(GAUSSIANS[geometry])
    # |x - m|² without |x|², which is the same for all means.
    gaps = (means**2).sum(axis=1) - 2 * X @ means.T
    return float((gaps.argmin(axis=1) != y).mean())


@cache
def calibrated(geometry: str) -> float:
    """The factor of the means that gives the Bayes error, by bisection on the same random numbers."""
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        if bayes_error(geometry, middle, [SEED]) > BAYES_ERROR:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _abalone(n_classes: Any) -> Any:
    from ...datasets import fetch_abalone

    return fetch_abalone(n_classes=n_classes)


def _breast_cancer() -> Any:
    from ...datasets import fetch_breast_cancer

    return fetch_breast_cancer()


POOLS: Mapping[str, Callable[[], Any]] = {
    "Abalone-3": partial(_abalone, 3),
    "Abalone-2": partial(_abalone, 2),
    "Breast Cancer": _breast_cancer,
}
"""What samples are drawn from, without replacement."""
