"""Neighbor lists whose tied samples are ordered by what they score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Array
from ..kernel import Labels, jit

if TYPE_CHECKING:
    from ..neighbors import NeighborLists


def order_ties_by_score(
    lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, losses: Array, which: int
) -> NeighborLists:
    """The lists with what scores lowest (LOW) or highest first within each tied group.

    ``losses[own, c]`` is what a sample of class c scores if it decides alone.
    """
    items = lists.items.copy()
    _order_ties(items, lists.values, lengths, rows, labels.classes, labels.values, losses, which)
    return replace(lists, items=items)


@jit
def _order_ties(items, distances, lengths, rows, classes, values, losses, which):  # type: ignore[no-untyped-def]
    """Sort every tied group, stably, by what its samples would score alone; O(b^2) for b tied samples."""
    keys = np.empty(items.shape[1])
    for r in range(len(rows)):
        own = classes[rows[r]]
        for i in range(lengths[r]):
            item = items[r, i]
            key = losses[own, classes[item]]
            for output in range(values.shape[1]):
                gap = values[item, output] - values[rows[r], output]
                key += gap * gap
            key *= which
            at = i
            while at > 0 and distances[r, at - 1] == distances[r, i] and keys[at - 1] < key:
                keys[at] = keys[at - 1]
                items[r, at] = items[r, at - 1]
                at -= 1
            keys[at] = key
            items[r, at] = item
