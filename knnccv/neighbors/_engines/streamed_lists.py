"""Given neighbor lists that are not in memory: every search reads, checks and packs its rows."""

from __future__ import annotations

from typing import Protocol

from ..._parallel import Parts, held_part
from ..._typing import Array
from .._given_rows import ListFormat
from .._lists import NeighborLists
from .engine import Engine

MOST_ROWS = 4096
BLOCK_ENTRIES = 2**19  # of indices that are packed at once


class Reader(Protocol):
    """Reads rows of given lists, in any thread."""

    @property
    def parts(self) -> Parts | None:
        """The lists in parts that travel with tasks; None if a worker reads them by itself."""

    def check_sendable(self) -> None:
        """Raise TypeError if a worker cannot read the lists by itself."""

    def read(self, rows: Array) -> tuple[Array, Array | None]:
        """The indices of some rows, shape (n_rows, width), and their distances, if there are any."""


class HeldLists:
    """Reads the part of the lists that came with the task of this thread."""

    parts = None

    def check_sendable(self) -> None:
        """Do nothing: there are no lists yet."""

    def read(self, rows: Array) -> tuple[Array, Array | None]:
        """The indices of some rows, and their distances, if there are any."""
        found: tuple[Array, Array | None] = held_part().read(rows)
        return found


class StreamedLists(Engine):
    """Reads neighbor lists row by row.

    Parameters
    ----------
    reader : Reader
    how : ListFormat
    """

    holds_lists = True

    def __init__(self, reader: Reader, how: ListFormat) -> None:
        self.reader = reader
        self.how = how
        self.max_depth = how.n_items

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the given ones.

        Raises
        ------
        ValueError
            If one of these rows is no neighbor list.
        """
        lists, _, _ = self.how.pack(rows, *self.reader.read(rows))
        return lists.cut(slice(None), min(depth, self.how.max_depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return max(1, min(MOST_ROWS, BLOCK_ENTRIES // self.how.width))
