"""Leave-one-out of k-NN regression by brute force: every sample is left out once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._typing import Array

Predict = Callable[[Array, Array, Array, int], float]
"""``predict(X, y, sample, k)``: the prediction for one sample, fitted to X and y."""


def standardized(X: Array) -> Array:
    """The columns with mean 0 and variance 1, as by scikit-learn's StandardScaler."""
    scaled: Array = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def one_by_one(X: Array, y: Array, max_k: int) -> Array:
    """Leave-one-out errors of k = 1 to `max_k` by brute force; ties in the order of the rows."""
    errors = np.empty((len(y), max_k))
    for sample in range(len(y)):
        others = np.delete(np.arange(len(y)), sample)
        gaps = ((X[others] - X[sample]) ** 2).sum(axis=1)
        nearest = others[np.argsort(gaps, kind="stable")[:max_k]]
        errors[sample] = (np.cumsum(y[nearest]) / np.arange(1, max_k + 1) - y[sample]) ** 2
    curve: Array = errors.mean(axis=0)
    return curve


def fitted_one_by_one(X: Array, y: Array, k: int, predict: Predict) -> float:
    """Leave-one-out error of one k by one fit per sample."""
    errors = []
    for sample in range(len(y)):
        others = np.delete(np.arange(len(y)), sample)
        errors.append((predict(X[others], y[others], X[sample], k) - y[sample]) ** 2)
    return float(np.mean(errors))


def regressor() -> tuple[Predict, str]:
    """The regressor of brute force, scikit-learn's if it is installed, and its name."""
    try:
        import sklearn
        from sklearn.neighbors import KNeighborsRegressor
    except ImportError:
        return predict_by_hand, "a prediction by NumPy (scikit-learn is not installed)"

    def predict(X: Array, y: Array, sample: Array, k: int) -> float:
        return float(KNeighborsRegressor(k, algorithm="kd_tree").fit(X, y).predict(sample[None])[0])

    return predict, f"scikit-learn {sklearn.__version__}'s KNeighborsRegressor(algorithm='kd_tree')"


def predict_by_hand(X: Array, y: Array, sample: Array, k: int) -> float:
    """The mean target of the k nearest samples."""
    gaps = ((X - sample) ** 2).sum(axis=1)
    return float(y[np.argpartition(gaps, k - 1)[:k]].mean())
