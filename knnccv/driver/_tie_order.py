"""Neighbor lists whose tied samples are ordered by their single scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from ..kernel import Labels, jit

if TYPE_CHECKING:
    from ..neighbors import NeighborLists


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
