"""The K nearest training samples of every tested sample, run by run: for weights, means and any scoring."""

from __future__ import annotations

import numpy as np
from numba import types

from .._parallel import for_each
from .._typing import Array
from ..driver import ROWS, Rows, all_lists, fill_group_ends
from ..kernel import compile_driver, jit
from ..neighbors import Neighbors
from ..sampled import scramble
from ._counts import check_lists_end_late, deepened
from ._planes import random_below
from ._trials import NEITHER

ROWS_AT_ONCE = 256


@jit
def fill_nearest(rows, fold_of, k, seed, items, values, is_open):
    """Fill the K nearest training samples of some rows in every run that tests them; -1 in the others.

    ``fold_of`` (n_items, n_runs) are folds; `items` and `values` have shape (n_runs, n_items, K). Which of
    tied samples are among the K is drawn. A row is open if its list ends too early for some run.
    """
    depth = rows.items.shape[1]
    group_end, state = np.arange(1, depth + 1), np.empty(1, np.uint64)
    for r in range(len(rows.targets)):
        own, length = rows.targets[r], rows.lengths[r]
        if rows.average_ties:
            fill_group_ends(rows.values[r], length, group_end)
        state[0] = scramble(np.uint64(seed) ^ scramble(np.uint64(own + 1)))
        for run in range(fold_of.shape[1]):
            fold, found, i = fold_of[own, run], 0, 0
            for place in range(k):
                items[run, own, place] = -1
            if fold < 0:
                continue
            while i < length and found < k:
                end, left = group_end[i], np.int64(0)
                for j in range(i, end):
                    other = fold_of[rows.items[r, j], run]
                    left += np.int64(other != fold and other != NEITHER)
                missing = min(left, k - found)
                for j in range(i, end):
                    other = fold_of[rows.items[r, j], run]
                    trains = other != fold and other != NEITHER
                    if not trains or missing == 0:
                        continue
                    if missing == left or random_below(state, left) < missing:
                        items[run, own, found] = rows.items[r, j]
                        values[run, own, found] = rows.values[r, j]
                        missing -= 1
                        found += 1
                    left -= 1
                i = end
            is_open[r] |= found < k


FILL_NEAREST = types.void(
    ROWS, types.Array(types.int32, 2, "C"), types.int64, types.int64, types.Array(types.int32, 3, "C"),
    types.Array(types.float64, 3, "C"), types.Array(types.boolean, 1, "C"),
)  # fmt: skip


def nearest_in_runs(
    neighbors: Neighbors,
    folds: Array,
    k: int,
    ties: str,
    depth: int,
    n_jobs: int | None = None,
    seed: int = 0,
) -> tuple[Array, Array]:
    """The K nearest training samples of every tested sample.

    Parameters
    ----------
    folds : int32 ndarray of shape (n_runs, n_items)
        The fold that tests a sample; -1: it trains in all, -2: it neither trains nor is tested.
    ties : {"index", "random"}
        Whether tied samples are taken in the order of the data, or drawn.
    depth : int
        Depth of the first neighbor lists.

    Returns
    -------
    items : int32 ndarray of shape (n_runs, n_items, K)
        The nearest first; -1 where a sample is not tested.
    distances : float64 ndarray of shape (n_runs, n_items, K)

    Raises
    ------
    ValueError
        If given neighbor lists end too early.
    """
    compile_driver(fill_nearest, FILL_NEAREST)
    fold_of = np.ascontiguousarray(folds.T, dtype=np.int32)
    items = np.empty((len(folds), neighbors.n_items, k), np.int32)
    values = np.zeros(items.shape)
    average = ties == "random"
    lists = all_lists(neighbors, min(depth, neighbors.max_depth), n_jobs)

    def find(rows: Rows, final: bool) -> Array:  # noqa: ARG001
        """Fill in the rows; mark those that need longer lists."""
        is_open = np.zeros(len(rows.targets), bool)

        def fill(start: int) -> None:
            some = slice(start, start + ROWS_AT_ONCE)
            block = Rows._make((*(part[some] for part in rows[:-1]), average))
            with np.errstate(over="ignore"):
                fill_nearest(block, fold_of, k, seed, items, values, is_open[some])

        for_each(fill, range(0, len(is_open), ROWS_AT_ONCE), n_jobs)
        return is_open

    left = deepened(find, neighbors, np.arange(neighbors.n_items), lists, average, n_jobs)
    check_lists_end_late(left, neighbors, k)
    return items, neighbors.to_distance(values)
