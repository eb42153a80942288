"""Sources of given neighbor lists: in memory, or read as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._parallel import Parts
from .._typing import Array
from ._engines.engine import STORED_ROWS, Engine, StoredLists
from ._given_lists import ListFormat, as_distances, as_indices, check_distances, spread_rows
from ._list_readers import ArrayLists, DaskLists, HeldLists, Reader, is_dask_array, mapping_of
from ._lists import NeighborLists
from ._sources import Source, checksum_of

BLOCK_ENTRIES = 2**19  # of indices that are packed at once


class StreamedLists(Engine):
    """Reads neighbor lists row by row.

    Parameters
    ----------
    reader : Reader
    how : ListFormat
    """

    holds_lists = True

    def __init__(self, reader: Reader, how: ListFormat) -> None:
        self.reader = reader
        self.how = how
        self.max_depth = how.n_items

    def search(self, rows: Array, depth: int) -> NeighborLists:
        """Neighbor lists of the samples `rows`, no deeper than the given ones.

        Raises
        ------
        ValueError
            If one of these rows is no neighbor list.
        """
        lists, _, _ = self.how.pack(rows, *self.reader.read(rows))
        return lists.cut(slice(None), min(depth, self.how.max_depth))

    def rows_at_once(self) -> int:
        """Number of rows that one call of `search` should have."""
        return max(1, min(STORED_ROWS, BLOCK_ENTRIES // self.how.width))


class GivenLists(Source):
    """Neighbor lists that another program has found.

    Parameters
    ----------
    lists : NeighborLists
        Lists of all samples.
    description : str
        "lists" or "graph".
    measured : bool, default True
        Whether the values are distances.
    """

    ordered_by_index = False
    compares_all = False

    def __init__(self, lists: NeighborLists, description: str, measured: bool = True) -> None:
        self.lists, self.measured = lists, measured
        self.n_items, self.max_depth = lists.items.shape
        self.description = description

    def engines(self) -> Sequence[Engine]:
        """The lists themselves at every depth."""
        return (StoredLists(self.lists, self.n_items),)

    def checksum(self) -> int:
        """Of the indices, which may be the caller's; distances are copies."""
        return checksum_of(self.lists.items)


class ListsInParts(Source):
    """Neighbor lists that another program has found, and that are read as they are needed.

    Parameters
    ----------
    reader : Reader
    how : ListFormat
    """

    ordered_by_index = False
    compares_all = False
    description = "lists"

    def __init__(self, reader: Reader, how: ListFormat) -> None:
        self.n_items, self.max_depth = how.n_items, how.max_depth
        self._reader, self._how = reader, how
        self.measured = how.measured

    def engines(self) -> Sequence[Engine]:
        """The reader of the lists at every depth."""
        return (StreamedLists(self._reader, self._how),)

    def parts(self) -> Parts | None:
        """The chunks of dask arrays."""
        return self._reader.parts

    def without_parts(self) -> Source:
        """The same lists for a worker, which reads the chunk that comes with its task."""
        return ListsInParts(HeldLists(), self._how)

    def check_sendable(self) -> None:
        """Raise TypeError if the dask arrays are held by a cluster."""
        self._reader.check_sendable()


def source_of_lists(indices: Any, distances: Any, *, approximate: bool, drop_self: bool) -> Source:
    """The source for given lists; those that need not fit into memory are read later.

    Raises
    ------
    ValueError, TypeError
        As `Neighbors.from_lists`.
    """
    if is_dask_array(indices) or is_dask_array(distances):
        return _of_dask_arrays(indices, distances, approximate, drop_self)
    indices = as_indices(indices)
    measured = distances is not None
    how = ListFormat.of(indices, measured=measured, approximate=approximate, drop_self=drop_self)
    if measured:
        distances = as_distances(distances, indices.shape)
    if mapping_of(indices) is None and mapping_of(distances) is None:
        lists, rises, falls = how.pack_all(indices, distances)
        how.refuse_similarities(rises, falls)
        return GivenLists(lists, "lists", how.measured)
    reader = ArrayLists(indices, distances)
    rows = spread_rows(0, how.n_items)  # finds usual mistakes early, such as samples in their own lists
    _, rises, falls = how.pack(rows, *reader.read(rows))
    how.refuse_similarities(rises, falls)
    return ListsInParts(reader, how)


def _of_dask_arrays(indices: Any, distances: Any, approximate: bool, drop_self: bool) -> Source:
    for name, array in (("indices", indices), ("distances", distances)):
        if array is not None and not is_dask_array(array):
            msg = f"indices and distances must both be dask arrays, got {type(array).__name__} for {name}"
            raise TypeError(msg)
        if array is not None and np.isnan(array.shape).any():
            msg = f"the chunks of {name} have unknown sizes; call its compute_chunk_sizes() first"
            raise ValueError(msg)
    measured = distances is not None
    how = ListFormat.of(indices, measured=measured, approximate=approximate, drop_self=drop_self)
    indices = indices.rechunk({1: -1})
    if measured:
        check_distances(distances, indices.shape)
        distances = distances.rechunk(indices.chunks)
    return ListsInParts(DaskLists(indices, distances, how), how)
