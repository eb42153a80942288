"""The expected accuracy of rows of distances, without sorting them: compiled.

For a query of class o, P(x) is the sum over the own samples i of the probability that i is the nearest
support of its class, times that of no other class being nearer. All that it needs are the numbers of
samples of every other class that are nearer than each own sample. A sample's place among the sorted own
distances is found through a grid of cells. Distances of matrix products are rounded: a row in which two
samples are closer to each other than the rounding is left to `score_tied_row`, with exact distances.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ._symmetric import WIDTH, add_polynomials, add_without_each


@jit
def fill_places(row, own, first_column, last_column, slack, cells, scale, counts):
    """Count the samples of a class by their place among the own ones; return False if one is uncertain.

    ``counts[s]`` is the number of samples with s own samples nearer, ``cells[q]`` the number of own samples
    in the cells before q.
    """
    n_own = len(own)
    n_cells = len(cells) - 1
    low, high = own[0], own[n_own - 1]
    for j in range(first_column, last_column):
        value = row[j]
        if value > high + slack:
            continue
        if value < low - slack:
            counts[0] += 1
            continue
        cell = min(max(int((value - low) * scale), 0), n_cells - 1)
        place, end = cells[cell], cells[cell + 1]
        while place < end:
            middle = (place + end) // 2
            if own[middle] < value:
                place = middle + 1
            else:
                end = middle
        if place < n_own and own[place] - value <= slack:
            return False
        if place > 0 and value - own[place - 1] <= slack:
            return False
        counts[place] += 1
    return True


@jit
def fill_cells(own, cells):
    """Divide the range of the own values into cells, and count the own samples before each; the scale."""
    n_cells = len(cells) - 1
    low, high = own[0], own[len(own) - 1]
    scale = n_cells / (high - low) if high > low else 0.0
    if not np.isfinite(scale) or not np.isfinite(scale * (high - low)):
        scale = 0.0
    cells[:] = 0
    for value in own:
        cells[min(int((value - low) * scale), n_cells - 1) + 1] += 1
    for cell in range(n_cells):
        cells[cell + 1] += cells[cell]
    return scale


@jit
def flush(chances, weights, n_others, n_terms, functional, room, before, sums, without):
    """Add what `WIDTH` own supports contribute to all sums."""
    add_polynomials(chances, weights, n_others, n_terms, room, sums)
    if len(without):
        add_without_each(chances, weights, n_others, functional, before, room, without)


@jit
def total_over_lanes(sums, n, first, out):
    """Add the sums over the lanes to ``out[first + k]``."""
    for k in range(n):
        total = 0.0
        for p in range(WIDTH):
            total += sums[k, p]
        out[first + k] += total


@jit
def put_without(own_class, without, out):
    """Add the sums without each other class to ``out``, which has a place for the own class as well."""
    for c in range(len(without)):
        total = 0.0
        for p in range(WIDTH):
            total += without[c, p]
        out[c + (c >= own_class)] += total


@jit
def score_rows(
    values,
    own,
    own_class,
    bounds,
    slack,
    tables,
    starts,
    own_weights,
    n_terms,
    functional,
    jackknife,
    out,
    out_without,
    certain,
):
    """Score rows of one class whose samples are certainly ordered.

    Parameters
    ----------
    values : float64 (n_rows, n_items)
        Distances; the columns stand class by class.
    own : float64 (n_rows, n_own)
        The sorted distances of the other samples of the class.
    bounds : int64 (n_classes + 1,)
        Where the columns of each class begin.
    slack : float64 (n_rows,)
        Distances that differ by more are certainly different.
    tables : float64 (n_shots, n_items + n_classes)
        None nearer among the drawn, at ``starts[c] + g``.
    own_weights : float64 (n_shots, n_own)
        The probability that own sample i is drawn and the nearest drawn one.
    n_terms : int
        Numbers of other classes, and one.
    functional : float64 (n_functional,)
        The weights of the polynomials in the score without a class.
    jackknife : bool
        Whether the scores without each class are wanted.
    out : float64 (n_rows, n_shots, n_terms)
        Sums of polynomials.
    out_without : float64 (n_rows, n_classes)
        The functional without each class, summed over the shots.
    certain : bool (n_rows,)
        Whether the row was scored.
    """
    n_own = own.shape[1]
    n_classes = len(bounds) - 1
    n_shots = len(tables)
    cells = np.empty(2 * n_own + 1, np.int64)
    counts = np.empty((n_classes - 1, n_own + 1), np.int64)
    chances = np.empty((n_classes - 1, WIDTH))
    weights = np.empty(WIDTH)
    room = np.empty((max(n_terms, len(functional)), WIDTH))
    before = np.empty(((n_classes - 1) * jackknife, len(functional), WIDTH))
    sums = np.empty((n_terms, WIDTH))
    without = np.empty(((n_classes - 1) * jackknife, WIDTH))
    for r in range(len(values)):
        scale = fill_cells(own[r], cells)
        counts[:] = 0
        certain[r] = True
        for c in range(n_classes):
            if c != own_class and certain[r]:
                other = c - (c > own_class)
                certain[r] = fill_places(
                    values[r], own[r], bounds[c], bounds[c + 1], slack[r], cells, scale, counts[other]
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
                    at = starts[other + (other >= own_class)]
                    for p in range(width):
                        chances[other, p] = tables[shot, at + counts[other, begin + p]]
                flush(chances, weights, n_classes - 1, n_terms, functional, room, before, sums, without)
            total_over_lanes(sums, n_terms, 0, out[r, shot])
        if jackknife:
            put_without(own_class, without, out_without[r])
