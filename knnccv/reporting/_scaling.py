"""The scalings that a report compares."""

from __future__ import annotations

from typing import Any

from .._scaling import min_max_scaled, standardized
from .._typing import Array
from .._validation import as_reals, check_choice

SCALINGS = ("raw", "standardized", "min-max")
SCALE_THEMSELVES = ("heom", "hvdm")
"""Metrics of mixed tables."""


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
