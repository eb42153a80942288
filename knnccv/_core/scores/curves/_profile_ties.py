# mypy: allow-untyped-defs
"""Corrections of the profile (`knnccv._core.scores.curves._profile`) for tied samples in random order.

The profile is made along the order of the data. The mean over all orders differs only within a tied group
of several labels: there the first i samples are the nearer ones and a random part of the group.
"""

from __future__ import annotations

import numpy as np

from ...._base.parallel import stop_flag
from ....kernel import Labels, inner, jit
from ....kernel.sampling import step_by_thinning
from ....kernel.voting import group_rate, is_mixed
from ...driver import mixed_groups

NEGLIGIBLE = 1e-22  # of a probability, relative to the mode


def add_ties(listed, spec, inside, out):
    """Add the change of the rows' weighted P_x(K, i) by the mean over all orders of tied samples.

    O(depth), and O(b^1.5 K) for b tied samples if each sample is only right or wrong. For a vote of several
    classes O(b K^2), and at most O(classes * K^5) for the votes; there the positions within the groups are
    marked for `add_profile`, which leaves them out.

    Parameters
    ----------
    listed, spec, out
        As for `_profile.add_profile`. A group that goes on beyond the depth of the profile
        must be listed to its end.
    inside : bool (n_rows, depth + 1)
        Filled for a vote of several classes: the positions that cut a group of several classes.
    """
    labels = Labels(spec.classes, np.empty((0, 0)))
    mixed = np.flatnonzero(mixed_groups(listed, listed.lengths, labels) >= 0)
    if not len(mixed):  # most tables have no such ties, and do not wait for code about them
        return
    if spec.ranked or spec.n_classes == 2:
        _add_groups(listed, mixed, spec, np.zeros(out.shape[2]), out, stop_flag())
    else:
        _add_votes(listed, mixed, spec, inside, out, stop_flag())


@jit
def _add_groups(listed, mixed, spec, right, out, stop):
    """Add the change of rows whose samples are each right or wrong; ends early at ``stop[0]``."""
    for r in mixed:
        if stop[0]:
            return
        items, values = listed.items[r], listed.values[r]
        known = listed.lengths[r]
        length = min(known, out.shape[1] - 1)
        start = 0
        while start < length:
            end = start + 1
            while end < known and values[end] == values[start]:
                end += 1
            if end > start + 1 and is_mixed(items, spec.classes, start, end):
                _add_group(listed, r, start, end, spec, right, out)
            start = end


@inner
def _add_group(listed, r, start, end, spec, right, out):
    """Add the change by one mixed group whose samples are each right or wrong."""
    items, weight, own_class = listed.items[r], listed.weights[r], spec.classes[listed.rows[r]]
    length = min(listed.lengths[r], out.shape[1] - 1)
    classes, first = spec.classes, spec.first
    n_nearer = 0
    for i in range(start):
        n_nearer += classes[items[i]] == own_class
    n_own = 0
    for i in range(start, end):
        n_own += classes[items[i]] == own_class
    n_others = end - start - n_own
    if n_own == 0 or n_others == 0:  # several labels, but all of them wrong
        return
    n_here = n_nearer  # samples of the tested class among the first i in the order of the data
    law = np.zeros(min(n_own, length) + 1)  # P(n of j samples of the group are of the tested class)
    size = end - start
    for j in range(1, min(size - 1, length - start) + 1):
        i = start + j
        n_here += classes[items[i - 1]] == own_class
        if first[i] >= len(right):
            break
        lowest, highest = max(0, j - n_others), min(j, n_own)
        mode = min(max((n_own + 1) * (j + 1) // (size + 2), lowest), highest)
        law[mode] = 1.0
        total = 1.0
        high = mode
        while high < highest and law[high] > NEGLIGIBLE:
            law[high + 1] = (
                law[high] * (n_own - high) * (j - high) / ((high + 1) * (n_others - j + high + 1))
            )
            high += 1
            total += law[high]
        low = mode
        while low > lowest and law[low] > NEGLIGIBLE:
            law[low - 1] = law[low] * low * (n_others - j + low) / ((n_own - low + 1) * (j - low + 1))
            low -= 1
            total += law[low]
        for n in range(low, high + 1):
            _add_right(out, i, length, weight * law[n] / total, n_nearer + n, own_class, spec, right)
        _add_right(out, i, length, -weight, n_here, own_class, spec, right)


@inner
def _add_right(out, i, length, weight, g, own_class, spec, right):
    """Add P(correct) with g samples of the class among the first i, for all K that need position i."""
    first = spec.first
    _fill_right(right, i, g, own_class, spec.ranked)
    for k in range(first[i], min(len(right) - 1, i) + 1):
        ends_here = 1 if i == length or first[i + 1] > k else 0
        out[ends_here, i, k] += weight * right[k]


@inner
def _fill_right(right, i, g, own_class, ranked):
    """``right[k]`` = P(k of i samples decide correctly) if g of the i are of the tested class; k up to i.

    For votes of two classes let h be the smallest number of correct votes that wins; ``p_edge`` is the
    probability of h correct votes of k. From k to k + 1, if h stays, choices with h - 1 correct votes gain
    by one more; if h grows, choices with h correct votes lose by one more vote of the other class.
    """
    top = min(len(right) - 1, i)
    if ranked:
        p_none = 1.0
        for k in range(1, top + 1):
            p_none *= max(i - g - k + 1, 0) / (i - k + 1)
            right[k] = 1 - p_none
        return
    margin = 1 if own_class > 0 else 0  # class 0 wins a tied vote
    right[1] = g / i
    p_edge = g / i
    h = 1
    for k in range(1, top):
        more = (k + 1) / (i - k)
        if (k + margin) % 2 == 1:
            p_edge *= max(i - g - k + h, 0) / (k + 1 - h) * more
            right[k + 1] = right[k] + p_edge * h / (k + 1)
        else:
            right[k + 1] = right[k] - p_edge * max(i - g - k + h, 0) / (i - k)
            p_edge *= max(g - h, 0) / (h + 1) * more
            h += 1


@jit
def _add_votes(listed, mixed, spec, inside, out, stop):
    """Add the rows' P_x(K, i) at the positions within mixed groups, for a vote of several classes.

    If j samples of a mixed group are among the first i, h of the K voters belong to the group with a
    hypergeometric probability, and the vote depends on h alone. ``inside[i]`` is set for these positions.
    Ends early at ``stop[0]``.
    """
    classes, first, max_k = spec.classes, spec.first, spec.max_k
    others = spec.n_classes  # one row for all classes other than the tested sample's
    every = others + 1  # one for all samples
    near = np.zeros((every + 1, max_k + 1))
    passed, members = np.zeros(others + 1, np.int64), np.zeros(others + 1, np.int64)
    seen_classes = np.zeros(others, np.int64)
    for r in mixed:
        if stop[0]:
            return
        items, values, known = listed.items[r], listed.values[r], listed.lengths[r]
        own_class = classes[listed.rows[r]]
        length = min(known, out.shape[1] - 1)
        p_take = min(0.5, max_k / (length + 1))
        p_skip = 1 - p_take
        for c in range(every + 1):
            for k in range(max_k + 1):
                near[c, k] = 1.0 if k == 0 else 0.0
        passed[:] = 0
        n_seen = 0
        start = 0
        while start < length and first[start + 1] <= max_k:
            end = start + 1
            while end < known and values[end] == values[start]:
                end += 1
            members[:] = 0
            for i in range(start, end):
                c = classes[items[i]]
                members[c] += 1
                if c != own_class:
                    members[others] += 1
                    if passed[c] == 0 and members[c] == 1:
                        seen_classes[n_seen] = c
                        n_seen += 1
            size = end - start
            if size > 1 and members[classes[items[start]]] < size:
                rates = group_rate(size, max_k, p_skip, p_take)
                seen = seen_classes[:n_seen]
                votes = _votes_by_members(
                    near, passed, members, seen, own_class, (start, size), spec, rates
                )
                _add_positions(votes, near, (start, size), p_take, listed, r, spec, inside, out)
            for i in range(start, end):
                c = classes[items[i]]
                step_by_thinning(near, c, max_k, p_skip, p_take)
                step_by_thinning(near, every, max_k, p_skip, p_take)
                passed[c] += 1
                if c != own_class:
                    step_by_thinning(near, others, max_k, p_skip, p_take)
                    passed[others] += 1
            start = end


@inner
def _add_positions(votes, near, group, p_take, listed, r, spec, inside, out):
    """Add a row's P_x(K, i) at the positions within a mixed group, whose votes are `_votes_by_members`."""
    start, size = group
    first, max_k, top = spec.first, spec.max_k, votes.shape[1] - 1
    length = min(listed.lengths[r], out.shape[1] - 1)
    totals = np.zeros((2, max_k + 1))  # of j samples of the group, and of all samples so far
    totals[0, 0] = 1.0
    for k in range(max_k + 1):
        totals[1, k] = near[len(near) - 1, k]
    for j in range(1, size):
        i = start + j
        if i > length or first[i] > max_k:
            break
        for row in range(2):
            step_by_thinning(totals, row, max_k if row == 1 else top, 1 - p_take, p_take)
        inside[r, i] = True
        for k in spec.ks:
            if first[i] <= k <= i and totals[1, k] > 0:
                total = 0.0
                for h in range(max(0, k - start), min(j, k) + 1):
                    total += totals[0, h] * votes[k, h]
                ends_here = 1 if i == length or first[i + 1] > k else 0
                out[ends_here, i, k] += listed.weights[r] * total / totals[1, k]


@inner
def _votes_by_members(near, passed, members, seen_classes, own_class, group, spec, rates):
    """``votes[k, h]`` = P(k votes are right, h of them from the group) / weight of h of its samples.

    ``near[c]`` is the distribution of the votes of class c from before the group, ``passed[c]`` and
    ``members[c]`` its samples there and in the group; entry `n_classes` belongs to all classes but the
    tested sample's. The h of the votes are a second exponent of the distributions. A product over the
    classes, cut before they beat t votes, serves all k.
    """
    start, size = group
    ks, max_k, others = spec.ks, spec.max_k, spec.n_classes
    top = min(size, max_k)
    taken = np.zeros((others + 2, top + 1))  # h of the group's samples of every class; of all its samples
    taken[:, 0] = 1.0
    for _ in range(size):
        step_by_thinning(taken, others + 1, top, rates[0], rates[1])
    for c in range(others + 1):
        for _ in range(members[c]):
            step_by_thinning(taken, c, min(top, members[c]), rates[0], rates[1])
    votes = np.zeros((max_k + 1, top + 1))
    for k in ks:
        if spec.first[start + 1] > k or start + size - 1 < k:
            continue
        for t in range(k // 2 + 1, min(k, passed[own_class] + members[own_class]) + 1):
            for g in range(max(0, t - passed[own_class]), min(t, members[own_class]) + 1):
                own = near[own_class, t - g] * taken[own_class, g]
                for f in range(max(0, k - t - passed[others]), min(k - t, members[others], top - g) + 1):
                    votes[k, g + f] += own * near[others, k - t - f] * taken[others, f]
    product = np.zeros((max_k + 1, top + 1))
    for t in range(1, min(max_k // 2, passed[own_class] + members[own_class]) + 1):
        product[:] = 0.0
        product[0, 0] = 1.0
        reached = 0
        for c in seen_classes:
            limit = min(t if own_class < c else t - 1, passed[c] + members[c])
            none = near[c, 0] * taken[c, 0]
            reached = min(reached + limit, max_k - t)
            for d in range(reached, 0, -1):
                for h in range(min(d, top), -1, -1):
                    value = product[d, h] * none
                    for b in range(1, min(d, limit) + 1):
                        for g in range(max(0, b - passed[c], h - d + b), min(b, members[c], h) + 1):
                            value += product[d - b, h - g] * near[c, b - g] * taken[c, g]
                    product[d, h] = value
            product[0, 0] *= none
        for k in ks:
            if k < 2 * t or k - t > reached or spec.first[start + 1] > k or start + size - 1 < k:
                continue
            for g in range(max(0, t - passed[own_class]), min(t, members[own_class]) + 1):
                own = near[own_class, t - g] * taken[own_class, g]
                for f in range(min(k - t, top - g) + 1):
                    votes[k, g + f] += own * product[k - t, f]
    for k in ks:
        for h in range(top + 1):
            votes[k, h] /= taken[others + 1, h]
    return votes
