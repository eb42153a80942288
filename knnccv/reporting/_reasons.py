"""Why an item is worth a look: sets of items, the worst first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array

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
    scores: Array, influence: Array | None, n_classes: int, error_bounds: tuple[float, float], same: Array
) -> Marked:
    """Mark items of a classification.

    Never right: A_x is at most the error bound of the score. Suspicious: A_x is below 1 / n_classes, so
    that some other class is predicted more often than the item's own, and the score would be better without
    the item, by more than the error bound of the influence.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        A_x; NaN for an item that is never tested, which is never marked by its score.
    influence : ndarray of shape (n_items,), or None
        The score minus the score without the item. None: items are suspicious by A_x alone.
    n_classes : int
        Number of classes.
    error_bounds : (float, float)
        Of the score and of the influence.
    same : int64 ndarray
        Items with an equal row of another label.
    """
    known = np.where(np.isnan(scores), np.inf, scores)
    bound, chance = never_right_bound(error_bounds[0]), 1 / n_classes
    low = known < chance
    harm = np.zeros(len(scores))
    if influence is not None:
        harm = -influence
        low &= influence < -error_bounds[1]
    marks = {NEVER_RIGHT: np.flatnonzero(known <= bound), SUSPICIOUS: np.flatnonzero(low), DUPLICATES: same}
    found = Marked({}, (-known, harm), {NEVER_RIGHT: bound, SUSPICIOUS: chance})
    return found._replace(by_reason={reason: found.ordered(items) for reason, items in marks.items()})


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
