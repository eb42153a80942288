"""The neighbor list of a sample in cells: tied samples that count the same are one cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import jit


class Cells(NamedTuple):
    """Arrays of shape (n_cells,), nearest first.

    ``kind`` is what the samples vote for (a place in the sorted classes of the list) or, for real targets,
    the sample itself; ``size`` is the number of samples. ``first`` and ``end`` are the first cell of the
    tied group and one past its last. ``before`` is the number of samples of the same ``stratum`` in the
    cells before.
    """

    kind: Array
    size: Array
    first: Array
    end: Array
    stratum: Array
    before: Array
    distance: Array


@jit
def classes_of(items, labels, n_classes):
    """The classes of the listed samples, ascending, and the place of every class in them; -1 for none."""
    places = np.full(n_classes, -1)
    for item in items:
        places[labels.classes[item]] = 0
    found = np.empty(n_classes, np.int64)
    n_found = 0
    for c in range(n_classes):
        if places[c] == 0:
            places[c] = n_found
            found[n_found] = c
            n_found += 1
    return found[:n_found], places


@jit
def cells_by_class(order, distances, labels, places, n_classes_listed, stratified):
    """The cells of samples that vote: one for every class of a tied group."""
    depth = len(order.items)
    cells = _empty_cells(depth)
    counts = np.zeros(n_classes_listed, np.int64)
    n_cells = 0
    start = 0
    while start < depth:
        end = order.group_end[start]
        first = n_cells
        if end == start + 1:
            cells.kind[n_cells] = places[labels.classes[order.items[start]]]
            cells.size[n_cells] = 1
            n_cells += 1
        else:
            for i in range(start, end):
                counts[places[labels.classes[order.items[i]]]] += 1
            for c in range(n_classes_listed):
                if counts[c] > 0:
                    cells.kind[n_cells] = c
                    cells.size[n_cells] = counts[c]
                    counts[c] = 0
                    n_cells += 1
        for j in range(first, n_cells):
            cells.first[j], cells.end[j] = first, n_cells
            cells.distance[j] = distances[start]
        start = end
    passed = np.zeros(n_classes_listed, np.int64)
    for j in range(n_cells):
        stratum = cells.kind[j] if stratified else 0
        cells.stratum[j] = stratum
        cells.before[j] = passed[stratum]
        passed[stratum] += cells.size[j]
    return _cut(cells, n_cells)


@jit
def cells_of_samples(order, distances):
    """One cell for every sample, with the sample as its kind."""
    depth = len(order.items)
    cells = _empty_cells(depth)
    start = 0
    while start < depth:
        end = order.group_end[start]
        for i in range(start, end):
            cells.kind[i], cells.size[i], cells.stratum[i], cells.before[i] = order.items[i], 1, 0, i
            cells.first[i], cells.end[i] = start, end
            cells.distance[i] = distances[start]
        start = end
    return cells


@jit
def _empty_cells(n):
    rows = np.empty((6, n), np.int64)
    return Cells(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], np.empty(n))


@jit
def _cut(cells, n):
    return Cells(
        cells.kind[:n], cells.size[:n], cells.first[:n], cells.end[:n], cells.stratum[:n],
        cells.before[:n], cells.distance[:n],
    )  # fmt: skip
