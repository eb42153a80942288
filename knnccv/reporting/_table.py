"""The table of a report: columns as numbers or codes, the target, the cells as text, and subsamples."""

from __future__ import annotations

import datetime
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from .._base.labels import as_targets, encode_labels, is_missing, of_one_kind, single_class, task_of
from .._base.typing import Array
from .._base.validation import check_choice, check_integer
from ..designs import LeaveGroupsOut
from ..neighbors.hvdm import (
    NUMBERS,
    Columns,
    as_array,
    as_numbers,
    check_bounded,
    chosen_columns,
    factorized,
)

TASKS = ("classification", "regression")
NEITHER: dict[str, tuple[type, ...]] = {
    "dates or times": (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
    "complex numbers": (complex, np.complexfloating),
}
"""What is neither a number nor a name of a category."""
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
    converting : tuple of str
        Lines of Python that make a data frame of pandas of `X`, if it is a table of another library.
    groups : int64 ndarray of shape (n_items,), or None
        The groups of samples that train or are tested together.
    group_names : ndarray of shape (n_items,), or None
        Their names, as they were given.
    """

    X: Array
    names: tuple[str, ...]
    categorical: Array
    columns: tuple[Any, ...]
    y: Array
    task: str
    task_reason: str
    indices: Array
    n_given: int
    converting: tuple[str, ...] = ()
    groups: Array | None = None
    group_names: Array | None = None

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
        groups, named = (one if one is None else one[places] for one in (self.groups, self.group_names))
        X, y, indices = self.X[places], self.y[places], self.indices[places]
        return replace(self, X=X, y=y, indices=indices, groups=groups, group_names=named)


def read_input(
    X: Any,
    y: Any,
    task: str | None,
    feature_names: Sequence[str] | None,
    categorical: Any,
    groups: Any = None,
) -> TableInput:
    """Check the arguments of `report`.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed.
    """
    if task is not None:
        check_choice("task", task, TASKS)
    if isinstance(X, (str, PathLike)):
        msg = f"X must be a table of shape (n_items, n_features), got the text {X!r}; read the file first"
        raise TypeError(msg)
    table = Columns(X)
    n_items, n_features = table.n_items, table.n_columns
    names = _names(feature_names, table)
    given = tuple(table.given(j) for j in range(n_features))
    mask = chosen_columns("categorical", categorical, names, n_features)
    mask |= [table.is_category(j) for j in range(n_features)]
    numbers = np.empty((n_items, n_features))
    for j, (column, name) in enumerate(zip(given, names, strict=True)):
        mask[j] = mask[j] or _holds_names(column, name)
        if mask[j]:
            codes, _ = factorized(column, f"column {name!r}")
            numbers[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            numbers[:, j] = as_numbers(column, f"column {name!r}")
            check_bounded(numbers[:, j], column, f"column {name!r}")
    if n_items < FEWEST_ROWS:
        msg = f"add samples: X must have at least {FEWEST_ROWS} rows, got {n_items}"
        raise ValueError(msg)
    labels = _labels(y, n_items)
    chosen, reason = (task, "") if task is not None else task_of(labels)
    if chosen == "regression":
        if labels.dtype.kind not in "biuf":
            msg = f"task='regression' needs numbers as targets, but y[0] is {shown(labels[0])}"
            raise ValueError(msg)
        labels = as_targets(labels, n_items)[1]
    elif len(encode_labels(labels, n_items).classes) < 2:
        msg = (
            "name another target, or add samples of other classes: y must have at least 2 classes, but "
            f"every label is {shown(labels[0])}"
        )
        raise ValueError(msg)
    converting = ("X = X.to_pandas()",) if table.converted else ()
    rows = np.arange(n_items)
    more: tuple[Any, ...] = ()
    if groups is not None:
        kept = LeaveGroupsOut(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
        kept.training_sets(single_class(n_items))
        more = kept.codes, kept.groups
    return TableInput(numbers, names, mask, given, labels, chosen, reason, rows, n_items, converting, *more)


def _names(feature_names: Sequence[str] | None, table: Columns) -> tuple[str, ...]:
    if feature_names is None:
        return tuple(map(str, table.names or (f"x{j}" for j in range(table.n_columns))))
    if isinstance(feature_names, str):
        msg = f"feature_names must be a sequence of names, got {feature_names!r}"
        raise TypeError(msg)
    names = tuple(map(str, feature_names))
    if len(names) != table.n_columns:
        msg = f"feature_names must have {table.n_columns} names, one for each column, got {len(names)}"
        raise ValueError(msg)
    return names


def _holds_names(column: Array, name: str) -> bool:
    """Whether a column that is not said to hold categories does."""
    if column.dtype.kind in "biuf":
        return False
    known = [value for value in column if not is_missing(value)]
    for kind, types in NEITHER.items():
        if any(isinstance(value, types) for value in known):
            msg = (
                f"column {name!r} holds {kind}; convert it to numbers, leave it out, or name it in "
                "categorical="
            )
            raise TypeError(msg)
    return not all(isinstance(value, NUMBERS) for value in known)


def _labels(y: Any, n_items: int) -> Array:
    """The target as an array, without missing values."""
    values = as_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        msg = f"y must have shape (n_items,), got shape {values.shape}"
        raise ValueError(msg)
    if len(values) != n_items:
        msg = f"X has {n_items} rows, but y has {len(values)} values"
        raise ValueError(msg)
    missing = values != values
    if values.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in values])
    if missing.any():
        at = int(np.argmax(missing))
        msg = (
            f"y[{at}] is missing ({missing.sum()} of {n_items} values are); leave such rows out, since "
            "they cannot be scored"
        )
        raise ValueError(msg)
    return of_one_kind(values)


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
