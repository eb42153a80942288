# mypy: allow-untyped-defs
"""Groups of tied samples, and votes averaged over their orders in designs with one training size.

`score_fixed_size` reads the probabilities of the positions where the K nearest training samples end:
`scaled_position_weights` are the first entries of ``constraints.weights``, and `thinning_rates` the first
entries of ``constraints.numbers``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from .. import Task, inner, jit, read_as
from ..sampling import fill_binomial, position_law, step_by_thinning
from ._vote_scores import ANY_RIGHT, UNKNOWN, VOTE_SHARE, VoteDistributions, score_votes


@inner
def has_mixed_group(order, labels):
    """Return True if samples of different classes tie; O(depth)."""
    classes, items, group_end = labels.classes, order.items, order.group_end
    for i in range(1, len(items)):
        if group_end[i - 1] > i and classes[items[i]] != classes[items[i - 1]]:
            return True
    return False


@jit
def is_mixed(items, classes, start, end):
    """Return True if the samples at the positions `start` .. `end` - 1 have several classes."""
    c = classes[items[start]]
    same = True
    for i in range(start + 1, end):
        same = same and classes[items[i]] == c
    return not same


@inner
def passed_together(items, classes, start, end, one_class):
    """The end of the samples that are passed at once, of a tied group from `start` to `end`.

    Those of one class are passed one by one. Also returns the end of the last such group, to be given for
    the next sample.
    """
    if end > start + 1 and (start < one_class or not is_mixed(items, classes, start, end)):
        return start + 1, end
    return end, one_class


@inner
def pass_wrong(items, classes, start, end, own_class, nearer, group):
    """Pass a tied group: its wrong samples, those of other classes, and the pairs of them of one class.

    The pairs are those with a nearer sample, and those within the group. ``nearer`` (n_classes,) are the
    wrong samples before the group, and then with it; ``group`` are zeros before and after.
    """
    n_wrong = 0
    same_nearer = 0
    same_within = 0
    for i in range(start, end):
        c = classes[items[i]]
        if c != own_class:
            n_wrong += 1
            same_nearer += nearer[c]
            same_within += group[c]
            group[c] += 1
    for i in range(start, end):
        c = classes[items[i]]
        nearer[c] += group[c]
        group[c] = 0
    return n_wrong, same_nearer, same_within


class PositionWeights(NamedTuple):
    """Two weights of every position i = 1, 2, ..., at index i - 1.

    ``next_known``
        Weight of: exactly K of the first i samples are in the training set, and so is the next one.
    ``list_ends``
        Weight of: exactly K of the first i samples are in the training set. It serves the end of a list.
    """

    next_known: Array
    list_ends: Array


class ThinningRates(NamedTuple):
    """The factors of a sample that is left out, and of one that is taken."""

    p_skip: float
    p_take: float


@inner
def position_weights_at(weights, first, length):
    """The view of `PositionWeights` of `length` positions, packed into an array from `first` on."""
    middle = first + length
    return PositionWeights(weights[first:middle], weights[middle : middle + length])


def position_weights(task: Task, k: int, max_depth: int) -> PositionWeights:
    """The probabilities themselves, for i = 1 .. `max_depth`."""
    law = position_law(task.n_available, task.train_size, k, task.number)[:max_depth]
    i = np.arange(1, max_depth + 1, dtype=object if task.number is Fraction else np.int64)
    list_ends = law * i / k
    left = np.maximum(task.n_available - i, 1)
    return PositionWeights(list_ends * (task.train_size - k) / left, list_ends)


def counted_weights(task: Task, k: int, max_depth: int) -> PositionWeights:
    """The probabilities divided by the number of K-subsets of i samples."""
    if not max_depth:
        return PositionWeights(np.empty(0), np.empty(0))
    subsets = [math.comb(i, k) for i in range(1, max_depth + 1)]
    shares = np.array([task.number(0) if n == 0 else task.number(1) / n for n in subsets])
    return PositionWeights(*(weights * shares for weights in position_weights(task, k, max_depth)))


def thinning_rates(task: Task) -> ThinningRates:
    """The rates that thin the samples to the training set; on Fractions 1 each, to count subsets."""
    if task.number is Fraction:
        return ThinningRates(1, 1)
    rate = task.train_size / task.n_available
    return ThinningRates(1.0 - rate, rate)


def scaled_position_weights(task: Task, k: int) -> PositionWeights:
    """The probabilities for all positions, divided by the weight that thinning gives to K of i samples."""
    if task.number is Fraction:
        return counted_weights(task, k, task.n_available)
    m, size = task.n_available, task.train_size
    next_known, list_ends = np.zeros((2, m))
    if size == m:  # thinning takes every sample
        next_known[k - 1], list_ends[k - 1] = float(m > k), 1.0
        return PositionWeights(next_known, list_ends)
    # From the most likely position outward: elsewhere both probabilities may be too small for a double.
    middle = min(max(k * m // size, k), m)
    law = np.zeros(middle + 1)
    fill_binomial(law, size / m)
    i = np.arange(k, m, dtype=float)
    factors = np.maximum(m - i - size + k, 0.0) / (m - i) * (m / (m - size))
    at = middle - k
    list_ends[middle - 1] = position_weights(task, k, middle).list_ends[-1] / law[k]
    list_ends[middle:] = list_ends[middle - 1] * np.cumprod(factors[at:])
    list_ends[k - 1 : middle - 1] = list_ends[middle - 1] * np.cumprod(1 / factors[:at][::-1])[::-1]
    next_known[k - 1 : -1] = list_ends[k - 1 : -1] * (size - k) / (m - i)
    return PositionWeights(next_known, list_ends)


@inner
def score_fixed_size(order, labels, target, constraints, rule):
    """ICML eq. 9-10 over all tie orders, for training sets of one fixed size; O(depth * cost of a vote).

    Given the position of the (K+1)-th nearest training sample, the K nearest are a uniform K-subset of the
    samples before it. If that position is within a group after G nearer samples, with j of the group
    before it, h of the K come from the group with hypergeometric probability, and they are a uniform
    h-subset of it; the others are a uniform (K-h)-subset of the G. ``constraints.weights`` begin with
    `scaled_position_weights`, ``constraints.numbers`` with `thinning_rates`; `rule` is a `VotingRule`.
    """
    classes, items, group_end = labels.classes, order.items, order.group_end
    k, n_classes = constraints.n_nearest, constraints.n_classes
    n_available = constraints.counts[0] - constraints.held_out
    position_weights = position_weights_at(constraints.weights, 0, n_available)
    p_skip, p_take = read_as(ThinningRates, constraints.numbers)
    own_class = classes[target]
    unit = constraints.unit
    zero = unit * 0
    two_classes = rule.kind in (ANY_RIGHT, VOTE_SHARE)  # only right or wrong counts
    seen_classes = np.empty(n_classes + 1, np.int64)
    seen_classes[0] = own_class
    n_seen_classes = 1
    rows = np.full((n_classes + 2, 1, k + 1), zero)
    flat = rows.reshape(n_classes + 2, k + 1)
    rows[:, 0, 0] = unit
    product = np.full((2 * (k + 1), k + 1), zero)
    passed = np.zeros(n_classes + 2, np.int64)
    members = np.zeros(n_classes + 2, np.int64)
    no_marks = np.zeros(n_classes + 2, np.int64)
    nearer = VoteDistributions(rows, no_marks, passed, seen_classes, np.full(1, unit), product)
    score = zero
    depth = min(len(items), n_available)
    start = 0
    one_class = 0
    while start < depth:
        end, one_class = passed_together(items, classes, start, min(group_end[start], depth), one_class)
        size = end - start
        for i in range(start, end):
            c = classes[items[i]]
            if two_classes and c != own_class:
                c = n_classes  # one row for all of them
            if passed[c] == 0 and members[c] == 0 and c != own_class:
                seen_classes[n_seen_classes] = c
                n_seen_classes += 1
            members[c] += 1
        if size > 1 and end - 1 >= k:
            marks = np.full(min(size, k) + 1, zero)
            if _weigh_marks(marks, position_weights.next_known, start, size, k, p_skip, p_take):
                marked = np.full((n_classes + 2, len(marks), k + 1), zero)
                for s in range(n_seen_classes):
                    c = seen_classes[s]
                    mark_group(marked, c, rows, members[c], size, k, p_skip, p_take)
                max_votes = passed + members
                in_group = VoteDistributions(marked, members, max_votes, seen_classes, marks, product)
                score += score_votes(in_group, n_seen_classes, UNKNOWN, own_class, k, rule)
        for s in range(n_seen_classes):
            c = seen_classes[s]
            for _ in range(members[c]):
                step_by_thinning(flat, c, k, p_skip, p_take)
            passed[c] += members[c]
            members[c] = 0
        weight = (
            position_weights.next_known[end - 1] if end < depth else position_weights.list_ends[end - 1]
        )
        if weight != 0 and end >= k:
            score += weight * score_votes(nearer, n_seen_classes, UNKNOWN, own_class, k, rule)
        start = end
    return score


@inner
def group_rate(size, k, p_skip, p_take):
    """The rate at which a group is thinned. Every rate is correct; this one keeps numbers within range.

    On Fractions rows of Pascal's triangle take its place.
    """
    if p_skip + p_take > 1:
        return p_skip, p_take
    rate = min(0.5, k / size)
    return 1 - rate, rate


@inner
def _weigh_marks(marks, next_known, start, size, k, p_skip, p_take):
    """``marks[h]`` = P(the (K+1)-th is within the group, h of the K come from it), over the rows' weights.

    Returns True if any mark is positive.
    """
    top = len(marks) - 1
    taken = np.full((2, top + 1), marks[0] * 0)  # of j samples of the group; of all its samples
    taken[0, 0] = marks[0] * 0 + 1
    taken[1, 0] = taken[0, 0]
    any_weight = False
    for j in range(1, size):
        step_by_thinning(taken, 0, top, p_skip, p_take)
        weight = next_known[start + j - 1]
        if weight != 0 and start + j >= k:
            any_weight = True
            for h in range(max(0, k - start), min(j, top) + 1):
                marks[h] += weight * taken[0, h]
    group_skip, group_take = group_rate(size, k, p_skip, p_take)
    for _ in range(size):
        step_by_thinning(taken, 1, top, group_skip, group_take)
    for h in range(top + 1):
        marks[h] = marks[h] / taken[1, h]
    return any_weight


@inner
def mark_group(marked, c, rows, members, size, k, p_skip, p_take):
    """Row c of `marked`: the distribution of the class's votes, marked by how many come from the group.

    `rows` hold the distributions before the group.
    """
    if members == 0:
        for b in range(k + 1):
            marked[c, 0, b] = rows[c, 0, b]
        return
    top = min(members, len(marked[c]) - 1)
    taken = np.full((1, top + 1), rows[c, 0, 0] * 0)
    taken[0, 0] = taken[0, 0] + 1
    group_skip, group_take = group_rate(size, k, p_skip, p_take)
    for _ in range(members):
        step_by_thinning(taken, 0, top, group_skip, group_take)
    for h in range(top + 1):
        for b in range(h, k + 1):
            marked[c, h, b] = rows[c, 0, b - h] * taken[0, h]
