"""The shares of the votes as probabilities: the share of the true class, and the Brier score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from knnccv._validation import check_choice, check_integer
from knnccv.kernel import Tables, Task, Variant, jit, read_as
from knnccv.voting import BRIER, VOTE_SHARE, VotingRule, score_stratified

from ._inclusion_probabilities import inclusion_of, inclusion_weights, mean_inclusion

MEASURES = {"share": "share of the votes", "brier": "Brier score"}
SCORES = tuple(MEASURES)


class ConfidenceFields(NamedTuple):
    """The integers that both kernels read."""

    kind: int  # VOTE_SHARE or BRIER


@jit
def confidence_fixed(order, labels, target, constraints):
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
        n_own = 0
        n_wrong = 0
        same_nearer = 0
        same_within = 0
        for i in range(start, end):
            c = classes[items[i]]
            if c == own_class:
                n_own += 1
            else:
                n_wrong += 1
                same_nearer += nearer[c]
                same_within += group[c]
                group[c] += 1
        for i in range(start, end):
            c = classes[items[i]]
            nearer[c] += group[c]
            group[c] = 0
        share += weight * n_own
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
    fields = read_as(ConfidenceFields, constraints.integers)
    rule = VotingRule(fields.kind, 0, constraints.numbers, constraints.table)
    return score_stratified(order, labels, target, constraints, rule)


class Confidence(Variant):
    """The votes of the K nearest training samples as probabilities of the classes.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    score : {"share", "brier"}
        The expected share of the votes for the true class (scikit-learn's ``predict_proba``); or the
        expected Brier score, the sum over the classes of (share - indicator)^2, from 0 to 2.
    """

    name = "confidence"
    parameters = {"n_neighbors": 5, "score": "share"}  # noqa: RUF012
    tie_rules = ("index", "random")
    heeds_extra = True
    fields = ConfidenceFields
    fixed = confidence_fixed
    stratified = confidence_stratified

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return str(parameters["score"])

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse K larger than a training set."""
        limit = "the size of the training set"
        check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_choice("score", parameters["score"], SCORES)

    def measure(self, **parameters: Any) -> str:
        """The true class's share of the votes, or the Brier score."""
        return MEASURES[parameters["score"]]

    def largest_score(self, **parameters: Any) -> float:
        """1 for a share, 2 for the Brier score."""
        return 1.0 if parameters["score"] == "share" else 2.0

    def score_range(self, **parameters: Any) -> tuple[float, float]:
        """0 to 1, or 2 for the Brier score."""
        return 0.0, self.largest_score(**parameters)

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """True for the share, which only counts correct votes, and for one neighbor."""
        return parameters["score"] == "share" or self.n_nearest(**parameters) == 1

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The kind of score, and the probabilities that samples and pairs are among the K nearest."""
        fields = ConfidenceFields(VOTE_SHARE if parameters["score"] == "share" else BRIER)
        if task.stratified:
            return Tables(fields)
        return Tables(fields, weights=inclusion_weights(task, self.n_nearest(**parameters)))
