"""Computation of a `SplitSpread`: by the formulas where they apply, otherwise by random runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._parallel import check_pool
from .._typing import Array
from .._validation import check_choice, check_integer, check_random_state
from ..driver import Jobs, Scored, ScoringProblem
from ..neighbors import Neighbors
from ._planes import draw_runs
from ._split_exact import NotExactError, exact_variance, why_not_exact
from ._split_result import SplitSpread
from ._trials import item_shares, score_runs

METHODS = ("auto", "exact", "sampled")
N_RUNS = 5000
ROUNDED_TO_ZERO = 1e-15
"""Variance of scores of at most 1 that rounding alone may cause."""
EPS = float(np.finfo(float).eps)


def split_spread(
    problem: ScoringProblem,
    neighbors: Neighbors,
    result: Scored,
    tol: float,
    method: str,
    n_repeats: int,
    random_state: Any,
    n_jobs: int | None,
) -> SplitSpread:
    """Return what `CompleteCV.split_std` returns."""
    check_choice("method", method, METHODS)
    n_repeats = check_integer("n_repeats", n_repeats, 1)
    rng = check_random_state(random_state)
    check_pool(n_jobs, None, progress=False)
    if problem.parameters.get("part", "error") not in ("error", "prediction", "bias"):
        msg = f"split_std() needs a score that is a mean over runs, which the {problem.measure} is not"
        raise ValueError(msg)
    found = None
    if method != "sampled":
        try:
            found = _exact(problem, neighbors, result, tol, n_jobs)
        except NotExactError as error:
            if method == "exact":
                msg = f'method="exact" is not offered: {error}; method="sampled" draws random runs'
                raise ValueError(msg) from None
    if found is None:
        found = _sampled(problem, neighbors, result, rng, n_jobs)
    root = math.sqrt(n_repeats)
    return replace(found, std=found.std / root, error=found.error / root)


def _exact(
    problem: ScoringProblem, neighbors: Neighbors, result: Scored, tol: float, n_jobs: int | None
) -> SplitSpread:
    if problem.design.every_split(problem.labels) is not None:  # nothing is random
        return SplitSpread(0.0, True, 0.0, 0)
    scores = _all_runs(problem, result)
    if scores is not None:
        spread = _deviation(scores, result.score)
        largest_error = result.truncation_bound * math.sqrt(len(scores))  # if all of it is in one run
        error = largest_error + 8 * EPS * problem.largest
    else:
        reason = why_not_exact(problem, result)
        if reason:
            raise NotExactError(reason)
        variance, slack = exact_variance(problem, neighbors, result, tol, n_jobs)
        spread = math.sqrt(variance) if variance > ROUNDED_TO_ZERO * problem.largest**2 else 0.0
        error = max(spread - math.sqrt(max(variance - slack, 0.0)), math.sqrt(variance + slack) - spread)
    return SplitSpread(spread, True, math.inf if neighbors.approximate else error, 0)


def _all_runs(problem: ScoringProblem, result: Scored) -> Array | None:
    """The scores of all runs, if each sample has one training set that tests it; otherwise None."""
    of_one_size = problem.design.one_run == "set" and not problem.design.stratifies
    if not of_one_size or problem.training_sets[0].n_test != 1:
        return None
    scores: Array = item_shares(problem, 1)[0][problem.labels.codes] * result.per_item
    return scores


def _sampled(
    problem: ScoringProblem,
    neighbors: Neighbors,
    result: Scored,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> SplitSpread:
    try:
        runs = draw_runs(problem, N_RUNS, rng)
    except NotImplementedError as reason:
        msg = f"split_std() cannot draw runs of {problem.design!r}: {reason}"
        raise ValueError(msg) from reason
    scores, missed = score_runs(problem, neighbors, runs, Jobs(n_jobs))
    deviations = scores - result.score
    std = _deviation(deviations, 0.0)
    if std <= 8 * EPS * problem.largest:
        std = 0.0
    fourth = math.fsum((deviations**4).tolist()) / N_RUNS
    error = math.sqrt(max(fourth - std**4, 0.0) / N_RUNS) / (2 * std) if std else 0.0
    return SplitSpread(std, False, error + math.sqrt(missed * problem.largest), N_RUNS)


def _deviation(scores: Array, mean: float) -> float:
    """The root of the mean squared deviation from the mean."""
    return math.sqrt(math.fsum(((scores - mean) ** 2).tolist()) / len(scores))
