"""Summary of the samples' scores: the mean and its error bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._base.typing import Array
from ...designs import TrainingSets
from ...kernel.sampling import expected_position, rounding_allowance
from ._problem import ScoringProblem

ROUNDING = 1e-9
"""How far beyond its range rounding may take a score, per unit."""


@dataclass(frozen=True)
class Scores:
    """A_x of every sample for every kind of training sets.

    ``scores`` (n_kinds, n_items) are floats or Fractions, ``tails`` (n_kinds, n_items) the probabilities
    that the listed neighbors did not decide. ``tied`` (n_items,) marks samples whose ties matter; ``depth``
    is the largest depth used.
    """

    scores: Array
    tails: Array
    tied: Array
    depth: int


@dataclass(frozen=True, eq=False, repr=False)
class Scored:
    """The mean score of a problem with its bound, and the scores of the samples.

    The attributes are those of `CompleteCV`, which says what they mean.
    """

    score: float
    per_item: Array
    weights: Array
    error_bound: float
    kinds: tuple[TrainingSets, ...]
    depth: int
    n_tied: int
    fraction: Fraction | None = None
    per_item_fraction: tuple[Fraction | None, ...] | None = None
    truncation_bound: float = 0.0


def summarize_scores(problem: ScoringProblem, found: Scores) -> Scored:
    """Return the mean score with its bound and the samples' scores."""
    labels = problem.labels
    by_class = np.array([[float(w) for w in row] for row in problem.item_weights])
    weights = by_class[:, labels.codes]  # (n_kinds, n_items)
    total = weights.sum(axis=0)
    fraction = per_item_fraction = None
    if found.scores.dtype == object:
        per_item_fraction = _exact_per_item(problem, found)
        fraction = sum(
            (
                score * weight[c]
                for row, weight in zip(found.scores, problem.item_weights, strict=True)
                for score, c in zip(row, labels.codes, strict=True)
                if score is not None
            ),
            Fraction(0),
        )
        score, bound = float(fraction), 0.0
        per_item = np.array([np.nan if a is None else float(a) for a in per_item_fraction])
    else:
        parts = np.where(weights > 0, weights * found.scores, 0.0)
        score = math.fsum(parts.ravel())
        per_item = np.full(len(total), np.nan)
        np.divide(parts.sum(axis=0), total, out=per_item, where=total > 0)
        if len(problem.training_sets) == 1:  # without the weights, which would change the last bit
            per_item = np.where(total > 0, found.scores[0], np.nan)
        truncated = problem.largest * float((weights * found.tails).sum())
        underflow = weights.size * float(np.finfo(float).smallest_subnormal)
        bound = (
            truncated
            + underflow
            + max(_rounding(problem, kind, found.depth) for kind in problem.training_sets)
        )
        if not np.isfinite(score):  # an error of the kernel: nothing is certain
            bound = math.inf
    _check_range(problem, per_item, bound)
    return Scored(
        score=min(max(score, problem.score.low), problem.score.high),  # rounding may leave the range
        per_item=per_item,
        weights=total,
        error_bound=bound,
        kinds=problem.training_sets,
        depth=found.depth,
        n_tied=int(found.tied.sum()),
        fraction=fraction,
        per_item_fraction=per_item_fraction,
        truncation_bound=bound,
    )


def _check_range(problem: ScoringProblem, per_item: Array, bound: float) -> None:
    """Raise ValueError if scores are not in the range that the rule declares."""
    declared = problem.score
    low, high = declared.low, declared.high
    slack = bound + ROUNDING * max(1.0, declared.largest_for(problem.values))
    outside = np.flatnonzero((per_item < low - slack) | (per_item > high + slack))
    if len(outside):
        msg = (
            f"declare the range of the score in score() of variant {problem.variant.name!r}: it is "
            f"{low:g} to {high:g} now, and sample {outside[0]} scores {per_item[outside[0]]:g}"
        )
        raise ValueError(msg)


def kind_weights(problem: ScoringProblem, exact: bool) -> Array:
    """Weight of every kind of training sets for a sample, (n_kinds, n_items); 1 in sum over the kinds.

    0 for a sample that is never tested. Fractions if `exact`.
    """
    by_class = np.array(problem.item_weights, dtype=object)
    total = by_class.sum(axis=0)
    total[total == 0] = Fraction(1)
    shares = by_class / total
    weights: Array = (shares if exact else shares.astype(float))[:, problem.labels.codes]
    return weights


def _rounding(problem: ScoringProblem, kind: TrainingSets, depth: int) -> float:
    """Bound of the rounding error of the score, for one kind of training sets.

    Fixed-size weights are most accurate where they are large, so the mean position of the K-th nearest
    training sample decides. A product along a stratified walk is rounded twice at every step, one over tied
    groups six times.
    """
    if problem.radius is not None:  # laws of all samples within, each number a product of a few factors
        return rounding_allowance(1, 2.0 * depth, problem.largest)
    k = problem.nearest(kind)
    walked = expected_position(sum(kind.counts) - kind.held_out, sum(kind.n_train), k)
    if kind.stratified:
        walked += depth / 8
    elif problem.leaves_groups and problem.ties == "random":
        walked += depth / 2
    return rounding_allowance(k, walked, problem.largest)


def _exact_per_item(problem: ScoringProblem, found: Scores) -> tuple[Fraction | None, ...]:
    answers: list[Fraction | None] = []
    for x, c in enumerate(problem.labels.codes):
        weights = [row[c] for row in problem.item_weights]
        total = sum(weights, Fraction(0))
        if total == 0:
            answers.append(None)
            continue
        pairs = zip(weights, found.scores[:, x], strict=True)
        answers.append(sum((w * a for w, a in pairs if a is not None), Fraction(0)) / total)
    return tuple(answers)
