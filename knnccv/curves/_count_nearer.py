"""Counts of nearer samples by class, for rank-R accuracy; nothing is sorted.

Rank-R accuracy depends on one number per class and *stop*: how many samples of that class are nearer than
the stop, which is a sample of the tested sample's class. A binary search puts every other sample between
two stops, so that neither deep lists nor sorted rows are needed.

If matrix products in single precision propose the distances (`matrix_product`), a sample is placed by its
proposal unless rounding could move it past a stop; then it is measured again. The counts and the ties are
those of the exact distances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import jit


class Compared(NamedTuple):
    """The distances of some tested samples to all others.

    ``values``
        float32 or float64 (n_rows, n_items): distances, exact or proposed, and then divided by ``scale``.
    ``scale``
        Their unit.
    ``slacks``
        float64 (n_rows,): the largest errors of proposed values; empty if they are exact.
    ``items``
        int32 (n_items,): the samples that the distances belong to.
    ``data``
        float32 or float64 (n_items, n_features): data to measure again; not used without slacks.
    """

    values: Array
    scale: float
    slacks: Array
    items: Array
    data: Array


class Bounds(NamedTuple):
    """Where the stops of one sample are: distances, followed by infinity, and samples (any,)."""

    values: Array
    who: Array


@jit
def squared_distance(data, one, other):
    """Squared euclidean distance of one pair, summed as the searches do."""
    total = 0.0
    for f in range(data.shape[1]):
        difference = np.float64(data[one, f]) - data[other, f]
        total += difference * difference
    return total


@jit
def _place(stops, half, value):
    """Number of stops below `value`, of 2 * `half` - 1; without branches, which could not be predicted."""
    place = 0
    while half > 0:
        place += half * (stops[place + half - 1] < value)
        half //= 2
    return place


@jit
def set_stops(values, members, limit, average_ties, bounds, sizes):
    """Fill in the bounds of a tested sample, the nearest first; return their number.

    With `average_ties`, tied samples share one stop, and ``sizes`` has their number.

    Parameters
    ----------
    values : float64 (n_own,)
        Distances of the other samples of the tested sample's class, `members` (ascending).
    limit : int
        Number of nearest samples of the class that matter.
    bounds : Bounds
    sizes : int64 (any,)
        Filled with group sizes.
    """
    stops, who = bounds
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
    stops[n_stops : 2 * n_stops + 1] = np.inf  # as `_place` needs them
    return n_stops


@jit
def count_ahead(compared, r, row, bounds, n_stops, own_class, spec, counts):
    """Add the samples of class c between stops b - 1 and b to ``ahead[b, c]``, and ties to ``tied[b, c]``.

    Without average ties, a sample that ties a stop is ahead of it if its index is smaller.

    Parameters
    ----------
    compared : Compared
        Of which row `r` is that of the tested sample `row`.
    bounds : Bounds
    spec : RankSpec
    counts : Stops
    """
    values, scale, slacks, items, data = compared
    stops, who = bounds
    classes, average_ties = spec.classes, spec.average_ties
    ahead, tied = counts.ahead, counts.tied
    slack = slacks[r] * scale if len(slacks) > 0 else 0.0
    last = stops[n_stops - 1]
    half = 1
    while 2 * half - 1 < n_stops:
        half *= 2
    for i in range(values.shape[1]):
        value = values[r, i] * scale
        if value - slack > last:
            continue
        item = items[i]
        c = classes[item]
        if c == own_class:
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
def count_listed(items, values, length, own_class, spec, counts):
    """Count as `count_ahead` in a sorted list; return the number of stops.

    The row after the last stop counts the samples beyond it.
    """
    classes, average_ties = spec.classes, spec.average_ties
    sizes, ahead, tied = counts
    n_stops = 0
    start = 0
    while start < length:
        end = start + 1
        while average_ties and end < length and values[end] == values[start]:
            end += 1
        n_own = 0
        for i in range(start, end):
            n_own += classes[items[i]] == own_class
        for i in range(start, end):
            c = classes[items[i]]
            if c != own_class and n_own > 0:
                tied[n_stops, c] += 1
            elif c != own_class:
                ahead[n_stops, c] += 1
        if n_own > 0:
            sizes[n_stops] = n_own
            n_stops += 1
        start = end
    return n_stops
