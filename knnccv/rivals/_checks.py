"""Checks that several rivals share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labels import is_missing
from .._typing import Array
from .._validation import as_reals, check_real


def check_positive(name: str, value: Any) -> float:
    """Return the number; ValueError unless it is finite and positive."""
    number = check_real(name, value)
    if not 0 < number < np.inf:
        msg = f"{name} must be positive and finite, got {value}"
        raise ValueError(msg)
    return number


def as_list(name: str, values: Any, least: int) -> Array:
    """Return finite real numbers as float64 (n,); ValueError if they are not one-dimensional or too few."""
    data = as_reals(name, values, f"{name} must be real numbers")
    if data.ndim != 1:
        msg = f"{name} must have one dimension, got shape {data.shape}"
        raise ValueError(msg)
    if len(data) < least:
        msg = f"{name} must have at least {least} values, got {len(data)}"
        raise ValueError(msg)
    return data


def as_table(name: str, values: Any, n_rows: int | None, n_columns: int) -> Array:
    """Return finite real numbers as float64 (n_rows, n_columns); ValueError for another shape."""
    data = as_reals(name, values, f"{name} must be real numbers")
    if data.ndim != 2 or data.shape[1] != n_columns or (n_rows is not None and len(data) != n_rows):
        shape = f"({'n' if n_rows is None else n_rows}, {n_columns})"
        msg = f"{name} must have shape {shape}, got {data.shape}"
        raise ValueError(msg)
    return data


def as_correct(name: str, values: Any) -> Array:
    """Return bool (n,) from booleans or numbers 0 and 1."""
    data = as_list(name, values, 1)
    wrong = (data != 0) & (data != 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        msg = f"{name} must be True or False for every sample, got {name}[{at}] = {data[at]:g}"
        raise ValueError(msg)
    correct: Array = data == 1
    return correct


def as_labels(name: str, values: Any) -> Array:
    """Return labels as an array; ValueError if one is missing: None, NaN, NaT, pandas.NA, or masked."""
    labels = np.asarray(values)
    if np.ma.is_masked(values):
        msg = f"{name} holds masked entries; every sample needs a label"
        raise ValueError(msg)
    if labels.ndim == 1 and (isinstance(values, (list, tuple)) or labels.dtype.kind not in "biuSU"):
        # NumPy turns the missing values of a list of text into text
        given = values if isinstance(values, (list, tuple)) else labels
        for at, label in enumerate(given):
            if is_missing(label):
                msg = f"{name}[{at}] is missing ({label!r}); every sample needs a label"
                raise ValueError(msg)
    return labels
