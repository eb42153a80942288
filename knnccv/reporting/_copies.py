"""Columns that give the target away."""

from __future__ import annotations

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from ._input import TableInput
from ._text import quoted

SAME = 1e-9
"""A column is a multiple of the target if 1 minus the square of their correlation is below this."""
MOST_NAMED = 5
FEW = 1000
"""Rows that are looked at first, so that most columns are refused quickly."""


def copies_of_target(table: TableInput) -> list[str]:
    """The names of the columns that say the same as the target.

    For classes: as many different values as classes, each with one class only. For a regression: a multiple
    of the target plus a constant. Rows where the column is missing do not count, but most must be there.
    """
    return [
        name
        for j, name in enumerate(table.names)
        if _same(table.X[:, j], table.y, table.task, bool(table.categorical[j]))
    ]


def copies_note(names: list[str]) -> str:
    """What the page says about them."""
    listed = ", ".join(quoted(name) for name in names[:MOST_NAMED]) + (", …" if names[MOST_NAMED:] else "")
    if len(names) == 1:
        return f"The column {listed} says the same as the target; if it is made from it, leave it out"
    return f"The columns {listed} say the same as the target; if they are made from it, leave them out"


def _same(column: Array, y: Array, task: str, categorical: bool) -> bool:
    known = ~np.isnan(column)
    if 2 * known.sum() <= len(known):
        return False
    values, targets = column[known], y[known]
    if task == "regression":
        return not categorical and _multiple(values, targets)
    codes = encode_labels(targets, len(targets)).codes
    n_classes = len(np.unique(codes))
    if len(np.unique(values[:FEW])) > n_classes:
        return False
    distinct, places = np.unique(values, return_inverse=True)
    if len(distinct) != n_classes or not 1 < n_classes < len(values):
        return False
    return len(np.unique(places * n_classes + codes)) == n_classes


def _multiple(x: Array, y: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        x, y = x - x.mean(), y - y.mean()
        scale = np.abs(x).max(), np.abs(y).max()
        if not all(np.isfinite(each) and each > 0 for each in scale):
            return False
        x, y = x / scale[0], y / scale[1]
        return bool(1 - (x @ y) ** 2 / ((x @ x) * (y @ y)) < SAME)
