"""Checks of square matrices: distances, similarities, or features that look like distances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals, check_finite, rectangular

BLOCK_VALUES = 2**21  # values checked at a time; a matrix may be too large for a copy
TILE = 512
FEWEST = 3  # two samples have only one order
# With few rows an arbitrary diagonal may be the largest by chance; symmetry is not.
FEW = 10


def as_matrix(D: Any) -> Array:
    """Dissimilarities as a square array of real numbers, copied only if necessary.

    The diagonal need not be finite.

    Raises
    ------
    ValueError, TypeError
        If they are not such a matrix, or are similarities.
    """
    if hasattr(D, "tocsr"):
        msg = "the distances are a sparse matrix; use Neighbors.from_graph"
        raise TypeError(msg)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"distances must have shape (n_items, n_items) with n_items >= 2, got {matrix.shape}"
        raise ValueError(msg)
    if np.ma.is_masked(D):
        matrix = as_reals("distances", D, must)
    elif matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8:
        matrix = as_reals("distances", _finite_diagonal(matrix), must)
    else:
        for start, rows in _blocks(matrix):
            _check_off_diagonal(rows, start)
    if _holds_similarities(matrix):
        msg = (
            "metric 'precomputed' takes distances, but every row's largest value is on the diagonal, as in "
            "a matrix S of similarities; pass distances, such as 1 - S or S.max() - S, or, if these are "
            "distances, put NaN or the smallest value on the diagonal, which is ignored"
        )
        raise ValueError(msg)
    return matrix


def warn_of_distances(X: Array) -> None:
    """Warn if the features of the samples look like their distances."""
    n_items, n_features = X.shape
    if n_items != n_features or n_items < FEWEST or X.diagonal().any():
        return
    if X.min() < 0 or not X.any() or not _symmetric(X):
        return
    msg = (
        "X is square and symmetric with zeros on the diagonal, like distances, but is used as the "
        f'features of {n_items} samples; pass metric="precomputed", or Neighbors.from_distances(X), if it '
        "holds distances"
    )
    warnings.warn(msg, UserWarning, stacklevel=5)


def _blocks(matrix: Array) -> Any:
    """Blocks of rows, with the index of their first row."""
    step = max(1, BLOCK_VALUES // len(matrix))
    for start in range(0, len(matrix), step):
        yield start, matrix[start : start + step]


def _diagonal(rows: Array, start: int) -> tuple[Array, Array]:
    """Positions of the matrix's diagonal in some rows, of which the first is row `start`."""
    return np.arange(len(rows)), np.arange(start, start + len(rows))


def _check_off_diagonal(rows: Array, start: int) -> None:
    if not np.isfinite(rows).all():
        others = np.array(rows)
        others[_diagonal(rows, start)] = 0
        check_finite("distances", others, start)


def _finite_diagonal(matrix: Array) -> Array:
    """The matrix, or a copy in which diagonal values that are not finite are 0."""
    if matrix.dtype.kind not in "fO":
        return matrix
    diagonal = matrix.diagonal()
    lost = [
        i
        for i, value in enumerate(diagonal)
        if isinstance(value, (float, np.floating)) and not np.isfinite(value)
    ]
    if lost:
        matrix = matrix.copy()
        matrix[lost, lost] = 0
    return matrix


def _holds_similarities(matrix: Array) -> bool:
    """Return True if every row's largest value is on the diagonal; for distances the first rows suffice."""
    if len(matrix) < FEWEST:
        return False
    higher = False
    for start, rows in _blocks(matrix):
        diagonal = rows[_diagonal(rows, start)]
        if not (np.isfinite(diagonal).all() and (rows.max(axis=1) <= diagonal).all()):
            return False
        higher = higher or bool((rows.min(axis=1) < diagonal).any())
    return higher and (len(matrix) >= FEW or _symmetric(matrix))


def _symmetric(matrix: Array) -> bool:
    """Return True if a matrix equals its transpose up to rounding."""
    for row in range(0, len(matrix), TILE):
        for column in range(row, len(matrix), TILE):
            one = matrix[row : row + TILE, column : column + TILE]
            other = matrix[column : column + TILE, row : row + TILE].T
            if not np.allclose(one, other, rtol=1e-6, atol=1e-9 * float(np.abs(one).max())):
                return False
    return True
