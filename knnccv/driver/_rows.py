"""The compiled pass over a block of samples."""

from __future__ import annotations

import numpy as np
from numba import types

from .._typing import Array
from ..kernel import CONSTRAINTS, KERNEL, LABELS, Order, jit
from ..neighbors import NeighborLists, Neighbors
from ._tails import labels_differ


@jit
def score_rows(kernel, items, values, lengths, targets, average_ties, labels, constraints, out, ties, stop):  # type: ignore[no-untyped-def]
    """A_x of every row by the kernel, and where the first tied group of different labels begins, or -1.

    Ends early once ``stop[0]`` is set.
    """
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        length = int(lengths[r])
        first = -1
        for i in range(length):
            order[i] = int(items[r, i])
        for i in range(1, length):
            if values[r, i] == values[r, i - 1] and labels_differ(labels, items[r, i], items[r, i - 1]):
                first = i
                break
        while first > 0 and values[r, first] == values[r, first - 1]:
            first -= 1
        if average_ties:
            end = length
            for i in range(length - 1, -1, -1):
                if i + 1 < length and values[r, i] != values[r, i + 1]:
                    end = i + 1
                group_end[i] = end
        ties[r] = first
        out[r] = kernel(Order(order[:length], group_end[:length]), labels, targets[r], constraints)


SCORE_ROWS = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.boolean,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.boolean, 1, "C"),
)


def usable_lengths(lists: NeighborLists, neighbors: Neighbors, average_ties: bool) -> Array:
    """How far the lists tell what the tie rule needs: a tied group that may go on is left out.

    Not so where ties go by index and so do the lists: what is there of a group then is the first of it.
    """
    if average_ties or not neighbors.ordered_by_index:
        return np.where(lists.may_tie_beyond, _closed_lengths(lists.values, lists.lengths), lists.lengths)
    return lists.lengths


@jit
def _closed_lengths(values, lengths):  # type: ignore[no-untyped-def]
    """Lengths without the last tied group, which may go on beyond the list."""
    closed = np.empty(len(lengths), np.int64)
    for r in range(len(lengths)):
        end = lengths[r]
        last = end - 1
        while last > 0 and values[r, last - 1] == values[r, end - 1]:
            last -= 1
        closed[r] = last
    return closed
