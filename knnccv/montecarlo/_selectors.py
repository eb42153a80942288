"""What selects features from training samples: functions, and objects that are fitted."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals, rectangular

_MUST = "select must return column indices or a mask"


def check_selector(select: Any) -> None:
    """Raise TypeError if `select` is nothing that can select."""
    must = "select must be a function (X_train, y_train) or an object with fit and get_support or transform"
    if isinstance(select, type):
        msg = f"select must be an instance, got the class {select.__name__}; call it first"
        raise TypeError(msg)
    fits = hasattr(select, "fit")
    if not (hasattr(select, "get_support") or hasattr(select, "transform") if fits else callable(select)):
        msg = f"{must}, got {select!r}"
        raise TypeError(msg)


def names_columns(select: Any) -> bool:
    """Whether it tells which columns it takes; else it makes new ones."""
    return not hasattr(select, "fit") or hasattr(select, "get_support")


def screened(select: Any, X: Array, labels: Array, train: Array, test: Array) -> tuple[Array, Array | None]:
    """The training samples and then the tested ones, as the selector would have them compared.

    Parameters
    ----------
    select : object
        As `check_selector` lets it pass.
    X : ndarray of shape (n_items, n_features)
        All samples.
    labels : ndarray of shape (n_items,)
        Their labels; those of the tested samples are not looked at.
    train, test : int ndarray
        Which samples train and which are tested.

    Returns
    -------
    data : float64 ndarray of shape (n_train + n_test, n_columns)
        Their selected or transformed features.
    columns : int64 ndarray of shape (n_columns,), or None
        The selected columns in ascending order; None where the features are new ones.

    Raises
    ------
    ValueError, TypeError
        If what is returned is not as it must be.
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
    if hasattr(fresh, "fit_transform"):  # which may be more than both in turn, as in TargetEncoder
        inside = _features(fresh.fit_transform(X[train], labels[train]), len(train))
    else:
        fresh.fit(X[train], labels[train])
        inside = _features(fresh.transform(X[train]), len(train))
    outside = _features(fresh.transform(X[test]), len(test))
    if inside.shape[1] != outside.shape[1]:
        msg = (
            f"select must transform all samples alike, got {inside.shape[1]} columns of training samples and "
            f"{outside.shape[1]} of tested ones"
        )
        raise ValueError(msg)
    return np.concatenate([inside, outside]), None


def _copy(select: Any) -> Any:
    """One that was not fitted, if that can be told."""
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
        msg = f"what select returns must be one row of column indices, got shape {given.shape}"
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
        msg = "select returned no column; at least one is needed to compare items"
        raise ValueError(msg)
    repeated = columns[1:][np.diff(columns) == 0]
    if len(repeated):
        number = int((columns == repeated[0]).sum())
        msg = f"column {repeated[0]} was selected {number} times; every column counts once"
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
