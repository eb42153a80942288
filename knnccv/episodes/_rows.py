"""The expected accuracy of rows of distances, without sorting them: compiled.

For a query of class o, P(x) is the sum over the own samples i of the probability that i is the nearest
support of its class, times that of no other class being nearer. All that it needs are the numbers of
samples of every other class that are nearer than each own sample. A sample's place among the sorted own
distances is found through a grid of cells. Distances of matrix products are rounded: a row in which two
samples are closer to each other than the rounding is left to `score_tied_row`, with exact distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernel import jit
from ._symmetric import WIDTH, add_polynomials, add_without_each

ABREAST = 256
NEAR = 8  # own samples compared one by one, before a binary search
CELLS = 16  # per own sample: most other samples are then in cells without one


class Plan(NamedTuple):
    """What is computed for every row; the same for all queries."""

    bounds: Any  # of every class: its first column, and the end
    starts: Any  # its first place in `tables`
    tables: Any  # of every number of shots: none nearer among the drawn, at ``starts[c] + g``
    shots: Any  # supports of every class, for every number of shots
    n_terms: Any  # numbers of other classes, and one
    functional: Any  # the weights of the polynomials in the score without a class
    jackknife: Any  # whether the scores without each class are wanted


@jit
def fill_cells(own, slack, lookup):
    """Divide the range of the sorted own values into cells; return the number of cells per unit.

    ``lookup[q]`` is the number of own samples before all values of cell q, or -1 - that number if an own
    value is in the cell, or may be within `slack` of a value there. The first cell is for values below the
    range, the last for values above it. Rounding does not matter: a larger value is never in an earlier
    cell.
    """
    n_cells = len(lookup) - 2
    low, high = own[0], own[len(own) - 1]
    scale = n_cells / (high - low) if high > low else 0.0
    if not np.isfinite(scale) or not np.isfinite(scale * (high - low)):
        scale = 0.0
    reach = slack * (1 + 1e-6)
    next_cell = 0
    for i in range(len(own)):
        first = cell_of(own[i] - reach, low, scale, n_cells)
        last = cell_of(own[i] + reach, low, scale, n_cells)
        for cell in range(next_cell, first):
            lookup[cell] = i
        for cell in range(max(next_cell, first), last + 1):
            lookup[cell] = -1 - i
        next_cell = max(next_cell, last + 1)
    for cell in range(next_cell, len(lookup)):
        lookup[cell] = len(own)
    return scale


@jit
def cell_of(value, low, scale, n_cells):
    """The cell of a value, 0 to n_cells + 1."""
    place = (value - low) * scale + 1.0
    place = place if place > 0.0 else 0.0
    return np.int32(place if place < n_cells + 1.0 else n_cells + 1.0)


@jit
def fill_places(row, own, first_column, last_column, slack, lookup, scale, counts):
    """Count the samples of a class by their place among the own ones; return False if one is uncertain.

    ``counts[s]`` is the number of samples with s own samples nearer. A sample of a cell without own samples
    needs no comparison.
    """
    n_own = len(own)
    n_cells = len(lookup) - 2
    low = own[0]
    cells = np.empty(ABREAST, np.int32)
    for begin in range(first_column, last_column, ABREAST):
        width = min(ABREAST, last_column - begin)
        for j in range(width):
            place = (row[begin + j] - low) * scale + 1.0
            place = place if place > 0.0 else 0.0
            cells[j] = np.int32(place if place < n_cells + 1.0 else n_cells + 1.0)
        for j in range(width):
            place = lookup[np.uint32(cells[j])]
            if place >= 0:
                counts[np.uint32(place)] += 1
                continue
            value = row[begin + j]
            place = -1 - place
            end = min(place + NEAR, n_own)
            while place < end and own[place] < value:
                place += 1
            if place == end and end < n_own and own[end - 1] < value:
                place += np.searchsorted(own[place:], value)
            if place < n_own and own[place] - value <= slack:
                return False
            if place > 0 and value - own[place - 1] <= slack:
                return False
            counts[place] += 1
    return True


@jit
def flush(chances, weights, n_others, n_terms, functional, room, before, sums, without):
    """Add what `WIDTH` own supports contribute to all sums."""
    add_polynomials(chances, weights, n_others, n_terms, room, sums)
    if len(without):
        add_without_each(chances, weights, n_others, functional, before, room, without)


@jit
def total_over_lanes(sums, out):
    """Add the sums over the lanes to `out`."""
    for k in range(len(sums)):
        total = 0.0
        for p in range(WIDTH):
            total += sums[k, p]
        out[k] += total


@jit
def put_without(own_class, without, out):
    """Add the sums without each other class to ``out``, which has a place for the own class as well."""
    for c in range(len(without)):
        total = 0.0
        for p in range(WIDTH):
            total += without[c, p]
        out[c + (c >= own_class)] += total


@jit
def score_rows(values, own, own_class, slack, own_weights, plan, out, out_without, certain):
    """Score rows of one class whose samples are certainly ordered.

    Parameters
    ----------
    values : float64 (n_rows, n_items)
        Distances; the columns stand class by class.
    own : float64 (n_rows, n_own)
        The sorted distances of the other samples of the class.
    slack : float64 (n_rows,)
        Distances that differ by more are certainly different.
    own_weights : float64 (n_shots, n_own)
        The probability that own sample i is drawn and the nearest drawn one.
    plan : Plan
    out : float64 (n_rows, n_shots, n_terms)
        Sums of polynomials.
    out_without : float64 (n_rows, n_classes)
        The functional without each class, summed over the shots.
    certain : bool (n_rows,)
        Whether the row was scored.
    """
    bounds, starts, tables = plan.bounds, plan.starts, plan.tables
    n_terms, functional, jackknife = plan.n_terms, plan.functional, plan.jackknife
    n_own = own.shape[1]
    n_classes = len(bounds) - 1
    n_shots = len(tables)
    lookup = np.empty(CELLS * n_own + 2, np.int32)
    counts = np.empty((n_classes - 1, n_own + 1), np.int32)
    chances = np.empty((n_classes - 1, WIDTH))
    weights = np.empty(WIDTH)
    room = np.empty((max(n_terms, len(functional)), WIDTH))
    before = np.empty(((n_classes - 1) * jackknife, len(functional), WIDTH))
    sums = np.empty((n_terms, WIDTH))
    without = np.empty(((n_classes - 1) * jackknife, WIDTH))
    for r in range(len(values)):
        scale = fill_cells(own[r], slack[r], lookup)
        counts[:] = 0
        certain[r] = True
        for c in range(n_classes):
            if c != own_class and certain[r]:
                other = c - (c > own_class)
                certain[r] = fill_places(
                    values[r], own[r], bounds[c], bounds[c + 1], slack[r], lookup, scale, counts[other]
                )
        if not certain[r]:
            continue
        for c in range(n_classes - 1):
            for i in range(n_own):
                counts[c, i + 1] += counts[c, i]
        without[:] = 0.0
        for shot in range(n_shots):
            sums[:] = 0.0
            for begin in range(0, n_own, WIDTH):
                width = min(WIDTH, n_own - begin)
                weights[:] = 0.0
                weights[:width] = own_weights[shot, begin : begin + width]
                chances[:] = 0.0
                for other in range(n_classes - 1):
                    table = tables[shot, starts[other + (other >= own_class)] :]
                    nearer = counts[other, begin : begin + width]
                    for p in range(width):
                        chances[other, p] = table[np.uint32(nearer[p])]
                flush(chances, weights, n_classes - 1, n_terms, functional, room, before, sums, without)
            total_over_lanes(sums, out[r, shot])
        if jackknife:
            put_without(own_class, without, out_without[r])
