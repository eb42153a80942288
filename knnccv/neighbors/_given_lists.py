"""What `Neighbors.from_lists` takes: arrays, memory-mapped arrays, dask arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dask_lists import DaskLists, is_dask_array
from ._given_rows import ListFormat, spread_rows
from ._inputs import as_distances, as_indices, check_distances, check_indices, lists_of_indices
from ._lists import NeighborLists
from ._mapped_lists import MappedLists, mapping_of
from ._sources import GivenLists, ListsInParts, Source


def source_of_lists(indices: Any, distances: Any, *, approximate: bool, drop_self: bool) -> Source:
    """The source for given lists; those that need not fit into memory are read later.

    Raises
    ------
    ValueError, TypeError
        As `Neighbors.from_lists`.
    """
    if is_dask_array(indices) or is_dask_array(distances):
        return _of_dask_arrays(indices, distances, approximate, drop_self)
    if mapping_of(indices) is None and mapping_of(distances) is None:
        items, values, lengths = lists_of_indices(
            indices, distances, approximate=approximate, drop_self=drop_self
        )
        ends = len(items) - 1 if distances is not None else 0
        lists = NeighborLists(items, values, lengths, lengths < ends)
        return GivenLists(lists, "lists", distances is not None)
    indices = as_indices(indices, approximate=approximate, drop_self=drop_self)
    if mapping_of(distances) is not None:
        distances = np.asarray(distances)
    elif distances is not None:
        distances = as_distances(distances, indices.shape)
    how = _checked_format(indices, distances, approximate, drop_self)
    reader = MappedLists(indices, distances)
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
    how = _checked_format(indices, distances, approximate, drop_self)
    indices = indices.rechunk({1: -1})
    if distances is not None:
        distances = distances.rechunk(indices.chunks)
    return ListsInParts(DaskLists(indices, distances, how), how)


def _checked_format(indices: Any, distances: Any, approximate: bool, drop_self: bool) -> ListFormat:
    check_indices(indices.shape, indices.dtype, approximate=approximate, drop_self=drop_self)
    if distances is not None:
        check_distances(distances.shape, distances.dtype, indices.shape)
    n_items, width = indices.shape
    return ListFormat(n_items, width, distances is not None, approximate, drop_self)
