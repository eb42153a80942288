# mypy: allow-untyped-defs
"""The shares of the votes as probabilities: the share of the true class, Brier score and log loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.validation import check_choice
from knnccv.kernel import Link, Score, Tables, Task, inner, jit, read_as
from knnccv.kernel.voting import (
    BRIER,
    VOTE_SHARE,
    VotingRule,
    pass_wrong,
    scaled_position_weights,
    score_fixed_size,
    score_stratified,
    thinning_rates,
)

from ._shared import NearestVariant
from .regression import inclusion_of, inclusion_weights, mean_inclusion

LEAST_SHARE = float(np.finfo(float).eps)
"""The share to which log loss raises smaller ones, as scikit-learn does; and 1 less it the largest."""
SCORES = {
    "share": Score("share of the votes", monotone=math.inf),
    "brier": Score("Brier score", high=2.0, is_loss=True),
    "log_loss": Score("log loss", high=-math.log(LEAST_SHARE), is_loss=True),
}


class ConfidenceFields(NamedTuple):
    """The integers that both kernels read."""

    kind: int  # VOTE_SHARE or BRIER


@jit
def confidence_fixed(order, labels, target, constraints):
    """Score by the probabilities of samples and pairs, or of all numbers of correct votes."""
    if len(constraints.table):
        return function_fixed(order, labels, target, constraints)
    return shares_fixed(order, labels, target, constraints)


@jit
def function_fixed(order, labels, target, constraints):
    """Score the distribution of the number of correct votes; O(depth * K^2)."""
    return score_fixed_size(order, labels, target, constraints, _rule(constraints))


@inner
def _rule(constraints):
    """The rule of `score_fixed_size` and `score_stratified`."""
    kind = read_as(ConfidenceFields, constraints.integers).kind
    return VotingRule(kind, 0, constraints.numbers, constraints.table)


@jit
def shares_fixed(order, labels, target, constraints):
    """Sum the probabilities that samples, and pairs, are among the K nearest; O(depth + classes).

    The Brier score is the squared error of regression on the classes' indicators: with w wrong votes
    it is (sum over ordered pairs of them of 1 + [same class]) / K^2, so no term is negative.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    k = constraints.n_nearest
    fields = read_as(ConfidenceFields, constraints.integers)
    inclusion = inclusion_of(constraints)
    unit = constraints.unit
    zero = unit * 0
    own_class = classes[target]
    # Wrong samples of every class: before the group, and in it.
    nearer = np.zeros(constraints.n_classes, constraints.counts.dtype)
    group = np.zeros(len(nearer), nearer.dtype)
    n_nearer = 0
    share = zero
    pairs = zero
    start = 0
    while start < len(items):
        end = group_end[start]
        weight, with_nearer, within = mean_inclusion(inclusion, start, end, unit)
        if weight == 0:
            break
        n_wrong, same_nearer, same_within = pass_wrong(items, classes, start, end, own_class, nearer, group)
        share += weight * (end - start - n_wrong)
        pairs += weight * n_wrong
        pairs += with_nearer * (n_wrong * n_nearer + same_nearer)
        pairs += within * (n_wrong * (n_wrong - 1) // 2 + same_within)
        n_nearer += n_wrong
        start = end
    if fields.kind == VOTE_SHARE:
        return share / k
    return 2 * pairs / (k * k)


@jit
def confidence_stratified(order, labels, target, constraints):
    """Score the distributions of the votes for every class; O(depth * classes seen * K^2)."""
    return score_stratified(order, labels, target, constraints, _rule(constraints))


class Confidence(NearestVariant):
    """The votes of the K nearest training samples as probabilities of the classes.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    score : {"share", "brier", "log_loss"}
        The expected share of the votes for the true class (scikit-learn's ``predict_proba``). Or the
        expected Brier score, the sum over the classes of (share - indicator)^2, from 0 to 2. Or the
        expected log loss, minus the logarithm of the share of the true class; as in scikit-learn, a share
        of 0 counts as 2.2e-16, so that the log loss is at most 36.04.
    """

    name = "confidence"
    parameters = {"n_neighbors": 5, "score": "share"}  # noqa: RUF012
    heeds_extra = True
    fields = ConfidenceFields
    fixed = confidence_fixed
    stratified = confidence_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return str(parameters["score"])

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse K larger than a training set, and an unknown score."""
        super().check(task, **parameters)
        check_choice("score", parameters["score"], tuple(SCORES))

    def score(self, **parameters: Any) -> Score:
        """The true class's share of the votes, the Brier score, or log loss."""
        return SCORES[parameters["score"]]

    def chain(self, tasks: Sequence[Task], **parameters: Any) -> Sequence[Link]:
        """One of the two kernels of `confidence_fixed`, so that the other one is not compiled."""
        if len(tasks) > 1 or tasks[0].stratified:
            return super().chain(tasks, **parameters)
        return (Link(function_fixed if parameters["score"] == "log_loss" else shares_fixed),)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The kind of score; its values, or the probabilities that samples and pairs are among the K."""
        k, score = self.n_nearest(**parameters), parameters["score"]
        fields = ConfidenceFields(BRIER if score == "brier" else VOTE_SHARE)
        if score != "log_loss":
            return Tables(fields, weights=() if task.stratified else inclusion_weights(task, k))
        shares = [min(max(votes / k, LEAST_SHARE), 1 - LEAST_SHARE) for votes in range(k + 1)]
        values = [[task.number(-math.log(share)) for share in shares]]
        if task.stratified:
            return Tables(fields, table=values)
        return Tables(
            fields, thinning_rates(task), np.concatenate(scaled_position_weights(task, k)), values
        )
