"""The neighbor lists of many samples, searched in threads."""

from __future__ import annotations

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ..neighbors import NeighborLists, Neighbors


def search_lists(
    neighbors: Neighbors, rows: Array, depth: int, n_jobs: int | None, of_all: NeighborLists | None = None
) -> NeighborLists:
    """The lists of the rows, in their order; put into the lists `of_all` samples, if these are given."""
    neighbors.prepare(depth)
    lists = NeighborLists.empty(len(rows), depth) if of_all is None else of_all
    places = np.arange(len(rows)) if of_all is None else rows
    size = neighbors.rows_at_once(depth)

    def fill(start: int) -> None:
        block = slice(start, start + size)
        lists.put(places[block], neighbors.search(rows[block], depth))

    for_each(fill, range(0, len(rows), size), n_jobs)
    return lists


def all_lists(neighbors: Neighbors, depth: int, n_jobs: int | None) -> NeighborLists:
    """The lists of all samples; kept by the neighbors, if they keep any."""
    cache = neighbors.room(depth)
    neighbors.search_all(depth, n_jobs=n_jobs)
    of_all = NeighborLists.empty(neighbors.n_items, depth) if cache is None else cache
    rows = neighbors.visiting_order(np.arange(neighbors.n_items), depth)
    lists = search_lists(neighbors, rows, depth, n_jobs, of_all)
    if cache is not None:
        neighbors.store(cache)
    return lists.cut(slice(None), depth)
