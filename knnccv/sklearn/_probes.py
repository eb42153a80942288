"""Trial fits of a pipeline's step, which show whether its output depends on labels or on other samples."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._typing import Array
from ..driver import InexactError
from ._estimators import length_of

SINGLE_ROWS = 64
"""The number of rows that are transformed one by one."""
SMALL_BATCHES = 8
"""The number of batches in the finer of two random partitions."""


def fit_transform(step: Any, X: Any, y: Any = None, seed: int = 0) -> Any:
    """Fit a copy of the step to X (and y) as a pipeline does, and return the transformed X.

    Copies with the same `seed` draw the same random numbers, so their outputs differ only by the data.
    """
    from sklearn.base import clone

    copy = clone(step)
    params = copy.get_params()
    copy.set_params(**{name: seed for name in params if name.rpartition("__")[2] == "random_state"})
    labels = () if y is None else (y,)
    with _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of the caller's own step has issued them
        if hasattr(copy, "fit_transform"):
            copy.fit_transform(X, *labels)
        else:
            copy.fit(X, *labels)
        return copy.transform(X)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Set the global random states to `seed`, and restore them at the end."""
    world, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002 - steps may draw from it
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(world)  # noqa: NPY002
        random.setstate(pythons)


def uses_labels(step: Any, X: Any, y: Array) -> bool | None:
    """Check whether the output of the step depends on the labels that it is fitted to.

    Fits to y, to y once more, without labels, and to permuted labels are compared.

    Returns
    -------
    bool or None
        None if this is unknown, since two fits to the same labels differ or no fit succeeds.
    """
    if not _differ(y):
        return False
    try:
        given = fit_transform(step, X, y)
        if not agree(fit_transform(step, X, y), given):
            return None
        return not all(agree(fit_transform(step, X, labels), given) for labels in (None, _permuted(y)))
    except Exception:  # a step of the user may raise anything
        return False if _takes_none(step) else None


def _takes_none(step: Any) -> bool:
    """Check whether `fit` has no parameter for labels."""
    try:
        parameters = inspect.signature(step.fit).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = inspect.Parameter
    if any(p.kind is kinds.VAR_POSITIONAL for p in parameters):
        return False
    return sum(p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters) < 2


def ignores_seed(step: Any, X: Any) -> bool:
    """Check whether the output of the step is the same for another seed."""
    return agree(fit_transform(step, X, seed=1), fit_transform(step, X))


def _differ(y: Array) -> bool:
    return bool((y != y[:1]).any())


def _permuted(y: Array) -> Array:
    """Permute the labels so that the classes are not merely renamed, if possible."""
    rng = np.random.default_rng(0)
    _, codes = np.unique(y, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    n_classes = int(codes.max()) + 1
    order = rng.permutation(len(y))
    for _ in range(20):
        if len(np.unique(codes * n_classes + codes[order])) > n_classes:
            break
        order = rng.permutation(len(y))
    return y[order]


def transform_rows(name: str, step: Any, X: Any) -> Any:
    """Return the output of a stateless step, if it transforms every sample independently of the others.

    Raises
    ------
    InexactError
        If the output for a sample depends on the other samples, or the step fails for a part of them.
    """
    from sklearn.base import clone

    copy = clone(step)
    copy.fit(X)
    whole = copy.transform(X)
    whole = whole.tocsr() if hasattr(whole, "tocsr") else np.asarray(whole)
    n_items = length_of(X)
    tolerance = _rounding(whole.dtype)
    same = whole.shape[:1] == (n_items,)
    for rows in _parts(X, n_items) if same else ():
        part_of_X = _rows(X, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                # Some checks in `fit` refuse a single row; `transform` does not.
                fitted = copy if len(rows) == 1 else clone(step).fit(part_of_X)
                part = fitted.transform(part_of_X)
            except Exception as error:
                msg = f"the step {name!r} fails for {len(rows)} of the samples without the others ({error})"
                raise InexactError(msg) from error
        if not agree(part, whole[rows], tolerance):
            same = False
            break
    if not same:
        msg = f"the output of the step {name!r} for a sample depends on the other samples"
        raise InexactError(msg)
    return whole


def _parts(X: Any, n_items: int) -> Iterator[Array]:
    """Yield the rows to transform separately: single rows, then all rows in random batches."""
    rng = np.random.default_rng(0)
    rows = np.arange(n_items)
    if n_items > SINGLE_ROWS:
        # Statistics of a batch (a maximum, a mean of known values) show in the rows that determine them.
        special = rng.permutation(_extremes(X))[: SINGLE_ROWS * 3 // 4]
        others = rng.permutation(np.setdiff1d(rows, special))
        rows = np.concatenate([special, others])[:SINGLE_ROWS]
    for row in rows:
        yield np.array([row])
    for n_batches in (2, SMALL_BATCHES):
        if n_items >= 2 * n_batches:
            yield from np.array_split(rng.permutation(n_items), n_batches)


def _extremes(X: Any) -> Array:
    """Return the rows with the smallest or largest value of a column, or with a missing value."""
    if hasattr(X, "tocsr"):
        return np.empty(0, int)
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] == 0 or values.dtype.kind not in "biuf":
        return np.empty(0, int)
    found = [values.argmin(axis=0), values.argmax(axis=0)]
    if values.dtype.kind == "f" and np.isnan(values[found[0], range(values.shape[1])]).any():
        known = np.nan_to_num(values)
        found += [known.argmin(axis=0), known.argmax(axis=0)]
    return np.unique(np.concatenate(found))


def _rounding(dtype: Any) -> float:
    """Return the relative rounding error of sums in another order, for results of this dtype."""
    return 100 * float(np.finfo(dtype).eps) if dtype.kind in "fc" and dtype.itemsize < 8 else 1e-12


def agree(one: Any, other: Any, tolerance: float = 1e-12) -> bool:
    """Check whether two outputs of a step are equal up to rounding."""
    sparse = hasattr(one, "tocsr"), hasattr(other, "tocsr")
    if any(sparse):
        if not all(sparse) or one.shape != other.shape:
            return False
        largest = float(abs(other).max()) if other.nnz else 0.0
        difference = abs(one - other)
        return not difference.nnz or float(difference.max()) <= max(1e-9, tolerance) * largest
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" or other.dtype.kind not in "fc":
        unknown = (one != one) & (other != other)  # NaN among objects
        return bool(((one == other) | unknown).all())
    finite = np.abs(other[np.isfinite(other)])
    rounding = tolerance * float(finite.max(initial=0.0))
    return bool(np.allclose(one, other, rtol=max(1e-9, tolerance), atol=rounding, equal_nan=True))


def _rows(X: Any, rows: Array) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)
