"""The section on the data: their size and columns, and the subsample that is studied."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labels import encode_labels
from .._validation import check_integer
from ._copies import copies_note, copies_of_target
from ._cost import affordable_rows, tie_size
from ._input import FEWEST_ROWS, TableInput, shown
from ._study import Study
from ._text import quoted
from ._wording import counted, rounded

Cut = dict[str, Any] | None


def subsampled(
    table: TableInput, max_items: int, random_state: int, reason: str = ""
) -> tuple[TableInput, Cut]:
    """The table, or a random subsample of `max_items` rows of it, and what the page says about that.

    Raises
    ------
    ValueError, TypeError
        If `max_items` or `random_state` is not an integer, or too small.
    """
    most = check_integer("max_items", max_items, FEWEST_ROWS)
    seed = check_integer("random_state", random_state, 0)
    if table.n_items <= most:
        return table, None
    places = np.random.default_rng(seed).choice(table.n_items, most, replace=False)
    cut = {
        "n_items": most,
        "of": table.n_items,
        "reason": reason or f"max_items={most:,} limits the samples of a report",
    }
    return table.take(np.sort(places)), cut


def of_a_part(cut: Cut) -> str:
    """What a sentence adds if its numbers come from a part of the samples; starts with a space."""
    return f" (on a random {cut['n_items']:,} of {cut['of']:,} samples)" if cut else ""


def studied(table: TableInput, max_items: int, random_state: int) -> tuple[TableInput, Cut]:
    """The rows that are studied: at most `max_items`, and no more than can be afforded."""
    most = check_integer("max_items", max_items, FEWEST_ROWS)
    seed = check_integer("random_state", random_state, 0)
    n_items = min(table.n_items, most)
    ties = 1 + (tie_size(table.X, seed) - 1) * n_items / table.n_items
    rows, reason = affordable_rows(n_items, len(table.names), table.is_mixed, ties)
    part, cut = subsampled(table, rows if reason else most, seed, reason)
    if part.task == "classification" and len(set(part.y.tolist())) < 2:
        msg = (
            f"all {part.n_items:,} rows of the subsample are of one class, {shown(part.y[0])}; take a "
            "larger max_items, or another random_state"
        )
        raise ValueError(msg)
    return part, cut


def data_section(study: Study, cut: Cut) -> dict[str, Any]:
    """Return the section."""
    table = study.table
    names = np.array(table.names, dtype=object)
    copies = copies_of_target(table)
    classes, target = None, None
    if study.task == "classification":
        labels = encode_labels(table.y, table.n_items)
        classes = [
            {"label": str(label), "n_items": int(count), "share": int(count) / table.n_items}
            for label, count in zip(labels.classes.tolist(), labels.counts, strict=True)
        ]
    else:
        y = table.y
        target = {
            "min": float(y.min()),
            "max": float(y.max()),
            "mean": float(y.mean()),
            "variance": float(y.var()),
        }
    return {
        "n_items": table.n_items,
        "n_features": len(names),
        "feature_names": names.tolist(),
        "categorical": names[table.categorical].tolist(),
        "constant": names[table.constant].tolist(),
        "copies_of_target": copies,
        "n_missing": table.n_missing,
        "classes": classes,
        "target": target,
        "subsample": cut,
        "conclusion": _conclusion(study, classes, target, cut) + copies_note(copies),
    }


def _conclusion(study: Study, classes: Any, target: Any, cut: Cut) -> str:
    table = study.table
    samples = (
        f"{table.n_items:,} samples"
        if cut is None
        else f"A random {cut['n_items']:,} of {cut['of']:,} samples"
    )
    text = f"{samples} with {counted(len(table.names), 'column')}"
    if classes is not None:
        largest = max(classes, key=lambda each: each["n_items"])
        text += (
            f" belong to {len(classes)} classes, the largest of which, {quoted(largest['label'])}, has "
            f"{largest['share']:.1%} of them"
        )
    else:
        text += (
            f" have targets from {rounded(target['min'])} to {rounded(target['max'])} with a mean of "
            f"{rounded(target['mean'])}"
        )
    remarks = []
    if table.categorical.any():
        remarks.append(f"{counted(int(table.categorical.sum()), 'column')} with categories")
    if table.n_missing:
        remarks.append(counted(table.n_missing, "missing value"))
    if table.constant.any():
        remarks.append(counted(int(table.constant.sum()), "constant column"))
    if not remarks:
        return f"{text}."
    listed = ", ".join(remarks[:-1]) + " and " * (len(remarks) > 1) + remarks[-1]
    return f"{text}; the table has {listed}."
