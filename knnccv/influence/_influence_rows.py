"""The compiled passes over a block of samples: how each score changes without each of its neighbors."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from ..driver import DISTANCES, INTEGERS, ITEMS, SCORES, order_of
from ..kernel import CONSTRAINTS, KERNEL, LABELS, REMOVAL_KERNEL, Order, jit


@jit
def add_changes(items, n_listed, own_class, alone, base, owners, first, weights, changes):
    """Add, for every listed sample whose removal counts, the weighted change of the score."""
    for i in range(n_listed):
        at = owners[items[i]] - first
        if 0 <= at < len(weights):
            changes[i] += weights[at, own_class] * (alone[i] - base)


@jit
def changes_at_once(
    kernel, items, values, lengths, targets, average_ties, labels, constraints, owners, first, weights,
    changes, bases, served, stop,
):  # fmt: skip
    """The changes of every row by a removal kernel, and the scores without a sample beyond the list.

    ``weights[g, c]`` is the weight of a tested sample of class c if the missing one has the owner
    ``first + g``; other missing samples do not count. ``served[r]`` is 1 for a row to skip, and stays 0 for
    a row left to other kernels.
    """
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    alone = np.empty(depth)
    for r in range(len(targets)):
        if stop[0]:
            break
        if served[r]:
            continue
        own_class = labels.classes[targets[r]]
        served[r] = 1
        if weights[:, own_class].max() == 0:
            continue
        n_listed = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], n_listed, average_ties)
        base = kernel(near, labels, targets[r], constraints, alone)
        if base == math.inf:
            served[r] = 0
            continue
        bases[r] = base
        add_changes(items[r], n_listed, own_class, alone, base, owners, first, weights, changes[r])


@jit
def earlier_alike(near, labels, i, alone):
    """A position before i whose removal leaves the same tied groups of the same classes, or i itself."""
    end = near.group_end[i]
    c = labels.classes[near.items[i]]
    p = i - 1
    while p >= 0 and near.group_end[p] == end:
        if labels.classes[near.items[p]] == c and not np.isnan(alone[p]):
            return p
        p -= 1
    if p != i - 1 or end != i + 1 or p < 0 or labels.classes[near.items[p]] != c or np.isnan(alone[p]):
        return i
    return p if p == 0 or near.group_end[p - 1] == p else i


@jit
def changes_one_by_one(
    kernel, items, values, lengths, targets, average_ties, labels, constraints, whole_list, removed, owners,
    first, weights, changes, bases, served, stop,
):  # fmt: skip
    """The same by the kernel of the rule, called for every position; once for positions that are alike.

    `removed` is the class of the missing sample, -1 for any of a fixed-size design. The constraints
    `whole_list` are for the list with all its samples.
    """
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    rest = np.empty(depth, labels.classes.dtype)
    rest_end = np.empty(depth, labels.classes.dtype)
    alone = np.empty(depth)
    by_class = labels.values.size == 0
    for r in range(len(targets)):
        if stop[0]:
            break
        if served[r]:
            continue
        target = targets[r]
        own_class = labels.classes[target]
        served[r] = 1
        if weights[:, own_class].max() == 0:
            continue
        n_listed = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], n_listed, average_ties)
        stratum = max(removed, 0)
        left = whole_list.counts[stratum]
        if removed < 0 or removed == own_class:
            left -= whole_list.held_out
        n_removable = n_listed
        if removed >= 0:
            n_removable = 0
            for i in range(n_listed):
                n_removable += labels.classes[near.items[i]] == removed
        base = 0.0
        if n_removable <= left:
            base = kernel(near, labels, target, whole_list)
        whole = base != math.inf
        for i in range(n_listed):
            if not whole:
                break
            alone[i] = np.nan
            at = owners[near.items[i]] - first
            if not 0 <= at < len(weights) or weights[at, own_class] == 0:
                continue
            like = earlier_alike(near, labels, i, alone) if by_class else i
            if like < i:
                alone[i] = alone[like]
                continue
            for p in range(n_listed - 1):
                old = p + (p >= i)
                rest[p] = near.items[old]
                end = near.group_end[old]
                rest_end[p] = end - (end > i)
            alone[i] = kernel(
                Order(rest[: n_listed - 1], rest_end[: n_listed - 1]), labels, target, constraints
            )
            whole = alone[i] != math.inf
        if not whole:
            served[r] = 0
            continue
        bases[r] = base
        for i in range(n_listed):
            if np.isnan(alone[i]):
                alone[i] = base
        add_changes(items[r], n_listed, own_class, alone, base, owners, first, weights, changes[r])


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


@jit
def add_rows(
    rows, items, lengths, classes, same, copies, changes, bases, tails, deltas, copy_deltas, base_sums,
    tail_sums,
):  # fmt: skip
    """Add the results of rows, in their order, to those of the samples.

    A row stands for its ``copies[x]`` equal samples, those with the same ``same[x]``. Each of them lists
    the others: ``copy_deltas[same[x]]`` is the sum for one of them.
    ``base_sums[:, 1]`` and ``[:, 0]`` of shape (n_tasks, 2, n_classes) are the sums and what rounding took.
    """
    for r in range(len(rows)):
        first, n = same[rows[r]], copies[rows[r]]
        met = False
        for i in range(lengths[r]):
            if n == 1 or same[items[r, i]] != first:
                deltas[items[r, i]] += n * changes[r, i]
            elif not met:
                met = True
                copy_deltas[first] += (n - 1) * changes[r, i]
        c = classes[rows[r]]
        for q in range(len(bases)):
            base = n * bases[q, r]
            tail_sums[q, c] += n * tails[q, r]
            total = base_sums[q, 1, c] + base
            if abs(base_sums[q, 1, c]) >= abs(base):
                base_sums[q, 0, c] += base_sums[q, 1, c] - total + base
            else:
                base_sums[q, 0, c] += base - total + base_sums[q, 1, c]
            base_sums[q, 1, c] = total


_FLOATS = types.Array(types.float64, 2, "C")
_FLAGS = types.Array(types.boolean, 1, "C")
_LISTS = (ITEMS, DISTANCES, INTEGERS, INTEGERS, types.boolean, LABELS, CONSTRAINTS)
_SUMS = (INTEGERS, types.int64, _FLOATS, _FLOATS, SCORES, INTEGERS, _FLAGS)
CHANGES_AT_ONCE = types.void(REMOVAL_KERNEL, *_LISTS, *_SUMS)
CHANGES_ONE_BY_ONE = types.void(KERNEL, *_LISTS, CONSTRAINTS, types.int64, *_SUMS)
WITHOUT_LAST_OF = types.void(ITEMS, INTEGERS, LABELS, types.int64, ITEMS)
ADD_ROWS = types.void(
    INTEGERS, ITEMS, INTEGERS, INTEGERS, INTEGERS, INTEGERS, _FLOATS, _FLOATS, _FLOATS, SCORES, SCORES,
    types.Array(types.float64, 3, "C"), _FLOATS,
)  # fmt: skip
