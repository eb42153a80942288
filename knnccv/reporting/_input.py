"""The table of a report: numbers, categories and missing values, the target, and the cells as text."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._labels import as_targets, encode_labels, is_missing, task_of
from .._typing import Array
from .._validation import check_choice
from ..hvdm import as_array
from ._columns import read_columns

TASKS = ("classification", "regression")
FEWEST_ROWS = 5


@dataclass(frozen=True, eq=False)
class TableInput:
    """A table that was checked.

    Attributes
    ----------
    X : float64 ndarray of shape (n_items, n_features)
        In a mixed table NaN for missing values, and codes from 0 in categorical columns.
    y : ndarray of shape (n_items,)
        Class labels, or targets (float64).
    task : str
        "classification" or "regression".
    task_reason : str
        Why, if it was not given; otherwise empty.
    names : tuple of str, of length n_features
        The names of the columns.
    categorical : bool ndarray of shape (n_features,)
        Which columns hold categories.
    indices : int ndarray of shape (n_items,)
        The numbers of the rows in the table that was given.
    n_given : int
        The number of rows of that table.
    columns : tuple of length n_features
        The columns as they were given.
    """

    X: Array
    y: Array
    task: str
    task_reason: str
    names: tuple[str, ...]
    categorical: Array
    indices: Array
    n_given: int
    columns: tuple[Any, ...]

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.X).sum())

    @property
    def is_mixed(self) -> bool:
        """Whether there are categories or missing values."""
        return bool(self.categorical.any()) or bool(np.isnan(self.X).any())

    @property
    def constant(self) -> Array:
        """Which columns have at most one value, missing ones aside."""
        low = np.min(self.X, axis=0, initial=np.inf, where=~np.isnan(self.X))
        high = np.max(self.X, axis=0, initial=-np.inf, where=~np.isnan(self.X))
        return np.asarray(low >= high)

    def rows(self, index: int) -> list[str]:
        """The cells of a row as text; a missing value is empty."""
        row = int(self.indices[index])
        return [_text(column[row]) for column in self.columns]

    def take(self, places: Array) -> TableInput:
        """The table of some rows only."""
        return replace(self, X=self.X[places], y=self.y[places], indices=self.indices[places])


def read_input(
    X: Any, y: Any, task: str | None, feature_names: Sequence[str] | None, categorical: Any
) -> TableInput:
    """Check the arguments of `report`.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed.
    """
    if task is not None:
        check_choice("task", task, TASKS)
    if hasattr(X, "tocsr"):
        msg = "X must be dense, got a sparse matrix; pass X.toarray()"
        raise TypeError(msg)
    table = read_columns(X, feature_names, categorical)
    n_items = len(table.numbers)
    if n_items < FEWEST_ROWS:
        msg = f"X must have at least {FEWEST_ROWS} rows, got {n_items}"
        raise ValueError(msg)
    labels = _labels(y, n_items)
    chosen, reason = (task, "") if task is not None else task_of(labels)
    if chosen == "regression":
        if labels.dtype.kind not in "biuf":
            msg = f"task='regression' needs numbers as targets, but y[0] is {shown(labels[0])}"
            raise ValueError(msg)
        labels = as_targets(labels, n_items)[1]
    elif len(encode_labels(labels, n_items).classes) < 2:
        msg = f"y must have at least 2 classes, but every label is {shown(labels[0])}"
        raise ValueError(msg)
    return TableInput(
        table.numbers,
        labels,
        chosen,
        reason,
        table.names,
        table.categorical,
        np.arange(n_items),
        n_items,
        table.columns,
    )


def _labels(y: Any, n_items: int) -> Array:
    """The target as an array, without missing values."""
    values = as_array(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        msg = f"y must have shape (n_items,), got shape {values.shape}"
        raise ValueError(msg)
    if len(values) != n_items:
        msg = f"X has {n_items} rows, but y has {len(values)} values"
        raise ValueError(msg)
    if values.dtype.kind in "fcmM":
        missing = values != values
    elif values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values])
    else:
        missing = np.zeros(n_items, bool)
    if missing.any():
        at = int(np.argmax(missing))
        msg = (
            f"y[{at}] is missing ({missing.sum()} of {n_items} values are); leave such rows out, since "
            "they cannot be scored"
        )
        raise ValueError(msg)
    if values.dtype.kind == "O":
        plain = np.array(values.tolist())
        if plain.shape == values.shape and len({_kind(value) for value in values}) == 1:
            return plain
    return values


def _kind(value: Any) -> str:
    return "number" if isinstance(value, (int, float, np.number)) else type(value).__name__


def _text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    if isinstance(cell, (float, np.floating)):
        value = float(cell)
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(cell)


def shown(value: Any) -> str:
    """A value in an error message."""
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
