"""One query: what the mask leaves to be drawn, and the wrong items in the order of its own ones."""

from __future__ import annotations

import numpy as np

from ...kernel import inner, jit
from .tables import Met, Strata


@inner
def own_items(row, out, code, pool):
    """Items of the query's identity that are not `out`, by distance, then by number."""
    start, stop = pool.item_starts[code], pool.item_starts[code + 1]
    own = np.empty(stop - start, np.int64)
    n = 0
    for at in range(start, stop):
        own[n] = pool.items[at]
        n += not out[pool.items[at]]
    return sort_items(own[:n], row)


@inner
def sort_items(items, row):
    """Sort items by their distances, stable; as `np.argsort`, which takes a second to compile."""
    other, n, width = np.empty_like(items), len(items), 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or row[items[i]] <= row[items[j]]):
                    other[k] = items[i]
                    i += 1
                else:
                    other[k] = items[j]
                    j += 1
        items, other = other, items
        width *= 2
    return items


@jit
def count_left(masked, pool, left):
    """Count the items of every stratum that are not masked, for every query."""
    for q in range(len(masked)):
        for s in range(len(pool.sizes)):
            left[q, s] = pool.sizes[s]
        for i in range(len(pool.stratum)):
            left[q, pool.stratum[i]] -= masked[q, i]


@inner
def meet(row, out, code, pool, fair, found, q):
    """What the walk along a query's own items meets: wrong items in their order, without sorting them.

    Items ``events[2 j]`` to ``events[2 j + 1]`` are nearer than group j of tied own items and not nearer
    than the one before, those up to ``events[2 j + 2]`` tied with it. Without a right item all is empty.
    """
    code_or_0, n_strata = max(code, 0), len(pool.sizes)
    own = own_items(row, out, code_or_0, pool)
    if code < 0:
        own = own[:0]
    table = np.zeros((4, n_strata), np.int64)
    strata = Strata(table[0], table[1], table[2], table[3])
    family = pool.strata[pool.strata_starts[code_or_0] : pool.strata_starts[code_or_0 + 1]]
    starts, edges, n_groups, total = np.empty(len(own) + 1, np.int64), np.empty(len(own) + 1), 0, 0.0
    for i in range(len(own)):
        value = row[own[i]]
        if n_groups == 0 or not fair or value != edges[n_groups - 1]:
            starts[n_groups], edges[n_groups] = i, value
            n_groups += 1
        total += value
    starts[n_groups] = len(own)
    if len(own) == 0:
        return Met(own, starts, starts, np.empty(0, np.int32), fair, family, strata)
    relevant, n_ties, tied = 0, 0, n_groups < len(own)
    for s in range(n_strata):
        strata.sizes[s] = pool.sizes[s]
    for i in range(len(out)):
        strata.sizes[pool.stratum[i]] -= out[i]
    for s in range(n_strata):
        size = strata.sizes[s]
        strata.draws[s] = size if pool.shots == 0 or pool.always[s] else min(pool.shots, size)
    for s in family:
        relevant += strata.draws[s]
    kept, values = np.empty(len(row), np.int32), np.empty(len(row))
    n = _not_behind(row, out, code, edges[n_groups - 1], pool.owner, kept, values, found.means[q])
    place = np.zeros(n, np.int32)
    _fill_slots(values, edges[:n_groups], place)
    events, items = np.zeros(2 * n_groups + 3, np.int64), np.empty(n, np.int32)
    for at in range(n):
        low = place[at]
        place[at] = 2 * low
        if edges[low] == values[at]:
            n_ties += 1
            if fair:
                place[at] += 1
                tied = True
            else:
                while low < n_groups and edges[low] == values[at] and own[low] < kept[at]:
                    low += 1
                place[at] = 2 * low
        events[place[at] + 2] += 1
    for b in range(2, 2 * n_groups + 3):
        events[b] += events[b - 1]
    for at in range(n):
        items[events[place[at] + 1]] = kept[at]
        events[place[at] + 1] += 1
    found.relevant[q], found.ties[q], found.means[q, 0] = relevant, n_ties, total / len(own)
    n_terms = 60 + 2 * n + 8 * len(own) + 4 * relevant + 4 * n_strata
    found.rounding[q] = 2.3e-16 * n_terms
    return Met(own, starts[: n_groups + 1], events, items, tied, family, strata)


@inner
def _fill_slots(values, edges, place):
    """For every value, the number of edges that are smaller, by bisection; none is above the last edge."""
    size = len(edges)
    while size > 1:
        half = size >> 1
        for at in range(len(place)):  # the bounds are the same for all values, so there is no branch
            low = place[at]
            place[at] = low + (half if edges[np.uint64(low + half - 1)] < values[at] else 0)
        size -= half


@inner
def _not_behind(row, out, code, last, owner, kept, values, means):
    """List the wrong items that are not behind the last own one, and average the wrong ones' distances."""
    n, n_wrong = 0, 0
    sums = np.zeros(8)  # whose additions need not wait for each other
    for i in range(len(row)):
        is_wrong = (not out[i]) & (owner[i] != code)
        kept[n], values[n] = i, row[i]  # without a branch
        n += is_wrong & (row[i] <= last)
        n_wrong += is_wrong
        sums[i & 7] += row[i] * is_wrong
    means[1] = sums.sum() / max(n_wrong, 1)
    return n
