"""Leave-one-out of k-NN regression by brute force: every sample left out in its turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._typing import Array

Predict = Callable[[Array, Array, Array, int], float]
"""``predict(X, y, sample, k)``: the prediction for one sample, fitted to X and y."""


def standardized(X: Array) -> Array:
    """Every column with mean 0 and variance 1, as scikit-learn's StandardScaler has it."""
    scaled: Array = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def one_by_one(X: Array, y: Array, most: int) -> Array:
    """Leave-one-out errors of k = 1 to `most` by brute force; ties in the order of the rows."""
    errors = np.empty((len(y), most))
    for item in range(len(y)):
        others = np.delete(np.arange(len(y)), item)
        gaps = ((X[others] - X[item]) ** 2).sum(axis=1)
        nearest = others[np.argsort(gaps, kind="stable")[:most]]
        errors[item] = (np.cumsum(y[nearest]) / np.arange(1, most + 1) - y[item]) ** 2
    curve: Array = errors.mean(axis=0)
    return curve


def fitted_one_by_one(X: Array, y: Array, k: int, predict: Predict) -> float:
    """Leave-one-out error of one k by as many fits as there are samples."""
    errors = []
    for item in range(len(y)):
        others = np.delete(np.arange(len(y)), item)
        errors.append((predict(X[others], y[others], X[item], k) - y[item]) ** 2)
    return float(np.mean(errors))


def regressor() -> tuple[Predict, str]:
    """What brute force fits to every training set: scikit-learn's regressor where there is one."""
    try:
        import sklearn
        from sklearn.neighbors import KNeighborsRegressor
    except ImportError:
        return predict_by_hand, "a prediction by NumPy (scikit-learn is not installed)"

    def predict(X: Array, y: Array, item: Array, k: int) -> float:
        return float(KNeighborsRegressor(k, algorithm="kd_tree").fit(X, y).predict(item[None])[0])

    return predict, f"scikit-learn {sklearn.__version__}'s KNeighborsRegressor(algorithm='kd_tree')"


def predict_by_hand(X: Array, y: Array, item: Array, k: int) -> float:
    """Mean target of the k nearest."""
    gaps = ((X - item) ** 2).sum(axis=1)
    return float(y[np.argpartition(gaps, k - 1)[:k]].mean())
