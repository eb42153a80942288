"""The metrics of scikit-learn's estimators, and the neighbors under them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._base.validation import check
from .._core.driver import InexactError
from ..neighbors import ALIASES, NAMES, PARAMETERS, SPARSE_NAMES, Neighbors, neighbors_in_pool

_KNOWN = set(NAMES) | set(ALIASES)
_FITTED_METRICS = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}
_NAMES = {"infinity": "chebyshev", "sokalmichener": "rogerstanimoto"}  # equal, and known everywhere
_MAX_ITEMS = 20_000  # for which all distances are held in memory


def neighbors_of(estimator: Any, X: Any, n_tested: int) -> Neighbors:
    """The neighbors under the metric of an estimator; InexactError if the distances depend on the split."""
    from sklearn.metrics import pairwise_distances

    metric, params = metric_of(estimator)
    name = metric if isinstance(metric, str) else ""
    is_served = not params and ALIASES.get(name, name) in SPARSE_NAMES
    msg = f"X is sparse, which is exact for {', '.join(SPARSE_NAMES)} only; pass X.toarray()"
    check(is_served or not hasattr(X, "tocsr"), msg, error=InexactError)
    if name == "precomputed":
        return Neighbors.from_distances(X)

    def searched(metric: Any, params: Any) -> Neighbors:
        if n_tested:
            return neighbors_in_pool(X[n_tested:], X[:n_tested], metric, params)[0]
        found = Neighbors.from_data(X, metric, metric_params=params)
        found.copies_told = True
        return found

    if name and name not in _KNOWN:
        check_name(name)
    refuse_inconsistent(name, X)
    if callable(metric) and not hasattr(metric, "pairwise"):
        return searched(partial(metric, **params) if params else metric, None)
    missing = missing_parameters(name, params)
    if name in _KNOWN and not missing and set(params) <= set(PARAMETERS.get(name, ())):
        return searched(name, params)
    lacking = f"metric {metric!r} without {' or '.join(_FITTED_METRICS.get(name, ()))} in metric_params"
    why = "estimates it from the compared samples, so the distances would depend on the split"
    check(not missing, f"{lacking} {why}", error=InexactError)
    msg = f"metric {metric!r} needs all distances in memory: at most {_MAX_ITEMS} samples, got {len(X)}"
    check(len(X) <= _MAX_ITEMS, msg, error=InexactError)
    pair = (X[:n_tested], X[n_tested:]) if n_tested else (X,)
    if hasattr(metric, "pairwise"):
        distances = metric.pairwise(*(np.asarray(part, dtype=float) for part in pair))
    else:
        distances = pairwise_distances(*pair, metric=metric, **params)
    undefined = np.argwhere(np.isnan(distances))
    if len(undefined):
        one, other = (int(i) for i in undefined[0] + (0, n_tested))
        what = "share no known feature; impute them" if name == "nan_euclidean" else "have no distance"
        msg = f"under metric {metric!r} the rows {one} and {other} {what}: scikit-learn's distance is nan"
        raise InexactError(msg)
    if n_tested:
        return neighbors_in_pool(distances, None, "precomputed", None)[0]
    return Neighbors.from_distances(distances)


def refuse_inconsistent(name: str, X: Any) -> None:
    """Raise InexactError if scikit-learn's distances of these rows are nan, or its algorithms disagree."""
    values = np.asarray(X) if name in ("correlation", "braycurtis") else np.empty(0)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        return
    constant = np.flatnonzero(values.max(axis=1) == values.min(axis=1))
    if name == "correlation" and len(constant):
        msg = f"row {constant[0]} is constant, which has no correlation: scikit-learn's distance is nan"
        raise InexactError(msg)
    has_two = np.count_nonzero(~values.any(axis=1)) > 1 or values.min() < 0
    if name == "braycurtis" and values.dtype not in (np.float32, np.float64) and has_two:
        two = "two formulas in scikit-learn, one of algorithm='brute' and one of the trees"
        msg = f"metric 'braycurtis' of {values.dtype} has {two}; pass X.astype(float)"
        raise InexactError(msg)


def check_name(name: str) -> None:
    """Raise ValueError if the estimators of scikit-learn have no metric of this name."""
    from sklearn.neighbors import VALID_METRICS

    known = {"precomputed"}.union(*VALID_METRICS.values()) - {"pyfunc"}  # which stands for functions
    remedy = f"pass a function of two rows as metric, or one of {', '.join(map(repr, sorted(known)))}"
    check(name in known, f"{remedy}: scikit-learn's estimators have no metric {name!r}")


def check_metric(rule: Any) -> None:
    """Raise ValueError if a nearest-neighbor estimator of scikit-learn cannot be fitted with its metric."""
    metric, params = metric_of(rule)
    if not isinstance(metric, str):
        return
    check_name(rule.metric)
    if missing_parameters(metric, params) and rule.algorithm != "brute":
        needed = _FITTED_METRICS[metric]
        brute = "algorithm='brute', by which scikit-learn estimates it in every split"
        remedy = f"take an estimator with metric_params={{{needed[0]!r}: ...}}, or {brute}"
        msg = f"{remedy}: metric {metric!r} needs {' or '.join(needed)}"
        raise ValueError(msg)


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
    return _NAMES.get(metric, metric), params


def missing_parameters(name: str, params: dict[str, Any]) -> bool:
    """Check whether scikit-learn would estimate a parameter from the compared samples."""
    return name in _FITTED_METRICS and not any(one in params for one in _FITTED_METRICS[name])
