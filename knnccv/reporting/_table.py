"""The table of a report: columns as numbers or codes, the target, the cells as text, and subsamples."""

from __future__ import annotations

import datetime
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from .._labels import as_targets, encode_labels, is_missing, task_of
from .._typing import Array
from .._validation import check_choice, check_integer
from ..hvdm import as_array


class Columns(NamedTuple):
    """A table: numbers float64 (n_items, n_features) with NaN for missing values, and the given columns."""

    numbers: Array
    names: tuple[str, ...]
    categorical: Array
    columns: tuple[Any, ...]


def read_columns(X: Any, feature_names: Sequence[str] | None, categorical: Any) -> Columns:
    """Read a table.

    Raises
    ------
    ValueError, TypeError
        If it is no table, holds values that are neither numbers nor categories, or the names do not fit.
    """
    if is_frame(X):
        given = tuple(X.iloc[:, j].to_numpy() for j in range(X.shape[1]))
        chosen = tuple(str(X.dtypes.iloc[j]) == "category" for j in range(X.shape[1]))
        titles = [str(name) for name in X.columns]
    else:
        if isinstance(X, (str, PathLike)):
            msg = (
                f"X must be a table of shape (n_items, n_features), got the text {X!r}; read the file first"
            )
            raise TypeError(msg)
        array = as_array(X)
        if array.ndim != 2:
            msg = f"X must be a table of shape (n_items, n_features), got shape {array.shape}"
            raise ValueError(msg)
        given = tuple(array.T)
        chosen = (False,) * len(given)
        titles = [f"x{j}" for j in range(len(given))]
    if not given:
        msg = "X must have at least one column, got none"
        raise ValueError(msg)
    names = _names(feature_names, titles)
    mask = np.array(chosen) | _marked(categorical, names)
    values = [_values(*each) for each in zip(given, names, mask.tolist(), strict=True)]
    mask |= np.array([is_text for _, is_text in values])
    numbers = np.ascontiguousarray(np.column_stack([found for found, _ in values]), dtype=np.float64)
    return Columns(numbers, names, mask, given)


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _names(feature_names: Sequence[str] | None, titles: list[str]) -> tuple[str, ...]:
    if feature_names is None:
        return tuple(titles)
    if isinstance(feature_names, str):
        msg = f"feature_names must be a sequence of names, got {feature_names!r}"
        raise TypeError(msg)
    names = tuple(str(name) for name in feature_names)
    if len(names) != len(titles):
        msg = f"feature_names must have {len(titles)} names, one for each column, got {len(names)}"
        raise ValueError(msg)
    return names


def _marked(categorical: Any, names: tuple[str, ...]) -> Array:
    """The columns that `categorical` names, as a mask."""
    mask = np.zeros(len(names), bool)
    if categorical is None:
        return mask
    if isinstance(categorical, (str, bytes)) or not hasattr(categorical, "__iter__"):
        msg = f"categorical must be a list of column names or numbers, or a mask, got {categorical!r}"
        raise TypeError(msg)
    wanted = list(categorical)
    if wanted and all(isinstance(one, (bool, np.bool_)) for one in wanted):
        if len(wanted) != len(names):
            msg = f"categorical, as a mask, must have {len(names)} entries, got {len(wanted)}"
            raise ValueError(msg)
        return np.array(wanted, bool)
    for one in wanted:
        whole = isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))
        if isinstance(one, str) and names.count(one) == 1:
            mask[names.index(one)] = True
        elif whole and -len(names) <= one < len(names):
            mask[int(one)] = True
        else:
            listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
            msg = (
                f"categorical must hold names of single columns ({listed}) or their numbers "
                f"(0 to {len(names) - 1}), got {one!r}"
            )
            raise ValueError(msg)
    return mask


def _values(column: Array, name: str, category: bool) -> tuple[Array, bool]:
    """The numbers or codes of a column, and whether they are codes."""
    if category:
        return _codes(column), True
    if column.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a long double can be beyond float64
            values = column.astype(np.float64)
        return _checked(values, column, name), False
    known = [value for value in column if not is_missing(value)] if column.dtype.kind == "O" else column
    kind = _neither(column.dtype.kind, known)
    if kind:
        msg = (
            f"column {name!r} holds {kind}; convert it to numbers, leave it out, or name it in categorical="
        )
        raise TypeError(msg)
    if len(known) and all(isinstance(value, (Real, np.bool_, Decimal)) for value in known):
        try:
            values = np.array([np.nan if is_missing(value) else float(value) for value in column])
        except OverflowError as error:
            msg = f"column {name!r} holds a number beyond the range of float64 (about 1.8e308)"
            raise ValueError(msg) from error
        return _checked(values, column, name), False
    if not len(known):
        return np.full(len(column), np.nan), False
    return _codes(column), True


def _neither(kind: str, known: Any) -> str:
    """What a column holds that is neither numbers nor names of categories, or nothing."""
    if kind == "c" or any(isinstance(value, (complex, np.complexfloating)) for value in known):
        return "complex numbers"
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    if kind in "mM" or any(isinstance(value, dates) for value in known):
        return "dates or times"
    return ""


def _checked(values: Array, column: Array, name: str) -> Array:
    infinite = np.isinf(values)
    if infinite.any():
        at = int(np.argmax(infinite))
        msg = (
            f"column {name!r} is {column[at]} in row {at}; numbers must be finite, and a missing value is "
            "written as NaN"
        )
        raise ValueError(msg)
    return values


def _codes(column: Array) -> Array:
    """Codes from 0 in the order of the first occurrence; NaN for missing values."""
    places: dict[Any, int] = {}
    out = np.full(len(column), np.nan)
    values = list(column) if column.dtype.kind in "mM" else column.tolist()
    for at, value in enumerate(values):
        if is_missing(value):
            continue
        try:
            out[at] = places.setdefault(value, len(places))
        except TypeError as error:
            msg = f"a category must be hashable, got {reprlib.repr(value)} in row {at}"
            raise TypeError(msg) from error
    return out


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
    names: tuple[str, ...]
    categorical: Array
    columns: tuple[Any, ...]
    y: Array
    task: str
    task_reason: str
    indices: Array
    n_given: int

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
    return TableInput(*table, labels, chosen, reason, np.arange(n_items), n_items)


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
    objects = values.dtype.kind == "O"
    missing = np.array([is_missing(value) for value in values]) if objects else values != values
    if missing.any():
        at = int(np.argmax(missing))
        msg = (
            f"y[{at}] is missing ({missing.sum()} of {n_items} values are); leave such rows out, since "
            "they cannot be scored"
        )
        raise ValueError(msg)
    if objects:
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
