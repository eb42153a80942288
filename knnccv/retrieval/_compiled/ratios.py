"""Tables of ratios for strata of every size that occurs, built when they are needed."""

from __future__ import annotations

import threading

import numpy as np

from ..._typing import Array
from ...kernel import jit
from .quadrature import fill_ratios


class Ratios:
    """Tables of `fill_ratios` for strata of which `shots` items are drawn; row 0 is an item that always is.

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
        first = np.ascontiguousarray(nodes[None])
        self._tables = (first, np.zeros(largest + 1, np.int64), first)

    @property
    def largest(self) -> int:
        """Size of the largest stratum."""
        return len(self._tables[1]) - 1

    def for_sizes(self, needed: Array) -> tuple[Array, Array, Array]:
        """Ratios, the row of g = 0 for every size, and values; `needed[n]`: whether the size n occurs."""
        with self._lock:
            ratios, rows, values = self._tables
            sizes = np.flatnonzero(needed & (rows == 0))
            sizes = sizes[sizes > self._shots] if self._shots else sizes[:0]
            if len(sizes):
                rows, start = rows.copy(), len(ratios)
                more = np.empty((2, int((sizes + 1).sum()), len(self._nodes)))
                at = 0
                for size in sizes.tolist():
                    rows[size] = start + at
                    fill_ratios(size, self._shots, self._nodes, *more[:, at : at + size + 1])
                    at += size + 1
                self._tables = np.concatenate([ratios, more[0]]), rows, np.concatenate([values, more[1]])
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
        out = masked[q]
        for i in range(len(stratum)):
            left[stratum[i]] -= out[i]
        for s in range(len(sizes)):
            if 0 < left[s] < sizes[s]:
                needed[left[s]] = True
                if cut[0] < 0:
                    cut[0], cut[1] = q, s
                if cut[2] < 0 or left[s] < cut[3]:
                    cut[2], cut[3] = s, left[s]
