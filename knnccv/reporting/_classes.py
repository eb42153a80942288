"""The section on classes: the expected confusion matrix and the score of each class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ._cost import affordable_confusion, confusion_units
from ._data import Cut, of_a_part
from ._settings import part_of
from ._text import quoted
from ._wording import counted, finite, percentage

if TYPE_CHECKING:
    from ._study import Study

MOST_CLASSES = 200
"""Classes up to which the matrix is given as a whole."""
MOST_PAIRS = 10
"""Most confused pairs that are listed."""
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
    best = study.best
    codes = np.unique(best.labels, return_inverse=True)[1].reshape(-1)
    labels = [str(label) for label in best.per_class()]
    counts = np.bincount(codes, minlength=len(labels)).tolist()
    per_class = [
        {"label": label, "n_items": n_items, "score": finite(score)}
        for label, n_items, score in zip(labels, counts, best.per_class().values(), strict=True)
    ]
    matrix, cut = _confusion(study, best.per_class())
    reason = None
    if np.isnan(matrix).all():
        reason = (
            f"a pass for each of {len(labels)} classes over samples of most of them would take too long"
        )
    elif len(labels) > MOST_CLASSES:
        reason = (
            f"of {len(labels)} classes only the largest entries are listed (the limit is {MOST_CLASSES})"
        )
    shown = None if reason else [[finite(x) for x in row] for row in matrix.tolist()]
    return {
        "labels": labels,
        "confusion": shown,
        "no_confusion": reason,
        "subsample": cut,
        "confused": _confused(labels, matrix),
        "per_class": per_class,
        "balanced_accuracy": best.balanced_accuracy,
        "conclusion": _conclusion(per_class, labels, matrix, cut),
    }


def _confusion(study: Study, classes: Iterable[Any]) -> tuple[Array, Cut]:
    """The matrix with rows that sum to 1, and the part of the samples that it was computed on.

    The row of a class without samples in that part is NaN, and all rows are if no matrix is affordable.
    """
    labels = list(classes)
    n_items = len(study.y)
    units = confusion_units(n_items, len(labels), study.n_neighbors, study.ties)
    rows = affordable_confusion(n_items, len(labels), units)
    if rows == n_items:
        return study.best.confusion(normalize="true"), None
    if not rows:
        return np.full((len(labels), len(labels)), np.nan), None
    part, cut = part_of(study, rows, f"a pass for each of {len(labels)} classes over")
    k = min(study.n_neighbors, part.train_size)
    found = part.score(replace(study.best_setting, n_neighbors=k))
    matrix = np.zeros((len(labels), len(labels)))
    places = [labels.index(label) for label in found.per_class()]
    matrix[np.ix_(places, places)] = found.confusion(normalize="true")
    matrix[np.setdiff1d(np.arange(len(labels)), places)] = np.nan
    return matrix, cut


def _confused(labels: list[str], matrix: Array) -> list[dict[str, Any]]:
    """The largest entries off the diagonal, equal ones in the order of the labels."""
    off = np.nan_to_num(matrix)
    np.fill_diagonal(off, 0.0)
    order = np.argsort(-off, axis=None, kind="stable")[:MOST_PAIRS]
    rows, columns = np.unravel_index(order, off.shape)
    return [
        {"label": labels[i], "predicted": labels[j], "share": float(off[i, j])}
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if off[i, j] > SMALLEST_SHARE
    ]


def _conclusion(per_class: list[dict[str, Any]], labels: list[str], matrix: Array, cut: Cut) -> str:
    tested = [at for at, each in enumerate(per_class) if each["score"] is not None]
    worst = min(tested, key=lambda at: per_class[at]["score"])
    score = per_class[worst]["score"]
    same = len({per_class[at]["score"] for at in tested}) == 1
    missed = [at for at in tested if per_class[at]["score"] < RARELY]
    if same:
        text = f"All classes are recognized equally often, in {percentage(score)} of the cases"
    elif len(missed) > 1:
        worst = max(missed, key=lambda at: per_class[at]["n_items"])
        size = counted(per_class[worst]["n_items"], "sample")
        text = (
            f"{len(missed)} of {len(labels)} classes are never recognized, or in less than {RARELY:.1%} of "
            f"the cases; the largest of them is {quoted(labels[worst])} with {size}"
        )
    else:
        size = counted(per_class[worst]["n_items"], "sample")
        how = f"recognized worst, in {percentage(score)} of the cases" if score > 0 else "never recognized"
        text = f"Class {quoted(labels[worst])} ({size}) is {how}"
    off = np.nan_to_num(matrix[worst])
    off[worst] = 0.0
    taken = int(off.argmax())
    if off[taken] > SMALLEST_SHARE:
        whose = f" of class {quoted(labels[worst])}" if same or len(missed) > 1 else ""
        text += f"; {percentage(float(off[taken]))}{whose} are taken for class {quoted(labels[taken])}"
        text += of_a_part(cut)
    return text + "."
