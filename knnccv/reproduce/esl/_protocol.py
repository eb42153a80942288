"""Simulations of cross-validation in "The Elements of Statistical Learning".

Noise that is screened the wrong and the right way (§7.10.2), and two classes in the plane, each a mixture
of ten Gaussians (§2.3.3), with the errors of nearest neighbors on new samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from ...curves import surface
from ...designs import KFold, StratifiedKFold
from ...montecarlo import monte_carlo_cv, screened_cv
from ...results import complete_cv

SEED = 7
N_SAMPLES, N_PREDICTORS, N_KEPT, N_HELD_OUT = 50, 5000, 100, 10
FOLDS = KFold(5)
N_SIMULATIONS = {False: 50, True: 5}
N_REPEATS = {False: 10, True: 2}
"""Number of runs of the right way in every simulation."""

N_MEANS, N_PER_CLASS, VARIANCE = 10, 100, 1 / 5
NUMBERS = np.arange(1, 31)
N_CURVES = 5
N_NEW = {False: 200_000, True: 20_000}
"""Number of new samples on which errors are measured; a tenth of it in the further mixtures."""

N_MIXTURES = {False: 50, True: 20}

SHOWN = (1, 15)


def correlations(X: Array, y: Array) -> Array:
    """The correlation of every column of X (n_samples, n_features) with y; NaN where y is constant."""
    columns, labels = X - X.mean(axis=0), y - y.mean()
    with np.errstate(invalid="ignore"):
        found: Array = labels @ columns / np.sqrt((columns**2).sum(axis=0) * (labels**2).sum())
    return found


def highest(X: Array, y: Array) -> Array:
    """The columns of the highest correlation with y."""
    return np.argsort(-correlations(X, y), kind="stable")[:N_KEPT]


def strongest(X: Array, y: Array) -> Array:
    """The columns of the highest absolute correlation with y."""
    return np.argsort(-np.abs(correlations(X, y)), kind="stable")[:N_KEPT]


@dataclass(frozen=True)
class Screening:
    """Errors in %, of shape (n_simulations,), and correlations, of shape (n_simulations, N_KEPT).

    ``wrong``: the exact mean over all partitions; ``one_wrong``: one random partition; ``right``: the mean
    of a few; ``stratified``: the same over stratified folds. The correlations are those of the kept
    predictors with the labels of ten samples, times the sign in the samples on which they were chosen.
    """

    wrong: Array
    one_wrong: Array
    right: Array
    stratified: Array
    wrong_correlations: Array
    right_correlations: Array


def screening(select: Callable[[Array, Array], Array], quick: bool, progress: bool = False) -> Screening:
    """Screen noise by `select`, before cross-validation and within every fold."""
    n = N_SIMULATIONS[quick]
    errors = np.empty((4, n))
    found = np.empty((2, n, N_KEPT))

    def simulate(number: int) -> None:
        rng = np.random.default_rng([SEED + 1, number])
        X = rng.normal(size=(N_SAMPLES, N_PREDICTORS))
        y = np.repeat([0, 1], N_SAMPLES // 2)
        kept = X[:, select(X, y)]
        errors[0, number] = complete_cv(kept, y, "nn", FOLDS, n_jobs=1).score
        one = monte_carlo_cv(kept, y, "nn", FOLDS, n_repeats=1, random_state=rng, n_jobs=1)
        errors[1, number] = one.score
        for way, folds in enumerate((FOLDS, StratifiedKFold(FOLDS.n_splits)), start=2):
            right = screened_cv(X, y, select, folds, n_repeats=N_REPEATS[quick], random_state=rng, n_jobs=1)
            errors[way, number] = right.score
        ten = rng.choice(N_SAMPLES, N_HELD_OUT, replace=False)
        while len(np.unique(y[ten])) < 2:  # constant labels have no correlation
            ten = rng.choice(N_SAMPLES, N_HELD_OUT, replace=False)
        rest = np.setdiff1d(np.arange(N_SAMPLES), ten)
        for way, chosen_on in enumerate((np.arange(N_SAMPLES), rest)):
            columns = select(X[chosen_on], y[chosen_on])
            signs = np.sign(correlations(X[np.ix_(chosen_on, columns)], y[chosen_on]))
            found[way, number] = signs * correlations(X[np.ix_(ten, columns)], y[ten])

    for_each(simulate, range(n), progress=progress, unit="simulation")
    return Screening(*(100 * (1 - errors)), *found)


@dataclass(frozen=True)
class Mixture:
    """Two classes in the plane, each a mixture of Gaussians of equal weight around `means` (2, 10, 2)."""

    means: Array

    def draw(self, rng: np.random.Generator, n_per_class: int) -> tuple[Array, Array]:
        """Random samples of shape (2 * n_per_class, 2) and their labels."""
        which = rng.integers(N_MEANS, size=(2, n_per_class))
        centers = np.concatenate([self.means[c][which[c]] for c in range(2)])
        X = centers + np.sqrt(VARIANCE) * rng.normal(size=centers.shape)
        return X, np.repeat([0, 1], n_per_class)

    def second_share(self, X: Array) -> Array:
        """The probability of class 1 at every row of X, for equally frequent classes; (n_samples,)."""
        from scipy.special import expit, logsumexp

        squares = ((X[:, None, None, :] - self.means) ** 2).sum(axis=-1)
        logs = logsumexp(-squares / (2 * VARIANCE), axis=2)
        share: Array = expit(logs[:, 1] - logs[:, 0])
        return share


def mixture(number: int) -> tuple[Mixture, Array, Array]:
    """Mixture number `number`, a hundred samples of each class, and their labels."""
    rng = np.random.default_rng([SEED, N_MEANS, number])
    centers = np.array([[1.0, 0.0], [0.0, 1.0]])
    distribution = Mixture(centers[:, None] + rng.normal(size=(2, N_MEANS, 2)))
    return (distribution, *distribution.draw(rng, N_PER_CLASS))


def predictions(X: Array, y: Array, new: Array) -> Array:
    """The class of every new sample by the votes of 1, 2, ... neighbors; (n_numbers, n_new).

    A tied vote goes to class 0, as in `complete_cv`.
    """
    from scipy.spatial import cKDTree

    nearest = cKDTree(X).query(new, k=len(NUMBERS))[1]
    votes = np.cumsum(y[nearest], axis=1).T
    return (2 * votes > NUMBERS[:, None]).astype(np.int64)


@dataclass(frozen=True)
class Planar:
    """Errors of nearest neighbors on a mixture, in %, of shape (n_numbers,) unless stated otherwise.

    ``expected``: cross-validated, the exact mean over all partitions; ``curves`` (N_CURVES, n_numbers): of
    single partitions; ``new``: on new samples, trained on all; ``training``: on the training samples.
    ``bayes`` is the least possible error, and ``bayes_error_bar`` its standard error.
    """

    distribution: Mixture
    X: Array
    y: Array
    expected: Array
    curves: Array
    new: Array
    training: Array
    bayes: float
    bayes_error_bar: float


def planar(number: int, n_new: int, n_jobs: int | None = None) -> Planar:
    """Draw a mixture and measure the errors of all numbers of neighbors on `n_new` new samples."""
    distribution, X, y = mixture(number)
    n_train = len(y) - len(y) // FOLDS.n_splits
    expected = 1 - surface(X, y, NUMBERS, n_train, n_jobs=n_jobs).scores[:, 0]
    curves = np.array([1 - _runs(X, y, int(k), n_jobs) for k in NUMBERS]).T
    points, _ = distribution.draw(np.random.default_rng([SEED, N_MEANS, number, 1]), n_new // 2)
    share = distribution.second_share(points)
    wrong = np.where(predictions(X, y, points) == 1, 1 - share, share)  # less noise than drawn labels
    least = np.minimum(share, 1 - share)
    return Planar(
        distribution,
        X,
        y,
        100 * expected,
        100 * curves,
        100 * wrong.mean(axis=1),
        100 * (predictions(X, y, X) != y).mean(axis=1),
        100 * float(least.mean()),
        100 * float(least.std() / np.sqrt(len(points))),
    )


def planes(quick: bool, progress: bool = False) -> list[Planar]:
    """All mixtures; the errors of the first are measured on more new samples than the others."""
    found: dict[int, Planar] = {}

    def measure(number: int) -> None:
        found[number] = planar(number, N_NEW[quick] // (10 if number else 1), n_jobs=1)

    for_each(measure, range(N_MIXTURES[quick]), progress=progress, unit="mixture")
    return [found[number] for number in sorted(found)]


def _runs(X: Array, y: Array, k: int, n_jobs: int | None) -> Array:
    """The scores of partitions that are the same for all numbers of neighbors."""
    settings: dict[str, Any] = {"n_repeats": N_CURVES, "random_state": SEED, "n_jobs": n_jobs}
    return monte_carlo_cv(X, y, "knn", FOLDS, n_neighbors=k, **settings).scores
