"""The section on ties: how much of the score the order of the rows decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results import TieReport
from ._wording import counted, rounded

if TYPE_CHECKING:
    from ._study import Study

MOST_DIGITS = 9
ROUNDING = 1e-9
"""Differences of scores up to this share of the largest one count as rounding."""


def ties_section(study: Study) -> dict[str, Any]:
    """Return the range of scores that the orders of tied samples allow.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict
        n_items, n_tied, score, low and high as in `knnccv.CompleteCV.tie_report`; n_dependent, the number
        of items whose expected score depends on the order of tied samples; width, high - low; exact_range;
        error_bound; measure; conclusion.
    """
    found = study.best.tie_report()
    tested = study.best.weights > 0
    widths = (found.per_item_highest - found.per_item_lowest)[tested]
    largest = max(float(np.abs(found.per_item_highest[tested]).max()), ROUNDING)
    n_dependent = int((widths > ROUNDING * largest).sum())
    width = found.highest - found.lowest
    return {
        "n_items": found.n_items,
        "n_tied": found.n_tied,
        "n_dependent": n_dependent,
        "score": found.score,
        "low": found.lowest,
        "high": found.highest,
        "width": width,
        "exact_range": bool(found.exact_range),
        "error_bound": found.error_bound if np.isfinite(found.error_bound) else None,
        "measure": found.measure,
        "conclusion": _conclusion(study.task, found, n_dependent),
    }


def _conclusion(task: str, found: TieReport, n_dependent: int) -> str:
    if not n_dependent:
        why = (
            "no sample has tied neighbors with different labels that could change its score"
            if task == "classification"
            else "no sample has tied neighbors with different targets that could change its score"
        )
        return f"The order of the rows decides nothing: {why}."
    low, high, score = _said((found.lowest, found.highest, found.score), task)
    verb = "has" if n_dependent == 1 else "have"
    ends = "" if found.exact_range else " or slightly beyond"
    return (
        f"{counted(n_dependent, 'sample')} of {found.n_items:,} {verb} equally near neighbors that "
        f"disagree: a program that breaks ties by the order of the rows would find a score between {low} "
        f"and {high}{ends}; the mean over all orders is {score}."
    )


def _said(values: tuple[float, ...], task: str) -> list[str]:
    """The numbers, with as many digits as tell them apart."""
    for digits in range(MOST_DIGITS):
        said = [
            f"{value:.{digits + 2}%}" if task == "classification" else rounded(value, digits + 5)
            for value in values
        ]
        if len(set(said)) == len(set(values)):
            break
    return said
