"""Which of scikit-learn's scorings are means over classifications, and hence have exact expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._checks import as_reals
from ._sklearn_estimators import InexactError
from .kernel import Array

WHY_NOT = (
    "has no exact expectation here; exact are 'accuracy', 'balanced_accuracy', 'neg_mean_squared_error', "
    "the losses of the same (make_scorer), and a matrix of costs; and, in complete_cv, the Brier score of "
    "the votes' shares (variant 'confidence')"
)


@dataclass(frozen=True, eq=False)
class Measure:
    """A scoring as an affine function of what knnccv computes: ``offset + factor * mean``.

    Attributes
    ----------
    name : str
        For people to read.
    kind : {"accuracy", "balanced", "squared", "cost"}
        What is averaged: right answers, right answers within classes, squared errors, or `costs`.
    costs : ndarray of shape (n_classes, n_classes), or None
        Rows: true class, columns: predicted one.
    """

    name: str
    kind: str
    offset: float = 0.0
    factor: float = 1.0
    costs: Array | None = None

    def __call__(self, mean: float) -> float:
        """The score that goes with this mean."""
        return self.offset + self.factor * mean


@dataclass(frozen=True, eq=False)
class CostScorer:
    """Mean cost of an estimator's predictions: a scorer for scikit-learn.

    ``costs`` of shape (n_classes, n_classes) belongs to the sorted labels ``classes``.
    """

    costs: Array
    classes: Array

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The mean cost."""
        true, predicted = (np.searchsorted(self.classes, some) for some in (y, estimator.predict(X)))
        return float(self.costs[true, predicted].mean())


def is_costs(scoring: Any) -> bool:
    """Whether `scoring` is given as a matrix."""
    if isinstance(scoring, np.ndarray):
        return True
    return isinstance(scoring, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in scoring)


def for_sklearn(scoring: Any, y: Array) -> Any:
    """`scoring` as ``cross_val_score`` takes it.

    Raises
    ------
    ValueError, TypeError
        If it is none, or a matrix of the wrong shape.
    """
    if is_costs(scoring):
        classes = np.unique(y)
        return CostScorer(_costs(scoring, len(classes)), classes)
    if scoring is None or callable(scoring):
        return scoring
    if not isinstance(scoring, str):
        msg = (
            "scoring must be None, a name, a scorer or a matrix of costs (rows true, columns predicted), "
            f"got {scoring!r}"
        )
        raise TypeError(msg)
    from sklearn.metrics import get_scorer

    get_scorer(scoring)  # which knows all names, and says so
    return scoring


def read_scoring(scoring: Any, *, regression: bool, y: Array) -> Measure:
    """What a scoring averages.

    Raises
    ------
    InexactError
        If it is not linear in the classifications, or nobody can tell.
    ValueError, TypeError
        If it does not suit the estimator, or is no scoring.
    """
    from sklearn import metrics

    if is_costs(scoring):
        if regression:
            msg = "a matrix of costs is for classifiers; a regressor takes scoring='neg_mean_squared_error'"
            raise ValueError(msg)
        costs = _costs(scoring, len(np.unique(y)))
        return Measure("expected cost", "cost", costs=costs)
    scorer = for_sklearn(scoring, y)
    if scorer is None:
        if regression:
            msg = f"scoring=None means R² for a regressor, which {WHY_NOT}"
            raise InexactError(msg)
        return Measure("accuracy", "accuracy")
    if isinstance(scorer, str):
        scorer = metrics.get_scorer(scorer)
    given, sign, options = _parts(scorer)
    name = scoring if isinstance(scoring, str) else getattr(given, "__name__", repr(scoring))
    function = given if getattr(scorer, "_response_method", None) == "predict" else None
    if function is metrics.mean_squared_error and _only(options, multioutput="uniform_average"):
        return _squared(name, sign, regression, y)
    if regression:
        msg = f"{name} of a regressor {WHY_NOT}"
        raise InexactError(msg)
    if function is metrics.accuracy_score and _only(options, normalize=True):
        return Measure(name, "accuracy", factor=sign)
    if function is metrics.zero_one_loss and _only(options, normalize=True):
        return Measure(name, "accuracy", offset=sign, factor=-sign)
    if function is metrics.balanced_accuracy_score and _only(options, adjusted=False):
        return Measure(name, "balanced", factor=sign)
    if given is None:
        msg = f"nobody can look into the scorer {scoring!r}"
        raise InexactError(msg)
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    msg = f"{name}{f'({shown})' if shown and name is not scoring else ''} {WHY_NOT}"
    raise InexactError(msg)


def _parts(scorer: Any) -> tuple[Any, float, dict[str, Any]]:
    """The function, the sign and the options of what ``make_scorer`` made; None if it is something else."""
    if not hasattr(scorer, "_score_func"):
        return None, 1.0, {}
    return scorer._score_func, float(scorer._sign), dict(scorer._kwargs)


def _only(options: dict[str, Any], **harmless: Any) -> bool:
    return all(name in harmless and value == harmless[name] for name, value in options.items())


def _squared(name: str, sign: float, regression: bool, y: Array) -> Measure:
    if regression:
        return Measure(name, "squared", factor=sign)
    classes = np.unique(y)
    if classes.dtype.kind not in "iuf":
        msg = f"{name} needs numbers for labels, got dtype {classes.dtype}"
        raise ValueError(msg)
    numbers = classes.astype(float)
    return Measure(name, "cost", factor=sign, costs=(numbers[:, None] - numbers) ** 2)


def _costs(costs: Any, n_classes: int) -> Array:
    matrix = as_reals("scoring", costs, "scoring as a matrix of costs must hold real numbers")
    if matrix.shape != (n_classes, n_classes):
        msg = (
            f"scoring as a matrix of costs must have shape ({n_classes}, {n_classes}) for {n_classes} "
            f"classes (rows true, columns predicted, in sorted label order), got shape {matrix.shape}"
        )
        raise ValueError(msg)
    return matrix
