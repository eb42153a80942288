"""Wrong items in the order of a query's own ones, without sorting them."""

from __future__ import annotations

import numpy as np

from ...kernel import jit


@jit
def group_starts(values, fair):
    """Starts of the groups of equal own values, and the end; each item is a group unless ties are fair."""
    starts = np.empty(len(values) + 1, np.int64)
    n = 0
    for i in range(len(values)):
        if i == 0 or not fair or values[i] != values[i - 1]:
            starts[n] = i
            n += 1
    starts[n] = len(values)
    return starts[: n + 1]


@jit
def bucket(row, out, code, own, starts, pool, fair, means):
    """Wrong items in the order of the own ones: those before group j, and those tied with it.

    Returns
    -------
    events : int64 ndarray of shape (2 * n_groups + 1,)
        Items ``events[2 j]`` to ``events[2 j + 1]`` are nearer than group j and not nearer than the one
        before, those up to ``events[2 j + 2]`` tied with it.
    items : int32 ndarray
    tied : bool
        Whether any wrong item or two own ones tie, and ties are fair.
    n_ties : int
        Number of wrong items that tie with an own one.
    """
    n_groups = len(starts) - 1
    edges = np.empty(n_groups)
    for j in range(n_groups):
        edges[j] = row[own[starts[j]]]
    kept, place, values = np.empty(len(row), np.int32), np.empty(len(row), np.int32), np.empty(len(row))
    n = _not_behind(row, out, code, edges[n_groups - 1], pool.owner, kept, values, means)
    means[0] = row[own].mean()
    values, place = values[:n], place[:n]
    _slots(values, edges, place)
    n_ties = 0
    for at in range(n):
        low = place[at]
        place[at] = 2 * low
        if edges[low] == values[at]:
            n_ties += 1
            if fair:
                place[at] += 1
            else:
                while low < n_groups and edges[low] == values[at] and own[low] < kept[at]:
                    low += 1
                place[at] = 2 * low
    events = np.zeros(2 * n_groups + 3, np.int64)
    for at in range(n):
        events[place[at] + 2] += 1
    tied = n_groups < len(own)
    for b in range(2, 2 * n_groups + 3):
        tied = tied or (b % 2 == 1 and events[b] > 0)
        events[b] += events[b - 1]
    items = np.empty(n, np.int32)
    for at in range(n):
        items[events[place[at] + 1]] = kept[at]
        events[place[at] + 1] += 1
    events = events[: 2 * n_groups + 1]
    return events, items[: events[2 * n_groups]], tied, n_ties


@jit
def _slots(values, edges, place):
    """For every value, the number of edges that are smaller, by bisection; none is above the last edge."""
    place[:] = 0
    size = len(edges)
    while size > 1:
        half = size >> 1
        for at in range(len(values)):  # the bounds are the same for all values, so there is no branch
            low = place[at]
            place[at] = low + (half if edges[np.uint64(low + half - 1)] < values[at] else 0)
        size -= half


@jit
def _not_behind(row, out, code, last, owner, kept, values, means):
    """List the wrong items that are not behind the last own one, and average the wrong ones' distances."""
    n, n_wrong, first, second, third, fourth = 0, 0, 0.0, 0.0, 0.0, 0.0
    whole = len(row) - len(row) % 4
    for i in range(0, whole, 4):  # four sums, whose additions need not wait for each other
        n, is_wrong = _keep(i, n, row, out, code, last, owner, kept, values)
        n_wrong, first = n_wrong + is_wrong, first + row[i] * is_wrong
        n, is_wrong = _keep(i + 1, n, row, out, code, last, owner, kept, values)
        n_wrong, second = n_wrong + is_wrong, second + row[i + 1] * is_wrong
        n, is_wrong = _keep(i + 2, n, row, out, code, last, owner, kept, values)
        n_wrong, third = n_wrong + is_wrong, third + row[i + 2] * is_wrong
        n, is_wrong = _keep(i + 3, n, row, out, code, last, owner, kept, values)
        n_wrong, fourth = n_wrong + is_wrong, fourth + row[i + 3] * is_wrong
    for i in range(whole, len(row)):
        n, is_wrong = _keep(i, n, row, out, code, last, owner, kept, values)
        n_wrong, first = n_wrong + is_wrong, first + row[i] * is_wrong
    means[1] = (first + second + third + fourth) / max(n_wrong, 1)
    return n


@jit
def _keep(i, n, row, out, code, last, owner, kept, values):
    """Write item i at place n, and move on if it is wrong and not behind; without a branch."""
    is_wrong = (not out[i]) & (owner[i] != code)
    kept[n], values[n] = i, row[i]
    return n + (is_wrong & (row[i] <= last)), is_wrong
