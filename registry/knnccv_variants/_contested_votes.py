"""Plurality votes of many neighbors, from the few classes that can outvote the tested class."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import NOT_SERVED, ZERO, Task, inner, jit, read_as
from knnccv.sampling import fixed_tail
from knnccv.voting import has_mixed_group, position_weights

from ._vote_fields import VoteFields

NEGLIGIBLE = 1e-17
"""Weighted probabilities of t own votes below this are left out."""
LEFT_OUT = 1e-16
"""Bounds on pairs, and on terms with many contenders, below this are left out."""
LOST_PER_PRODUCT = 1e-16
"""What may be lost for each of the K (K + 1) products of a vote, a small part of `rounding_allowance`."""
MAX_CONTESTED_DEPTH = 1024
MAX_OUTVOTING = 2**21
"""Numbers in the table of outvoting classes; without it they are computed for every sample."""


def contested_table(task: Task, k: int) -> Array | None:
    """The table of `contested_votes`, or None if it would be too large.

    With L the depth it serves, its rows have L + 1 numbers. Row n holds the probabilities that b of n
    samples are in the training set, in a binomial model. Row L + 1 + g, at n, holds the weight of more than
    K / 2 votes among g samples of the tested class and n others. Row 2 L + 2 holds the weights of the
    positions, divided by the binomial probability that K samples so far are in the training set. Row
    2 L + 3 + t (L + 1) + n, at x, holds the weight of K - t votes among n samples, of which more than t are
    among x of one class; these rows are missing where they would be too many.
    """
    if task.number is Fraction or task.train_size <= k:
        return None
    tail = fixed_tail(task.n_available, task.train_size, k)
    depth = min(max(int(np.argmax(tail <= NEGLIGIBLE)), k) + 1, task.n_available - 1)
    if depth > MAX_CONTESTED_DEPTH or depth < k:
        return None
    weights = position_weights(task, k, depth).next_known
    n_outvoting = (k // 2 + 1) * (depth + 1)
    n_rows = 2 * depth + 3 + (n_outvoting if n_outvoting * (depth + 1) <= MAX_OUTVOTING else 0)
    table = np.zeros((n_rows, depth + 1))
    rate = task.train_size / task.n_available
    _fill_contested(table, k, 1.0 - rate, rate, weights)
    return table if np.isfinite(table).all() else None


@jit
def _fill_contested(table, k, p_skip, p_take, weights):
    depth = table.shape[1] - 1
    table[0, 0] = 1.0
    for n in range(1, depth + 1):
        for b in range(min(n, k), 0, -1):
            table[n, b] = table[n - 1, b] * p_skip + table[n - 1, b - 1] * p_take
        table[n, 0] = table[n - 1, 0] * p_skip
    for g in range(k // 2 + 1, depth + 1):
        for n in range(depth + 1 - g):
            total = 0.0
            for votes in range(k // 2 + 1, min(g, k) + 1):
                total += table[g, votes] * table[n, k - votes]
            table[depth + 1 + g, n] = total
    for i in range(k, depth + 1):
        if weights[i - 1] > 0.0:
            table[2 * depth + 2, i] = weights[i - 1] / table[i, k]
    if len(table) > 2 * depth + 3:
        for t in range(1, k // 2 + 1):
            for n in range(k - t, depth):
                row = 2 * depth + 3 + t * (depth + 1) + n
                for x in range(t + 1, n + 1):
                    table[row, x] = _outvoting(table, x, t + 1, n, k - t)


@inner
def _outvoting(table, x, least, n, votes):
    """The weight of that many votes among n samples, `least` or more of them among x of one class."""
    total = 0.0
    for a in range(np.uint64(least), np.uint64(min(x, votes) + 1)):
        total += table[np.uint64(x), a] * table[np.uint64(n - x), np.uint64(votes) - a]
    return total


@jit
def contested_votes(order, labels, target, constraints):
    """As `knn_fixed`, for pluralities without losses; O(depth * K * contested classes * K).

    For t votes of the tested class, a *contender* is a class with enough samples so far to outvote t. Let J
    be the probability of t votes of the tested class and K - t others, and s_c that of these votes with c
    outvoting t. The vote is then correct with probability

        J - sum_c s_c + sum over pairs s_cd - ...

    Only contenders occur in it, and classes with equally many samples have the same s_c. For 3 t > K no
    two classes can outvote t, so the first sum is exact. Otherwise the votes of the classes are negatively
    associated (Joag-Dev & Proschan 1983), so that s_cd <= s_c s_d / J, and the probability is at most J
    times the product of all 1 - s_c / J. Where one of these bounds is negligible, the pairs or the whole
    term are left out. Otherwise the votes of the contenders that matter are multiplied out, each cut before
    it outvotes t.

    All that is left out adds up; a sample that loses more than a fraction of the rounding allowance is left
    to the next link of the chain.
    """
    max_depth = read_as(VoteFields, constraints.integers).contested_depth
    if max_depth == 0 or has_mixed_group(order, labels):
        return NOT_SERVED
    k = constraints.n_nearest
    half = k // 2
    table = constraints.table
    own_class = labels.classes[target]
    depth = min(len(order.items), max_depth)
    is_known = len(table) > 2 * max_depth + 3
    # At the end of the list the position of the next training sample is not known.
    left = constraints.counts[0] - constraints.held_out
    beyond = (left - depth) / (constraints.n_train[0] - k)
    passed = np.zeros(constraints.n_classes, np.int64)
    n_with = np.zeros((2, depth + 1), np.int64)  # classes that lose or win ties, by their samples
    contenders = np.empty((2 * depth + 2, 3), np.int64)  # samples, wins ties, number of such classes
    outvotes = np.empty(2 * depth + 2)
    product, grown = np.empty((2, k + 1))
    n_own = ZERO
    largest = ZERO
    score = 0.0
    lost = 0.0
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == own_class:
            n_own += 1
        else:
            wins_ties = int(c < own_class)
            n_with[wins_ties, passed[c]] -= 1
            passed[c] += 1
            n_with[wins_ties, passed[c]] += 1
            largest = max(largest, passed[c])
        seen = i + 1
        weight = table[2 * max_depth + 2, seen] * (beyond if seen == depth else 1.0)
        if n_own == 0 or weight <= 0.0:
            continue
        n = seen - n_own
        score += weight * table[max_depth + 1 + n_own, n]
        least = max(1, k - n)
        n_contenders = ZERO
        for x in range(largest, least - 1, -1):
            for wins_ties in range(1, -1, -1):
                if n_with[wins_ties, x] > 0:
                    contenders[n_contenders] = x, wins_ties, n_with[wins_ties, x]
                    n_contenders += 1
        for t in range(least, min(n_own, half) + 1):
            own = weight * table[n_own, t]
            probability = own * table[n, k - t]
            if probability < NEGLIGIBLE:
                lost += probability
                continue
            first_sum, squares, none_bound = 0.0, 0.0, probability
            n_able = ZERO  # contenders for t
            for e in range(n_contenders):
                x, wins_ties, count = contenders[e]
                if x < t:
                    break
                n_able = e + 1
                if is_known:
                    more = table[2 * max_depth + 3 + t * (max_depth + 1) + n, x]
                else:
                    more = _outvoting(table, x, t + 1, n, k - t)
                if wins_ties:
                    more += table[x, t] * table[n - x, k - 2 * t]
                outvotes[e] = own * more
                first_sum += count * outvotes[e]
                squares += count * outvotes[e] * outvotes[e]
                for _ in range(count):
                    none_bound *= max(1.0 - outvotes[e] / probability, 0.0)
            pairs = 0.0 if 3 * t > k else max(first_sum * first_sum - squares, 0.0) / (2 * probability)
            if pairs < LEFT_OUT:
                score += max(probability - first_sum, 0.0)
                lost += pairs
            elif none_bound < LEFT_OUT:
                lost += none_bound
            else:
                product[0] = 1.0
                degree = ZERO
                rest = n
                weak = 0.0
                for e in range(n_able):
                    x, wins_ties, count = contenders[e]
                    together = outvotes[e] * (first_sum - outvotes[e]) / probability
                    if together < LEFT_OUT:
                        weak += count * outvotes[e]
                        lost += count * together
                        continue
                    for _ in range(count):
                        degree = _multiply_cut(product, grown, degree, table, x, t - wins_ties, k - t)
                        rest -= x
                total = 0.0
                for d in range(max(0, k - t - rest), degree + 1):
                    total += product[d] * table[rest, k - t - d]
                score += own * total - weak
    return score if lost <= LOST_PER_PRODUCT * k * (k + 1) else NOT_SERVED


@inner
def _multiply_cut(product, grown, degree, table, x, limit, top):
    """Multiply `product` of this degree by ``table[x, : limit + 1]``, up to degree `top`; its new degree.

    The indices are unsigned: the tests for negative ones would keep the loop from being vectorized.
    """
    reached = min(degree + limit, top)
    grown[: reached + 1] = 0.0
    for a in range(np.uint64(limit + 1)):
        share = table[np.uint64(x), a]
        for d in range(np.uint64(min(degree, reached - np.int64(a)) + 1)):
            grown[a + d] += share * product[d]
    for d in range(reached + 1):
        product[d] = grown[d]
    return reached
