"""The result of `CompleteCV.tie_report`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...._base.formatting import Result
from ...._base.typing import Array
from ...driver import Evaluation, Scored
from ._scored import again

LOW, HIGH = -1, 1


@dataclass(frozen=True, eq=False, repr=False)
class TieReport(Result):
    """The range of scores that the order of tied samples allows; from `CompleteCV.tie_report`.

    Attributes
    ----------
    n_items, n_tied : int
        Number of samples, and of those with tied neighbors of different labels.
    score : float
        The score under the tie rule of the result.
    lowest, highest : float
        Means of the lowest and the highest score found for every sample. Each tied group is ordered by the
        score that each of its samples would give if it alone decided, lowest or highest first.
    is_exact : bool
        Whether no order gives a lower or a higher score. True for one nearest neighbor, votes of two
        classes, "rank" and the confidence's share; for votes of several classes other orders may exceed the
        range.
    per_item, per_item_lowest, per_item_highest : ndarray of shape (n_items,)
        The three scores of every sample.
    error_bound : float
        Certified bound of the error of each of the three scores, as in `CompleteCV`. Infinite for
        approximate neighbors.
    measure : str
        The name of the score.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> report = complete_cv(wine.X.round(), wine.y, "nn").tie_report()
    >>> report.lowest <= report.score <= report.highest
    True
    """

    _json = "measure n_items n_tied score lowest highest is_exact error_bound"

    n_items: int
    n_tied: int
    score: float
    lowest: float
    highest: float
    is_exact: bool
    per_item: Array
    per_item_lowest: Array
    per_item_highest: Array
    error_bound: float = 0.0
    measure: str = "score"


def tie_report(result: Scored, given: Evaluation) -> TieReport:
    """Return the report of `CompleteCV.tie_report`, in floating point.

    Raises
    ------
    ValueError
        For `LeaveGroupsOut`, whose ties are between groups.
    """
    problem = given.problem
    if problem.leaves_groups:
        msg = "tie_report() is not offered for LeaveGroupsOut, where whole groups tie"
        raise ValueError(msg)
    low, high = (again(replace(given, exact=False, tie_order=order)) for order in (LOW, HIGH))
    # Where the range is not exact, the score itself may lie outside the two orders.
    scores = np.array([low.per_item, result.per_item, high.per_item])
    lowest, highest = scores.min(axis=0), scores.max(axis=0)
    tested = result.weights > 0
    weights = result.weights[tested]
    n_classes = len(problem.labels.classes)
    n_nearest = problem.variant.n_nearest(**problem.parameters)
    return TieReport(
        n_items=len(result.per_item),
        n_tied=result.n_tied,
        score=result.score,
        lowest=math.fsum(weights * lowest[tested]),
        highest=math.fsum(weights * highest[tested]),
        is_exact=n_nearest == 1 or n_classes <= problem.score.monotone,
        per_item=result.per_item,
        per_item_lowest=lowest,
        per_item_highest=highest,
        error_bound=max(result.error_bound, low.error_bound, high.error_bound),
        measure=problem.measure,
    )
