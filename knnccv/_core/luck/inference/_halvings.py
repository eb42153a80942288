"""Random halvings (pairs of disjoint halves of the samples), their scores, and the variance they show."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...._base.typing import Array

SAME_CLASSES = 10
"""Halvings in a row that have the same numbers of every class, where these decide the training sets."""

MOST_UNDEFINED = 0.1
"""The share of the halvings whose scores may be undefined."""
FEWEST_GROUPS = 20
LEAST_TRAIN_PER_NEIGHBOR = 4
"""Training samples of halves for each of K neighbors below which intervals are less reliable."""
EACH_OF = 20
"""Of so many random numbers of every class one is taken."""


@dataclass(frozen=True, eq=False)
class Halvings:
    """Random pairs of disjoint halves.

    Attributes
    ----------
    half_of : int8 ndarray of shape (n_halvings, n_items)
        The half of a sample, 0 or 1; -1 for one that is left out because the number is odd.
    n_units : int
        The number of samples, or of groups.
    of_groups : bool
        Whether whole groups are drawn.
    """

    half_of: Array
    n_units: int
    of_groups: bool

    @property
    def digest(self) -> str:
        """The same for the same halves."""
        return hashlib.blake2b(self.half_of.tobytes(), digest_size=16).hexdigest()

    def before(self, other: Halvings) -> Halvings:
        """Halvings of samples and of others that are numbered after them, half by half."""
        half_of = np.concatenate([self.half_of, other.half_of], axis=1)
        return Halvings(half_of, min(self.n_units, other.n_units), of_groups=False)

    def rows(self, halving: int, half: int) -> Array:
        """The samples of a half, ascending."""
        return np.flatnonzero(self.half_of[halving] == half)


def draw_halvings(
    n_halvings: int,
    n_items: int,
    rng: np.random.Generator,
    *,
    groups: Array | None = None,
    classes: Array | None = None,
) -> Halvings:
    """Draw halvings, all equally likely.

    Parameters
    ----------
    n_halvings : int
        Their number.
    n_items : int
        The number of samples.
    rng : numpy Generator
        The source of randomness.
    groups : int64 ndarray of shape (n_items,), optional
        Group codes: halves of groups are drawn in place of halves of samples.
    classes : int64 ndarray of shape (n_items,), optional
        Class codes, for designs with training sets of given numbers of every class. Each halving is still a
        random one, but `SAME_CLASSES` in a row have the same numbers of every class in their halves. Fewer
        sets of tables then serve all halves. The numbers themselves are drawn systematically.
    """
    if groups is not None or classes is None:
        units = np.arange(n_items) if groups is None else groups
        n_units = int(units.max()) + 1
        drawn = [_random_halves(n_units, rng)[units] for _ in range(n_halvings)]
        return Halvings(np.array(drawn), n_units, groups is not None)
    half_of = np.full((n_halvings, n_items), -1, np.int8)
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    members.sort(key=lambda each: each[0])  # so that other names of the classes draw the same halves
    counts = np.array([len(each) for each in members])
    starts = range(0, n_halvings, SAME_CLASSES)
    compositions = _compositions(counts, n_items // 2, len(starts), rng)
    for first, (in_first, in_second) in zip(starts, compositions, strict=True):
        for one in half_of[first : first + SAME_CLASSES]:
            for each, n, m in zip(members, in_first, in_second, strict=True):
                order = rng.permutation(each)
                one[order[:n]], one[order[n : n + m]] = 0, 1
    return Halvings(half_of, n_items, False)


def _compositions(
    counts: Array, size: int, number: int, rng: np.random.Generator
) -> list[tuple[Array, Array]]:
    """Numbers of every class in two random disjoint halves of this size, `number` times.

    Drawn systematically: of many random ones, sorted by the rarest class and then the others, every so many
    is taken. Each is a random one, and together they vary as all of them do.
    """
    drawn = []
    for _ in range(EACH_OF * number):
        first = rng.multivariate_hypergeometric(counts, size)
        drawn.append((first, rng.multivariate_hypergeometric(counts - first, size)))
    rarest = np.argsort(counts, kind="stable")
    drawn.sort(key=lambda pair: tuple((pair[0] - pair[1])[rarest]))
    chosen = drawn[int(rng.integers(EACH_OF)) :: EACH_OF]
    return [chosen[at] for at in rng.permutation(number)]


def _random_halves(n_units: int, rng: np.random.Generator) -> Array:
    """The half of every unit; an odd number leaves one out."""
    half = np.full(n_units, -1, np.int8)
    order = rng.permutation(n_units)
    size = n_units // 2
    half[order[:size]], half[order[size : 2 * size]] = 0, 1
    return half


def few_groups(halvings: Halvings | HalfScores) -> list[str]:
    """A warning if there are few groups."""
    if not halvings.of_groups or halvings.n_units >= FEWEST_GROUPS:
        return []
    return [
        f"there are {halvings.n_units} groups, fewer than {FEWEST_GROUPS}: the standard error is uncertain"
    ]


def few_neighbors(train_size: float, k: int) -> list[str]:
    """A warning if the training sets of halves are small for K."""
    if train_size >= LEAST_TRAIN_PER_NEIGHBOR * k:
        return []
    return [
        f"the halves train on {train_size:.4g} samples, fewer than 4 K = {4 * k}: 95% intervals were found "
        "to contain the true score in 86 to 97% of the data sets"
    ]


class InferenceWarning(UserWarning):
    """A standard error or an interval is outside the conditions under which it was found to be reliable."""


@dataclass(frozen=True, eq=False)
class HalfScores:
    """Scores of random pairs of disjoint halves; of one score, or of all cells of a surface.

    Attributes
    ----------
    scores : ndarray of shape (n_halvings, 2), or (n_halvings, 2, ...) for a surface
        The exact score of each half, or the mean of its runs, NaN where it is undefined.
    n_units : int
        The number of samples, or of groups if halves of groups were drawn.
    of_groups : bool
        Whether halves of groups were drawn.
    train_size : float, or ndarray of shape (n_sizes,) for a surface
        The mean training size of the halves.
    warnings : tuple of str
        Conditions under which intervals were found to be unreliable.
    drawn : str
        A digest of the halves: results with the same digest were scored on the same halves.
    n_answers : float, or ndarray of shape (n_sizes,)
        The effective number of weighted answers, 1 / (sum of squared weights); 0 for `n_units`.
    resolution : float
        The accuracy of the scores. A standard error below it counts as 0.
    deviations : ndarray of shape (n_units,)
        What every unit adds to the score of all samples beyond its weight's share, for the skewness of
        scores with one bound only; empty if it is not known, which counts as no skewness.
    growth : float, or ndarray of shape (n_K, n_sizes)
        The mean score of the halves over that of all samples, at least 1, for errors without upper bound.
    floors : ndarray of shape (n_classes, 3), or (n_K, n_sizes, n_classes, 3)
        Where classes do not count by their samples: the score if all answers for the samples of one class
        were the worst, that if they were the best, and the number of these samples, or of groups with such
        samples; or the same of a constant answer and of the smallest class. Else no rows.
    runs : ndarray of shape (n_runs, n_halvings, 2), or (n_runs, n_halvings, 2, ...)
        The scores of each half in random runs, at least two, NaN where they are undefined; empty for exact
        scores.
    noise : float, or ndarray of shape (n_K, n_sizes)
        What random runs add to the variance of the score of all samples.
    scale : str
        The scale of the interval: "log" of one minus the score, "root" for its square, or "".
    floor : float
        The score of a constant answer; NaN if halves that score nearer to it scatter as all others.
    """

    scores: Array
    n_units: int
    of_groups: bool
    train_size: Any
    warnings: tuple[str, ...] = ()
    drawn: str = ""
    n_answers: Any = 0.0
    resolution: float = 0.0
    deviations: Array = field(default_factory=lambda: np.empty(0))
    growth: Any = 1.0
    floors: Array = field(default_factory=lambda: np.empty((0, 3)))
    runs: Array = field(default_factory=lambda: np.empty((0, 0, 2)))
    noise: Any = 0.0
    scale: str = ""
    floor: float = math.nan

    @classmethod
    def of_runs(cls, runs: Array, halvings: Halvings, train_size: float, std_error: float) -> HalfScores:
        """Those of halves in random runs, of a score with this standard error."""
        units = halvings.n_units, halvings.of_groups
        noise = std_error**2
        return cls(
            scores_over_runs(runs), *units, train_size, drawn=halvings.digest, runs=runs, noise=noise
        )

    def __post_init__(self) -> None:
        for each in (self.scores, self.train_size, self.n_answers):
            if isinstance(each, np.ndarray):
                each.flags.writeable = False

    @property
    def mean(self) -> Any:
        """The mean score of the halves."""
        return mean_of_defined(self.scores)

    @property
    def variance(self) -> Any:
        """A quarter of the mean squared difference of two halves.

        Two disjoint halves are independent, so its expectation is half the variance of a half's score. A
        score of all samples has about half the variance of that of a half. The standard deviation of an
        error without an upper bound is in proportion to the error: it is divided by `growth`.
        """
        found = mean_squared_difference(self.scores, self.runs) / 4 / self.growth**2
        kept = np.where(np.sqrt(found) <= self.resolution, 0.0, found) + self.noise
        return kept if kept.ndim else float(kept)

    @property
    def degrees_of_freedom(self) -> float:
        """Those of the samples and of the halvings together."""
        return degrees_of_freedom(self.n_units, len(self.scores))


def mean_squared_difference(scores: Array, runs: Array) -> Any:
    """The mean of (first - second)^2 over the rows; without the noise of the `runs`, if there are any.

    Of each row it is then the mean product of the differences in two different runs, at least 0 on average
    over the rows.
    """
    if not len(runs):
        return _sum(np.square(scores[:, 0] - scores[:, 1])) / len(scores)
    means, noise = differences_over_runs(runs)
    found = np.maximum(_mean(np.square(means) - noise), 0.0)
    return found if found.ndim else float(found)


def scores_over_runs(runs: Array) -> Array:
    """The mean scores of halves (n_halvings, 2, ...), NaN where no run is defined."""
    number = np.isfinite(runs).sum(axis=0)
    return np.asarray(np.nansum(runs, axis=0) / np.where(number, number, np.nan))


def differences_over_runs(runs: Array) -> tuple[Array, Array]:
    """The mean differences of halves over their runs, and the variances of these means by the runs.

    NaN for halvings in which less than two runs are defined.
    """
    gaps = runs[:, :, 0] - runs[:, :, 1]
    defined = np.isfinite(gaps)
    number = np.where(defined.sum(axis=0) > 1, defined.sum(axis=0), np.nan)
    means = np.where(defined, gaps, 0.0).sum(axis=0) / number
    squares = np.square(np.where(defined, gaps - means, 0.0)).sum(axis=0)
    return means, squares / (number - 1) / number


def difference_of(one: HalfScores, other: HalfScores) -> tuple[Array, float]:
    """The differences of two scores of the same halves, (n_halvings, 2), and their standard error."""
    n_runs = min(len(one.runs), len(other.runs))
    runs = one.runs[:n_runs] - other.runs[:n_runs]
    halves = scores_over_runs(runs) if n_runs else one.scores - other.scores
    error = math.sqrt(mean_squared_difference(halves, runs) / 4)
    error = error if error > one.resolution + other.resolution else 0.0
    return halves, math.hypot(error, math.sqrt(one.noise + other.noise))


def mean_of_defined(scores: Array) -> Any:
    """The mean of the scores (n_halvings, 2, ...) that are not NaN."""
    return _mean(scores.reshape(-1, *scores.shape[2:]))


def _mean(values: Array) -> Any:
    """The mean of the values that are not NaN over the first axis; NaN if there are none."""
    number = np.isfinite(values).sum(axis=0)
    found = _sum(np.where(np.isfinite(values), values, 0.0)) / np.where(number, number, np.nan)
    return found if found.ndim else float(found)


def _sum(values: Array) -> Any:
    """The exactly rounded sum over the first axis."""
    if values.ndim == 1:
        return math.fsum(values)
    sums = [math.fsum(each) for each in values.reshape(len(values), -1).T]
    return np.reshape(sums, values.shape[1:])


def degrees_of_freedom(n_units: int, n_halvings: int) -> float:
    """1 / (1 / (n - 1) + 1 / H)."""
    return 1 / (1 / (n_units - 1) + 1 / n_halvings)
