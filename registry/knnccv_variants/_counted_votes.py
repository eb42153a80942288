"""Plurality votes by counting K-subsets in integers, in designs of one size without mixed tied groups."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np

from knnccv.kernel import NOT_SERVED, Task, jit, read_as
from knnccv.sampling import step_by_thinning
from knnccv.voting import has_mixed_group, position_weights_at

from ._vote_fields import VoteFields

MAX_COUNTED_DEPTH = 1024


def max_counted_depth(task: Task, k: int) -> int:
    """The largest depth of lists whose K-subsets can be counted by integers of 64 bits; 0 if none."""
    if task.number is Fraction:
        return task.n_available
    depths = range(k, max(min(task.n_available, MAX_COUNTED_DEPTH), k) + 1)
    n_counted = bisect_left(depths, True, key=lambda depth: math.comb(depth, min(k, depth // 2)) >= 2**62)
    return depths[n_counted - 1] if n_counted else 0


@jit
def counted_votes(order, labels, target, constraints):
    """As `knn_fixed`: it counts the K-subsets that vote correctly; O(depth * K^3).

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
    k = constraints.n_nearest
    n_classes = constraints.n_classes
    half = k // 2
    packed = constraints.weights
    weights = position_weights_at(packed, len(packed) - 2 * counted_depth, counted_depth)
    own_class = labels.classes[target]
    own_row, others_row, quotient_row = n_classes, n_classes + 1, n_classes + 2
    tight_row = n_classes + 2  # plus t: for t votes
    rows = np.zeros((n_classes + 3 + half, k + 1), labels.classes.dtype)
    for row in range(n_classes + 2):
        rows[row, 0] = 1
    n_own = 0
    score = constraints.unit * 0
    depth = len(order.items)
    for i in range(depth):
        c = labels.classes[order.items[i]]
        if c == own_class:
            n_own += 1
            step_by_thinning(rows, own_row, min(n_own, k), 1, 1)
            if n_own <= half:
                start_tight(rows, n_classes, own_class, n_own, k)
        else:
            for votes in range(1, min(n_own, half) + 1):
                limit = votes if own_class < c else votes - 1
                if limit > 0:
                    extend_tight(rows, tight_row + votes, c, limit, quotient_row, k - votes)
            step_by_thinning(rows, c, half, 1, 1)
            step_by_thinning(rows, others_row, k - 1, 1, 1)
        weight = weights.next_known[i] if i < depth - 1 else weights.list_ends[i]
        if n_own == 0 or weight == 0:
            continue
        right = 0
        for votes in range(half + 1, min(n_own, k) + 1):
            right += rows[own_row, votes] * rows[others_row, k - votes]
        for votes in range(1, min(n_own, half) + 1):
            right += rows[own_row, votes] * rows[tight_row + votes, k - votes]
        score += weight * right
    return score


@jit
def start_tight(rows, n_classes, own_class, votes, k):
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


@jit
def extend_tight(rows, tight_row, c, limit, quotient_row, top):
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
