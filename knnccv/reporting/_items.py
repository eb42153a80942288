"""The section on items: those that are worth a look, with their nearest neighbors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from ._cost import INFLUENCE_LIMIT, JUDGING_LIMIT, influence_units
from ._duplicates import conflicting, row_groups
from ._reasons import (
    DUPLICATES,
    DUPLICATES_OF_TARGETS,
    IN_WORDS,
    MOST_INDICES,
    NEVER_RIGHT,
    RESIDUALS,
    SUSPICIOUS,
    Marked,
    choose,
    has_few_alike,
    mark_labels,
    mark_targets,
    n_nearby,
)
from ._wording import at_most, finite

if TYPE_CHECKING:
    from ..influence import Influence
    from ._study import Study

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
    reasons: dict[int, list[str]] = {int(item): [] for item in listed}
    words = dict(IN_WORDS)
    regression = study.task == "regression"
    if regression:
        words[DUPLICATES] = DUPLICATES_OF_TARGETS
    for reason, found in marked.by_reason.items():
        for item in found.tolist():
            if item in reasons:
                reasons[item].append(words[reason])
    near, distances = _nearest(study, listed)
    prediction = study.best.prediction if regression and len(listed) else None
    labels = study.best.labels
    found_rows = []
    for at, item in enumerate(listed.tolist()):
        row = {
            "index": int(study.indices[item]),
            "label": str(labels[item]),
            "score": finite(study.best.per_item[item]),
            "influence": None if influence is None else finite(influence[item]),
            "reasons": reasons[item],
            "row": study.rows(item),
            "neighbors": [
                {
                    "index": int(study.indices[other]),
                    "label": str(labels[other]),
                    "distance": finite(distance),
                    "row": study.rows(other),
                }
                for other, distance in zip(near[at].tolist(), distances[at].tolist(), strict=True)
            ],
        }
        if prediction is not None:
            row["target"] = float(labels[item])
            row["prediction"] = finite(prediction[item])
            row["bias"] = finite(prediction[item] - labels[item])
        found_rows.append(row)
    return found_rows


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
