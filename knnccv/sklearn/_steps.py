"""The earlier steps of a pipeline: which can be done beforehand, and what they make of the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import WRONG_WAY
from ..neighbors import SupervisedDistanceWarning
from ._estimators import InexactError, Rule, length_of, read_rule
from ._probes import agree, by_itself, ignores_seed, made, uses_labels

_HOW = "Pass cv=WholeData() (of knnccv.sklearn) to the search or to cross_val_score, in place of its folds"


@dataclass(frozen=True)
class Prepared:
    """An estimator and the data that it sees, what was done to them, and why they are not exact yet."""

    estimator: Any
    X: Any
    note: str = ""
    reason: str = ""

    @cached_property
    def rule(self) -> Rule:
        """The estimator's rule, whose neighbors are searched once, however many scorings are asked for."""
        return read_rule(self.estimator, self.X)


def prepare(estimator: Any, X: Any, y: Array, transductive: bool, fitted: bool = False) -> Prepared:
    """Do beforehand what a pipeline does to each sample without looking at others.

    With `transductive`, what must be fitted is fitted to all samples, without labels. With `fitted`, the
    pipeline has been fitted to all samples by somebody else, and its steps are used as they are.

    Raises
    ------
    ValueError
        If, with `transductive`, a step looks at labels; or a `fitted` estimator was fitted to other
        samples.

    Warns
    -----
    SupervisedDistanceWarning
        If, with `transductive`, nobody can tell whether a step looks at labels.
    """
    from sklearn.pipeline import Pipeline

    if type(estimator) is not Pipeline:
        if fitted:
            _check_items(estimator, X, X)
        return Prepared(estimator, X)
    *steps, (_, last) = estimator.steps
    steps = [(name, step) for name, step in steps if not _is_nothing(step)]
    learning = [name for name, step in steps if _fits(step)]
    if fitted:
        _check_number(last, X)
    precomputed = isinstance(metric := getattr(last, "metric", None), str) and metric == "precomputed"
    if precomputed and len(estimator.steps) > 1 and not (fitted and transductive):
        reason = (
            "a step before metric='precomputed' would see rows of other lengths in every split"
            if steps
            else "scikit-learn takes metric='precomputed' only from a pipeline's first step"
        )
        return Prepared(estimator, X, reason=reason)
    if learning and not transductive:
        shown = ", ".join(repr(name) for name in learning)
        reason = (
            f"the step{'s' if len(learning) > 1 else ''} {shown} would be fitted to every training set "
            f"anew, and so the distances depend on the split ({WRONG_WAY}); knnccv.screened_cv samples, "
            "and transductive=True fits steps that look at no labels once, to all samples, on purpose"
        )
        return Prepared(estimator, X, reason=reason)
    for name, step in steps:
        _refuse_labels(name, step)
    seen = X
    for name, step in steps:
        try:
            if fitted:
                seen = _as_fitted(name, step, seen, y, first=name == (learning or [None])[0])
            elif _fits(step):
                seen = _fitted_once(name, step, seen, y)
            else:
                seen = by_itself(name, step, seen)
        except InexactError as error:
            return Prepared(estimator, X, reason=str(error))
    if fitted and not learning:
        _check_items(last, X, seen)
    note = f"the steps {', '.join(learning)} fitted once to all items" if learning else ""
    return Prepared(last, seen, note=note)


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
        f"the step {name!r} ({type(step).__name__}) looks at the labels: fitted to all samples it would leak "
        f"them into the score ({WRONG_WAY}); expected_score(..., method='mc') without transductive runs "
        "the whole pipeline in every split, as knnccv.screened_cv does without scikit-learn"
    )


def _fitted_without_labels(name: str, step: Any, X: Any, y: Array) -> Any:
    """What a copy of the step makes of X, fitted to X alone: whoever needs labels cannot have them."""
    from sklearn.base import clone

    copy = clone(step)
    try:
        return copy.fit(X).transform(X)
    except (TypeError, ValueError, AttributeError):
        for labels in (y, np.arange(length_of(X)) % 2):
            try:
                copy.fit(X, labels)
            except Exception:  # then it is not for want of labels
                continue
            raise ValueError(_leak(name, step)) from None
        raise


def _fitted_once(name: str, step: Any, X: Any, y: Array) -> Any:
    """What a step that is fitted to all samples, without labels, makes of them."""
    alone = _fitted_without_labels(name, step, X, y)
    try:
        same = agree(made(step, X, y), alone)
    except Exception:  # it takes no labels, or not these
        same = False
    if not same:
        _settle(name, step, X, y)
    return alone


def _as_fitted(name: str, step: Any, X: Any, y: Array, first: bool) -> Any:
    """What a fitted step makes of X, if that is what it would make without labels."""
    seen = step.transform(X)
    alone = _fitted_without_labels(name, step, X, y) if _fits(step) else by_itself(name, step, X)
    if agree(seen, alone):
        return seen
    labels_matter = _settle(name, step, X, y)
    # Later steps were fitted to what `fit_transform` of the earlier made, not to what `transform` makes.
    if labels_matter is False and first and ignores_seed(step, X):
        msg = (
            f"the step {name!r} ({type(step).__name__}) was not fitted to the {length_of(X)} samples that "
            f"are scored. {_HOW}"
        )
        raise ValueError(msg)
    return seen


def _settle(name: str, step: Any, X: Any, y: Array) -> bool | None:
    """Whether a step looks at labels: refuse it if so, and warn if nobody can tell."""
    found = uses_labels(step, X, y)
    if found:
        raise ValueError(_leak(name, step))
    if found is None:
        msg = (
            f"nobody can tell whether the step {name!r} ({type(step).__name__}) looks at the labels, since "
            "two fits to the same data differ or fail. If it does, the score is optimistic. Give it a "
            "random_state, or cross-validate the whole pipeline: expected_score(..., method='mc')"
        )
        warnings.warn(msg, SupervisedDistanceWarning, stacklevel=5)
    return found


def _check_number(last: Any, X: Any) -> None:
    """Raise ValueError if the estimator was fitted to more or fewer samples than are scored."""
    n_fitted, n_items = getattr(last, "n_samples_fit_", None), length_of(X)
    if n_fitted is None or n_fitted == n_items:
        return
    msg = (
        f"ccv_scorer splits the samples itself and must be given all of them, got {n_items} samples and an "
        f"estimator fitted to {n_fitted}: within the folds of another cross-validation it would score "
        f"parts of the data. {_HOW}"
    )
    raise ValueError(msg)


def _check_items(last: Any, X: Any, seen: Any) -> None:
    """Raise ValueError if the estimator was fitted to others than these samples, `seen` by it as they are.

    Values may have changed places within a column, as in ``permutation_importance``.
    """
    _check_number(last, X)
    own = getattr(last, "_fit_X", None)
    if own is None or hasattr(own, "tocsr") or hasattr(seen, "tocsr"):
        return
    seen = np.asarray(seen)
    if own.shape != seen.shape or np.array_equal(own, seen):
        return
    if own.dtype.kind in "biuf" and seen.dtype.kind in "biuf":
        loose = 1e-6 if own.dtype.itemsize < 8 else 1e-12
        if agree(np.sort(own, axis=0).astype(float), np.sort(seen, axis=0).astype(float), loose):
            return
        msg = (
            f"ccv_scorer splits the samples itself and must be given all of them, got {length_of(X)} samples "
            "and an estimator fitted to as many others: within the folds of another cross-validation it "
            f"would score parts of the data. {_HOW} (a successive halving by n_samples needs an integer "
            "random_state)"
        )
        raise ValueError(msg)
