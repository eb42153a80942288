"""The score of a problem: by exact kernels, from drawn training sets, or by both.

Some questions ask one problem several times: the confusion table, and the range that tied samples allow.
The expected table has one run for each class, with a loss that counts its predictions. Precision,
recall, F1 and Matthews' correlation are read off a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from ...._base.formatting import Result
from ...._base.typing import Array
from ...._base.validation import check, check_choice
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


# With two classes one run is enough, unless lists that end too early leave some predictions open.
MAX_UNDECIDED = 1e-9
NORMALIZE = ("true", "pred", "all")
TABLE_AVERAGES = ("binary", "macro", "micro", "weighted")


def expected_confusion(result: Scored, given: Evaluation) -> Array:
    """Return the matrix of `CompleteCV.confusion`, not normalized."""
    problem, exact = given.problem, given.exact
    if "loss" not in problem.variant.parameters:
        msg = (
            f"variant {problem.variant.name!r} does not predict a class, so it has no confusion matrix; "
            "rules that take a loss have one ('nn', 'knn')"
        )
        raise ValueError(msg)
    labels = problem.labels
    n_classes = len(labels.classes)
    # The weight of one sample of every class.
    weights = np.array([sum(each, Fraction(0)) for each in zip(*problem.item_weights, strict=True)])
    weights = weights if exact else weights.astype(float)

    def sums(scored: Scored) -> Array:
        """The sum of weighted scores over the samples of every class."""
        if scored.per_item_fraction is None:
            parts = np.where(scored.weights > 0, scored.weights * scored.per_item, 0.0)
            return np.bincount(labels.codes, parts, n_classes)
        totals = np.full(n_classes, Fraction(0), dtype=object)
        for c, score in zip(labels.codes, scored.per_item_fraction, strict=True):
            if score is not None:
                totals[c] += score
        weighted: Array = totals * weights
        return weighted

    predicts = problem.radius is None  # without neighbors within a radius there may be no prediction
    if n_classes == 2 and predicts and result.truncation_bound <= MAX_UNDECIDED:
        diagonal = sums(result if problem.loss is None else again(given, loss=None))
        counts = np.array([int(count) for count in labels.counts], dtype=object if exact else float)
        matrix = np.diag(diagonal)
        matrix[[0, 1], [1, 0]] = np.maximum(counts * weights - diagonal, 0)
        return matrix
    columns = []
    for c in range(n_classes):
        marks = np.zeros((n_classes, n_classes), int)
        marks[:, c] = 1
        columns.append(sums(again(given, loss=marks)))
    return np.column_stack(columns)


def check_normalize(normalize: Any) -> None:
    """Raise ValueError if `CompleteCV.confusion` does not take this value."""
    if normalize is not None and not (isinstance(normalize, str) and normalize in NORMALIZE):
        allowed = ", ".join(map(repr, NORMALIZE))
        msg = f"normalize must be None, {allowed}, got {normalize!r}"
        raise ValueError(msg)


def normalized(matrix: Array, normalize: str | None) -> Array:
    """A copy of the matrix with rows, columns or the whole scaled to sum 1."""
    if normalize is None:
        return matrix.copy()
    axis = {"true": 1, "pred": 0, "all": None}[normalize]
    totals = np.broadcast_to(matrix.sum(axis=axis, keepdims=True), matrix.shape)
    out = np.full(matrix.shape, np.nan, dtype=matrix.dtype)
    np.divide(matrix, totals, out=out, where=(totals != 0).astype(bool))
    return out


def share_right(matrix: Array, classes: Array, of_true: float, average: Any, pos_label: Any) -> float:
    """Precision, recall or F of a table, rows true and columns predicted: the shares of the diagonal.

    ``TP / (of_true * true + (1 - of_true) * predicted)`` of the classes, averaged: `of_true` is 1 for
    recall, 0 for precision and 1/2 for F1. An undefined share counts as 0, as in scikit-learn.
    """
    check_choice("average", average, TABLE_AVERAGES)
    right, true, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    if average == "micro":
        right, true, predicted = (each.sum(keepdims=True) for each in (right, true, predicted))
    base = of_true * true + (1 - of_true) * predicted
    shares = np.divide(right, base, out=np.zeros(len(base)), where=base > 0)
    if average == "weighted":
        return float(shares @ true / true.sum())
    if average != "binary":
        return float(shares.mean())
    names = list(classes)
    if len(names) > 2 or pos_label not in names:
        msg = (
            f"average='binary' needs two classes, and pos_label one of them, got {pos_label!r} for the "
            f"classes {classes.tolist()}; other averages: {', '.join(map(repr, TABLE_AVERAGES[1:]))}"
        )
        raise ValueError(msg)
    return float(shares[names.index(pos_label)])


def matthews(matrix: Array) -> float:
    """Matthews' correlation coefficient of a table, in Gorodkin's form; 0 where it is undefined."""
    true, predicted, total = matrix.sum(axis=1), matrix.sum(axis=0), matrix.sum()
    spread = (total**2 - true @ true) * (total**2 - predicted @ predicted)
    return float((np.trace(matrix) * total - true @ predicted) / np.sqrt(spread)) if spread > 0 else 0.0


LOW, HIGH = -1, 1


@dataclass(frozen=True, eq=False, repr=False)
class TieReport(Result):
    """The range of scores that the order of tied samples allows; from `CompleteCV.tie_report`.

    Attributes
    ----------
    n_items, n_tied : int
        Number of samples, and of those with tied neighbors of different labels.
    score : float
        The score under the tie rule of the result.
    lowest, highest : float
        Means of the lowest and the highest score found for every sample. Each tied group is ordered by the
        score that each of its samples would give if it alone decided, lowest or highest first.
    is_exact : bool
        Whether no order gives a lower or a higher score. True for one nearest neighbor, votes of two
        classes, "rank" and the confidence's share; for votes of several classes other orders may exceed the
        range.
    per_item, per_item_lowest, per_item_highest : ndarray of shape (n_items,)
        The three scores of every sample.
    error_bound : float
        Certified bound of the error of each of the three scores, as in `CompleteCV`. Infinite for
        approximate neighbors.
    measure : str
        The name of the score.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> report = complete_cv(wine.X.round(), wine.y, "nn").tie_report()
    >>> report.lowest <= report.score <= report.highest
    True
    """

    _json = "measure n_items n_tied score lowest highest is_exact error_bound"

    n_items: int
    n_tied: int
    score: float
    lowest: float
    highest: float
    is_exact: bool
    per_item: Array
    per_item_lowest: Array
    per_item_highest: Array
    error_bound: float = 0.0
    measure: str = "score"


def tie_report(result: Scored, given: Evaluation) -> TieReport:
    """Return the report of `CompleteCV.tie_report`, in floating point.

    Raises
    ------
    ValueError
        For `LeaveGroupsOut`, whose ties are between groups.
    """
    problem = given.problem
    msg = "tie_report() is not offered for LeaveGroupsOut, where whole groups tie"
    check(not problem.leaves_groups, msg)
    low, high = (again(replace(given, exact=False, tie_order=order)) for order in (LOW, HIGH))
    # Where the range is not exact, the score itself may lie outside the two orders.
    scores = np.array([low.per_item, result.per_item, high.per_item])
    lowest, highest = scores.min(axis=0), scores.max(axis=0)
    tested = result.weights > 0
    weights = result.weights[tested]
    n_classes = len(problem.labels.classes)
    n_nearest = problem.variant.n_nearest(**problem.parameters)
    return TieReport(
        n_items=len(result.per_item),
        n_tied=result.n_tied,
        score=result.score,
        lowest=math.fsum(weights * lowest[tested]),
        highest=math.fsum(weights * highest[tested]),
        is_exact=n_nearest == 1 or n_classes <= problem.score.monotone,
        per_item=result.per_item,
        per_item_lowest=lowest,
        per_item_highest=highest,
        error_bound=max(result.error_bound, low.error_bound, high.error_bound),
        measure=problem.measure,
    )
