"""The sections on errors: classes, samples to look at, and ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.formatting import plain_fields
from .._base.labels import encode_labels
from .._base.typing import Array
from .._core.driver.influence import Influence
from ..neighbors import Neighbors, copies
from . import _study
from ._study import Study
from ._text import Cut, counted, of_a_part, percentage, quoted, rounded, section

MOST_CLASSES = 200
"""Classes up to which the matrix is given as a whole."""
MOST_PAIRS = 10
"""Most confused pairs of a section."""
MOST_ON_A_PAGE = 30
"""And of a page."""
SMALLEST_SHARE = 1e-9
"""A class that is predicted less often is not listed as confused."""
RARELY = 1e-3
"""A class with a lower score counts as never recognized."""


def classes_section(study: Study) -> dict[str, Any] | None:
    """Return what the rule predicts for each class; None for a regression.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict or None
        labels, as text, in the order of the labels; confusion, with ``confusion[i][j]`` the expected share
        of class i that is predicted as class j, or None, and then no_confusion says why; subsample, the
        part of the samples whose confusion it is, or None; confused, the largest entries off the diagonal;
        per_class, balanced_accuracy and conclusion.
    """
    if study.task != "classification":
        return None
    best, scores = study.best, study.best.per_class()
    counts = np.unique(best.labels, return_counts=True)[1]
    labels = [str(label) for label in scores]
    matrix, cut = _confusion(study, list(scores))
    reason, number = None, len(labels)
    if np.isnan(matrix).all():
        reason = f"a pass for each of {number} classes over samples of most of them would take too long"
    elif number > MOST_CLASSES:
        reason = f"of {number} classes only the largest entries are listed (the limit is {MOST_CLASSES})"
    return section(
        partial(_of_classes, matrix),
        labels=labels,
        confusion=None if reason else matrix,
        no_confusion=reason,
        subsample=cut,
        confused=most_confused(labels, matrix)[:MOST_PAIRS],
        per_class=[
            {"label": label, "n_items": n_items, "score": score}
            for label, n_items, score in zip(labels, counts, scores.values(), strict=True)
        ],
        balanced_accuracy=best.balanced_accuracy,
    )


def _confusion(study: Study, labels: list[Any]) -> tuple[Array, Cut]:
    """The matrix with rows that sum to 1, and the part of the samples that it was computed on.

    The row of a class without samples in that part is NaN, and all rows are if no matrix is affordable.
    """
    n_items = len(study.y)
    units = _study.confusion_units(n_items, len(labels), study.n_neighbors, study.ties)
    rows = _study.affordable_confusion(n_items, len(labels), units)
    if rows == n_items:
        return study.best.confusion(normalize="true"), None
    if not rows:
        return np.full((len(labels), len(labels)), np.nan), None
    part, cut = study.part(rows, f"a pass for each of {len(labels)} classes over")
    k = min(study.n_neighbors, part.train_size)
    found = part.score(study.best_setting._replace(n_neighbors=k))
    matrix = np.zeros((len(labels), len(labels)))
    places = [labels.index(label) for label in found.per_class()]
    matrix[np.ix_(places, places)] = found.confusion(normalize="true")
    matrix[np.setdiff1d(np.arange(len(labels)), places)] = np.nan
    return matrix, cut


def most_confused(labels: list[str], matrix: Any, least: float = SMALLEST_SHARE) -> list[dict[str, Any]]:
    """The entries off the diagonal beyond `least`, the largest first, equal ones in their order."""
    off = np.nan_to_num(np.array(matrix, np.float64))
    np.fill_diagonal(off, 0.0)
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_ON_A_PAGE]
    rows, columns = np.unravel_index(order, off.shape)
    return [
        {"label": labels[i], "predicted": labels[j], "share": float(off[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if off[i, j] > least
    ]


def _of_classes(matrix: Array, found: dict[str, Any]) -> str:
    tested = [each | {"at": at} for at, each in enumerate(found["per_class"]) if each["score"] is not None]
    worst = min(tested, key=lambda each: each["score"])
    missed = [each for each in tested if each["score"] < RARELY]
    if len(missed) > 1:
        worst = max(missed, key=lambda each: each["n_items"])
    name, size = quoted(worst["label"]), counted(worst["n_items"], "sample")
    score, whose = percentage(worst["score"]), f" of class {name}"
    if len({each["score"] for each in tested}) == 1:
        text = f"All classes are recognized equally often, in {score} of the cases"
    elif len(missed) > 1:
        text = (
            f"{len(missed)} of {len(matrix)} classes are recognized in less than {RARELY:.1%} of the cases."
            f" The largest of them is {name} with {size}"
        )
    else:
        how = f"recognized worst, in {score} of the cases" if worst["score"] > 0 else "never recognized"
        text, whose = f"Class {name} ({size}) is {how}", ""
    off = np.nan_to_num(matrix[worst["at"]])
    off[worst["at"]] = 0.0
    if off.max() > SMALLEST_SHARE:
        taken = quoted(found["labels"][int(off.argmax())])
        text += f"; {percentage(float(off.max()))}{whose} are taken for class {taken}"
        text += of_a_part(found["subsample"])
    return text + "."


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
        of them: their number in the given table, line and group if known, label, score (A_x), influence
        (the score minus the score without the item), reasons, cells and 3 nearest neighbors, for a
        regression also target, prediction and bias; shown and of, how many are listed of how many; indices,
        the items of each reason in ascending order, of more than 100,000 the worst; indices_cut, the
        reasons with more; thresholds, the scores that decide; note, what was left out and why, or None;
        conclusion.
    """
    groups = copies(study.table.X)
    best = study.best
    influence, note = None, None
    if study.task == "regression":
        marked = mark_targets(best.per_item, conflicting(groups, study.y))
    else:
        classes = encode_labels(study.y)
        n_classes = len(classes.classes)
        influence, note = _influence(study, n_classes)
        same, misplaced = conflicting(groups, classes.codes), partial(_out_of_place, study, classes.codes)
        marked = mark_labels(best.per_item, best.error_bound, n_classes, influence, same, misplaced)
        if study.groups is not None:
            del marked.by_reason[NEVER_RIGHT], marked.thresholds[NEVER_RIGHT]
            study.note(
                "Samples that are never right are not listed: with groups they are simply all that are "
                "wrong."
            )
    listed = choose(marked, MOST_LISTED)
    reasons, given = marked.by_reason, np.asarray(study.table.indices)
    return section(
        partial(_of_items, study, influence is not None),
        counts={reason: len(reasons[reason]) if reason in reasons else None for reason in IN_WORDS},
        items=_rows(study, listed, marked, influence),
        shown=len(listed),
        of=len(marked.everything),
        indices={reason: np.sort(given[items[:MOST_INDICES]]) for reason, items in reasons.items()},
        indices_cut=[reason for reason, items in reasons.items() if len(items) > MOST_INDICES],
        thresholds=marked.thresholds,
        note=note,
    )


def _influence(study: Study, n_classes: int) -> tuple[Influence | None, str | None]:
    """The influence of all items, or the reason why there is none."""
    alone = "labels are suspicious by their expected score and their neighbors alone"
    units = _study.influence_units(len(study.y), n_classes, study.n_neighbors, study.ties)
    if units > _study.INFLUENCE_LIMIT:
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
    judged = suspects[np.cumsum(n_nearby(codes, study.groups)[suspects]) <= _study.JUDGING_LIMIT]
    if len(judged) < len(suspects):
        study.note(
            f"Of {len(suspects):,} labels with a low score only the {len(judged):,} lowest were compared "
            "with their neighbors, since more would take too long; no other is listed as suspicious."
        )
    found = np.zeros(len(suspects), bool)
    found[: len(judged)] = has_few_alike(study.others, codes, judged, study.groups)
    return found


def _rows(study: Study, listed: Array, marked: Marked, influence: Influence | None) -> list[dict[str, Any]]:
    """The listed items."""
    regression = study.task == "regression"
    marks = {
        in_words(reason, study.task): set(items.tolist()) for reason, items in marked.by_reason.items()
    }
    best, table, near = study.best, study.table, study.near

    def described(item: int) -> dict[str, Any]:
        label = str(best.labels[item])
        index = table.indices[item]
        place = {"index": index} if table.lines is None else {"index": index, "line": table.lines[index]}
        if table.groups is not None:
            place["group"] = str(table.groups[item])
        return place | {"label": label, "row": table.rows(item)}

    lists = study.others.search(listed.astype(np.int64), min(N_NEAREST, study.others.max_depth))
    rows = []
    for item, others, distances in zip(listed.tolist(), lists.items, near.distances_of(lists), strict=True):
        row = described(item) | {
            "score": best.per_item[item],
            "influence": influence and influence.per_item[item],
            "reasons": [reason for reason, items in marks.items() if item in items],
            "neighbors": [
                described(other) | {"distance": distance}
                for other, distance in zip(others, distances, strict=True)
            ],
        }
        if regression:
            target, prediction = best.labels[item], best.prediction[item]
            row |= {"target": target, "prediction": prediction, "bias": prediction - target}
        rows.append(row)
    return rows


def _of_items(study: Study, with_influence: bool, found: dict[str, Any]) -> str:
    counts = found["counts"]
    what = "label" if study.task == "classification" else "target"
    if not found["of"]:
        return f"No sample stands out: none is badly predicted, and no duplicates differ in their {what}."
    verb = "is" if found["of"] == 1 else "are"
    text = f"{found['of']:,} of {len(study.y):,} samples {verb} worth a look."
    if study.task == "regression":
        errors = "has the largest expected error", "have the largest expected errors"
        text += f" {_number(counts[RESIDUALS], *errors)}."
    if counts[NEVER_RIGHT]:
        text += f" {_number(counts[NEVER_RIGHT], 'is', 'are')} never classified correctly."
    if counts[SUSPICIOUS]:
        they, their, them = ("they are", "their", "them")
        if counts[SUSPICIOUS] == 1:
            they, their, them = ("it is", "its", "it")
        text += (
            f" {_number(counts[SUSPICIOUS], 'has a suspicious label', 'have suspicious labels')}: {they} "
            f"right less often than by guessing, few near neighbors are of {their} class"
            f"{f', and the score is better without {them}' * with_influence}."
        )
    if counts[DUPLICATES]:
        text += f" {_number(counts[DUPLICATES], 'has', 'have')} an equal row with a different {what}."
    return text


def _number(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def conflicting(groups: Array, codes: Array) -> Array:
    """Return the items whose group holds different codes, int64, ascending.

    Parameters
    ----------
    groups : int64 ndarray of shape (n_items,)
        Equal rows have one number.
    codes : ndarray of shape (n_items,)
        Codes of the labels, or targets.
    """
    _, labels = np.unique(codes, return_inverse=True)
    pairs = np.unique(np.column_stack([groups, labels]), axis=0)
    return np.flatnonzero(np.bincount(pairs[:, 0])[groups] > 1)


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


def in_words(reason: str, task: str) -> str:
    """A reason as the page says it."""
    words = IN_WORDS[reason]
    return words.replace("label", "target") if task == "regression" else words


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

    @property
    def everything(self) -> Array:
        """All marked items, ascending."""
        return np.unique(np.concatenate(list(self.by_reason.values())))

    def ordered(self, items: Array) -> Array:
        """The items, the worst first, equal ones by their number."""
        keys = [items, *(-each[items] for each in reversed(self.badness))]
        return items[np.lexsort(keys)]


def mark_labels(
    scores: Array,
    error_bound: float,
    n_classes: int,
    influence: Influence | None,
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
    error_bound : float
        Of the score.
    n_classes : int
        Number of classes.
    influence : Influence, or None
        The scores minus the scores without the item. None: items are suspicious without it.
    same : int64 ndarray
        Items with an equal row of another label.
    is_out_of_place : callable
        Which of some items, the worst first, have few neighbors of their class, as `has_few_alike` says.
    """
    known = np.where(np.isnan(scores), np.inf, scores)
    bound = max(error_bound, SMALLEST_BOUND) if np.isfinite(error_bound) else SMALLEST_BOUND
    low, harm = known < 1 / n_classes, np.zeros(len(scores))
    if influence is not None:
        harm = -influence.per_item
        low &= harm > influence.error_bound
    found = Marked({}, (-known, harm), {NEVER_RIGHT: bound, SUSPICIOUS: 1 / n_classes})
    suspects = found.ordered(np.flatnonzero(low))
    suspects = suspects[is_out_of_place(suspects)]
    marks = {NEVER_RIGHT: np.flatnonzero(known <= bound), SUSPICIOUS: suspects, DUPLICATES: same}
    return found._replace(by_reason={reason: found.ordered(items) for reason, items in marks.items()})


def n_nearby(codes: Array, groups: Array | None = None) -> Array:
    """For each item, how many neighbors hold five of its class by chance; 0 in classes of up to six.

    With `groups`, neighbors are samples of other groups.
    """
    n_others, n_same = _others(codes, groups)
    found: Array = np.where(n_same > BY_CHANCE, BY_CHANCE * n_others // np.maximum(n_same, 1), 0)
    return found


def _others(codes: Array, groups: Array | None) -> tuple[Array, Array]:
    """For each item, how many others there are, and how many of these have its class."""
    own = np.arange(len(codes)) if groups is None else groups
    of_both = np.unique(np.column_stack([own, codes]), axis=0, return_inverse=True, return_counts=True)
    n_same = np.bincount(codes)[codes] - of_both[2][of_both[1].ravel()]
    return len(codes) - np.bincount(own)[own], n_same


def has_few_alike(near: Neighbors, codes: Array, items: Array, groups: Array | None = None) -> Array:
    """Whether an item has less than half as many near neighbors of its class as by chance.

    The near neighbors are as many as hold five samples of the class by chance: a rule hardly ever predicts
    a rare class, so that only its share near the item can tell a wrong label from a rare one. Tied samples
    at their end count by their share. A class with at most five other samples is too small to judge.

    Parameters
    ----------
    near : Neighbors
        Or the neighbors in other groups.
    codes : int64 ndarray of shape (n_items,)
        The classes.
    items : int64 ndarray
        The items that are judged.
    groups : int64 ndarray of shape (n_items,), optional
        The groups.
    """
    n_others, n_same = _others(codes, groups)
    found = np.zeros(len(codes), bool)
    n_near = np.minimum(n_nearby(codes, groups), near.max_depth)
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
                found[rows] = 2 * held * n_others[rows] < size * n_same[rows] * n_tied
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
    kept = marked.everything
    if len(kept) > most:
        share = most // len(marked.by_reason)
        first = np.unique(np.concatenate([items[:share] for items in marked.by_reason.values()]))
        others = marked.ordered(np.setdiff1d(kept, first))
        kept = np.concatenate([first, others[: most - len(first)]])
    return marked.ordered(kept)


MOST_DIGITS = 9
ROUNDING = 1e-9
"""Differences of scores up to this share of the largest one count as rounding."""


def ties_section(study: Study) -> dict[str, Any] | None:
    """Return the range of scores that the orders of tied samples allow.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict or None
        n_items, n_tied, score, low and high as in `knnccv.CompleteCV.tie_report`; n_dependent, the number
        of items whose expected score depends on the order of tied samples; width, high - low; is_exact;
        error_bound; measure; conclusion. None if whole groups are left out.
    """
    if study.groups is not None:
        return None
    found = study.best.tie_report()
    tested = study.best.weights > 0
    widths = (found.per_item_highest - found.per_item_lowest)[tested]
    largest = max(float(np.abs(found.per_item_highest[tested]).max()), ROUNDING)
    fields = "n_items", "n_tied", "score", "is_exact", "error_bound", "measure"
    return section(
        partial(_of_ties, study.task),
        **plain_fields(found, *fields),
        n_dependent=int((widths > ROUNDING * largest).sum()),
        low=found.lowest,
        high=found.highest,
        width=found.highest - found.lowest,
    )


def _of_ties(task: str, found: dict[str, Any]) -> str:
    number = found["n_dependent"]
    if not number:
        what = "labels" if task == "classification" else "targets"
        return (
            "The order of the rows decides nothing: no sample has equally near neighbors whose "
            f"{what} could change its score."
        )
    low, high, score = _said((found["low"], found["high"], found["score"]), task)
    ends = "" if found["is_exact"] else " or slightly beyond"
    return (
        f"By the order of the rows a program may find a score between {low} and {high}{ends}; the mean "
        f"over all orders is {score}. {_number(number, 'sample has', 'samples have')} equally near "
        "neighbors that disagree."
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
