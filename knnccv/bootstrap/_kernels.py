"""Expected scores of a sample that a bootstrap sample leaves out, along its neighbor order.

The kernels have the signature of all rules, `knnccv.kernel`. ``constraints.n_train[0]`` is the number of
draws, ``constraints.counts[0]`` the number of samples with the tested one. Draws of the same sample, and of
tied samples, are separate neighbors in random order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernel import ZERO, jit, read_as
from ..voting import (
    PLURALITY,
    UNKNOWN,
    VoteDistributions,
    VotingRule,
    passed_together,
    score_votes,
)
from ._weights import fill_poisson, log_end_weights, pair_moments


class BootstrapFields(NamedTuple):
    """The integers that `bootstrap_votes` reads."""

    n_tie_nodes: int


@jit
def bootstrap_votes(order, labels, target, constraints):
    """The score of a vote of the K nearest draws; O(depth * cost of a vote).

    A sum over the position of the K-th nearest draw. Rows hold the distributions of the classes' draws
    before it; the last row those of its own class, with the h draws of the sample at this position. A tied
    group of several classes is one position, and marks count its draws.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    k, n_classes = constraints.n_nearest, constraints.n_classes
    n_draws = constraints.n_train[0]
    n_samples = constraints.counts[0] - constraints.held_out
    fields = read_as(BootstrapFields, constraints.integers)
    rule = VotingRule(PLURALITY, fields.n_tie_nodes, constraints.numbers, constraints.table)
    own_class = classes[target]
    last_row = n_classes + 1
    rate = n_draws / n_samples
    rows = np.zeros((n_classes + 2, 1, k + 1))
    rows[:, 0, 0] = 1.0
    product = np.zeros((2 * (k + 1), k + 1))
    passed, members, max_votes, no_marks = np.zeros((4, n_classes + 2), np.int64)
    max_votes[last_row] = k
    seen = np.empty(n_classes + 1, np.int64)
    seen[0] = own_class
    n_seen = ZERO + 1
    nearer = VoteDistributions(rows, no_marks, max_votes, seen, np.ones(1), product)
    score = 0.0
    depth = min(len(items), n_samples)
    start = 0
    one_class = ZERO
    while start < depth:
        end, one_class = passed_together(items, classes, start, min(group_end[start], depth), one_class)
        for i in range(start, end):
            c = classes[items[i]]
            if max_votes[c] == 0:
                max_votes[c] = k
                if c != own_class:
                    seen[n_seen] = c
                    n_seen += 1
            members[c] += 1
        if end == start + 1:
            c = classes[items[start]]
            weights = constraints.weights[start * k : (start + 1) * k]
            rows[last_row, 0, 0] = 0.0
            for v in range(1, k + 1):
                value = 0.0
                for h in range(1, v + 1):
                    value += weights[h - 1] * rows[c, 0, v - h]
                rows[last_row, 0, v] = value
            score += score_votes(nearer, n_seen, c, own_class, k, rule)
        else:
            score += _score_group(
                rows, members, max_votes, seen, n_seen, product, own_class, n_draws, n_samples, start,
                end - start, k, rule,
            )  # fmt: skip
        for s in range(n_seen):
            c = seen[s]
            if members[c] > 0:
                passed[c] += members[c]
                members[c] = 0
                fill_poisson(rows[c, 0], rate * passed[c])
        start = end
    return score


@jit
def _score_group(
    rows, members, max_votes, seen, n_seen, product, own_class, n_draws, n_samples, start, size, k, rule
):
    """The part of the score for a K-th draw within a tied group of several classes."""
    logs = np.empty(k)
    log_end_weights(n_draws, n_samples, start, size, k, logs)
    mean = min(size * n_draws / n_samples, 1.0 * k)  # of the group's draws; every mean is correct
    marks = np.zeros(k + 1)
    log_factor = mean  # of h! e^mean / mean^h
    for h in range(1, k + 1):
        log_factor += math.log(h / mean)
        marks[h] = math.exp(logs[h - 1] + log_factor)
    marked = np.zeros((len(rows), k + 1, k + 1))
    max_marks = np.zeros(len(rows), np.int64)
    taken = np.empty(k + 1)
    for s in range(n_seen):
        c = seen[s]
        if members[c] == 0:
            marked[c, 0] = rows[c, 0]
            continue
        max_marks[c] = k
        fill_poisson(taken, mean * members[c] / size)
        for h in range(k + 1):
            for v in range(h, k + 1):
                marked[c, h, v] = rows[c, 0, v - h] * taken[h]
    in_group = VoteDistributions(marked, max_marks, max_votes, seen, marks, product)
    return score_votes(in_group, n_seen, UNKNOWN, own_class, k, rule)


@jit
def bootstrap_regression(order, labels, target, constraints):
    """E|mean of the targets of the K nearest draws - y|^2; O(depth * outputs).

    Given the numbers of draws before and in the group of the K-th, they are independent and uniform on
    each: all pairs of draws have the product of the means.
    """
    items, group_end, values = order.items, order.group_end, labels.values
    k = constraints.n_nearest
    n_draws = constraints.n_train[0]
    n_samples = constraints.counts[0] - constraints.held_out
    n_outputs = values.shape[1]
    nearer = np.zeros(n_outputs)  # sums relative to the tested sample's target
    group = np.zeros(n_outputs)
    squares = 0.0
    moments = np.empty(5)
    logs = np.empty(k)
    score = 0.0
    depth = min(len(items), n_samples)
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        if size == 1:
            moments[:] = constraints.weights[5 * start : 5 * start + 5]
        else:
            pair_moments(n_draws, n_samples, start, size, k, logs, moments)
        group[:] = 0.0
        group_squares = 0.0
        for i in range(start, end):
            for o in range(n_outputs):
                gap = values[items[i], o] - values[target, o]
                group[o] += gap
                group_squares += gap * gap
        value = moments[2] * group_squares / size
        if start > 0:
            value += moments[0] * squares / start
        for o in range(n_outputs):
            mean_group = group[o] / size
            value += moments[3] * mean_group * mean_group
            if start > 0:
                mean_nearer = nearer[o] / start
                value += moments[1] * mean_nearer * mean_nearer
                value += 2 * moments[4] * mean_nearer * mean_group
            nearer[o] += group[o]
        squares += group_squares
        score += value
        start = end
    return score / (k * k)
