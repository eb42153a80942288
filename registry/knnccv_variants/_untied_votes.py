# mypy: allow-untyped-defs
"""Plurality votes in designs of one size without mixed tied groups: two ways that avoid the general case.

A score is a sum over i of a weight of i, times the number of K-subsets of the i nearest samples that vote
correctly. That number depends only on how many of the i samples each class has. `counted_votes` counts the
K-subsets in integers. `contested_votes` serves many neighbors, from the few classes that can outvote the
tested class.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np

from knnccv._base.typing import Array
from knnccv.kernel import NOT_SERVED, Task, inner, jit, read_as
from knnccv.kernel.sampling import fixed_tail, step_by_thinning
from knnccv.kernel.voting import has_mixed_group, position_weights, position_weights_at

from ._shared import VoteFields, add_without_each, losses_of, score_of

MAX_COUNTED_DEPTH = 1024
NEGLIGIBLE = 1e-17
"""Weighted probabilities of t own votes below this are left out."""
LEFT_OUT = 1e-16
"""Bounds on pairs, and on terms with many contenders, below this are left out."""
LOST_PER_PRODUCT = 1e-16
"""What may be lost for each of the K (K + 1) products of a vote, a small part of `rounding_allowance`."""
MAX_CONTESTED_DEPTH = 1024
MAX_OUTVOTING = 2**21
"""Numbers in the table of outvoting classes; without it they are computed for every sample."""


def max_counted_depth(task: Task, k: int) -> int:
    """The largest depth of lists whose K-subsets can be counted by integers of 64 bits; 0 if none."""
    if task.number is Fraction:
        return task.n_available
    depths = range(k, max(min(task.n_available, MAX_COUNTED_DEPTH), k) + 1)
    n_counted = bisect_left(depths, True, key=lambda depth: math.comb(depth, min(k, depth // 2)) >= 2**62)
    return depths[n_counted - 1] if n_counted else 0


@jit
def counted_votes(order, labels, target, constraints):
    """As `knn_fixed`: it counts the K-subsets that vote for a class; O(depth * K^3) for each with a loss.

    Given the position of the (K+1)-th nearest training sample, the K nearest are a uniform K-subset of the
    samples before it, for any size of the training set and any class of that sample. At the end of the list
    exactly K of its samples are in the training set. The last entries of ``constraints.weights`` are
    `counted_weights`.

    ``rows[c, b]`` is the number of b-subsets of class c. A row below them holds, for t votes of the tested
    sample's class without a majority, the number of subsets of the others that do not outvote it. It is a
    product over the other classes. This subtracts, which is safe for exact integers.
    """
    counted_depth = read_as(VoteFields, constraints.integers).counted_depth
    if counted_depth < len(order.items) or has_mixed_group(order, labels):
        return NOT_SERVED
    losses = losses_of(constraints)
    score = constraints.unit * 0
    for predicted in range(constraints.n_classes):
        loss = score_of(losses, labels.classes[target], predicted, constraints.unit)
        if loss != 0:
            score += loss * _chance_of(predicted, order, labels, constraints, counted_depth)
    return score


@inner
def _chance_of(own_class, order, labels, constraints, counted_depth):
    """The probability that this class wins the vote."""
    k = constraints.n_nearest
    n_classes = constraints.n_classes
    packed = constraints.weights
    weights = position_weights_at(packed, len(packed) - 2 * counted_depth, counted_depth)
    own_row, others_row = n_classes, n_classes + 1
    rows = _empty_rows(n_classes, k, labels.classes)
    n_own = 0
    score = constraints.unit * 0
    depth = len(order.items)
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == own_class:
            n_own += 1
        _count_sample(rows, c, own_class, n_own, k)
        weight = weights.next_known[i] if i < depth - 1 else weights.list_ends[i]
        if n_own == 0 or weight == 0:
            continue
        score += weight * _n_correct(rows, n_classes, own_row, others_row, n_own, k)
    return score


@inner
def _empty_rows(n_classes, k, like):
    """The rows of no samples; three are for the counts of one sample less."""
    rows = np.zeros((n_classes + 6 + k // 2, k + 1), like.dtype)
    for row in range(n_classes + 2):
        rows[row, 0] = 1
    return rows


@inner
def _count_sample(rows, c, own_class, n_own, k):
    """Let a sample of class c join the rows; `n_own` samples are of the tested class, it included."""
    half = k // 2
    n_classes = len(rows) - 6 - half
    if c == own_class:
        step_by_thinning(rows, n_classes, min(n_own, k), 1, 1)
        if n_own <= half:
            _start_tight(rows, n_classes, own_class, n_own, k)
        return
    for votes in range(1, min(n_own, half) + 1):
        limit = votes if own_class < c else votes - 1
        if limit > 0:
            _extend_tight(rows, n_classes + 2 + votes, c, limit, n_classes + 2, k - votes)
    step_by_thinning(rows, c, half, 1, 1)
    step_by_thinning(rows, n_classes + 1, k - 1, 1, 1)


@inner
def _n_correct(rows, n_classes, own_row, others_row, n_own, k):
    """The number of K-subsets that vote correctly, with these rows of the tested class and the others."""
    half = k // 2
    right = 0
    for votes in range(half + 1, min(n_own, k) + 1):
        right += rows[own_row, votes] * rows[others_row, k - votes]
    for votes in range(1, min(n_own, half) + 1):
        right += rows[own_row, votes] * rows[n_classes + 2 + votes, k - votes]
    return right


@inner
def _start_tight(rows, n_classes, own_class, votes, k):
    """Fill the product over the other classes of their rows, each cut before it beats `votes`."""
    tight_row = n_classes + 2 + votes
    top = k - votes
    rows[tight_row, 0] = 1
    for c in range(n_classes):
        limit = votes if own_class < c else votes - 1
        if c == own_class or limit == 0 or rows[c, 1] == 0:
            continue
        for d in range(top, 0, -1):
            total = rows[tight_row, d]
            for b in range(1, min(limit, d) + 1):
                total += rows[c, b] * rows[tight_row, d - b]
            rows[tight_row, d] = total


@inner
def _extend_tight(rows, tight_row, c, limit, quotient_row, top):
    """Let a sample join class c, whose row (1 + z)^g is cut at `limit`.

    The cut row of g + 1 samples is that of g, times 1 + z, without its term of degree ``limit + 1``. So is
    the product, where that term is multiplied by the product without the class.
    """
    beyond = rows[c, limit]
    if beyond > 0:
        for d in range(top - limit):
            total = rows[tight_row, d]
            for b in range(1, min(limit, d) + 1):
                total -= rows[c, b] * rows[quotient_row, d - b]
            rows[quotient_row, d] = total
    for d in range(top, 0, -1):
        rows[tight_row, d] += rows[tight_row, d - 1]
        if beyond > 0 and d > limit:
            rows[tight_row, d] -= beyond * rows[quotient_row, d - limit - 1]


@jit
def counted_votes_without_each(order, labels, target, constraints, out):
    """`counted_votes` of N - 1 samples, without each position in turn; O(depth * classes * K^2).

    Without the sample at r, of class c, the first i samples are those of the whole list for i <= r, and the
    first i + 1 less one of class c for i > r. So one walk counts, for every i, the correct K-subsets of the
    first i samples, and those without one sample of each class seen. Classes of equally many samples that
    win or lose ties alike have the same number.
    """
    counted_depth = read_as(VoteFields, constraints.integers).counted_depth
    n_listed = len(order.items)
    left = constraints.counts[0] - constraints.held_out
    if counted_depth < min(n_listed, left) or has_mixed_group(order, labels):
        return NOT_SERVED
    k = constraints.n_nearest
    n_classes = constraints.n_classes
    packed = constraints.weights
    weights = position_weights_at(packed, len(packed) - 2 * counted_depth, counted_depth)
    own_class = labels.classes[target]
    own_row, others_row = n_classes, n_classes + 1
    rows = _empty_rows(n_classes, k, labels.classes)
    less_own, less_others = len(rows) - 3, len(rows) - 2
    slots = np.full(n_classes, -1)  # by class: its place among the classes seen
    n_slots = 0
    slot_classes = np.empty(min(n_classes, n_listed), np.int64)
    passed = np.zeros(n_classes, np.int64)
    kinds, terms = np.zeros(n_listed, np.int64), np.zeros(n_listed)
    without = np.zeros((n_listed, len(slot_classes)))  # weighted counts of i + 1 samples, by class left out
    known = np.zeros((2, n_listed + 1), np.int64)  # by whether the class wins ties, and its samples
    known_at = np.full((2, n_listed + 1), -1)
    before = 0.0
    base = 0.0
    last = 0.0
    for i in range(n_listed):
        c = labels.classes[order.items[i]]
        if slots[c] < 0:
            slots[c] = n_slots
            slot_classes[n_slots] = c
            n_slots += 1
        passed[c] += 1
        n_own = passed[own_class]
        n_others = i + 1 - n_own
        _count_sample(rows, c, own_class, n_own, k)
        kinds[i], out[i] = slots[c], 0.0
        if n_own == 0 or i + 1 < k:
            continue
        right = _n_correct(rows, n_classes, own_row, others_row, n_own, k)
        if i < left:
            terms[i] = weights.next_known[i] * right
            base = before + weights.list_ends[i] * right
            before += terms[i]
        if i == n_listed - 2:
            last = base
        if i < k:
            continue
        ends = i == n_listed - 1
        weight = weights.list_ends[i - 1] if ends else weights.next_known[i - 1]
        if weight == 0:
            continue
        _less_one(rows[own_row], rows[less_own])
        if n_others > 0:
            _less_one(rows[others_row], rows[less_others])
        for slot in range(n_slots):
            d = slot_classes[slot]
            if d == own_class:
                right = _n_correct(rows, n_classes, less_own, others_row, n_own - 1, k)
            else:
                wins_ties = int(d < own_class)
                if known_at[wins_ties, passed[d]] != i:
                    known_at[wins_ties, passed[d]] = i
                    known[wins_ties, passed[d]] = _without_another(rows, d, wins_ties, n_own, k)
                right = known[wins_ties, passed[d]]
            without[i, slot] = weight * right
    add_without_each(kinds, terms, without, out)
    out[n_listed - 1] = last
    return base if n_listed <= left else 0.0


@inner
def _less_one(row, fewer):
    """From the numbers of b-subsets of n samples to those of n - 1."""
    fewer[0] = 1
    for b in range(1, len(row)):
        fewer[b] = row[b] - fewer[b - 1]


@inner
def _without_another(rows, c, wins_ties, n_own, k):
    """The number of correct K-subsets without one sample of another class c; O(K^2 * K).

    For t votes of the tested class the product over the others is divided by the row of class c, and
    multiplied by that of one sample less.
    """
    half = k // 2
    n_classes = len(rows) - 6 - half
    own_row, tight_row, quotient = n_classes, n_classes + 2, rows[n_classes + 2]
    less_others, less = len(rows) - 2, rows[len(rows) - 1]
    right = 0
    for votes in range(half + 1, min(n_own, k) + 1):
        right += rows[own_row, votes] * rows[less_others, k - votes]
    less[0] = 1
    for b in range(1, half + 1):
        less[b] = rows[c, b] - less[b - 1]
    for votes in range(1, min(n_own, half) + 1):
        limit = votes - wins_ties
        top = k - votes
        total = rows[tight_row + votes, top]
        if limit > 0:
            total = 0
            for d in range(top + 1):
                kept = rows[tight_row + votes, d]
                for b in range(1, min(limit, d) + 1):
                    kept -= rows[c, b] * quotient[d - b]
                quotient[d] = kept
                if top - d <= limit:
                    total += kept * less[top - d]
        right += rows[own_row, votes] * total
    return right


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
    n_own = 0
    largest = 0
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
        n_contenders = 0
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
            n_able = 0  # contenders for t
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
                degree = 0
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
