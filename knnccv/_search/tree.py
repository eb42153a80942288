"""The nearest items by a k-d tree, for few dimensions: the order and the ties of the full comparison.

The tree only proposes. Its candidates are measured again exactly as the brute-force engine measures (the
same differences, summed in the same order), and a row is settled only if whatever the tree did not
propose is provably farther than the last item wanted. Rows that are not, because many items tie there,
are asked again for more, and in the end compared with all items.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from ..kernel import Array, jit
from .select import nearest_of

POWERS = {"sqeuclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}
# Relative error of a distance computed twice, in two orders of summation, with room to spare.
SLACK = 1e-9


@jit
def _measure(data, rows, found, kind, values):  # type: ignore[no-untyped-def]
    """Surrogate values of the candidates, summed over the features in order, as `cdist` does."""
    for r in range(len(rows)):
        for i in range(found.shape[1]):
            total = 0.0
            for f in range(data.shape[1]):
                difference = data[rows[r], f] - data[found[r, i], f]
                if kind == 0:
                    total += difference * difference
                elif kind == 1:
                    total += abs(difference)
                else:
                    total = max(total, abs(difference))
            values[r, i] = total


@jit
def _settle(rows, found, values, reach, depth, items, ranked, more, settled):  # type: ignore[no-untyped-def]
    """Sort each row's candidates by (value, index); settled if nothing beyond `reach` can matter."""
    width = found.shape[1]
    keys = np.empty(width, np.int64)
    near = np.empty(width)
    for r in range(len(rows)):
        n = 0
        for i in range(width):
            if found[r, i] != rows[r]:
                keys[n] = found[r, i]
                n += 1
        by_index = np.sort(keys[:n])
        # The values follow their items: candidates come by distance, so look them up by index.
        order = np.argsort(keys[:n])
        m = 0
        for i in range(width):
            if found[r, i] != rows[r]:
                near[m] = values[r, i]
                m += 1
        by_value = near[:n][order]
        final = np.argsort(by_value, kind="mergesort")
        if n < depth:
            settled[r] = False
            continue
        for i in range(depth):
            items[r, i] = by_index[final[i]]
            ranked[r, i] = by_value[final[i]]
        # Below, rounding is no longer relative.
        settled[r] = ranked[r, depth - 1] < reach[r] and reach[r] > 1e-280
        more[r] = n > depth and by_value[final[depth]] == ranked[r, depth - 1]


def nearest_by_tree(
    tree: cKDTree,
    data: Array,
    kind: str,
    rows: Array,
    depth: int,
    compare: Callable[[Array], Array],
) -> tuple[Array, Array, Array]:
    """As `select.nearest_of`, from a tree.

    Parameters
    ----------
    tree : cKDTree
        Of `data`.
    data : float64 ndarray of shape (n_items, n_features)
    kind : str
        The surrogate, a key of `POWERS`.
    rows : int64 ndarray of shape (n_rows,)
    depth : int
    compare : callable
        From some rows to their values against all items, for rows that the tree does not settle.
    """
    n_rows, n_items = len(rows), len(data)
    items = np.empty((n_rows, depth), np.int32)
    ranked = np.empty((n_rows, depth))
    more = np.zeros(n_rows, bool)
    waiting = np.arange(n_rows)
    width = depth + 3  # the item itself, one that tells of a tie, one that bounds the rest
    while len(waiting) and width < n_items // 4:
        distances, found = tree.query(data[rows[waiting]], k=width, p=POWERS[kind])
        reach = distances[:, -1] * (1 - SLACK)
        if kind == "sqeuclidean":
            reach = reach * reach
        found = np.ascontiguousarray(found, dtype=np.int64)
        values = np.empty(found.shape)
        asked = np.ascontiguousarray(rows[waiting])
        _measure(data, asked, found, list(POWERS).index(kind), values)
        part = np.empty((len(waiting), depth), np.int32), np.empty((len(waiting), depth))
        part_more, settled = np.zeros(len(waiting), bool), np.zeros(len(waiting), bool)
        _settle(asked, found, values, reach, depth, *part, part_more, settled)
        done = waiting[settled]
        items[done], ranked[done], more[done] = part[0][settled], part[1][settled], part_more[settled]
        waiting = waiting[~settled]
        width *= 3
    if len(waiting):
        left = np.ascontiguousarray(rows[waiting])
        items[waiting], ranked[waiting], more[waiting] = nearest_of(compare(left), left, depth)
    return items, ranked, more
