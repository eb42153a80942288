"""The score of a problem: by exact kernels, from drawn training sets, or by both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ...._base.typing import Array
from ....designs import LeaveGroupsOut
from ....kernel import Variant
from ...driver import (
    BlockScorer,
    Evaluation,
    Jobs,
    Scored,
    Scores,
    ScoringProblem,
    block_scorer,
    exact_scores,
    float_scores,
    kind_weights,
    summarize_scores,
    with_parameters,
)
from ...driver.groups import GroupScorer, exact_group_scores, group_scorer
from ...driver.sampled import DrawnScores, sampled_scores
from ...luck.scorings import unseen_error


@dataclass(frozen=True, eq=False, repr=False)
class Estimated(Scored):
    """A score of which some samples were sampled; the attributes are those of `SampledCV`."""

    std_error: float = 0.0
    per_item_std_error: Array = field(default_factory=lambda: np.empty(0))
    n_draws: int = 0
    n_sampled: int = 0


def scored(given: Evaluation, *, keep: bool = False) -> Scored:
    """The score of a problem; with `keep` the neighbors keep their lists."""
    return scored_alike([given], Jobs(given.n_jobs), keep=keep)[0]


def again(given: Evaluation, **parameters: Any) -> Scored:
    """The score with other parameters of the rule; ValueError if X was changed after the first score."""
    given.neighbors.check_unchanged()
    return scored(replace(given, problem=with_parameters(given.problem, **parameters)), keep=True)


def scored_alike(them: Sequence[Evaluation], jobs: Jobs, *, keep: bool) -> list[Scored]:
    """The scores of rules that differ in their parameters; training sets are drawn once for all.

    Each is that of its parameters alone. The first ones need the most neighbors.
    """
    known = [_known(one, keep, jobs) for one in them]
    drawn = [one for one, (_, is_open) in zip(them, known, strict=True) if is_open.any()]
    if drawn:
        sampling, rows = them[0].sampling, np.flatnonzero(np.any([is_open for _, is_open in known], axis=0))
        assert sampling is not None
        problems, near = [one.problem for one in drawn], them[0].neighbors
        estimates = iter(sampled_scores(problems, near, sampling, rows, jobs, keep=keep))
    results: list[Scored] = []
    for one, (found, is_open) in zip(them, known, strict=True):
        if is_open.any():
            estimate = next(estimates)
            estimate, rows = replace(estimate, tied=estimate.tied & is_open), np.flatnonzero(is_open)
            results.append(_estimated(one.problem, estimate, rows, found))
        else:
            results.append(_exact(one, cast(Scores, found), jobs))
    return results


def _known(given: Evaluation, keep: bool, jobs: Jobs) -> tuple[Scores | None, Array]:
    """The exact scores, and a mask of the samples without one that are to be sampled."""
    problem, n_items = given.problem, given.neighbors.n_items
    if not problem.way.by_kernels:
        return None, np.ones(n_items, bool)
    found = _scores(given, keep or problem.way.sees_distances, jobs)
    if given.exact or not problem.way.may_leave_out:
        return found, np.zeros(n_items, bool)
    return found, np.any(np.isnan(found.scores) & problem.tested(), axis=0)


def _scores(given: Evaluation, keep: bool, jobs: Jobs) -> Scores:
    problem, neighbors = given.problem, given.neighbors
    if not given.exact:
        return float_scores(given, scorer_of(given), jobs, keep=keep)
    exact = exact_group_scores if problem.leaves_groups else exact_scores
    return exact(problem, neighbors, given.tol)


def scorer_of(given: Evaluation) -> BlockScorer | GroupScorer:
    """The scorer of the problem."""
    if given.problem.leaves_groups:
        return group_scorer(given.problem, given.neighbors, given.tol)
    return block_scorer(given.problem, given.neighbors, given.tol, given.tie_order)


def is_mean_over_kinds(problem: ScoringProblem) -> bool:
    """Return True if scores are means over kinds of training sets, or there is only one set to see."""
    sets_of_groups = problem.leaves_groups and cast(LeaveGroupsOut, problem.design).p > 1
    linear = type(problem.variant).over_kinds is Variant.over_kinds
    return linear or not (len(problem.training_sets) > 1 or sets_of_groups)


def _exact(given: Evaluation, found: Scores, jobs: Jobs) -> Scored:
    """The score from exact scores of all samples, averaged over the kinds of training sets."""
    problem = given.problem

    def scores_with(**parameters: Any) -> Array:
        other = replace(given, problem=with_parameters(problem, **parameters))
        return _scores(other, True, jobs._replace(progress=False)).scores

    if not is_mean_over_kinds(problem):
        weights, n_outputs = kind_weights(problem, given.exact), problem.values.shape[1]
        means = problem.variant.over_kinds(
            found.scores, weights, scores_with, n_outputs, **problem.parameters
        )
        found = replace(found, scores=means)
    result = summarize_scores(problem, found)
    return replace(result, error_bound=math.inf) if given.neighbors.approximate else result


def _estimated(problem: ScoringProblem, drawn: DrawnScores, rows: Array, known: Scores | None) -> Estimated:
    """The mean of drawn scores of the samples `rows`, and of `known` scores of all others."""
    scores, missed, tied, depth = drawn.scores, drawn.missed, drawn.tied, drawn.depth
    variances = drawn.variances
    sampled: Array = np.ones(scores.shape, bool)
    if known is not None:
        sampled = np.zeros(len(tied), bool)
        sampled[rows] = True
        sampled = sampled & np.isnan(known.scores)
        scores = np.where(sampled, scores, known.scores)
        missed = np.where(sampled, missed, known.tails)
        variances = np.where(sampled, variances, 0.0)
        tied, depth = known.tied | tied, max(depth, known.depth)
    by_class = np.array([[float(w) for w in row] for row in problem.item_weights])
    weights = by_class[:, problem.labels.codes]
    total = weights.sum(axis=0)
    spread = (weights**2 * variances).sum(axis=0)
    plain = summarize_scores(problem, Scores(scores, missed, tied, depth))
    # Draws that are spread evenly hardly differ: few of their pairs, or none, show the variance.
    error = math.hypot(
        math.sqrt(math.fsum(spread)), _one_other_draw(problem, drawn, np.where(sampled, weights, 0.0))
    )
    apart = np.divide(np.sqrt(spread), total, out=np.zeros(len(total)), where=total > 0)
    values = {
        "error_bound": math.inf,
        "truncation_bound": problem.largest * float((weights * missed).sum()),
    }
    return Estimated(
        **vars(plain) | values,
        std_error=error,
        per_item_std_error=apart,
        n_draws=sum(drawn.n_draws),
        n_sampled=len(rows),
    )


def _one_other_draw(problem: ScoringProblem, drawn: DrawnScores, weights: Array) -> float:
    """The standard error because of a draw with another score that none has; 0 if none can have.

    A sample has no choice if a single training set leaves it out, and no ties matter.
    """
    codes = problem.labels.codes
    largest = 0.0
    for kind, n_draws, each in zip(problem.training_sets, drawn.n_draws, weights, strict=True):
        n_train = np.array(kind.n_train)
        # A row for the stratum of the tested sample.
        left = np.array(kind.counts) - kind.held_out * np.eye(len(n_train), dtype=int)
        single = ((left == n_train) | (n_train == 0)).all(axis=1) & (not kind.n_extra)
        own = codes if kind.stratified else np.zeros_like(codes)
        free = each[~single[own] | drawn.tied]
        effect = problem.largest * float(free.max(initial=0.0))
        largest = max(largest, unseen_error(effect, n_draws))
    return largest
