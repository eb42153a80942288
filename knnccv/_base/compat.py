"""What scikit-learn keeps private and knnccv reads: here alone, as a new version may change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple

from .typing import Array


class MadeScorer(NamedTuple):
    """A scorer as ``make_scorer`` was told to make it.

    Attributes
    ----------
    function : callable
        The function of true and predicted labels, or of shares of votes.
    name : str
        Its name.
    metric : str
        The same if ``sklearn.metrics`` has this function, else "".
    options : dict
        Its further arguments.
    sign : float
        1.0 if greater is better, otherwise -1.0.
    responses : tuple of str
        The methods of the estimator, the first of which that it has gives the predictions.
    """

    function: Callable[..., Any]
    name: str
    metric: str
    options: dict[str, Any]
    sign: float
    responses: tuple[str, ...]


def read_scorer(scorer: Any) -> MadeScorer | None:
    """How a scorer was made; None if not by ``make_scorer``."""
    from sklearn import metrics

    function = getattr(scorer, "_score_func", None)
    if function is None:
        return None
    name, response = getattr(function, "__name__", ""), getattr(scorer, "_response_method", None)
    metric = name if function is getattr(metrics, name, None) else ""
    responses = (response,) if isinstance(response, str) else tuple(response or ())
    return MadeScorer(function, name, metric, dict(scorer._kwargs), float(scorer._sign), responses)


def scorer_of_splits(frame: FrameType | None) -> Any:
    """The scorer of scikit-learn's function that asks for splits; True if it predicts, else None."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("sklearn."):
        if frame.f_code.co_name == "cross_val_predict":
            return True
        scorer = frame.f_locals.get("scorers", frame.f_locals.get("scorer"))
        if scorer is not None:
            return scorer
        frame = frame.f_back
    return None


def is_sklearns_scorer(scorer: Any) -> bool:
    """Whether a scorer is one of scikit-learn's own, or there is one among several."""
    scorers = getattr(scorer, "_scorers", scorer)
    if isinstance(scorers, Mapping):
        return any(map(is_sklearns_scorer, scorers.values()))
    return type(scorer).__module__.startswith("sklearn.")


def fitted_samples(rule: Any) -> Any:
    """The samples that a nearest-neighbor estimator was fitted to; None if it is not fitted."""
    return getattr(rule, "_fit_X", None)


def fitted_targets(rule: Any) -> Any:
    """The labels or values that a nearest-neighbor estimator was fitted to."""
    return rule.classes_[rule._y] if hasattr(rule, "classes_") else rule._y


def at_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)
