# mypy: allow-untyped-defs
"""Checks of given neighbor lists and graphs, and their packing into lists as a search returns them.

Every row is checked alone, so that lists larger than the memory can be checked as they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.typing import Array
from .._base.validation import as_reals, check, check_finite, rectangular
from ..kernel import jit
from ._engines.engine import NeighborLists

SAMPLED = 256  # rows from which similarities are told from distances
MUTUAL = 30  # pairs of samples that list each other at one distance, to tell that it is symmetric
BEYOND_CHANCE = 4.0  # standard deviations
ROWS = 2**14
RISES, FALLS = 1, 2


@dataclass(frozen=True)
class ListFormat:
    """How given lists are to be read.

    Attributes
    ----------
    n_items : int
        Number of samples, or of items in the gallery.
    width : int
        Number of entries in a row of the given arrays.
    measured : bool
        Whether there are distances.
    approximate, drop_self : bool
        As in `Neighbors.from_lists`.
    of_gallery : bool
        Whether rows are those of queries, which need not be in the gallery, may list nothing, and must have
        the nearest item first.
    cut_ties : bool
        Whether an item beyond a list with distances may be as near as the last one in it.
    """

    n_items: int
    width: int
    measured: bool
    approximate: bool
    drop_self: bool = False
    of_gallery: bool = False
    cut_ties: bool = True

    @classmethod
    def of(cls, indices: Any, *, measured: bool, approximate: bool, drop_self: bool) -> ListFormat:
        """The format of neighbor lists, checked by the shape and type of the indices alone.

        Raises
        ------
        ValueError, TypeError
            If they cannot be lists.
        """
        shape = indices.shape
        fits = len(shape) == 2 and shape[0] >= 2 and shape[1] >= 1
        if not fits or (shape[1] > shape[0] - (not drop_self) and not approximate):
            most = "depth <= n_items" if drop_self else "depth < n_items"
            msg = f"indices must have shape (n_items, depth) with 1 <= {most}, got {shape}"
            raise ValueError(msg)
        check_integers(indices.dtype)
        return cls(shape[0], shape[1], measured, approximate, drop_self)

    @property
    def n_others(self) -> int:
        """The number of neighbors in a complete list."""
        return self.n_items - (not self.of_gallery)

    @property
    def max_depth(self) -> int:
        """The most neighbors that a row can hold."""
        return min(self.width, self.n_others)

    @property
    def may_be_similarities(self) -> bool:
        """Whether distances that decrease along all lists are a mistake."""
        return self.measured and not self.of_gallery

    def pack(self, rows: Array, raw: Array, found: Array | None = None) -> tuple[NeighborLists, int]:
        """The lists of some rows from their indices and distances, and the `RISES` and `FALLS` of these.

        Without distances the values are positions, the same in every row.

        Raises
        ------
        ValueError, TypeError
            If an index is out of range, repeated or the sample itself, or a row holds no neighbor; if a
            distance is not finite, or in a list of a gallery smaller than the one before it.
        """
        given = raw.astype(np.int64, order="C")  # kernels are compiled once more for another order
        keep = np.empty(raw.shape, bool)
        lengths = np.ones(len(raw), np.int64)
        marker = self._missing_marker(raw)
        may_miss, missing = marker is not None, 0 if marker is None else int(marker.astype(np.int64))
        itself = np.full(len(rows), -1) if self.of_gallery else rows
        bad = _mark_neighbors(given, itself, self.n_items, may_miss, missing, self.drop_self, keep, lengths)
        if not (self.of_gallery or lengths.all()):
            row = int(lengths.argmin())  # before the first other mistake, or the same row
            if bad < 0 or row < bad // self.width:
                msg = f"indices[{rows[row]}] holds no neighbor"
                raise ValueError(msg)
        if bad >= 0:
            row, j = divmod(bad, self.width)
            self._refuse(raw[row], int(rows[row]), j)
        shape = len(rows), self.max_depth
        items = np.zeros(shape, np.int32)
        if found is None:
            _pack_lists(given, None, keep, items, None)
            positions = np.broadcast_to(np.arange(self.max_depth, dtype=np.float64), shape)
            return NeighborLists(items, positions, lengths, np.zeros(len(rows), bool)), 0
        distances, values = as_finite(found, keep, rows), np.full(shape, np.inf)
        trend = _pack_lists(given, distances, keep, items, values)
        if self.of_gallery and trend & FALLS:
            falls = keep[:, 1:] & (distances[:, 1:] < distances[:, :-1])
            r, j = (int(at) for at in np.argwhere(falls)[0])
            msg = (
                f"distances[{rows[r]}, {j + 1}] = {distances[r, j + 1]} is smaller than the one before it, "
                f"{distances[r, j]}; every list must have the nearest item first (negate similarities)"
            )
            raise ValueError(msg)
        return NeighborLists(items, values, lengths, (lengths < self.n_others) & self.cut_ties), trend

    def pack_all(self, indices: Array, distances: Array | None = None) -> tuple[NeighborLists, int]:
        """The lists of all samples, as by `pack`; clean int32 indices alone are not copied."""
        clean = distances is None and not (self.approximate or self.drop_self)
        shared = clean and indices.dtype == np.int32 and indices.flags.c_contiguous
        lists, trend = NeighborLists.empty(self.n_items, self.max_depth), 0
        # In blocks of rows, to save copies of the lists of a million samples.
        for start in range(0, self.n_items, ROWS):
            block = slice(start, min(start + ROWS, self.n_items))
            found = None if distances is None else distances[block]
            part, its_trend = self.pack(np.arange(start, block.stop), indices[block], found)
            trend |= its_trend
            lists.lengths[block], lists.may_tie_beyond[block] = part.lengths, part.may_tie_beyond
            if not shared:
                lists.items[block] = part.items
            if self.measured:
                lists.values[block] = part.values
        if shared:
            lists.items = indices
        if not self.measured:
            lists.values = np.broadcast_to(part.values[0], lists.values.shape)
        depth = int(lists.lengths.max())
        lists.items, lists.values = lists.items[:, :depth], lists.values[:, :depth]
        return lists, trend

    def refuse_similarities(self, trend: int, where: str = "all lists") -> None:
        """Raise ValueError if distances fall along lists, and never rise."""
        msg = (
            f"distances decrease along {where}, as similarities do; pass distances (for example the "
            "negative similarities), the nearest first"
        )
        check(not self.may_be_similarities or trend != FALLS, msg)

    def _missing_marker(self, raw: Array) -> Array | None:
        """The entry that stands for no neighbor, a 0-d array: -1, or the largest unsigned integer."""
        marker = np.array(-1).astype(raw.dtype)
        return None if not self.approximate or 0 <= marker < self.n_items else marker

    def _refuse(self, given: Array, row: int, j: int) -> None:
        """Raise ValueError for the first mistake in a row of indices, at position j."""
        marker, item = self._missing_marker(given), int(given[j])
        what, limits = "sample", "it must"
        if self.of_gallery:
            what, limits = "gallery item", f"with n_gallery={self.n_items} it must"
        if j and marker is not None and given[j - 1] == marker:
            missing = f"indices[{row}, {j - 1}] = {given[j - 1]}"
            msg = f"indices[{row}] continues after {missing}, a missing neighbor"
        elif not 0 <= item < self.n_items:
            hint = ", or -1 for none with approximate=True" if item == -1 else ""
            msg = f"indices[{row}, {j}] is {item}; {limits} be between 0 and {self.n_items - 1}{hint}"
        elif item == row and not (self.drop_self or self.of_gallery):
            msg = f"indices[{row}] holds the sample itself; leave it out, or pass drop_self=True"
        else:
            msg = f"indices[{row}] holds {what} {item} twice"
        raise ValueError(msg)


def as_indices(indices: Any) -> Array:
    """The indices as an array, not copied or checked further.

    Raises
    ------
    ValueError
        If entries are masked, or rows differ in length.
    """
    check(not np.ma.is_masked(indices), "there are masked entries in indices; every value is needed")
    return rectangular(indices, "indices must be integers")


def check_integers(dtype: Any) -> None:
    """Raise TypeError unless indices of this type are integers."""
    check(dtype.kind in "iu", f"indices must be integers, got dtype {dtype}", error=TypeError)


def check_distances(distances: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError or TypeError unless distances have the shape of the indices and are real numbers."""
    check(distances.shape == shape, f"distances must have the shape of indices, {shape}", distances.shape)
    msg = f"distances must be real numbers, got dtype {distances.dtype}"
    check(distances.dtype.kind in "biuf", msg, error=TypeError)


def as_distances(distances: Any, shape: tuple[int, ...]) -> Array:
    """The distances as an array; real numbers are returned unchanged, and their values unchecked."""
    must = "distances must be real numbers"
    raw = distances if np.ma.isMaskedArray(distances) else rectangular(distances, must)
    if raw.dtype.kind == "O" or np.ma.is_masked(raw):
        raw = as_reals("distances", raw, must)
    check_distances(raw, shape)
    return np.asarray(raw)


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


def spread_rows(start: int, stop: int) -> Array:
    """Up to `SAMPLED` rows, from `start` to before `stop`, at about equal distances."""
    return np.unique(np.linspace(start, stop - 1, SAMPLED).astype(np.int64))


def refuse_contradictions(lists: NeighborLists) -> None:
    """Refuse lists of symmetric distances in which near samples are missing, judged by some rows.

    A list has all samples that are nearer than its last. So if one sample lists another at a smaller
    distance than the other's last, the other must list it. Lists of similarities rarely agree with this,
    unless all pairs of a graph are listed by both, as in the mean of a graph and its transpose. There near
    samples list more of the same samples than far ones, whose similarities are smaller.

    Raises
    ------
    ValueError
        If they do not agree.
    """
    n_items, depth = lists.items.shape
    places = np.arange(depth)
    last = lists.values[np.arange(n_items), lists.lengths - 1]
    found, n_mutual, n_listed, n_rising, n_falling = None, 0, 0, 0, 0
    mine = np.zeros(n_items, bool)
    for row in spread_rows(0, n_items)[:: max(1, SAMPLED * depth**2 // 2**24)]:
        n = lists.lengths[row]
        near, values = lists.items[row, :n], lists.values[row, :n]
        theirs, known = lists.items[near], places < lists.lengths[near][:, None]
        back = (theirs == row) & known
        listed = back.any(axis=1)
        if not np.allclose(lists.values[near][back], values[listed], rtol=1e-6):
            return  # not symmetric
        n_mutual, n_listed = n_mutual + int(listed.sum()), n_listed + int(n)
        mine[near] = True
        shared = (mine[theirs] & known).sum(axis=1)
        mine[near] = False
        more = int(shared[n - n // 2 :].sum()) - int(shared[: n // 2].sum())
        n_rising, n_falling = n_rising + (more > 0), n_falling + (more < 0)
        missing = ~listed & (last[near] - values > 1e-4 * np.abs(last[near]))
        if found is None and missing.any():
            j = int(missing.argmax())
            found = int(row), int(near[j]), float(values[j]), float(last[near[j]])
    if found is not None and n_mutual >= MUTUAL:
        row, other, value, farthest = found
        msg = (
            "pass distances (not similarities) of all nearest samples, or approximate=True if some are "
            f"missing: sample {row} lists {other} at {value:.6g}, but {other} does not list {row}, though "
            f"its list goes to {farthest:.6g}"
        )
        raise ValueError(msg)
    if n_mutual == n_listed and n_rising - n_falling > BEYOND_CHANCE * np.sqrt(n_rising + n_falling):
        msg = (
            "pass distances (not similarities), or approximate=True: the larger the values, the more "
            f"neighbors two samples have in common, in {n_rising} of {n_rising + n_falling} rows"
        )
        raise ValueError(msg)


def _refuse_lost_zeros(lists: NeighborLists) -> None:
    """Raise ValueError if two rows are as those of equal samples, which no stored zero joins.

    Of the neighbors that tie with the last one, equal samples may list different ones.
    """
    values = lists.values.astype(np.float32)
    inner = values < values.max(axis=1, where=np.isfinite(values), initial=-np.inf)[:, None]
    rows = np.flatnonzero((inner.sum(axis=1) > 1) & (lists.values[:, 0] > 0))
    inner_items = np.where(inner, lists.items, -1)[rows]
    _, first, place = np.unique(
        np.hstack([inner_items, values[rows]]), axis=0, return_index=True, return_inverse=True
    )
    one, other = rows[first[place.ravel()]], rows
    apart = (one != other) & ~(lists.items[other] == one[:, None]).any(axis=1)
    if apart.any():
        at = int(apart.argmax())
        msg = (
            "store the zeros of equal samples (no eliminate_zeros()), or pass approximate=True: samples "
            f"{one[at]} and {other[at]} have the same neighbors at the same distances, but not each other"
        )
        raise ValueError(msg)


def lists_of_graph(graph: Any, *, approximate: bool) -> NeighborLists:
    """The lists of a sparse graph.

    Raises
    ------
    ValueError, TypeError
        If it is not square and sparse, holds no distances, or a value is not finite; if, unless
        `approximate`, near samples are missing.
    """
    msg = f"graph must be a scipy sparse matrix, got {type(graph).__name__}"
    check(hasattr(graph, "tocsr"), msg, error=TypeError)
    msg = (
        f"graph has format {graph.format!r}, which does not distinguish stored zeros from empty "
        "entries; convert it to csr, csc, coo, lil or dok"
    )
    check(graph.format in {"csr", "csc", "coo", "lil", "dok"}, msg)
    csr = graph.tocsr(copy=True)
    msg = f"graph must have shape (n_items, n_items) with n_items >= 2, got {csr.shape}"
    check(csr.ndim == 2 and csr.shape[0] == csr.shape[1] and csr.shape[0] >= 2, msg)
    stored = graph.nnz if graph.format == "coo" else csr.nnz  # conversion to csr adds duplicates
    csr.sum_duplicates()
    check(csr.nnz == stored, "graph stores more than one distance for some pair of samples")
    sizes = np.diff(csr.indptr)
    row_of = np.repeat(np.arange(csr.shape[0]), sizes)
    others = csr.indices != row_of
    values = as_reals("the stored values", csr.data[others], "graph must hold real distances")
    msg = 'all values stored in graph are 1: it seems to hold connectivity; make it with mode="distance"'
    check(not len(values) or (values != 1).any(), msg)
    lengths = np.bincount(row_of[others], minlength=csr.shape[0])
    check(lengths.all(), f"sample {int(np.argmin(lengths))} has no neighbors in the graph")
    largest = np.full(csr.shape[0], -np.inf)
    np.maximum.at(largest, row_of[others], values)
    if (lengths != lengths[0]).any() and values.min() > 0 and (largest == 1).all():
        msg = (
            "pass a graph of distances, or from_lists of the distances that it was made of: rows differ in "
            "length and the largest value of each is 1, as in UMAP's connectivities"
        )
        raise ValueError(msg)
    column = np.arange(csr.nnz) - np.repeat(csr.indptr[:-1], sizes)
    n_items, width = csr.shape[0], int(sizes.max())
    indices = np.full((n_items, width), -1, np.int32)
    distances = np.full(indices.shape, np.inf)
    indices[row_of, column], distances[row_of, column] = csr.indices, csr.data
    how = ListFormat(n_items, width, measured=True, approximate=True, drop_self=True)
    lists = how.pack_all(indices, distances)[0]
    if not approximate:
        refuse_contradictions(lists)
        if values.all():
            _refuse_lost_zeros(lists)
    return lists


@jit
def _mark_neighbors(raw, rows, n_items, may_miss, missing, drop_self, keep, lengths):
    """Mark the neighbors in each row and count them; return the place of the first bad index, or -1.

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
                return r * raw.shape[1] + j
            if item == rows[r]:
                if not drop_self:
                    return r * raw.shape[1] + j
                continue
            place = item if direct else (item * 2654435761 >> 15) & (size - 1)
            while stamps[place] == r:
                if keys[place] == item:
                    return r * raw.shape[1] + j
                place = (place + 1) & (size - 1)
            keys[place] = item
            stamps[place] = r
            keep[r, j] = True
            lengths[r] += 1
    return -1


@jit
def _pack_lists(raw, found, keep, items, values):
    """Fill the lists, sorted by (value, index); return the `RISES` and `FALLS` of the given values.

    Without values, None, the order is kept.
    """
    trend = 0
    for r in range(len(raw)):
        n = 0
        sorted_already = True
        for j in range(raw.shape[1]):
            if keep[r, j]:
                items[r, n] = raw[r, j]
                if found is not None:
                    values[r, n] = found[r, j]
                    if n > 0:
                        before = values[r, n - 1]
                        if values[r, n] > before:
                            trend |= RISES
                        elif values[r, n] < before:
                            trend |= FALLS
                            sorted_already = False
                        elif items[r, n] < items[r, n - 1]:
                            sorted_already = False
                n += 1
        if found is not None and not sorted_already:
            by_index = np.argsort(items[r, :n])
            order = by_index[np.argsort(values[r, :n][by_index], kind="mergesort")]
            items[r, :n] = items[r, :n][order]
            values[r, :n] = values[r, :n][order]
    return trend
