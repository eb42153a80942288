"""The shares of the votes as probabilities: how much the true class has, and their Brier score."""

from __future__ import annotations

from typing import Any

import numpy as np

from knnccv._validation import check_choice, check_integer
from knnccv.kernel import Tables, Task, Variant, jit
from knnccv.voting import BRIER, VOTE_SHARE, score_stratified

from ._inclusion_probabilities import inclusion_weights, mean_inclusion

MEASURES = {"share": "share of the votes", "brier": "Brier score"}
SCORES = tuple(MEASURES)


@jit
def confidence_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """By the probabilities that samples, and pairs of them, are among the K nearest; O(depth + classes).

    The Brier score is the squared error of regression on the classes' indicators: with w wrong votes
    it is (sum over ordered pairs of them of 1 + [same class]) / K^2, so no term is negative.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    k, rule = constraints.integers[0], constraints.integers[1]
    single = constraints.weights
    n_available = constraints.counts[0] - constraints.held_out
    unit = constraints.unit
    zero = unit * 0
    own = classes[target]
    # Wrong samples of every class: before the group, and in it.
    nearer = np.zeros(constraints.integers[3], constraints.counts.dtype)
    group = np.zeros(len(nearer), nearer.dtype)
    n_nearer = 0
    share = zero
    pairs = zero
    start = 0
    while start < len(items):
        end = group_end[start]
        weight, with_nearer, within = mean_inclusion(single, n_available, start, end, unit)
        if weight == 0:
            break
        n_own = 0
        n_wrong = 0
        same_nearer = 0
        same_within = 0
        for i in range(start, end):
            c = classes[items[i]]
            if c == own:
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
    if rule == VOTE_SHARE:
        return share / k
    return 2 * pairs / (k * k)


@jit
def confidence_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """By the laws of the votes of every class; O(depth * classes seen * K^2)."""
    return score_stratified(order, labels, target, constraints, constraints.table)


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
    fixed = confidence_fixed
    stratified = confidence_stratified

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """K must fit into every training set."""
        limit = "the size of the training set"
        check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_choice("score", parameters["score"], SCORES)

    def measure(self, **parameters: Any) -> str:
        """The true class's share of the votes, or the Brier score."""
        return MEASURES[parameters["score"]]

    def largest_score(self, **parameters: Any) -> float:
        """1 for a share, 2 for the Brier score."""
        return 1.0 if parameters["score"] == "share" else 2.0

    def range_is_exact(self, n_classes: int, **parameters: Any) -> bool:
        """For the share, which only counts right votes, or for one neighbor."""
        return parameters["score"] == "share" or self.n_nearest(**parameters) == 1

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """K, the rule, and how likely samples and pairs are among the K nearest."""
        k = self.n_nearest(**parameters)
        rule = VOTE_SHARE if parameters["score"] == "share" else BRIER
        integers = (k, rule, 0, task.n_classes)
        if task.stratified:
            return Tables(integers=integers)
        return Tables(integers=integers, weights=inclusion_weights(task, k))
