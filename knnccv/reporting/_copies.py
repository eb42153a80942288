"""Columns that give the target away."""

from __future__ import annotations

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from ._input import TableInput
from ._text import quoted

SAME = 1e-9
"""A column is a multiple of the target if 1 minus the square of their correlation is below this."""
SAME_IN_THE_MIDDLE = 0.01
"""And if what the multiple leaves over varies less than this share of the target, extreme rows aside."""
ROUNDING = 1e-14
"""The variation that rounding leaves, of targets of at most 1."""
MOST_NAMED = 5
FEW = 1000
"""Rows that are looked at first, so that most columns are refused quickly."""


def copies_of_target(table: TableInput) -> list[str]:
    """The names of the columns that say the same as the target.

    For classes: as many different values as classes, each with one class only. For a regression: a multiple
    of the target plus a constant. Rows where the column is missing do not count, but most must be there.
    """
    if table.task == "regression":
        found = [
            not category and _is_multiple(column, table.y)
            for column, category in zip(table.X.T, table.categorical.tolist(), strict=True)
        ]
    else:
        codes = encode_labels(table.y, table.n_items).codes
        found = [_names_classes(column, codes) for column in table.X.T]
    return [name for name, is_copy in zip(table.names, found, strict=True) if is_copy]


def copies_note(names: list[str]) -> str:
    """What the page says about them, if there are any; starts with a space."""
    if not names:
        return ""
    listed = ", ".join(quoted(name) for name in names[:MOST_NAMED]) + (", …" if names[MOST_NAMED:] else "")
    if len(names) == 1:
        return f" The column {listed} says the same as the target; if it is made from it, leave it out."
    return f" The columns {listed} say the same as the target; if they are made from it, leave them out."


def _known(column: Array) -> Array | None:
    """The mask of the values that are there; None if these are not most."""
    known = ~np.isnan(column)
    return known if 2 * known.sum() > len(known) else None


def _names_classes(column: Array, codes: Array) -> bool:
    """Whether each value stands for one class, and each class for one value."""
    known = _known(column)
    if known is None or not _one_to_one(column[known][:FEW], codes[known][:FEW]):
        return False
    values, classes = column[known], codes[known]
    return 1 < len(np.unique(classes)) < len(classes) and _one_to_one(values, classes)


def _one_to_one(values: Array, classes: Array) -> bool:
    values, places = np.unique(values, return_inverse=True)
    classes, codes = np.unique(classes, return_inverse=True)
    return len(values) == len(classes) == len(np.unique(places * len(classes) + codes))


def _is_multiple(column: Array, targets: Array) -> bool:
    """Whether a column is a multiple of the targets plus a constant, not for a few extreme rows only."""
    known = _known(column)
    if known is None:
        return False
    x, y = _centered(column[known]), _centered(targets[known])
    if x is None or y is None or 1 - (x @ y) ** 2 / ((x @ x) * (y @ y)) >= SAME:
        return False
    rest = y - (x @ y) / (x @ x) * x
    return _variation(rest) <= SAME_IN_THE_MIDDLE * _variation(y) + ROUNDING


def _centered(values: Array) -> Array | None:
    """Deviations from the mean, the largest of which is 1; None if there is none."""
    values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])  # so that no sum overflows
    values -= values.mean()
    largest = np.abs(values).max()
    return values / largest if largest > 0 else None


def _variation(values: Array) -> float:
    """The median deviation from the median, which extreme values do not change."""
    return float(np.median(np.abs(values - np.median(values))))
