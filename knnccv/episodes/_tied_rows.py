"""The expected accuracy of a row whose samples may tie, from its exact distances: compiled.

``ties="index"``: samples are ordered by (distance, row number). ``ties="random"``: every order of the tied
samples is equally likely. Own sample i then has an independent uniform time t among those that it ties
with, and each of the others is nearer with probability t. Given t, the classes are independent, and the
probability that a class has no nearer support is a polynomial in 1 - t. Gauss-Legendre nodes integrate the
product exactly.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import tie_times
from ._rows import flush, put_without, total_over_lanes
from ._symmetric import WIDTH, add_polynomials, fill_share_tied, polynomial_at

FIRST_ITEM, PAST_ITEMS = 0, 2**62  # compared with these, equal values are larger, or smaller


@jit
def count_nearer(sorted_values, items, begin, end, value, item):
    """The number of (value, item) between two places that are smaller than a pair."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if sorted_values[middle] < value or (sorted_values[middle] == value and items[middle] < item):
            low = middle + 1
        else:
            high = middle
    return low - begin


@jit
def score_tied_row(
    values, items, tested, own_class, average_ties, own_weights, plan, out, out_without, out_open
):
    """Score the row of sample `tested`.

    ``values`` and ``items`` (n_items,) are the exact distances and the samples, class by class; the other
    arguments are those of `score_rows`, for one row. Returns whether an own sample ties with one of another
    class.

    Samples beyond a neighbor list have infinite values. Own samples there contribute nothing to ``out``,
    and at most ``out_open`` (n_shots, n_terms): the probability that no drawn sample is in the list.
    """
    bounds, starts, tables, shots = plan.bounds, plan.starts, plan.tables, plan.shots
    n_terms, functional, jackknife = plan.n_terms, plan.functional, plan.jackknife
    any_tied = False
    n_classes = len(bounds) - 1
    n_others = n_classes - 1
    ordered = np.empty(len(values))
    placed = np.empty(len(values), np.int64)
    for c in range(n_classes):
        part = values[bounds[c] : bounds[c + 1]].copy()
        names = items[bounds[c] : bounds[c + 1]]
        if c == own_class:
            for j in range(len(part)):
                if names[j] == tested:
                    part[j] = np.inf
        order = np.argsort(part, kind="mergesort")
        ordered[bounds[c] : bounds[c + 1]] = part[order]
        placed[bounds[c] : bounds[c + 1]] = names[order]
    start = bounds[own_class]
    n_own = bounds[own_class + 1] - start - 1
    own, own_items = ordered[start : start + n_own], placed[start : start + n_own]
    chances = np.zeros((n_others, WIDTH))
    weights = np.zeros(WIDTH)
    room = np.empty((max(n_terms, len(functional)), WIDTH))
    before = np.empty((n_others * jackknife, len(functional), WIDTH))
    sums = np.empty((n_terms, WIDTH))
    without = np.zeros((n_others * jackknife, WIDTH))
    nearer = np.empty(n_others, np.int64)
    tied = np.zeros(n_others, np.int64)
    laws = np.empty((n_others + 1, shots.max() + 1))
    for shot in range(len(shots)):
        n_own_shot = shots[shot, own_class]
        sums[:] = 0.0
        lane = 0
        begin = 0
        while begin < n_own and own[begin] < np.inf:
            value = own[begin]
            end = begin + 1
            if average_ties:
                while end < n_own and own[end] == value:
                    end += 1
            n_tied = 0
            for other in range(n_others):
                c = other + (other >= own_class)
                first, last = bounds[c], bounds[c + 1]
                low = count_nearer(ordered, placed, first, last, value, FIRST_ITEM)
                n_equal = count_nearer(ordered, placed, first, last, value, PAST_ITEMS) - low
                if average_ties:
                    nearer[other], tied[other] = low, n_equal
                    n_tied += min(n_equal, shots[shot, c])
                else:
                    nearer[other] = count_nearer(ordered, placed, first, last, value, own_items[begin])
                    any_tied |= n_equal > 0
            n_nodes = 1
            n_beside = end - begin - 1
            if n_tied:
                any_tied = True
                own_degree = min(n_own_shot - 1, n_beside)
                degree = own_degree + min(n_tied, shots[shot].max() * (n_terms - 1))
                nodes, node_weights = tie_times(degree + 1, 1.0)
                n_nodes = len(nodes)
                fill_share_tied(n_beside, n_own - end, begin, n_own_shot - 1, laws[n_others])
                draw = n_own_shot / n_own * (n_beside + 1)
                for other in range(n_others):
                    c = other + (other >= own_class)
                    behind = bounds[c + 1] - bounds[c] - nearer[other] - tied[other]
                    fill_share_tied(tied[other], behind, nearer[other], shots[shot, c], laws[other])
            for node in range(n_nodes):
                if n_tied:
                    z = 1.0 - nodes[node]
                    weight = draw * node_weights[node] * polynomial_at(laws[n_others], n_own_shot - 1, z)
                else:
                    weight = 0.0
                    for i in range(begin, end):
                        weight += own_weights[shot, i]
                weights[lane] = weight
                for other in range(n_others):
                    c = other + (other >= own_class)
                    if n_tied:
                        chances[other, lane] = polynomial_at(laws[other], shots[shot, c], z)
                    else:
                        chances[other, lane] = tables[shot, starts[c] + nearer[other]]
                lane += 1
                if lane == WIDTH:
                    flush(chances, weights, n_others, n_terms, functional, room, before, sums, without)
                    lane = 0
            begin = end
        if lane:
            weights[lane:] = 0.0
            flush(chances, weights, n_others, n_terms, functional, room, before, sums, without)
        total_over_lanes(sums, out[shot])
        if begin < n_own:
            sums[:] = 0.0
            weights[:] = 0.0
            for i in range(begin, n_own):
                weights[0] += own_weights[shot, i]
            for other in range(n_others):
                c = other + (other >= own_class)
                listed = count_nearer(ordered, placed, bounds[c], bounds[c + 1], np.inf, FIRST_ITEM)
                chances[other, 0] = tables[shot, starts[c] + listed]
            add_polynomials(chances, weights, n_others, n_terms, room, sums)
            total_over_lanes(sums, out_open[shot])
    if jackknife:
        put_without(own_class, without, out_without)
    return any_tied
