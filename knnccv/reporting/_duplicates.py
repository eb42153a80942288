"""Rows that are equal but have different labels or targets."""

from __future__ import annotations

import numpy as np

from .._typing import Array


def row_groups(X: Array) -> Array:
    """Number the distinct rows of a table.

    Rows are equal if all their entries are: missing values (NaN) equal each other, and -0.0 equals 0.0.

    Parameters
    ----------
    X : float64 ndarray of shape (n_items, n_features)
        The columns.

    Returns
    -------
    int64 ndarray of shape (n_items,)
        The same number for equal rows, from 0.
    """
    if not X.shape[1]:
        return np.zeros(len(X), np.int64)
    table = np.ascontiguousarray(np.where(np.isnan(X), np.nan, X) + 0.0)
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    return np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)


def conflicting(groups: Array, codes: Array) -> Array:
    """Return the items whose group holds different codes, int64, ascending.

    Parameters
    ----------
    groups : int64 ndarray of shape (n_items,)
        `row_groups`.
    codes : ndarray of shape (n_items,)
        Codes of the labels, or targets.
    """
    n_groups = int(groups.max()) + 1
    low = np.full(n_groups, np.inf)
    high = np.full(n_groups, -np.inf)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    return np.flatnonzero((low < high)[groups])
