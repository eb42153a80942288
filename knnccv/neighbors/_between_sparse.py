"""Distances from queries to a gallery of sparse features, computed in blocks; no features become dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals
from ._between import Between
from ._between_features import name_of
from ._engines.sparse_rows import SparseRows, compare_rows
from ._metrics import Metric, ranking


class BetweenSparse(Between):
    """Sparse features: for every query one pass over the gallery's columns of its features.

    Parameters
    ----------
    queries, gallery : scipy sparse matrix of shape (n, n_features)
    metric, params
        As in `Neighbors.between`.
    same : int64 ndarray or None
    """

    def __init__(self, queries: Any, gallery: Any, metric: Metric, params: Any, same: Array | None) -> None:
        from scipy.sparse import csr_matrix, vstack  # takes 0.1 s, too long for `import knnccv`

        n_queries, n_gallery = queries.shape[0], gallery.shape[0]
        super().__init__(n_queries, n_gallery, name_of(metric), same)
        both = vstack([queries, gallery], format="csr")
        if both.shape[0] == both.shape[1]:  # would look like a graph
            both.resize(both.shape[0], both.shape[1] + 1)
        table = ranking(both, metric, params).data
        rows, n_features = table.rows, both.shape[1]
        cut = rows.starts[n_queries]
        self._queries = rows.starts[: n_queries + 1], rows.columns[:cut], rows.values[:cut]
        part = rows.values[cut:], rows.columns[cut:], rows.starts[n_queries:] - cut
        found = SparseRows.of(csr_matrix(part, shape=(n_gallery, n_features)))
        self._gallery = found.column_starts, found.rows, found.column_values
        self._sums = table.sums[:n_queries], table.sums[n_queries:]
        self._kind = table.kind

    def _values(self, start: int, stop: int) -> Array:
        values = np.empty((stop - start, self.n_gallery))
        compare_rows(*self._queries, *self._gallery, *self._sums, self._kind, start, values)
        return values


def check_sparse(name: str, X: Any) -> Any:
    """Sparse features of queries or gallery as CSR, checked.

    Raises
    ------
    ValueError, TypeError
        If they are not finite real numbers of two dimensions.
    """
    if not hasattr(X, "tocsr"):
        msg = f"queries and gallery must both be sparse or both dense, but {name} is dense"
        raise TypeError(msg)
    if len(X.shape) != 2 or 0 in X.shape:
        msg = f"{name} must have shape (n_items, n_features), got {X.shape}"
        raise ValueError(msg)
    csr = X.tocsr()
    if csr.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(csr.data))
        if len(bad):
            row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
            shown = f"{name}[{row}, {csr.indices[bad[0]]}] is {csr.data[bad[0]]}"
            msg = f"{shown}; every value must be finite"
            raise ValueError(msg)
    else:
        as_reals(f"the values stored in {name}", csr.data, f"{name} must hold real numbers")
    return csr
