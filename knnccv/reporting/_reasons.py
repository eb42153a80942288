"""Why an item is worth a look: sets of items, the worst first."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..neighbors import Neighbors

NEVER_RIGHT = "never_right"
SUSPICIOUS = "suspicious"
DUPLICATES = "conflicting_duplicates"
RESIDUALS = "worst_residuals"
IN_WORDS = {
    NEVER_RIGHT: "never right",
    SUSPICIOUS: "suspicious label",
    DUPLICATES: "duplicate with another label",
    RESIDUALS: "large expected error",
}
DUPLICATES_OF_TARGETS = "duplicate with another target"
MOST_RESIDUALS = 50
MOST_INDICES = 100_000
SMALLEST_BOUND = 1e-12
"""A_x up to this, the tolerance of `knnccv.complete_cv`, cannot be told from 0."""
BY_CHANCE = 5
"""Samples of the item's class that its near neighbors would hold by chance; fewer than half are few."""


class Marked(NamedTuple):
    """Items by reason, and how bad each item is.

    Attributes
    ----------
    by_reason : dict of str to int64 ndarray
        The items of each reason, the worst first.
    badness : tuple of float64 ndarrays of shape (n_items,)
        Keys by which items are sorted, the first decides; large is bad.
    thresholds : dict of str to float
        The scores below which an item belongs to a reason.
    """

    by_reason: dict[str, Array]
    badness: tuple[Array, ...]
    thresholds: dict[str, float]

    def ordered(self, items: Array) -> Array:
        """The items, the worst first, equal ones by their number."""
        keys = [items, *(-each[items] for each in reversed(self.badness))]
        return items[np.lexsort(keys)]


def never_right_bound(error_bound: float) -> float:
    """The largest A_x that counts as 0: the error bound of the score."""
    return max(error_bound, SMALLEST_BOUND) if np.isfinite(error_bound) else SMALLEST_BOUND


def mark_labels(
    scores: Array,
    influence: Array | None,
    n_classes: int,
    error_bounds: tuple[float, float],
    same: Array,
    is_out_of_place: Callable[[Array], Array],
) -> Marked:
    """Mark items of a classification.

    Never right: A_x is at most the error bound of the score. Suspicious: A_x is below 1 / n_classes, so
    that some other class is predicted more often than the item's own; the score would be better without
    the item, by more than the error bound of the influence; and the item is out of place.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        A_x; NaN for an item that is never tested, which is never marked by its score.
    influence : ndarray of shape (n_items,), or None
        The score minus the score without the item. None: items are suspicious without it.
    n_classes : int
        Number of classes.
    error_bounds : (float, float)
        Of the score and of the influence.
    same : int64 ndarray
        Items with an equal row of another label.
    is_out_of_place : callable
        Which of some items, the worst first, have few neighbors of their class, as `has_few_alike` says.
    """
    known = np.where(np.isnan(scores), np.inf, scores)
    bound, chance = never_right_bound(error_bounds[0]), 1 / n_classes
    low = known < chance
    harm = np.zeros(len(scores))
    if influence is not None:
        harm = -influence
        low &= influence < -error_bounds[1]
    found = Marked({}, (-known, harm), {NEVER_RIGHT: bound, SUSPICIOUS: chance})
    suspects = found.ordered(np.flatnonzero(low))
    suspects = suspects[is_out_of_place(suspects)]
    marks = {NEVER_RIGHT: np.flatnonzero(known <= bound), SUSPICIOUS: suspects, DUPLICATES: same}
    return found._replace(by_reason={reason: found.ordered(items) for reason, items in marks.items()})


def n_nearby(codes: Array) -> Array:
    """For each item, how many neighbors hold five of its class by chance; 0 in classes of up to six."""
    n_same = np.bincount(codes)[codes] - 1
    found: Array = np.where(n_same > BY_CHANCE, BY_CHANCE * (len(codes) - 1) // np.maximum(n_same, 1), 0)
    return found


def has_few_alike(near: Neighbors, codes: Array, items: Array) -> Array:
    """Whether an item has less than half as many near neighbors of its class as by chance.

    The near neighbors are as many as hold five samples of the class by chance: a rule hardly ever predicts
    a rare class, so that only its share near the item can tell a wrong label from a rare one. Tied samples
    at their end count by their share. A class with at most five other samples is too small to judge.

    Parameters
    ----------
    near : Neighbors
    codes : int64 ndarray of shape (n_items,)
        The classes.
    items : int64 ndarray
        The items that are judged.
    """
    n_others = near.n_items - 1
    n_same = np.bincount(codes)[codes] - 1
    found = np.zeros(near.n_items, bool)
    n_near = n_nearby(codes)
    judged = items[n_near[items] > 0]
    for size in np.unique(n_near[judged]).tolist():
        waiting, depth = judged[n_near[judged] == size], size
        while len(waiting):
            depth = min(2 * depth, near.max_depth)
            at_once = near.rows_at_once(depth)
            left = []
            for start in range(0, len(waiting), at_once):
                rows = waiting[start : start + at_once]
                lists = near.search(rows, depth)
                tied = lists.values == lists.values[:, size - 1, None]
                nearer = np.arange(depth) < np.argmax(tied, axis=1)[:, None]
                of_class = codes[lists.items] == codes[rows, None]
                n_tied, n_taken = tied.sum(axis=1), size - nearer.sum(axis=1)
                held = n_tied * (nearer & of_class).sum(axis=1) + n_taken * (tied & of_class).sum(axis=1)
                found[rows] = 2 * held * n_others < size * n_same[rows] * n_tied
                left.append(rows[tied[:, -1]])
            waiting = np.concatenate(left) if depth < near.max_depth else judged[:0]
    return found[items]


def mark_targets(errors: Array, same: Array) -> Marked:
    """Mark items of a regression: the largest expected errors above 0, and equal rows of other targets."""
    known = np.where(np.isnan(errors), 0.0, errors)
    found = Marked({}, (known,), {})
    worst = found.ordered(np.flatnonzero(known > 0))[:MOST_RESIDUALS]
    return found._replace(by_reason={DUPLICATES: found.ordered(same), RESIDUALS: worst})


def choose(marked: Marked, most: int) -> Array:
    """At most `most` marked items, the worst first; every reason has its worst items among them."""
    everything = np.unique(np.concatenate(list(marked.by_reason.values())))
    if len(everything) <= most:
        return marked.ordered(everything)
    share = most // len(marked.by_reason)
    kept = np.unique(np.concatenate([items[:share] for items in marked.by_reason.values()]))
    others = marked.ordered(np.setdiff1d(everything, kept))
    return marked.ordered(np.concatenate([kept, others[: most - len(kept)]]))
