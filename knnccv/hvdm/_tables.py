"""Reading of tables with numeric, categorical and missing values into arrays of numbers and codes.

Fitting a distance decides which columns are numeric and which are nominal (categorical); later tables are
read accordingly. None, NaN, NaT, pandas.NA and masked entries are missing values.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._labels import is_missing
from .._typing import Array
from .._validation import rectangular

_TIMES = "mM"
_EXACT = 2**53
"""Integers up to this size are exact in float64."""


@dataclass(frozen=True)
class Schema:
    """The names and types of a table's columns.

    Attributes
    ----------
    nominal : bool ndarray of shape (n_columns,)
        Which columns are nominal.
    names : tuple of str, or None
        Their names; None if the table has none.
    categories : tuple of mapping
        The known values of every nominal column and their codes 0, 1, ….
    """

    nominal: Array
    names: tuple[Any, ...] | None
    categories: tuple[Mapping[Hashable, int], ...]

    def title(self, column: int) -> str:
        """Return a column's name or number for messages."""
        return _title(column, self.names)


@dataclass(frozen=True)
class Table:
    """A table after reading.

    Attributes
    ----------
    numbers : float64 ndarray of shape (n_numeric, n_items)
        The numeric columns; NaN is a missing value.
    codes : int32 ndarray of shape (n_nominal, n_items)
        The nominal columns: 0 is a missing value, a known value is 1 more than its code in the schema;
        new values have greater numbers.
    """

    numbers: Array
    codes: Array

    @cached_property
    def by_rows(self) -> tuple[Array, Array]:
        """The transposed arrays, with a row for every sample."""
        return self.numbers.T.copy(), self.codes.T.copy()

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[1])


class Columns:
    """Access to the columns of the user's table."""

    def __init__(self, X: Any) -> None:
        self._source: Any
        if hasattr(X, "tocsr"):
            msg = "X is a sparse matrix; pass X.toarray()"
            raise TypeError(msg)
        if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):
            X = X.to_pandas()
        self.frame = hasattr(X, "iloc") and hasattr(X, "columns")
        self._source = X if self.frame else as_array(X)
        self.names = tuple(X.columns) if self.frame else None
        if len(self._source.shape) != 2:
            msg = f"X must have shape (n_items, n_features), got shape {self._source.shape}"
            raise ValueError(msg)
        self.n_items, self.n_columns = self._source.shape
        if self.n_columns < 1:
            msg = f"X must have at least 1 feature, got shape {self._source.shape}"
            raise ValueError(msg)

    def title(self, column: int) -> str:
        """Return a column's name or number for messages."""
        return _title(column, self.names)

    def looks_nominal(self, column: int) -> bool:
        """Check whether a data frame's column is categorical, text, bool or of objects."""
        if not self.frame:
            return False
        import pandas as pd
        from pandas.api import types

        dtype = self._source.dtypes.iloc[column]
        # pandas counts bool as numeric; here it is nominal. Dates are neither: see `numbers`.
        kinds = types.is_bool_dtype, types.is_object_dtype, types.is_string_dtype
        return isinstance(dtype, pd.CategoricalDtype) or any(is_kind(dtype) for is_kind in kinds)

    def numbers(self, column: int) -> Array:
        """Read a column as float64 with NaN for missing values; raise an error if it holds other values."""
        title = f"X[:, {self.title(column)}]"
        dtype = self._source.dtypes.iloc[column] if self.frame else self._source.dtype
        if dtype.kind in _TIMES:
            msg = (
                f"{title} holds dates or times ({dtype}); pass numbers, such as days since the first, or "
                "name the column in nominal="
            )
            raise TypeError(msg)
        raw = self._raw(column, nominal=False)
        if raw.dtype.kind == "O":
            values = _objects_to_reals(raw, title)
        elif raw.dtype.kind in "biuf":
            with np.errstate(over="ignore"):  # of long doubles
                values = raw.astype(np.float64)
        else:
            raise TypeError(_no_numbers(title, 0, raw[0] if len(raw) else raw.dtype))
        if raw.dtype.kind in "iu":
            _check_exact(title, raw, np.flatnonzero(np.abs(values) >= _EXACT))
        infinite = np.isinf(values)
        if infinite.any():
            at = int(np.argmax(infinite))
            must = "numbers must be finite; write NaN or None for missing values"
            msg = f"{title} is {values[at]} in row {at}: {must}"
            raise ValueError(msg)
        return values

    def values(self, column: int) -> tuple[Array, list[Hashable]]:
        """Read a column as codes of its distinct values, -1 for missing ones, and return both."""
        raw = self._raw(column, nominal=True)
        if raw.dtype.kind == "O":
            return _factorise(raw, f"X[:, {self.title(column)}]")
        if raw.dtype.kind in _TIMES:
            # As Python's times, which are equal in any unit; units below microseconds do not fit.
            coarse = raw.astype(f"{raw.dtype.kind}8[us]")
            same = (coarse.astype(raw.dtype) == raw) | np.isnat(raw)
            if same.all():
                return _factorise(coarse.astype(object), f"X[:, {self.title(column)}]")
        unknown = np.isnat(raw) if raw.dtype.kind in _TIMES else raw != raw
        values, codes = np.unique(raw[~unknown], return_inverse=True)
        found = np.full(len(raw), -1, np.int64)
        found[~unknown] = codes
        return found, list(values.tolist())

    def _raw(self, column: int, *, nominal: bool) -> Array:
        if not self.frame:
            return self._source[:, column]  # type: ignore[no-any-return]
        series = self._source.iloc[:, column]
        kind = series.dtype.kind
        if isinstance(series.dtype, np.dtype) and kind not in _TIMES:
            return series.to_numpy()  # type: ignore[no-any-return]
        if nominal or self.looks_nominal(column) or kind not in "iuf":
            return series.to_numpy(dtype=object)  # type: ignore[no-any-return]
        numbers: Array = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if kind in "iu" and (np.abs(numbers) >= _EXACT).any():
            return series.to_numpy(dtype=object)  # type: ignore[no-any-return]
        return numbers


def learn(X: Any, nominal: Any = None) -> tuple[Schema, Table]:
    """Determine the types of a table's columns, and read it.

    Parameters
    ----------
    X : pandas.DataFrame or array of shape (n_items, n_columns)
        The table.
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal columns, in addition to those that the dtypes of a data frame imply.

    Raises
    ------
    ValueError, TypeError
        If a numeric column holds other values than numbers, or an entry of `nominal` matches no column.
    """
    columns = Columns(X)
    chosen = _chosen(nominal, columns)
    mask = np.array([chosen[j] or columns.looks_nominal(j) for j in range(columns.n_columns)])
    categories: list[Mapping[Hashable, int]] = []
    codes = []
    for j in np.flatnonzero(mask):
        found, values = columns.values(int(j))
        categories.append({value: code for code, value in enumerate(values)})
        codes.append(found + 1)
    numbers = [columns.numbers(int(j)) for j in np.flatnonzero(~mask)]
    schema = Schema(mask, columns.names, tuple(categories))
    return schema, _table(numbers, codes, columns.n_items)


def read(schema: Schema, *tables: Any) -> list[Table]:
    """Read tables with the columns of a schema; a new value has the same code in all tables.

    Raises
    ------
    ValueError, TypeError
        If the number, names or order of the columns differ, or a numeric column holds other values than
        numbers.
    """
    given = [Columns(X) for X in tables]
    for columns in given:
        if columns.n_columns != len(schema.nominal):
            msg = (
                f"X has {columns.n_columns} features, but the distance was fitted with "
                f"{len(schema.nominal)} features"
            )
            raise ValueError(msg)
        _check_names(columns.names, schema.names)
    numbers = [[columns.numbers(int(j)) for j in np.flatnonzero(~schema.nominal)] for columns in given]
    codes: list[list[Array]] = [[] for _ in given]
    for known, j in zip(schema.categories, np.flatnonzero(schema.nominal), strict=True):
        every = dict(known)
        for at, columns in enumerate(given):
            found, values = columns.values(int(j))
            _warn_about_types(schema.title(int(j)), known, values)
            place = np.array([-1, *(every.setdefault(value, len(every)) for value in values)])
            codes[at].append(place[found + 1] + 1)
    return [
        _table(one, other, columns.n_items)
        for one, other, columns in zip(numbers, codes, given, strict=True)
    ]


def _warn_about_types(title: str, known: Mapping[Hashable, int], values: list[Any]) -> None:
    """Warn about values that are new only because of their type, such as "1" where 1 is known."""
    if any(value in known for value in values):
        return
    texts = {str(value): value for value in known}
    for value in values:
        if str(value) in texts:
            msg = (
                f"nominal column {title} holds {value!r} and none of the values that the distance was "
                f"fitted with, but these include {texts[str(value)]!r}; do the types differ?"
            )
            warnings.warn(msg, UserWarning, stacklevel=2)
            return


def _table(numbers: list[Array], codes: list[Array], n_items: int) -> Table:
    return Table(
        np.array(numbers, np.float64).reshape(len(numbers), n_items),
        np.array(codes, np.int32).reshape(len(codes), n_items),
    )


def _check_names(names: tuple[Any, ...] | None, known: tuple[Any, ...] | None) -> None:
    """Check column names as scikit-learn does, which requires that all are strings."""
    if names is None or known is None or names == known:
        return
    if not all(isinstance(name, str) for name in (*names, *known)):
        return
    at = next(j for j in range(len(known)) if names[j] != known[j])
    msg = (
        f"column {at} of X has the name {names[at]!r}, but {known[at]!r} when the distance was fitted; "
        "pass the same columns in the same order"
    )
    raise ValueError(msg)


def _title(column: int, names: tuple[Any, ...] | None) -> str:
    return str(column) if names is None else repr(names[column])


def as_array(X: Any) -> Array:
    """Convert to an array, of objects if NumPy would change a value; masked entries become None.

    Raises
    ------
    ValueError
        If the rows have different lengths.
    """
    if np.ma.isMaskedArray(X):
        objects: Array = np.ma.getdata(X).astype(object)
        objects[np.ma.getmaskarray(X)] = None
        return objects
    array = rectangular(X, "X must be a table, all rows of one length,")
    if not hasattr(X, "dtype") and not _is_plain(array):
        # NumPy would convert every value to text if one is text.
        return np.array(X, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array


def _is_plain(array: Array) -> bool:
    """Check whether an array that was made of Python objects holds only numbers, none of them rounded."""
    if array.dtype.kind == "f":
        return not (np.abs(array) >= _EXACT).any()
    return array.dtype.kind in "biuc"


def _chosen(nominal: Any, columns: Columns) -> Array:
    chosen = np.zeros(columns.n_columns, bool)
    if nominal is None:
        return chosen
    if isinstance(nominal, (str, bytes)) or not hasattr(nominal, "__iter__"):
        msg = f"nominal must be a list of columns or a mask, got {nominal!r}"
        raise TypeError(msg)
    wanted = list(nominal)
    if wanted and all(isinstance(one, (bool, np.bool_)) for one in wanted):
        if len(wanted) != columns.n_columns:
            msg = f"nominal, as a mask, must have {columns.n_columns} entries, got {len(wanted)}"
            raise ValueError(msg)
        return np.array(wanted, bool)
    for one in wanted:
        chosen[_place(one, columns)] = True
    return chosen


def _place(one: Any, columns: Columns) -> int:
    names = list(columns.names or ())
    if one in names:
        if names.count(one) > 1:
            msg = f"nominal holds {one!r}, the name of {names.count(one)} columns; give their numbers"
            raise ValueError(msg)
        return names.index(one)
    whole = isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))
    if whole and -columns.n_columns <= one < columns.n_columns:
        return int(one)
    allowed = f"numbers {-columns.n_columns} to {columns.n_columns - 1}"
    if names:
        allowed += f" or names among {', '.join(map(repr, names[:20]))}{', …' if len(names) > 20 else ''}"
    msg = f"nominal must hold {allowed}, got {one!r}"
    raise ValueError(msg)


def _objects_to_reals(raw: Array, title: str) -> Array:
    values = np.empty(len(raw))
    for at, value in enumerate(raw):
        if is_missing(value):
            values[at] = np.nan
        elif isinstance(value, (Real, np.bool_, Decimal)):
            if isinstance(value, Integral):
                _check_exact(title, raw, [at])
            try:
                values[at] = float(value)
            except OverflowError:
                values[at] = np.inf  # which is refused
        else:
            raise TypeError(_no_numbers(title, at, value))
    return values


def _check_exact(title: str, raw: Array, rows: Iterable[int]) -> None:
    for at in rows:
        if abs(int(raw[at])) > _EXACT:
            shown = reprlib.repr(int(raw[at]))
            msg = (
                f"{title} is {shown} in row {at}; integers beyond 2**53 are not exact in float64: name the "
                "column in nominal= if its values are identifiers or categories"
            )
            raise ValueError(msg)


def _no_numbers(title: str, row: int, value: Any) -> str:
    shown = reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, (complex, np.complexfloating)):
        return f"Complex data not supported: {title} is {shown} in row {row}"
    return (
        f"{title} is {shown} in row {row}: the argument must be neither a string nor another object, but a "
        "number; name the column in nominal= if it is nominal, and write None or NaN for missing numbers"
    )


def _factorise(raw: Array, title: str) -> tuple[Array, list[Hashable]]:
    """Number the values by their first occurrence."""
    places: dict[Hashable, int] = {}
    codes = np.empty(len(raw), np.int64)
    for at, value in enumerate(raw):
        if is_missing(value):
            codes[at] = -1
            continue
        try:
            codes[at] = places.setdefault(value, len(places))
        except TypeError as error:
            msg = f"{title} is {value!r} in row {at}; values of a nominal column must be hashable"
            raise TypeError(msg) from error
    return codes, list(places)
