"""A kernel for `Variant.removals` of plurality votes among several classes, in designs of one size.

As in `_counted_votes`, the score is a sum over i of a weight of i, times the number of K-subsets of the i
nearest samples that vote correctly. That number depends only on how many of the i samples each class has.
"""

from __future__ import annotations

import numpy as np

from knnccv.kernel import NOT_SERVED, ZERO, jit, read_as
from knnccv.sampling import step_by_thinning
from knnccv.voting import has_mixed_group, position_weights_at

from ._counted_votes import extend_tight, start_tight
from ._vote_fields import VoteFields


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
    half = k // 2
    packed = constraints.weights
    weights = position_weights_at(packed, len(packed) - 2 * counted_depth, counted_depth)
    own_class = labels.classes[target]
    own_row, others_row, quotient_row = n_classes, n_classes + 1, n_classes + 2
    rows = np.zeros((n_classes + 3 + half, k + 1), labels.classes.dtype)
    for row in range(n_classes + 2):
        rows[row, 0] = 1
    slots = np.full(n_classes, -1)  # by class: its place among the classes seen
    n_slots = ZERO
    slot_classes = np.empty(min(n_classes, n_listed), np.int64)
    passed = np.zeros(n_classes, np.int64)
    without = np.zeros(
        (n_listed, len(slot_classes))
    )  # weighted counts for i + 1 samples, by class left out
    known = np.zeros((2, n_listed + 1), np.int64)  # by whether the class wins ties, and its samples
    known_at = np.full((2, n_listed + 1), -1)
    fewer = np.zeros((3, k + 1), np.int64)
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
        if c == own_class:
            step_by_thinning(rows, own_row, min(n_own, k), 1, 1)
            if n_own <= half:
                start_tight(rows, n_classes, own_class, n_own, k)
        else:
            for votes in range(1, min(n_own, half) + 1):
                limit = votes if own_class < c else votes - 1
                if limit > 0:
                    extend_tight(rows, n_classes + 2 + votes, c, limit, quotient_row, k - votes)
            step_by_thinning(rows, c, half, 1, 1)
            step_by_thinning(rows, others_row, k - 1, 1, 1)
        out[i] = before
        if n_own == 0 or i + 1 < k:
            continue
        right = 0
        for votes in range(half + 1, min(n_own, k) + 1):
            right += rows[own_row, votes] * rows[others_row, k - votes]
        for votes in range(1, min(n_own, half) + 1):
            right += rows[own_row, votes] * rows[n_classes + 2 + votes, k - votes]
        if i < left:
            base = before + weights.list_ends[i] * right
            before += weights.next_known[i] * right
        if i == n_listed - 2:
            last = base
        if i < k:
            continue
        ends = i == n_listed - 1
        weight = weights.list_ends[i - 1] if ends else weights.next_known[i - 1]
        if weight == 0:
            continue
        _less_one(rows[own_row], fewer[0])
        if n_others > 0:
            _less_one(rows[others_row], fewer[1])
        for slot in range(n_slots):
            d = slot_classes[slot]
            if d == own_class:
                right = 0
                for votes in range(half + 1, min(n_own - 1, k) + 1):
                    right += fewer[0, votes] * rows[others_row, k - votes]
                for votes in range(1, min(n_own - 1, half) + 1):
                    right += fewer[0, votes] * rows[n_classes + 2 + votes, k - votes]
            else:
                wins_ties = int(d < own_class)
                if known_at[wins_ties, passed[d]] != i:
                    known_at[wins_ties, passed[d]] = i
                    known[wins_ties, passed[d]] = _without_another(rows, fewer, d, wins_ties, n_own, k)
                right = known[wins_ties, passed[d]]
            without[i, slot] = weight * right
    after = np.zeros(n_slots)
    out[n_listed - 1] = last
    for i in range(n_listed - 2, -1, -1):
        for slot in range(n_slots):
            after[slot] += without[i + 1, slot]
        out[i] += after[slots[labels.classes[order.items[i]]]]
    return base if n_listed <= left else 0.0


@jit
def _less_one(row, fewer):
    """From the numbers of b-subsets of n samples to those of n - 1."""
    fewer[0] = 1
    for b in range(1, len(row)):
        fewer[b] = row[b] - fewer[b - 1]


@jit
def _without_another(rows, fewer, c, wins_ties, n_own, k):
    """The number of correct K-subsets without one sample of another class c; O(K^2 * K).

    For t votes of the tested class the product over the others is divided by the row of class c, and
    multiplied by that of one sample less.
    """
    half = k // 2
    n_classes = len(rows) - 3 - half
    own_row, tight_row, quotient = n_classes, n_classes + 2, rows[n_classes + 2]
    right = 0
    for votes in range(half + 1, min(n_own, k) + 1):
        right += rows[own_row, votes] * fewer[1, k - votes]
    less = fewer[2]
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
