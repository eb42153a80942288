"""Votes where tied samples come in groups, in designs of one training size."""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import step_by_thinning
from ._tied_groups import is_mixed
from ._vote_scores import ANY_RIGHT, PLURALITY, VOTE_SHARE, plurality_probability, score_votes


@jit
def score_fixed_size(order, labels, target, constraints, losses):  # type: ignore[no-untyped-def]
    """ICML eq. 9-10 over all tie orders, for training sets of one fixed size; O(depth * cost of a vote).

    As `votes._by_counting`: told where the (K+1)-th nearest training sample is, the K nearest are a uniform
    K-subset of the samples before it. If that is within a group after G nearer samples, with j of the group
    before it, h of the K come from the group with hypergeometric probability, and they are a uniform
    h-subset of it; the others are a uniform (K-h)-subset of the G. `constraints.weights` are
    `_weights.scaled_position_weights` first of all.
    """
    classes, items, group_end = labels.classes, order.items, order.group_end
    thinned = constraints.weights
    k, rule, width, n_classes = constraints.integers[:4]
    nodes = constraints.numbers
    miss, hit = nodes[0], nodes[1]
    n_available = constraints.counts[0] - constraints.held_out
    own = classes[target]
    unit = constraints.unit
    zero = unit * 0
    others = n_classes  # all classes but the own one, as one
    binary = rule in (ANY_RIGHT, VOTE_SHARE)  # only right or wrong counts
    plain = rule == PLURALITY and len(losses) == 0 and width == 0
    near = np.full((n_classes + 2, 1, k + 1), zero)
    flat = near.reshape(n_classes + 2, k + 1)
    near[:, 0, 0] = unit
    product = np.full((2 * (k + 1), k + 1), zero)
    passed = np.zeros(n_classes + 2, np.int64)
    members = np.zeros(n_classes + 2, np.int64)
    no_tops = np.zeros(n_classes + 2, np.int64)
    one_mark = np.full(1, unit)
    seen = np.empty(n_classes + 1, np.int64)
    seen[0] = own
    n_seen = 1
    two = np.array([own, others])
    score = zero
    depth = min(len(items), n_available)
    start = 0
    pure = 0
    while start < depth:
        end = min(group_end[start], depth)
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
            marks = np.full(min(size, k) + 1, zero)
            if _weigh_marks(marks, thinned, start, size, k, miss, hit):
                rows = np.full((n_classes + 2, len(marks), k + 1), zero)
                most = passed + members
                for s in range(n_seen):
                    mark_group(rows, seen[s], near, members[seen[s]], size, k, miss, hit)
                mark_group(rows, others, near, members[others], size, k, miss, hit)
                some = two if binary else seen
                n_some = 2 if binary else n_seen
                score += score_votes(
                    rows,
                    members,
                    most,
                    some,
                    n_some,
                    -1,
                    own,
                    k,
                    rule,
                    width,
                    nodes,
                    losses,
                    marks,
                    product,
                )
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
        weight = thinned[end - 1] if end < depth else thinned[n_available + end - 1]
        if weight != 0 and end >= k:
            if plain:
                vote = zero
                for votes in range(k // 2 + 1, min(k, passed[own]) + 1):
                    vote += flat[own, votes] * flat[others, k - votes]
                if passed[own] > 0:
                    vote += plurality_probability(flat, passed, seen, n_seen, -1, own, k, False, product[0])
                score += weight * vote
            else:
                some = two if binary else seen
                n_some = 2 if binary else n_seen
                score += weight * score_votes(
                    near,
                    no_tops,
                    passed,
                    some,
                    n_some,
                    -1,
                    own,
                    k,
                    rule,
                    width,
                    nodes,
                    losses,
                    one_mark,
                    product,
                )
        start = end
    return score


@jit
def group_rate(size, k, miss, hit):  # type: ignore[no-untyped-def]
    """The rate at which a group is thinned: any would do, this one keeps numbers within range.

    On Fractions rows of Pascal's triangle take its place.
    """
    if miss + hit > 1:
        return miss, hit
    rate = min(0.5, k / size)
    return 1 - rate, rate


@jit
def _weigh_marks(marks, thinned, start, size, k, miss, hit):  # type: ignore[no-untyped-def]
    """``marks[h]`` = P(the (K+1)-th is within the group, h of the K come from it), over the rows' weights.

    Returns whether any is positive.
    """
    top = len(marks) - 1
    laws = np.full((2, top + 1), marks[0] * 0)
    laws[0, 0] = marks[0] * 0 + 1
    laws[1, 0] = laws[0, 0]
    any_weight = False
    for j in range(1, size):
        step_by_thinning(laws, 0, top, miss, hit)
        weight = thinned[start + j - 1]
        if weight != 0 and start + j >= k:
            any_weight = True
            for h in range(max(0, k - start), min(j, top) + 1):
                marks[h] += weight * laws[0, h]
    group_miss, group_hit = group_rate(size, k, miss, hit)
    for _ in range(size):
        step_by_thinning(laws, 1, top, group_miss, group_hit)
    for h in range(top + 1):
        marks[h] = marks[h] / laws[1, h]
    return any_weight


@jit
def mark_group(rows, c, near, members, size, k, miss, hit):  # type: ignore[no-untyped-def]
    """The law of the class's votes, marked by how many come from the group."""
    if members == 0:
        for b in range(k + 1):
            rows[c, 0, b] = near[c, 0, b]
        return
    top = min(members, len(rows[c]) - 1)
    law = np.full((1, top + 1), near[c, 0, 0] * 0)
    law[0, 0] = law[0, 0] + 1
    group_miss, group_hit = group_rate(size, k, miss, hit)
    for _ in range(members):
        step_by_thinning(law, 0, top, group_miss, group_hit)
    for h in range(top + 1):
        for b in range(h, k + 1):
            rows[c, h, b] = near[c, 0, b - h] * law[0, h]
