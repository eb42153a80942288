"""The columns of a table as numbers, or as codes of categories."""

from __future__ import annotations

import datetime
import reprlib
from collections.abc import Sequence
from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from .._labels import is_missing
from .._typing import Array
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
        chosen = tuple(_is_category(X.dtypes.iloc[j]) for j in range(X.shape[1]))
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


def _is_category(dtype: Any) -> bool:
    return str(dtype) == "category"


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
    if len(known) and all(isinstance(value, (Real, np.bool_)) or _is_decimal(value) for value in known):
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


def _is_decimal(value: Any) -> bool:
    from decimal import Decimal

    return isinstance(value, Decimal)


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
