"""Neighbor lists that are searched once for all sections."""

from __future__ import annotations

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ..halves import TOLERANCE, depth_for_halves
from ..neighbors import Neighbors
from ..sampling import fixed_tail

TOL = 1e-12
"""The tolerance of `knnccv.complete_cv`."""


def enough_depth(n_items: int, train_size: int, n_neighbors: int, tol: float = TOL) -> int:
    """The depth of the lists that the score and the influence need.

    The influence looks at training sets of the other samples, and at one position more than the score.
    """
    if n_items < 3 or train_size > n_items - 2:
        return n_items - 1
    tail = fixed_tail(n_items - 2, train_size, n_neighbors)
    return min(2 + int(np.argmax(tail <= tol / 2)), n_items - 1)


def depth_of_halves(near: Neighbors, train_size: int, n_neighbors: int) -> int:
    """The depth of the lists that the scores of random halves of the samples need.

    Too small a depth costs a second search, and nothing else.
    """
    half, size = max(near.n_items // 2, 1), max(train_size // 2, 1)
    enough = enough_depth(half, size, min(n_neighbors, size), TOLERANCE)
    return depth_for_halves(2 * enough, near)


def keep_lists(near: Neighbors, depth: int, n_jobs: int | None) -> None:
    """Search lists of this depth for all samples and keep them, unless they are kept or too large.

    Results that are computed later read them. Their values do not depend on this.
    """
    depth = min(depth, near.max_depth)
    room = near.room(depth)
    if room is None:
        return
    near.search_all(depth, n_jobs=n_jobs)
    rows, size = near.visiting_order(np.arange(near.n_items), depth), near.rows_at_once(depth)

    def fill(block: Array) -> None:
        room.put(block, near.search(block, depth))

    for_each(fill, [rows[start : start + size] for start in range(0, len(rows), size)], n_jobs)
    near.store(room)
