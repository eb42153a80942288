"""How much of a score is at stake where equally similar items have different labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ._groups import LeaveGroupsOut
from .kernel import Array, Labels, jit

if TYPE_CHECKING:
    from .driver import Asked
    from .neighbors import Lists
    from .result import CompleteCV

LOW, HIGH = -1, 1


@dataclass(frozen=True, eq=False)
class TieReport:
    """What ties in the similarity leave open; from `CompleteCV.tie_report`.

    Attributes
    ----------
    n_items, n_tied : int
        Items in all, and those within whose neighbour lists equally similar items differ in their labels.
    score : float
        The score, by the tie rule that was asked for.
    lowest, highest : float
        The lowest and the highest score found, for every item by itself: with those items first, within
        each group of equally similar ones, that score lowest or highest if they decide alone.
    exact_range : bool
        Whether no order gives less or more. True for one nearest neighbour, votes of two classes, "rank"
        and the confidence's share; for votes of several classes, other orders may go farther.
    per_item, per_item_lowest, per_item_highest : ndarray of shape (n_items,)
        The same for every item.
    error_bound : float
        How much each of the three scores may be off, as in `CompleteCV`: neighbour lists that end too early
        leave more open than any order. Infinite for approximate neighbours.
    measure : str
        What the scores are.
    """

    n_items: int
    n_tied: int
    score: float
    lowest: float
    highest: float
    exact_range: bool
    per_item: Array = field(repr=False)
    per_item_lowest: Array = field(repr=False)
    per_item_highest: Array = field(repr=False)
    error_bound: float = 0.0
    measure: str = "score"


def tie_report(result: CompleteCV, asked: Asked) -> TieReport:
    """The report of `CompleteCV.tie_report`.

    Raises
    ------
    ValueError
        For `LeaveGroupsOut`, whose ties are between groups.
    """
    question = asked.question
    if isinstance(question.design, LeaveGroupsOut):
        msg = "tie_report() is not offered for LeaveGroupsOut, where whole groups tie"
        raise ValueError(msg)
    floating = replace(asked, exact=False)
    low, high = (replace(floating, tie_order=which).answer(keep=True) for which in (LOW, HIGH))
    # Where right items first are not sure to be best, what was asked for may lie outside.
    seen = np.array([low.per_item, result.per_item, high.per_item])
    lowest, highest = seen.min(axis=0), seen.max(axis=0)
    tested = result.weights > 0
    weights = result.weights[tested]
    n_classes = len(question.labels.classes)
    return TieReport(
        n_items=len(result.per_item),
        n_tied=result.tied,
        score=result.score,
        lowest=math.fsum(weights * lowest[tested]),
        highest=math.fsum(weights * highest[tested]),
        exact_range=question.variant.range_is_exact(n_classes, **question.parameters),
        per_item=result.per_item,
        per_item_lowest=lowest,
        per_item_highest=highest,
        error_bound=max(result.error_bound, low.error_bound, high.error_bound),
        measure=result.measure,
    )


def reordered(
    lists: Lists, lengths: Array, rows: Array, labels: Labels, losses: Array, which: int
) -> Lists:
    """The lists with what scores lowest (LOW) or highest first within each tied group.

    ``losses[own, c]`` is what an item of class c scores if it decides alone.
    """
    items = lists.items.copy()
    _order_ties(items, lists.values, lengths, rows, labels.classes, labels.values, losses, which)
    return replace(lists, items=items)


@jit
def _order_ties(items, distances, lengths, rows, classes, values, losses, which):  # type: ignore[no-untyped-def]
    """Sort every tied group, stably, by what its items would score alone; O(b^2) for b tied items."""
    keys = np.empty(items.shape[1])
    for r in range(len(rows)):
        own = classes[rows[r]]
        for i in range(lengths[r]):
            item = items[r, i]
            key = losses[own, classes[item]]
            for output in range(values.shape[1]):
                gap = values[item, output] - values[rows[r], output]
                key += gap * gap
            key *= which
            at = i
            while at > 0 and distances[r, at - 1] == distances[r, i] and keys[at - 1] < key:
                keys[at] = keys[at - 1]
                items[r, at] = items[r, at - 1]
                at -= 1
            keys[at] = key
            items[r, at] = item
