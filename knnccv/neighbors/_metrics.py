"""Metrics by name: surrogate values that order the samples, and their conversion to distances.

Samples are ordered by a surrogate if the distance itself could lose the order. Euclidean distances are
ordered by their squares, since the square root maps neighboring doubles to one. Cosine and correlation
are ordered by squared distances of rows scaled to one length, for which proportional rows are equal to
the last bit and small angles do not cancel. Great circles are ordered by the chord.

Each pair is computed by an expression that is symmetric to the last bit. Equal rows are therefore at
distance 0, have the same distance to every other row, and tie.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._base.typing import Array
from .._base.validation import as_reals, check, check_real, refuse_fitted
from ..kernel import jit
from ._inputs import NO_ZERO, check_features, safely_scaled, shifted

Metric = str | Callable[[Array, Array], float]

ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
NAMES = (
    "euclidean",
    "sqeuclidean",
    "manhattan",
    "chebyshev",
    "minkowski",
    "cosine",
    "correlation",
    "hamming",
    "jaccard",
    "tanimoto",
    "canberra",
    "braycurtis",
    "mahalanobis",
    "haversine",
)
PARAMETERS = {"minkowski": ("p",), "mahalanobis": ("V", "VI")}
SPARSE_NAMES = ("euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard", "tanimoto")
# Names of the surrogates, which are those of scipy, where they differ.
_SURROGATES = {"manhattan": "cityblock", "euclidean": "sqeuclidean"}
# Degree of homogeneity of the surrogate; metrics without a degree do not depend on the scale of the data.
_DEGREES = {"euclidean": 2, "sqeuclidean": 2, "manhattan": 1, "chebyshev": 1, "minkowski": 1}


ABREAST = 64
PIECE = 4096  # rows
# Largest and smallest binary exponents for which sums of values, or of their squares, are safe.
SUMS = 900, -1000
SQUARES = 450, -450


def unchanged(values: Array) -> Array:
    return values


@dataclass(frozen=True)
class PreparedMetric:
    """Data and functions that compare samples.

    Attributes
    ----------
    data : ndarray of shape (n_items, n_features), or SparseTable
        The data as the metric takes them.
    compare : callable
        ``compare(data[rows], data)`` → surrogate values of shape (n_rows, n_items).
    to_distance : callable
        Distances from surrogate values. Default: they are the same.
    kind : str
        Name of the surrogate for the faster engines; "sparse" for sparse data, which `compare` does not
        take; empty if brute force alone serves.
    """

    data: Any
    compare: Callable[[Array, Array], Array]
    to_distance: Callable[[Array], Array] = unchanged
    kind: str = ""


def ranking(X: Any, metric: Metric, params: Mapping[str, Any] | None) -> PreparedMetric:
    """Check the data and prepare the comparison.

    Raises
    ------
    ValueError
        If the data are not finite, or the metric or one of its parameters is unknown.
    TypeError
        If the data are not real numbers.
    """
    must = "metric_params must be None or a mapping of names to values"
    check(params is None or isinstance(params, Mapping), must, params, TypeError)
    given = dict(params or {})
    refuse_fitted("metric", metric)
    if callable(metric):
        _no_params(given, "a callable metric")
        if hasattr(X, "tocsr"):
            raise TypeError(_dense_only("a callable metric"))
        return PreparedMetric(check_features(X), partial(_by_callable, metric))
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else None
    msg = "metric 'precomputed' takes distances, not data: use Neighbors.from_distances"
    check(name != "precomputed", msg)
    if name not in NAMES:
        raise ValueError(_unknown(metric))
    own = {key: given.pop(key) for key in PARAMETERS.get(name, ()) if key in given}
    _no_params(given, f"metric {metric!r}")
    if hasattr(X, "tocsr"):
        return _sparse(X, name)
    if name == "minkowski":
        return _scaled(check_features(X), "minkowski", p=_check_p(own.get("p", 2.0)))
    if name in _DEGREES:
        return _scaled(check_features(X, keep_single=True), name)
    if name == "hamming":
        return PreparedMetric(check_features(X, keep_single=True), partial(compare_by, name))
    data = check_features(X)
    if name == "jaccard":
        return PreparedMetric(_present(data), partial(compare_by, name))
    if name == "tanimoto":
        return PreparedMetric(with_squares(safely_scaled(data, name, *SQUARES)[0]), tanimoto)
    if name == "canberra":
        return PreparedMetric(safely_scaled(data, name, *SUMS)[0], partial(compare_by, name))
    if name == "braycurtis":
        return PreparedMetric(_amounts(safely_scaled(data, name, *SUMS)[0]), braycurtis)
    if name == "mahalanobis":
        factors, power = factors_of(own, data.shape[1])
        scaled, shift = safely_scaled(data, name, *SQUARES)
        return PreparedMetric(scaled, partial(quadratic, factors), partial(_root, shift + power))
    if name == "haversine":
        return PreparedMetric(on_sphere(data), partial(compare_by, "sqeuclidean"), arcs, "sqeuclidean")
    return _angular(data, name)


def name_of(metric: Metric) -> str:
    """The name of a metric, for display."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)


def _sparse(X: Any, name: str) -> PreparedMetric:
    if name not in SPARSE_NAMES:
        raise TypeError(_dense_only(f"metric {name!r}"))
    from ._engines.sparse_rows import sparse_table

    data, shift = sparse_table(X, _SURROGATES.get(name, name))
    return PreparedMetric(data, _no_comparison, _unscaled(name, shift), "sparse")


def _no_comparison(rows: Array, all_rows: Array) -> Array:  # noqa: ARG001
    msg = "sparse rows are searched, not compared"
    raise TypeError(msg)


def _dense_only(what: str) -> str:
    served = ", ".join(SPARSE_NAMES)
    return f"X is a sparse matrix, which {what} does not take, only {served}; pass X.toarray()"


def _scaled(data: Array, name: str, **kwargs: Any) -> PreparedMetric:
    """A homogeneous metric on data scaled to a safe range by a power of two, which is exact."""
    degree = _DEGREES[name]
    # Powers and their sums must neither overflow nor vanish.
    limit = 500 if degree == 2 else int(1000 / max(kwargs.get("p", 1.0), 1.0))
    low = 50 - limit if degree == 2 or "p" in kwargs else -2000
    scaled, shift, smallest = shifted(data, name, limit, low)
    function = _SURROGATES.get(name, name)
    compare, kind = partial(compare_by, function, **kwargs), function
    if name == "minkowski":
        compare, kind = partial(_guarded, compare, kwargs["p"], kwargs["p"]), ""
    elif degree == 2 and smallest < low:
        compare, kind = partial(_guarded, compare, 1.0, 2), ""
    return PreparedMetric(scaled, compare, _unscaled(name, shift), kind)


def _unscaled(name: str, shift: int) -> Callable[[Array], Array]:
    """Distances from the surrogate values of data that were divided by 2**shift."""
    if name == "euclidean":
        return partial(_root, shift)
    angular = name in ("cosine", "correlation")
    return partial(_times_power, -1 if angular else _DEGREES.get(name, 0) * shift)


def _angular(data: Array, name: str) -> PreparedMetric:
    rows, zero = unit_rows(data, centered=name == "correlation")
    if not zero.any():
        return PreparedMetric(rows, partial(compare_by, "sqeuclidean"), _unscaled(name, 0), "sqeuclidean")
    # An added column marks rows without a direction, whose distance to every row is 1.
    rows = np.column_stack([rows, zero.astype(float)])
    return PreparedMetric(rows, _angles, _unscaled(name, 0))


def unit_rows(data: Array, *, centered: bool) -> tuple[Array, Array]:
    """Rows scaled to one length, and which have no direction; `centered` for correlation."""
    if centered:
        constant = data.max(axis=1) == data.min(axis=1)
        scaled = np.ldexp(data, -np.frexp(np.abs(data).max(axis=1, keepdims=True))[1])
        from_first = scaled - scaled[:, :1]  # exact for values that are close together
        # Multiplied by n_features, the mean of moderate integers is exact, and proportional rows stay so.
        centered_rows = data.shape[1] * from_first - from_first.sum(axis=1, keepdims=True)
        data = np.where(constant[:, None], 0.0, centered_rows)
    largest = np.abs(data).max(axis=1, keepdims=True)
    # Proportional rows have the same quotients to the last bit.
    rows = data / np.where(largest == 0, 1.0, largest)
    rows /= np.maximum(np.sqrt((rows * rows).sum(axis=1, keepdims=True)), 1.0)
    return rows, largest[:, 0] == 0


def _angles(rows: Array, all_rows: Array) -> Array:
    """Twice the cosine distances; the last column marks rows without a direction."""
    values = compare_by("sqeuclidean", rows[:, :-1], all_rows[:, :-1])
    values[rows[:, -1] == 1, :] = 2.0
    values[:, all_rows[:, -1] == 1] = 2.0
    return values


def _present(data: Array) -> Array:
    """Boolean data: True where a value is not 0."""
    if data.all() and (data != 1).any():
        raise ValueError(NO_ZERO)
    return np.asarray(data != 0)


# Plain functions with `partial`, not closures: a `PreparedMetric` must be picklable.


def _guarded(
    compare: Callable[[Array, Array], Array], root: float, power: float, rows: Array, all_rows: Array
) -> Array:
    """Values of `compare`, which are `root`-th roots of sums of powers, if no power has vanished."""
    values = compare(rows, all_rows)
    small = values <= 1e-290 ** (1 / root)
    if small.any():
        lost = small & (compare_by("chebyshev", rows, all_rows) > 0)
        msg = (
            f"differences to the power of {power} vanish compared with the largest values "
            "of X; take a smaller power (as 'manhattan'), 'chebyshev' or minkowski with a smaller p"
        )
        check(not lost.any(), msg)
    return values


def _by_callable(metric: Callable[[Array, Array], float], rows: Array, all_rows: Array) -> Array:
    values = np.empty((len(rows), len(all_rows)))
    all_rows = all_rows.view()
    rows.flags.writeable = all_rows.flags.writeable = False  # the metric must not change the data
    for r, one in enumerate(rows):
        for c, other in enumerate(all_rows):
            value = metric(one, other)
            values[r, c] = value if isinstance(value, float) else _one_real(value)
    return values


def _one_real(value: Any) -> float:
    single = np.asarray(value)
    is_one = not single.ndim and single.dtype.kind in "biuf"
    check(is_one, "the metric must return one real number", value, TypeError)
    return float(single)


def _root(shift: int, values: Array) -> Array:
    return np.ldexp(np.sqrt(values), shift)


def _times_power(exponent: int, values: Array) -> Array:
    return np.ldexp(values, exponent) if exponent else values


def _check_p(p: Any) -> float:
    value = check_real("p of the minkowski metric", p)
    msg = f"p of the minkowski metric must be positive and finite (use 'chebyshev' for infinity), got {p}"
    check(0 < value < np.inf, msg)
    return value


def _no_params(params: Mapping[str, Any], what: str) -> None:
    if params:
        msg = f"{what} takes no parameter {sorted(params)[0]!r}"
        raise TypeError(msg)


def _unknown(metric: object) -> str:
    if isinstance(metric, str) and metric == "nan_euclidean":
        return (
            "pass knnccv.neighbors.hvdm.HEOM().fit(X).neighbors() for missing values, or "
            "Neighbors.from_distances(D) with D of sklearn.metrics.pairwise.nan_euclidean_distances: "
            "'nan_euclidean' is no metric here"
        )
    names = (*NAMES, *ALIASES, "precomputed")
    closest = difflib.get_close_matches(str(metric).lower(), names, n=1)
    hint = f"; did you mean {closest[0]!r}?" if closest else ""
    return f"metric must be a callable or one of {', '.join(names)}, got {metric!r}{hint}"


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


def _amounts(data: Array) -> Array:
    """The data; with a column for the positive and one for the negative part if there are negative values.

    For these columns ``sum |x + y|`` of scipy is ``sum |x| + |y|``, and ``sum |x - y|`` is unchanged.
    """
    return np.hstack([np.maximum(data, 0), np.maximum(-data, 0)]) if data.min() < 0 else data


def braycurtis(rows: Array, all_rows: Array) -> Array:
    """``sum |x - y| / sum (|x| + |y|)`` of amounts; two empty rows are equal."""
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
    msg = (
        f"{name} of the mahalanobis metric must have shape ({n_features}, {n_features}), got {matrix.shape}"
    )
    check(matrix.shape == (n_features, n_features), msg)
    largest = float(np.abs(matrix).max())
    msg = f"{name} of the mahalanobis metric must be symmetric"
    check(np.allclose(matrix, matrix.T, rtol=0, atol=1e-8 * largest), msg)
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
def _quadratic(factors: Array, rows: Array, all_rows: Array, values: Array) -> None:
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
    n_features = data.shape[1]
    check(n_features == 2, "metric 'haversine' needs 2 features, latitude and longitude", n_features)
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
