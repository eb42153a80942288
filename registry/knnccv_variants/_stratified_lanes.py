# mypy: allow-untyped-defs
"""Plurality votes in stratified designs by multiplying out, for all kinds of training sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv.kernel import NOT_SERVED, Tables, Task, inner, jit
from knnccv.kernel.simd import (
    LANES,
    add_product,
    everywhere,
    largest,
    load,
    product,
    raw_rows,
    store,
    subtract_product,
)
from knnccv.kernel.voting import has_mixed_group

NEGLIGIBLE = 1e-20
"""Probabilities of t own votes below this are left out.

Together they are below 1e-20 K for each position, far less than what the bound grants it for rounding.
"""


def lane_tables(tasks: Sequence[Task]) -> Tables:
    """The tables of `votes_in_lanes` for up to 8 kinds of training sets.

    The training samples of every class, (n_classes, LANES); spare lanes repeat the last kind.
    """
    n_train = np.array([task.n_train for task in tasks], float)
    return Tables(table=n_train[np.minimum(np.arange(LANES), len(tasks) - 1)].T)


class _Others(NamedTuple):
    """The other classes so far, and the products of their votes.

    A class is known by its *slot*, its number in the order of appearance; the tested class is slot 0.

    Attributes
    ----------
    by_size : int64 ndarray of shape (n_slots,)
        The slots, the class with the smallest size first.
    sizes : int64 ndarray of shape (n_slots,)
        By slot: samples so far, and one more if the class wins ties. It can outvote fewer votes than that.
    wins : int64 ndarray of shape (n_slots,)
        By slot: 1 if the class wins ties, else 0.
    degrees : int64 ndarray of shape (n_slots,)
        The degrees of the products of the first classes of `by_size`, by their number.
    known : int64 ndarray of shape (1,)
        The largest number of classes whose product is known.
    """

    by_size: Array
    sizes: Array
    wins: Array
    degrees: Array
    known: Array


@jit
def votes_in_lanes(order, labels, target, constraints, scores, tails):
    """A joint kernel of "knn": as `untied_strata_votes`, with one lane for each kind of training sets.

    For t votes of the tested class, the smallest classes cannot outvote it. Their product serves all larger
    t as well, and the next positions, until one of them gets a sample. The other classes are cut before
    they outvote t.

    All vectors are in one array, in parts of K + 1: the votes of every slot; those of the class of the last
    sample, given that the sample is in the training set; the product of the m smallest classes, for every
    m; and the product that is cut.
    """
    if has_mixed_group(order, labels):
        for kind in range(len(scores)):
            scores[kind] = NOT_SERVED
        return
    k = constraints.n_nearest
    classes, items, counts = labels.classes, order.items, constraints.counts
    own_class = classes[target]
    slot = np.full(constraints.n_classes, -1)
    slot[own_class] = 0
    n_slots = 1
    for i in range(len(items)):
        c = classes[items[i]]
        if slot[c] < 0:
            slot[c] = n_slots
            n_slots += 1
    by_size, sizes, wins, degrees, passed = np.zeros((5, n_slots), np.int64)
    others = _Others(by_size, sizes, wins, degrees, np.zeros(1, np.int64))
    n_others = 0
    width = k + 1
    last, products, cut = n_slots * width, (n_slots + 1) * width, (2 * n_slots + 1) * width
    rows = raw_rows(cut + width)
    zero, unit = everywhere(0.0), everywhere(1.0)
    for m in range(n_slots):
        store(rows, m * width, unit)
    store(rows, products, unit)
    score = zero
    for i in range(len(items)):
        c = classes[items[i]]
        m = slot[c]
        g = passed[m]
        left = counts[c] - g - (constraints.held_out if m == 0 else 0)
        share, chosen = everywhere(1.0 / left), load(constraints.table, c)
        # This sample is in the training set, with b - 1 of its class before it.
        store(rows, last, zero)
        for b in range(1, min(g + 1, k) + 1):
            chance = product(subtract_product(chosen, everywhere(b - 1.0), unit), share)
            store(rows, last + b, product(load(rows, m * width + b - 1), chance))
        place = 0
        if m > 0:
            if g == 0:
                wins[m] = sizes[m] = int(c < own_class)
                n_others += 1
            place = _move_up(others, n_others, m, g == 0)
        passed[m] += 1
        if i + 1 >= k and passed[0] > 0:
            score = _add_wins(score, rows, others, n_others, min(passed[0], k), m, k)
        if m > 0:  # the product had the last sample in the training set
            others.known[0] = min(others.known[0], place)
        pass_sample(rows, m * width, g, k, left, chosen)
    store(rows, cut, unit)
    degree = 0
    for m in range(n_slots):
        degree = multiply_votes(rows, cut, cut, degree, m * width, passed[m], k - 1, 0)
    fewer = zero
    for votes in range(degree + 1):
        fewer = add_product(fewer, load(rows, cut + votes), unit)
    store(rows, cut, score)
    store(rows, cut + 1, fewer)
    for kind in range(len(scores)):
        scores[kind] = rows[cut, kind]
        tails[kind] = min(rows[cut + 1, kind], 1.0)


@inner
def _move_up(others, n_others, m, is_new):
    """Let the class of slot m have one more sample; its new place among the sizes."""
    by_size, sizes = others.by_size, others.sizes
    place = 0
    if is_new:
        for e in range(n_others - 1, 0, -1):
            by_size[e] = by_size[e - 1]
    else:
        while by_size[place] != m:
            place += 1
    others.known[0] = min(others.known[0], place)
    sizes[m] += 1
    while place + 1 < n_others and sizes[by_size[place + 1]] < sizes[m]:
        by_size[place] = by_size[place + 1]
        place += 1
    by_size[place] = m
    return place


@inner
def _add_wins(score, rows, others, n_others, n_own, last_slot, k):
    """Add the probabilities that the tested class wins with t votes, over all t."""
    by_size, sizes, wins, degrees, known = others
    width, half = k + 1, k // 2
    last, products, cut = len(sizes) * width, (len(sizes) + 1) * width, (2 * len(sizes) + 1) * width
    own = last if last_slot == 0 else 0
    n_uncut = 0  # classes that cannot outvote t
    n_wins = 0  # of the classes that can
    for e in range(n_others):
        n_wins += wins[by_size[e]]
    for t in range(1, n_own + 1):
        while n_uncut < n_others and (t > half or sizes[by_size[n_uncut]] <= t):
            m = by_size[n_uncut]
            if known[0] == n_uncut:
                of = products + n_uncut * width
                first = last if m == last_slot else m * width
                degrees[n_uncut + 1] = multiply_votes(
                    rows, of + width, of, degrees[n_uncut], first, sizes[m] - wins[m], k - 1, 0
                )
                known[0] += 1
            n_wins -= wins[m]
            n_uncut += 1
        top = k - t
        to_come = (n_others - n_uncut) * t - n_wins  # the most votes of the classes that are cut
        reached = min(degrees[n_uncut], top)
        chance = load(rows, own + t)
        if reached + to_come < top or largest(chance) < NEGLIGIBLE:
            continue
        of = products + n_uncut * width
        for e in range(n_uncut, n_others):
            m = by_size[e]
            most = t - wins[m]
            to_come -= most
            first = last if m == last_slot else m * width
            reached = multiply_votes(rows, cut, of, reached, first, most, top, max(0, top - to_come))
            of = cut
        score = add_product(score, chance, load(rows, of + top))
    return score


@inner
def multiply_votes(rows, to, of, degree, first, limit, top, lowest):
    """Multiply the votes at `of`, of this degree, by those of a class at `first`, up to `limit` of it.

    The product is stored at `to`, which may be `of`: votes `lowest` to `top` of it. Returns its degree.
    """
    reached = min(degree + limit, top)
    d = reached
    while d >= lowest:
        if d <= degree and d - 3 >= max(lowest, limit):  # four at a time, which do not wait for each other
            x0, x1, x2, x3 = everywhere(0.0), everywhere(0.0), everywhere(0.0), everywhere(0.0)
            for a in range(limit + 1):
                chance = load(rows, first + a)
                x0 = add_product(x0, chance, load(rows, of + d - a))
                x1 = add_product(x1, chance, load(rows, of + d - 1 - a))
                x2 = add_product(x2, chance, load(rows, of + d - 2 - a))
                x3 = add_product(x3, chance, load(rows, of + d - 3 - a))
            store(rows, to + d, x0)
            store(rows, to + d - 1, x1)
            store(rows, to + d - 2, x2)
            store(rows, to + d - 3, x3)
            d -= 4
        else:
            total = everywhere(0.0)
            for a in range(max(0, d - degree), min(limit, d) + 1):
                total = add_product(total, load(rows, first + a), load(rows, of + d - a))
            store(rows, to + d, total)
            d -= 1
    return reached


@inner
def pass_sample(laws, first, g, k, left, n_train):
    """Advance the votes of a class, g of whose samples have been passed and `left` are left."""
    unit = everywhere(1.0)
    share = everywhere(1.0 / left)
    miss = product(subtract_product(everywhere(float(left)), n_train, unit), share)
    hit = product(n_train, share)
    if g + 1 <= k:
        store(laws, first + g + 1, everywhere(0.0))
    top = min(g + 1, k)
    here = load(laws, first + top)
    for b in range(top, 0, -1):
        below = load(laws, first + b - 1)
        stays = product(here, add_product(miss, everywhere(float(b)), share))
        joins = subtract_product(hit, everywhere(b - 1.0), share)
        store(laws, first + b, add_product(stays, below, joins))
        here = below
    store(laws, first, product(here, miss))
