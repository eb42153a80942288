"""Checks and conversion of given neighbor lists and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .._validation import as_reals, check_finite, rectangular
from ..kernel import jit

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
    raw = _as_indices(indices, approximate=approximate, drop_self=drop_self)
    n_items, depth = raw.shape
    measured = None if distances is None else _as_distances(distances, raw.shape)
    # Clean lists of the right type are not copied.
    clean = measured is None and not approximate and not drop_self
    shared = clean and raw.dtype == np.int32 and raw.flags.c_contiguous
    items = raw if shared else np.zeros((n_items, depth), np.int32)
    values = np.empty((0, 0)) if measured is None else np.full((n_items, depth), np.inf)
    lengths = np.empty(n_items, np.int64)
    stamps = np.full(n_items, -1)
    rise = fall = False
    # In blocks of rows, to save copies of the lists of a million samples.
    for start in range(0, n_items, ROWS):
        rows = slice(start, min(start + ROWS, n_items))
        keep = _listed(raw[rows], start, n_items, approximate=approximate, drop_self=drop_self)
        some = np.where(keep, raw[rows], 0).astype(np.int64)
        twice = _find_repeated(some, keep, stamps, start)
        if twice >= 0:
            r, j = divmod(int(twice), depth)
            msg = f"indices[{start + r}] holds sample {raw[start + r, j]} twice"
            raise ValueError(msg)
        lengths[rows] = keep.sum(axis=1)
        if not lengths[rows].all():
            msg = f"indices[{start + int(np.argmin(lengths[rows]))}] holds no neighbor"
            raise ValueError(msg)
        if shared:
            continue
        if measured is None:
            _pack_items(some, keep, items[rows])
            continue
        with np.errstate(over="ignore"):
            found = np.ascontiguousarray(measured[rows], dtype=np.float64)
        _check_finite_where(found, keep, start)
        rises, falls = _pack_lists(some, found, keep, items[rows], values[rows])
        rise, fall = rise or rises, fall or falls
    from_library = approximate or drop_self  # other lists with this order are intended
    if from_library and fall and not rise:
        msg = (
            "distances decrease along all lists, as similarities do; pass distances (for example the "
            "negative similarities), the nearest first"
        )
        raise ValueError(msg)
    depth = int(lengths.max())
    if measured is None:  # positions, the same in every row
        positions = np.broadcast_to(np.arange(depth, dtype=np.float64), (n_items, depth))
        return items[:, :depth], positions, lengths
    return items[:, :depth], values[:, :depth], lengths


def _listed(raw: Array, start: int, n_items: int, *, approximate: bool, drop_self: bool) -> Array:
    """Mask of the entries of some rows that are neighbors; `start` is the first row.

    Raises
    ------
    ValueError
        If an entry is not a valid index, or the sample itself without `drop_self`.
    """
    keep = np.ones(raw.shape, bool)
    if approximate:
        keep &= ~_missing(raw)
        goes_on = keep[:, 1:] & ~keep[:, :-1]
        if goes_on.any():
            r, j = (int(at) for at in np.argwhere(goes_on)[0])
            missing = f"indices[{start + r}, {j}] = {raw[r, j]}"
            msg = f"indices[{start + r}] continues after {missing}, a missing neighbor"
            raise ValueError(msg)
    bad = keep & ((raw < 0) | (raw >= n_items))
    if bad.any():
        r, j = (int(at) for at in np.argwhere(bad)[0])
        hint = ", or -1 for none with approximate=True" if raw[r, j] == -1 else ""
        msg = f"indices[{start + r}, {j}] is {raw[r, j]}; it must be between 0 and {n_items - 1}{hint}"
        raise ValueError(msg)
    itself = keep & (raw == np.arange(start, start + len(raw))[:, None])
    if itself.any() and not drop_self:
        at = start + int(np.argwhere(itself)[0][0])
        msg = f"indices[{at}] holds the sample itself; leave it out, or pass drop_self=True"
        raise ValueError(msg)
    keep &= ~itself
    return keep


def _check_finite_where(values: Array, keep: Array, start: int) -> None:
    """Raise ValueError if the distance of a neighbor is not finite."""
    bad = keep & ~np.isfinite(values)
    if bad.any():
        r = int(np.argwhere(bad)[0][0])
        row = np.where(keep[r], values[r], 0.0)
        check_finite("distances", row[None], start + r)


@jit
def _find_repeated(raw, keep, stamps, start):
    """Flat index of an entry that repeats in its row, or -1; `stamps` has the last row of each sample."""
    for r in range(len(raw)):
        for j in range(raw.shape[1]):
            if keep[r, j]:
                if stamps[raw[r, j]] == start + r:
                    return r * raw.shape[1] + j
                stamps[raw[r, j]] = start + r
    return -1


@jit
def _pack_items(raw, keep, items):
    """Fill the lists with the entries to keep, in their order."""
    for r in range(len(raw)):
        n = 0
        for j in range(raw.shape[1]):
            if keep[r, j]:
                items[r, n] = raw[r, j]
                n += 1


@jit
def _pack_lists(raw, found, keep, items, values):
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
    """Mask of the entries without a neighbor: -1, or the largest value of unsigned integers."""
    marker = np.array(-1).astype(raw.dtype)
    missing: Array = raw == marker
    return missing if marker < 0 or marker >= len(raw) else np.zeros_like(missing)


def _as_distances(distances: Any, shape: tuple[int, ...]) -> Array:
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
