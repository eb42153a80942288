"""Scores out of bag that need no distribution of all votes: shares, Brier score, one right vote.

As in `_kernels`, a sum over the position of the K-th nearest draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernel import jit, read_as
from ..voting import VOTE_SHARE
from ._weights import log_end_weights, pair_moments


class ShareFields(NamedTuple):
    """The integers that `bootstrap_shares` reads."""

    kind: int  # VOTE_SHARE or BRIER


@jit
def bootstrap_shares(order, labels, target, constraints):
    """The expected share of right votes, or the Brier score of the shares; O(depth + classes).

    The Brier score is the squared error of the mean of the classes' indicators. With w wrong draws it is
    the sum over all ordered pairs of wrong draws of (1 + [same class]) / K^2; a draw is paired with itself.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    k = constraints.n_nearest
    n_draws = constraints.n_train[0]
    n_samples = constraints.counts[0] - constraints.held_out
    kind = read_as(ShareFields, constraints.integers).kind
    own_class = classes[target]
    nearer, group = np.zeros((2, constraints.n_classes), np.int64)
    wrong, pairs = 0, 0  # wrong samples before the group, and their ordered pairs, 1 + [same class] each
    moments, logs = np.empty(5), np.empty(k)
    share = 0.0
    squares = 0.0
    depth = min(len(items), n_samples)
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        if size == 1:
            moments[:] = constraints.weights[5 * start : 5 * start + 5]
        else:
            pair_moments(n_draws, n_samples, start, size, k, logs, moments)
        wrong_within, pairs_within, pairs_across = 0, 0, 0
        for i in range(start, end):
            c = classes[items[i]]
            if c != own_class:
                pairs_across += wrong + nearer[c]
                pairs_within += 2 * (wrong_within + group[c]) + 2
                wrong_within += 1
                group[c] += 1
        share += moments[2] * (size - wrong_within) / size
        squares += moments[2] * 2 * wrong_within / size
        squares += moments[3] * (pairs_within / size / size)
        if start > 0:
            share += moments[0] * (start - wrong) / start
            squares += moments[0] * 2 * wrong / start
            squares += moments[1] * (pairs / start / start)
            squares += 2 * moments[4] * (pairs_across / start / size)
        for i in range(start, end):
            c = classes[items[i]]
            nearer[c] += group[c]
            group[c] = 0
        wrong += wrong_within
        pairs += pairs_within + 2 * pairs_across
        start = end
    return share / k if kind == VOTE_SHARE else squares / (k * k)


@jit
def bootstrap_rank(order, labels, target, constraints):
    """P(one of the R nearest draws has the tested sample's class); O(depth * R)."""
    items, group_end, classes = order.items, order.group_end, labels.classes
    k = constraints.n_nearest
    n_draws = constraints.n_train[0]
    n_samples = constraints.counts[0] - constraints.held_out
    own_class = classes[target]
    rate = n_draws / n_samples
    logs = np.empty(k)
    score = 0.0
    own = 0
    depth = min(len(items), n_samples)
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        if size == 1:
            logs[:] = constraints.weights[start * k : (start + 1) * k]
        else:
            log_end_weights(n_draws, n_samples, start, size, k, logs)
        own_within = 0
        for i in range(start, end):
            own_within += classes[items[i]] == own_class
        log_poisson = -rate * start
        for before in range(k):
            h = k - before
            all_wrong = 1.0 - own_within / size
            all_wrong **= h
            if start > 0:
                all_wrong *= (1.0 - own / start) ** before
            score += math.exp(logs[h - 1] + log_poisson) * (1.0 - all_wrong)
            if start == 0:
                break
            log_poisson += math.log(rate * start / (before + 1))
        own += own_within
        start = end
    return score


@jit
def log_vote_weights(n_draws, n_samples, depth, k):
    """`log_end_weights` of the single sample at every position, (depth * K,)."""
    table = np.empty(depth * k)
    for i in range(depth):
        log_end_weights(n_draws, n_samples, i, 1, k, table[i * k : (i + 1) * k])
    return table
