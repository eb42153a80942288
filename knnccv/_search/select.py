"""The nearest m of a row of values, in the order (value, index), ties at the end included rightly."""

from __future__ import annotations

import numpy as np

from ..kernel import Array, jit


@jit
def _gather(values, excluded, threshold, items, ranked, more):  # type: ignore[no-untyped-def]
    """Sort each row's values up to its threshold, stably by index, and keep the first of them."""
    depth = items.shape[1]
    n = values.shape[1]
    near = np.empty(n, np.int64)
    for r in range(len(values)):
        found = 0
        for j in range(n):
            if j != excluded[r] and values[r, j] <= threshold[r]:
                near[found] = j
                found += 1
        nearest = values[r][near[:found]]
        order = np.argsort(nearest, kind="mergesort")
        for i in range(depth):
            items[r, i] = near[order[i]]
            ranked[r, i] = nearest[order[i]]
        more[r] = found > depth


def nearest_of(values: Array, rows: Array, depth: int) -> tuple[Array, Array, Array]:
    """The `depth` nearest other items of every row.

    Parameters
    ----------
    values : float64 ndarray of shape (n_rows, n_items)
        Surrogate values.
    rows : int64 ndarray of shape (n_rows,)
        Which item every row belongs to; it is left out, by index.
    depth : int
        1 to n_items - 1.

    Returns
    -------
    items : int32 ndarray of shape (n_rows, depth)
    ranked : float64 ndarray of shape (n_rows, depth)
        Their values, ascending; equal ones in the order of the items.
    open_end : bool ndarray of shape (n_rows,)
        Whether an item beyond the list ties the last one in it.
    """
    n_rows, n_items = values.shape
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    open_end = np.zeros(n_rows, bool)
    if depth == n_items - 1:
        threshold = np.full(n_rows, np.inf)
    else:
        others = values.copy()
        others[np.arange(n_rows), rows] = np.inf
        others.partition(depth - 1, axis=1)
        threshold = np.ascontiguousarray(others[:, depth - 1])
    _gather(values, rows, threshold, items, ranked, open_end)
    return items, ranked, open_end
