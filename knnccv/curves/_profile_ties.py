"""What fair ties change in the profile of the data (`knnccv.curves._profile`).

The profile is made along the order of the data first. Only within a tied group of several labels does the
mean over its orders differ: there the first i samples are the nearer ones and a random part of the group.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import step_by_thinning
from ..voting import PLURALITY, group_rate, is_mixed, mark_group, plurality_probability, score_votes

NEGLIGIBLE = 1e-22  # of a probability, next to the likeliest


@jit
def add_ties(items, values, lengths, owns, weights, classes, n_classes, ks, rule, first, out, stop):  # type: ignore[no-untyped-def]
    """Add to a profile what the rows' weighted P_x(K, i) gain by the mean over all tie orders.

    O(depth), and O(b^1.5 K) for b tied samples, where only right and wrong count; else a vote
    for every K and every number of votes from the group.

    Parameters
    ----------
    samples, values, lengths, owns, weights, out
        As for `knnccv.curves._profile.add_profile`, with the values that tell which samples tie; a group
        that goes on beyond the depth of the profile must be listed to its end.
    classes : int64 (n_items,)
    ks : int64 (any,)
        The K, ascending.
    rule : int
        MATCH or SOME.
    first : int64 (depth + 2,)
        At i the least K that needs position i.
    stop : bool (1,)
        Once set, nobody wants the result any more.
    """
    right = np.zeros(out.shape[2])
    for r in range(len(items)):
        if stop[0]:
            return
        known = lengths[r]
        length = min(known, out.shape[1] - 1)
        tied = False
        start = 0
        while start < length:
            end = start + 1
            while end < known and values[r, end] == values[r, start]:
                end += 1
            if end > start + 1 and is_mixed(items[r], classes, start, end):
                tied = True
                if rule != PLURALITY or n_classes == 2:
                    _add_group(
                        items[r], start, end, length, classes, owns[r], weights[r], rule, first, right, out
                    )
            start = end
        if tied and rule == PLURALITY and n_classes > 2:
            _add_votes(
                items[r], values[r], known, length, classes, owns[r], weights[r], n_classes, ks, first, out
            )


@jit
def _add_group(items, start, end, length, classes, own, weight, rule, first, right, out):  # type: ignore[no-untyped-def]
    """The gain of one mixed group, where the samples are right or wrong."""
    before = 0
    for i in range(start):
        before += classes[items[i]] == own
    mine = 0
    for i in range(start, end):
        mine += classes[items[i]] == own
    others = end - start - mine
    if mine == 0 or others == 0:  # several labels, but all of them wrong
        return
    here = before  # own samples of the first i in the order of the data
    law = np.zeros(min(mine, length) + 1)  # of how many of j samples of the group are own ones
    size = end - start
    for j in range(1, min(size - 1, length - start) + 1):
        i = start + j
        here += classes[items[i - 1]] == own
        if first[i] >= len(right):
            break
        least, most = max(0, j - others), min(j, mine)
        mode = min(max((mine + 1) * (j + 1) // (size + 2), least), most)
        law[mode] = 1.0
        total = 1.0
        high = mode
        while high < most and law[high] > NEGLIGIBLE:
            law[high + 1] = law[high] * (mine - high) * (j - high) / ((high + 1) * (others - j + high + 1))
            high += 1
            total += law[high]
        low = mode
        while low > least and law[low] > NEGLIGIBLE:
            law[low - 1] = law[low] * low * (others - j + low) / ((mine - low + 1) * (j - low + 1))
            low -= 1
            total += law[low]
        for n in range(low, high + 1):
            _add_right(out, i, length, weight * law[n] / total, before + n, own, rule, first, right)
        _add_right(out, i, length, -weight, here, own, rule, first, right)


@jit
def _add_right(out, i, length, weight, g, own, rule, first, right):  # type: ignore[no-untyped-def]
    """Add what g own samples of the first i say, for all K that need position i."""
    _fill_right(right, i, g, own, rule)
    for k in range(first[i], min(len(right) - 1, i) + 1):
        ends_here = 1 if i == length or first[i + 1] > k else 0
        out[ends_here, i, k] += weight * right[k]


@jit
def _fill_right(right, i, g, own, rule):  # type: ignore[no-untyped-def]
    """``right[k]`` = P(k of i samples, g of them of the own class, are right), for all k up to i; O(k).

    For votes of two classes: with h the fewest own votes that win, ``chance`` is that of h own votes of k.
    From k to k + 1, where h stays, those with h - 1 own votes gain by an own one; where h grows, those with
    h own votes lose by another one.
    """
    top = min(len(right) - 1, i)
    if rule != PLURALITY:
        none = 1.0
        for k in range(1, top + 1):
            none *= max(i - g - k + 1, 0) / (i - k + 1)
            right[k] = 1 - none
        return
    margin = 1 if own > 0 else 0  # a tied vote goes to class 0
    right[1] = g / i
    chance = g / i
    h = 1
    for k in range(1, top):
        more = (k + 1) / (i - k)
        if (k + margin) % 2 == 1:
            chance *= max(i - g - k + h, 0) / (k + 1 - h) * more
            right[k + 1] = right[k] + chance * h / (k + 1)
        else:
            right[k + 1] = right[k] - chance * max(i - g - k + h, 0) / (i - k)
            chance *= max(g - h, 0) / (h + 1) * more
            h += 1


@jit
def _add_votes(items, values, known, length, classes, own, weight, n_classes, ks, first, out):  # type: ignore[no-untyped-def]
    """The gain of a row, for a vote of several classes.

    As `score_fixed_size`, for every position by itself: within a mixed group, with j of it before, h of the
    K come from it with a hypergeometric probability.
    """
    most = ks[-1]
    hit = min(0.5, most / (length + 1))
    miss = 1 - hit
    others = n_classes
    near = np.zeros((n_classes + 2, 1, most + 1))
    flat = near.reshape(n_classes + 2, most + 1)
    flat[:, 0] = 1.0
    totals = np.zeros((2, most + 1))  # of all samples so far; of j samples of the group
    totals[0, 0] = 1.0
    product = np.zeros((2 * (most + 1), most + 1))
    passed = np.zeros(n_classes + 2, np.int64)
    seen = np.empty(n_classes, np.int64)
    seen[0] = own
    n_seen = 1
    none = np.zeros(0)
    no_losses = np.zeros((0, 0))
    start = 0
    while start < length and first[start + 1] <= most:
        end = start + 1
        while end < known and values[end] == values[start]:
            end += 1
        for i in range(start, end):
            c = classes[items[i]]
            met = False
            for s in range(n_seen):
                met = met or seen[s] == c
            if not met:
                seen[n_seen] = c
                n_seen += 1
        size = end - start
        mixed = size > 1 and is_mixed(items, classes, start, end)
        if mixed:
            members = np.zeros(n_classes + 2, np.int64)
            for i in range(start, end):
                members[classes[items[i]]] += 1
            rows = np.zeros((n_classes + 2, min(size, most) + 1, most + 1))
            for s in range(n_seen):
                mark_group(rows, seen[s], near, members[seen[s]], size, most, miss, hit)
            after = passed + members
            before = totals[0].copy()
            for k in ks:
                if first[start + 1] > k or end - 1 < k:
                    continue
                top = min(size, k)
                votes = np.zeros(top + 1)
                group_miss, group_hit = group_rate(size, most, miss, hit)
                totals[1, :] = 0.0
                totals[1, 0] = 1.0
                for _ in range(size):
                    step_by_thinning(totals, 1, top, group_miss, group_hit)
                for h in range(max(0, k - start), top + 1):
                    marks = np.zeros(top + 1)
                    marks[h] = 1 / totals[1, h]
                    votes[h] = score_votes(
                        rows,
                        members,
                        after,
                        seen,
                        n_seen,
                        -1,
                        own,
                        k,
                        PLURALITY,
                        0,
                        none,
                        no_losses,
                        marks,
                        product,
                    )
                totals[0] = before
                totals[1, :] = 0.0
                totals[1, 0] = 1.0
                for j in range(1, size):
                    step_by_thinning(totals, 1, top, miss, hit)
                    step_by_thinning(totals, 0, most, miss, hit)
                    i = start + j
                    if k <= i <= length and first[i] <= k and totals[0, k] > 0:
                        total = 0.0
                        for h in range(top + 1):
                            total += totals[1, h] * votes[h]
                        ends_here = 1 if i == length or first[i + 1] > k else 0
                        out[ends_here, i, k] += weight * total / totals[0, k]
            totals[0] = before
        for i in range(start, end):
            c = classes[items[i]]
            step_by_thinning(flat, c, most, miss, hit)
            passed[c] += 1
            if c != own:
                step_by_thinning(flat, others, most, miss, hit)
                passed[others] += 1
            step_by_thinning(totals, 0, most, miss, hit)
            if mixed and i + 1 < min(end, length + 1):
                for k in ks:
                    if i + 1 >= k and first[i + 1] <= k and totals[0, k] > 0:
                        total = 0.0
                        for own_votes in range(k // 2 + 1, min(k, passed[own]) + 1):
                            total += flat[own, own_votes] * flat[others, k - own_votes]
                        if passed[own] > 0:
                            total += plurality_probability(
                                flat, passed, seen, n_seen, -1, own, k, False, product[0]
                            )
                        ends_here = 1 if i + 1 == length or first[i + 2] > k else 0
                        out[ends_here, i + 1, k] -= weight * total / totals[0, k]
        start = end
