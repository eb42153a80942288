"""The section on classes: the expected confusion matrix and the score of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ._affordable import CONFUSION_LIMIT, confusion_units
from ._wording import finite

if TYPE_CHECKING:
    from ._study import Study

MOST_CLASSES = 200
"""Classes up to which the matrix is given as a whole."""
MOST_PAIRS = 10
"""Most confused pairs that are listed."""
SMALLEST_SHARE = 1e-9
"""A class that is predicted less often is not listed as confused."""


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
        of class i that is predicted as class j, or None, and then no_confusion says why; confused, the
        largest entries off the diagonal; per_class, balanced_accuracy and conclusion.
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
    matrix, reason = _confusion(study, len(labels))
    confused = [] if matrix is None else _confused(labels, matrix)
    if matrix is not None and len(labels) > MOST_CLASSES:
        reason = (
            f"of {len(labels)} classes only the largest entries are listed (the limit is {MOST_CLASSES})"
        )
    shown = None if matrix is None or reason else [[finite(x) for x in row] for row in matrix.tolist()]
    return {
        "labels": labels,
        "confusion": shown,
        "no_confusion": reason or None,
        "confused": confused,
        "per_class": per_class,
        "balanced_accuracy": best.balanced_accuracy,
        "conclusion": _conclusion(per_class, labels, matrix),
    }


def _confusion(study: Study, n_classes: int) -> tuple[Array | None, str]:
    """The matrix with rows that sum to 1, or the reason why there is none."""
    n_items = len(study.y)
    units = confusion_units(n_items, n_classes, study.n_neighbors, study.ties)
    if units > CONFUSION_LIMIT:
        return None, (
            f"a pass over {n_items:,} samples for each of {n_classes} classes would take about "
            f"{units:,.0f} seconds; call .confusion(normalize='true') of the result to compute it"
        )
    return study.best.confusion(normalize="true"), ""


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


def _conclusion(per_class: list[dict[str, Any]], labels: list[str], matrix: Array | None) -> str:
    tested = [at for at, each in enumerate(per_class) if each["score"] is not None]
    worst = min(tested, key=lambda at: per_class[at]["score"])
    score = per_class[worst]["score"]
    same = len({per_class[at]["score"] for at in tested}) == 1
    if same:
        text = f"All classes are recognized equally often, in {score:.1%} of the cases"
    else:
        text = f"Class {labels[worst]} is recognized worst, in {score:.1%} of the cases"
    if matrix is not None:
        off = np.nan_to_num(matrix[worst])
        off[worst] = 0.0
        taken = int(off.argmax())
        if off[taken] > SMALLEST_SHARE:
            whose = f" of class {labels[worst]}" if same else ""
            text += f"; {off[taken]:.1%}{whose} are taken for class {labels[taken]}"
    return text + "."
