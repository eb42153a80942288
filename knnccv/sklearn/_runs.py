"""Runs of scikit-learn itself: where nothing is random, and where nothing is exact."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import Array
from ._estimators import too_many
from ._splitters import Split, is_random, reseeded


def check_sizes(estimator: Any, splits: Sequence[Split]) -> None:
    """Raise ValueError if K does not fit into a training set."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    k = getattr(last, "n_neighbors", None)
    smallest = min(len(train) for train, _ in splits)
    if isinstance(k, (int, np.integer)) and k > smallest:
        raise ValueError(too_many(int(k), smallest))


def run_splits(
    estimator: Any, X: Any, y: Array, splits: Sequence[Split], scoring: Any, n_jobs: int | None
) -> Array:
    """The scores of ``cross_val_score`` on these splits.

    Raises
    ------
    ValueError
        If a training set is too small, or a score is not finite.
    """
    from sklearn.model_selection import cross_val_score

    check_sizes(estimator, splits)
    scores: Array = cross_val_score(
        estimator, X, y, cv=list(splits), scoring=scoring, n_jobs=n_jobs, error_score="raise"
    )
    if not np.isfinite(scores).all():
        at = int(np.argmax(~np.isfinite(scores)))
        msg = f"scikit-learn's score of split {at} is {scores[at]}; is scoring={scoring!r} defined there?"
        raise ValueError(msg)
    return scores


def mean_of(scores: Array, splits: Sequence[Split], pooled: bool) -> float:
    """The mean of the splits' scores, or, `pooled`, by the number of samples that they test."""
    if not pooled:
        return float(scores.mean())
    return float(np.average(scores, weights=[len(test) for _, test in splits]))


def sample(
    estimator: Any,
    X: Any,
    y: Array,
    cv: Any,
    groups: Any,
    scoring: Any,
    n_repeats: int,
    rng: np.random.Generator,
    pooled: bool,
    n_jobs: int | None,
) -> tuple[float, float]:
    """Mean score of reseeded runs of ``cross_val_score``, and its standard error (NaN for one run)."""
    sums, sizes = np.empty((2, n_repeats))
    own = cv if is_random(cv) else copy.deepcopy(cv)
    for run in range(n_repeats):
        other = reseeded(own, int(rng.integers(2**31 - 1)))
        splits = list(other.split(X, y, groups))
        scores = run_splits(estimator, X, y, splits, scoring, n_jobs)
        weights = np.array([len(test) if pooled else 1 for _, test in splits], dtype=float)
        sums[run], sizes[run] = scores @ weights, weights.sum()
    score = float(sums.sum() / sizes.sum())
    if n_repeats == 1:
        return score, float("nan")
    # Of a ratio of two means; where the sizes do not vary, that of a mean.
    off = (sums - score * sizes) / sizes.mean()
    return score, float(off.std(ddof=1) / np.sqrt(n_repeats))
