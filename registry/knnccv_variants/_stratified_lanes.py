"""Plurality votes in stratified designs by multiplying out, for all kinds of training sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import ZERO, Tables, Task, jit, read_as
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


class LaneFields(NamedTuple):
    """The integers of `votes_in_lanes`; its table is (n_classes, LANES), the training samples."""

    n_kinds: int


def training_samples(tasks: Sequence[Task]) -> Array:
    """The training samples of every class, (n_classes, LANES); spare lanes repeat the last kind."""
    n_train = np.array([task.n_train for task in tasks], float)
    return np.ascontiguousarray(n_train[np.minimum(np.arange(LANES), len(tasks) - 1)].T)


def lane_tables(tasks: Sequence[Task]) -> Tables:
    """The tables of `votes_in_lanes` for up to 8 kinds of training sets."""
    return Tables(integers=LaneFields(len(tasks)), table=training_samples(tasks))


@jit
def votes_in_lanes(order, labels, target, constraints, scores, tails):
    """A joint kernel of "knn": as `knn_stratified_untied`, with one lane for each kind of training sets.

    For t votes of the tested class, a class with too few samples so far to outvote t is not cut. The
    product of these classes serves all larger t as well.
    """
    k = constraints.n_nearest
    n_kinds = read_as(LaneFields, constraints.integers).n_kinds
    classes, items, counts = labels.classes, order.items, constraints.counts
    own_class = classes[target]
    n_classes = constraints.n_classes
    n_train = constraints.table
    width = k + 1
    zero, unit = everywhere(0.0), everywhere(1.0)
    passed = np.zeros(n_classes, np.int64)
    slot = np.full(n_classes, -1)
    seen_classes = np.empty(min(n_classes, len(items)) + 1, np.int64)
    seen_classes[0] = own_class
    slot[own_class] = 0
    n_seen = ZERO + 1
    for i in range(len(items)):
        c = classes[items[i]]
        if slot[c] < 0:
            slot[c] = n_seen
            seen_classes[n_seen] = c
            n_seen += 1
    laws = raw_rows((n_seen + 1) * width)
    uncut, cut = raw_rows(width), raw_rows(width)
    for m in range(n_seen):
        store(laws, m * width, unit)
    last_first = n_seen * width
    score = zero
    for i in range(len(items)):
        c = classes[items[i]]
        g = passed[c]
        first = slot[c] * width
        left = counts[c] - g - (constraints.held_out if c == own_class else 0)
        share, chosen = everywhere(1.0 / left), load(n_train, c)
        # This sample is in the training set, with b - 1 of its class before it.
        n_last = min(g + 1, k)
        store(laws, last_first, zero)
        for b in range(1, n_last + 1):
            chance = product(subtract_product(chosen, everywhere(b - 1.0), unit), share)
            store(laws, last_first + b, product(load(laws, first + b - 1), chance))
        if i + 1 >= k and (passed[own_class] > 0 or c == own_class):
            passed[c] += 1
            score = _add_wins(score, laws, uncut, cut, seen_classes, n_seen, passed, c, last_first, k)
            passed[c] -= 1
        pass_sample(laws, first, g, k, left, chosen)
        passed[c] += 1
    store(uncut, 0, unit)
    degree = ZERO
    for m in range(n_seen):
        degree = multiply_votes(uncut, degree, laws, m * width, passed[seen_classes[m]], k - 1, ZERO)
    fewer = zero
    for votes in range(degree + 1):
        fewer = add_product(fewer, load(uncut, votes), unit)
    store(cut, 0, score)
    store(cut, 1, fewer)
    for kind in range(n_kinds):
        scores[kind] = cut[0, kind]
        tails[kind] = min(cut[1, kind], 1.0)


@jit
def _add_wins(score, laws, uncut, cut, seen_classes, n_seen, passed, last_class, last_first, k):
    """Add the probabilities that the tested class, `seen_classes[0]`, wins with t votes, over all t."""
    width = k + 1
    own_class = seen_classes[0]
    own_first = last_first if last_class == own_class else ZERO
    n_own = min(passed[own_class], k)
    half = k // 2
    store(uncut, 0, everywhere(1.0))
    degree = ZERO
    t_before = -1
    for t in range(1, min(n_own, half) + 1):
        # The classes that are cut no more are multiplied once.
        for m in range(1, n_seen):
            c = seen_classes[m]
            g = passed[c]
            most = t - int(c < own_class)
            if 0 < g <= most and (t_before < 0 or g > t_before - int(c < own_class)):
                first = last_first if c == last_class else m * width
                degree = multiply_votes(uncut, degree, laws, first, g, k - 1, ZERO)
        t_before = t
        own = load(laws, own_first + t)
        if largest(own) <= 0.0:
            continue
        top = k - t
        to_come = ZERO  # the most votes of the classes that are cut
        for m in range(1, n_seen):
            c = seen_classes[m]
            most = t - int(c < own_class)
            if passed[c] > most:
                to_come += most
        reached = min(degree, top)
        for d in range(max(0, top - to_come), reached + 1):
            store(cut, d, load(uncut, d))
        for m in range(1, n_seen):
            c = seen_classes[m]
            most = t - int(c < own_class)
            if passed[c] > most:
                to_come -= most
                first = last_first if c == last_class else m * width
                lowest = max(0, top - to_come)
                reached = multiply_votes(cut, reached, laws, first, most, top, lowest)
        if reached == top:
            score = add_product(score, own, load(cut, top))
    if n_own > half:
        for m in range(1, n_seen):
            c = seen_classes[m]
            g = passed[c]
            if g > 0 and (t_before < 0 or g > t_before - int(c < own_class)):
                first = last_first if c == last_class else m * width
                degree = multiply_votes(uncut, degree, laws, first, g, k - 1, ZERO)
        for t in range(max(half + 1, k - degree), n_own + 1):
            score = add_product(score, load(laws, own_first + t), load(uncut, k - t))
    return score


@jit
def multiply_votes(out, degree, laws, first, limit, top, lowest):
    """Multiply the votes `out` of this degree by those of a class, up to `limit` votes of it.

    Only ``out[lowest : top + 1]`` is computed. Returns the degree.
    """
    reached = min(degree + limit, top)
    if limit == 0:
        none = load(laws, first)
        for d in range(lowest, reached + 1):
            store(out, d, product(load(out, d), none))
        return reached
    for d in range(reached, lowest - 1, -1):
        total = everywhere(0.0)
        for a in range(max(0, d - degree), min(limit, d) + 1):
            total = add_product(total, load(laws, first + a), load(out, d - a))
        store(out, d, total)
    return reached


@jit
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
