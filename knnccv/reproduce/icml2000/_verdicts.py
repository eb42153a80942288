"""Allowed differences between printed and computed numbers of Mullin & Sukthankar (ICML 2000)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ._paper import CCV, HOLDOUT, STRATIFIED, Block, Printed
from ._protocol import Row

SIGMAS = 3
"""Combined standard errors of paper and knnccv by which means may differ."""

CONFIDENCE = 0.99
"""Confidence of the interval for the ratio of two variances."""

CLAIM_SIGMAS = 4
"""Standard errors by which scores on the same sets may differ under equal bias."""


def mean_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """The bounds of 1000 times the computed mean; they allow for rounding of the last printed digit."""
    squared = printed.variance / 1000 / n_draws + row.standard_error**2
    off = 1000 * SIGMAS * math.sqrt(squared) + 0.05
    return printed.mean - off, printed.mean + off


def variance_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """The bounds of 1000 times the computed variance; its ratio to the printed one is F distributed."""
    from scipy.stats import f

    ratio = f(len(row.scores) - 1, n_draws - 1)
    low, high = ratio.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float((printed.variance - 0.005) * low), float((printed.variance + 0.005) * high)


def gap(trials: Row, whole: Row) -> tuple[float, float]:
    """The mean difference of trials and CCV on the same sets, and its standard error.

    Given the set, the trials are independent, and CCV is constant.
    """
    return trials.mean - whole.mean, math.sqrt(trials.within / trials.scores.size)


def largest_gap(blocks: Sequence[Block]) -> tuple[float, str]:
    """The largest difference of a printed mean and CCV's, in standard errors, and its place.

    The standard errors are those of all trials on CCV's sets. Rounding is assumed to be as favorable as
    possible. Rows without variance after rounding are left out.
    """
    gaps = []
    for block in blocks:
        for name, trials in block.printed.items():
            if name.startswith((HOLDOUT, CCV)):
                continue
            whole = block.printed[CCV + STRATIFIED if name.endswith(STRATIFIED) else CCV]
            if trials.variance <= whole.variance:
                continue
            within = (trials.variance - whole.variance + 0.01) / 1000
            error = 1000 * math.sqrt(within / (block.n_draws * block.n_trials))
            gaps.append(((abs(trials.mean - whole.mean) - 0.1) / error, f"{block.title}, {name}"))
    return max(gaps)
