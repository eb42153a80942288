# mypy: allow-untyped-defs
"""Plurality votes between two classes, looked up in tables of all votes.

The kernels for `Variant.removals` score a sample without each of its neighbors, in one walk. If the sample
at position r did not exist, the samples before it would keep their places, and those after it would move up
by one. So a score without r is a sum over the positions before r, which all r share, and one over the
positions after it, which all r of one class share. All sums have the terms of the rule for the N - 1
samples; nothing is subtracted. The kernels of "nn" do the same.
"""

from __future__ import annotations

import numpy as np

from knnccv._base.typing import Array
from knnccv.kernel import NOT_SERVED, Task, inner, jit, read_as
from knnccv.kernel.sampling import fill_hypergeometric, fixed_tail
from knnccv.kernel.voting import position_weights, position_weights_at

from ._shared import RemovalNumbers, VoteFields, add_without_each

MAX_TABLE_DEPTH = 512
MAX_STRATIFIED_TABLE_DEPTH = 256
NEGLIGIBLE = 1e-18  # far below the rounding of a score


@jit
def two_class_votes(order, labels, target, constraints):
    """As `knn_fixed`, for a table of votes; O(depth), and O(b^2) for b tied samples.

    ``table[own_class * (table_depth + 1) + i, g]`` is the weight of position i times the score, if g of the
    i nearest samples are of the tested sample's class.
    """
    table_depth = read_as(VoteFields, constraints.integers).table_depth
    table = constraints.table
    own_class = labels.classes[target]
    first = own_class * (table_depth + 1)
    depth = min(len(order.items), table_depth)
    # At the end of the list the position of the next training sample is not known.
    left = constraints.counts[0] - constraints.held_out
    beyond = (left - depth) / (constraints.n_train[0] - constraints.n_nearest)
    same = 0
    score = 0.0
    start = 0
    while start < depth:
        end = order.group_end[start]
        n_own = 0
        for i in range(start, end):
            n_own += labels.classes[order.items[i]] == own_class
        if end == start + 1:
            score += table[first + end, same + n_own] * (beyond if end == depth else 1.0)
        else:
            n_others = end - start - n_own
            score = votes_of_group(
                score, table, first + start, depth - start, same, n_own, n_others, beyond
            )
        same += n_own
        start = end
    return score


@jit
def wide_votes(order, labels, target, constraints):
    """As `two_class_votes` for so many votes that the table would be too large; O(K b) for each position.

    ``constraints.weights`` are `position_weights`, ``constraints.table`` the losses. Of the first samples
    of a tied group, and of K of i samples, those of the tested class have hypergeometric numbers.
    """
    k, left = constraints.n_nearest, constraints.counts[0] - constraints.held_out
    weights = position_weights_at(constraints.weights, 0, left)
    own_class = labels.classes[target]
    tie_share = 0.5 if read_as(VoteFields, constraints.integers).n_tie_nodes > 0 else 1.0
    depth = min(len(order.items), left)
    before, chosen = np.zeros(depth + 1), np.zeros(depth + 1)
    same = 0
    score = 0.0
    start = 0
    while start < depth:
        end = order.group_end[start]
        n_own = 0
        for i in range(start, end):
            n_own += labels.classes[order.items[i]] == own_class
        for i in range(max(start + 1, k), min(end, depth) + 1):
            weight = weights.next_known[i - 1] if i < depth else weights.list_ends[i - 1]
            drawn = i - start
            fill_hypergeometric(before, n_own, drawn, end - start, 1.0)
            for n in range(max(drawn - (end - start - n_own), 0), min(n_own, drawn) + 1):
                if weight * before[n] > NEGLIGIBLE:
                    votes = score_of_votes(chosen, own_class, same + n, i, k, constraints.table, tie_share)
                    score += weight * before[n] * votes
        same += n_own
        start = end
    return score


@inner
def score_of_votes(chosen, own_class, same, size, k, losses, tie_share):
    """The score of K of `size` samples, all equally likely, of which `same` are of the tested class.

    Class 0 has the share `tie_share` in a tied vote. ``chosen`` (any,) is scratch.
    """
    fill_hypergeometric(chosen, same, k, size, 1.0)
    right = 0.0
    wrong = 0.0
    for votes in range(max(k - size + same, 0), min(same, k) + 1):
        share = 1.0 if 2 * votes > k else 0.0
        if 2 * votes == k:
            share = tie_share if own_class == 0 else 1 - tie_share
        right += chosen[votes] * share
        wrong += chosen[votes] * (1 - share)
    return right * losses[own_class, own_class] + wrong * losses[own_class, 1 - own_class]


@inner
def votes_of_group(score, table, row, room, same, n_own, n_others, beyond):
    """Add the terms of `two_class_votes` of a tied group, with `same` nearer samples of the tested class.

    `row` is that of the position before the group, `room` the number of positions from there on.
    """
    size = n_own + n_others
    if n_own == 0 or n_others == 0:
        for i in range(1, min(size, room) + 1):
            same += n_own > 0
            score += table[row + i, same] * (beyond if i == room else 1.0)
        return score
    # n of the tested class and m others are before: C(n_own, n) C(n_others, m) / C(size, n + m).
    row_probability = 1.0
    for n in range(min(n_own, room) + 1):
        probability = row_probability
        for m in range(min(n_others, room - n) + 1):
            i = n + m
            if i > 0:
                score += probability * table[row + i, same + n] * (beyond if i == room else 1.0)
            if m < n_others:
                probability *= (n_others - m) * (i + 1) / ((m + 1) * (size - i))
        row_probability *= (n_own - n) / (size - n)
    return score


@jit
def two_class_strata(order, labels, target, constraints):
    """As `knn_stratified`, for a table of votes; O(depth), and O(b^2) for b tied samples.

    ``table[(2 * own_class + c) * (table_depth + 1) + n, m]`` is the probability that the next sample is the
    K-th nearest training sample and the vote is correct, if that sample is of class c and n and m samples
    of the two classes are nearer. For n + m = table_depth it is the probability that the K-th nearest is
    none of these samples. A list is read to this depth; a sample for which the rest matters is left to the
    next link of the chain.
    """
    table_depth = read_as(VoteFields, constraints.integers).table_depth
    first_0 = 2 * labels.classes[target] * (table_depth + 1)
    first_1 = first_0 + table_depth + 1
    table = constraints.table
    passed_0 = 0
    passed_1 = 0
    score = 0.0
    beyond = 0.0
    start = 0
    while start < min(len(order.items), table_depth):
        end = order.group_end[start]
        n_ones = 0
        for i in range(start, end):
            n_ones += labels.classes[order.items[i]]
        n_zeros = end - start - n_ones
        if end == start + 1:
            score += table[(first_1 if n_ones == 1 else first_0) + passed_0, passed_1]
        else:
            rows, room = (first_0 + passed_0, first_1 + passed_0), table_depth - start
            score, beyond = strata_of_group(score, table, rows, passed_1, n_zeros, n_ones, room)
        passed_0 += n_zeros
        passed_1 += n_ones
        start = end
    if start == table_depth < len(order.items):
        beyond = table[first_0 + passed_0, passed_1]
    return score if beyond <= NEGLIGIBLE else NOT_SERVED


@inner
def strata_of_group(score, table, rows, column, n_zeros, n_ones, room):
    """Add the terms of `two_class_strata` of a tied group, from these rows and this column on.

    If the group has more than `room` samples, the terms after that many are left out. Returns the score
    and the probability that they matter.
    """
    size = n_zeros + n_ones
    row_0, row_1 = rows
    if n_zeros == 0:
        for m in range(min(size, room)):
            score += table[row_1, column + m]
        return score, table[row_0, column + room] if size > room else 0.0
    if n_ones == 0:
        for n in range(min(size, room)):
            score += table[row_0 + n, column]
        return score, table[row_0 + room, column] if size > room else 0.0
    beyond = 0.0
    row_probability = 1.0
    for n in range(min(n_zeros, room) + 1):
        probability = row_probability
        for m in range(min(n_ones, room - n) + 1):
            left = size - n - m
            if n + m == room:
                beyond += probability * table[row_0 + n, column + m] if left > 0 else 0.0
            elif left > 0:
                next_0 = table[row_0 + n, column + m] * (n_zeros - n)
                next_1 = table[row_1 + n, column + m] * (n_ones - m)
                score += probability * (next_0 + next_1) / left
            if m < n_ones:
                probability *= (n_ones - m) * (n + m + 1) / ((m + 1) * left)
        row_probability *= (n_zeros - n) / (size - n)
    return score, beyond


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
    kinds = np.zeros(n_listed, np.int64)  # 1 for samples of the tested class
    terms, moved = np.zeros(n_listed), np.zeros((n_listed, 2))
    within = np.zeros(2)
    same = 0
    start = 0
    while start < n_listed:
        end = order.group_end[start]
        n_own = 0
        for i in range(start, end):
            kinds[i] = labels.classes[order.items[i]] == own_class
            n_own += kinds[i]
        n_others = end - start - n_own
        row, room = first + start, depth - start
        for own in range(2):
            within[own] = 0.0
            if end - start > 1 and (n_own if own else n_others) > 0:
                within[own] = votes_of_group(
                    0.0, table, row, room, same, n_own - own, n_others - 1 + own, beyond
                )
            if (same if own else start - same) > 0:
                moved[start, own] = votes_of_group(
                    0.0, table, row - 1, room + 1, same - own, n_own, n_others, beyond
                )
        for i in range(start, end):
            out[i] = within[kinds[i]]
        if room > 0:
            terms[end - 1] = votes_of_group(0.0, table, row, room, same, n_own, n_others, beyond)
        same += n_own
        start = end
    add_without_each(kinds, terms, moved, out)
    return two_class_votes(order, labels, target, constraints) if n_listed <= left else 0.0


@jit
def two_class_strata_without_each(order, labels, target, constraints, out):
    """`two_class_strata` without each position of the class `removed` in turn.

    O(depth), and O(b^2) for b tied samples.
    """
    height = read_as(VoteFields, constraints.integers).table_depth + 1
    n_listed = len(order.items)
    if height <= n_listed:
        return NOT_SERVED
    removed = int(read_as(RemovalNumbers, constraints.numbers).removed)
    own_class = labels.classes[target]
    first_0 = 2 * own_class * height
    first_1 = first_0 + height
    table = constraints.table
    left = constraints.counts[removed]
    if removed == own_class:
        left -= constraints.held_out
    terms, moved = np.zeros(n_listed), np.zeros((n_listed, 1))
    passed_0 = 0
    passed_1 = 0
    start = 0
    while start < n_listed:
        end = order.group_end[start]
        n_ones = 0
        for i in range(start, end):
            n_ones += labels.classes[order.items[i]]
        n_zeros = end - start - n_ones
        rows = first_0 + passed_0, first_1 + passed_0
        within = 0.0
        if end - start > 1 and (n_ones if removed == 1 else n_zeros) > 0:
            n_left = n_zeros - 1 + removed, n_ones - removed
            within = strata_of_group(0.0, table, rows, passed_1, *n_left, n_listed)[0]
        for i in range(start, end):
            out[i] = within
        if (passed_1 if removed == 1 else passed_0) > 0:
            nearer = rows[0] - 1 + removed, rows[1] - 1 + removed
            found = strata_of_group(0.0, table, nearer, passed_1 - removed, n_zeros, n_ones, n_listed)
            moved[start, 0] = found[0]
        terms[end - 1] = strata_of_group(0.0, table, rows, passed_1, n_zeros, n_ones, n_listed)[0]
        passed_0 += n_zeros
        passed_1 += n_ones
        start = end
    score = add_without_each(np.zeros(n_listed, np.int64), terms, moved, out)
    return score if (passed_1 if removed == 1 else passed_0) <= left else 0.0


def table_of_votes(task: Task, k: int, losses: Array, smallest: bool) -> Array | None:
    """The table of `two_class_votes`, or None if it would be too large.

    If `smallest`, class 0 wins a tied vote; otherwise each class wins half of them.
    """
    tail = fixed_tail(task.n_available, task.train_size, k)
    depth = int(np.argmax(tail <= NEGLIGIBLE))
    depth = min(max(depth, k), task.n_available - 1)
    if depth > MAX_TABLE_DEPTH:
        return None
    weights = np.concatenate([[0.0], position_weights(task, k, depth).next_known])
    table = np.zeros((2 * (depth + 1), depth + 1))
    _fill_votes(table, k, weights, losses if len(losses) else np.eye(2), 1.0 if smallest else 0.5)
    return table


def table_of_strata(task: Task, k: int, smallest: bool) -> Array | None:
    """The table of `two_class_strata`, or None if it would be too large.

    It is somewhat deeper than the rest matters: a class with fewer training samples may be the nearer one.
    """
    tail = fixed_tail(task.n_available, task.train_size, k)
    depth = min(int(np.argmax(tail <= NEGLIGIBLE)) + 8, task.n_available)
    if depth > MAX_STRATIFIED_TABLE_DEPTH:
        return None
    table = np.zeros((4 * (depth + 1), depth + 1))
    _fill_strata(table, k, np.array(task.n_train), np.array(task.counts), 1.0 if smallest else 0.5)
    return table


@jit
def _fill_votes(table, k, weights, losses, tie_share):
    """Fill the table of `two_class_votes`; class 0 has the share `tie_share` in a tied vote.

    ``losses[own_class, predicted]`` may be the identity matrix.
    """
    height = len(table) // 2
    chosen = np.zeros(k + 1)
    for i in range(k, height):
        for own_class in range(2):
            for same in range(i + 1):
                score = score_of_votes(chosen, own_class, same, i, k, losses, tie_share)
                table[own_class * height + i, same] = weights[i] * score


@jit
def _fill_strata(table, k, n_train, counts, tie_share):
    """Fill the table of `two_class_strata`; class 0 has the share `tie_share` in a tied vote."""
    height = len(table) // 4
    chosen = np.zeros((2, height, height + 1))
    for own_class in range(2):
        left = counts.copy()
        left[own_class] -= 1
        chosen[:] = 0.0
        for c in range(2):
            for passed in range(min(height, left[c] + 1)):
                fill_hypergeometric(chosen[c, passed], passed, n_train[c], left[c], 1.0)
        for last in range(2):
            other = 1 - last
            for passed in range(min(height, left[last])):
                for others in range(min(height - 1 - passed, left[other] + 1)):
                    score = 0.0
                    for votes in range(max(k - others, 1), min(passed + 1, n_train[last], k) + 1):
                        joins = (n_train[last] - votes + 1) / (left[last] - passed)
                        weight = chosen[last, passed, votes - 1] * joins * chosen[other, others, k - votes]
                        share = 1.0 if 2 * votes > k else 0.0  # of class `last` in the win
                        if 2 * votes == k:
                            share = tie_share if last == 0 else 1 - tie_share
                        score += weight * (share if last == own_class else 1 - share)
                    n, m = (passed, others) if last == 0 else (others, passed)
                    table[(2 * own_class + last) * height + n, m] = score
        for passed in range(max(0, height - 1 - left[1]), min(height - 1, left[0]) + 1):
            others = height - 1 - passed
            row = table[2 * own_class * height + passed]
            for votes in range(min(k - 1, passed) + 1):
                for other_votes in range(min(k - 1 - votes, others) + 1):
                    row[others] += chosen[0, passed, votes] * chosen[1, others, other_votes]
