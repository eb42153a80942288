"""What a step of a pipeline does, found out by trying: whether labels or other samples have a say."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._typing import Array
from ._estimators import InexactError, length_of

SINGLE_ROWS = 64
"""Rows that are transformed one by one."""
SMALL_BATCHES = 8
"""Batches of the finer of two random partitions."""


def made(step: Any, X: Any, y: Any = None, seed: int = 0) -> Any:
    """What a copy of the step, fitted to X (and y) as pipelines do, makes of X.

    All copies of one `seed` draw the same random numbers, so that differences come from their data alone.
    """
    from sklearn.base import clone

    copy = clone(step)
    params = copy.get_params()
    copy.set_params(**{name: seed for name in params if name.rpartition("__")[2] == "random_state"})
    labels = () if y is None else (y,)
    with _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of the caller's own step has said them
        if hasattr(copy, "fit_transform"):
            copy.fit_transform(X, *labels)
        else:
            copy.fit(X, *labels)
        return copy.transform(X)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Everybody's random numbers start at `seed`, and are put back afterwards."""
    world, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002 - steps may draw from it
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(world)  # noqa: NPY002
        random.setstate(pythons)


def uses_labels(step: Any, X: Any, y: Array) -> bool | None:
    """Whether what the step makes of X depends on the labels it is fitted to.

    Fits to y, to y once more, to nothing, and to permuted labels are compared.

    Returns
    -------
    bool or None
        None where that cannot be told, as two fits to the same labels differ, or none succeeds.
    """
    if not _differ(y):
        return False
    try:
        given = made(step, X, y)
        if not agree(made(step, X, y), given):
            return None
        return not all(agree(made(step, X, labels), given) for labels in (None, _permuted(y)))
    except Exception:  # of whatever kind: the step is not ours
        return False if _takes_none(step) else None


def _takes_none(step: Any) -> bool:
    """Whether `fit` has no place for labels."""
    try:
        parameters = inspect.signature(step.fit).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = inspect.Parameter
    if any(p.kind is kinds.VAR_POSITIONAL for p in parameters):
        return False
    return sum(p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters) < 2


def ignores_seed(step: Any, X: Any) -> bool:
    """Whether the step makes the same of X whatever random numbers it draws."""
    return agree(made(step, X, seed=1), made(step, X))


def _differ(y: Array) -> bool:
    return bool((y != y[:1]).any())


def _permuted(y: Array) -> Array:
    """The labels in another order that is no mere renaming, where there is one."""
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


def by_itself(name: str, step: Any, X: Any) -> Any:
    """What a step without memory makes of X, if it treats every sample by itself.

    Raises
    ------
    InexactError
        If what it makes of a sample depends on the samples beside it, or if it fails for fewer of them.
    """
    from sklearn.base import clone

    copy = clone(step)
    copy.fit(X)
    whole = copy.transform(X)
    whole = whole.tocsr() if hasattr(whole, "tocsr") else np.asarray(whole)
    n_items = length_of(X)
    tolerance = _rounding(whole.dtype)
    alike = whole.shape[:1] == (n_items,)
    for rows in _parts(X, n_items) if alike else ():
        some = _rows(X, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                # A single row would be too little for some checks of `fit`, not of `transform`.
                fitted = copy if len(rows) == 1 else clone(step).fit(some)
                part = fitted.transform(some)
            except Exception as error:
                msg = f"the step {name!r} fails for {len(rows)} of the samples alone ({error})"
                raise InexactError(msg) from error
        if not agree(part, whole[rows], tolerance):
            alike = False
            break
    if not alike:
        msg = f"the step {name!r} makes of a sample what depends on the other samples beside it"
        raise InexactError(msg)
    return whole


def _parts(X: Any, n_items: int) -> Iterator[Array]:
    """Rows to look at apart from the others: single ones, then all in random batches."""
    rng = np.random.default_rng(0)
    rows = np.arange(n_items)
    if n_items > SINGLE_ROWS:
        # What batches share (a maximum, a mean of what is known) shows in the rows that make it.
        special = rng.permutation(_extremes(X))[: SINGLE_ROWS * 3 // 4]
        others = rng.permutation(np.setdiff1d(rows, special))
        rows = np.concatenate([special, others])[:SINGLE_ROWS]
    for row in rows:
        yield np.array([row])
    for n_batches in (2, SMALL_BATCHES):
        if n_items >= 2 * n_batches:
            yield from np.array_split(rng.permutation(n_items), n_batches)


def _extremes(X: Any) -> Array:
    """Rows that hold the least or the greatest value of a column, or an unknown one."""
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
    """What sums in another order may make of results of this kind, relative to their size."""
    return 100 * float(np.finfo(dtype).eps) if dtype.kind in "fc" and dtype.itemsize < 8 else 1e-12


def agree(one: Any, other: Any, tolerance: float = 1e-12) -> bool:
    """Whether two results of a step are the same but for rounding."""
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
