"""The jackknife: standard errors from scores without one unit, or one group of units, at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array


def jackknife_error(without: Array, score: Any = 0.0, sizes: Array | None = None) -> Any:
    """The standard error of a score from its values without each unit, or without each group of units.

    Parameters
    ----------
    without : ndarray of shape (n_groups,) or (n_groups, n_scores)
        The score without each group.
    score : float or ndarray of shape (n_scores,), default 0.0
        The score of all units. It matters only if the groups differ in size.
    sizes : ndarray of shape (n_groups,), optional
        Number of units in each group. Default: one.

    Returns
    -------
    float, or ndarray of shape (n_scores,)

    References
    ----------
    Efron & Stein, The jackknife estimate of variance, Annals of Statistics 9, 1981. For groups of different
    sizes: Busing, Meijer & van der Leeden, Delete-m jackknife for unequal m, Statistics and Computing 9,
    1999.
    """
    n = len(without)
    if sizes is None or len(np.unique(sizes)) == 1:
        squares: Any = (n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    else:
        ratio = (sizes.sum() / sizes).reshape((-1,) + (1,) * (without.ndim - 1))
        pseudo = score + (ratio - 1) * (score - without)
        squares = ((pseudo - (pseudo / ratio).sum(axis=0)) ** 2 / (ratio - 1)).sum(axis=0) / n
    return np.sqrt(squares) if np.ndim(squares) else float(np.sqrt(squares))
