"""The compiled pass over a block of samples: neighbor lists in, scores out."""

from __future__ import annotations

import numpy as np
from numba import types

from .._typing import Array
from ..kernel import CONSTRAINTS, DISTANCE_KERNEL, KERNEL, LABELS, Order, jit
from ..neighbors import NeighborLists, Neighbors

ITEMS = types.Array(types.int32, 2, "C")
DISTANCES = types.Array(types.float64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
SCORES = types.Array(types.float64, 1, "C")


@jit
def fill_group_ends(values, length, group_end):
    """``group_end[i]`` = one past the last of the first `length` positions that tie position i."""
    end = length
    for i in range(length - 1, -1, -1):
        if i + 1 < length and values[i] != values[i + 1]:
            end = i + 1
        group_end[i] = end


@jit
def order_of(order, group_end, items, values, length, average_ties):
    """The neighbor order of a row, in the first `length` entries of `order` and `group_end`."""
    for i in range(length):
        order[i] = int(items[i])
    if average_ties:
        fill_group_ends(values, length, group_end)
    return Order(order[:length], group_end[:length])


@jit
def score_rows(kernel, items, values, lengths, targets, average_ties, labels, constraints, out, stop):
    """A_x of every row by the kernel; ends early once ``stop[0]`` is set."""
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        out[r] = kernel(near, labels, targets[r], constraints)


@jit
def score_rows_by_distance(
    kernel, items, values, distances, lengths, targets, average_ties, labels, constraints, out, stop
):
    """A_x of every row by a kernel that sees distances; ends early once ``stop[0]`` is set."""
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        length = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], length, average_ties)
        out[r] = kernel(near, distances[r, :length], labels, targets[r], constraints)


SCORE_ROWS_BY_DISTANCE = types.void(
    DISTANCE_KERNEL,
    ITEMS,
    DISTANCES,
    DISTANCES,
    INTEGERS,
    INTEGERS,
    types.boolean,
    LABELS,
    CONSTRAINTS,
    SCORES,
    types.Array(types.boolean, 1, "C"),
)
SCORE_ROWS = types.void(
    KERNEL,
    ITEMS,
    DISTANCES,
    INTEGERS,
    INTEGERS,
    types.boolean,
    LABELS,
    CONSTRAINTS,
    SCORES,
    types.Array(types.boolean, 1, "C"),
)


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
