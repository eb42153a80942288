"""Identities and cameras as codes."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import rectangular

KINDS = "biuUS"


def as_names(name: str, values: Any, n_items: int, of: str) -> Array:
    """Identities or cameras: a one-dimensional array of integers or text, one for each item.

    Integers are int64 if they fit, or uint64.

    Raises
    ------
    ValueError, TypeError
        If the number of values is another, or they are neither integers nor text.
    """
    must = f"{name} must be integers or text"
    found = rectangular(values, must)
    if found.ndim == 2 and name.endswith("ids") and found.shape[0] == n_items and found.shape[1] > 1:
        msg = f"{name} must have shape ({n_items},), got {found.shape}: graded relevance is not supported"
        raise ValueError(msg)
    if found.shape != (n_items,):
        hint = "; several arrays go in a tuple" if name == "strata" and n_items in found.shape else ""
        msg = f"{name} must have shape ({n_items},), one for each {of}, got {found.shape}{hint}"
        raise ValueError(msg)
    if np.ma.is_masked(values):
        msg = f"{must}, none missing, got masked entries"
        raise TypeError(msg)
    found = _of_one_kind(must, found, values)
    if found.dtype.kind not in KINDS:
        msg = f"{must}, none missing, got dtype {found.dtype}"
        raise TypeError(msg)
    if found.dtype.kind in "iu" and (found.dtype != np.uint64 or int(found.max()) < 2**63):
        return found.astype(np.int64, copy=False)
    return found


def _of_one_kind(must: str, found: Array, values: Any) -> Array:
    """Objects and whole floats as text or integers; text only if all values are."""
    kind = found.dtype.kind
    if kind in "US" and not isinstance(values, np.ndarray):  # NumPy turns NaN and numbers into text
        found, kind = np.asarray(values, dtype=object), "O"
    if kind == "O":
        for text in (str, bytes):
            others = [value for value in found if not isinstance(value, text)]
            if not others:
                return found.astype(text)
            if len(others) < len(found):
                msg = f"{must}, all of one kind and none missing, got {others[0]!r}"
                raise TypeError(msg)
        for value in found:
            if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
                msg = f"{must}, all of one kind and none missing, got {value!r}"
                raise TypeError(msg)
        try:
            return found.astype(np.int64)
        except OverflowError as error:
            msg = f"{must}, within 64 bits, got {max(found, key=abs)}"
            raise ValueError(msg) from error
    if kind == "f" and np.isfinite(found).all() and (found == np.floor(found)).all():
        digits = min(np.finfo(found.dtype).nmant + 1, 53)
        if float(np.abs(found).max()) > 2.0**digits:
            msg = f"{must}: floats beyond 2**{digits} are not exact, got {found[np.abs(found).argmax()]}"
            raise ValueError(msg)
        return found.astype(np.int64)
    return found


def check_alike(name: str, first: Array, other: str, second: Array) -> None:
    """Raise TypeError if values of the two arrays cannot be compared: integers, bool, text, bytes."""
    if first.dtype.kind == second.dtype.kind:
        return
    text = first.dtype.kind in "US", second.dtype.kind in "US"
    allowed = "both integers or both text"
    if all(text):
        allowed = "both text (str) or both bytes"
    elif not any(text):
        allowed = "both bool or both integers of less than 64 bits"
    msg = f"{name} and {other} must be {allowed}, got {first.dtype} and {second.dtype}"
    raise TypeError(msg)


def codes_in(values: Array, known: Array) -> Array:
    """The position of every value among the sorted `known` ones, or -1."""
    at = np.searchsorted(known, values)
    at[at == len(known)] = 0
    codes: Array = np.where(known[at] == values, at, -1).astype(np.int64)
    return codes


def shared_codes(first: Array, second: Array) -> tuple[Array, Array]:
    """Codes of two arrays, equal for equal values."""
    _, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    codes = codes.ravel().astype(np.int64)
    return codes[: len(first)], codes[len(first) :]
