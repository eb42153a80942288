"""Intervals of scores with one bound only, such as squared errors, whose distribution is skewed.

A sample that lacks the rare large errors has a low score and a small standard error at once, so Wald's
interval lies below the truth too often. Hall's transformation corrects the t statistic for the skewness of
the samples' errors, and the t distribution has the degrees of freedom that their kurtosis leaves.
"""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array
from ._halves import HalfScores

MOST_UNEQUAL = 1.7
"""Standard deviation of the samples' errors over their mean above which a warning is given."""


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

    def back(t: float) -> float:
        """The t statistic that Hall's cubic takes to t."""
        root = float(np.cbrt(1 + skewness * (t - skewness / 6)))
        return 3 * (t - skewness / 6) / (root * root + root + 1)

    low, high = score - back(z) * error, score - back(-z) * error
    # At a low level, or where the error exceeds the score, the ends could pass the score or the bound.
    return max(score_range[0], min(low, score)), min(score_range[1], max(high, score))


def _shape(deviations: Array) -> tuple[float, float]:
    """The skewness of the sum of the deviations, and (kurtosis - 1) / n; zeros if all are equal."""
    largest = np.abs(deviations).max(initial=0.0)
    if largest == 0:
        return 0.0, 0.0
    scaled = deviations / largest  # fourth powers would overflow
    total = math.fsum(scaled**2)
    excess = math.fsum(scaled**4) / total**2 - 1 / len(scaled)
    return math.fsum(scaled**3) / total**1.5, excess
