"""Calls of feature selectors on training samples: of functions, and of objects that are fitted."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals, rectangular

_MUST = "select must return column indices or a mask"


def check_selector(select: Any) -> None:
    """Raise TypeError if `select` is not a selector."""
    must = "select must be a function (X_train, y_train) or an object with fit and get_support or transform"
    if isinstance(select, type):
        msg = f"select must be an instance, got the class {select.__name__}; call it first"
        raise TypeError(msg)
    fits = hasattr(select, "fit")
    if not (hasattr(select, "get_support") or hasattr(select, "transform") if fits else callable(select)):
        msg = f"{must}, got {select!r}"
        raise TypeError(msg)


def names_columns(select: Any) -> bool:
    """Check whether the selector returns columns; otherwise it makes new features."""
    return not hasattr(select, "fit") or hasattr(select, "get_support")


def screened(select: Any, X: Array, labels: Array, train: Array, test: Array) -> tuple[Array, Array | None]:
    """Return the selected or transformed features of the training samples, then of the tested ones.

    Parameters
    ----------
    select : object
        A selector that `check_selector` accepts.
    X : ndarray of shape (n_items, n_features)
        All samples.
    labels : ndarray of shape (n_items,)
        Their labels; those of the tested samples are not used.
    train, test : int ndarray
        Indices of the training samples and of the tested samples.

    Returns
    -------
    data : float64 ndarray of shape (n_train + n_test, n_columns)
        The features.
    columns : int64 ndarray of shape (n_columns,), or None
        The selected columns in ascending order; None if the features are new.

    Raises
    ------
    ValueError, TypeError
        If the selector returns a value that is not allowed.
    """
    items = np.concatenate([train, test])
    if not hasattr(select, "fit"):
        columns = _columns(select(X[train], labels[train]), X.shape[1])
        return X[np.ix_(items, columns)], columns
    fresh = _copy(select)
    if names_columns(fresh):
        fresh.fit(X[train], labels[train])
        columns = _columns(fresh.get_support(), X.shape[1])
        return X[np.ix_(items, columns)], columns
    if hasattr(fresh, "fit_transform"):  # may differ from fit and transform, as in TargetEncoder
        inside = _features(fresh.fit_transform(X[train], labels[train]), len(train))
    else:
        fresh.fit(X[train], labels[train])
        inside = _features(fresh.transform(X[train]), len(train))
    outside = _features(fresh.transform(X[test]), len(test))
    if inside.shape[1] != outside.shape[1]:
        msg = (
            f"select must transform all samples to the same columns, got {inside.shape[1]} for training "
            f"samples and {outside.shape[1]} for tested samples"
        )
        raise ValueError(msg)
    return np.concatenate([inside, outside]), None


def _copy(select: Any) -> Any:
    """Return an unfitted copy, if the selector supports it."""
    if hasattr(select, "get_params"):
        try:
            from sklearn.base import clone
        except ImportError:
            return copy.deepcopy(select)
        return clone(select)
    return copy.deepcopy(select)


def _columns(found: Any, n_features: int) -> Array:
    if found is None:
        msg = f"{_MUST}, got None"
        raise TypeError(msg)
    given = rectangular(found, _MUST)
    if given.dtype == bool:
        if given.shape != (n_features,):
            msg = f"{_MUST}; a mask must have shape ({n_features},), got shape {given.shape}"
            raise ValueError(msg)
        columns = np.flatnonzero(given)
    elif given.ndim != 1:
        msg = f"{_MUST}; column indices must have one dimension, got shape {given.shape}"
        raise ValueError(msg)
    elif given.dtype.kind not in "iu" and len(given):
        msg = f"{_MUST}, got dtype {given.dtype}"
        raise TypeError(msg)
    else:
        outside = given[(given < 0) | (given >= n_features)] if len(given) else given
        if len(outside):
            msg = f"selected columns must be between 0 and {n_features - 1}, got {int(outside[0])}"
            raise ValueError(msg)
        columns = np.sort(given.astype(np.int64))
    if not len(columns):
        msg = "select returned no column; at least one is needed to compare samples"
        raise ValueError(msg)
    repeated = columns[1:][np.diff(columns) == 0]
    if len(repeated):
        number = int((columns == repeated[0]).sum())
        msg = f"column {repeated[0]} was selected {number} times; a column may be selected only once"
        raise ValueError(msg)
    return columns


def _features(found: Any, n_items: int) -> Array:
    must = f"select must transform {n_items} samples into an array of shape ({n_items}, n_columns)"
    if hasattr(found, "tocsr"):
        msg = f"{must}, got a sparse matrix"
        raise TypeError(msg)
    features = as_reals("the transformed X", found, f"{must} of real numbers")
    if features.ndim != 2 or len(features) != n_items or features.shape[1] == 0:
        msg = f"{must}, got shape {features.shape}"
        raise ValueError(msg)
    return features
