"""Random runs: `monte_carlo_cv`, on the same neighbor orders as the exact score."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...._base.parallel import ExecutorLike, check_pool
from ...._base.validation import check_integer, check_random_state
from ....kernel import Variant
from ....neighbors import warn_label_leakage
from ...driver import Jobs, validate_problem
from ...luck.runs import ScoredRuns, draw_runs, score_runs
from ..results import with_test_set


def monte_carlo_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    n_runs: int = 50,
    random_state: int | np.random.Generator | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: Any = "pooled",
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    test: Any = None,
    **parameters: Any,
) -> ScoredRuns:
    """Compute the scores of random runs of a design, whose mean `complete_cv` computes exactly.

    Parameters
    ----------
    X, y, variant, cv, metric, metric_params, ties, average, n_jobs, executor, progress, test, **parameters
        As for `complete_cv`. One run of a k-fold design is a complete partition into folds; one run of
        another design is a single split, and with a test set a single training set from the pool. Every run
        is an unbiased estimate of the exact score for every `average`: if the test sets differ in size
        (`LeaveGroupsOut`), it is the sum of the scores divided by the mean size.
    n_runs : int, default 50
        Number of random runs.
    random_state : int, numpy Generator or None
        Seed of the splits.

    Returns
    -------
    ScoredRuns
        Without `expected` and `confusions`, for which `CompleteCV.runs` needs the exact score.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says which values are.

    See Also
    --------
    CompleteCV.runs : The same scores beside the exact one, and the confusion tables.
    CompleteCV.split_std : The standard deviation of one run around the exact score.

    Examples
    --------
    >>> from knnccv import KFold, complete_cv, monte_carlo_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> few = monte_carlo_cv(wine.X, wine.y, "nn", KFold(5), n_runs=100, random_state=0)
    >>> abs(few.score - complete_cv(wine.X, wine.y, "nn", KFold(5)).score) < 4 * few.std_error
    True
    """
    started = time.perf_counter()
    n_runs = check_integer("n_runs", n_runs, 1)
    check_pool(n_jobs, executor, progress)
    rng = check_random_state(random_state)
    neighbors, y, pool = with_test_set(X, y, test, metric, metric_params)
    question = validate_problem(y, neighbors.n_items, variant, cv, ties, average, parameters, pool=pool)
    warn_label_leakage(neighbors, question.smallest_train)
    runs = draw_runs(question, n_runs, rng)
    scores, missed = score_runs(question, neighbors, runs, Jobs(n_jobs, executor, progress))
    return ScoredRuns(
        scores=scores,
        measure=question.measure,
        error_bound=math.inf if neighbors.approximate else missed,
        seconds=time.perf_counter() - started,
    )
