"""Computation of a `TieReport`: the lowest and the highest score over the orders of tied samples."""

from __future__ import annotations

import math

import numpy as np

from ..designs import LeaveGroupsOut
from ._result import CompleteCV, Evaluation
from ._tie_report import TieReport

LOW, HIGH = -1, 1


def tie_report(result: CompleteCV, evaluation: Evaluation) -> TieReport:
    """Return the report of `CompleteCV.tie_report`.

    Raises
    ------
    ValueError
        For `LeaveGroupsOut`, whose ties are between groups.
    """
    problem = evaluation.problem
    if isinstance(problem.design, LeaveGroupsOut):
        msg = "tie_report() is not offered for LeaveGroupsOut, where whole groups tie"
        raise ValueError(msg)
    low, high = (evaluation.with_tie_order(order) for order in (LOW, HIGH))
    # Where the range is not exact, the score itself may lie outside the two orders.
    scores = np.array([low.per_item, result.per_item, high.per_item])
    lowest, highest = scores.min(axis=0), scores.max(axis=0)
    tested = result.weights > 0
    weights = result.weights[tested]
    n_classes = len(problem.labels.classes)
    return TieReport(
        n_items=len(result.per_item),
        n_tied=result.tied,
        score=result.score,
        lowest=math.fsum(weights * lowest[tested]),
        highest=math.fsum(weights * highest[tested]),
        exact_range=problem.variant.range_is_exact(n_classes, **problem.parameters),
        per_item=result.per_item,
        per_item_lowest=lowest,
        per_item_highest=highest,
        error_bound=max(result.error_bound, low.error_bound, high.error_bound),
        measure=result.measure,
    )
