"""Counts of nearer samples by class, for rank-R accuracy; nothing is sorted.

Rank-R accuracy depends on one number per class and *stop*: how many samples of that class are nearer than
the stop, which is a sample of the tested sample's class. A binary search puts every other sample between
two stops, so that neither deep lists nor sorted rows are needed.

If matrix products in single precision propose the distances (`matrix_product`), a sample is placed by its
proposal unless rounding could move it past a stop; then it is measured again. The counts and the ties are
those of the exact distances.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...kernel import jit
from .matrix_product import UNIT, ProductSearch

# Distances of data divided by a smaller power of two may underflow before they are compared.
LEAST_SHIFT = -400


def slack_of(search: ProductSearch, rows: Array) -> Array:
    """Largest errors of proposals for these rows, in their scale; see `ProductSearch.certain_below`."""
    if search.exact:
        return np.zeros(len(rows))
    n_features = search.factors.shape[1] - 2
    squares = search.factors[:, -1].astype(np.float64)
    both = (np.sqrt(squares[rows]) + np.sqrt(squares.max())) * (1 + 1e-6)
    error = 1.1 * UNIT * (n_features + 6) + 1e-9
    return error * both**2 + 1e-36 * n_features  # type: ignore[no-any-return]


@jit
def squared_distance(data, one, other):
    """Squared euclidean distance of one pair, summed as in `rerank.measure`."""
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
def set_stops(values, members, limit, average_ties, stops, who, sizes):
    """Fill in the stops of a tested sample, the nearest first; return their number.

    With `average_ties`, tied samples share one stop, and ``sizes`` has their number.

    Parameters
    ----------
    values : float64 (n_own,)
        Distances of the other samples of the tested sample's class, `members` (ascending).
    limit : int
        Number of nearest samples of the class that matter.
    stops, who, sizes : float64, int64 and int64 (any,)
        Filled with distances, samples and group sizes; infinite stops follow, as `_place` needs them.
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
def count_ahead(
    values,
    scale,
    slack,
    items,
    data,
    row,
    stops,
    who,
    n_stops,
    classes,
    own_class,
    average_ties,
    ahead,
    tied,
):
    """Add the samples of class c between stops b - 1 and b to ``ahead[b, c]``, and ties to ``tied[b, c]``.

    Without `average_ties`, a sample that ties a stop is ahead of it if its index is smaller.

    Parameters
    ----------
    values : float32 or float64 (n_items,)
        Distances from `row`, exact, or off by up to `slack` after a division by `scale`.
    items : int32 (n_items,)
        The samples that the distances belong to.
    data : float32 or float64 (n_items, n_features)
        Data to measure again; not used if `slack` is 0.
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
def count_listed(items, values, length, classes, own_class, average_ties, sizes, ahead, tied):
    """Count as `count_ahead` in a sorted list; return the number of stops.

    The row after the last stop counts the samples beyond it.
    """
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
