"""Checks of parameters that several variants share."""

from __future__ import annotations

from typing import Any

import numpy as np

from knnccv.kernel import Task


def check_positive(name: str, value: Any) -> None:
    """Raise TypeError if `value` is no integer, ValueError if it is below 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        msg = f"{name} must be an integer, got {value!r}"
        raise TypeError(msg)
    if value < 1:
        msg = f"{name} must be at least 1, got {value}"
        raise ValueError(msg)


def check_n_neighbors(n_neighbors: Any, task: Task) -> None:
    """Raise if K is no integer between 1 and the size of the training set."""
    check_positive("n_neighbors", n_neighbors)
    if n_neighbors > task.train_size:
        msg = (
            f"n_neighbors must be between 1 and {task.train_size}, the size of the training set, "
            f"got {n_neighbors}"
        )
        raise ValueError(msg)
