"""Compiled sums over the pairs of samples whose neighbor lists interact; see `_split_tables`.

If no two lists had a common sample, the sum over all pairs of samples would be a sum over the positions.
Few pairs differ from that: those with a common sample early in their lists, and those of which one is in
the list of the other. An index of the lists finds them.
"""

from __future__ import annotations

import numpy as np

from ..kernel import inner, jit


@jit
def index_lists(items, lengths, n_items):
    """Where every sample is listed, by position: ``starts`` (n_items + 1,), rows and positions, int32."""
    starts = np.zeros(n_items + 1, np.int64)
    for x in range(n_items):
        for i in range(lengths[x]):
            starts[items[x, i] + 1] += 1
    for z in range(n_items):
        starts[z + 1] += starts[z]
    ends = starts[:-1].copy()
    rows, places = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    for i in range(items.shape[1]):
        for x in range(n_items):
            if i < lengths[x]:
                z = items[x, i]
                rows[ends[z]] = x
                places[ends[z]] = i
                ends[z] += 1
    return starts, rows, places


@jit
def fill_disjoint(first, last, lengths, scores, two, both, folded, same_rows, cross_rows):
    """Inner sums of the rows ``first .. last - 1`` over their own lists, (n_rows, depth + 1)."""
    depth = len(two) - 1
    for x in range(first, last):
        for i in range(depth + 1):
            top = min(lengths[x], depth - i + 1)
            same, cross = 0.0, 0.0
            for k in range(top):
                same += scores[x, k] * two[i + k]
            if folded:
                for k in range(top):
                    cross += scores[x, k] * both[i, k]
                cross_rows[x, i] = cross
            same_rows[x, i] = same


@inner
def interacting(x, items, lengths, starts, rows, places, depth, marks, found):
    """Fill `found` with the samples after x whose lists interact with that of x; return their number."""
    n = 0
    for u in range(lengths[x]):
        z = items[x, u]
        if z > x and marks[z] != x:
            marks[z] = x
            found[n] = z
            n += 1
        for e in range(starts[z], starts[z + 1]):
            if u + places[e] > depth:
                break
            other = rows[e]
            if other > x and marks[other] != x:
                marks[other] = x
                found[n] = other
                n += 1
    for e in range(starts[x], starts[x + 1]):
        other = rows[e]
        if other > x and marks[other] != x:
            marks[other] = x
            found[n] = other
            n += 1
    return n


@jit
def count_interacting(chosen, items, lengths, starts, rows, places, depth):
    """The number of interacting pairs of some rows with samples after them."""
    marks = np.full(len(items), -1, np.int32)
    found = np.empty(len(items), np.int32)
    total = 0
    for x in chosen:
        total += interacting(x, items, lengths, starts, rows, places, depth, marks, found)
    return total


@inner
def same_fold(own, n_own, other, where, n_other, start, one, two, near):
    """Sum over p and q of the two lists, each without the other tested sample, from row `start` on.

    ``own`` and ``other`` are the scores along the lists, ``where[k]`` the position of q in the first list.
    `near` (n,) is working space. Samples of A are removed from the second list, so that u = |A| + |B|.
    """
    depth = len(one) - 1
    left = 0
    for k in range(n_other):
        if where[k] >= start or where[k] < 0:
            near[left] = where[k]
            other[left] = other[k]
            left += 1
    total = 0.0
    for i in range(start, min(n_own, depth + 1)):
        at = -1
        for k in range(left):
            if near[k] == i:
                at = k
                break
        top = min(left, depth - i + 1)
        row = 0.0
        if at < 0:
            for k in range(top):
                row += other[k] * two[i + k]
        else:
            for k in range(min(at, top)):
                row += other[k] * two[i + k]
            if at < top:
                row += other[at] * one[i + at]
            for k in range(at + 1, left):
                other[k - 1] = other[k]
                near[k - 1] = near[k]
            left -= 1
        total += own[i] * row
    return total


@inner
def two_folds(
    own, n_own, other_at, other, n_other, own_at, partner, start, both, first, second, same, free
):
    """Sum over p and q for samples in different folds, from row `start` on.

    ``partner[i]`` is the position of p in the second list, or -1. The first list has the other tested
    sample at `other_at`, the second list has it at `own_at`; -1 if it is not listed.
    """
    depth = len(both) - 1
    end, open_end = n_other, True  # at a closed end q is outside its fold already
    if own_at >= 0:
        end, open_end = own_at, False
    total = 0.0
    for i in range(start, min(n_own, depth + 1)):
        at = partner[i]
        top = min(end, depth - i + 1)
        last = not open_end and end <= depth - i
        row = 0.0
        if i == other_at:
            for k in range(top):
                row += other[k] * second[i, k]
            if last:
                row += other[end] * free[i, end]
        elif 0 <= at < end:
            for k in range(min(at, top)):
                row += other[k] * both[i, k]
            if at < top:
                row += other[at] * same[i, at]
            for k in range(at + 1, top):
                row += other[k] * second[i, k]
            if last:
                row += other[end] * free[i, end]
            end, open_end = at, False
        else:
            for k in range(top):
                row += other[k] * both[i, k]
            if last:
                row += other[end] * first[i, end]
        total += own[i] * row
        if i == other_at:
            break
    return total


@jit
def sum_interacting(
    begin, finish, items, lengths, scores, starts, rows, places, same_rows, cross_rows,
    one, two, both, first, second, same, free, folded, stop,
):  # fmt: skip
    """Sum over the pairs of rows ``begin .. finish - 1`` with later rows: true minus disjoint terms."""
    n_items, width = items.shape
    depth = len(one) - 1
    marks, found = np.full(n_items, -1, np.int32), np.empty(n_items, np.int32)
    seen, position = np.full(n_items, -1, np.int32), np.empty(n_items, np.int32)
    own, other = np.empty(width), np.empty(width)
    where, partner = np.empty(width, np.int64), np.empty(width, np.int64)
    near = np.empty(width, np.int64)
    total = 0.0
    for x in range(begin, finish):
        if stop[0]:
            break
        for i in range(lengths[x]):
            seen[items[x, i]] = x
            position[items[x, i]] = i
        n_found = interacting(x, items, lengths, starts, rows, places, depth, marks, found)
        for f in range(n_found):
            z = found[f]
            other_at = position[z] if seen[z] == x else -1
            own_at = -1
            start = other_at if other_at >= 0 else width
            for i in range(lengths[x]):
                partner[i] = -1
            n_other = 0
            for k in range(lengths[z]):
                q = items[z, k]
                if q == x:
                    own_at = k
                    start = 0
                    continue
                where[n_other] = -1
                if seen[q] == x:
                    at = position[q]
                    partner[at] = k
                    start = min(start, at)
                    where[n_other] = at - (other_at >= 0 and at > other_at)
                other[n_other] = scores[z, k]
                n_other += 1
            n_own = 0
            for i in range(lengths[x]):
                if i != other_at:
                    own[n_own] = scores[x, i]
                    n_own += 1
            total += same_fold(own, n_own, other, where, n_other, start, one, two, near)
            if folded:
                total += two_folds(
                    scores[x], lengths[x], other_at, scores[z], lengths[z], own_at, partner, start,
                    both, first, second, same, free,
                )  # fmt: skip
            for i in range(start, min(lengths[x], depth + 1)):
                disjoint = same_rows[z, i]
                if folded:
                    disjoint += cross_rows[z, i]
                total -= scores[x, i] * disjoint
    return total
