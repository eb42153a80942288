"""Distances from queries to a gallery, computed from dense features in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import as_reals, check_finite, rectangular, refuse_fitted
from ._between import TILE, Between
from ._distinct_rows import mixed
from ._metrics import ALIASES, Metric, ranking, unit_rows
from ._scale import span

PIECE = 4096
"""Gallery items of one matrix product; the same for every block, so that the bits are the same."""
PREPARED_BYTES = 2**28
"""Galleries up to this size are prepared once, larger ones whenever they are needed."""


class BetweenFeatures(Between):
    """Feature vectors: matrix products for Euclidean distances and angles, scipy's distances otherwise.

    For products the features stay as they are stored, in single precision or memory-mapped, and become
    double precision piece by piece.
    """

    def __init__(self, queries: Array, gallery: Array, metric: Metric, params: Any, same: Array | None):
        super().__init__(len(queries), len(gallery), name_of(metric), same)
        self._products: _Products | None = None
        prepare = _by_rows(queries, gallery, metric, params)
        if prepare is None:
            prepared = ranking(np.concatenate([queries, gallery]), metric, params)
            queries, gallery = prepared.data[: len(queries)], prepared.data[len(queries) :]
            prepare = _double if prepared.kind == "sqeuclidean" else None
            self._compare = prepared.compare
        if prepare is not None:
            self._products = _Products(queries, gallery, prepare)
        else:
            self._queries, self._gallery = queries, gallery

    def _values(self, start: int, stop: int) -> Array:
        if self._products is not None:
            return self._products.block(start, stop)
        return self._compare(self._queries[start:stop], self._gallery)


class _Products:
    """Squared Euclidean distances to the gallery, less a constant of the query, as matrix products.

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
        self._squares = np.empty(n)
        self._ready: list[Array] | None = [] if 8 * n * gallery.shape[1] <= PREPARED_BYTES else None
        for start in self._starts:
            centered = self._rows(start) - self._center
            self._squares[start : start + PIECE] = np.einsum("ij,ij->i", centered, centered)
            if self._ready is not None:
                centered *= -2
                self._ready.append(centered.T)

    def block(self, start: int, stop: int) -> Array:
        """Values of some queries, of shape (stop - start, n_gallery)."""
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
        return values if self._places is None else values[:, self._places]

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
        rows: Array = self._prepare(self._gallery[at if self._kept is None else self._kept[at]])
        return rows

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


def name_of(metric: Metric) -> str:
    """The name of a metric, for display."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)


def as_features(name: str, X: Any) -> Array:
    """Features of queries or gallery, two dimensions, checked; floats of up to 64 bits are not copied."""
    refuse_fitted(name, X)
    must = f"{name} must hold real numbers"
    raw = X if np.ma.isMaskedArray(X) else rectangular(X, must)
    if raw.ndim != 2 or 0 in raw.shape:
        msg = f"{name} must have shape (n_items, n_features), got {raw.shape}"
        raise ValueError(msg)
    if np.ma.isMaskedArray(X) or raw.dtype not in (np.float16, np.float32, np.float64):
        return as_reals(name, X, must)
    check_finite(name, raw)
    return np.asarray(raw)


def _by_rows(queries: Array, gallery: Array, metric: Metric, params: Any) -> Any:
    """The function that prepares rows alone, if products of them order as the metric does; else None."""
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else ""
    if params or name not in ("euclidean", "sqeuclidean", "cosine", "correlation"):
        return None
    if name in ("cosine", "correlation"):
        prepare = partial(_unit, name == "correlation")
        return None if any(_some_without_direction(rows, name) for rows in (queries, gallery)) else prepare
    spans = span(queries), span(gallery)
    moderate = all(largest <= 500 and smallest >= -450 for largest, smallest in spans)
    return _double if moderate else None


def _double(rows: Array) -> Array:
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
