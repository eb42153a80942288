# mypy: allow-untyped-defs
"""Expected scores of a sample that a bootstrap sample leaves out, along its neighbor order.

The kernels have the signature of all rules, `knnccv.kernel`. ``constraints.n_train[0]`` is the number of
draws, ``constraints.counts[0]`` the number of samples with the tested one. Draws of the same sample, and of
tied samples, are separate neighbors in random order. Every score is a sum over the position of the K-th
nearest draw: votes need the distribution of all votes there, the other rules only moments.

The n draws fall on M samples in the order of their similarity, each with probability 1 / M. Of the K
nearest draws, K - h fall on the first G samples and h on the b samples behind them, and the K-th is one of
the latter, with probability

    C(n, K - h) (G / M)^(K - h) (1 - G / M)^(n - K + h) P(Bin(n - K + h, b / (M - G)) >= h).

The K - h draws are then independent and uniform on the G samples. Their numbers by class are those of
independent Poisson variables with means G_c n / M, given their sum. So the weight of h is this probability
divided by that of a Poisson variable of mean G n / M at K - h. It stays near 1 where the other would
underflow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....kernel import inner, jit, read_as
from ....kernel.voting import (
    PLURALITY,
    UNKNOWN,
    VOTE_SHARE,
    VoteDistributions,
    VotingRule,
    pass_wrong,
    passed_together,
    score_votes,
)


@inner
def log_end_weights(n_draws, n_samples, nearer, size, k, out):
    """``out[h - 1]`` = the logarithm of the weight of h = 1 .. K draws on the group; O(K^2).

    `nearer` samples come before the group of `size` samples. Tails are sums of positive terms, or one minus
    less than about a half.
    """
    share = nearer / n_samples
    left = n_samples - nearer
    chance = size / left
    log_rest = math.log1p(-share)
    log_other = math.log1p(-chance) if size < left else -math.inf
    log_falling = 0.0  # of n (n - 1) .. (n - a + 1) / n^a
    for before in range(k):
        h = k - before
        more = n_draws - before
        mean = more * chance
        if size == left:
            log_tail = 0.0
        elif h > mean:
            log_tail = h * math.log(chance) + (more - h) * log_other
            for j in range(h):
                log_tail += math.log((more - j) / (j + 1))
            odds = size / (left - size)
            total = 1.0
            term = 1.0
            for t in range(h, more):
                term *= (more - t) / (t + 1) * odds
                total += term
                if term < 1e-18 * total:
                    break
            log_tail += math.log(total)
        else:
            odds = size / (left - size)
            term = math.exp(more * log_other)
            fewer = 0.0
            for t in range(h):
                fewer += term
                term *= (more - t) / (t + 1) * odds
            log_tail = math.log1p(-fewer)
        out[h - 1] = log_falling + n_draws * (share + log_rest) - before * log_rest + log_tail
        log_falling += math.log1p(-before / n_draws) if before < n_draws else -math.inf


@inner
def fill_poisson(row, mean):
    """``row[v]`` = the probability of v under a Poisson distribution."""
    value = math.exp(-mean)
    for v in range(len(row)):
        row[v] = value
        value *= mean / (v + 1)


@jit
def log_weights(n_draws, n_samples, depth, k):
    """`log_end_weights` of the single sample at every position, (depth * K,)."""
    table = np.empty(depth * k)
    for i in range(depth):
        log_end_weights(n_draws, n_samples, i, 1, k, table[i * k : (i + 1) * k])
    return table


@inner
def pair_moments(n_draws, n_samples, nearer, size, logs, out):
    """Expected numbers of draws, and of ordered pairs, among the K nearest if the K-th is in the group.

    Draws before it, pairs of these, draws in it, pairs of these, and pairs of one and the other. `logs` is
    scratch of K numbers.
    """
    k = len(logs)
    log_end_weights(n_draws, n_samples, nearer, size, k, logs)
    mean = n_draws * nearer / n_samples
    out[:] = 0.0
    log_poisson = -mean
    for before in range(k):
        h = k - before
        probability = math.exp(logs[h - 1] + log_poisson)
        out[0] += probability * before
        out[1] += probability * before * (before - 1)
        out[2] += probability * h
        out[3] += probability * h * (h - 1)
        out[4] += probability * before * h
        if nearer == 0:
            break
        log_poisson += math.log(mean / (before + 1))


@jit
def moment_weights(n_draws, n_samples, depth, k):
    """`pair_moments` of the single sample at every position, (depth * 5,)."""
    table = np.empty(depth * 5)
    logs = np.empty(k)
    for i in range(depth):
        pair_moments(n_draws, n_samples, i, 1, logs, table[5 * i : 5 * i + 5])
    return table


@jit
def undecided(n_draws, n_samples, longest, k):
    """The probability that fewer than K draws fall on the first 0 .. `longest` samples, (longest + 1,)."""
    tails = np.ones(longest + 1)
    for m in range(1, longest + 1):
        if m == n_samples:
            tails[m] = 0.0
            continue
        share = m / n_samples
        log_rest = math.log1p(-share)
        log_odds = math.log(m / (n_samples - m))
        log_term = n_draws * log_rest
        total = 0.0
        for a in range(k):
            total += math.exp(log_term)
            log_term += log_odds + (math.log((n_draws - a) / (a + 1)) if a < n_draws else -math.inf)
        tails[m] = min(total, 1.0)
    return tails


class BootstrapFields(NamedTuple):
    """The integers that the kernels read."""

    kind: int  # of `bootstrap_shares`: VOTE_SHARE or BRIER
    n_tie_nodes: int = 0  # of `bootstrap_votes`


class Draws(NamedTuple):
    """The draws of a bootstrap sample that leaves out the tested one, and scratch."""

    k: Any
    n_draws: Any
    n_samples: Any  # without the tested one
    depth: Any  # positions of the list
    logs: Any  # of the weights of h = 1 .. K draws on a group
    moments: Any  # of `pair_moments`


@jit
def draws_of(order, constraints):
    """The draws that the constraints describe."""
    k, n_samples = constraints.n_nearest, constraints.counts[0] - constraints.held_out
    depth = min(len(order.items), n_samples)
    return Draws(k, constraints.n_train[0], n_samples, depth, np.empty(k), np.empty(5))


@inner
def fill_logs(draws, weights, start, size):
    """Fill ``draws.logs`` for the samples from `start` on; ``weights`` has those of single samples."""
    k, logs = draws.k, draws.logs
    if size > 1:
        log_end_weights(draws.n_draws, draws.n_samples, start, size, k, logs)
    else:
        for h in range(k):
            logs[h] = weights[start * k + h]


@inner
def fill_moments(draws, weights, start, size):
    """Fill ``draws.moments`` for the samples from `start` on; ``weights`` has those of single samples."""
    moments = draws.moments
    if size > 1:
        pair_moments(draws.n_draws, draws.n_samples, start, size, draws.logs, moments)
    else:
        for m in range(len(moments)):
            moments[m] = weights[len(moments) * start + m]


@jit
def bootstrap_votes(order, labels, target, constraints):
    """The score of a vote of the K nearest draws; O(depth * cost of a vote).

    Rows hold the distributions of the classes' draws before the K-th; the last row those of its own class,
    with the h draws of the sample at this position. A tied group of several classes is one position, and
    marks count its draws.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    draws, n_classes = draws_of(order, constraints), constraints.n_classes
    k, depth = draws.k, draws.depth
    fields = read_as(BootstrapFields, constraints.integers)
    rule = VotingRule(PLURALITY, fields.n_tie_nodes, constraints.numbers, constraints.table)
    own_class = classes[target]
    last_row = n_classes + 1
    rate = draws.n_draws / draws.n_samples
    rows = np.zeros((n_classes + 2, 1, k + 1))
    rows[:, 0, 0] = 1.0
    product = np.zeros((2 * (k + 1), k + 1))
    passed, members = np.zeros(n_classes + 2, np.int64), np.zeros(n_classes + 2, np.int64)
    max_votes, no_marks = np.zeros(n_classes + 2, np.int64), np.zeros(n_classes + 2, np.int64)
    max_votes[last_row] = k
    seen = np.empty(n_classes + 1, np.int64)
    seen[0] = own_class
    n_seen = 1
    nearer = VoteDistributions(rows, no_marks, max_votes, seen, np.ones(1), product)
    score = 0.0
    start = 0
    one_class = 0
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
            rows[last_row, 0, 0] = 0.0
            for v in range(1, k + 1):
                rows[last_row, 0, v] = 0.0
            for h in range(1, k + 1):
                weight = constraints.weights[start * k + h - 1]
                for v in range(h, k + 1):
                    rows[last_row, 0, v] += weight * rows[c, 0, v - h]
            score += score_votes(nearer, n_seen, c, own_class, k, rule)
        else:
            log_end_weights(draws.n_draws, draws.n_samples, start, end - start, k, draws.logs)
            score += _score_group(nearer, n_seen, members, draws, end - start, own_class, rule)
        for s in range(n_seen):
            c = seen[s]
            if members[c] > 0:
                passed[c] += members[c]
                members[c] = 0
                fill_poisson(rows[c, 0], rate * passed[c])
        start = end
    return score


@inner
def _score_group(nearer, n_seen, members, draws, size, own_class, rule):
    """The part of the score for a K-th draw within a tied group of several classes."""
    rows, k = nearer.rows, draws.k
    mean = min(size * draws.n_draws / draws.n_samples, 1.0 * k)  # of its draws; every mean is correct
    marks = np.zeros(k + 1)
    log_factor = mean  # of h! e^mean / mean^h
    for h in range(1, k + 1):
        log_factor += math.log(h / mean)
        marks[h] = math.exp(draws.logs[h - 1] + log_factor)
    marked = np.zeros((len(rows), k + 1, k + 1))
    max_marks = np.zeros(len(rows), np.int64)
    taken = np.zeros(k + 1)
    for s in range(n_seen):
        c = nearer.seen_classes[s]
        max_marks[c] = k if members[c] > 0 else 0
        fill_poisson(taken, mean * members[c] / size)
        for h in range(max_marks[c] + 1):
            for v in range(h, k + 1):
                marked[c, h, v] = rows[c, 0, v - h] * taken[h]
    in_group = VoteDistributions(
        marked, max_marks, nearer.max_votes, nearer.seen_classes, marks, nearer.product
    )
    return score_votes(in_group, n_seen, UNKNOWN, own_class, k, rule)


@jit
def bootstrap_shares(order, labels, target, constraints):
    """The expected share of right votes, or the Brier score of the shares; O(depth + classes).

    The Brier score is the squared error of the mean of the classes' indicators. With w wrong draws it is
    the sum over all ordered pairs of wrong draws of (1 + [same class]) / K^2; a draw is paired with itself.
    """
    items, group_end, classes = order.items, order.group_end, labels.classes
    draws = draws_of(order, constraints)
    k, depth, moments = draws.k, draws.depth, draws.moments
    kind = read_as(BootstrapFields, constraints.integers).kind
    own_class = classes[target]
    nearer, group = np.zeros((2, constraints.n_classes), np.int64)
    wrong, pairs = 0, 0  # wrong samples before the group, and their ordered pairs, 1 + [same class] each
    share = 0.0
    squares = 0.0
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        fill_moments(draws, constraints.weights, start, size)
        wrong_within, same_nearer, same_within = pass_wrong(
            items, classes, start, end, own_class, nearer, group
        )
        pairs_across = wrong_within * wrong + same_nearer
        pairs_within = wrong_within * (wrong_within + 1) + 2 * same_within
        share += moments[2] * (size - wrong_within) / size
        squares += moments[2] * 2 * wrong_within / size
        squares += moments[3] * (pairs_within / size / size)
        if start > 0:
            share += moments[0] * (start - wrong) / start
            squares += moments[0] * 2 * wrong / start
            squares += moments[1] * (pairs / start / start)
            squares += 2 * moments[4] * (pairs_across / start / size)
        wrong += wrong_within
        pairs += pairs_within + 2 * pairs_across
        start = end
    return share / k if kind == VOTE_SHARE else squares / (k * k)


@jit
def bootstrap_rank(order, labels, target, constraints):
    """P(one of the R nearest draws has the tested sample's class); O(depth * R)."""
    items, group_end, classes = order.items, order.group_end, labels.classes
    draws = draws_of(order, constraints)
    k, depth, logs = draws.k, draws.depth, draws.logs
    own_class = classes[target]
    rate = draws.n_draws / draws.n_samples
    score = 0.0
    own = 0
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        fill_logs(draws, constraints.weights, start, size)
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
def bootstrap_regression(order, labels, target, constraints):
    """E|mean of the targets of the K nearest draws - y|^2; O(depth * outputs).

    Given the numbers of draws before and in the group of the K-th, they are independent and uniform on
    each: all pairs of draws have the product of the means.
    """
    items, group_end, values = order.items, order.group_end, labels.values
    draws = draws_of(order, constraints)
    k, depth, moments = draws.k, draws.depth, draws.moments
    n_outputs = values.shape[1]
    nearer = np.zeros(n_outputs)  # sums relative to the tested sample's target
    group = np.zeros(n_outputs)
    squares = 0.0
    score = 0.0
    start = 0
    while start < depth:
        end = min(group_end[start], depth)
        size = end - start
        fill_moments(draws, constraints.weights, start, size)
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
