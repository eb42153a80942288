"""Neighbor lists that were given by the user or found by an earlier search."""

from __future__ import annotations

from ..._typing import Array
from .._lists import NeighborLists
from .engine import Engine

ROWS = 4096


class StoredLists(Engine):
    """Reads neighbor lists of all samples.

    Parameters
    ----------
    lists : NeighborLists
        Lists of all samples.
    max_depth : int, optional
        Default: the depth of the lists. Deeper searches return the whole lists.
    """

    holds_lists = True

    def __init__(self, lists: NeighborLists, max_depth: int | None = None) -> None:
        self.lists = lists
        self.depth = lists.items.shape[1]
        self.max_depth = self.depth if max_depth is None else max_depth

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the stored ones."""
        return self.lists.cut(rows, min(depth, self.depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return ROWS
