"""Standard errors and confidence intervals of scores: the luck of the data.

A sample that lacks the rare large errors has a low score and a small standard error at once, so Wald's
interval of a squared error, which has one bound only, lies below the truth too often. Hall's transformation
corrects the t statistic for the skewness of the samples' errors, and the t distribution has the degrees of
freedom that their kurtosis leaves.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ...._base.formatting import Numeric, Result
from ...._base.typing import Array
from ...._base.validation import check_real
from ._halvings import HalfScores

FEW = 10
"""Expected errors, or correct answers, below which the effective number of answers is bounded."""
MOST_SHRUNK = 3.0
"""The largest factor of the variance for halves that score nearer to the worst answers than all samples."""
USUAL = 200
"""Halvings, if nobody says how many."""
LARGEST_LOG = 50.0
"""Of the factor by which the unexplained share of a variance may change: nothing is known of it."""
MOST_UNEQUAL = 1.7
"""Standard deviation of the samples' errors over their mean above which a warning is given."""


class Described:
    """A number, or a pair of numbers or arrays, with attributes, which copies keep."""

    def __new__(cls, *numbers: Any, **fields: Any) -> Self:
        """Make the number and set its attributes."""
        made = super().__new__(cls, *numbers)
        made.__dict__.update(fields)
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of `__new__`, for copies."""
        numbers = self if isinstance(self, tuple) else (float(self),)  # type: ignore[arg-type]
        return tuple(numbers), dict(self.__dict__)


class StandardError(Described, float):
    """The estimated standard deviation of a score over samples of the population (luck of the data).

    A float. The luck of the split is another number, `CompleteCV.split_std`.

    Attributes
    ----------
    half_score : float
        The mean score of the halves. If it differs much from the score, halving hurts the rule, and the
        error is too large.
    half_train_size : float
        The mean training size of the halves.
    n_halvings : int
        The number of random pairs of disjoint halves.
    n_units : int
        The number of samples, or of groups.
    of_groups : bool
        Whether groups are the units.
    degrees_of_freedom : float
        Those of the t distribution for intervals.
    target : str
        What the score estimates, in words.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> error = complete_cv(wine.X, wine.y, "nn").standard_error(n_halvings=50, random_state=0)
    >>> 0 < float(error) < 0.1
    True
    """

    half_score: float
    half_train_size: float
    n_halvings: int
    n_units: int
    of_groups: bool
    degrees_of_freedom: float
    target: str

    @classmethod
    def of(cls, halves: HalfScores, target: str) -> StandardError:
        """The standard error that these halves show."""
        return cls(
            math.sqrt(halves.variance),
            half_score=halves.mean,
            half_train_size=halves.train_size,
            n_halvings=len(halves.scores),
            n_units=halves.n_units,
            of_groups=halves.of_groups,
            degrees_of_freedom=halves.degrees_of_freedom,
            target=target,
        )

    def __repr__(self) -> str:
        units = "groups" if self.of_groups else "samples"
        return (
            f"<StandardError {float(self):.3g} (luck of the data): {self.n_halvings} halvings of "
            f"{self.n_units} {units}, halves score {self.half_score:.4g} with {self.half_train_size:.4g} "
            "training samples>"
        )

    def __str__(self) -> str:
        return str(float(self))


class _Bounds(NamedTuple):
    low: float
    high: float


class ConfidenceInterval(Result, Described, _Bounds):
    """A confidence interval, the pair ``(low, high)``.

    Attributes
    ----------
    low, high : float
        Its ends.
    confidence_level : float
        The share of data sets for which such an interval should contain the target.
    method : str
        "wilson" for scores of a known range, "hall" for those with one bound (squared errors, and their
        roots), "log" for R², "wald" for others.
    n_eff : float
        The number of independent answers that would be as uncertain; NaN unless the method is "wilson".
    half_score, half_train_size : float
        The mean score of the halves, and their training size.
    target : str
        What the interval is for, in words.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> low, high = complete_cv(wine.X, wine.y, "nn").confidence_interval(n_halvings=50, random_state=0)
    >>> 0.5 < low < high < 1
    True
    """

    _json = "low high confidence_level method target"

    confidence_level: float = math.nan
    method: str = ""
    n_eff: float = math.nan
    half_score: float = math.nan
    half_train_size: float = math.nan
    target: str = ""

    def __str__(self) -> str:
        return f"{100 * self.confidence_level:g} % [{self.low:.4g}, {self.high:.4g}]"


def check_level(confidence_level: Any) -> float:
    """Return the level; ValueError or TypeError unless it is a number in (0, 1)."""
    level = check_real("confidence_level", confidence_level)
    if not 0 < level < 1:
        percent = f"; for {level:g} % give {level / 100:g}" if 1 < level < 100 else ""
        msg = f"confidence_level must be in (0, 1), got {confidence_level!r}{percent}"
        raise ValueError(msg)
    return level


def student_interval(
    estimate: float,
    standard_error: float,
    n_free: float,
    confidence_level: Any,
    target: str,
    half_score: float = math.nan,
) -> ConfidenceInterval:
    """Student's interval of an estimate whose error has `n_free` degrees of freedom; infinity: normal."""
    from scipy.special import stdtrit

    level = check_level(confidence_level)
    margin = float(stdtrit(n_free, (1 + level) / 2)) * standard_error
    return ConfidenceInterval(
        estimate - margin,
        estimate + margin,
        confidence_level=level,
        method="wald",
        half_score=half_score,
        target=target,
    )


def confidence_interval(
    score: float,
    halves: HalfScores,
    confidence_level: Any,
    score_range: tuple[float, float] | None,
    target: str,
) -> ConfidenceInterval:
    """The interval around a score.

    Parameters
    ----------
    score : float
        The score of all samples.
    halves : HalfScores
        The scores of the halves.
    confidence_level : float
        In (0, 1).
    score_range : (float, float), or None
        The smallest and the largest score of one classification, infinite where there is no bound; None if
        there is neither.
    target : str
        What the score estimates.
    """
    from scipy.special import stdtrit

    level = check_level(confidence_level)
    z = float(stdtrit(halves.degrees_of_freedom, (1 + level) / 2))
    n_eff = math.nan
    if halves.scale == "log":  # of the unexplained share of the variance
        method, rest = "log", 1 - score
        factor = math.exp(min(z * math.sqrt(halves.variance) / rest, LARGEST_LOG)) if rest > 0 else 1.0
        low, high = 1 - rest * factor, 1 - rest / factor
    elif score_range is None or score_range == (-math.inf, math.inf):
        method, margin = "wald", z * math.sqrt(halves.variance)
        low, high = score - margin, score + margin
    elif has_one_bound(score_range):
        method = "hall"
        low, high = hall_interval(score, halves, level, score_range)
    else:
        method = "wilson"
        low, high, n_eff = _wilson(score, halves, z, *score_range)
    return ConfidenceInterval(
        float(low),
        float(high),
        confidence_level=level,
        method=method,
        n_eff=n_eff,
        half_score=halves.mean,
        half_train_size=halves.train_size,
        target=target,
    )


def _wilson(
    score: float, halves: HalfScores, z: float, least: float, most: float
) -> tuple[float, float, float]:
    """Wilson's interval with an effective number of answers: its ends, and that number.

    The number is the one with which the binomial variance is that of the halves. Near an end of the range,
    where fewer than `FEW` errors or `FEW` correct answers are expected, the variance is badly known. There
    the number is at least a fifth of the units and at most twice that of the answers.

    Where the score of a rare class is low, an unlucky sample has a low score and a small variance at once,
    though the mean over classes is far from the end of its range. With `floors` the better end is therefore
    at least as far as that of Wilson's interval of each class, as if the answers for it alone varied.
    """
    width, n_answers = most - least, halves.n_answers or float(halves.n_units)
    if width == 0:
        return score, score, n_answers
    share = min(max((score - least) / width, 0.0), 1.0)
    variance = halves.variance * _shrunk(score, halves.mean, halves.floor, most) / width**2
    fewest = min(n_answers, halves.n_units)
    if halves.variance <= halves.noise:
        n_eff = fewest
    elif n_answers * min(share, 1 - share) < FEW:
        n_eff = min(max(share * (1 - share) / variance, fewest / 5), 2 * n_answers)
    else:
        n_eff = share * (1 - share) / variance
    low, high = (least + width * end for end in _wilson_ends(share, n_eff, z))
    for worst, best, number in halves.floors.tolist():
        if worst == best:
            continue
        share = min(max((score - worst) / (best - worst), 0.0), 1.0)
        scatter = halves.variance * _shrunk(score, halves.mean, worst, best)
        spread = share * (1 - share) * (best - worst) ** 2
        answers = max(spread / scatter if scatter else 0.0, number / 2)
        end = worst + (best - worst) * _wilson_ends(share, answers, z)[1]
        low, high = min(low, end), max(high, end)
    # At the ends of the range rounding could exclude the score itself.
    return max(least, min(low, score)), min(most, max(high, score)), n_eff


def _shrunk(score: float, of_half: float, worst: float, best: float) -> float:
    """How much less halves scatter that score nearer to the worst answers; 1 if these are unknown (NaN)."""
    if math.isnan(worst) or worst == best:
        return 1.0
    of_all, of_half = ((each - worst) / (best - worst) for each in (score, of_half))
    share = min(max(of_all, 0.0), 1.0)
    return min(max(share * (1 - share) / max(of_half * (1 - of_half), 1e-300), 1.0), MOST_SHRUNK)


def _wilson_ends(share: float, n_answers: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share of so many answers."""
    center = share + z * z / (2 * n_answers)
    margin = z * math.sqrt(share * (1 - share) / n_answers + (z / (2 * n_answers)) ** 2)
    scale = 1 + z * z / n_answers
    return max((center - margin) / scale, 0.0), min((center + margin) / scale, 1.0)


def has_one_bound(score_range: tuple[float, float] | None) -> bool:
    """Return True if scores are bounded on one side only."""
    return score_range is not None and math.isfinite(score_range[0]) != math.isfinite(score_range[1])


def unit_deviations(per_item: Array, weights: Array, groups: Array | None) -> Array:
    """What every sample, or every group, adds to the score beyond its weight's share; the sum is 0.

    Parameters
    ----------
    per_item, weights : ndarray of shape (n_items,)
        The scores of the samples, NaN without a weight, and their weights, which sum to 1.
    groups : int64 ndarray of shape (n_items,), or None
        The group codes, if groups are the units.
    """
    scores = np.where(weights > 0, per_item, 0.0)
    found: Array = weights * (scores - math.fsum(weights * scores))
    return found if groups is None else np.bincount(groups, found)


def unequal_errors(score: float, deviations: Array) -> tuple[str, ...]:
    """A warning if single samples' errors are so unequal that no interval may be wide enough."""
    if score == 0:
        return ()
    spread = math.sqrt(len(deviations) * math.fsum((deviations / score) ** 2))
    if spread <= MOST_UNEQUAL:
        return ()
    return (
        "take more samples, or a target with fewer extreme values, such as its logarithm: the standard "
        f"deviation of the samples' errors is {math.ceil(100 * spread) / 100:g} times their mean, "
        f"more than {MOST_UNEQUAL:g}; the interval is too low if the samples lack outliers of the "
        "population",
    )


def hall_interval(
    score: float, halves: HalfScores, level: float, score_range: tuple[float, float]
) -> tuple[float, float]:
    """Hall's interval, within the range.

    P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54,
    1992.
    """
    from scipy.special import stdtrit

    skewness, excess = _shape(halves.deviations)
    freedom = 1 / (max(excess / 2, 1 / (halves.n_units - 1)) + 1 / len(halves.scores))
    z = float(stdtrit(freedom, (1 + level) / 2))
    error = math.sqrt(halves.variance)
    if halves.scale == "root":
        error, score = 2 * abs(score) * error, math.copysign(score * score, score)

    def back(t: float) -> float:
        """The t statistic that Hall's cubic takes to t."""
        root = float(np.cbrt(1 + skewness * (t - skewness / 6)))
        return 3 * (t - skewness / 6) / (root * root + root + 1)

    low, high = score - back(z) * error, score - back(-z) * error
    # At a low level, or where the error exceeds the score, the ends could pass the score or the bound.
    low, high = max(score_range[0], min(low, score)), min(score_range[1], max(high, score))
    if halves.scale == "root":
        return math.copysign(math.sqrt(abs(low)), low), math.copysign(math.sqrt(abs(high)), high)
    return low, high


def _shape(deviations: Array) -> tuple[float, float]:
    """The skewness of the sum of the deviations, and (kurtosis - 1) / n; zeros if all are equal."""
    largest = np.abs(deviations).max(initial=0.0)
    if largest == 0:
        return 0.0, 0.0
    scaled = deviations / largest  # fourth powers would overflow
    total = math.fsum(scaled**2)
    excess = math.fsum(scaled**4) / total**2 - 1 / len(scaled)
    return math.fsum(scaled**3) / total**1.5, excess


def jackknife_error(without: Array, score: Any = 0.0, sizes: Array | None = None) -> Any:
    """The standard error of a score from its values without each unit, or without each group of units.

    Parameters
    ----------
    without : ndarray of shape (n_groups,) or (n_groups, n_scores)
        The score without each group.
    score : float or ndarray of shape (n_scores,), default 0.0
        The score of all units. It matters only if the groups differ in size.
    sizes : ndarray of shape (n_groups,), optional
        Number of units in each group. Default: one.

    Returns
    -------
    float, or ndarray of shape (n_scores,)

    References
    ----------
    Efron & Stein, The jackknife estimate of variance, Annals of Statistics 9, 1981. For groups of different
    sizes: Busing, Meijer & van der Leeden, Delete-m jackknife for unequal m, Statistics and Computing 9,
    1999.
    """
    n = len(without)
    if sizes is None or len(np.unique(sizes)) == 1:
        squares: Any = (n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    else:
        ratio = (sizes.sum() / sizes).reshape((-1,) + (1,) * (without.ndim - 1))
        pseudo = score + (ratio - 1) * (score - without)
        squares = ((pseudo - (pseudo / ratio).sum(axis=0)) ** 2 / (ratio - 1)).sum(axis=0) / n
    return np.sqrt(squares) if np.ndim(squares) else float(np.sqrt(squares))


class Jackknifed(Numeric):
    """A result with its values without each unit, or each group of them, in the field ``…_without``."""

    _unit: ClassVar[str]
    """What is left out: the argument `jackknife`."""
    _target: ClassVar[str]

    def _without(self) -> Array | None:
        found: Array | None = getattr(self, f"{self._value}_without")
        return found

    def standard_error(self) -> Any:
        """The jackknife standard error over classes, or over identities; NaN without `jackknife`."""
        value, without = getattr(self, self._value), self._without()
        sizes = getattr(getattr(self, "groups", None), "sizes", None)
        return value * math.nan if without is None else jackknife_error(without, value, sizes)

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Student's interval for other classes of the same kind, with n_classes - 1 degrees of freedom.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).

        Raises
        ------
        ValueError, TypeError
            If there is no `jackknife`, or the level is not in (0, 1).
        """
        return self._interval(confidence_level, 0, self._target)

    def _interval(self, confidence_level: Any, at: int, target: str) -> ConfidenceInterval:
        """Student's interval of one number of the value."""
        without = self._without()
        if without is None:
            msg = (
                f"pass jackknife={self._unit!r} for a confidence interval: there is no standard error "
                "without it"
            )
            raise ValueError(msg)
        both = getattr(self, self._value), self.standard_error()
        value, error = (float(np.ravel(each)[at]) for each in both)
        return student_interval(value, error, len(without) - 1, confidence_level, target)


class Terms(NamedTuple):
    """What two results must share to be comparable, and how to read them.

    Attributes
    ----------
    labels : ndarray of shape (n_items,) or (n_items, n_outputs)
    weights : ndarray of shape (n_items,)
    design : str
        The name of its kind.
    is_loss : bool or None
        Whether smaller is better; None if neither is.
    rule : str
        The rule in words.
    scale : tuple
        What else decides the meaning of a score: a loss matrix, an output.
    error_bound : float
        Bound of the error of the score.
    groups : int64 ndarray of shape (n_items,), or None
        The group codes of the design, whose groups are the units.
    target : str
        What the score estimates, in words.
    limits : (float, float), or None
        The smallest and the largest score of one classification.
    usual_halvings : int
        How many halvings there are if nobody says so.
    train_sizes : (int, int), or None
        The smallest and the largest size of a training set, if it is known.
    """

    labels: Array
    weights: Array
    design: str
    is_loss: bool | None
    rule: str
    scale: tuple[Any, ...] = ()
    error_bound: float = 0.0
    groups: Array | None = None
    target: str = ""
    limits: tuple[float, float] | None = None
    usual_halvings: int = USUAL
    train_sizes: tuple[int, int] | None = None
