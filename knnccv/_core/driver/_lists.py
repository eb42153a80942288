# mypy: allow-untyped-defs
"""The neighbor lists of many samples: searched in threads, and restricted to some samples."""

from __future__ import annotations

import numpy as np

from ..._base.parallel import for_each
from ..._base.typing import Array
from ...kernel import jit
from ...neighbors import NeighborLists, Neighbors


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


def within(
    lists: NeighborLists,
    at: Array,
    table: Array,
    key: Array,
    wanted: Array,
    enough: int | Array,
    *,
    equal: bool = True,
) -> NeighborLists:
    """The lists of the rows `at`, each restricted to some samples, down to `enough` of them and their ties.

    Sample j stays in row r if ``table[key[r], j] == wanted[r]``; without `equal`, if these differ.
    ``enough`` is at least 1, one number or one for each row. What is beyond a length is arbitrary.
    """
    kept = NeighborLists.empty(len(at), lists.items.shape[1])
    most = np.broadcast_to(enough, len(at))
    into = kept.items, kept.values, kept.lengths
    of_all, differ = (lists.items, lists.values, lists.lengths), None if equal else True
    keep_within(of_all, at, (table, key, wanted), most, differ, into)
    return kept


@jit
def keep_within(lists, at, wish, enough, differ, kept_lists):
    """Fill in the lists of `within`; whether `differ` is None is decided when this is compiled."""
    items, values, lengths = lists
    table, key, wanted = wish
    kept_items, kept_values, kept = kept_lists
    for r in range(len(at)):
        row, want, most = at[r], wanted[r], enough[r]
        marks = table[key[r]]
        n = 0
        for i in range(lengths[row]):
            item = items[row, i]
            kept_items[r, n] = item
            kept_values[r, n] = values[row, i]
            # Without a branch, which would be mispredicted half of the time in halves.
            if differ is None:
                n += marks[item] == want
            else:
                n += marks[item] != want
            if n > most and kept_values[r, n - 1] != kept_values[r, n - 2]:
                n -= 1
                break
        kept[r] = n
