"""The earlier steps of a pipeline: check which can be applied in advance, and apply them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import WRONG_WAY
from ..driver import InexactError
from ..neighbors import SupervisedDistanceWarning
from ._estimators import Rule, length_of, read_rule
from ._probes import agree, fit_transform, ignores_seed, transform_rows, uses_labels

_HOW = "Pass cv=WholeData() (of knnccv.sklearn) to the search or to cross_val_score, instead of folds"


@dataclass(frozen=True)
class Prepared:
    """An estimator, its data after the earlier steps, a note on these, and why no exact score exists."""

    estimator: Any
    X: Any
    note: str = ""
    reason: str = ""

    @cached_property
    def rule(self) -> Rule:
        """The estimator's rule; its neighbors are searched once for all scorings."""
        return read_rule(self.estimator, self.X)


def prepare(estimator: Any, X: Any, y: Array, transductive: bool, fitted: bool = False) -> Prepared:
    """Apply the steps of a pipeline that transform each sample independently of the others.

    With `transductive`, steps that need fitting are fitted to all samples, without labels. With `fitted`,
    the caller has fitted the pipeline to all samples, and its steps are used unchanged.

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

    if type(estimator) is not Pipeline:
        if fitted:
            _check_items(estimator, X, X)
        return Prepared(estimator, X)
    *steps, (_, last) = estimator.steps
    steps = [(name, step) for name, step in steps if not _is_passthrough(step)]
    learning = [name for name, step in steps if _fits(step)]
    if fitted:
        _check_number(last, X)
    precomputed = isinstance(metric := getattr(last, "metric", None), str) and metric == "precomputed"
    if precomputed and len(estimator.steps) > 1 and not (fitted and transductive):
        reason = (
            "a step before metric='precomputed' would get rows of another length in every split"
            if steps
            else "scikit-learn takes metric='precomputed' only from a pipeline's first step"
        )
        return Prepared(estimator, X, reason=reason)
    if learning and not transductive:
        shown = ", ".join(repr(name) for name in learning)
        reason = (
            "transductive=True fits steps that use no labels once, to all samples; without it the "
            f"step{'s' if len(learning) > 1 else ''} {shown} would be fitted to every training set, so "
            f"the distances would depend on the split ({WRONG_WAY}; knnccv.screened_cv fits in every split)"
        )
        return Prepared(estimator, X, reason=reason)
    for name, step in steps:
        _refuse_supervised(name, step)
    seen = X
    for name, step in steps:
        try:
            if fitted:
                seen = _as_fitted(name, step, seen, y, first=name == (learning or [None])[0])
            elif _fits(step):
                seen = _fitted_once(name, step, seen, y)
            else:
                seen = transform_rows(name, step, seen)
        except InexactError as error:
            return Prepared(estimator, X, reason=str(error))
    if fitted and not learning:
        _check_items(last, X, seen)
    note = f"the steps {', '.join(learning)} fitted once to all samples" if learning else ""
    return Prepared(last, seen, note=note)


def _is_passthrough(step: Any) -> bool:
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


def _refuse_supervised(name: str, step: Any) -> None:
    tags = _tags(step)
    if tags is None:
        return
    if tags.target_tags.required or tags.estimator_type in ("classifier", "regressor"):
        raise ValueError(_leak(name, step))


def _leak(name: str, step: Any) -> str:
    return (
        "pass method='mc' without transductive, which runs the whole pipeline in every split: the step "
        f"{name!r} ({type(step).__name__}) uses the labels, and fitted to all samples it would leak them "
        f"into the score ({WRONG_WAY}; knnccv.screened_cv fits in every split without scikit-learn)"
    )


def _fitted_without_labels(name: str, step: Any, X: Any, y: Array) -> Any:
    """Fit a copy of the step to X without labels, and return its output; a step must not need labels."""
    from sklearn.base import clone

    copy = clone(step)
    try:
        return copy.fit(X).transform(X)
    except (TypeError, ValueError, AttributeError):
        for labels in (y, np.arange(length_of(X)) % 2):
            try:
                copy.fit(X, labels)
            except Exception:  # the error has another cause than missing labels
                continue
            raise ValueError(_leak(name, step)) from None
        raise


def _fitted_once(name: str, step: Any, X: Any, y: Array) -> Any:
    """Fit a step to all samples without labels, and return its output."""
    alone = _fitted_without_labels(name, step, X, y)
    try:
        same = agree(fit_transform(step, X, y), alone)
    except Exception:  # it accepts no labels, or not these
        same = False
    if not same:
        _check_labels(name, step, X, y)
    return alone


def _as_fitted(name: str, step: Any, X: Any, y: Array, first: bool) -> Any:
    """Return the output of a fitted step, if it is the same without labels."""
    seen = step.transform(X)
    alone = _fitted_without_labels(name, step, X, y) if _fits(step) else transform_rows(name, step, X)
    if agree(seen, alone):
        return seen
    labels_matter = _check_labels(name, step, X, y)
    # Later steps were fitted to the output of `fit_transform`, which may differ from that of `transform`.
    if labels_matter is False and first and ignores_seed(step, X):
        msg = (
            f"the step {name!r} ({type(step).__name__}) was not fitted to the {length_of(X)} samples that "
            f"are scored. {_HOW}"
        )
        raise ValueError(msg)
    return seen


def _check_labels(name: str, step: Any, X: Any, y: Array) -> bool | None:
    """Refuse a step that uses labels, and warn if this is unknown; return whether it does."""
    found = uses_labels(step, X, y)
    if found:
        raise ValueError(_leak(name, step))
    if found is None:
        msg = (
            f"it is unknown whether the step {name!r} ({type(step).__name__}) uses the labels, since "
            "two fits to the same data differ or fail. If it does, the score is optimistic. Give it a "
            "random_state, or cross-validate the whole pipeline: expected_score(..., method='mc')"
        )
        warnings.warn(msg, SupervisedDistanceWarning, stacklevel=5)
    return found


def _check_number(last: Any, X: Any) -> None:
    """Raise ValueError if the estimator was fitted to another number of samples."""
    n_fitted, n_items = getattr(last, "n_samples_fit_", None), length_of(X)
    if n_fitted is None or n_fitted == n_items:
        return
    raise ValueError(_not_all(n_items, str(n_fitted)))


def _not_all(n_items: int, fitted_to: str) -> str:
    return (
        f"ccv_scorer splits the samples itself and must be given all of them, got {n_items} samples and an "
        f"estimator fitted to {fitted_to}: within the folds of another cross-validation it would score "
        f"parts of the data. {_HOW}"
    )


def _check_items(last: Any, X: Any, seen: Any) -> None:
    """Raise ValueError if the estimator was fitted to other samples than `seen`, the transformed X.

    The values of a column may be permuted, as in ``permutation_importance``.
    """
    _check_number(last, X)
    known = getattr(last, "_fit_X", None)
    if known is None or hasattr(known, "tocsr") or hasattr(seen, "tocsr"):
        return
    seen = np.asarray(seen)
    if known.shape != seen.shape or np.array_equal(known, seen):
        return
    if known.dtype.kind in "biuf" and seen.dtype.kind in "biuf":
        loose = 1e-6 if known.dtype.itemsize < 8 else 1e-12
        if agree(np.sort(known, axis=0).astype(float), np.sort(seen, axis=0).astype(float), loose):
            return
        hint = " (a successive halving by n_samples needs an integer random_state)"
        raise ValueError(_not_all(length_of(X), "as many other samples") + hint)
