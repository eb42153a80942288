"""Checks and conversion of given neighbor lists and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals, rectangular
from ._given_rows import ListFormat, as_finite, pack_items, pack_lists

ROWS = 2**14


def lists_of_indices(
    indices: Any, distances: Any, *, approximate: bool, drop_self: bool
) -> tuple[Array, Array, Array]:
    """Given lists as samples and values of shape (n_items, depth), and lengths.

    Without distances the values are positions. Missing neighbors are removed, and with `drop_self` the
    sample itself.

    Raises
    ------
    ValueError, TypeError
        If the shapes differ, an index is out of range, repeated or the sample itself, a list is empty, or
        the distances are not finite or decrease along all lists.
    """
    raw = as_indices(indices, approximate=approximate, drop_self=drop_self)
    n_items, width = raw.shape
    measured = None if distances is None else as_distances(distances, raw.shape)
    how = ListFormat(n_items, width, measured is not None, approximate, drop_self)
    # Clean lists of the right type are not copied.
    clean = measured is None and not approximate and not drop_self
    shared = clean and raw.dtype == np.int32 and raw.flags.c_contiguous
    items = raw if shared else np.zeros((n_items, width), np.int32)
    values = np.empty((0, 0)) if measured is None else np.full((n_items, width), np.inf)
    lengths = np.empty(n_items, np.int64)
    rise = fall = False
    # In blocks of rows, to save copies of the lists of a million samples.
    for start in range(0, n_items, ROWS):
        block = slice(start, min(start + ROWS, n_items))
        rows = np.arange(start, block.stop)
        given, keep, lengths[block] = how.mark(raw[block], rows)
        if measured is not None:
            found = as_finite(measured[block], keep, rows)
            rises, falls = pack_lists(given, found, keep, items[block], values[block])
            rise, fall = rise or rises, fall or falls
        elif not shared:
            pack_items(given, keep, items[block])
    how.refuse_similarities(rise, fall)
    depth = int(lengths.max())
    if measured is None:  # positions, the same in every row
        positions = np.broadcast_to(np.arange(depth, dtype=np.float64), (n_items, depth))
        return items[:, :depth], positions, lengths
    return items[:, :depth], values[:, :depth], lengths


def as_indices(indices: Any, *, approximate: bool, drop_self: bool) -> Array:
    """The indices as an array; integers are returned unchanged, and only their shape is checked."""
    if np.ma.is_masked(indices):
        msg = "there are masked entries in indices; every value is needed"
        raise ValueError(msg)
    raw = rectangular(indices, "indices must be integers")
    check_indices(raw.shape, raw.dtype, approximate=approximate, drop_self=drop_self)
    return raw


def check_indices(shape: tuple[int, ...], dtype: Any, *, approximate: bool, drop_self: bool) -> None:
    """Raise ValueError or TypeError if `indices` cannot be lists, from its shape and type alone."""
    if len(shape) != 2 or shape[0] < 2 or shape[1] < 1:
        msg = f"indices must have shape (n_items, depth) with 1 <= depth < n_items, got {shape}"
        raise ValueError(msg)
    if not approximate and shape[1] > shape[0] - (not drop_self):
        most = "depth <= n_items" if drop_self else "depth < n_items"
        msg = f"indices must have shape (n_items, depth) with 1 <= {most}, got {shape}"
        raise ValueError(msg)
    if dtype.kind not in "iu":
        msg = f"indices must be integers, got dtype {dtype}"
        raise TypeError(msg)


def check_distances(shape: tuple[int, ...], dtype: Any, expected: tuple[int, ...]) -> None:
    """Raise ValueError or TypeError if `distances` do not suit the indices, from shape and type alone."""
    if shape != expected:
        msg = f"distances must have the shape of indices, {expected}, got {shape}"
        raise ValueError(msg)
    if dtype.kind not in "biuf":
        msg = f"distances must be real numbers, got dtype {dtype}"
        raise TypeError(msg)


def as_distances(distances: Any, shape: tuple[int, ...]) -> Array:
    """The distances as an array; floats are returned unchanged and unchecked."""
    must = "distances must be real numbers"
    raw = distances if np.ma.isMaskedArray(distances) else rectangular(distances, must)
    if raw.shape != shape:
        msg = f"distances must have the shape of indices, {shape}, got {raw.shape}"
        raise ValueError(msg)
    if raw.dtype.kind == "f" and not np.ma.is_masked(raw):
        return np.asarray(raw)
    return as_reals("distances", raw, must)


def lists_of_graph(graph: Any) -> tuple[Array, Array, Array]:
    """The lists of a sparse graph: samples and values of shape (n_items, depth), and lengths.

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
            f"graph has format {graph.format!r}, which does not distinguish stored zeros from empty "
            "entries; convert it to csr, csc, coo, lil or dok"
        )
        raise ValueError(msg)
    csr = graph.tocsr(copy=True)
    if csr.ndim != 2 or csr.shape[0] != csr.shape[1] or csr.shape[0] < 2:
        msg = f"graph must have shape (n_items, n_items) with n_items >= 2, got {csr.shape}"
        raise ValueError(msg)
    if csr.dtype.kind not in "biuf":
        msg = f"graph must hold real distances, got dtype {csr.dtype}"
        raise TypeError(msg)
    stored = graph.nnz if graph.format == "coo" else csr.nnz  # conversion to csr adds duplicates
    csr.sum_duplicates()
    if csr.nnz != stored:
        msg = "graph stores more than one distance for some pair of samples"
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
        msg = f"sample {int(np.argmin(lengths))} has no neighbors in the graph"
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
