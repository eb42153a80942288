"""Scalings of the columns of a table over all samples, without a look at the labels."""

from __future__ import annotations

import numpy as np

from ._typing import Array


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
