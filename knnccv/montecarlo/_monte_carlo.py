"""Random runs: `monte_carlo_cv`, on the same neighbor orders as the exact score, and their results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._formatting import _listed, error_line, plain, plain_fields, uncertified
from .._parallel import ExecutorLike, check_pool
from .._validation import check_integer, check_random_state
from ..driver import Jobs, validate_problem
from ..kernel import Variant
from ..neighbors import warn_label_leakage
from ..results import with_test_set
from ..runs import RandomRuns, draw_runs, score_runs


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarloCV(RandomRuns):
    """Scores of random runs of a design.

    Attributes
    ----------
    scores : ndarray of shape (n_runs,)
        The score of every run; a run of a k-fold design is one whole partition into folds.
    score : float
        Their mean.
    std : float
        Their standard deviation (n_runs - 1 in the denominator): the variation between runs. NaN for a
        single run.
    std_error : float
        ``std / sqrt(n_runs)``, the standard error of the mean. It measures the randomness of the splits,
        not that of the samples.
    error_bound : float
        Bound of the error of the mean that is caused by neighbor lists which end before enough training
        samples are found; 0 unless the caller gave short lists. Infinite if ``certified`` is False.
    certified : bool
        False if the neighbors are approximate.
    truncation_bound : float
        The ``error_bound`` if the neighbor lists were exact up to their ends.
    measure : str
        The meaning of the scores.

    Examples
    --------
    >>> from knnccv import monte_carlo_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = monte_carlo_cv(wine.X, wine.y, "nn", n_runs=20, random_state=0)
    >>> round(found.score, 2), len(found.scores)
    (0.75, 20)
    """

    error_bound: float = 0.0
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: Any = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0
    measure: str = "score"

    def to_dict(self) -> dict[str, Any]:
        """Return the scores, their mean and spread in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        found = plain_fields(self, "std", "std_error", "scores", "seconds")
        return {"n_runs": len(self.scores), "mean": plain(self.score), **found}

    def __repr__(self) -> str:
        return (
            f"<MonteCarloCV {self.score:.6g}{self._spread()}: {self.variant}{_listed(self.parameters)}, "
            f"{self.measure} of {len(self.scores)} random run{'s' if len(self.scores) > 1 else ''} of "
            f"{self.design}"
            f"{'' if self.certified else ', ' + error_line(self)}>"
        )


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
) -> MonteCarloCV:
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
    MonteCarloCV

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says which values are.

    See Also
    --------
    CompleteCV.split_std : The standard deviation of one run around the exact score, without drawing runs
        where it has a formula.

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
    sums, missed = score_runs(question, neighbors, runs, Jobs(n_jobs, executor, progress))
    result = MonteCarloCV(
        scores=sums,
        error_bound=missed,
        truncation_bound=missed,
        variant=question.variant.name,
        design=repr(question.design),
        ties=question.ties,
        average=question.average,
        parameters=question.parameters,
        measure=question.measure,
        seconds=time.perf_counter() - started,
    )
    return uncertified(result) if neighbors.approximate else result
