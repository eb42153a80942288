"""Conversion of scikit-learn's estimators to rules, metrics and neighbors, and the steps before them.

Steps of a pipeline that can be applied in advance are, and none of them sees a label. A step that needs no
fit must transform every sample alone as among others. With ``transductive=True`` a step that needs one is
replaced by a copy that is fitted to all samples without labels, and only the output of this copy is scored.
So labels cannot leak, whatever the step does. A step that would do something else with labels is refused,
since the score would not be that of the caller's pipeline.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._base.compat import at_rows, fitted_samples
from .._base.labels import encode_labels, encode_together
from .._base.refusals import need
from .._base.typing import Array
from .._base.validation import WRONG_WAY, check, check_integer, check_real, in_columns_of
from .._core.driver import InexactError
from .._core.luck.runs import RescaledSearch, refitted, scaling_of
from ..neighbors import (
    ALIASES,
    NAMES,
    PARAMETERS,
    SPARSE_NAMES,
    Neighbors,
    SupervisedDistanceWarning,
    neighbors_in_pool,
)

SINGLE_ROWS = 64
"""The number of rows that are transformed one by one."""
BATCHES = (2, 8)
"""The numbers of batches that all rows are divided into."""
KNOWN_METRICS = set(NAMES) | set(ALIASES)
_FITTED_METRICS = {"seuclidean": ("V",), "mahalanobis": ("V", "VI")}
_NAMES = {"infinity": "chebyshev", "sokalmichener": "rogerstanimoto"}  # equal, and known everywhere
_MAX_ITEMS = 20_000  # for which all distances are held in memory

_HOW = "Pass cv=WholeData() (of knnccv.sklearn) to the search or to cross_val_score, instead of folds"


def needs_sklearn() -> None:
    """Raise ImportError with the install command if scikit-learn is missing."""
    need("sklearn", "sklearn", "knnccv.sklearn needs scikit-learn")


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
        for at in np.flatnonzero(~weights.any(axis=1)).tolist():
            all_zero = f"weights={self.function!r} gives all neighbors of a sample the weight 0"
            msg = f"{all_zero}, at the distances {distances[at]} (scikit-learn's score would be nan)"
            raise ValueError(msg)
        return weights


@dataclass(frozen=True)
class Rule:
    """The nearest-neighbor rule of an estimator, and its neighbor orders.

    Attributes
    ----------
    n_neighbors : int
        K; 0 for all neighbors within a radius.
    regression : bool
        Whether the values of the K neighbors are averaged; otherwise they vote.
    by_distance : bool
        Whether nearer neighbors have greater weights, and K is 1 or, if they vote, 2: the nearest decides.
    neighbors : Neighbors
        The neighbor orders of all samples.
    weights : "inverse", callable or None
        The weights of the neighbors, for the variants "weighted" and "weighted_regression"; None if they
        are equal, or K is 1.
    radius : float or None
        The distance within which all neighbors count.
    outlier_label : label, "most_frequent" or None
        The prediction without neighbors within the radius.
    """

    n_neighbors: int
    regression: bool
    by_distance: bool
    neighbors: Neighbors
    weights: Any = None
    radius: float | None = None
    outlier_label: Any = None

    @property
    def weights_in_words(self) -> str:
        """The argument `weights` of the estimator."""
        return "weights='distance'" if self.weights == "inverse" else f"weights={self.weights!r}"


def check_size(n_neighbors: int, n_train: int) -> None:
    """Raise ValueError if a training set has fewer than `n_neighbors` samples."""
    msg = (
        f"n_neighbors must be between 1 and {n_train}, the size of the smallest training set, "
        f"got {n_neighbors} (scikit-learn's score would be nan)"
    )
    check(n_neighbors <= n_train, msg)


def read_rule(estimator: Any, X: Any, neighbors: Neighbors | None = None, n_tested: int = 0) -> Rule:
    """Return the rule of an estimator, if it can be averaged exactly; its `neighbors`, if they are known.

    The first `n_tested` samples have neighbors among the others; if 0, all have them among all.

    Raises
    ------
    InexactError
        If the rule cannot be averaged exactly.
    ValueError, TypeError
        If a parameter of the estimator or the data are not allowed.
    """
    from sklearn import neighbors as known

    kinds = [f"{rule}Neighbors{kind}" for rule in ("K", "Radius") for kind in ("Classifier", "Regressor")]
    name = type(estimator).__name__
    msg = f"{name} is none of {', '.join(kinds)}, nor a pipeline of scikit-learn that ends with one"
    check(name in kinds and type(estimator) is getattr(known, name), msg, error=InexactError)
    regression = name.endswith("Regressor")
    if name.startswith("Radius"):
        msg = f"votes within a radius are exact for equal weights, got weights={estimator.weights!r}"
        check(estimator.weights in (None, "uniform"), msg, error=InexactError)
        infinite, label = estimator.radius == np.inf, getattr(estimator, "outlier_label", None)
        radius = np.finfo(float).max if infinite else check_real("radius", estimator.radius)
        near = neighbors_of(estimator, X, n_tested) if neighbors is None else neighbors
        return Rule(0, regression, False, near, None, radius, label)
    k = check_integer("n_neighbors", estimator.n_neighbors, 1)
    weights = estimator.weights
    if callable(weights):
        weights = CheckedWeights(weights)
    else:
        is_known = weights is None or (isinstance(weights, str) and weights in ("uniform", "distance"))
        check(is_known, "weights must be 'uniform', 'distance', None or a function", weights)
        weights = "inverse" if weights == "distance" else None
    by_distance = weights == "inverse" and k <= (1 if regression else 2)
    if k == 1 and by_distance:
        weights = None
    near = neighbors_of(estimator, X, n_tested) if neighbors is None else neighbors
    return Rule(k, regression, by_distance, near, weights)


def length_of(X: Any) -> int:
    """Return the number of samples in X."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def takes_distances(estimator: Any) -> bool:
    """Whether the metric is "precomputed"."""
    metric = getattr(estimator, "metric", None)
    return isinstance(metric, str) and metric == "precomputed"


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline; an estimator that is none is its own."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def as_target(estimator: Any, X: Any, y: Any, name: str = "y") -> Array:
    """Convert labels or values to an array of shape (n_items,) or (n_items, n_outputs)."""
    from sklearn.base import is_classifier

    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    n_items = length_of(X)
    msg = f"{name} must have shape ({n_items},) for {n_items} samples, got shape {target.shape}"
    check(target.ndim in (1, 2) and len(target) == n_items, msg)
    if target.ndim == 1 and is_classifier(estimator):
        labels = encode_labels(y if np.ndim(y) == 1 else target)
        return labels.classes[labels.codes]
    return target


def with_test_set(estimator: Any, X: Any, y: Array, test: Any) -> tuple[int, Any, Array]:
    """The number of samples of a test set; these with the pool after them, and the labels of all.

    Raises
    ------
    ValueError, TypeError
        If `test` is no pair, does not fit the pool, or the estimator takes distances.
    """
    from scipy.sparse import vstack
    from sklearn.base import is_classifier

    msg = f"test must be a pair (X_test, y_test), got {type(test).__name__}"
    check(isinstance(test, tuple) and len(test) == 2, msg, error=TypeError)
    msg = "for a test set of distances take knnccv.complete_cv; got test and metric='precomputed'"
    check(not takes_distances(last_step(estimator)), msg)
    Z = in_columns_of(X, test[0])
    t = as_target(estimator, Z, test[1], name="y_test")
    check(len(t), f"test must hold at least one sample, got X_test of shape {np.shape(Z)}")
    columns = [np.shape(part)[1:] for part in (X, Z)]
    msg = (
        "X_test and y_test must have the columns of X and y, got shapes "
        f"{np.shape(Z)} and {t.shape}, and {np.shape(X)} and {y.shape}"
    )
    check(columns[0] == columns[1] and y.shape[1:] == t.shape[1:], msg)
    if is_classifier(estimator) and y.ndim == 1:
        pool, tested = encode_together(encode_labels(y), encode_labels(t, test="_test"))
        y, t = pool.classes[pool.codes], tested.classes[tested.codes]
    if hasattr(X, "tocsr") or hasattr(Z, "tocsr"):
        both: Any = vstack([Z, X], format="csr")
    elif hasattr(X, "iloc") and hasattr(Z, "iloc"):
        import pandas as pd

        both = pd.concat([Z, X], ignore_index=True)
    else:
        both = np.concatenate([Z, X])
    return len(t), both, np.concatenate([t, y])


@dataclass(frozen=True)
class Prepared:
    """An estimator, its data after the earlier steps, a note on these, and why no exact score exists."""

    estimator: Any
    X: Any
    note: str = ""
    reason: str = ""
    steps: tuple[Any, ...] = ()
    """The steps of a pipeline that are fitted to every training set, with its last."""
    neighbors: Neighbors | None = None
    """The neighbors of X, if they are known."""
    n_tested: int = 0
    """The number of samples of a test set, which are the first."""

    @cached_property
    def _scaled(self) -> tuple[RescaledSearch, Any] | None:
        """Of columns that are scaled within the folds: a search, and columns scaled once by all samples.

        Raises
        ------
        InexactError
            If the steps do more than scale columns.
        """
        if not self.reason:
            return None
        *steps, last = self.steps or (None,)
        if not hasattr(last, "metric_params"):  # no rule, or one that chooses itself
            raise InexactError(self.reason)
        metric, params = metric_of(last)
        p: Any = {"euclidean": 2.0, "manhattan": 1.0, "minkowski": params.get("p")}.get(str(metric))
        scaling = None if p is None or not 1 <= p < np.inf else scaling_of(steps, self.X)
        if scaling is None:
            raise InexactError(self.reason)
        whole = scaling.weights(np.full((1, length_of(self.X)), -1))[0, 0]
        return RescaledSearch(scaling, p, params.get("w")), scaling.table * whole

    @property
    def search(self) -> RescaledSearch | None:
        """Finds the nearest training samples if columns are scaled within the folds; otherwise None."""
        return None if self._scaled is None else self._scaled[0]

    @cached_property
    def once(self) -> Prepared:
        """The same, or if columns are scaled within the folds, with columns that are scaled once."""
        if self._scaled is None:
            return self
        return Prepared(self.steps[-1], self._scaled[1], n_tested=self.n_tested)

    @cached_property
    def rule(self) -> Rule:
        """The estimator's rule; its neighbors are searched once for all scorings.

        If columns are scaled within the folds, they are those of columns that are scaled once.
        """
        if self._scaled is not None:
            return self.once.rule
        return read_rule(self.estimator, self.X, self.neighbors, self.n_tested)


def prepare(estimator: Any, X: Any, y: Array, transductive: bool, fitted: bool = False) -> Prepared:
    """Apply the steps of a pipeline that transform each sample independently of the others.

    With `transductive`, copies of the steps that need fitting are fitted to all samples, without labels.
    With `fitted`, the caller must have fitted the pipeline to all samples.

    Raises
    ------
    ValueError
        If, with `transductive`, a step uses labels; or a `fitted` estimator was fitted to other samples.

    Warns
    -----
    SupervisedDistanceWarning
        If, with `transductive`, it is unknown whether a step uses labels.
    """
    from sklearn.pipeline import Pipeline

    msg = (
        "transductive=True fits the steps before a rule: pass make_pipeline(scaler, search) instead, "
        f"got {type(estimator).__name__}, which fits those of its own pipeline in every training set"
    )
    check(not (transductive and hasattr(getattr(estimator, "estimator", None), "steps")), msg)
    *steps, (_, last) = given = estimator.steps if type(estimator) is Pipeline else [("", estimator)]
    steps = [(name, step) for name, step in steps if step is not None and not isinstance(step, str)]
    learning = [name for name, step in steps if _tags(step).requires_fit]
    if fitted:
        _check_items(last, X)
    if takes_distances(last) and len(given) > 1 and not (fitted and transductive):
        reason = "scikit-learn takes metric='precomputed' only from a pipeline's first step"
        if steps:
            reason = "a step before metric='precomputed' would get rows of another length in every split"
        return Prepared(estimator, X, reason=reason)
    if learning and not transductive:
        shown = f"step{'s' * (len(learning) > 1)} {', '.join(map(repr, learning))}"
        reason = (
            "transductive=True fits steps that use no labels once, to all samples; without it the "
            f"{shown} would be fitted to every training set, so the distances would depend on the split "
            f"({WRONG_WAY})"
        )
        return Prepared(estimator, X, reason=reason, steps=(*(step for _, step in steps), last))
    seen = X
    for name, step in steps:
        if name in learning:
            seen = _without_labels(name, step, seen, y, fitted, first=name == learning[0])
            continue
        try:
            seen = _transformed(name, step, seen)
        except InexactError as error:
            return Prepared(estimator, X, reason=str(error))
    if fitted and not learning:
        _check_items(last, X, seen)
    note = f"the steps {', '.join(learning)} fitted once to all samples" if learning else ""
    return Prepared(last, seen, note=note)


def _tags(step: Any) -> Any:
    from sklearn.utils import Tags, TargetTags, get_tags

    try:
        return get_tags(step)
    except (AttributeError, TypeError):  # none of scikit-learn's family
        return Tags(estimator_type=None, target_tags=TargetTags(required=False))


def _without_labels(name: str, step: Any, X: Any, y: Array, fitted: bool, first: bool) -> Any:
    """Return the output of a copy of the step that is fitted to X without labels."""
    shown = f"the step {name!r} ({type(step).__name__})"
    leak = (
        "pass method='sampled' without transductive, which runs the whole pipeline in every split: "
        f"{shown} uses the labels, and fitted to all samples it would leak them into the score "
        f"({WRONG_WAY})"
    )
    tags, with_labels = _tags(step), None
    if tags.target_tags.required or tags.estimator_type in ("classifier", "regressor"):
        raise ValueError(leak)
    with suppress(Exception):  # it may accept no labels, or not these
        with_labels = refitted(step, X, y)
    try:
        alone = refitted(step, X)
    except (TypeError, ValueError, AttributeError):
        if with_labels is None:  # the error has another cause than missing labels
            raise
        raise ValueError(leak) from None
    if with_labels is not None and (y != y[:1]).any() and not agree(with_labels, alone):
        if agree(refitted(step, X, y), with_labels):
            raise ValueError(leak)
        msg = (
            f"it is unknown whether {shown} uses the labels, since two fits to the same data differ; the "
            "score is that of a fit without labels. Give it a random_state, or cross-validate the whole "
            "pipeline: expected_score(..., method='sampled')"
        )
        warnings.warn(msg, SupervisedDistanceWarning, stacklevel=4)
    # Later steps were fitted to the output of `fit_transform`, which may differ from that of `transform`.
    elif fitted and first and not agree(step.transform(X), alone):
        msg = f"{shown} was not fitted to the {length_of(X)} samples that are scored. {_HOW}"
        check(not agree(refitted(step, X, seed=1), alone), msg)
    return alone


def _transformed(name: str, step: Any, X: Any) -> Any:
    """Return the output of a stateless step, if it transforms every sample independently of the others.

    Raises
    ------
    InexactError
        If the output for a sample depends on the other samples, or the step fails for a part of them.
    """
    from sklearn.base import clone

    whole_step = clone(step).fit(X)
    whole = whole_step.transform(X)
    whole = whole.tocsr() if hasattr(whole, "tocsr") else np.asarray(whole)

    def transform_part(rows: Array) -> Any:
        part = at_rows(X, rows)
        try:
            # Some checks in `fit` refuse a single row; `transform` does not.
            return (whole_step if len(rows) == 1 else clone(step).fit(part)).transform(part)
        except Exception as error:
            msg = f"the step {name!r} fails for {len(rows)} of the samples without the others ({error})"
            raise InexactError(msg) from error

    msg = f"the output of the step {name!r} for a sample depends on the other samples"
    check(whole.shape[:1] == (length_of(X),), msg, error=InexactError)
    with warnings.catch_warnings(action="ignore"):
        alike = all(agree(transform_part(rows), whole[rows]) for rows in _parts(X))
    check(alike, msg, error=InexactError)
    return whole


def _parts(X: Any) -> Iterator[Array]:
    """Yield the rows to transform separately: single rows, then all rows in random batches."""
    rng, n_items = np.random.default_rng(0), length_of(X)
    rows = rng.permutation(n_items)
    values = np.empty((0, 0)) if hasattr(X, "tocsr") else np.asarray(X)
    if n_items > SINGLE_ROWS and values.ndim == 2 and values.dtype.kind in "biuf":
        # Statistics of a batch (a maximum, a mean of known values) show in the rows that determine them.
        ends = np.unique(np.argsort(values, axis=0)[[0, -1]])  # NaN come last
        rows = np.concatenate([rng.permutation(ends)[: SINGLE_ROWS * 3 // 4], rows])
    yield from rows[:SINGLE_ROWS, None]
    for n_batches in BATCHES:
        if n_items >= 2 * n_batches:
            yield from np.array_split(rng.permutation(n_items), n_batches)


def agree(one: Any, other: Any) -> bool:
    """Check whether two outputs of a step are equal up to rounding, in any order of sums."""
    sparse = hasattr(one, "tocsr"), hasattr(other, "tocsr")
    if not any(sparse):
        one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or any(sparse) != all(sparse):
        return False
    kind, size = other.dtype.kind, other.dtype.itemsize
    tolerance = 100 * float(np.finfo(other.dtype).eps) if kind in "fc" and size < 8 else 1e-12
    relative = max(1e-9, tolerance)
    if any(sparse):
        difference, known = (np.abs(each.tocsr().data) for each in (one - other, other))
        return bool(difference.max(initial=0) <= relative * known.max(initial=0))
    if one.dtype.kind not in "fc" or kind not in "fc":
        return bool(((one == other) | ((one != one) & (other != other))).all())  # NaN among objects
    largest = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=relative, atol=tolerance * largest, equal_nan=True))


def _check_items(last: Any, X: Any, seen: Any = None) -> None:
    """Raise ValueError if the estimator was fitted to other samples than `seen`, the transformed X.

    The values of a column may be permuted, as in ``permutation_importance``. Without `seen`, only the
    numbers of samples are compared.
    """
    n_fitted, n_items = getattr(last, "n_samples_fit_", None), length_of(X)
    fitted_to, hint = "" if n_fitted in (None, n_items) else str(n_fitted), ""
    known: Any = fitted_samples(last)
    if not fitted_to and not any(each is None or hasattr(each, "tocsr") for each in (seen, known)):
        seen = np.asarray(seen)
        numbers = known.shape == seen.shape and known.dtype.kind in "biuf" and seen.dtype.kind in "biuf"
        if numbers and not agree(np.sort(seen, axis=0), np.sort(known, axis=0)):
            fitted_to = "as many other samples"
            hint = " (a successive halving by n_samples needs an integer random_state)"
    msg = (
        f"ccv_scorer splits the samples itself and must be given all of them, got {n_items} samples "
        f"and an estimator fitted to {fitted_to}: within the folds of another cross-validation it "
        f"would score parts of the data. {_HOW}{hint}"
    )
    check(not fitted_to, msg)


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

    if name and name not in KNOWN_METRICS:
        check_name(name)
    refuse_inconsistent(name, X)
    if callable(metric) and not hasattr(metric, "pairwise"):
        return searched(partial(metric, **params) if params else metric, None)
    missing = missing_parameters(name, params)
    if name in KNOWN_METRICS and not missing and set(params) <= set(PARAMETERS.get(name, ())):
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
