"""Lists of the nearest gallery items: two rankings of a query that bracket all that agree with its list.

Moving a right item forward past a wrong one never lowers a score. Right items that are not listed directly
after the list, before all wrong ones, thus give the largest score, and after all wrong ones the smallest.
This holds for every gallery that is drawn, and so for the mean.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array


def bracket(listed: Array, masked: Array, right: Array) -> tuple[Array, Array, Array]:
    """The rankings of the smallest and the largest scores of some queries.

    Parameters
    ----------
    listed : float64 ndarray of shape (n, n_gallery)
        Integers from 0 to n_gallery - 1 that order the listed items, and infinity for the others;
        overwritten.
    masked : bool ndarray of shape (n, n_gallery)
        Items that are removed.
    right : bool ndarray of shape (n, n_gallery)
        Items of the query's identity.

    Returns
    -------
    low : float64 ndarray of shape (n, n_gallery)
        Values that order all items, right ones that are not listed behind all others.
    rows : int64 ndarray of shape (m,)
        Queries with right items that are not listed.
    high : float64 ndarray of shape (m, n_gallery)
        Values for these, right items directly after the list.
    """
    n_items = listed.shape[1]
    missing = np.isinf(listed)
    last = missing & right
    low = listed
    np.copyto(low, 2.0 * n_items, where=missing)
    apart = np.arange(n_items, dtype=np.float64)  # they must not tie, which would cost time
    np.copyto(low, 3 * n_items + apart, where=last)
    rows = np.flatnonzero((last & ~masked).any(axis=1))
    high = low[rows]
    np.copyto(high, n_items + apart, where=last[rows])
    return low, rows, high
