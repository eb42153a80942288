"""Dissimilarities that are not sums of powers, and the scaling of data before powers are summed.

Data are scaled by powers of two, so that sums and squares neither overflow nor vanish.

Each pair is computed by an expression that is symmetric to the last bit. Equal rows are therefore at
distance 0, have the same distance to every other row, and tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals
from ..kernel import jit

NO_ZERO = (
    "metric 'jaccard' compares which values are 0, and X has none: all distances would be 0; "
    "'tanimoto' and 'braycurtis' compare amounts"
)

ABREAST = 64
PIECE = 4096  # rows
# Largest and smallest binary exponents for which sums of values, or of their squares, are safe.
SUMS = 900, -1000
SQUARES = 450, -450


def compare_by(name: str, rows: Array, all_rows: Array, **kwargs: Any) -> Array:
    """Values of a distance of scipy, of shape (n_rows, n_items)."""
    from scipy.spatial.distance import cdist  # takes 0.1 s, too long for `import knnccv`

    if all_rows.dtype != np.float32:
        values: Array = cdist(rows, all_rows, name, **kwargs)
        return values
    values = np.empty((len(rows), len(all_rows)))  # in pieces, as cdist converts its input
    for start in range(0, len(all_rows), PIECE):
        piece = slice(start, start + PIECE)
        values[:, piece] = cdist(rows, all_rows[piece], name, **kwargs)
    return values


def with_squares(data: Array) -> Array:
    """The data with an appended column of squared lengths, summed over the features in order."""
    return np.column_stack([data, compare_by("sqeuclidean", data, np.zeros((1, data.shape[1])))])


def tanimoto(rows: Array, all_rows: Array) -> Array:
    """``|x - y|^2 / (|x|^2 + |y|^2 - x.y)``; the last column has the squared lengths.

    ``2 (|x|^2 + |y|^2 - x.y)`` is ``|x|^2 + |y|^2 + |x - y|^2``. Two empty rows are equal.
    """
    squares = compare_by("sqeuclidean", rows[:, :-1], all_rows[:, :-1])
    total = rows[:, -1:] + all_rows[:, -1] + squares
    return 2 * squares / np.where(total > 0, total, 1.0)


def braycurtis(rows: Array, all_rows: Array) -> Array:
    """``sum |x - y| / sum |x + y|``; two empty rows are equal."""
    values = compare_by("braycurtis", rows, all_rows)
    values[np.isnan(values)] = 0.0  # finite numbers give NaN only as 0 / 0
    return values


def factors_of(given: Mapping[str, Any], n_features: int) -> tuple[Array, int]:
    """Vectors f, as rows, with sum ``(f.z)^2 = z.VI.z / 4**power``, and this power.

    Parameters
    ----------
    given : mapping
        ``V``, a covariance matrix, or ``VI``, its inverse.
    n_features : int

    Raises
    ------
    ValueError, TypeError
        If not exactly one of them is given, or it is not a symmetric matrix of this size without negative
        eigenvalues; those of V must be positive.
    """
    if len(given) != 1:
        why = "not both" if given else "not taken from X, as distances would then depend on the split"
        msg = (
            "metric 'mahalanobis' needs metric_params={'V': covariance matrix} or {'VI': its inverse}, "
            + why
        )
        raise ValueError(msg)
    name, value = next(iter(given.items()))
    matrix = as_reals(name, value, f"{name} of the mahalanobis metric must hold real numbers")
    if matrix.shape != (n_features, n_features):
        msg = (
            f"{name} of the mahalanobis metric must have shape ({n_features}, {n_features}), "
            f"got {matrix.shape}"
        )
        raise ValueError(msg)
    largest = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-8 * largest):
        msg = f"{name} of the mahalanobis metric must be symmetric"
        raise ValueError(msg)
    power = int(np.frexp(largest)[1])
    unit = np.ldexp(matrix, -power)
    sizes, vectors = np.linalg.eigh((unit + unit.T) / 2)
    rounding = 4 * n_features * np.finfo(float).eps * max(float(sizes[-1]), 0.0)
    if sizes[-1] <= 0 or sizes[0] < -1e-8 * sizes[-1] or (name == "V" and sizes[0] <= rounding):
        kind = "positive definite" if name == "V" else "positive semidefinite and not 0"
        smallest = np.ldexp(sizes[0], power)
        msg = f"{name} of the mahalanobis metric must be {kind}, got the eigenvalue {smallest:.3g}"
        raise ValueError(msg)
    kept = sizes > rounding  # the rounding error of an eigenvalue 0 would separate ties
    if power % 2:
        sizes, power = 2 * sizes, power - 1
    roots = np.sqrt(sizes[kept])
    factors = (vectors[:, kept] / roots if name == "V" else vectors[:, kept] * roots).T
    return np.ascontiguousarray(factors), -power // 2 if name == "V" else power // 2


def quadratic(factors: Array, rows: Array, all_rows: Array) -> Array:
    """Squared Mahalanobis distances, from differences, so that opposite differences tie."""
    values = np.empty((len(rows), len(all_rows)))
    _quadratic(factors, rows, all_rows, values)
    return values


@jit
def _quadratic(factors, rows, all_rows, values):
    """Fill in sums of ``(f.(x - y))^2`` over the rows f of `factors`; O(features) per pair and factor."""
    n_items, n_features = all_rows.shape
    others = np.zeros((n_features, ABREAST))
    gaps = np.zeros((n_features, ABREAST))
    part = np.empty(ABREAST)
    total = np.empty(ABREAST)
    for start in range(0, n_items, ABREAST):
        count = min(ABREAST, n_items - start)
        for j in range(count):
            for f in range(n_features):
                others[f, j] = all_rows[start + j, f]
        for r in range(len(rows)):
            total[:] = 0.0
            for f in range(n_features):
                value = rows[r, f]
                for j in range(ABREAST):
                    gaps[f, j] = value - others[f, j]
            for k in range(len(factors)):
                part[:] = 0.0
                for f in range(n_features):
                    weight = factors[k, f]
                    for j in range(ABREAST):
                        part[j] += weight * gaps[f, j]
                for j in range(ABREAST):
                    total[j] += part[j] * part[j]
            values[r, start : start + count] = total[:count]


def on_sphere(data: Array) -> Array:
    """Points of the unit sphere, from latitudes and longitudes in radians.

    Raises
    ------
    ValueError
        If there are not two columns, or a value is out of the range of its angle.
    """
    if data.shape[1] != 2:
        msg = f"metric 'haversine' needs 2 features, latitude and longitude, got {data.shape[1]}"
        raise ValueError(msg)
    for column, (name, limit) in enumerate((("latitude", np.pi / 2), ("longitude", 2 * np.pi))):
        beyond = np.flatnonzero(np.abs(data[:, column]) > limit * (1 + 1e-9))
        if len(beyond):
            at = f"X[{beyond[0]}, {column}] is {data[beyond[0], column]}"
            msg = f"{at}; a {name} in radians is within {limit:.4f} of 0 (from degrees: np.radians(X))"
            raise ValueError(msg)
    # Each angle is computed once, so that equal samples have equal points with any vector instructions.
    angles, places = np.unique(data, return_inverse=True)
    places = places.reshape(data.shape)
    sine, cosine = np.sin(angles)[places], np.cos(angles)[places]
    points = (cosine[:, 0] * cosine[:, 1], cosine[:, 0] * sine[:, 1], sine[:, 0])
    return np.ascontiguousarray(np.stack(points, axis=1))


def arcs(squares: Array) -> Array:
    """Angles, in radians, from squared chords."""
    return 2 * np.arcsin(np.minimum(np.sqrt(squares) / 2, 1.0))


def shifted(data: Array, name: str, limit: int, low: int) -> tuple[Array, int, int]:
    """The data divided by 2**shift, exactly; the shift; the smallest exponent afterwards.

    The data are scaled if the largest exponent is above `limit` or the smallest below `low`. The largest
    exponent is then `limit`.

    Raises
    ------
    ValueError
        If small values would lose digits.
    """
    largest, smallest = span(data)
    shift = largest - limit if largest > limit or smallest < low else 0
    scaled = np.ldexp(data, -shift) if shift else data
    if shift and (np.ldexp(scaled, shift) != data).any():
        raise ValueError(_too_wide(name, smallest, largest))
    return scaled, shift, smallest - shift


def safely_scaled(data: Array, name: str, limit: int, low: int) -> tuple[Array, int]:
    """The data and the shift from `shifted`, with all exponents at least `low`.

    Raises
    ------
    ValueError
        If the data span more orders of magnitude.
    """
    scaled, shift, smallest = shifted(data, name, limit, low)
    if smallest < low:
        raise ValueError(_too_wide(name, smallest + shift, span(data)[0]))
    return scaled, shift


def _too_wide(name: str, smallest: int, largest: int) -> str:
    return f"X spans too many orders of magnitude for metric {name!r}: 2**{smallest} to 2**{largest}"


def span(data: Array) -> tuple[int, int]:
    """Binary exponents of the largest and the smallest nonzero absolute value."""
    largest, smallest = 0.0, np.inf
    for start in range(0, len(data), PIECE):
        size = np.abs(data[start : start + PIECE])
        largest = max(largest, float(size.max()))
        smallest = min(smallest, float(size.min(where=size > 0, initial=np.inf)))
    return _exponent(largest), _exponent(min(smallest, largest))


def _exponent(largest: float) -> int:
    return int(np.frexp(largest)[1]) if largest > 0 else 0
