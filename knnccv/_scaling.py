"""Scalings of the columns of a table over all samples, without a look at the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._typing import Array
from ._validation import as_reals, check_choice

SCALINGS = ("raw", "standardized", "min-max")


def scaled(X: Any, scaling: str) -> Array:
    """The columns of a table, scaled over all samples.

    Parameters
    ----------
    X : array or pandas.DataFrame of shape (n_items, n_features)
        Finite numbers.
    scaling : {"raw", "standardized", "min-max"}
        As given; zero mean and unit standard deviation; or from 0 to 1. Scaled constant columns are 0.

    Returns
    -------
    float64 ndarray of shape (n_items, n_features)

    Raises
    ------
    ValueError
        If a value is not a finite number, or the scaling is not as above.

    Examples
    --------
    >>> from knnccv.reporting import scaled
    >>> scaled([[1.0, 5.0], [3.0, 5.0]], "standardized")
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    check_choice("scaling", scaling, SCALINGS)
    numbers = as_reals("X", X, "X must hold real numbers, (n_items, n_features)")
    if numbers.ndim != 2:
        msg = f"X must be a table of shape (n_items, n_features), got shape {numbers.shape}"
        raise ValueError(msg)
    if scaling == "raw":
        return numbers
    return standardized(numbers) if scaling == "standardized" else min_max_scaled(numbers)


def standardized(X: Array) -> Array:
    """The columns scaled to zero mean and unit standard deviation over all samples; constant ones are 0."""
    shifted, varies = _within_range(X)
    return _divided(shifted - shifted.mean(axis=0), shifted.std(axis=0), varies)


def min_max_scaled(X: Array) -> Array:
    """The columns scaled to the range from 0 to 1 over all samples; constant ones are 0."""
    shifted, varies = _within_range(X)
    low = shifted.min(axis=0)
    return _divided(shifted - low, shifted.max(axis=0) - low, varies)


def _within_range(X: Array) -> tuple[Array, Array]:
    """The columns times powers of two, and which of them are not constant.

    Powers of two change no digit, and keep the squares of large and small values within range. Which
    columns vary is known beforehand, as rounding of the mean can make constants seem to vary.
    """
    exponents = np.frexp(np.abs(X).max(axis=0))[1]
    return np.ldexp(X, -exponents), X.max(axis=0) > X.min(axis=0)


def _divided(columns: Array, width: Array, varies: Array) -> Array:
    out: Array = np.zeros_like(columns)
    np.divide(columns, width, out=out, where=varies)
    return out
