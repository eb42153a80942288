"""Identities and cameras as codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation import rectangular

KINDS = "biuUS"


def as_names(name: str, values: Any, n_items: int, of: str) -> Array:
    """Identities or cameras: a one-dimensional array of integers or text, one for each item.

    Raises
    ------
    ValueError, TypeError
        If the number of values is another, or they are neither integers nor text.
    """
    must = f"{name} must be integers or text"
    found = rectangular(values, must)
    if found.ndim == 2 and name.endswith("ids"):
        msg = f"{name} must have shape ({n_items},), got {found.shape}: graded relevance is not supported"
        raise ValueError(msg)
    if found.shape != (n_items,):
        msg = f"{name} must have shape ({n_items},), one for each {of}, got {found.shape}"
        raise ValueError(msg)
    if found.dtype.kind == "O" and all(isinstance(value, str) for value in found):
        found = found.astype(str)
    if found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.floor(found)).all():
        found = found.astype(np.int64)
    if np.ma.is_masked(values) or found.dtype.kind not in KINDS:
        msg = f"{must}, none missing, got dtype {found.dtype}"
        raise TypeError(msg)
    return found


def check_alike(name: str, first: Array, other: str, second: Array) -> None:
    """Raise TypeError if one array is text and the other is not."""
    if (first.dtype.kind in "US") != (second.dtype.kind in "US"):
        msg = f"{name} and {other} must both be integers or both text, got {first.dtype} and {second.dtype}"
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
