"""Checks of what users give in place of data: matrices, lists and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import as_reals, check_finite, rectangular
from ..kernel import Array


def as_matrix(D: Any) -> Array:
    """Dissimilarities as a square array of finite real numbers, not copied where that can be helped.

    Raises
    ------
    ValueError, TypeError
        If they are something else.
    """
    if hasattr(D, "tocsr"):
        msg = "the distances are a sparse matrix; use Neighbors.from_graph"
        raise TypeError(msg)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"distances must have shape (n_items, n_items) with n_items >= 2, got {matrix.shape}"
        raise ValueError(msg)
    if np.ma.is_masked(D) or matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8:
        return as_reals("distances", D, must)
    # By blocks of rows: the matrix may be larger than what memory has room for twice.
    step = max(1, 2**21 // len(matrix))
    for start in range(0, len(matrix), step):
        check_finite("distances", matrix[start : start + step], start)
    return matrix


def check_indices(indices: Any) -> Array:
    """Neighbour lists as int32, or ValueError or TypeError: in range, not the item itself, none twice."""
    if np.ma.is_masked(indices):
        msg = "there are masked entries in indices; every value is needed"
        raise ValueError(msg)
    raw = rectangular(indices, "indices must be integers")
    if raw.ndim != 2 or raw.shape[0] < 2 or not 1 <= raw.shape[1] <= raw.shape[0] - 1:
        msg = f"indices must have shape (n_items, depth) with 1 <= depth < n_items, got {raw.shape}"
        raise ValueError(msg)
    if raw.dtype.kind not in "iu":
        msg = f"indices must be integers, got dtype {raw.dtype}"
        raise TypeError(msg)
    n_items = len(raw)
    bad = (raw < 0) | (raw >= n_items)
    if bad.any():
        r, j = (int(at) for at in np.argwhere(bad)[0])
        msg = f"indices[{r}, {j}] is {raw[r, j]}; it must be between 0 and {n_items - 1}"
        raise ValueError(msg)
    own = raw == np.arange(n_items)[:, None]
    if own.any():
        msg = f"indices[{int(np.argwhere(own)[0][0])}] holds the item itself; leave it out"
        raise ValueError(msg)
    ordered = np.sort(raw, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        r, j = (int(at) for at in np.argwhere(twice)[0])
        msg = f"indices[{r}] holds item {ordered[r, j]} twice"
        raise ValueError(msg)
    return raw.astype(np.int32)
