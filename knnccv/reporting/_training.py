"""The training size and the numbers of neighbors of a report."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._labels import single_class
from .._typing import Array
from .._validation import check_choice, check_integer
from ..designs import Subsample
from ..driver import AVERAGES

SMALL_K = 15
LARGER_K = (21, 31)
TIMES_LARGER = 2
"""Classes are unequal if the largest has more than so many times the samples of the others on average."""


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


def checked_average(average: str | None, task: str, y: Array) -> str:
    """What has equal weight; by default the classes if they are unequal, otherwise the samples.

    Raises
    ------
    ValueError
        If it is not among `AVERAGES`, or a regression has no classes to weigh.
    """
    if average is None:
        return "class" if task == "classification" and are_unequal(y) else "pooled"
    check_choice("average", average, AVERAGES)
    if task == "regression" and average == "class":
        msg = "leave out average='class': the task is regression, which has no classes"
        raise ValueError(msg)
    return average


def are_unequal(y: Array) -> bool:
    """Whether one class is so large that a rule which knows little else can have a high accuracy."""
    counts = np.unique(y, return_counts=True)[1]
    largest = int(counts.max())
    return largest * (len(counts) - 1) > TIMES_LARGER * (len(y) - largest)
