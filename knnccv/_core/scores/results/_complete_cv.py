"""`complete_cv`, the public function, and `monte_carlo_cv`, random runs in place of all training sets.

They check their arguments and time the evaluation.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...._base.parallel import ExecutorLike, check_pool
from ...._base.typing import Array
from ...._base.validation import (
    check,
    check_bool,
    check_integer,
    check_random_state,
    check_tol,
    in_columns_of,
)
from ....kernel import Variant
from ....neighbors import (
    Between,
    Neighbors,
    as_neighbors,
    neighbors_in_pool,
    warn_copies,
    warn_label_leakage,
    warn_of_signs,
)
from ...driver import (
    Evaluation,
    Jobs,
    Pool,
    ScoringProblem,
    callers_level,
    check_distances,
    check_exact,
    check_sampling,
    validate_problem,
)
from ...luck.runs import ScoredRuns, draw_runs, score_runs
from ...luck.scorings import check_precision, enough_draws
from ._result import CompleteCV, SampledCV, result_of
from ._scored import scored_alike

N_DRAWS = 1000
"""Training sets that are drawn for each sample, unless the arguments say how many, or how well."""
UNCERTAIN = 0.01
"""The error of a score, in units of the largest one, from which short lists are warned of."""


def complete_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: Any = "pooled",
    tol: float = 1e-12,
    exact: bool = False,
    method: str = "auto",
    n_draws: int | None = None,
    precision: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    test: Any = None,
    **parameters: Any,
) -> CompleteCV:
    """Mean score of a nearest-neighbor rule over all admissible training sets.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        The samples. With ``metric="precomputed"`` a square matrix of dissimilarities, row = tested sample.
        Distances must not depend on the split: scale or transform before, or not at all. C-contiguous
        float64 data are not copied. Methods of the result search X again, such as ``confusion``,
        ``influence`` and ``standard_error``. They refuse X that was changed in place, as far as a checksum
        shows it: of more than 64 columns it reads a part of every row and column.
    y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
        Class labels; for "regression" real targets.
    variant : str, Variant or subclass of it, default "knn"
        The rule: "nn" (parameter `loss`), "knn" (`n_neighbors` = 5, `loss`, `vote_ties` = "smallest" or
        "random"), "rank" (`rank` = 5), "confidence" (`n_neighbors`, `score` = "share", "brier" or
        "log_loss"), "regression" (`n_neighbors`; the score is the mean squared error), "weighted" and
        "weighted_regression" (`n_neighbors`, `weights` = "inverse" and more), "radius" (`radius` = 1.0,
        `outlier_label`) and "radius_regression" (`radius`, `outlier_value`), or another registered one;
        ``help(knnccv.get_variant("weighted"))`` describes the parameters of a rule.
    cv : int or design, default 5
        A `Design`, such as ``Subsample(0.5)`` or ``LeaveOut(1)``; `knnccv.designs.DESIGNS` lists them. An
        integer is that number of stratified folds, for "regression" of plain ones.
    metric : str or callable, default "euclidean"
        See `Neighbors.from_data`. Leave it out if X is a `Neighbors`.
    metric_params : mapping, optional
        See `Neighbors.from_data`.
    ties : {"random", "index"}, default "random"
        "random": the exact mean over all orders of tied samples, independent of the order of the data.
        "index": tied samples in the order of the data; the default for a rule that does not offer "random".
    average : {"pooled", "item", "class"} or mapping of label to share, default "pooled"
        "pooled": all classifications of a split have equal weight (as in the papers; for k-fold designs the
        mean of the folds' scores, as ``cross_val_score(...).mean()``). "item": all samples that can be
        tested have equal weight (for k-fold designs the score of ``cross_val_predict``). "class": all
        classes have equal weight. A mapping gives every class its share, positive and 1 in sum (target
        priors): the score where classes are as frequent as that, see ``docs/guide/balance.md``.
    tol : float, default 1e-12
        Admissible error, relative to the largest absolute score. With 0 all neighbors are used.
    exact : bool, default False
        Compute with rational numbers. Slow, for small data. Not for approximate neighbors.
    method : {"auto", "exact", "sampled"}, default "auto"
        "exact": all training sets, by the kernels of the rule. "sampled": an estimate from `n_draws` random
        training sets for each sample, drawn for this sample alone; the result is a `SampledCV`, with its
        standard error. "auto": exact, but samples that the rule has no exact kernel for are sampled, and
        those with too many sets of groups.
    n_draws : int, optional
        Training sets that are drawn for each sample that is sampled, at least 2; default 1000. For several
        kinds of training sets (folds of different sizes) they are divided in proportion, and rounded up.
    precision : float, optional
        In place of `n_draws`: the wanted standard error of the score, where samples are sampled. 1000 draws
        tell how many there have to be, at most 100,000. The result is that of `n_draws` of this number; all
        of them are drawn anew, at most twice.
    random_state : int, numpy Generator or None, default 0
        Seed of the draws.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Runs the computation instead of knnccv's own threads: a pool of threads or processes, any object
        with the same interface, or a dask cluster. The result does not depend on it. See
        ``docs/guide/performance.md``.
    progress : bool, default False
        Show a progress bar (needs tqdm) of the samples, and of those that need deeper lists.
    test : pair (X_test, y_test), or array of shape (n_test,), optional
        A fixed test set. X and y are then a pool that training sets are drawn from, and only the samples of
        the test set are tested, by every training set; all of the pool may train. For distances, X of shape
        (n_test, n_pool) with ``metric="precomputed"``, and for neighbors of `Neighbors.between` (queries:
        the test set, gallery: the pool) `test` holds the labels alone. A class that only the test set has
        is never predicted.
    **parameters
        The variant's parameters.

    Returns
    -------
    CompleteCV
        A `SampledCV` if any sample was sampled.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Warns
    -----
    CopiesWarning
        If many rows repeat another with the same label, as copies do.
    SlowComputationWarning
        If large tied groups make the computation take more than about a minute.
    UserWarning
        If given neighbor lists are so short that the score is uncertain by more than 0.01; if 100,000 draws
        do not reach the `precision`: how many would; if features of both signs are compared by
        "braycurtis", which is scikit-learn's, not scipy's.

    Notes
    -----
    Mullin & Sukthankar, "Complete Cross-Validation for Nearest Neighbor Classifiers", ICML 2000.

    Examples
    --------
    >>> from knnccv import complete_cv, KFold
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = complete_cv(wine.X, wine.y, "knn", KFold(10), n_neighbors=3)
    >>> round(result.score, 6)
    0.712135
    """
    started = time.perf_counter()
    check_tol(tol)
    check_bool("exact", exact)
    check_pool(n_jobs, executor, progress)
    neighbors, y, pool = with_test_set(X, y, test, metric, metric_params)
    sampling = check_sampling(method, N_DRAWS if n_draws is None else n_draws, random_state)
    check_precision(precision, n_draws, "n_draws")
    problem = validate_problem(
        y, neighbors.n_items, variant, cv, ties, average, parameters, sampling.method, pool
    )
    if exact:
        check_exact(problem, neighbors)
    check_distances(problem, neighbors)
    warn_label_leakage(neighbors, problem.smallest_train, problem.left_out)
    if pool is None and not problem.leaves_groups:
        warn_copies(neighbors, problem.targets, callers_level() + 1)
    # Otherwise these neighbors are not used again.
    keep, results = isinstance(X, Neighbors) or precision is not None, list[CompleteCV]()

    def look(number: int) -> float:
        drawn = replace(sampling, n_draws=number)
        given = Evaluation(problem, neighbors, tol, exact, n_jobs, sampling=drawn)
        (found,) = scored_alike([given], Jobs(n_jobs, executor, progress), keep=keep)
        results.append(result := result_of(given, found, started))
        return result.std_error if isinstance(result, SampledCV) else 0.0

    enough_draws(look, N_DRAWS, precision, n_draws, "n_draws")
    warn_of_short_lists(problem, neighbors, results[-1].truncation_bound, tol)
    return results[-1]


def monte_carlo_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    n_runs: int = 50,
    random_state: int | np.random.Generator | None = 0,
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
    random_state : int, numpy Generator or None, default 0
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
    warn_label_leakage(neighbors, question.smallest_train, question.left_out)
    runs = draw_runs(question, n_runs, rng)
    scores, missed = score_runs(question, neighbors, runs, Jobs(n_jobs, executor, progress))
    return ScoredRuns(
        scores=scores,
        measure=question.measure,
        error_bound=math.inf if neighbors.approximate else missed,
        seconds=time.perf_counter() - started,
    )


def warn_of_short_lists(
    problem: ScoringProblem, neighbors: Neighbors, bounds: float | Array, tol: float
) -> None:
    """Warn where scores are uncertain by these bounds, as given lists do not decide all training sets."""
    allowed = max(UNCERTAIN, tol) * problem.largest
    n_uncertain = int(np.sum(bounds > allowed))
    if n_uncertain and neighbors.max_depth < problem.training_sets[0].n_available:
        many = f"{n_uncertain} of {np.size(bounds)} cells are uncertain by more than {allowed:.2g}, at most"
        who = many if np.ndim(bounds) else "the score is uncertain by up to"
        warnings.warn(
            f"give longer neighbor lists, or ask for larger training sets: {who} {np.max(bounds):.2g}, "
            f"since the lists of {neighbors.max_depth} neighbors end too early; see error_bound",
            UserWarning,
            stacklevel=callers_level(),
        )


def with_test_set(
    X: Any, y: Any, test: Any, metric: Any, metric_params: Mapping[str, Any] | None
) -> tuple[Neighbors, Any, Pool | None]:
    """The neighbors that the samples of the test set have in the pool X, their labels, and the pool's.

    Without a test set those of X among themselves, their labels, and None.

    Raises
    ------
    ValueError, TypeError
        If `test` is no pair (X_test, y_test), or no labels where X holds distances; or if the data do not
        fit together.
    """
    if test is None:
        return as_neighbors(X, metric, metric_params), y, None
    queries, tested = _split(test, X, metric)
    neighbors, n_pool = neighbors_in_pool(X, queries, metric, metric_params)
    if queries is not None:
        warn_of_signs(metric, X, queries, stacklevel=4)
    return neighbors, tested, Pool(y, n_pool)


def _split(test: Any, X: Any, metric: Any) -> tuple[Any, Any]:
    """The features and the labels of the samples tested; no features if X holds distances to the pool."""
    if isinstance(X, Between) or (isinstance(metric, str) and metric == "precomputed"):
        msg = "test must hold the labels of the test set alone, as X has its distances; got a pair"
        check(not (isinstance(test, tuple) and len(test) == 2 and np.ndim(test[0])), msg, error=TypeError)
        return None, test
    if not isinstance(test, tuple) or len(test) != 2:
        msg = (
            f"test must be a pair (X_test, y_test), got {type(test).__name__}; only with distances or "
            "Neighbors.between in place of X it holds the labels alone"
        )
        raise TypeError(msg)
    return in_columns_of(X, test[0]), test[1]
