"""Checks of what users give in place of data: matrices, lists and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import as_reals, check_finite, rectangular
from ..kernel import Array


def as_matrix(D: Any) -> Array:
    """Dissimilarities as a square array of finite real numbers, not copied where that can be helped.

    Raises
    ------
    ValueError, TypeError
        If they are something else.
    """
    if hasattr(D, "tocsr"):
        msg = "the distances are a sparse matrix; use Neighbors.from_graph"
        raise TypeError(msg)
    must = "distances must be real numbers"
    matrix = rectangular(D, must)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        msg = f"distances must have shape (n_items, n_items) with n_items >= 2, got {matrix.shape}"
        raise ValueError(msg)
    if np.ma.is_masked(D) or matrix.dtype.kind != "f" or matrix.dtype.itemsize > 8:
        return as_reals("distances", D if np.ma.isMaskedArray(D) else matrix, must)
    # By blocks of rows: the matrix may be larger than what memory has room for twice.
    step = max(1, 2**21 // len(matrix))
    for start in range(0, len(matrix), step):
        check_finite("distances", matrix[start : start + step], start)
    return matrix


def check_indices(indices: Any) -> Array:
    """Neighbour lists as int32, or ValueError or TypeError: in range, not the item itself, none twice."""
    if np.ma.is_masked(indices):
        msg = "there are masked entries in indices; every value is needed"
        raise ValueError(msg)
    raw = rectangular(indices, "indices must be integers")
    if raw.ndim != 2 or raw.shape[0] < 2 or not 1 <= raw.shape[1] <= raw.shape[0] - 1:
        msg = f"indices must have shape (n_items, depth) with 1 <= depth < n_items, got {raw.shape}"
        raise ValueError(msg)
    if raw.dtype.kind not in "iu":
        msg = f"indices must be integers, got dtype {raw.dtype}"
        raise TypeError(msg)
    n_items = len(raw)
    bad = (raw < 0) | (raw >= n_items)
    if bad.any():
        r, j = (int(at) for at in np.argwhere(bad)[0])
        msg = f"indices[{r}, {j}] is {raw[r, j]}; it must be between 0 and {n_items - 1}"
        raise ValueError(msg)
    own = raw == np.arange(n_items)[:, None]
    if own.any():
        msg = f"indices[{int(np.argwhere(own)[0][0])}] holds the item itself; leave it out"
        raise ValueError(msg)
    ordered = np.sort(raw, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        r, j = (int(at) for at in np.argwhere(twice)[0])
        msg = f"indices[{r}] holds item {ordered[r, j]} twice"
        raise ValueError(msg)
    return raw.astype(np.int32)


def lists_of_graph(graph: Any) -> tuple[Array, Array, Array]:
    """A sparse graph as neighbour lists: items and values of shape (n_items, depth), and lengths.

    Raises
    ------
    ValueError, TypeError
        If it is not square and sparse, holds no distances, or a value is not finite.
    """
    if not hasattr(graph, "tocsr"):
        msg = f"graph must be a scipy sparse matrix, got {type(graph).__name__}"
        raise TypeError(msg)
    if graph.format not in {"csr", "csc", "coo", "lil", "dok"}:
        msg = (
            f"graph has format {graph.format!r}, which does not keep stored zeros apart from empty "
            "places; make it as csr, csc, coo, lil or dok"
        )
        raise ValueError(msg)
    csr = graph.tocsr(copy=True)
    if csr.ndim != 2 or csr.shape[0] != csr.shape[1] or csr.shape[0] < 2:
        msg = f"graph must have shape (n_items, n_items) with n_items >= 2, got {csr.shape}"
        raise ValueError(msg)
    if csr.dtype.kind not in "biuf":
        msg = f"graph must hold real distances, got dtype {csr.dtype}"
        raise TypeError(msg)
    stored = graph.nnz if graph.format == "coo" else csr.nnz  # making a csr adds duplicates up
    csr.sum_duplicates()
    if csr.nnz != stored:
        msg = "graph stores more than one distance for some pair of items"
        raise ValueError(msg)
    n_items = csr.shape[0]
    row_of = np.repeat(np.arange(n_items), np.diff(csr.indptr))
    keep = csr.indices != row_of
    rows, items, values = (
        row_of[keep],
        csr.indices[keep],
        as_reals("the stored values", csr.data[keep], "graph must hold real distances"),
    )
    if len(values) and (values == 1).all():
        msg = (
            'all values stored in graph are 1: it seems to hold connectivity; make it with mode="distance"'
        )
        raise ValueError(msg)
    lengths = np.bincount(rows, minlength=n_items).astype(np.int64)
    if not lengths.all():
        msg = f"item {int(np.argmin(lengths))} has no neighbours in the graph"
        raise ValueError(msg)
    order = np.lexsort((items, values, rows))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    column = np.arange(len(rows)) - np.repeat(starts, lengths)
    depth = int(lengths.max())
    padded_items = np.zeros((n_items, depth), np.int32)
    padded_values = np.full((n_items, depth), np.inf)
    padded_items[rows, column] = items[order]
    padded_values[rows, column] = values[order]
    return padded_items, padded_values, lengths
