"""From the scores of the samples to the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._typing import Array
from ..designs import GroupTrainingSets, TrainingSets
from ..sampling import expected_position, rounding_allowance
from ._problem import ScoringProblem
from ._result import CompleteCV


@dataclass(frozen=True)
class Scores:
    """A_x of every sample under every kind of training sets.

    ``scores`` (n_kinds, n_items), floats or Fractions; ``tails`` (n_kinds, n_items): the probability
    that the listed neighbors did not decide.
    """

    scores: Array
    tails: Array
    tied: Array
    depth: int


def summarize_scores(question: ScoringProblem, found: Scores) -> CompleteCV:
    """The mean score, and all that goes with it."""
    labels = question.labels
    by_class = np.array([[float(w) for w in row] for row in question.item_weights])
    weights = by_class[:, labels.codes]  # (n_kinds, n_items)
    total = weights.sum(axis=0)
    exact = per_item_exact = None
    if found.scores.dtype == object:
        per_item_exact = _exact_per_item(question, found)
        exact = sum(
            (
                score * weight[c]
                for row, weight in zip(found.scores, question.item_weights, strict=True)
                for score, c in zip(row, labels.codes, strict=True)
                if score is not None
            ),
            Fraction(0),
        )
        score, bound = float(exact), 0.0
        per_item = np.array([np.nan if a is None else float(a) for a in per_item_exact])
    else:
        parts = np.where(weights > 0, weights * found.scores, 0.0)
        score = math.fsum(parts.ravel())
        per_item = np.full(len(total), np.nan)
        np.divide(parts.sum(axis=0), total, out=per_item, where=total > 0)
        if len(question.kinds) == 1:  # without the detour by the weights, to the last bit
            per_item = np.where(total > 0, found.scores[0], np.nan)
        missed = question.largest * float((weights * found.tails).sum())
        underflow = weights.size * float(np.finfo(float).smallest_subnormal)
        bound = missed + underflow + max(_rounding(question, kind, found.depth) for kind in question.kinds)
        if not np.isfinite(score):  # a kernel's fault; nothing is certain then
            bound = math.inf
    return CompleteCV(
        score=score,
        per_item=per_item,
        weights=total,
        error_bound=bound,
        truncation_bound=bound,
        kinds=question.kinds,
        depth=found.depth,
        tied=int(found.tied.sum()),
        exact=exact,
        per_item_exact=per_item_exact,
        variant=question.variant.name,
        design=repr(question.design),
        ties=question.ties,
        average=question.average,
        parameters=question.parameters,
        measure=question.measure,
        classes=labels.classes if question.variant.target == "classes" else np.empty(0),
        labels=question.targets,
    )


def kind_weights(question: ScoringProblem, exact: bool) -> Array:
    """What every kind of training sets counts for a sample, (n_kinds, n_items): 1 over all kinds.

    0 for a sample that is never tested; Fractions where `exact`.
    """
    by_class = np.array(question.item_weights, dtype=object)
    total = by_class.sum(axis=0)
    total[total == 0] = Fraction(1)
    shares = by_class / total
    weights: Array = (shares if exact else shares.astype(float))[:, question.labels.codes]
    return weights


def _rounding(question: ScoringProblem, kind: TrainingSets, depth: int) -> float:
    """What rounding may do to the score, for one kind of training sets.

    Fixed-size weights are most accurate where they are large, so the mean position of the K-th nearest
    training sample counts; a product along a stratified walk takes two roundings at every step, and one
    over tied groups of samples six.
    """
    k = question.nearest(kind)
    walked = expected_position(sum(kind.counts) - 1, sum(kind.n_train), k)
    if kind.stratified:
        walked += depth / 8
    elif isinstance(kind, GroupTrainingSets) and question.ties == "random":
        walked += depth / 2
    return rounding_allowance(k, walked, question.largest)


def _exact_per_item(question: ScoringProblem, found: Scores) -> tuple[Fraction | None, ...]:
    answers: list[Fraction | None] = []
    for x, c in enumerate(question.labels.codes):
        weights = [row[c] for row in question.item_weights]
        total = sum(weights, Fraction(0))
        if total == 0:
            answers.append(None)
            continue
        pairs = zip(weights, found.scores[:, x], strict=True)
        answers.append(sum((w * a for w, a in pairs if a is not None), Fraction(0)) / total)
    return tuple(answers)
