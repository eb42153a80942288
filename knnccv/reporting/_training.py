"""The training size and the numbers of neighbors of a report."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._labels import single_class
from .._validation import check_integer
from ..designs import Subsample

SMALL_K = 15
LARGER_K = (21, 31)


def checked_size(train_size: int | float, n_items: int) -> int:
    """The number of training samples.

    Raises
    ------
    ValueError, TypeError
        As `Subsample`.
    """
    (kind,) = Subsample(train_size).training_sets(single_class(n_items))
    return int(kind.n_train[0])


def checked_neighbors(n_neighbors: Any, train_size: int) -> list[int]:
    """The K to compare, in ascending order.

    Raises
    ------
    ValueError, TypeError
        If one is not an integer from 1 to the training size.
    """
    if n_neighbors is None:
        most = max(train_size // 10, 1)
        larger = [k for k in LARGER_K if k <= most]
        return [*range(1, min(SMALL_K, train_size) + 1), *larger]
    given = [n_neighbors] if isinstance(n_neighbors, Integral) else list(np.ravel(n_neighbors).tolist())
    if not given:
        msg = "n_neighbors must name at least one number of neighbors, got none"
        raise ValueError(msg)
    limit = "the number of training samples"
    return sorted({check_integer("n_neighbors", k, 1, train_size, limit) for k in given})
