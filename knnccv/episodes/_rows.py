# mypy: allow-untyped-defs
"""The expected accuracy of the nearest support, or of votes of several, for rows of distances: compiled.

For a query of class o, P(x) is the sum over the own samples i of the probability that i is the nearest
support of its class, times that of no other class being nearer. The other classes of an episode are a
random subset. With S_c the probability that none of the K supports of class c is nearer than a given own
support, the probability that no other class is nearer is ``e_{N-1}({S_c}) / C(C-1, N-1)``. The elementary
symmetric polynomials are built class by class, ``e_k += S_c e_{k-1}``: sums of positive products, no
division. Many own supports stand side by side (`WIDTH`), so the inner loops are over vectors.

All that this needs are the numbers of samples of every other class that are nearer than each own sample.
`score_rows` counts them without sorting: a sample's place among the sorted own distances is found through
a grid of cells. Distances of matrix products are rounded: a row in which two samples are closer to each
other than the rounding is left to `score_tied_row`, with exact distances.

``ties="index"``: samples are ordered by (distance, row number). ``ties="random"``: every order of the tied
samples is equally likely. Own sample i then has an independent uniform time t among those that it ties
with, and each of the others is nearer with probability t. Given t, the classes are independent, and the
probability that a class has no nearer support is a polynomial in 1 - t. Gauss-Legendre nodes integrate the
product exactly.

Votes: the K-th nearest support of an episode is sample j of class s, and the own class has t votes. The
number of votes of each other class is hypergeometric, independently, and at most t. Their joint generating
function has a variable for the chosen classes, one for the votes and one for the classes that have t votes
as well: the own class then wins with probability one over their number and one, since the labels of an
episode stand in random order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernel import inner, jit
from ..kernel.sampling import tie_times

WIDTH = 64
ABREAST = 256
NEAR = 8  # own samples compared one by one, before a binary search
CELLS = 16  # per own sample: most other samples are then in cells without one
FIRST_ITEM, PAST_ITEMS = 0, 2**62  # compared with these, equal values are larger, or smaller


class Plan(NamedTuple):
    """What is computed for every row; the same for all queries."""

    items: Any  # the samples, class by class: the columns of the distances
    bounds: Any  # of every class: its first column, and the end
    tables: Any  # of every number of shots: none nearer among the drawn, at ``bounds[c] + c + g``
    shots: Any  # supports of every class, for every number of shots
    n_terms: Any  # numbers of other classes, and one
    functional: Any  # weights of the polynomials in the score without a class; empty if not wanted
    average_ties: Any


class Block(NamedTuple):
    """Rows of samples of one class."""

    own_class: Any
    others: Any  # the other classes
    values: Any  # distances (n_rows, n_items), infinite for itself; the columns stand class by class
    own: Any  # the sorted distances of the other samples of the class (n_rows, n_own)
    own_weights: Any  # (n_shots, n_own): own sample i is drawn, and the nearest drawn one
    slack: Any  # (n_rows,): distances that differ by more are certainly different


class Found(NamedTuple):
    """What the rows add up to."""

    sums: Any  # of polynomials over the choices of other classes (n_rows, n_shots, n_terms)
    without: Any  # the functional without each class, summed over the shots (n_rows, n_classes), if wanted
    left_open: Any  # at most this is added to `sums` by own samples beyond a list, if there are lists
    tied: Any  # whether an own sample ties with one of another class (n_rows,)


class Lanes(NamedTuple):
    """Own supports side by side, and what they have added."""

    chances: Any  # S_c (n_classes - 1, WIDTH)
    weights: Any  # (WIDTH,)
    sums: Any  # of polynomials (n_terms, WIDTH)
    without: Any  # the functional without each other class; no rows unless it is wanted
    room: Any  # scratch: polynomials, or the functional behind a class
    before: Any  # scratch: the polynomials of the classes before each


@inner
def new_lanes(plan):
    """Lanes without own supports."""
    n_others, n_weighted = len(plan.bounds) - 2, len(plan.functional)
    n_jackknifed = n_others if n_weighted > 0 else 0
    return Lanes(
        np.zeros((n_others, WIDTH)),
        np.zeros(WIDTH),
        np.zeros((plan.n_terms, WIDTH)),
        np.zeros((n_jackknifed, WIDTH)),
        np.empty((max(plan.n_terms, n_weighted), WIDTH)),
        np.empty((n_jackknifed, n_weighted, WIDTH)),
    )


@inner
def add_polynomials(lanes):
    """Add ``weights * e_k`` to ``sums[k]`` for each own support.

    Cost per own support: n_others * (n_terms - 1).
    """
    chances, weights, polynomials, sums = lanes.chances, lanes.weights, lanes.room, lanes.sums
    n_terms = len(sums)
    polynomials[:n_terms] = 0.0
    polynomials[0] = 1.0
    for c in range(len(chances)):
        for k in range(min(c + 1, n_terms - 1), 0, -1):
            for p in range(WIDTH):
                polynomials[k, p] += chances[c, p] * polynomials[k - 1, p]
    for k in range(n_terms):
        for p in range(WIDTH):
            sums[k, p] += weights[p] * polynomials[k, p]


@inner
def add_without_each(lanes, functional):
    """Add the functional of the polynomials without class c to ``without[c]``, for every other class c.

    ``sum_k functional[k] e_k({S_d : d != c})`` for all c from one pass forward and one back: ``before[c]``
    holds the polynomials of the classes before c, ``room`` the functional after the classes behind c are
    multiplied in. Cost per own support: about 3 * n_others * n_terms.
    """
    chances, weights, without = lanes.chances, lanes.weights, lanes.without
    before, rest = lanes.before, lanes.room
    n_others, n_terms = len(chances), len(functional)
    before[0] = 0.0
    before[0, 0] = 1.0
    for c in range(n_others - 1):
        before[c + 1, 0] = 1.0
        for k in range(1, n_terms):
            for p in range(WIDTH):
                before[c + 1, k, p] = before[c, k, p] + chances[c, p] * before[c, k - 1, p]
    for k in range(n_terms):
        rest[k] = functional[k]
    for c in range(n_others - 1, -1, -1):
        for k in range(n_terms):
            for p in range(WIDTH):
                without[c, p] += weights[p] * before[c, k, p] * rest[k, p]
        for k in range(n_terms - 1):
            for p in range(WIDTH):
                rest[k, p] += chances[c, p] * rest[k + 1, p]


@jit
def flush(lanes, functional):
    """Add what the own supports contribute to all sums."""
    add_polynomials(lanes)
    if len(lanes.without) > 0:
        add_without_each(lanes, functional)


@inner
def empty_lanes(sums, skipped, out):
    """Add the sums over the lanes to `out`, which has a further place `skipped`, and start again at 0."""
    for k in range(len(sums)):
        total = 0.0
        for p in range(WIDTH):
            total += sums[k, p]
            sums[k, p] = 0.0
        out[k + (k >= skipped)] += total


@inner
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


@inner
def cell_of(value, low, scale, n_cells):
    """The cell of a value, 0 to n_cells + 1."""
    place = (value - low) * scale + 1.0
    place = place if place > 0.0 else 0.0
    return np.int32(place if place < n_cells + 1.0 else n_cells + 1.0)


@inner
def fill_places(row, own, slack, lookup, scale, counts):
    """Count the samples of a class by their place among the own ones; return False if one is uncertain.

    ``counts[s]`` is the number of samples with s own samples nearer. A sample of a cell without own samples
    needs no comparison.
    """
    n_own = len(own)
    n_cells = len(lookup) - 2
    low = own[0]
    cells = np.empty(ABREAST, np.int32)
    for begin in range(0, len(row), ABREAST):
        width = min(ABREAST, len(row) - begin)
        for j in range(width):
            cells[j] = cell_of(row[begin + j], low, scale, n_cells)
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


@inner
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


@inner
def fill_share_tied(n_tied, n_behind, n_nearer, n_shot, law):
    """Fill in the law of the tied samples among `n_shot` drawn ones, of which none is nearer.

    ``law[j]`` is ``C(tied, j) C(behind, K - j) / C(tied + behind + nearer, K)``, drawn one by one.
    """
    n = n_tied + n_behind + n_nearer
    law[: n_shot + 1] = 0.0
    law[0] = 1.0
    for k in range(n_shot):
        for j in range(k + 1, -1, -1):
            value = law[j] * max(n_behind - (k - j), 0) / (n - k)
            if j > 0:
                value += law[j - 1] * max(n_tied - (j - 1), 0) / (n - k)
            law[j] = value


@inner
def polynomial_at(law, degree, z):
    """The polynomial with these coefficients at z."""
    value = law[degree]
    for j in range(degree - 1, -1, -1):
        value = value * z + law[j]
    return value


@jit
def score_rows(block, plan, found, certain):
    """Score the rows whose samples are certainly ordered, and mark them in ``certain`` (n_rows,)."""
    others, values, own, slack = block.others, block.values, block.own, block.slack
    bounds, tables = plan.bounds, plan.tables
    n_own = own.shape[1]
    lookup = np.empty(CELLS * n_own + 2, np.int32)
    counts = np.empty((len(others), n_own + 1), np.int32)
    lanes = new_lanes(plan)
    chances, weights = lanes.chances, lanes.weights
    for r in range(len(values)):
        scale = fill_cells(own[r], slack[r], lookup)
        counts[:] = 0
        certain[r] = True
        for other, c in enumerate(others):
            if certain[r]:
                columns = values[r, bounds[c] : bounds[c + 1]]
                certain[r] = fill_places(columns, own[r], slack[r], lookup, scale, counts[other])
        if not certain[r]:
            continue
        for other in range(len(others)):
            for i in range(n_own):
                counts[other, i + 1] += counts[other, i]
        for shot in range(len(tables)):
            for begin in range(0, n_own, WIDTH):
                width = min(WIDTH, n_own - begin)
                weights[:] = 0.0
                for p in range(width):
                    weights[p] = block.own_weights[shot, begin + p]
                chances[:] = 0.0
                for other, c in enumerate(others):
                    table = tables[shot, bounds[c] + c :]
                    nearer = counts[other, begin : begin + width]
                    for p in range(width):
                        chances[other, p] = table[np.uint32(nearer[p])]
                flush(lanes, plan.functional)
            empty_lanes(lanes.sums, plan.n_terms, found.sums[r, shot])
        empty_lanes(lanes.without, block.own_class, found.without[r])


@inner
def sort_row(row, plan):
    """The values and the samples of every class in their order."""
    ordered, placed = np.empty(len(row)), np.empty(len(row), np.int64)
    for c in range(len(plan.bounds) - 1):
        begin, end = plan.bounds[c], plan.bounds[c + 1]
        order = np.argsort(row[begin:end], kind="mergesort")
        for j in range(end - begin):
            ordered[begin + j], placed[begin + j] = row[begin + order[j]], plan.items[begin + order[j]]
    return ordered, placed


@jit
def score_tied_row(row, block, plan, found, r):
    """Score the row r of a block from its exact distances ``row`` (n_items,), infinite for itself.

    Samples beyond a neighbor list have infinite values. Own samples there contribute nothing to ``sums``,
    and at most ``left_open``: the probability that no drawn sample is in the list.
    """
    own_class, others, own_weights = block.own_class, block.others, block.own_weights
    bounds, tables, average_ties = plan.bounds, plan.tables, plan.average_ties
    n_others = len(others)
    ordered, placed = sort_row(row, plan)
    start = bounds[own_class]
    n_own = bounds[own_class + 1] - start - 1
    own, own_items = ordered[start : start + n_own], placed[start : start + n_own]
    lanes = new_lanes(plan)
    chances, weights = lanes.chances, lanes.weights
    nearer, tied = np.empty(n_others, np.int64), np.zeros(n_others, np.int64)
    laws = np.empty((n_others + 1, plan.shots.max() + 1))
    for shot in range(len(plan.shots)):
        shots = plan.shots[shot]
        n_own_shot = shots[own_class]
        lane = 0
        begin = 0
        while begin < n_own and own[begin] < np.inf:
            value = own[begin]
            end = begin + 1
            if average_ties:
                while end < n_own and own[end] == value:
                    end += 1
            n_tied = 0
            for other, c in enumerate(others):
                first, last = bounds[c], bounds[c + 1]
                low = count_nearer(ordered, placed, first, last, value, FIRST_ITEM)
                n_equal = count_nearer(ordered, placed, first, last, value, PAST_ITEMS) - low
                found.tied[r] |= n_equal > 0
                if average_ties:
                    nearer[other], tied[other] = low, n_equal
                    n_tied += min(n_equal, shots[c])
                else:
                    nearer[other] = count_nearer(ordered, placed, first, last, value, own_items[begin])
            # Given the time of the own sample, probabilities are polynomials; without ties of degree 0.
            own_degree, degree, draw = 0, 0, 1.0
            if n_tied > 0:
                n_beside, own_degree = end - begin - 1, n_own_shot - 1
                degree = min(own_degree, n_beside) + min(n_tied, shots.max() * (plan.n_terms - 1))
                fill_share_tied(n_beside, n_own - end, begin, own_degree, laws[n_others])
                draw = n_own_shot / n_own * (n_beside + 1)
                for other, c in enumerate(others):
                    behind = bounds[c + 1] - bounds[c] - nearer[other] - tied[other]
                    fill_share_tied(tied[other], behind, nearer[other], shots[c], laws[other])
            else:
                laws[n_others, 0] = 0.0
                for i in range(begin, end):
                    laws[n_others, 0] += own_weights[shot, i]
                for other, c in enumerate(others):
                    laws[other, 0] = tables[shot, bounds[c] + c + nearer[other]]
            nodes, node_weights = tie_times(degree + 1, 1.0)
            for node in range(len(nodes)):
                z = 1.0 - nodes[node]
                weights[lane] = draw * node_weights[node] * polynomial_at(laws[n_others], own_degree, z)
                for other, c in enumerate(others):
                    chances[other, lane] = polynomial_at(laws[other], shots[c] if n_tied > 0 else 0, z)
                lane += 1
                if lane == WIDTH:
                    flush(lanes, plan.functional)
                    lane = 0
            begin = end
        if lane > 0:
            weights[lane:] = 0.0
            flush(lanes, plan.functional)
        empty_lanes(lanes.sums, plan.n_terms, found.sums[r, shot])
        if begin < n_own:
            weights[:] = 0.0
            for i in range(begin, n_own):
                weights[0] += own_weights[shot, i]
            for other, c in enumerate(others):
                listed = count_nearer(ordered, placed, bounds[c], bounds[c + 1], np.inf, FIRST_ITEM)
                chances[other, 0] = tables[shot, bounds[c] + c + listed]
            add_polynomials(lanes)
            empty_lanes(lanes.sums, plan.n_terms, found.left_open[r, shot])
    empty_lanes(lanes.without, own_class, found.without[r])


class Vote(NamedTuple):
    """What is counted in every row."""

    sizes: Any  # of the classes
    shots: Any  # supports of every class, for every number of shots
    n_neighbors: Any
    average_ties: Any


class Walk(NamedTuple):
    """Where the walk along a row is, and scratch."""

    available: Any  # samples of every class
    nearer: Any  # those that were passed
    tied: Any  # those at the next distance
    joint: Any  # numbers of nearer and of tied samples among the drawn
    laws: Any  # of the votes of every class (n_classes, K + 1)
    drawn_law: Any  # of the other supports of the last voter's class
    chosen: Any  # (numbers of other classes + 1, K + 1, K + 2)


@inner
def fill_votes(walk, c, shots, n_out, time, law):
    """Fill in ``law[b]``, the probability that b of the drawn samples of class c are nearer.

    A tied sample is nearer with probability `time`; `n_out` of them are drawn already. ``law`` may be
    shorter than the shots and one.
    """
    joint = walk.joint
    n_nearer, n_tied, n_shot = walk.nearer[c], walk.tied[c] - n_out, shots[c] - n_out
    n = walk.available[c] - n_out
    n_behind = n - n_nearer - n_tied
    most, top = min(n_tied, n_shot), min(n_shot, len(law) - 1)
    for a in range(top + 1):
        for m in range(most + 1):
            joint[a, m] = 0.0
    joint[0, 0] = 1.0
    for k in range(n_shot):
        for a in range(min(k + 1, n_nearer, top), -1, -1):
            for m in range(min(k + 1 - a, most), -1, -1):
                value = joint[a, m] * max(n_behind - (k - a - m), 0) if a + m <= k else 0.0
                if a > 0:
                    value += joint[a - 1, m] * max(n_nearer - (a - 1), 0)
                if m > 0:
                    value += joint[a, m - 1] * max(n_tied - (m - 1), 0)
                joint[a, m] = value / (n - k)
    for b in range(len(law)):
        law[b] = 0.0
    for a in range(top + 1):
        for m in range(min(n_shot - a, most) + 1):
            term = joint[a, m]
            if term == 0:
                continue
            for up in range(m + 1):
                if a + up < len(law):
                    ways = 1.0
                    for i in range(up):
                        ways = ways * (m - i) / (i + 1)
                    law[a + up] += term * ways * time**up * (1 - time) ** (m - up)


@inner
def add_wins(walk, own_class, of_class, n_neighbors, weight, out):
    """Add the probability of a right vote whose last voter is of class `of_class`, for each number of ways.

    ``out[y]`` is for y other classes, as a sum over their choices.
    """
    laws, drawn_law, chosen = walk.laws, walk.drawn_law, walk.chosen
    n_terms, n_others = len(out), len(laws) - 1
    for t in range(1, n_neighbors + 1):
        own = drawn_law[t - 1] if of_class == own_class else laws[own_class, t]
        left = n_neighbors - t
        if own == 0 or (left == 0 and of_class != own_class):
            continue
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
def score_votes(values, codes, tested, vote, out):
    """Score the row of sample `tested`; return whether neighboring samples of different classes tie.

    ``values`` and ``codes`` (n_items,) are the exact distances and the classes; ``values[tested]`` is
    negative. ``out`` (n_shots, n_terms) sums over the choices of the other classes.
    """
    n_classes, n = len(vote.sizes), len(values)
    n_neighbors, own_class = vote.n_neighbors, codes[tested]
    order = np.argsort(values, kind="mergesort")
    most = vote.shots.max()
    any_tied = False
    for shot in range(len(vote.shots)):
        shots = vote.shots[shot]
        walk = Walk(
            vote.sizes.copy(),
            np.zeros_like(vote.sizes),
            np.zeros_like(vote.sizes),
            np.zeros((most + 1, most + 1)),
            np.zeros((n_classes, n_neighbors + 1)),
            np.zeros(n_neighbors + 1),
            np.zeros((out.shape[1] + 1, n_neighbors + 1, n_neighbors + 2)),
        )
        available, nearer, tied, laws = walk.available, walk.nearer, walk.tied, walk.laws
        available[own_class] -= 1
        laws[:, 0] = 1.0
        begin = 1
        while begin < n:
            end = begin + 1
            while end < n and values[order[end]] == values[order[begin]]:
                any_tied |= codes[order[end]] != codes[order[begin]]
                if not vote.average_ties:
                    break
                end += 1
            for i in range(begin, end):
                tied[codes[order[i]]] += 1
            degree = 0
            for c in range(n_classes):
                degree += min(tied[c], shots[c])
            times, weights = tie_times(min(degree, end - begin - 1) + 1, 1.0)
            any_last = n_neighbors > 1 or tied[own_class] > 0
            for node in range(len(times) if any_last else 0):
                if end - begin > 1:
                    for c in range(n_classes):
                        if tied[c] > 0:
                            fill_votes(walk, c, shots, 0, times[node], laws[c])
                for c in range(n_classes):
                    if tied[c] > 0 and (n_neighbors > 1 or c == own_class):
                        fill_votes(walk, c, shots, 1, times[node], walk.drawn_law)
                        weight = weights[node] * tied[c] * shots[c] / available[c]
                        add_wins(walk, own_class, c, n_neighbors, weight, out[shot])
            for c in range(n_classes):
                if tied[c] > 0:
                    nearer[c] += tied[c]
                    tied[c] = 0
                    fill_votes(walk, c, shots, 0, times[0], laws[c])
            begin = end
    return any_tied
