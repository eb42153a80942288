"""Checks of arguments, shared by all modules; every message names the value and the allowed ones."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from .typing import Array


class ByValue:
    """Objects of one class are equal if all their public attributes are; arrays are compared by value."""

    def _attributes(self) -> Any:
        return _key({name: value for name, value in vars(self).items() if not name.startswith("_")})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ByValue) or type(self) is not type(other):
            return NotImplemented
        return bool(self._attributes() == other._attributes())

    def __hash__(self) -> int:
        return hash((type(self), self._attributes()))


def _key(value: Any) -> Any:
    """A hashable value, equal for equal values."""
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, dict):
        return frozenset((name, _key(part)) for name, part in value.items())
    return tuple(map(_key, value)) if isinstance(value, (list, tuple)) else value


def check(is_right: Any, must: str, got: Any = ..., error: type[Exception] = ValueError) -> None:
    """Raise an error unless something is right.

    Parameters
    ----------
    is_right : bool
    must : str
        What must be, or the whole message if `got` is left out. It is formed in any case, `got` only if
        something is wrong.
    got : object, optional
        What is instead, for the message: ``f"{must}, got {got!r}"``.
    error : type, default ValueError
        The error.
    """
    if not is_right:
        raise error(must if got is ... else f"{must}, got {got!r}")


def check_integer(name: str, value: Any, least: int, most: int | None = None, limit: str = "") -> int:
    """Return the value as a Python integer; `limit` describes the largest allowed value in words.

    Raises
    ------
    TypeError
        If it is not an integer; booleans are refused.
    ValueError
        If it is below `least` or above `most`.
    """
    is_integer = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    check(is_integer, f"{name} must be an integer", value, TypeError)
    number = int(value)
    must = f"{name} must be between {least} and {most}{limit and f', {limit}'}"
    check(most is None or least <= number <= most, must, number)
    check(number >= least, f"{name} must be at least {least}", number)
    return number


def check_real(name: str, value: Any) -> float:
    """Return the value as a Python float.

    Raises
    ------
    TypeError
        If it is not a real number; booleans are refused.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        msg = f"{name} must be a real number, got {value!r}"
        raise TypeError(msg)
    try:
        return float(value)
    except OverflowError:  # an integer of more than 300 digits
        return math.inf if value > 0 else -math.inf


def check_bool(name: str, value: Any) -> bool:
    """Return the value as a bool.

    Raises
    ------
    TypeError
        If it is neither True nor False.
    """
    check(isinstance(value, (bool, np.bool_)), f"{name} must be True or False", value, TypeError)
    return bool(value)


def check_tol(tol: Any) -> None:
    """Raise ValueError or TypeError unless `tol` is a number in [0, 1)."""
    check(0 <= check_real("tol", tol) < 1, f"tol must be in [0, 1), got {tol}")


def as_reals(name: str, values: Any, must: str) -> Array:
    """Return the values as a C-contiguous float64 array; refuse text, large integers and missing values.

    Long doubles and Fractions are rounded to float64.

    Parameters
    ----------
    name : str
        The name of the values in messages about one of them.
    values : array_like
        Any number of dimensions.
    must : str
        The requirement, as the beginning of a message.

    Raises
    ------
    TypeError
        If they are not real numbers.
    ValueError
        If they are ragged or masked, one is not finite, or an integer is not exact in float64.
    """
    check(not np.ma.is_masked(values), f"there are masked entries in {name}; every value is needed")
    raw = rectangular(values, must)
    check(raw.dtype.kind in "biufO", f"{must}, got dtype {raw.dtype}", error=TypeError)
    if raw.dtype.kind == "O":
        raw = raw.copy()
        for at in np.ndindex(raw.shape):
            if raw[at] is None or type(raw[at]).__name__ == "NAType":  # a missing number, no text
                raw[at] = math.nan
            if not isinstance(raw[at], (Real, np.bool_)):
                msg = f"{must}, got {raw[at]!r} at {_place(name, at)}"
                raise TypeError(msg)
    large = _inexact(raw)
    if large is not None:
        shown = reprlib.repr(int(raw[large]))
        msg = f"{_place(name, large)} is {shown}; integers beyond 2**53 are not exact in float64"
        raise ValueError(msg)
    try:
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(raw, dtype=np.float64).reshape(raw.shape)
    except OverflowError as error:
        msg = f"{must} within the range of float64: {error}"
        raise ValueError(msg) from error
    check_finite(name, data)
    return data


def rectangular(values: Any, must: str) -> Array:
    """Return the values as an array of any type.

    Raises
    ------
    ValueError
        Beginning with `must`, if they are ragged.
    TypeError
        If they are a table that has not been computed.
    """
    msg = f"call collect() first: a {type(values).__name__} holds no values yet"
    check(not hasattr(values, "collect") or hasattr(values, "__array__"), msg, error=TypeError)
    try:
        return np.asarray(values)
    except ValueError as error:
        msg = f"{must} in a rectangular array: {error}"
        raise ValueError(msg) from error


def check_finite(name: str, data: Array, first_row: int = 0) -> None:
    """Raise ValueError at the first value that is not finite; `data` starts at row `first_row`."""
    # In pieces, because the data may be a file larger than the memory.
    step = max(2**20 * len(data) // max(data.size, 1), 1) if data.ndim else 1
    for start in range(0, len(data), step) if data.ndim else (0,):
        piece = data[start : start + step] if data.ndim else data
        finite = np.isfinite(piece)
        if not finite.all():
            at = tuple(int(i) for i in np.argwhere(~finite)[0])
            shown = (at[0] + start + first_row, *at[1:])
            # Distances exist for missing features, but not for missing distances or costs.
            is_feature = name == "X" and np.isnan(piece[at])
            hint = "; knnccv.neighbors.hvdm.HEOM accepts tables with missing values" if is_feature else ""
            msg = f"{_place(name, shown)} is {piece[at]}; every value must be finite{hint}"
            raise ValueError(msg)


def _inexact(raw: Array) -> tuple[int, ...] | None:
    """The place of an integer that is not exact in float64 (beyond 2**53), or None."""
    if raw.dtype.kind == "O":
        large = (
            at for at in np.ndindex(raw.shape) if isinstance(raw[at], Integral) and abs(raw[at]) > 2**53
        )
        return next(large, None)
    if raw.dtype.kind not in "iu" or raw.dtype.itemsize < 8 or raw.size == 0:
        return None
    outside = (raw > 2**53) | (raw < -(2**53)) if raw.dtype.kind == "i" else raw > 2**53
    return tuple(int(i) for i in np.argwhere(outside)[0]) if outside.any() else None


def _place(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]"


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise ValueError if `value` is not one of the allowed words."""
    must = f"{name} must be one of {', '.join(map(repr, allowed))}"
    check(isinstance(value, str) and value in allowed, must, value)


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return the generator for a seed, or the given generator.

    Raises
    ------
    TypeError, ValueError
        If it is not None, a non-negative integer or a numpy Generator.
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, (bool, np.bool_)) or not isinstance(random_state, (int, np.integer)):
        msg = f"random_state must be None, an integer or a numpy Generator, got {random_state!r}"
        raise TypeError(msg)
    return np.random.default_rng(check_integer("random_state", random_state, 0))


def fixed_seed(random_state: Any) -> int:
    """Return a seed with which several computations draw the same random numbers.

    Raises
    ------
    TypeError, ValueError
        As `check_random_state`.
    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return check_integer("random_state", random_state, 0)
    return int(check_random_state(random_state).integers(2**32))


WRONG_WAY = (
    "see Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, §7.10.2, "
    '"The Wrong and Right Way to Do Cross-validation"'
)


def refuse_fitted(name: str, value: Any) -> None:
    """Raise TypeError if `value` is an estimator where data or a metric is expected."""
    # A table may have a column of that name.
    msg = (
        f"{name} is {type(value).__name__}, which is fitted to samples; distances must not depend on "
        f"the split, and a step that uses the labels must not see the tested samples ({WRONG_WAY}): "
        "knnccv.sklearn.expected_score fits a pipeline to each training set separately"
    )
    check(not callable(getattr(value, "fit", None)) or callable(value), msg, error=TypeError)


def lowest(values: Array, n: Any) -> Array:
    """Indices of the n lowest values, or of all if there are fewer, as int64; equal ones in their order.

    Raises
    ------
    TypeError, ValueError
        If n is not a positive integer.
    """
    n = check_integer("n", n, 1)
    return np.argsort(values, kind="stable")[:n].astype(np.int64)


def in_columns_of(X: Any, X_test: Any) -> Any:
    """The table `X_test` with its columns in the order of X, if both have names; else as it is.

    Raises
    ------
    ValueError
        If the names are others, or one stands twice in another order.
    """
    names, other = (_names_of(table) for table in (X, X_test))
    if names is None or other is None or names == other:
        return X_test
    if apart := names_apart(names, other, "in X"):
        msg = f"give X_test the columns of X, each name once: {apart}"
        raise ValueError(msg)
    return X_test.select(names) if hasattr(X_test, "select") else X_test[names]


def names_apart(wanted: Sequence[str], given: Sequence[str], where: str) -> str:
    """How names differ from those wanted, whatever their order: which are missing, unknown, or repeated."""
    lists = {
        "missing": set(wanted) - set(given),
        f"not {where}": set(given) - set(wanted),
        "several times": {name for name in given if given.count(name) > 1},
    }
    return ", ".join(f"{what} {reprlib.repr(sorted(names))}" for what, names in lists.items() if names)


def _names_of(table: Any) -> list[str] | None:
    """The names of the columns of a table of pandas, polars or PyArrow; None if they have none."""
    found = getattr(table, "column_names", getattr(table, "columns", None))
    names = None if found is None or callable(found) or not hasattr(found, "__iter__") else list(found)
    return names if names and all(isinstance(name, str) for name in names) else None
