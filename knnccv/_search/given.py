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


def lists_of_indices(
    indices: Any, distances: Any, *, approximate: bool, drop_self: bool
) -> tuple[Array, Array, Array]:
    """Lists as other programs give them: items and values of shape (n_items, depth), and lengths.

    Without distances the values are positions. Missing neighbours, and items themselves if they are to be
    dropped, are taken out.

    Raises
    ------
    ValueError, TypeError
        If the shapes differ, an index is out of range, repeated or the item itself, a list is empty, or the
        distances are not finite or fall along all lists.
    """
    raw = _as_indices(indices, approximate=approximate, drop_self=drop_self)
    n_items, depth = raw.shape
    keep = np.ones(raw.shape, bool)
    if approximate:
        keep &= ~_missing(raw)
        goes_on = keep[:, 1:] & ~keep[:, :-1]
        if goes_on.any():
            r, j = (int(at) for at in np.argwhere(goes_on)[0])
            msg = f"indices[{r}] goes on after indices[{r}, {j}] = {raw[r, j]}, a missing neighbour"
            raise ValueError(msg)
    bad = keep & ((raw < 0) | (raw >= n_items))
    if bad.any():
        r, j = (int(at) for at in np.argwhere(bad)[0])
        hint = ", or -1 for none with approximate=True" if raw[r, j] == -1 else ""
        msg = f"indices[{r}, {j}] is {raw[r, j]}; it must be between 0 and {n_items - 1}{hint}"
        raise ValueError(msg)
    own = keep & (raw == np.arange(n_items)[:, None])
    if own.any() and not drop_self:
        at = int(np.argwhere(own)[0][0])
        msg = f"indices[{at}] holds the item itself; leave it out, or pass drop_self=True"
        raise ValueError(msg)
    # What is missing is not there twice.
    ordered = np.sort(np.where(keep, raw.astype(np.int64), n_items + np.arange(depth)), axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        r, j = (int(at) for at in np.argwhere(twice)[0])
        msg = f"indices[{r}] holds item {ordered[r, j]} twice"
        raise ValueError(msg)
    keep &= ~own
    lengths = keep.sum(axis=1)
    if not lengths.all():
        msg = f"indices[{int(np.argmin(lengths))}] holds no neighbour"
        raise ValueError(msg)
    depth = int(lengths.max())
    to_front = None if keep.all() else np.argsort(~keep, axis=1, kind="stable")[:, :depth]
    filled = np.arange(depth) < lengths[:, None]
    items = np.where(filled, _taken(raw, to_front), 0).astype(np.int32)
    if distances is None:
        return items, np.where(filled, np.arange(depth, dtype=np.float64), np.inf), lengths
    values = _taken(_as_distances(distances, keep), to_front)
    steps = np.diff(values, axis=1)[filled[:, 1:]]
    from_library = approximate or drop_self  # whoever sorts lists otherwise does so on purpose
    if from_library and (steps <= 0).all() and (steps < 0).any():
        msg = (
            "distances fall along all lists, as similarities do; pass distances (of similarities the "
            "negatives, say), the nearest first"
        )
        raise ValueError(msg)
    values[~filled] = np.inf
    by_index = np.argsort(items, axis=1, kind="stable")
    items, values = (np.take_along_axis(array, by_index, axis=1) for array in (items, values))
    by_value = np.argsort(values, axis=1, kind="stable")
    items, values = (np.take_along_axis(array, by_value, axis=1) for array in (items, values))
    return items, values, lengths


def _taken(rows: Array, columns: Array | None) -> Array:
    return rows if columns is None else np.take_along_axis(rows, columns, axis=1)


def _as_indices(indices: Any, *, approximate: bool, drop_self: bool) -> Array:
    if np.ma.is_masked(indices):
        msg = "there are masked entries in indices; every value is needed"
        raise ValueError(msg)
    raw = rectangular(indices, "indices must be integers")
    if raw.ndim != 2 or raw.shape[0] < 2 or raw.shape[1] < 1:
        msg = f"indices must have shape (n_items, depth) with 1 <= depth < n_items, got {raw.shape}"
        raise ValueError(msg)
    if not approximate and raw.shape[1] > raw.shape[0] - (not drop_self):
        most = "depth <= n_items" if drop_self else "depth < n_items"
        msg = f"indices must have shape (n_items, depth) with 1 <= {most}, got {raw.shape}"
        raise ValueError(msg)
    if raw.dtype.kind not in "iu":
        msg = f"indices must be integers, got dtype {raw.dtype}"
        raise TypeError(msg)
    return raw


def _missing(raw: Array) -> Array:
    """Where there is no neighbour: -1, also as unsigned integers hold it."""
    none = np.array(-1).astype(raw.dtype)
    missing: Array = raw == none
    return missing if none < 0 or none >= len(raw) else np.zeros_like(missing)


def _as_distances(distances: Any, keep: Array) -> Array:
    """A new array, checked where it is to be kept."""
    must = "distances must be real numbers"
    raw = distances if np.ma.isMaskedArray(distances) else rectangular(distances, must)
    if raw.shape != keep.shape:
        msg = f"distances must have the shape of indices, {keep.shape}, got {raw.shape}"
        raise ValueError(msg)
    if raw.dtype.kind in "iuf" and not keep.all():
        raw = raw.copy()
        raw[~keep] = 0
    return np.array(as_reals("distances", raw, must))


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
