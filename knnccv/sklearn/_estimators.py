"""Conversion of scikit-learn's estimators to rules and neighbors of knnccv."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from .._validation import check_integer
from ..driver import InexactError
from ..neighbors import ALIASES, NAMES, PARAMETERS, SPARSE_NAMES, Neighbors

_KNOWN = set(NAMES) | set(ALIASES)
_FITTED_METRICS = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}
_MAX_ITEMS = 20_000  # for which all distances are held in memory


def needs_sklearn() -> None:
    """Raise ImportError with the install command if scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        msg = "knnccv.sklearn needs scikit-learn: pip install 'knnccv[sklearn]'"
        raise ImportError(msg) from error


@dataclass(frozen=True)
class CheckedWeights:
    """A function of an array of distances, shape (n, K), as scikit-learn calls it.

    Raises
    ------
    ValueError
        If all weights of a row are 0: scikit-learn then has no prediction either.
    """

    function: Callable[[Array], Any]

    def __repr__(self) -> str:
        return repr(self.function)

    def __call__(self, distances: Array) -> Array:
        """The weights, of the same shape; equal ones if the function returns None."""
        weights = self.function(distances)
        if weights is None:
            return np.ones_like(distances)
        weights = np.asarray(weights)
        if weights.dtype.kind not in "biufO" or weights.shape != distances.shape:
            return weights  # the variant refuses them
        weights = weights.astype(float)
        if not weights.any(axis=1).all():
            at = int(np.argmin(weights.any(axis=1)))
            msg = (
                f"weights={self.function!r} gives all neighbors of a sample the weight 0, at the distances "
                f"{distances[at]} (scikit-learn's score would be nan)"
            )
            raise ValueError(msg)
        return weights


@dataclass(frozen=True)
class Rule:
    """The nearest-neighbor rule of an estimator, and its neighbor orders.

    Attributes
    ----------
    n_neighbors : int
        K.
    regression : bool
        Whether the values of the K neighbors are averaged; otherwise they vote.
    by_distance : bool
        Whether nearer neighbors have greater weights, and K is 1 or, if they vote, 2: the nearest decides.
    neighbors : Neighbors
        The neighbor orders of all samples.
    weights : "inverse", callable or None
        The weights of the neighbors, for the variants "weighted" and "weighted_regression"; None if they
        are equal, or K is 1.
    """

    n_neighbors: int
    regression: bool
    by_distance: bool
    neighbors: Neighbors
    weights: Any = None

    @property
    def weights_in_words(self) -> str:
        """The argument `weights` of the estimator."""
        return "weights='distance'" if self.weights == "inverse" else f"weights={self.weights!r}"


def check_size(n_neighbors: int, n_train: int) -> None:
    """Raise ValueError if a training set has fewer than `n_neighbors` samples."""
    if n_neighbors > n_train:
        msg = (
            f"n_neighbors must be between 1 and {n_train}, the size of the smallest training set, "
            f"got {n_neighbors} (scikit-learn's score would be nan)"
        )
        raise ValueError(msg)


def read_rule(estimator: Any, X: Any) -> Rule:
    """Return the rule of an estimator, if it can be averaged exactly.

    Raises
    ------
    InexactError
        If the rule cannot be averaged exactly.
    ValueError, TypeError
        If a parameter of the estimator or the data are not allowed.
    """
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    if type(estimator) not in (KNeighborsClassifier, KNeighborsRegressor):
        msg = (
            f"{type(estimator).__name__} is neither KNeighborsClassifier nor KNeighborsRegressor, nor a "
            "pipeline of scikit-learn that ends with one of them"
        )
        raise InexactError(msg)
    regression = type(estimator) is KNeighborsRegressor
    k = check_integer("n_neighbors", estimator.n_neighbors, 1)
    weights = estimator.weights
    if callable(weights):
        weights = CheckedWeights(weights)
    elif not (weights is None or (isinstance(weights, str) and weights in ("uniform", "distance"))):
        msg = f"weights must be 'uniform', 'distance', None or a function, got {weights!r}"
        raise ValueError(msg)
    else:
        weights = "inverse" if weights == "distance" else None
    by_distance = weights == "inverse" and k <= (1 if regression else 2)
    if k == 1 and by_distance:
        weights = None
    return Rule(k, regression, by_distance, _neighbors_of(estimator, X), weights)


def _neighbors_of(estimator: Any, X: Any) -> Neighbors:
    from sklearn.metrics import pairwise_distances

    metric, params = metric_of(estimator)
    name = metric if isinstance(metric, str) else ""
    if hasattr(X, "tocsr") and (params or ALIASES.get(name, name) not in SPARSE_NAMES):
        msg = f"X is sparse, which is exact for {', '.join(SPARSE_NAMES)} only; pass X.toarray()"
        raise InexactError(msg)
    if name == "precomputed":
        return Neighbors.from_distances(X)
    if callable(metric) and not hasattr(metric, "pairwise"):
        return Neighbors.from_data(X, partial(metric, **params) if params else metric)
    missing = missing_parameters(name, params)
    if name in _KNOWN and not missing and set(params) <= set(PARAMETERS.get(name, ())):
        return Neighbors.from_data(X, name, metric_params=params)
    if missing:
        msg = (
            f"metric {metric!r} without {' or '.join(_FITTED_METRICS[name])} in metric_params estimates it "
            "from the compared samples, so the distances would depend on the split"
        )
        raise InexactError(msg)
    if len(X) > _MAX_ITEMS:
        msg = f"metric {metric!r} needs all distances in memory: at most {_MAX_ITEMS} samples, got {len(X)}"
        raise InexactError(msg)
    if hasattr(metric, "pairwise"):
        return Neighbors.from_distances(metric.pairwise(np.asarray(X, dtype=float)))
    return Neighbors.from_distances(pairwise_distances(X, metric=metric, **params))


def metric_of(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """Return the metric, by its name in knnccv if it has one, and its parameters."""
    metric, params = estimator.metric, dict(estimator.metric_params or {})
    if not isinstance(metric, str):
        return metric, params
    if metric in ("minkowski", "p"):
        params.setdefault("p", estimator.p if metric == "minkowski" else 2)
        if params.get("w") is None:
            params.pop("w", None)
        names = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        known = list(params) == ["p"] and params["p"] in names
        return (names[params["p"]], {}) if known else ("minkowski", params)
    return ("chebyshev" if metric == "infinity" else metric), params


def missing_parameters(name: str, params: dict[str, Any]) -> bool:
    """Check whether scikit-learn would estimate a parameter from the compared samples."""
    needed = _FITTED_METRICS.get(name, ())
    return bool(needed) and not any(one in params for one in needed)


def length_of(X: Any) -> int:
    """Return the number of samples in X."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_target(estimator: Any, X: Any, y: Any) -> Array:
    """Convert labels or values to an array of shape (n_items,) or (n_items, n_outputs)."""
    from sklearn.base import is_classifier

    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim not in (1, 2) or len(target) != length_of(X):
        msg = f"y must have shape ({length_of(X)},) for {length_of(X)} samples, got shape {target.shape}"
        raise ValueError(msg)
    if target.ndim == 1 and is_classifier(estimator):
        labels = encode_labels(y if np.ndim(y) == 1 else target)
        return labels.classes[labels.codes]
    return target
