# mypy: allow-untyped-defs
"""The expected accuracy of votes of several nearest supports: compiled.

The K-th nearest support of an episode is sample j of class s, and the own class has t votes. The other
classes of the episode are a random subset. The number of votes of each is hypergeometric, independently,
and at most t. Their joint generating function has a variable for the chosen classes, one for the votes and
one for the classes that have t votes as well: the own class then wins with probability one over their
number and one, since the labels of an episode stand in random order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernel import inner, jit
from ..kernel.sampling import tie_times


class Vote(NamedTuple):
    """What is counted in every row."""

    sizes: Any  # of the classes
    shots: Any  # supports of every class, for every number of shots
    n_neighbors: Any
    average_ties: Any


class Walk(NamedTuple):
    """Where the walk along a row is, and scratch."""

    available: Any  # samples of every class
    nearer: Any  # those that were passed
    tied: Any  # those at the next distance
    joint: Any  # numbers of nearer and of tied samples among the drawn
    laws: Any  # of the votes of every class (n_classes, K + 1)
    drawn_law: Any  # of the other supports of the last voter's class
    chosen: Any  # (numbers of other classes + 1, K + 1, K + 2)


@inner
def fill_votes(walk, c, shots, n_out, time, law):
    """Fill in ``law[b]``, the probability that b of the drawn samples of class c are nearer.

    A tied sample is nearer with probability `time`; `n_out` of them are drawn already. ``law`` may be
    shorter than the shots and one.
    """
    joint = walk.joint
    n_nearer, n_tied, n_shot = walk.nearer[c], walk.tied[c] - n_out, shots[c] - n_out
    n = walk.available[c] - n_out
    n_behind = n - n_nearer - n_tied
    most, top = min(n_tied, n_shot), min(n_shot, len(law) - 1)
    for a in range(top + 1):
        for m in range(most + 1):
            joint[a, m] = 0.0
    joint[0, 0] = 1.0
    for k in range(n_shot):
        for a in range(min(k + 1, n_nearer, top), -1, -1):
            for m in range(min(k + 1 - a, most), -1, -1):
                value = joint[a, m] * max(n_behind - (k - a - m), 0) if a + m <= k else 0.0
                if a > 0:
                    value += joint[a - 1, m] * max(n_nearer - (a - 1), 0)
                if m > 0:
                    value += joint[a, m - 1] * max(n_tied - (m - 1), 0)
                joint[a, m] = value / (n - k)
    for b in range(len(law)):
        law[b] = 0.0
    for a in range(top + 1):
        for m in range(min(n_shot - a, most) + 1):
            term = joint[a, m]
            if term == 0:
                continue
            for up in range(m + 1):
                if a + up < len(law):
                    ways = 1.0
                    for i in range(up):
                        ways = ways * (m - i) / (i + 1)
                    law[a + up] += term * ways * time**up * (1 - time) ** (m - up)


@inner
def add_wins(walk, own_class, of_class, n_neighbors, weight, out):
    """Add the probability of a right vote whose last voter is of class `of_class`, for each number of ways.

    ``out[y]`` is for y other classes, as a sum over their choices.
    """
    laws, drawn_law, chosen = walk.laws, walk.drawn_law, walk.chosen
    n_terms, n_others = len(out), len(laws) - 1
    for t in range(1, n_neighbors + 1):
        own = drawn_law[t - 1] if of_class == own_class else laws[own_class, t]
        left = n_neighbors - t
        if own == 0 or (left == 0 and of_class != own_class):
            continue
        most = left // t
        for y in range(n_terms):
            for z in range(left + 1):
                for v in range(most + 1):
                    chosen[y, z, v] = 0.0
        if of_class == own_class:
            chosen[0, 0, 0] = 1.0
        else:
            for b in range(min(t, left)):
                chosen[1, b + 1, np.int64(b + 1 == t)] += drawn_law[b]
        for other in range(n_others):
            c = other + (other >= own_class)
            if c == of_class:
                continue
            for y in range(min(other + 2, n_terms - 1), 0, -1):
                for z in range(left, -1, -1):
                    for v in range(most + 1):
                        total = laws[c, 0] * chosen[y - 1, z, v]
                        for b in range(1, min(t - 1, z) + 1):
                            total += laws[c, b] * chosen[y - 1, z - b, v]
                        if z >= t and v > 0:
                            total += laws[c, t] * chosen[y - 1, z - t, v - 1]
                        chosen[y, z, v] += total
        for y in range(n_terms):
            for v in range(most + 1):
                out[y] += weight * own * chosen[y, left, v] / (1 + v)


@jit
def score_votes(values, codes, tested, vote, out):
    """Score the row of sample `tested`; return whether neighboring samples of different classes tie.

    ``values`` and ``codes`` (n_items,) are the exact distances and the classes; ``values[tested]`` is
    negative. ``out`` (n_shots, n_terms) sums over the choices of the other classes.
    """
    n_classes, n = len(vote.sizes), len(values)
    n_neighbors, own_class = vote.n_neighbors, codes[tested]
    order = np.argsort(values, kind="mergesort")
    most = vote.shots.max()
    any_tied = False
    for shot in range(len(vote.shots)):
        shots = vote.shots[shot]
        walk = Walk(
            vote.sizes.copy(),
            np.zeros_like(vote.sizes),
            np.zeros_like(vote.sizes),
            np.zeros((most + 1, most + 1)),
            np.zeros((n_classes, n_neighbors + 1)),
            np.zeros(n_neighbors + 1),
            np.zeros((out.shape[1] + 1, n_neighbors + 1, n_neighbors + 2)),
        )
        available, nearer, tied, laws = walk.available, walk.nearer, walk.tied, walk.laws
        available[own_class] -= 1
        laws[:, 0] = 1.0
        begin = 1
        while begin < n:
            end = begin + 1
            while end < n and values[order[end]] == values[order[begin]]:
                any_tied |= codes[order[end]] != codes[order[begin]]
                if not vote.average_ties:
                    break
                end += 1
            for i in range(begin, end):
                tied[codes[order[i]]] += 1
            degree = 0
            for c in range(n_classes):
                degree += min(tied[c], shots[c])
            times, weights = tie_times(min(degree, end - begin - 1) + 1, 1.0)
            any_last = n_neighbors > 1 or tied[own_class] > 0
            for node in range(len(times) if any_last else 0):
                if end - begin > 1:
                    for c in range(n_classes):
                        if tied[c] > 0:
                            fill_votes(walk, c, shots, 0, times[node], laws[c])
                for c in range(n_classes):
                    if tied[c] > 0 and (n_neighbors > 1 or c == own_class):
                        fill_votes(walk, c, shots, 1, times[node], walk.drawn_law)
                        weight = weights[node] * tied[c] * shots[c] / available[c]
                        add_wins(walk, own_class, c, n_neighbors, weight, out[shot])
            for c in range(n_classes):
                if tied[c] > 0:
                    nearer[c] += tied[c]
                    tied[c] = 0
                    fill_votes(walk, c, shots, 0, times[0], laws[c])
            begin = end
    return any_tied
