"""Kernels for `Variant.removals`: the scores of a sample without each of its neighbors, in one walk.

If the sample at position r did not exist, the samples before it would keep their places, and those after
it would move up by one. So a score without r is a sum over the positions before r, which all r share, and
one over the positions after it, which all r of one class share. All sums have the terms of the rule for the
N - 1 samples; nothing is subtracted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knnccv.kernel import NOT_SERVED, jit, read_as

from ._loss import score_of
from ._two_class_votes import strata_of_group, two_class_votes, votes_of_group
from ._vote_fields import VoteFields


class RemovalNumbers(NamedTuple):
    """The numbers that the kernels of strata read."""

    removed: float  # the class of the samples that are left out in turn


@jit
def nn_without_each(order, labels, target, constraints, out):
    """`nn_fixed` of N - 1 samples, without each position in turn; O(depth)."""
    weights = constraints.weights
    losses = constraints.table
    unit = constraints.unit
    own_class = labels.classes[target]
    depth = len(order.items)
    after = 0.0
    end = depth
    while end > 0:
        start = end - 1
        while start > 0 and order.group_end[start - 1] == end:
            start -= 1
        size = end - start
        weight = 0.0  # of the group if one of its samples is removed
        moved = 0.0  # of the group if a sample before it is removed
        total = 0.0
        for i in range(start, end):
            if i > 0:
                moved += weights[i - 1]
            if i < end - 1:
                weight += weights[i]
            total += score_of(losses, own_class, labels.classes[order.items[i]], unit)
        for i in range(start, end):
            out[i] = after
            if size > 1:
                own = score_of(losses, own_class, labels.classes[order.items[i]], unit)
                out[i] += weight * (total - own) / (size - 1)
        after += moved * total / size
        end = start
    before = 0.0
    start = 0
    while start < depth:
        end = order.group_end[start]
        weight = 0.0
        total = 0.0
        for i in range(start, end):
            out[i] += before
            if i < len(weights):
                weight += weights[i]
            total += score_of(losses, own_class, labels.classes[order.items[i]], unit)
        before += weight * total / (end - start)
        start = end
    return before if depth <= len(weights) else 0.0


@jit
def nn_strata_without_each(order, labels, target, constraints, out):
    """`nn_strata` without each position of the class `removed` in turn; O(depth).

    Once a sample of the class is removed, the walk goes on as if the class still had it and it were passed.
    """
    losses = constraints.table
    unit = constraints.unit
    n_train = constraints.n_train
    removed = int(read_as(RemovalNumbers, constraints.numbers).removed)
    own_class = labels.classes[target]
    depth = len(order.items)
    start = 0
    while start < depth:
        end = order.group_end[start]
        first = score_of(losses, own_class, labels.classes[order.items[start]], unit)
        for i in range(start + 1, end):
            if score_of(losses, own_class, labels.classes[order.items[i]], unit) != first:
                return NOT_SERVED
        start = end
    left = constraints.counts.copy()
    left[own_class] -= constraints.held_out
    left[removed] += 1
    for i in range(depth):
        left[labels.classes[order.items[i]]] -= 1
    after = 0.0  # expected score if no sample up to the position is in T
    for i in range(depth - 1, -1, -1):
        c = labels.classes[order.items[i]]
        out[i] = after
        left[c] += 1
        score = score_of(losses, own_class, c, unit)
        if left[c] <= n_train[c]:
            after = score
        else:
            after = (n_train[c] * score + (left[c] - n_train[c]) * after) / left[c]
    left[removed] -= 1
    before = 0.0
    p_none = 1.0
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == removed:
            out[i] = before + p_none * out[i]
            if left[c] == 0:
                return 0.0
        before += p_none * n_train[c] / left[c] * score_of(losses, own_class, c, unit)
        p_none *= max(left[c] - n_train[c], 0) / left[c]
        left[c] -= 1
    return before


@jit
def two_class_votes_without_each(order, labels, target, constraints, out):
    """`two_class_votes` of N - 1 samples, without each position in turn; O(depth), and O(b^2) for ties."""
    table_depth = read_as(VoteFields, constraints.integers).table_depth
    table = constraints.table
    own_class = labels.classes[target]
    first = own_class * (table_depth + 1)
    n_listed = len(order.items)
    left = constraints.counts[0] - constraints.held_out
    depth = min(n_listed - 1, table_depth)
    beyond = (left - depth) / (constraints.n_train[0] - constraints.n_nearest)
    same = 0
    for i in range(n_listed):
        same += labels.classes[order.items[i]] == own_class
    after = np.zeros(2)  # by whether the removed sample is of the tested class
    within = np.zeros(2)
    end = n_listed
    while end > 0:
        start = end - 1
        while start > 0 and order.group_end[start - 1] == end:
            start -= 1
        n_own = 0
        for i in range(start, end):
            n_own += labels.classes[order.items[i]] == own_class
        n_others = end - start - n_own
        same -= n_own
        for own in range(2):
            within[own] = 0.0
            if end - start > 1 and (n_own if own else n_others) > 0:
                within[own] = votes_of_group(
                    0.0, table, first + start, depth - start, same, n_own - own, n_others - 1 + own, beyond
                )
        for i in range(start, end):
            own = 1 if labels.classes[order.items[i]] == own_class else 0
            out[i] = after[own] + within[own]
        for own in range(2):
            if (same if own else start - same) > 0:
                after[own] += votes_of_group(
                    0.0, table, first + start - 1, depth - start + 1, same - own, n_own, n_others, beyond
                )
        end = start
    before = 0.0
    start = 0
    while start < n_listed:
        end = order.group_end[start]
        n_own = 0
        for i in range(start, end):
            out[i] += before
            n_own += labels.classes[order.items[i]] == own_class
        if start < depth:
            n_others = end - start - n_own
            before += votes_of_group(
                0.0, table, first + start, depth - start, same, n_own, n_others, beyond
            )
        same += n_own
        start = end
    return two_class_votes(order, labels, target, constraints) if n_listed <= left else 0.0


@jit
def two_class_strata_without_each(order, labels, target, constraints, out):
    """`two_class_strata` without each position of the class `removed` in turn.

    O(depth), and O(b^2) for b tied samples.
    """
    height = read_as(VoteFields, constraints.integers).table_depth + 1
    n_listed = len(order.items)
    if height < n_listed:
        return NOT_SERVED
    removed = int(read_as(RemovalNumbers, constraints.numbers).removed)
    own_class = labels.classes[target]
    first_0 = 2 * own_class * height
    first_1 = first_0 + height
    table = constraints.table
    left = constraints.counts[removed]
    if removed == own_class:
        left -= constraints.held_out
    passed_1 = 0
    for i in range(n_listed):
        passed_1 += labels.classes[order.items[i]]
    passed_0 = n_listed - passed_1
    n_removable = passed_1 if removed == 1 else passed_0
    after = 0.0
    end = n_listed
    while end > 0:
        start = end - 1
        while start > 0 and order.group_end[start - 1] == end:
            start -= 1
        n_ones = 0
        for i in range(start, end):
            n_ones += labels.classes[order.items[i]]
        n_zeros = end - start - n_ones
        passed_0 -= n_zeros
        passed_1 -= n_ones
        rows = first_0 + passed_0, first_1 + passed_0
        if (n_ones if removed == 1 else n_zeros) > 0:
            within = after
            if end - start > 1:
                n_left = n_zeros - 1 + removed, n_ones - removed
                within += strata_of_group(0.0, table, rows, passed_1, *n_left)
            for i in range(start, end):
                out[i] = within
        if (passed_1 if removed == 1 else passed_0) > 0:
            nearer = rows[0] - 1 + removed, rows[1] - 1 + removed
            after += strata_of_group(0.0, table, nearer, passed_1 - removed, n_zeros, n_ones)
        end = start
    before = 0.0
    start = 0
    while start < n_listed:
        end = order.group_end[start]
        n_ones = 0
        for i in range(start, end):
            out[i] += before
            n_ones += labels.classes[order.items[i]]
        n_zeros = end - start - n_ones
        rows = first_0 + passed_0, first_1 + passed_0
        before += strata_of_group(0.0, table, rows, passed_1, n_zeros, n_ones)
        passed_0 += n_zeros
        passed_1 += n_ones
        start = end
    return before if n_removable <= left else 0.0
