"""The expected accuracy of votes of several nearest supports: compiled.

The K-th nearest support of an episode is sample j of class s, and the own class has t votes. The other
classes of the episode are a random subset. The number of votes of each is hypergeometric, independently,
and at most t. Their joint generating function has a variable for the chosen classes, one for the votes and
one for the classes that have t votes as well: the own class then wins with probability one over their
number and one, since the labels of an episode stand in random order.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import tie_times


@jit
def fill_votes(n_nearer, n_tied, n_behind, n_shot, time, joint, law):
    """Fill in ``law[b]``, the probability that b of `n_shot` drawn samples are nearer.

    A tied sample is nearer with probability `time`. ``joint`` (n_shot + 1, n_shot + 1) is scratch: the
    numbers of nearer and of tied samples among the drawn. ``law`` may be shorter than n_shot + 1.
    """
    n = n_nearer + n_tied + n_behind
    most = min(n_tied, n_shot)
    for a in range(n_shot + 1):
        for m in range(most + 1):
            joint[a, m] = 0.0
    joint[0, 0] = 1.0
    for k in range(n_shot):
        for a in range(min(k + 1, n_nearer), -1, -1):
            for m in range(min(k + 1 - a, most), -1, -1):
                value = joint[a, m] * max(n_behind - (k - a - m), 0) if a + m <= k else 0.0
                if a > 0:
                    value += joint[a - 1, m] * max(n_nearer - (a - 1), 0)
                if m > 0:
                    value += joint[a, m - 1] * max(n_tied - (m - 1), 0)
                joint[a, m] = value / (n - k)
    law[:] = 0.0
    for a in range(n_shot + 1):
        for m in range(min(n_shot - a, most) + 1):
            term = joint[a, m]
            if term == 0.0:
                continue
            for up in range(m + 1):
                if a + up < len(law):
                    ways = 1.0
                    for i in range(up):
                        ways *= (m - i) / (i + 1)
                    law[a + up] += term * ways * time**up * (1.0 - time) ** (m - up)


@jit
def add_wins(n_neighbors, n_others, own_class, of_class, laws, drawn_law, chosen, weight, out):
    """Add the probability of a right vote whose last voter is of class `of_class`, for each number of ways.

    ``laws`` (n_classes, n_neighbors + 1) are the laws of the votes of every class, ``drawn_law`` that of
    the other drawn samples of the last voter's class. ``chosen`` is scratch (n_ways, n_neighbors + 1,
    n_neighbors + 2). ``out[y]`` is for y other classes, as a sum over their choices.
    """
    n_terms = len(out)
    for t in range(1, n_neighbors + 1):
        own = drawn_law[t - 1] if of_class == own_class else laws[own_class, t]
        if own == 0.0:
            continue
        left = n_neighbors - t
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
def score_votes(values, codes, tested, sizes, average_ties, shots, n_neighbors, n_terms, out):
    """Score the row of sample `tested`; return whether neighboring samples of different classes tie.

    ``values`` and ``codes`` (n_items,) are the exact distances and the classes; ``values[tested]`` is
    negative. ``sizes`` are the sizes of the classes, ``shots`` (n_shots, n_classes)
    their supports; ``out`` (n_shots, n_terms) sums over the choices of the other classes.
    """
    n_classes = len(sizes)
    n = len(values)
    own_class = codes[tested]
    order = np.argsort(values, kind="mergesort")
    available = sizes.copy()
    available[own_class] -= 1
    nearer = np.empty(n_classes, np.int64)
    tied = np.zeros(n_classes, np.int64)
    laws = np.empty((n_classes, n_neighbors + 1))
    drawn_law = np.empty(n_neighbors + 1)
    most = shots.max()
    joint = np.empty((most + 1, most + 1))
    chosen = np.empty((n_terms + 1, n_neighbors + 1, n_neighbors + 2))
    any_tied = False
    for shot in range(len(shots)):
        nearer[:] = 0
        laws[:] = 0.0
        laws[:, 0] = 1.0
        begin = 1
        while begin < n:
            end = begin + 1
            while end < n and values[order[end]] == values[order[begin]]:
                any_tied |= codes[order[end]] != codes[order[begin]]
                if not average_ties:
                    break
                end += 1
            n_tied = end - begin
            for i in range(begin, end):
                tied[codes[order[i]]] += 1
            degree = 0
            for c in range(n_classes):
                degree += min(tied[c], shots[shot, c])
            nodes, weights = tie_times(min(degree, n_tied - 1) + 1, 1.0)
            for node in range(len(nodes)):
                if n_tied > 1:
                    for c in range(n_classes):
                        if tied[c]:
                            behind = available[c] - nearer[c] - tied[c]
                            fill_votes(
                                nearer[c], tied[c], behind, shots[shot, c], nodes[node], joint, laws[c]
                            )
                for c in range(n_classes):
                    if tied[c]:
                        behind = available[c] - nearer[c] - tied[c]
                        fill_votes(
                            nearer[c],
                            tied[c] - 1,
                            behind,
                            shots[shot, c] - 1,
                            nodes[node],
                            joint,
                            drawn_law,
                        )
                        weight = weights[node] * tied[c] * shots[shot, c] / available[c]
                        add_wins(
                            n_neighbors,
                            n_classes - 1,
                            own_class,
                            c,
                            laws,
                            drawn_law,
                            chosen,
                            weight,
                            out[shot],
                        )
            for c in range(n_classes):
                if tied[c]:
                    nearer[c] += tied[c]
                    tied[c] = 0
                    fill_votes(nearer[c], 0, available[c] - nearer[c], shots[shot, c], 0.0, joint, laws[c])
            begin = end
    return any_tied
