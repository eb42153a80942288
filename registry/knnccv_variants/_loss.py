"""The loss matrix that the nearest-neighbor and the voting rules share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from knnccv._typing import Array
from knnccv._validation import as_reals
from knnccv.kernel import inner

LARGEST = 1e300  # so that no sum of losses overflows


@inner
def score_of(losses, own_class, predicted, unit):
    """The loss of predicting `predicted` for class `own_class`; without losses, 1 for the same class."""
    if len(losses) == 0:
        if own_class == predicted:
            return unit * 1
        return unit * 0
    return losses[own_class, predicted] * unit


def check_loss(loss: Any, n_classes: int) -> None:
    """Check that `loss` is None or a finite (n_classes, n_classes) matrix.

    Raises
    ------
    ValueError
        If the shape or a value is wrong.
    TypeError
        If it contains a value that is not a real number.
    """
    if loss is None:
        return
    must = "loss must be None or a matrix of real numbers"
    matrix = as_reals("loss", loss, must)
    if matrix.shape != (n_classes, n_classes):
        msg = (
            f"loss must have shape ({n_classes}, {n_classes}) for {n_classes} classes (rows true, "
            f"columns predicted, in sorted label order), got shape {matrix.shape}"
        )
        raise ValueError(msg)
    if np.abs(matrix).max() > LARGEST:
        msg = f"loss must not exceed {LARGEST:g} in absolute value, got {np.abs(matrix).max():g}"
        raise ValueError(msg)


def largest_loss(loss: Any) -> float:
    """The largest absolute entry; 1 for the 0/1 match."""
    return 1.0 if loss is None else float(np.abs(np.asarray(loss, dtype=float)).max())


def loss_table(loss: Any, number: type) -> Array:
    """The matrix as floats or as Fractions; empty for the 0/1 match."""
    if loss is None:
        return np.empty((0, 0), dtype=object if number is Fraction else float)
    matrix = np.asarray(loss)
    if number is not Fraction:
        return matrix.astype(float)
    table = np.empty(matrix.shape, dtype=object)
    for at in np.ndindex(matrix.shape):
        table[at] = _rational(matrix[at])
    return table


def _rational(value: Any) -> Fraction:
    if isinstance(value, (Fraction, int)):
        return Fraction(value)
    if isinstance(value, (np.integer, np.bool_)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio())
