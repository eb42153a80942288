"""Runs of scikit-learn itself: for splits that are listed one by one, and for random samples of splits."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._parallel import counted, shared_bar
from .._training_set_count import magnitude
from .._typing import Array
from ..driver import InexactError
from ._estimators import too_many
from ._request import Expectation, ScoreRequest
from ._scoring import read_scoring
from ._splitters import GroupLaw, ListedLaw, Split, is_random, listed, reseeded

MAX_SPLITS = 20_000
"""The largest number of splits that are evaluated one by one."""

MAX_RUNS = 2_000
"""The largest number of splits of a random splitter for which scikit-learn runs one by one."""

SPLITS_AT_ONCE = 50
"""Splits that scikit-learn scores for one step of a progress bar."""


def check_sizes(estimator: Any, splits: Sequence[Split]) -> None:
    """Raise ValueError if K exceeds the size of a training set."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    k = getattr(last, "n_neighbors", None)
    smallest = min(len(train) for train, _ in splits)
    if isinstance(k, (int, np.integer)) and k > smallest:
        raise ValueError(too_many(int(k), smallest))


def check_pooled(request: ScoreRequest) -> None:
    """Raise ValueError if scikit-learn's scores of folds cannot be pooled."""
    if not request.pooled:
        return
    from sklearn.base import is_regressor

    try:
        regression = is_regressor(request.prepared.estimator)
        measure = read_scoring(request.scoring, regression=regression, y=request.y)
        linear = measure.kind != "balanced"
    except InexactError:
        linear = False
    if not linear:
        msg = (
            "average='pooled' of scikit-learn's own scores needs one that is a mean over the tested "
            f"samples, got scoring={request.scoring!r}; use average='folds'"
        )
        raise ValueError(msg)


def run_splits(request: ScoreRequest, splits: Sequence[Split]) -> tuple[Array, Array]:
    """Run ``cross_val_score`` on given splits; return the scores and their weights in the mean.

    Raises
    ------
    ValueError
        If a training set is too small, or a score is not finite.
    """
    from sklearn.model_selection import cross_val_score

    prepared, scoring = request.prepared, request.sklearn_scoring
    check_sizes(prepared.estimator, splits)
    size = len(splits) if shared_bar() is None else SPLITS_AT_ONCE
    starts = range(0, len(splits), size)
    parts = [
        cross_val_score(
            prepared.estimator,
            prepared.X,
            request.y,
            cv=list(splits[start : start + size]),
            scoring=scoring,
            n_jobs=request.n_jobs,
            error_score="raise",
        )
        for start in counted(starts, len(starts))
    ]
    scores: Array = np.concatenate(parts)
    if not np.isfinite(scores).all():
        at = int(np.argmax(~np.isfinite(scores)))
        msg = f"scikit-learn's score of split {at} is {scores[at]}; is scoring={scoring!r} defined there?"
        raise ValueError(msg)
    return scores, np.array([len(test) if request.pooled else 1 for _, test in splits], dtype=float)


def run_listed(request: ScoreRequest, splits: Sequence[Split]) -> Expectation:
    """Run scikit-learn on the only splits that a deterministic splitter makes."""
    from sklearn import model_selection as ms

    check_pooled(request)
    scores, sizes = run_splits(request, splits)
    mean = np.average(scores, weights=sizes) if request.pooled else scores.mean()
    how = f"scikit-learn's own score; {request.splitter} always makes the same splits: nothing was averaged"
    if isinstance(request.cv, (ms.KFold, ms.StratifiedKFold, ms.GroupKFold)):
        name = type(request.cv).__name__
        how += f"; {name}({request.cv.get_n_splits()}, shuffle=True) would be averaged over all shuffles"
    return Expectation(float(mean), 0.0, how, deterministic=True)


def run_all(request: ScoreRequest, law: GroupLaw) -> Expectation:
    """Run scikit-learn on all splits that a random splitter can make."""
    check_pooled(request)
    probabilities, splits = zip(*law.splits(), strict=True)
    scores, sizes = run_splits(request, splits)
    weights = sizes * [float(probability) for probability in probabilities]
    how = f"scikit-learn's own scores of all {len(splits)} splits that {request.splitter} can make"
    return Expectation(float(np.average(scores, weights=weights)), 0.0, how)


def run_if_fixed(request: ScoreRequest) -> Expectation | None:
    """Run scikit-learn if the splitter always makes the same splits; otherwise return None.

    Raises
    ------
    ValueError
        If there are too many splits.
    """
    cv = request.cv
    if is_random(cv):
        return None
    n_splits = cv.get_n_splits(request.X, request.y, request.groups)
    if n_splits > max(MAX_SPLITS, len(request.y)):
        msg = (
            f"{request.splitter} goes through {magnitude(n_splits)} splits, too many for scikit-learn; "
            "ShuffleSplit or GroupShuffleSplit with the same sizes draws from them"
        )
        raise ValueError(msg)
    law = listed(cv, request.X, request.y, request.groups)
    return run_listed(request, law.splits) if isinstance(law, ListedLaw) else None


def sample(request: ScoreRequest, n_repeats: int, rng: np.random.Generator) -> tuple[float, float]:
    """Compute the mean score of reseeded runs of scikit-learn, and its standard error (NaN for one run)."""
    check_pooled(request)
    sums, sizes = np.empty((2, n_repeats))
    cv = request.cv if is_random(request.cv) else copy.deepcopy(request.cv)
    for run in counted(range(n_repeats), n_repeats):
        other = reseeded(cv, int(rng.integers(2**31 - 1)))
        scores, weights = run_splits(
            request, list(other.split(request.prepared.X, request.y, request.groups))
        )
        sums[run], sizes[run] = scores @ weights, weights.sum()
    score = float(sums.sum() / sizes.sum())
    if n_repeats == 1:
        return score, float("nan")
    # The standard error of a ratio of two means; for equal sizes, that of a mean.
    residuals = (sums - score * sizes) / sizes.mean()
    return score, float(residuals.std(ddof=1) / np.sqrt(n_repeats))
