"""Which samples are nearer than the samples of the own class: counts by class, without sorting anything.

Rank scoring asks no more of a neighbor order than, at every sample of the tested item's own class (a
*stop*), how many samples of each other class are nearer. So every other sample is put between two stops by
a binary search, and neither deep lists nor sorted rows are made.

Where matrix products in single precision propose the distances (`product`), a sample is put by its proposal
only if the rounding cannot move it past a stop; else it is measured again. The counts are those of the
exact distances, and so are the ties.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...kernel import jit
from .matrix_product import UNIT, ProductSearch

# Distances of data divided by a smaller power of two may underflow before they are compared.
LEAST_SHIFT = -400


def slack_of(search: ProductSearch, rows: Array) -> Array:
    """By how much a proposal for these rows may be off, in the scale of the proposals; see `reach`."""
    if search.exact:
        return np.zeros(len(rows))
    n_features = search.factors.shape[1] - 2
    squares = search.factors[:, -1].astype(np.float64)
    both = (np.sqrt(squares[rows]) + np.sqrt(squares.max())) * (1 + 1e-6)
    error = 1.1 * UNIT * (n_features + 6) + 1e-9
    return error * both**2 + 1e-36 * n_features  # type: ignore[no-any-return]


@jit
def squared_distance(data, one, other):  # type: ignore[no-untyped-def]
    """As `remeasure.measure`, for one pair."""
    total = 0.0
    for f in range(data.shape[1]):
        difference = np.float64(data[one, f]) - data[other, f]
        total += difference * difference
    return total


@jit
def _place(stops, half, value):  # type: ignore[no-untyped-def]
    """How many stops are below `value`, of 2 * `half` - 1; without branches, which nobody could foresee."""
    place = 0
    while half > 0:
        place += half * (stops[place + half - 1] < value)
        half //= 2
    return place


@jit
def set_stops(values, members, limit, average_ties, stops, who, sizes):  # type: ignore[no-untyped-def]
    """The nearest samples of the own class, in order; how many stops they make.

    With `average_ties` ties the equally near ones are one stop, of so many samples as ``sizes`` says.

    Parameters
    ----------
    values : float64 (n_own,)
        Distances of the other samples of the own class, `members` (ascending).
    limit : int
        Samples beyond the first so many do not matter.
    stops, who, sizes : float64, int64 and int64 (any,)
        Filled; infinite stops follow, as many as `_place` wants.
    """
    order = np.argsort(values, kind="mergesort")
    n_stops = 0
    for i in range(len(order)):
        here = values[order[i]]
        if average_ties and n_stops > 0 and stops[n_stops - 1] == here:
            sizes[n_stops - 1] += 1
            continue
        if i >= limit:
            break
        stops[n_stops] = here
        who[n_stops] = members[order[i]]
        sizes[n_stops] = 1
        n_stops += 1
    stops[n_stops : 2 * n_stops + 1] = np.inf
    return n_stops


@jit
def count_ahead(  # type: ignore[no-untyped-def]
    values, scale, slack, items, data, row, stops, who, n_stops, classes, own, average_ties, ahead, tied
):
    """``ahead[b, c]`` samples of class c lie between stop b - 1 and stop b, and ``tied[b, c]`` tie stop b.

    Of samples that tie a stop without `average_ties` ties, those with the smaller index come before it.

    Parameters
    ----------
    values : float32 or float64 (n_items,)
        Distances from `row`, exact, or off by up to `slack` after a division by `scale`.
    items : int32 (n_items,)
        Whose they are.
    data : float32 or float64 (n_items, n_features)
        To measure again; not looked at where `slack` is 0.
    """
    slack = slack * scale
    last = stops[n_stops - 1]
    half = 1
    while 2 * half - 1 < n_stops:
        half *= 2
    for i in range(len(values)):
        value = values[i] * scale
        if value - slack > last:
            continue
        item = items[i]
        c = classes[item]
        if c == own:
            continue
        b = _place(stops, half, value)
        if slack > 0 and (
            (b < n_stops and stops[b] - value <= slack) or (b > 0 and value - stops[b - 1] <= slack)
        ):
            value = squared_distance(data, row, item)
            b = _place(stops, half, value)
        if b < n_stops and stops[b] == value:
            if average_ties:
                tied[b, c] += 1
                continue
            while b < n_stops and stops[b] == value and who[b] < item:
                b += 1
        if b < n_stops:
            ahead[b, c] += 1


@jit
def count_listed(items, values, length, classes, own, average_ties, sizes, ahead, tied):  # type: ignore[no-untyped-def]
    """The same from a sorted list; the number of stops. What follows the last is in the next row."""
    n_stops = 0
    start = 0
    while start < length:
        end = start + 1
        while average_ties and end < length and values[end] == values[start]:
            end += 1
        mine = 0
        for i in range(start, end):
            mine += classes[items[i]] == own
        for i in range(start, end):
            c = classes[items[i]]
            if c != own and mine > 0:
                tied[n_stops, c] += 1
            elif c != own:
                ahead[n_stops, c] += 1
        if mine > 0:
            sizes[n_stops] = mine
            n_stops += 1
        start = end
    return n_stops
