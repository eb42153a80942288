"""What scikit-learn's estimators and pipelines ask for, in words of knnccv."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ._checks import check_integer
from ._labels import code_labels
from ._search.metrics import ALIASES, NAMES, PARAMETERS, SPARSE_NAMES
from ._selectors import WRONG_WAY
from .kernel import Array
from .neighbors import Neighbors

_KNOWN = set(NAMES) | set(ALIASES)
# Where the parameter is left out, scikit-learn takes it from the items that are compared.
_FITTED_METRICS = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}
_MOST_ITEMS = 20_000  # of whom all distances are held at once


class InexactError(ValueError):
    """The expectation has no closed form here; the message says why."""


def needs_sklearn() -> None:
    """Raise ImportError, with the command that helps, if scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        msg = "knnccv.sklearn needs scikit-learn: pip install 'knnccv[sklearn]'"
        raise ImportError(msg) from error


@dataclass(frozen=True)
class Rule:
    """The nearest-neighbour rule of an estimator, and the neighbours it finds.

    Attributes
    ----------
    n_neighbors : int
        K.
    regression : bool
        Whether the K are averaged; else they vote.
    by_distance : bool
        Whether nearer ones weigh more (K is 1 or 2 then, and 2 only if they vote).
    neighbors : Neighbors
        Of all items.
    """

    n_neighbors: int
    regression: bool
    by_distance: bool
    neighbors: Neighbors

    def check_size(self, n_train: int) -> None:
        """Raise ValueError if a training set of this size is too small."""
        if self.n_neighbors > n_train:
            raise ValueError(too_many(self.n_neighbors, n_train))


def too_many(n_neighbors: int, n_train: int) -> str:
    """The message for a K that does not fit into a training set."""
    return (
        f"n_neighbors must be between 1 and {n_train}, the size of the smallest training set, "
        f"got {n_neighbors} (scikit-learn's score would be nan)"
    )


def read_rule(estimator: Any, X: Any) -> Rule:
    """The rule of an estimator, if it is one that can be averaged exactly.

    Raises
    ------
    InexactError
        If it is not.
    ValueError, TypeError
        If the estimator or the data are not in order.
    """
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    if type(estimator) not in (KNeighborsClassifier, KNeighborsRegressor):
        msg = (
            f"{type(estimator).__name__} is neither KNeighborsClassifier nor KNeighborsRegressor, nor a "
            "pipeline that ends with one of them"
        )
        raise InexactError(msg)
    regression = type(estimator) is KNeighborsRegressor
    k = check_integer("n_neighbors", estimator.n_neighbors, 1)
    by_distance = _weighted(estimator.weights, k, regression)
    return Rule(k, regression, by_distance, _neighbors_of(estimator, X))


def _weighted(weights: Any, k: int, regression: bool) -> bool:
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return False
    if callable(weights):
        msg = f"votes of weights={weights!r}, a function, cannot be counted"
        raise InexactError(msg)
    if weights != "distance":
        msg = f"weights must be 'uniform', 'distance', None or a function, got {weights!r}"
        raise ValueError(msg)
    if k > (1 if regression else 2):
        allowed = "n_neighbors=1" if regression else "n_neighbors of 1 or 2"
        msg = f"weights='distance' is exact for {allowed} only, not for n_neighbors={k}"
        raise InexactError(msg)
    return True


def _neighbors_of(estimator: Any, X: Any) -> Neighbors:
    """The neighbours under the estimator's metric."""
    metric, params = _metric_of(estimator)
    name = metric if isinstance(metric, str) else ""
    if hasattr(X, "tocsr") and (params or ALIASES.get(name, name) not in SPARSE_NAMES):
        msg = f"X is sparse, which is exact for {', '.join(SPARSE_NAMES)} only; pass X.toarray()"
        raise InexactError(msg)
    if name == "precomputed":
        return Neighbors.from_distances(X)
    if callable(metric) and not hasattr(metric, "pairwise"):
        return Neighbors.from_data(X, partial(metric, **params) if params else metric)
    given = not _missing_parameters(name, params)
    if name in _KNOWN and given and set(params) <= set(PARAMETERS.get(name, ())):
        return Neighbors.from_data(X, name, metric_params=params)
    return _measured(X, metric, params)


def _metric_of(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """The metric by the name that knnccv has for it, if it has one, and its parameters."""
    metric, params = estimator.metric, dict(estimator.metric_params or {})
    if not isinstance(metric, str):
        return metric, params
    if metric in ("minkowski", "p"):
        params.setdefault("p", estimator.p if metric == "minkowski" else 2)
        if params.get("w") is None:
            params.pop("w", None)
        names = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        return (
            (names[params["p"]], {})
            if [*params] == ["p"] and params["p"] in names
            else ("minkowski", params)
        )
    return ("chebyshev" if metric == "infinity" else metric), params


def _missing_parameters(name: str, params: dict[str, Any]) -> bool:
    """Whether scikit-learn would take a parameter from the items that are compared."""
    needed = _FITTED_METRICS.get(name, ())
    return bool(needed) and not any(one in params for one in needed)


def _measured(X: Any, metric: Any, params: dict[str, Any]) -> Neighbors:
    """By scikit-learn's own distances, all at once."""
    from sklearn.metrics import pairwise_distances

    if isinstance(metric, str) and _missing_parameters(metric, params):
        msg = (
            f"metric {metric!r} without {' or '.join(_FITTED_METRICS[metric])} in metric_params takes it "
            "from the items compared, so that distances would depend on the split"
        )
        raise InexactError(msg)
    if len(X) > _MOST_ITEMS:
        msg = (
            f"metric {metric!r} needs all distances at once, for at most {_MOST_ITEMS} items, not {len(X)}"
        )
        raise InexactError(msg)
    if hasattr(metric, "pairwise"):
        return Neighbors.from_distances(metric.pairwise(np.asarray(X, dtype=float)))
    return Neighbors.from_distances(pairwise_distances(X, metric=metric, **params))


@dataclass(frozen=True)
class Prepared:
    """An estimator and the data that it sees, what was done to them, and why they are not exact yet."""

    estimator: Any
    X: Any
    note: str = ""
    reason: str = ""


def prepare(estimator: Any, X: Any, transductive: bool) -> Prepared:
    """Do beforehand what a pipeline does to each item without looking at others.

    With `transductive`, what must be fitted is fitted to all items, without labels.

    Raises
    ------
    ValueError
        If, with `transductive`, a step looks at labels.
    """
    from sklearn.pipeline import Pipeline

    if type(estimator) is not Pipeline:
        return Prepared(estimator, X)
    *steps, (_, last) = estimator.steps
    steps = [(name, step) for name, step in steps if not _is_nothing(step)]
    if not steps:
        if getattr(last, "metric", None) == "precomputed" and len(estimator.steps) > 1:
            reason = "scikit-learn takes metric='precomputed' only from a pipeline's first step"
            return Prepared(estimator, X, reason=reason)
        return Prepared(last, X)
    if getattr(last, "metric", None) == "precomputed":
        reason = "a step before metric='precomputed' would see rows of other lengths in every split"
        return Prepared(estimator, X, reason=reason)
    fitted = [name for name, step in steps if _fits(step)]
    if fitted and not transductive:
        shown = ", ".join(repr(name) for name in fitted)
        reason = (
            f"the step{'s' if len(fitted) > 1 else ''} {shown} would be fitted to every training set anew, "
            f"and so the distances depend on the split ({WRONG_WAY}); knnccv.screened_cv samples, "
            "and transductive=True fits steps that look at no labels once, to all items, on purpose"
        )
        return Prepared(estimator, X, reason=reason)
    for name, step in steps:
        _refuse_labels(name, step)
    seen = X
    for name, step in steps:
        try:
            seen = _fitted_without_labels(name, step, seen) if _fits(step) else _by_itself(name, step, seen)
        except InexactError as error:
            return Prepared(estimator, X, reason=str(error))
    note = f"the steps {', '.join(fitted)} fitted once to all items" if fitted else ""
    return Prepared(last, seen, note=note)


def transform_fitted(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a fitted pipeline, and X as its fitted earlier steps pass it on.

    Raises
    ------
    ValueError
        If a step looks at labels.
    """
    from sklearn.pipeline import Pipeline

    if type(estimator) is not Pipeline:
        return estimator, X
    *steps, (_, last) = estimator.steps
    for name, step in steps:
        if _is_nothing(step):
            continue
        _refuse_labels(name, step)
        if _fits(step):
            _fitted_without_labels(name, step, X)
        X = step.transform(X)
    return last, X


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _tags(step: Any) -> Any:
    from sklearn.utils import get_tags

    try:
        return get_tags(step)
    except (AttributeError, TypeError):  # none of scikit-learn's family
        return None


def _fits(step: Any) -> bool:
    tags = _tags(step)
    return tags is None or bool(tags.requires_fit)


def _refuse_labels(name: str, step: Any) -> None:
    tags = _tags(step)
    if tags is None:
        return
    if tags.target_tags.required or tags.estimator_type in ("classifier", "regressor"):
        raise ValueError(_leak(name, step))


def _leak(name: str, step: Any) -> str:
    return (
        f"the step {name!r} ({type(step).__name__}) looks at the labels: fitted to all items it would leak "
        f"them into the score ({WRONG_WAY}); leave transductive out, and method='mc' runs the whole "
        "pipeline in every split, as knnccv.screened_cv does without scikit-learn"
    )


def _fitted_without_labels(name: str, step: Any, X: Any) -> Any:
    """A copy of the step, fitted to X alone: whoever needs labels cannot have them."""
    from sklearn.base import clone

    copy = clone(step)
    try:
        return copy.fit(X).transform(X)
    except (TypeError, ValueError, AttributeError) as error:
        try:
            copy.fit(X, np.arange(length_of(X)) % 2)
        except Exception:
            raise error from None
        raise ValueError(_leak(name, step)) from error


def _by_itself(name: str, step: Any, X: Any) -> Any:
    """What a step without memory makes of X, if it treats every item by itself."""
    from sklearn.base import clone

    copy = clone(step)
    fit: Callable[[Any], Any] = copy.fit
    n_items = length_of(X)
    whole = fit(X).transform(X)
    if hasattr(whole, "tocsr"):
        msg = f"the step {name!r} makes X sparse"
        raise InexactError(msg)
    whole = np.asarray(whole)
    some = np.arange(0, n_items, 2)
    part = np.asarray(copy.transform(_rows(X, some)))
    same_rows = len(whole) == n_items and part.shape == whole[some].shape
    if not same_rows or not _agree(part, whole[some]):
        msg = f"the step {name!r} makes of an item what depends on the other items beside it"
        raise InexactError(msg)
    return whole


def _agree(one: Array, other: Array) -> bool:
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    rounding = 1e-12 * float(np.abs(other).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=1e-9, atol=rounding, equal_nan=True))


def _rows(X: Any, rows: Array) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def length_of(X: Any) -> int:
    """How many items X has."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def as_target(estimator: Any, X: Any, y: Any) -> Array:
    """The labels or values as an array of shape (n_items,) or (n_items, n_outputs)."""
    from sklearn.base import is_classifier

    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim not in (1, 2) or len(target) != length_of(X):
        msg = f"y must have shape ({length_of(X)},) for {length_of(X)} items, got shape {target.shape}"
        raise ValueError(msg)
    if target.ndim == 1 and is_classifier(estimator):
        labels = code_labels(y if np.ndim(y) == 1 else target)
        return labels.classes[labels.codes]
    return target
