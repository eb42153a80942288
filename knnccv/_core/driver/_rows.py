# mypy: allow-untyped-defs
"""The compiled passes over the lists of a block of samples; ties are found and ordered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..._base.typing import Array
from ...kernel import CONSTRAINTS, DISTANCE_KERNEL, JOINT_KERNEL, KERNEL, LABELS, Labels, Order, inner, jit
from ...neighbors import NeighborLists, Neighbors

ITEMS = types.Array(types.int32, 2, "C")
DISTANCES = types.Array(types.float64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
SCORES = types.Array(types.float64, 1, "C")


class Rows(NamedTuple):
    """The lists of a block of tested samples, the ``targets``, as compiled passes read them.

    ``items`` and ``values`` (n_rows, depth) matter up to the ``lengths`` (n_rows,).
    """

    items: Array
    values: Array
    lengths: Array
    targets: Array
    average_ties: bool


ROWS = types.NamedTuple([ITEMS, DISTANCES, INTEGERS, INTEGERS, types.boolean], Rows)


@inner
def fill_group_ends(values, length, group_end):
    """``group_end[i]`` = one past the last of the first `length` positions that tie position i."""
    end = length
    for i in range(length - 1, -1, -1):
        if i + 1 < length and values[i] != values[i + 1]:
            end = i + 1
        group_end[i] = end


@inner
def order_of(order, group_end, items, values, length, average_ties):
    """The neighbor order of a row, in the first `length` entries of `order` and `group_end`."""
    for i in range(length):
        order[i] = int(items[i])
    if average_ties:
        fill_group_ends(values, length, group_end)
    return Order(order[:length], group_end[:length])


@jit
def score_rows(kernel, rows, labels, constraints, out, stop):
    """A_x of every row by the kernel; ends early once ``stop[0]`` is set."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        out[r] = kernel(near, labels, targets[r], constraints)


@jit
def score_rows_by_distance(kernel, rows, distances, labels, constraints, out, stop):
    """A_x of every row by a kernel that sees distances; ends early once ``stop[0]`` is set."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        length = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], length, average_ties)
        out[r] = kernel(near, distances[r, :length], labels, targets[r], constraints)


@jit
def score_jointly(kernel, rows, labels, constraints, scores, tails, stop):
    """Scores and tails (n_rows, n_kinds) of the rows; ends early at ``stop[0]``."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        kernel(near, labels, targets[r], constraints, scores[r], tails[r])


_STOP = types.Array(types.boolean, 1, "C")
SCORE_ROWS = types.void(KERNEL, ROWS, LABELS, CONSTRAINTS, SCORES, _STOP)
SCORE_ROWS_BY_DISTANCE = types.void(DISTANCE_KERNEL, ROWS, DISTANCES, LABELS, CONSTRAINTS, SCORES, _STOP)
SCORE_JOINTLY = types.void(JOINT_KERNEL, ROWS, LABELS, CONSTRAINTS, DISTANCES, DISTANCES, _STOP)


def usable_lengths(lists: NeighborLists, neighbors: Neighbors, average_ties: bool) -> Array:
    """Lengths up to which the tie rule can use the lists, int64 (n_rows,).

    A last tied group that may go on beyond the list is left out, unless both the tie rule and the lists
    order ties by index: the listed part of the group is then its beginning.
    """
    if average_ties or not neighbors.ordered_by_index:
        return np.where(lists.may_tie_beyond, _closed_lengths(lists.values, lists.lengths), lists.lengths)
    return lists.lengths


@jit
def _closed_lengths(values, lengths):
    """Lengths without the last tied group."""
    closed = np.empty(len(lengths), np.int64)
    for r in range(len(lengths)):
        end = lengths[r]
        last = end - 1
        while last > 0 and values[r, last - 1] == values[r, end - 1]:
            last -= 1
        closed[r] = last
    return closed


@inner
def labels_differ(labels, one, other):
    """Return True if two samples have different classes or targets."""
    if labels.classes[one] != labels.classes[other]:
        return True
    for output in range(labels.values.shape[1]):
        if labels.values[one, output] != labels.values[other, output]:
            return True
    return False


@inner
def first_mixed_tie(items, values, length, labels):
    """First position whose sample ties the one before it and has another label, or -1."""
    for i in range(1, length):
        if values[i] == values[i - 1] and labels_differ(labels, items[i], items[i - 1]):
            return i
    return -1


@jit
def first_mixed_groups(items, values, lengths, labels, out):
    """``out[r]`` = start of the first tied group of different labels in row r, or -1; O(depth) per row."""
    for r in range(len(lengths)):
        start = first_mixed_tie(items[r], values[r], lengths[r], labels)
        while start > 0 and values[r, start] == values[r, start - 1]:
            start -= 1
        out[r] = start


def mixed_groups(lists: Any, lengths: Array, labels: Labels) -> Array:
    """The start of the first tied group of different labels in every list, int64 (n_rows,); -1 for none."""
    found = np.empty(len(lengths), np.int64)
    first_mixed_groups(lists.items, lists.values, lengths, labels, found)
    return found


def order_ties_by_score(
    lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, scores: Array, order: int
) -> NeighborLists:
    """The lists with the lowest (`order` -1) or highest (1) single score first in each tied group.

    ``scores[own_class, c]`` is the single score of a sample of class c: the score if it alone decides.
    """
    items = lists.items.copy()
    _order_ties(items, lists.values, lengths, rows, labels.classes, labels.values, scores, order)
    return replace(lists, items=items)


@jit
def _order_ties(items, distances, lengths, rows, classes, values, scores, order):
    """Sort every tied group, stably, by the single scores of its samples; O(b^2) for b tied samples."""
    keys = np.empty(items.shape[1])
    for r in range(len(rows)):
        own_class = classes[rows[r]]
        for i in range(lengths[r]):
            item = items[r, i]
            key = scores[own_class, classes[item]]
            for output in range(values.shape[1]):
                gap = values[item, output] - values[rows[r], output]
                key += gap * gap
            key *= order
            at = i
            while at > 0 and distances[r, at - 1] == distances[r, i] and keys[at - 1] < key:
                keys[at] = keys[at - 1]
                items[r, at] = items[r, at - 1]
                at -= 1
            keys[at] = key
            items[r, at] = item
