"""Checks of given neighbor lists, row by row, and their packing into arrays that a search returns.

Every row is checked alone, so that lists larger than the memory can be checked as they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .._validation import check_finite
from ..kernel import jit
from ._lists import NeighborLists

SAMPLED = 256  # rows from which similarities are told from distances


@dataclass(frozen=True)
class ListFormat:
    """How given lists are to be read.

    Attributes
    ----------
    n_items : int
        Number of samples.
    width : int
        Number of entries in a row of the given arrays.
    measured : bool
        Whether there are distances.
    approximate, drop_self : bool
        As in `Neighbors.from_lists`.
    """

    n_items: int
    width: int
    measured: bool
    approximate: bool
    drop_self: bool

    @property
    def max_depth(self) -> int:
        """The most neighbors that a row can hold."""
        return min(self.width, self.n_items - 1)

    @property
    def may_be_similarities(self) -> bool:
        """Whether distances that decrease are a mistake; in lists of one's own this order is intended."""
        return self.measured and (self.approximate or self.drop_self)

    def mark(self, raw: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Check the indices of some rows, whose numbers are `rows`.

        Returns
        -------
        items : int64 ndarray of shape (n_rows, width)
        keep : bool ndarray of shape (n_rows, width)
            Which of them are neighbors.
        lengths : int64 ndarray of shape (n_rows,)
            Their numbers.

        Raises
        ------
        ValueError
            If an index is out of range, repeated or the sample itself, or a row holds no neighbor.
        """
        items = raw.astype(np.int64)
        keep = np.empty(raw.shape, bool)
        lengths = np.empty(len(raw), np.int64)
        marker = self._missing_marker(raw)
        may_miss, missing = marker is not None, 0 if marker is None else int(marker.astype(np.int64))
        bad = _mark_neighbors(items, rows, self.n_items, may_miss, missing, self.drop_self, keep, lengths)
        if bad >= 0:
            self._refuse(raw[bad], int(rows[bad]))
        return items, keep, lengths

    def pack(self, rows: Array, raw: Array, found: Array | None) -> tuple[NeighborLists, bool, bool]:
        """The lists of some rows from their indices and distances; whether distances rise, or fall.

        Raises
        ------
        ValueError, TypeError
            As `mark`, or if a distance is not finite.
        """
        given, keep, lengths = self.mark(raw, rows)
        depth = self.max_depth
        items = np.zeros((len(rows), depth), np.int32)
        if found is None:
            pack_items(given, keep, items)
            values = np.broadcast_to(np.arange(depth, dtype=np.float64), items.shape)
            return NeighborLists(items, values, lengths, np.zeros(len(rows), bool)), False, False
        values = np.full((len(rows), depth), np.inf)
        rises, falls = pack_lists(given, as_finite(found, keep, rows), keep, items, values)
        return NeighborLists(items, values, lengths, lengths < self.n_items - 1), rises, falls

    def refuse_similarities(self, rises: bool, falls: bool, where: str = "all lists") -> None:
        """Raise ValueError if distances fall along lists, and never rise."""
        if self.may_be_similarities and falls and not rises:
            msg = (
                f"distances decrease along {where}, as similarities do; pass distances (for example the "
                "negative similarities), the nearest first"
            )
            raise ValueError(msg)

    def _missing_marker(self, raw: Array) -> Array | None:
        """The entry that stands for no neighbor, a 0-d array: -1, or the largest unsigned integer."""
        marker = np.array(-1).astype(raw.dtype)
        return None if not self.approximate or 0 <= marker < self.n_items else marker

    def _refuse(self, given: Array, row: int) -> None:
        """Raise ValueError for the first mistake in a row of indices."""
        marker = self._missing_marker(given)
        seen: set[int] = set()
        for j, item in enumerate(given.tolist()):
            if marker is not None and item == marker:
                continue
            if j and marker is not None and given[j - 1] == marker:
                missing = f"indices[{row}, {j - 1}] = {given[j - 1]}"
                msg = f"indices[{row}] continues after {missing}, a missing neighbor"
                raise ValueError(msg)
            if not 0 <= item < self.n_items:
                hint = ", or -1 for none with approximate=True" if item == -1 else ""
                msg = f"indices[{row}, {j}] is {item}; it must be between 0 and {self.n_items - 1}{hint}"
                raise ValueError(msg)
            if item == row and not self.drop_self:
                msg = f"indices[{row}] holds the sample itself; leave it out, or pass drop_self=True"
                raise ValueError(msg)
            if item in seen:
                msg = f"indices[{row}] holds sample {item} twice"
                raise ValueError(msg)
            if item != row:
                seen.add(item)
        msg = f"indices[{row}] holds no neighbor"
        raise ValueError(msg)


def as_finite(found: Array, keep: Array, rows: Array) -> Array:
    """Distances of some rows as float64, checked where `keep` is set.

    Raises
    ------
    ValueError
        If the distance of a neighbor is not finite, or an integer that is not exact in float64.
    """
    if found.dtype.kind in "iu" and found.dtype.itemsize > 4:
        large = keep & ((found > 2**53) | (found < -(2**53) if found.dtype.kind == "i" else False))
        if large.any():
            r, j = (int(at) for at in np.argwhere(large)[0])
            shown = f"distances[{rows[r]}, {j}] is {found[r, j]}"
            msg = f"{shown}; integers beyond 2**53 are not exact in float64"
            raise ValueError(msg)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(found, dtype=np.float64)
    bad = keep & ~np.isfinite(values)
    if bad.any():
        r = int(np.argwhere(bad)[0][0])
        check_finite("distances", np.where(keep[r], values[r], 0.0)[None], int(rows[r]))
    return values


def follow_each_other(rows: Array) -> bool:
    """Return True if the rows are some consecutive ones, in their order."""
    return bool(len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all())


def take_rows(array: Array, rows: Array) -> Array:
    """Some rows of an array, as a view if they follow each other."""
    return array[int(rows[0]) : int(rows[-1]) + 1] if follow_each_other(rows) else array[rows]


def spread_rows(start: int, stop: int) -> Array:
    """Up to `SAMPLED` rows, from `start` to before `stop`, at about equal distances."""
    return np.unique(np.linspace(start, stop - 1, SAMPLED).astype(np.int64))


@jit
def _mark_neighbors(raw, rows, n_items, may_miss, missing, drop_self, keep, lengths):
    """Mark the neighbors in each row and count them; return the first row with a mistake, or -1.

    A row's samples are looked up in a small table, so that the time does not depend on the number of all
    samples. ``stamps`` has the last row that used a place of the table.
    """
    size = 4
    while size < 2 * raw.shape[1]:
        size *= 2
    direct = n_items <= size
    keys = np.empty(size, np.int64)
    stamps = np.full(size, -1)
    for r in range(len(raw)):
        lengths[r] = 0
        ended = False
        for j in range(raw.shape[1]):
            item = raw[r, j]
            keep[r, j] = False
            if may_miss and item == missing:
                ended = True
                continue
            if ended or item < 0 or item >= n_items:
                return r
            if item == rows[r]:
                if not drop_self:
                    return r
                continue
            place = item if direct else (item * 2654435761 >> 15) & (size - 1)
            while stamps[place] == r:
                if keys[place] == item:
                    return r
                place = (place + 1) & (size - 1)
            keys[place] = item
            stamps[place] = r
            keep[r, j] = True
            lengths[r] += 1
        if lengths[r] == 0:
            return r
    return -1


@jit
def pack_items(raw, keep, items):
    """Fill the lists with the entries to keep, in their order."""
    for r in range(len(raw)):
        n = 0
        for j in range(raw.shape[1]):
            if keep[r, j]:
                items[r, n] = raw[r, j]
                n += 1


@jit
def pack_lists(raw, found, keep, items, values):
    """Fill the lists, sorted by (value, index); return whether given values rise, and whether they fall."""
    rises = False
    falls = False
    for r in range(len(raw)):
        n = 0
        sorted_already = True
        for j in range(raw.shape[1]):
            if keep[r, j]:
                items[r, n] = raw[r, j]
                values[r, n] = found[r, j]
                if n > 0:
                    rises = rises or values[r, n] > values[r, n - 1]
                    falls = falls or values[r, n] < values[r, n - 1]
                    if values[r, n] < values[r, n - 1] or (
                        values[r, n] == values[r, n - 1] and items[r, n] < items[r, n - 1]
                    ):
                        sorted_already = False
                n += 1
        if not sorted_already:
            by_index = np.argsort(items[r, :n])
            order = by_index[np.argsort(values[r, :n][by_index], kind="mergesort")]
            items[r, :n] = items[r, :n][order]
            values[r, :n] = values[r, :n][order]
    return rises, falls
