"""Tables of ratios for strata of every size that occurs, built when they are needed."""

from __future__ import annotations

import threading

import numpy as np

from .._typing import Array
from ..kernel import jit
from ._quadrature import fill_ratios


class Ratios:
    """Rows of `fill_ratios` for strata of which `shots` items are drawn; row 0 is an item that always is.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,)
    shots : int
        0: all items are drawn.
    largest : int
        Size of the largest stratum.
    """

    def __init__(self, nodes: Array, shots: int, largest: int) -> None:
        self._nodes = nodes
        self._shots = shots
        self._lock = threading.Lock()
        self._tables = (np.ascontiguousarray(nodes[None]), np.zeros(largest + 1, np.int64))

    @property
    def largest(self) -> int:
        """Size of the largest stratum."""
        return len(self._tables[1]) - 1

    def for_sizes(self, needed: Array) -> tuple[Array, Array]:
        """The table, and the row of g = 0 for every size; `needed[n]` tells whether the size n occurs."""
        with self._lock:
            table, rows = self._tables
            sizes = np.flatnonzero(needed & (rows == 0))
            sizes = sizes[sizes > self._shots] if self._shots else sizes[:0]
            if len(sizes):
                parts, rows, start = [table], rows.copy(), len(table)
                for size in sizes.tolist():
                    part = np.empty((size, len(self._nodes)))
                    fill_ratios(size, self._shots, self._nodes, part)
                    parts.append(part)
                    rows[size] = start
                    start += size
                self._tables = np.concatenate(parts), rows
            return self._tables


@jit
def survey(masked, stratum, sizes, needed, cut):
    """Sizes of strata after the mask, and strata that it cuts.

    Parameters
    ----------
    masked : bool ndarray of shape (n_queries, n_gallery)
    stratum, sizes : ndarray
        Of every item; of every stratum.
    needed : bool ndarray of shape (largest + 1,)
        Becomes True for every size that occurs.
    cut : int64 ndarray of shape (4,)
        Becomes (query, stratum) of the first stratum of which a part is removed, and (stratum, items left)
        of the one with the fewest items left.
    """
    left = np.empty_like(sizes)
    for q in range(len(masked)):
        left[:] = sizes
        for i in range(len(stratum)):
            if masked[q, i]:
                left[stratum[i]] -= 1
        for s in range(len(sizes)):
            if 0 < left[s] < sizes[s]:
                needed[left[s]] = True
                if cut[0] < 0:
                    cut[0], cut[1] = q, s
                if cut[2] < 0 or left[s] < cut[3]:
                    cut[2], cut[3] = s, left[s]
