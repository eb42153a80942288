"""The compiled passes over a block of samples: how each score changes without each of its neighbors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from .._typing import Array
from ..driver import INTEGERS, ITEMS, ROWS, SCORES, order_of
from ..kernel import (
    CONSTRAINTS,
    JOINT_KERNEL,
    KERNEL,
    LABELS,
    REMOVAL_KERNEL,
    Constraints,
    Order,
    jit,
)

_FLOATS, _CUBE = types.Array(types.float64, 2, "C"), types.Array(types.float64, 3, "C")
_FLAGS = types.Array(types.boolean, 1, "C")


class Sets(NamedTuple):
    """Some kinds of training sets of N - 1 samples, and the missing samples that count.

    ``at_once``
        Whether the removal kernel scores them, see `Variant.removals`. Otherwise the joint kernel does for
        several kinds, and the plain one for one.
    ``constraints``, ``whole``
        The training sets; for the list with all its samples.
    ``removed``
        The class of the missing sample, -1 for any of a fixed-size design.
    ``owners``, ``first``, ``weights``
        ``weights[c, g, k]`` is the weight of a tested sample of class c in kind k if the missing one has
        the owner ``first + g``, by ``owners`` (n_items,); other missing samples do not count.
    """

    at_once: bool
    constraints: Constraints
    whole: Constraints
    removed: int
    owners: Array
    first: int
    weights: Array


class Sums(NamedTuple):
    """What a pass fills: weighted changes (n_rows, depth), and scores without a sample beyond the list.

    ``bases`` is (any, n_rows); kinds that the pass takes together have one. ``served[r]`` is 1 for a row to
    skip, and stays 0 for a row left to other kernels.
    """

    changes: Array
    bases: Array
    served: Array


SETS = types.NamedTuple(
    [types.boolean, CONSTRAINTS, CONSTRAINTS, types.int64, INTEGERS, types.int64, _CUBE], Sets
)
SUMS = types.NamedTuple([_FLOATS, _FLOATS, INTEGERS], Sums)


@jit
def add_changes(removal, jointly, kernel, rows, labels, sets, sums, stop):
    """Add the weighted changes of every row without each of its listed samples; see `Sets` and `Sums`."""
    items, values, lengths, targets, average_ties = rows
    changes, bases, served = sums
    owners, first = sets.owners, sets.first
    n_problems, n_kinds = sets.weights.shape[1:]
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    alone = np.empty(depth * n_kinds)
    scores = alone.reshape((depth, n_kinds))
    base = np.empty(n_kinds)
    for r in range(len(targets)):
        if stop[0]:
            break
        if served[r]:
            continue
        served[r] = 1
        weights = sets.weights[labels.classes[targets[r]]]
        if weights.max() == 0:
            continue
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        if sets.at_once:
            base[0] = removal(near, labels, targets[r], sets.constraints, alone)
            is_served = base[0] != math.inf
        else:
            is_served = score_without_each(jointly, kernel, near, labels, targets[r], sets, base, scores)
        if not is_served:
            served[r] = 0
            continue
        for b in range(len(bases)):
            k = min(b, n_kinds - 1)
            if weights[:, k].max() > 0:
                bases[b, r] = base[k]
        for i in range(lengths[r]):
            at = owners[items[r, i]] - first
            if 0 <= at < n_problems:
                change = 0.0
                for k in range(n_kinds):
                    if weights[at, k] > 0:
                        change += weights[at, k] * (scores[i, k] - base[k])
                changes[r, i] += change


ADD_CHANGES = types.void(REMOVAL_KERNEL, JOINT_KERNEL, KERNEL, ROWS, LABELS, SETS, SUMS, _FLAGS)


@jit
def score_without_each(jointly, kernel, near, labels, target, sets, base, scores):
    """Fill the scores of all kinds (n_listed, n_kinds) by the kernels of the rule; False if not served.

    They are called for every position that counts, once for positions that are alike.
    """
    classes, items = labels.classes, near.items
    own_class, n_listed, removed = classes[target], len(items), sets.removed
    left = sets.whole.counts[max(removed, 0)]
    if removed < 0 or removed == own_class:
        left -= sets.whole.held_out
    n_removable = n_listed
    if removed >= 0:
        n_removable = 0
        for i in range(n_listed):
            n_removable += classes[items[i]] == removed
    for k in range(len(base)):
        base[k] = 0.0
    if n_removable <= left and not score_list(jointly, kernel, near, labels, target, sets.whole, base):
        return False
    weights = sets.weights[own_class]
    rest, rest_end = np.empty_like(items), np.empty_like(items)
    for i in range(n_listed):
        scores[i, 0] = np.nan
        at = sets.owners[items[i]] - sets.first
        if not 0 <= at < len(weights) or weights[at].max() == 0:
            continue
        like = earlier_alike(near, labels, i, scores) if labels.values.size == 0 else i
        if like < i:
            for k in range(len(base)):
                scores[i, k] = scores[like, k]
            continue
        for p in range(n_listed - 1):
            old = p + (p >= i)
            rest[p] = items[old]
            end = near.group_end[old]
            rest_end[p] = end - (end > i)
        shorter = Order(rest[: n_listed - 1], rest_end[: n_listed - 1])
        if not score_list(jointly, kernel, shorter, labels, target, sets.constraints, scores[i]):
            return False
    return True


@jit
def score_list(jointly, kernel, near, labels, target, constraints, out):
    """Fill the scores of one list, by the joint kernel if there are several kinds; False if not served."""
    if len(out) > 1:
        jointly(near, labels, target, constraints, out, np.empty(len(out)))
    else:
        out[0] = kernel(near, labels, target, constraints)
    return out.max() != math.inf


@jit
def earlier_alike(near, labels, i, scores):
    """A position before i whose removal leaves the same tied groups of the same classes, or i itself."""
    end = near.group_end[i]
    c = labels.classes[near.items[i]]
    p = i - 1
    while p >= 0 and near.group_end[p] == end:
        if labels.classes[near.items[p]] == c and not np.isnan(scores[p, 0]):
            return p
        p -= 1
    if p != i - 1 or end != i + 1 or p < 0 or labels.classes[near.items[p]] != c or np.isnan(scores[p, 0]):
        return i
    return p if p == 0 or near.group_end[p - 1] == p else i


@jit
def removal_unused(order, labels, target, constraints, out):  # noqa: ARG001
    """Stands for the removal kernel where the kernels of the rule score the lists."""
    return 0.0


@jit
def joint_unused(order, labels, target, constraints, scores, tails):
    """Stands for the joint kernel."""


@jit
def without_last_of(items, lengths, labels, removed, out):
    """Copy the lists without the last sample of the class `removed`; -1: without the last sample."""
    for r in range(len(lengths)):
        last = lengths[r] - 1
        while removed >= 0 and last >= 0 and labels.classes[items[r, last]] != removed:
            last -= 1
        n_left = 0
        for i in range(lengths[r]):
            if i != last:
                out[r, n_left] = items[r, i]
                n_left += 1
        lengths[r] = n_left


WITHOUT_LAST_OF = types.void(ITEMS, INTEGERS, LABELS, types.int64, ITEMS)


class Found(NamedTuple):
    """What is found for a block: the lists with the changes, and (n_kinds, n_rows) bases and tails."""

    items: Array
    lengths: Array
    changes: Array
    bases: Array
    tails: Array


class Copies(NamedTuple):
    """The classes of all samples, and the equal ones: those with the same ``same``, of this number."""

    classes: Array
    same: Array
    number: Array


class Totals(NamedTuple):
    """The sums over the tested samples.

    ``deltas`` are the changes without each sample; ``copy_deltas[same[x]]`` is that by one of the equal
    samples without another. ``bases[:, 1]`` and ``[:, 0]`` of shape (n_kinds, 2, n_classes) are the sums
    and what rounding took; ``tails`` are (n_kinds, n_classes).
    """

    deltas: Array
    copy_deltas: Array
    bases: Array
    tails: Array


@jit
def add_rows(rows, is_open, found, copies, totals):
    """Add the results of the rows that are not open, in their order, each for its equal samples."""
    items, lengths, changes, bases, tails = found
    same, sums = copies.same, totals.bases
    for r in range(len(rows)):
        if is_open[r]:
            continue
        first, n = same[rows[r]], copies.number[rows[r]]
        met = False
        for i in range(lengths[r]):
            if n == 1 or same[items[r, i]] != first:
                totals.deltas[items[r, i]] += n * changes[r, i]
            elif not met:
                met = True
                totals.copy_deltas[first] += (n - 1) * changes[r, i]
        c = copies.classes[rows[r]]
        for q in range(len(bases)):
            base = n * bases[q, r]
            totals.tails[q, c] += n * tails[q, r]
            total = sums[q, 1, c] + base
            if abs(sums[q, 1, c]) >= abs(base):
                sums[q, 0, c] += sums[q, 1, c] - total + base
            else:
                sums[q, 0, c] += base - total + sums[q, 1, c]
            sums[q, 1, c] = total


ADD_ROWS = types.void(
    INTEGERS,
    _FLAGS,
    types.NamedTuple([ITEMS, INTEGERS, _FLOATS, _FLOATS, _FLOATS], Found),
    types.NamedUniTuple(INTEGERS, 3, Copies),
    types.NamedTuple([SCORES, SCORES, _CUBE, _FLOATS], Totals),
)
