# mypy: allow-untyped-defs
"""Euclidean distances and angles from queries to a gallery, as matrix products.

The orders and ties are those of distances that are measured pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .._base.parallel import one_blas_thread
from .._base.typing import Array
from ..kernel import jit
from ._inputs import span
from ._metrics import ALIASES, Metric, compare_by, unit_rows
from ._sources import mixed

TILE = 64
"""Queries of one matrix product; blocks of any size are cut from these, so that they have the same bits."""
PIECE = 4096
"""Gallery items of one matrix product; the same for every block, so that the bits are the same."""
PREPARED_BYTES = 2**28
"""Galleries up to this size are prepared once, larger ones whenever they are needed."""
CELL = 1024.0  # widths; less than 2**53 / 4 cells then have all values
HASH = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio: multiplicative hashing (Knuth, 6.4)


class Products:
    """Squared Euclidean distances to the gallery, less a constant of the query, as matrix products.

    Where the rounding of products could decide an order or lose a tie, values are measured again pair by
    pair, and the values of the query become places from 0 to n_gallery - 1. Integers need none of this.

    Parameters
    ----------
    queries, gallery : ndarray of shape (n, n_features)
    prepare : callable
        Rows in float64 and one length for angles, from stored rows.
    """

    def __init__(self, queries: Array, gallery: Array, prepare: Any) -> None:
        self._queries, self._gallery, self._prepare = queries, gallery, prepare
        # Equal gallery items tie to the last bit only if they are multiplied once.
        self._places, self._kept = self._distinct()
        n = len(gallery) if self._kept is None else len(self._kept)
        self._starts = range(0, n, PIECE)
        self._center = np.zeros(gallery.shape[1])  # keeps the squares small
        for rows in map(self._rows, self._starts):
            self._center += rows.sum(axis=0)
        self._center /= n
        self._integers = all((np.rint(rows) == rows).all() for rows in map(self._rows, self._starts))
        if self._integers:
            self._center = np.rint(self._center)
        self._squares = np.empty(n)
        self._ready: list[Array] | None = [] if 8 * n * gallery.shape[1] <= PREPARED_BYTES else None
        for start in self._starts:
            centered = self._rows(start) - self._center
            self._squares[start : start + PIECE] = np.einsum("ij,ij->i", centered, centered)
            if self._ready is not None:
                centered *= -2
                self._ready.append(centered.T)
        self._longest = np.sqrt(self._squares.max())

    def __call__(self, start: int, stop: int) -> Array:
        """Values of some queries, of shape (stop - start, n_gallery)."""
        values, width = self._products(start, stop)
        self._separate(self._queries[start:stop], values, width)
        return values if self._places is None else values.take(self._places, axis=1)  # in the order of C

    def rough(self, start: int, stop: int) -> tuple[Array, Array]:
        """Values as the products are, and for each query the difference up to which two may be confused."""
        if self._places is None:
            return self._products(start, stop)
        return self(start, stop), np.zeros(stop - start)

    def _products(self, start: int, stop: int) -> tuple[Array, Array]:
        first = start - start % TILE
        queries = self._prepare(self._queries[first : -(-stop // TILE) * TILE]) - self._center
        values = np.empty((stop - start, len(self._squares)))
        with one_blas_thread():
            for column, piece in zip(self._starts, self._pieces(), strict=True):
                columns = slice(column, column + PIECE)
                for tile in range(first, stop, TILE):
                    found = queries[tile - first : tile - first + TILE] @ piece
                    begin, end = max(tile, start), min(tile + TILE, stop)
                    part = found[begin - tile : end - tile]
                    np.add(part, self._squares[columns], out=values[begin - start : end - start, columns])
        centered = queries[start - first : stop - first]
        both = (np.sqrt(np.einsum("ij,ij->i", centered, centered)) + self._longest) ** 2
        # Products of d features are wrong by (d + 6) units of rounding at most, exact distances by d + 2.
        width = (4 * centered.shape[1] + 32) * 2.0**-53 * both
        if self._integers:  # all sums are integers
            width[(np.rint(centered) == centered).all(axis=1) & (both < 2.0**52)] = 0.0
        return values, width

    def _separate(self, stored: Array, values: Array, width: Array) -> None:
        """Give the queries of which some values may be out of order, or tied, the places of the items."""
        close = np.zeros(len(values), np.bool_)
        find_close(values, width, close)
        for r in np.flatnonzero(close):
            order = np.argsort(values[r], kind="stable")
            apart = np.diff(values[r, order]) > width[r]
            again = order[~(np.append(apart, True) & np.append(True, apart))]
            exact, query = np.zeros(len(order)), self._prepare(stored[r : r + 1])
            for start in range(0, len(again), PIECE):
                some = again[start : start + PIECE]
                rows = self._prepare(self._gallery[some if self._kept is None else self._kept[some]])
                exact[some] = compare_by("sqeuclidean", query, rows)[0]
            runs = np.append(0, np.cumsum(apart))
            sorting = np.lexsort((exact[order], runs))
            order, runs = order[sorting], runs[sorting]
            new = (np.diff(runs) > 0) | (np.diff(exact[order]) > 0)
            values[r, order] = np.append(0, np.cumsum(new))

    def _pieces(self) -> Iterator[Array]:
        """The right factors of the products, of shape (n_features, PIECE)."""
        if self._ready is not None:
            yield from self._ready
            return
        for start in self._starts:
            yield (-2 * (self._rows(start) - self._center)).T

    def _rows(self, start: int) -> Array:
        """Prepared rows of the different gallery items from `start` on."""
        at = slice(start, start + PIECE)
        return np.asarray(self._prepare(self._gallery[at if self._kept is None else self._kept[at]]))

    def _distinct(self) -> tuple[Array | None, Array | None]:
        """The number of the different item of every gallery item, and those items; None if all differ."""
        prepare, gallery, n = self._prepare, self._gallery, len(self._gallery)
        numbers = np.empty(n, np.uint64)
        for start in range(0, n, PIECE):
            numbers[start : start + PIECE] = mixed(prepare(gallery[start : start + PIECE]))
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        if len(first) == n:
            return None, None
        owner = first[inverse.ravel()]
        copies = np.flatnonzero(owner != np.arange(n))
        for start in range(0, len(copies), PIECE):
            some = copies[start : start + PIECE]
            unlike = (prepare(gallery[some]) != prepare(gallery[owner[some]])).any(axis=1)
            owner[some[unlike]] = some[unlike]  # different rows that are mixed to one number
        kept = np.unique(owner)
        return np.searchsorted(kept, owner), kept


@jit
def find_close(values, width, close):
    """Find rows in which two values differ by no more than `width`; rows of width 0 are none; O(values).

    Values are put into cells of many widths, which are hashed; values of one number are linked and
    compared, and those near an edge with the next cell. Rows with too many comparisons count as close.
    """
    n_rows, n = values.shape
    bits = 3
    while 1 << bits < 4 * n:
        bits += 1
    newest, older, shift = np.empty(1 << bits, np.int32), np.empty(n, np.int32), np.uint64(64 - bits)
    for r in range(n_rows):
        if not width[r] > 0.0:
            continue
        newest[:] = -1
        row, left, scale = values[r], n, 1.0 / (CELL * width[r])
        for i in range(n):
            cell = np.floor(row[i] * scale)
            edge = row[i] * scale - cell
            beside = cell - (edge < 2.0 / CELL) + (edge > 1.0 - 2.0 / CELL)
            at = (np.uint64(np.int64(cell)) * HASH) >> shift
            older[i] = other = newest[at]
            newest[at] = i
            for _ in range(1 + (beside != cell)):
                while other >= 0 and left >= 0:
                    left = -1 if abs(row[i] - row[other]) <= width[r] else left - 1
                    other = older[other]
                other = newest[(np.uint64(np.int64(beside)) * HASH) >> shift]
            if left < 0:
                close[r] = True
                break


def row_preparation(queries: Array, gallery: Array, metric: Metric, params: Any) -> Any:
    """The function that prepares rows alone, if products of them order as the metric does; else None."""
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else ""
    if params or name not in ("euclidean", "sqeuclidean", "cosine", "correlation"):
        return None
    if name in ("cosine", "correlation"):
        prepare = partial(_unit, name == "correlation")
        return None if any(_some_without_direction(rows, name) for rows in (queries, gallery)) else prepare
    spans = span(queries), span(gallery)
    moderate = all(largest <= 500 and smallest >= -450 for largest, smallest in spans)
    return double if moderate else None


def double(rows: Array) -> Array:
    return np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # no negative zeros


def _unit(centered: bool, rows: Array) -> Array:
    return unit_rows(np.ascontiguousarray(rows, dtype=np.float64), centered=centered)[0] + 0.0


def _some_without_direction(rows: Array, name: str) -> bool:
    """Return True if a row is zero, or constant under correlation."""
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        low = piece[:, :1] if name == "correlation" else 0
        if (piece == low).all(axis=1).any():
            return True
    return False
