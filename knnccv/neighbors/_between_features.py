"""Distances from queries to a gallery, computed from their features in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parallel import one_blas_thread
from .._typing import Array
from .._validation import as_reals, refuse_fitted
from ._between import TILE, Between
from ._distinct_rows import distinct_rows
from ._metrics import Metric, ranking


class BetweenFeatures(Between):
    """Feature vectors: matrix products for Euclidean distances and angles, scipy's distances otherwise."""

    def __init__(self, queries: Array, gallery: Array, metric: Metric, params: Any, same: Array | None):
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        super().__init__(len(queries), len(gallery), name, same)
        prepared = ranking(np.concatenate([queries, gallery]), metric, params)
        products = prepared.kind == "sqeuclidean"
        self._compare = prepared.compare
        self._queries, self._gallery = prepared.data[: len(queries)], prepared.data[len(queries) :]
        del prepared  # its data may be large
        self._products = products
        self._places: Array | None = None
        if self._products:
            # Equal gallery items tie to the last bit only if they are multiplied once.
            places = distinct_rows(self._gallery, 1)
            if places is not None and int(places.max()) + 1 < len(gallery):
                first = np.unique(places, return_index=True)[1]
                self._places, self._gallery = places, self._gallery[first]
            center = self._gallery.mean(axis=0, dtype=np.float64)  # keeps the squares small
            self._queries = self._queries - center
            centered = self._gallery - center
            self._squares = np.einsum("ij,ij->i", centered, centered)
            centered *= -2
            self._gallery = centered.T

    def _values(self, start: int, stop: int) -> Array:
        if not self._products:
            return self._compare(self._queries[start:stop], self._gallery)
        values = np.empty((stop - start, self.n_gallery))
        for tile in range(start - start % TILE, stop, TILE):
            rows = self._queries[tile : tile + TILE]
            with one_blas_thread():
                found = rows @ self._gallery + self._squares
            begin, end = max(tile, start), min(tile + len(rows), stop)
            if (begin, end) == (start, stop) and self._places is None:
                return np.asarray(found[begin - tile : end - tile])
            part = found[begin - tile : end - tile]
            values[begin - start : end - start] = part if self._places is None else part[:, self._places]
        return values


def as_features(name: str, X: Any) -> Array:
    """Features of queries or gallery as a float64 array of two dimensions."""
    refuse_fitted(name, X)
    if hasattr(X, "tocsr"):
        msg = f"{name} is a sparse matrix; pass {name}.toarray()"
        raise TypeError(msg)
    data = as_reals(name, X, f"{name} must hold real numbers")
    if data.ndim != 2 or 0 in data.shape:
        msg = f"{name} must have shape (n_items, n_features), got {data.shape}"
        raise ValueError(msg)
    return data
