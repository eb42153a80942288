"""Confidence intervals of exact scores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

from .._validation import check_real
from ._halves import HalfScores
from ._skewed import hall_interval, has_one_bound

FEW = 10
"""Expected errors, or correct answers, below which the effective number of answers is bounded."""


class _Bounds(NamedTuple):
    low: float
    high: float


class ConfidenceInterval(_Bounds):
    """A confidence interval, the pair ``(low, high)``.

    Attributes
    ----------
    low, high : float
        Its ends.
    confidence_level : float
        The share of data sets for which such an interval should contain the target.
    method : str
        "wilson" for scores of a known range, "hall" for those with one bound (squared errors), "wald" for
        others.
    n_eff : float
        The number of independent answers that would be as uncertain; NaN unless the method is "wilson".
    half_score, half_train_size : float
        The mean score of the halves, and their training size.
    target : str
        What the interval is for, in words.
    """

    confidence_level: float = math.nan
    method: str = ""
    n_eff: float = math.nan
    half_score: float = math.nan
    half_train_size: float = math.nan
    target: str = ""

    def __new__(cls, low: float, high: float, **fields: Any) -> Self:
        """Make the pair and set its attributes."""
        pair = super().__new__(cls, low, high)
        pair.__dict__.update(fields)
        return pair

    def __getnewargs_ex__(self) -> tuple[tuple[float, float], dict[str, Any]]:
        """Return the arguments of `__new__`, for copies."""
        return (self.low, self.high), dict(self.__dict__)

    def __repr__(self) -> str:
        return (
            f"ConfidenceInterval(low={self.low:.6g}, high={self.high:.6g}, "
            f"confidence_level={self.confidence_level:g}, method={self.method!r})"
        )

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
        The exact score of all samples.
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
    if score_range is None or score_range == (-math.inf, math.inf):
        method, margin = "wald", z * math.sqrt(halves.variance)
        low, high = score - margin, score + margin
    elif has_one_bound(score_range):
        method = "hall"
        low, high = hall_interval(score, halves, level, score_range)
    else:
        method = "wilson"
        low, high, n_eff = _wilson(score, halves, z, *score_range)
    return ConfidenceInterval(
        low,
        high,
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
    """
    width, n_answers = most - least, halves.n_answers or float(halves.n_units)
    if width == 0:
        return score, score, n_answers
    share = min(max((score - least) / width, 0.0), 1.0)
    variance = halves.variance / width**2
    fewest = min(n_answers, halves.n_units)
    if variance == 0:
        n_eff = fewest
    elif n_answers * min(share, 1 - share) < FEW:
        n_eff = min(max(share * (1 - share) / variance, fewest / 5), 2 * n_answers)
    else:
        n_eff = share * (1 - share) / variance
    center = share + z * z / (2 * n_eff)
    margin = z * math.sqrt(share * (1 - share) / n_eff + (z / (2 * n_eff)) ** 2)
    scale = 1 + z * z / n_eff
    low = least + width * max((center - margin) / scale, 0.0)
    high = least + width * min((center + margin) / scale, 1.0)
    # At the ends of the range rounding could exclude the score itself.
    return max(least, min(low, score)), min(most, max(high, score)), n_eff
