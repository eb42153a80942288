"""The profile of items whose neighbour order ties different labels, over all tie orders."""

from __future__ import annotations

import numpy as np

from knnccv.kernel import jit
from knnccv.sampling import step_by_thinning

from ._ballot import MATCH, judge, plain_wins
from ._walks import group_rate, is_mixed, mark_group


@jit
def ties_labels(items, values, lengths, classes, out):  # type: ignore[no-untyped-def]
    """Whether equally similar items of a row have different labels; O(depth) per row."""
    for r in range(len(items)):
        mixed = False
        for i in range(1, lengths[r]):
            if values[r, i] == values[r, i - 1] and classes[items[r, i]] != classes[items[r, i - 1]]:
                mixed = True
        out[r] = mixed


@jit
def add_tied_profile(items, values, lengths, owns, weights, classes, n_classes, ks, rule, first, out):  # type: ignore[no-untyped-def]
    """Add the rows' weighted P_x(K, i), over all tie orders, to a profile; O(depth * cost of a vote) a K.

    Parameters
    ----------
    items, values, lengths, owns, weights, out
        As for `knnccv._profile.add_profile`, with the values that tell which items tie.
    classes : int64 (n_items,)
    ks : int64 (any,)
        The K.
    rule : int
        MATCH or SOME.
    first : int64 (depth + 2,)
        At i the least K that needs position i.
    """
    group_end = np.empty(items.shape[1], np.int64)
    right = np.zeros(out.shape[1])
    for r in range(len(items)):
        length = min(lengths[r], out.shape[1] - 1)
        end = length
        for i in range(length - 1, -1, -1):
            if i + 1 < length and values[r, i] != values[r, i + 1]:
                end = i + 1
            group_end[i] = end
        for k in ks:
            last = length
            while last > 0 and first[last] > k:
                last -= 1
            if last < k:
                continue
            right[:] = 0.0
            _walk(items[r], group_end, length, last, classes, owns[r], n_classes, k, rule, right)
            for i in range(k, last + 1):
                ends_here = 1 if i == length or first[i + 1] > k else 0
                out[ends_here, i, k] += weights[r] * right[i]


@jit
def _walk(items, group_end, length, last, classes, own, n_classes, k, rule, right):  # type: ignore[no-untyped-def]
    """``right[i]`` = P(a uniform K-subset of the first i items is right), K <= i <= `last`.

    As `_walks.pool_votes`, for every position by itself: within a mixed group, with j of it before, h of
    the K come from it with a hypergeometric probability.
    """
    hit = min(0.5, k / (length + 1))
    miss = 1 - hit
    others = n_classes
    near = np.zeros((n_classes + 2, 1, k + 1))
    flat = near.reshape(n_classes + 2, k + 1)
    flat[:, 0] = 1.0
    totals = np.zeros((2, k + 1))  # of all items so far; of j items of the group
    totals[0, 0] = 1.0
    product = np.zeros((2 * (k + 1), k + 1))
    passed = np.zeros(n_classes + 2, np.int64)
    members = np.zeros(n_classes + 2, np.int64)
    seen = np.empty(n_classes, np.int64)
    seen[0] = own
    n_seen = 1
    two = np.array([own, others])
    none = np.zeros(0)
    no_losses = np.zeros((0, 0))
    start = 0
    pure = 0
    while start < last:
        end = group_end[start]
        if end > start + 1 and (start < pure or not is_mixed(items, classes, start, end)):
            pure = end
            end = start + 1
        size = end - start
        for i in range(start, end):
            c = classes[items[i]]
            if passed[c] == 0 and members[c] == 0 and c != own:
                seen[n_seen] = c
                n_seen += 1
            members[c] += 1
            if c != own:
                members[others] += 1
        if size > 1 and end - 1 >= k:
            top = min(size, k)
            rows = np.zeros((n_classes + 2, top + 1, k + 1))
            most = passed + members
            for s in range(n_seen):
                mark_group(rows, seen[s], near, members[seen[s]], size, k, miss, hit)
            mark_group(rows, others, near, members[others], size, k, miss, hit)
            group_miss, group_hit = group_rate(size, k, miss, hit)
            totals[1, :] = 0.0
            totals[1, 0] = 1.0
            for _ in range(size):
                step_by_thinning(totals, 1, top, group_miss, group_hit)
            votes = np.zeros(top + 1)
            for h in range(max(0, k - start), top + 1):
                marks = np.zeros(top + 1)
                marks[h] = 1 / totals[1, h]
                some = seen if rule == MATCH else two
                n_some = n_seen if rule == MATCH else 2
                votes[h] = judge(
                    rows, members, most, some, n_some, -1, own, k, rule, 0, none, no_losses, marks, product
                )
            totals[1, :] = 0.0
            totals[1, 0] = 1.0
            before = totals[0].copy()
            for j in range(1, size):
                step_by_thinning(totals, 1, top, miss, hit)
                step_by_thinning(totals, 0, k, miss, hit)
                if start + j >= k and start + j <= last and totals[0, k] > 0:
                    total = 0.0
                    for h in range(top + 1):
                        total += totals[1, h] * votes[h]
                    right[start + j] = total / totals[0, k]
            totals[0] = before
        for s in range(n_seen):
            c = seen[s]
            for _ in range(members[c]):
                step_by_thinning(flat, c, k, miss, hit)
            passed[c] += members[c]
            members[c] = 0
        for _ in range(members[others]):
            step_by_thinning(flat, others, k, miss, hit)
        passed[others] += members[others]
        members[others] = 0
        for _ in range(size):
            step_by_thinning(totals, 0, k, miss, hit)
        if end >= k and end <= last and totals[0, k] > 0:
            total = 0.0
            least = k // 2 + 1 if rule == MATCH else 1
            for own_votes in range(least, min(k, passed[own]) + 1):
                total += flat[own, own_votes] * flat[others, k - own_votes]
            if rule == MATCH and passed[own] > 0:
                total += plain_wins(flat, passed, seen, n_seen, -1, own, k, False, product[0])
            right[end] = total / totals[0, k]
        start = end
