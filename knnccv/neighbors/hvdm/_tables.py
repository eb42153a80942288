"""Reading of tables with numeric, categorical and missing values into arrays of numbers and codes.

Fitting a distance decides which columns are numeric and which are nominal (categorical); later tables are
read accordingly. None, NaN, NaT, pandas.NA and masked entries are missing values.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ..._base.labels import is_missing
from ..._base.typing import Array
from ..._base.validation import check, rectangular

_TIMES = "mM"
_EXACT = 2**53
"""Integers up to this size are exact in float64."""

NUMBERS = (Real, np.bool_, Decimal)


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
        return str(column) if self.names is None else repr(self.names[column])


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


class Column(NamedTuple):
    """A column of the user's table.

    Attributes
    ----------
    dtype : Any
        Its type in the table.
    values : ndarray
        As pandas or NumPy converts it; of other libraries numbers, or objects with None for missing values.
    exact : ndarray
        The same as objects where that conversion may round or change a value.
    is_nominal : bool
        Whether a data frame's column is categorical, text, bool or of objects.
    is_category : bool
        Whether it is of a type for categories.
    """

    dtype: Any
    values: Array
    exact: Array
    is_nominal: bool = False
    is_category: bool = False

    def numbers(self, title: str) -> Array:
        """The column as float64 with NaN for missing values; an error if it holds other values."""
        msg = (
            f"{title} holds dates or times ({self.dtype}); pass numbers, such as days since the first, "
            "or name the column in nominal="
        )
        check(self.dtype.kind not in _TIMES, msg, error=TypeError)
        values = as_numbers(self.exact, title)
        for at in np.flatnonzero(np.abs(values) >= _EXACT):
            given = self.exact[at]
            if isinstance(given, Integral) and abs(int(given)) > _EXACT:
                msg = (
                    f"{title} is {reprlib.repr(int(given))} in row {at}; integers beyond 2**53 are not "
                    "exact in float64: name the column in nominal= if its values are identifiers or "
                    "categories"
                )
                raise ValueError(msg)
        check_bounded(values, self.exact, title)
        return values

    def codes(self, title: str) -> tuple[Array, list[Hashable]]:
        """Codes of the distinct values, -1 for missing ones, and the values."""
        raw = self.exact
        if raw.dtype.kind == "O":
            return factorized(raw, title)
        if raw.dtype.kind in _TIMES:
            # As Python's times, which are equal in any unit; units below microseconds do not fit.
            coarse = raw.astype(f"{raw.dtype.kind}8[us]")
            raw = coarse if ((coarse.astype(raw.dtype) == raw) | np.isnat(raw)).all() else raw
        known = raw == raw  # missing values are not equal to themselves
        values, codes = np.unique(raw[known], return_inverse=True)
        found = np.full(len(raw), -1, np.int64)
        found[known] = codes
        return found, list(values.tolist())


def columns_of(X: Any) -> tuple[tuple[Any, ...] | None, list[Column]]:
    """The names of the columns of the user's table, None if it has none, and the columns.

    Raises
    ------
    ValueError, TypeError
        If it is no table, or sparse.
    """
    check(not hasattr(X, "tocsr"), "X is a sparse matrix; pass X.toarray()", error=TypeError)
    names, columns = _of_others(X)
    if not columns and hasattr(X, "to_pandas") and not is_frame(X):
        X = X.to_pandas()
    table = X if columns or is_frame(X) else as_array(X)
    check(len(table.shape) == 2, f"X must have shape (n_items, n_features), got shape {table.shape}")
    check(table.shape[1] >= 1, f"X must have at least 1 feature, got shape {table.shape}")
    if columns:
        return tuple(names), columns
    if is_frame(X):
        return tuple(X.columns), [_of_pandas(X.iloc[:, j]) for j in range(X.shape[1])]
    return None, [Column(table.dtype, column, column) for column in table.T]


def _of_pandas(series: Any) -> Column:
    from pandas.api import types

    dtype, values = series.dtype, np.asarray(series)
    is_category = str(dtype) == "category"
    # pandas counts bool as numeric; here it is nominal. Dates are neither: see `Column.numbers`.
    kinds = types.is_bool_dtype, types.is_object_dtype, types.is_string_dtype
    is_nominal = is_category or any(is_kind(dtype) for is_kind in kinds)
    plain = isinstance(dtype, np.dtype) and dtype.kind not in _TIMES
    return Column(
        dtype, values, values if plain else series.to_numpy(dtype=object), is_nominal, is_category
    )


def _of_others(X: Any) -> tuple[list[str], list[Column]]:
    """The columns of a table of polars, PyArrow, …; none if `X` is no such table."""
    names, columns = list[str](), list[Column]()
    if is_frame(X) or not hasattr(X, "to_pandas"):
        return names, columns
    import narwhals

    frame = narwhals.from_native(X, eager_only=True, pass_through=True)
    for column in () if frame is X else frame.iter_columns():
        kind = column.dtype
        # Integers with missing values would be rounded.
        if kind.is_float() or (kind.is_integer() and "128" not in str(kind) and not column.null_count()):
            values = column.to_numpy()
        else:
            values = np.fromiter(column.to_list(), object, len(column))
        is_nominal = not (kind.is_numeric() or kind.is_temporal())
        is_category = isinstance(kind, (narwhals.Categorical, narwhals.Enum))
        names.append(column.name)
        columns.append(Column(values.dtype, values, values, is_nominal, is_category))
    return names, columns


def is_frame(X: Any) -> bool:
    """Return True if a table is a data frame of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def learn(X: Any, nominal: Any = None) -> tuple[Schema, Table]:
    """Determine the types of a table's columns, and read it.

    Parameters
    ----------
    X : data frame of any library, or array, of shape (n_items, n_columns)
        The table.
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal columns, in addition to those that the dtypes of a data frame imply.

    Raises
    ------
    ValueError, TypeError
        If a numeric column holds other values than numbers, or an entry of `nominal` matches no column.
    """
    names, columns = columns_of(X)
    mask = chosen_columns("nominal", nominal, names, len(columns))
    mask |= [column.is_nominal for column in columns]
    unread = Schema(mask, names, ({},) * int(mask.sum()))
    categories, (table,) = _read(unread, [columns])
    return replace(unread, categories=categories), table


def read(schema: Schema, *tables: Any) -> list[Table]:
    """Read tables with the columns of a schema; a new value has the same code in all tables.

    Raises
    ------
    ValueError, TypeError
        If the number, names or order of the columns differ, or a numeric column holds other values than
        numbers.
    """
    given = []
    for names, columns in map(columns_of, tables):
        msg = (
            f"X has {len(columns)} features, but the distance was fitted with "
            f"{len(schema.nominal)} features"
        )
        check(len(columns) == len(schema.nominal), msg)
        _check_names(names, schema.names)
        given.append(columns)
    return _read(schema, given)[1]


def _read(schema: Schema, given: list[list[Column]]) -> tuple[tuple[dict[Hashable, int], ...], list[Table]]:
    """Return the known values and the new ones of every nominal column, and the tables."""
    titles = [f"X[:, {schema.title(j)}]" for j in range(len(schema.nominal))]
    numeric, nominal = np.flatnonzero(~schema.nominal).tolist(), np.flatnonzero(schema.nominal).tolist()
    tables = []
    for columns in given:
        numbers = [columns[j].numbers(titles[j]) for j in numeric]
        n_items = len(columns[0].values)
        codes = np.empty((len(nominal), n_items), np.int32)
        tables.append(Table(np.array(numbers).reshape(len(numeric), n_items), codes))
    every: tuple[dict[Hashable, int], ...] = tuple(dict(known) for known in schema.categories)
    for at, j in enumerate(nominal):
        for columns, table in zip(given, tables, strict=True):
            found, values = columns[j].codes(titles[j])
            _warn_about_types(schema.title(j), schema.categories[at], values)
            place = np.array([-1, *(every[at].setdefault(value, len(every[at])) for value in values)])
            table.codes[at] = place[found + 1] + 1
    return every, tables


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


def chosen_columns(argument: str, wanted: Any, names: tuple[Any, ...] | None, n_columns: int) -> Array:
    """Return which columns the user names by their names or numbers, or by a mask; bool (n_columns,).

    Raises
    ------
    ValueError, TypeError
        Beginning with the name of the argument, if an entry matches no column or several ones.
    """
    chosen = np.zeros(n_columns, bool)
    if wanted is None:
        return chosen
    is_list = hasattr(wanted, "__iter__") and not isinstance(wanted, (str, bytes))
    check(is_list, f"{argument} must be a list of columns or a mask", wanted, TypeError)
    wanted, known = list(wanted), list(names or ())
    if wanted and all(isinstance(one, (bool, np.bool_)) for one in wanted):
        msg = f"{argument}, as a mask, must have {n_columns} entries, got {len(wanted)}"
        check(len(wanted) == n_columns, msg)
        return np.array(wanted, bool)
    for one in wanted:
        whole = isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))
        if known.count(one) > 1:
            msg = f"{argument} holds {one!r}, the name of {known.count(one)} columns; give their numbers"
            raise ValueError(msg)
        if one in known:
            chosen[known.index(one)] = True
        elif whole and -n_columns <= one < n_columns:
            chosen[one] = True
        else:
            allowed = f"numbers {-n_columns} to {n_columns - 1}"
            if known:
                more = ", …" if len(known) > 20 else ""
                allowed += f" or names among {', '.join(map(repr, known[:20]))}{more}"
            msg = f"{argument} must hold {allowed}, got {one!r}"
            raise ValueError(msg)
    return chosen


def as_numbers(raw: Array, title: str) -> Array:
    """Return values as float64 with NaN for missing ones; numbers that are too large become infinite.

    Raises
    ------
    TypeError
        Beginning with the title, if one is no real number.
    """
    if raw.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # of long doubles
            return raw.astype(np.float64)
    values = np.full(len(raw), np.nan)
    for at, value in enumerate(raw):
        if is_missing(value):
            continue
        if not isinstance(value, NUMBERS):
            raise TypeError(_no_number(title, at, value))
        try:
            values[at] = float(value)
        except OverflowError:
            values[at] = np.inf
    return values


def check_bounded(values: Array, raw: Array, title: str) -> None:
    """Raise ValueError, beginning with the title, if a number is infinite, given so or too large."""
    infinite = np.isinf(values)
    if infinite.any():
        at = int(np.argmax(infinite))
        shown = reprlib.repr(raw[at]) if isinstance(raw[at], Integral) else values[at]
        msg = (
            f"{title} is {shown} in row {at}: numbers must be finite and within the range of float64; "
            "write NaN or None for missing values"
        )
        raise ValueError(msg)


def _no_number(title: str, row: int, value: Any) -> str:
    shown = reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, (complex, np.complexfloating)):
        return f"Complex data not supported: {title} is {shown} in row {row}"
    return (
        f"{title} is {shown} in row {row}: the argument must be neither a string nor another object, but a "
        "number; name the column in nominal= if it is nominal, and write None or NaN for missing numbers"
    )


def factorized(raw: Array, title: str) -> tuple[Array, list[Hashable]]:
    """Number the values by their first occurrence, -1 for missing ones; return the codes and the values.

    Raises
    ------
    TypeError
        Beginning with the title, if a value is not hashable.
    """
    places: dict[Hashable, int] = {}
    codes = np.full(len(raw), -1, np.int64)
    for at, value in enumerate(raw if raw.dtype.kind in _TIMES else raw.tolist()):
        if is_missing(value):
            continue
        try:
            codes[at] = places.setdefault(value, len(places))
        except TypeError as error:
            shown = reprlib.repr(value)
            msg = f"{title} is {shown} in row {at}; values of a nominal column must be hashable"
            raise TypeError(msg) from error
    return codes, list(places)
