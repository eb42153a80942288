"""Checks of features, dense and sparse, and of square matrices of distances.

Features that look like distances are pointed out, and similarities in place of distances refused. Features
are scaled by powers of two, so that sums and squares neither overflow nor vanish.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._base.typing import Array
from .._base.validation import as_reals, check, check_finite, rectangular, refuse_fitted

NO_ZERO = (
    "metric 'jaccard' compares which values are 0, and X has none: all distances would be 0; "
    "'tanimoto' and 'braycurtis' compare amounts"
)
PIECE = 4096  # rows
BLOCK_VALUES = 2**21  # values checked at a time; a matrix may be too large for a copy
TILE = 512
FEWEST = 3  # two samples have only one order
# With few rows an arbitrary diagonal may be the largest by chance; symmetry is not.
FEW = 10


def as_features(name: str, X: Any, kinds: tuple[Any, ...]) -> Array:
    """Features as an array of two dimensions, checked.

    Parameters
    ----------
    name : str
        "X", "queries" or "gallery".
    X : array_like
    kinds : tuple of type
        Arrays of these floats are returned as they are; all others become C-contiguous float64.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers of two dimensions, or rows (of X, two) or features are missing.
    """
    refuse_fitted(name, X)
    must = f"{name} must hold real numbers"
    try:
        raw = X if np.ma.isMaskedArray(X) else rectangular(X, must)
        ragged = raw.ndim == 1 and raw.dtype.kind == "O" and all(np.ndim(row) for row in raw)
    except ValueError:
        ragged = True
    msg = (
        "pass Neighbors.from_distances(D) of your own distances for series of unequal length (such as "
        f"time warping): {must} in a rectangular array, got rows of unequal length"
    )
    check(not ragged, msg)
    _check_shape(name, raw.shape)
    if np.ma.isMaskedArray(X) or raw.dtype not in kinds:
        return as_reals(name, X if raw.dtype.kind == "O" else raw, must)
    check_finite(name, raw)
    return np.asarray(raw)


def check_features(X: Any, *, keep_single: bool = False) -> Array:
    """The data as a C-contiguous float64 array of shape (n_items, n_features), checked.

    With `keep_single`, float32 data are not converted to float64.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers of two dimensions, with at least two samples and one feature.
    """
    refuse_fitted("X", X)
    check(not hasattr(X, "tocsr"), "X is a sparse matrix; pass X.toarray()", error=TypeError)
    try:
        data = np.ascontiguousarray(as_features("X", X, (np.float32,) if keep_single else ()))
    except TypeError as error:
        if np.asarray(X).dtype.kind not in "OUST":
            raise
        msg = f"{error}; for tables with text, use knnccv.neighbors.hvdm.HEOM().fit(X).neighbors()"
        raise TypeError(msg) from error
    warn_of_distances(data)
    return data


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    msg = f"{name} must have shape (n_items, n_features), got shape {shape}"
    check(len(shape) == 2 and (name == "X" or 0 not in shape), msg)
    msg = f"X must have at least 2 samples and 1 feature, got shape {shape}"
    check(name != "X" or (shape[0] >= 2 and shape[1] >= 1), msg)


def as_csr(X: Any) -> Any:
    """A copy of sparse data in canonical form: float64, sorted, no duplicates, no stored zeros.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers in two dimensions, at least two samples and one feature.
    """
    _check_shape("X", X.shape)
    csr = X.tocsr(copy=True)
    csr.sum_duplicates()
    csr.data = _real_values("X", csr)
    csr.eliminate_zeros()
    if csr.shape[0] == csr.shape[1] > 2 and csr.nnz and not csr.diagonal().any():
        msg = (
            "X is square with an empty diagonal, like neighbor graphs and distances, but is used as "
            f"the features of {csr.shape[0]} samples; pass Neighbors.from_graph(X) if it holds distances"
        )
        warnings.warn(msg, UserWarning, stacklevel=5)
    return csr


def check_sparse(name: str, X: Any) -> Any:
    """Sparse features of queries or gallery as CSR, checked.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers of two dimensions.
    """
    msg = f"queries and gallery must both be sparse or both dense, but {name} is dense"
    check(hasattr(X, "tocsr"), msg, error=TypeError)
    _check_shape(name, X.shape)
    csr = X.tocsr()
    _real_values(name, csr)
    return csr


def _real_values(name: str, csr: Any) -> Array:
    """The stored values of a CSR matrix as float64.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers.
    """
    finite = np.isfinite(csr.data) if csr.dtype.kind == "f" else np.ones(1, bool)
    if not finite.all():
        at = int(np.argmin(finite))
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        msg = f"{name}[{row}, {csr.indices[at]}] is {csr.data[at]}; every value must be finite"
        raise ValueError(msg)
    return as_reals(f"the values stored in {name}", csr.data, f"{name} must hold real numbers")


def as_matrix(D: Any) -> Array:
    """Dissimilarities as a square array of real numbers, copied only if necessary.

    The diagonal need not be finite.

    Raises
    ------
    ValueError, TypeError
        If they are not such a matrix, or are similarities.
    """
    msg = "the distances are a sparse matrix; use Neighbors.from_graph"
    check(not hasattr(D, "tocsr"), msg, error=TypeError)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    msg = f"distances must have shape (n_items, n_items) with n_items >= 2, got {matrix.shape}"
    check(matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and len(matrix) >= 2, msg)
    if np.ma.is_masked(D):
        matrix = as_reals("distances", D, must)
    elif matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8:
        matrix = as_reals("distances", _finite_diagonal(matrix), must)
    else:
        for start, rows in _blocks(matrix):
            if not np.isfinite(rows).all():
                others = np.array(rows)
                others[_diagonal(rows, start)] = 0
                check_finite("distances", others, start)
    msg = (
        "metric 'precomputed' takes distances, but every row's largest value is on the diagonal, as in "
        "a matrix S of similarities; pass distances, such as 1 - S or S.max() - S, or, if these are "
        "distances, put NaN or the smallest value on the diagonal, which is ignored"
    )
    check(not _holds_similarities(matrix), msg)
    return matrix


def warn_of_distances(X: Array) -> None:
    """Warn if the features of the samples look like their distances."""
    n_items, n_features = X.shape
    like_distances = n_items == n_features and n_items >= FEWEST and not X.diagonal().any()
    if not like_distances or X.min() < 0 or not X.any() or not _symmetric(X):
        return
    msg = (
        "X is square and symmetric with zeros on the diagonal, like distances, but is used as the "
        f'features of {n_items} samples; pass metric="precomputed", or Neighbors.from_distances(X), if it '
        "holds distances"
    )
    warnings.warn(msg, UserWarning, stacklevel=5)


def warn_of_signs(metric: Any, *tables: Any, stacklevel: int = 5) -> None:
    """Warn if some feature has values of both signs, for which there are two Bray-Curtis distances."""
    if not isinstance(metric, str) or metric != "braycurtis":
        return
    values = np.concatenate([np.asarray(table, dtype=float) for table in tables])
    if not ((values.min(axis=0) < 0) & (values.max(axis=0) > 0)).any():
        return
    msg = (
        "X has features of both signs: metric 'braycurtis' is that of scikit-learn, which divides by "
        "sum (|x| + |y|); scipy divides by sum |x + y| and finds other neighbors"
    )
    warnings.warn(msg, UserWarning, stacklevel=stacklevel)


def _blocks(matrix: Array) -> Any:
    """Blocks of rows, with the index of their first row."""
    step = max(1, BLOCK_VALUES // len(matrix))
    for start in range(0, len(matrix), step):
        yield start, matrix[start : start + step]


def _diagonal(rows: Array, start: int) -> tuple[Array, Array]:
    """Positions of the matrix's diagonal in some rows, of which the first is row `start`."""
    return np.arange(len(rows)), np.arange(start, start + len(rows))


def _finite_diagonal(matrix: Array) -> Array:
    """The matrix, or a copy in which diagonal values that are not finite are 0."""
    if matrix.dtype.kind not in "fO":
        return matrix
    matrix = matrix.copy()
    for i, value in enumerate(matrix.diagonal().tolist()):
        if isinstance(value, (float, np.floating)) and not np.isfinite(value):
            matrix[i, i] = 0
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
