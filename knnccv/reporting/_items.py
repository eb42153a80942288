"""The section on items: those that are worth a look, why, and their nearest neighbors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from ..influence import Influence
from ..neighbors import Neighbors
from ._cost import INFLUENCE_LIMIT, JUDGING_LIMIT, influence_units
from ._study import Study
from ._text import at_most, finite

MOST_LISTED = 500
N_NEAREST = 3


def items_section(study: Study) -> dict[str, Any]:
    """Return the items that are worth a look, the worst first.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict
        counts, the number of items of each reason, None where a reason does not apply; items, at most 500
        of them: their number in the given table, label, score (A_x), influence (the score minus the score
        without the item), reasons, cells and 3 nearest neighbors, for a regression also target, prediction
        and bias; shown and of, how many are listed of how many; indices, the items of each reason in
        ascending order, of more than 100,000 the worst; indices_cut, the reasons with more; thresholds, the
        scores that decide; note, what was left out and why, or None; conclusion.
    """
    groups = row_groups(study.X)
    influence: Influence | None = None
    note = None
    if study.task == "classification":
        classes = encode_labels(study.y, len(study.y))
        influence, note = _influence(study, len(classes.classes))
        marked = mark_labels(
            study.best.per_item,
            None if influence is None else influence.total,
            len(classes.classes),
            (study.best.error_bound, 0.0 if influence is None else influence.error_bound),
            conflicting(groups, classes.codes),
            partial(_out_of_place, study, classes.codes),
        )
    else:
        marked = mark_targets(study.best.per_item, conflicting(groups, study.y))
    listed = choose(marked, MOST_LISTED)
    given = np.asarray(study.indices)
    counts = {reason: len(found) for reason, found in marked.by_reason.items()}
    total = len(np.unique(np.concatenate(list(marked.by_reason.values()))))
    return {
        "counts": {reason: counts.get(reason) for reason in IN_WORDS},
        "items": _rows(study, listed, marked, None if influence is None else influence.total),
        "shown": len(listed),
        "of": total,
        "indices": {
            reason: sorted(given[found[:MOST_INDICES]].tolist())
            for reason, found in marked.by_reason.items()
        },
        "indices_cut": [reason for reason, count in counts.items() if count > MOST_INDICES],
        "thresholds": marked.thresholds,
        "note": note,
        "conclusion": _conclusion(
            study.task, len(study.y), counts, total, marked.thresholds, influence is not None
        ),
    }


def _influence(study: Study, n_classes: int) -> tuple[Influence | None, str | None]:
    """The influence of all items, or the reason why there is none."""
    alone = "labels are suspicious by their expected score and their neighbors alone"
    units = influence_units(len(study.y), n_classes, study.n_neighbors, study.ties)
    if units > INFLUENCE_LIMIT:
        return None, (
            f"The influence of {len(study.y):,} samples with K = {study.n_neighbors} and {n_classes} "
            f"classes would take about {units:,.0f} seconds and was left out; {alone}."
        )
    try:
        return study.best.influence(n_jobs=study.n_jobs), None
    except ValueError as error:
        return None, f"There is no influence ({error}); {alone}."


def _out_of_place(study: Study, codes: Array, suspects: Array) -> Array:
    """Which of the suspects, the worst first, have few neighbors of their class; bool."""
    judged = suspects[np.cumsum(n_nearby(codes)[suspects]) <= JUDGING_LIMIT]
    if len(judged) < len(suspects):
        study.notes.append(
            f"Of {len(suspects):,} labels with a low score only the {len(judged):,} lowest were compared "
            "with their neighbors, since more would take too long; no other is listed as suspicious."
        )
    found = np.zeros(len(suspects), bool)
    found[: len(judged)] = has_few_alike(study.near, codes, judged)
    return found


def _rows(study: Study, listed: Array, marked: Marked, influence: Array | None) -> list[dict[str, Any]]:
    """The listed items."""
    regression = study.task == "regression"
    words = IN_WORDS | ({DUPLICATES: DUPLICATES_OF_TARGETS} if regression else {})
    marks = {words[reason]: set(found.tolist()) for reason, found in marked.by_reason.items()}
    best, labels = study.best, study.best.labels

    def described(item: int) -> dict[str, Any]:
        return {"index": int(study.indices[item]), "label": str(labels[item]), "row": study.rows(item)}

    rows = []
    for item, near, distances in zip(listed.tolist(), *_nearest(study, listed), strict=True):
        row = described(item) | {
            "score": finite(best.per_item[item]),
            "influence": None if influence is None else finite(influence[item]),
            "reasons": [reason for reason, found in marks.items() if item in found],
            "neighbors": [
                described(other) | {"distance": finite(distance)}
                for other, distance in zip(near.tolist(), distances.tolist(), strict=True)
            ],
        }
        if regression:
            target, prediction = float(labels[item]), best.prediction[item]
            row |= {"target": target, "prediction": finite(prediction), "bias": finite(prediction - target)}
        rows.append(row)
    return rows


def _nearest(study: Study, listed: Array) -> tuple[Array, Array]:
    """The nearest items of the listed ones and their distances, as `Neighbors.kneighbors` gives them."""
    near = study.near
    depth = min(N_NEAREST, near.max_depth)
    if not len(listed):
        return np.empty((0, depth), np.int64), np.empty((0, depth))
    order = np.argsort(listed, kind="stable")
    items, distances = np.empty((len(listed), depth), np.int64), np.empty((len(listed), depth))
    size = near.rows_at_once(depth)
    for start in range(0, len(listed), size):
        part = order[start : start + size]
        lists = near.search(listed[part].astype(np.int64), depth)
        items[part], distances[part] = lists.items[:, :depth], near.distances_of(lists)[:, :depth]
    return items, distances


def _conclusion(
    task: str,
    n_items: int,
    counts: dict[str, int],
    total: int,
    thresholds: dict[str, float],
    with_influence: bool,
) -> str:
    if not total:
        what = "label" if task == "classification" else "target"
        return f"No sample stands out: none is badly predicted, and no duplicates differ in their {what}."
    parts = []
    if task == "regression":
        worst = counts[RESIDUALS]
        parts.append(
            "the largest expected error is listed"
            if worst == 1
            else f"the {worst} largest expected errors are listed"
        )
    if counts.get(NEVER_RIGHT):
        bound = thresholds[NEVER_RIGHT]
        parts.append(
            f"{_are(counts[NEVER_RIGHT])} classified correctly by no training set "
            f"(or a share of at most {at_most(bound)})"
        )
    if counts.get(SUSPICIOUS):
        number = counts[SUSPICIOUS]
        why = f", and {'lowers' if number == 1 else 'lower'} the score" if with_influence else ""
        n_classes = round(1 / thresholds[SUSPICIOUS])
        parts.append(
            f"{_are(number)} classified correctly less often than by guessing one of the {n_classes} "
            f"classes, with less than half as many samples of {'its' if number == 1 else 'their'} class "
            f"nearby as by chance{why}"
        )
    if counts[DUPLICATES]:
        what = "label" if task == "classification" else "target"
        number = counts[DUPLICATES]
        parts.append(f"{number:,} have an equal row with a different {what}")
    text = "; ".join(parts)
    return f"Of {n_items:,} samples, {text}."


def _are(number: int) -> str:
    return f"{number:,} {'is' if number == 1 else 'are'}"


def row_groups(X: Array) -> Array:
    """Number the distinct rows of a table.

    Rows are equal if all their entries are: missing values (NaN) equal each other, and -0.0 equals 0.0.

    Parameters
    ----------
    X : float64 ndarray of shape (n_items, n_features)
        The columns.

    Returns
    -------
    int64 ndarray of shape (n_items,)
        The same number for equal rows, from 0.
    """
    table = np.ascontiguousarray(np.where(np.isnan(X), np.nan, X) + 0.0)
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    return np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)


def conflicting(groups: Array, codes: Array) -> Array:
    """Return the items whose group holds different codes, int64, ascending.

    Parameters
    ----------
    groups : int64 ndarray of shape (n_items,)
        `row_groups`.
    codes : ndarray of shape (n_items,)
        Codes of the labels, or targets.
    """
    n_groups = int(groups.max()) + 1
    low = np.full(n_groups, np.inf)
    high = np.full(n_groups, -np.inf)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    return np.flatnonzero((low < high)[groups])


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
