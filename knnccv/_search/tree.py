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

from ..kernel import Array
from .remeasure import measure, settle
from .select import nearest_of

POWERS = {"sqeuclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}
# Relative error of a distance computed twice, in two orders of summation, with room to spare.
SLACK = 1e-9


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
        lengths = np.full(len(asked), width)
        measure(data, asked, found, lengths, list(POWERS).index(kind), values)
        part = np.empty((len(waiting), depth), np.int32), np.empty((len(waiting), depth))
        part_more, settled = np.zeros(len(waiting), bool), np.zeros(len(waiting), bool)
        settle(asked, found, values, lengths, reach, depth, *part, part_more, settled)
        done = waiting[settled]
        items[done], ranked[done], more[done] = part[0][settled], part[1][settled], part_more[settled]
        waiting = waiting[~settled]
        width *= 3
    if len(waiting):
        left = np.ascontiguousarray(rows[waiting])
        items[waiting], ranked[waiting], more[waiting] = nearest_of(compare(left), left, depth)
    return items, ranked, more
