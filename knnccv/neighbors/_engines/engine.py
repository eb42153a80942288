# mypy: allow-untyped-defs
"""Neighbor lists, also restricted to some samples; the protocol of engines that find them; stored lists.

Lists are found in bounded heaps: each row of two arrays keeps its smallest pairs (value, sample). Pairs are
compared by value and then by sample, so the result does not depend on the order in which they are offered.
Short rows are sorted arrays, which is faster up to some hundred pairs. Long rows are binary heaps with the
largest pair in front.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..._base.typing import Array
from ...kernel import inner, jit

BLOCK_ROWS = 512
STORED_ROWS = 4096
Built = TypeVar("Built")


def together(rows: Array | slice) -> Array | slice:
    """The rows; a slice, which saves a copy, if they follow each other."""
    if isinstance(rows, slice) or not len(rows) or rows[-1] - rows[0] != len(rows) - 1:
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1) if (np.diff(rows) == 1).all() else rows


@dataclass
class NeighborLists:
    """Neighbor lists of some samples, one per row.

    Attributes
    ----------
    items : int32 ndarray of shape (n_rows, depth)
        Neighbors, the nearest first.
    values : float64 ndarray of shape (n_rows, depth)
        Surrogate values that order them, ascending; equal values are ties.
    lengths : int64 ndarray of shape (n_rows,)
        Number of neighbors in each row; later entries of `items` and `values` are undefined.
    may_tie_beyond : bool ndarray of shape (n_rows,)
        Whether a sample beyond the list may tie the last one in it.
    """

    items: Array
    values: Array
    lengths: Array
    may_tie_beyond: Array

    @classmethod
    def of_full_rows(cls, items: Array, values: Array, may_tie_beyond: Array) -> NeighborLists:
        """Lists that are filled up to their last position."""
        n_rows, depth = items.shape
        return cls(items, values, np.full(n_rows, depth, np.int64), may_tie_beyond)

    @classmethod
    def empty(cls, n_rows: int, depth: int) -> NeighborLists:
        """Full rows without ties beyond them, to be filled."""
        shape = n_rows, depth
        return cls.of_full_rows(np.empty(shape, np.int32), np.empty(shape), np.zeros(n_rows, bool))

    def put(self, rows: Array, lists: NeighborLists) -> None:
        """Copy the lists of the samples `rows`, of the same depth, into these."""
        self.items[rows], self.values[rows] = lists.items, lists.values
        self.lengths[rows], self.may_tie_beyond[rows] = lists.lengths, lists.may_tie_beyond

    def cut(self, rows: Array | slice, depth: int) -> NeighborLists:
        """The lists of `rows`, cut at `depth`."""
        rows = together(rows)
        values = self.values[rows]
        lengths = self.lengths[rows]
        may_tie_beyond = self.may_tie_beyond[rows]
        if depth < values.shape[1]:
            longer = lengths > depth
            ties = values[:, depth - 1] == values[:, depth]
            may_tie_beyond = np.where(longer, ties, may_tie_beyond)
            lengths = np.minimum(lengths, depth)
        return NeighborLists(
            np.require(self.items[rows, :depth], requirements=("C", "W")),
            np.require(values[:, :depth], requirements=("C", "W")),
            np.ascontiguousarray(lengths),
            may_tie_beyond,
        )


def within(
    lists: NeighborLists,
    at: Array,
    table: Array,
    key: Array,
    wanted: Array,
    enough: int | Array,
    *,
    equal: bool = True,
) -> NeighborLists:
    """The lists of the rows `at`, each restricted to some samples, down to `enough` of them and their ties.

    Sample j stays in row r if ``table[key[r], j] == wanted[r]``; without `equal`, if these differ.
    ``enough`` is at least 1, one number or one for each row. What is beyond a length is arbitrary.
    """
    kept = NeighborLists.empty(len(at), lists.items.shape[1])
    most = np.full(len(at), enough)
    into = kept.items, kept.values, kept.lengths
    of_all, differ = (lists.items, lists.values, lists.lengths), None if equal else True
    keep_within(of_all, at, (table, key, wanted), most, differ, into)
    return kept


@jit
def keep_within(lists, at, wish, enough, differ, kept_lists):
    """Fill in the lists of `within`; whether `differ` is None is decided when this is compiled."""
    items, values, lengths = lists
    table, key, wanted = wish
    kept_items, kept_values, kept = kept_lists
    for r in range(len(at)):
        row, want, most = at[r], wanted[r], enough[r]
        marks = table[key[r]]
        n = 0
        for i in range(lengths[row]):
            item = items[row, i]
            kept_items[r, n] = item
            kept_values[r, n] = values[row, i]
            # Without a branch, which would be mispredicted half of the time in halves.
            if differ is None:
                n += marks[item] == want
            else:
                n += marks[item] != want
            if n > most and kept_values[r, n - 1] != kept_values[r, n - 2]:
                n -= 1
                break
        kept[r] = n


class Engine(ABC):
    """Finds the nearest samples of any tested samples.

    Attributes
    ----------
    max_depth : int
        Longest lists that the engine serves. An engine sets this to 0 if `prepare` finds that it does not
        suit the data.
    holds_lists : bool
        Whether the lists exist already, so that there is no gain in keeping them.
    """

    max_depth: int
    holds_lists: ClassVar[bool] = False

    def serves(self, depth: int) -> bool:
        """Return True if the engine finds lists of this depth."""
        return depth <= self.max_depth

    def prepare(self) -> None:  # noqa: B027
        """Build the search structure, once; later calls return immediately."""

    def search_all(self, depth: int, n_jobs: int | None = None, progress: bool = False) -> None:  # noqa: B027
        """Compare all samples at once in threads, if this makes later searches faster."""

    def release(self) -> None:  # noqa: B027
        """Free the memory that `search_all` took."""

    @abstractmethod
    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, int64 (n_rows,); call `prepare` first."""

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return BLOCK_ROWS

    def visiting_order(self, rows: Array) -> Array:
        """The rows, all different, in an order that makes the search fast."""
        return rows

    def vectors(self) -> Array | None:
        """Samples whose squared Euclidean distances are the values, if there are many columns; or None."""
        return None


class Lazy(Generic[Built]):
    """A value that the first caller builds while other threads wait; pickled without the value.

    Parameters
    ----------
    build : callable
        Returns the value; must be picklable.
    """

    def __init__(self, build: Callable[[], Built]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._values: list[Built] = []

    def __call__(self) -> Built:
        """The value, built by the first call."""
        if not self._values:
            with self._lock:
                if not self._values:
                    self._values.append(self._build())
        return self._values[0]

    @property
    def is_built(self) -> bool:
        """Return True if the value exists."""
        return bool(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._build,)


def serving(engines: Sequence[Engine], depth: int, *, prepare: bool) -> Engine:
    """The first engine that serves lists of this depth; the last one serves every depth."""
    for engine in engines:
        if prepare and engine.serves(depth):
            engine.prepare()
        if engine.serves(depth):
            break
    return engine


class StoredLists(Engine):
    """Reads neighbor lists of all samples, which the user gave or an earlier search found.

    Parameters
    ----------
    lists : NeighborLists
        Lists of all samples. Deeper searches return the whole lists.
    """

    holds_lists = True

    def __init__(self, lists: NeighborLists) -> None:
        self.lists = lists
        self.max_depth = lists.items.shape[1]

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the stored ones."""
        return self.lists.cut(rows, min(depth, self.max_depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return STORED_ROWS


SHORT = 128


@inner
def place_of_largest(width):
    """Position of the largest pair in a row of this width."""
    return width - 1 if width <= SHORT else 0


@inner
def offer(values, items, row, value, item):
    """Put a pair, whose value is at most the largest of the row, into it; return the new largest value."""
    last = place_of_largest(values.shape[1])
    if value < values[row, last] or item < items[row, last]:
        replace_largest(values, items, row, value, item)
    return values[row, last]


@inner
def replace_largest(values, items, row, value, item):
    """Replace a row's largest pair by this one, which must be smaller."""
    width = values.shape[1]
    if width > SHORT:
        _sift_down(values, items, row, width, value, item)
        return
    at = width - 1
    while at > 0 and (
        values[row, at - 1] > value or (values[row, at - 1] == value and items[row, at - 1] > item)
    ):
        values[row, at] = values[row, at - 1]
        items[row, at] = items[row, at - 1]
        at -= 1
    values[row, at] = value
    items[row, at] = item


@inner
def _sift_down(values, items, row, width, value, item):
    """Put a pair into the empty top of a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= width:
            break
        right = child + 1
        if right < width and (
            values[row, right] > values[row, child]
            or (values[row, right] == values[row, child] and items[row, right] > items[row, child])
        ):
            child = right
        if values[row, child] < value or (values[row, child] == value and items[row, child] < item):
            break
        values[row, at] = values[row, child]
        items[row, at] = items[row, child]
        at = child
    values[row, at] = value
    items[row, at] = item


@inner
def sort_row(values, items, row):
    """Sort a row in ascending order."""
    width = values.shape[1]
    if width <= SHORT:
        return
    for last in range(width - 1, 0, -1):
        value = values[row, last]
        item = items[row, last]
        values[row, last] = values[row, 0]
        items[row, last] = items[row, 0]
        _sift_down(values, items, row, last, value, item)
