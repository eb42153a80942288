"""The loss matrix that the nearest-neighbour and the voting rules share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from knnccv.kernel import Array, jit


@jit
def score_of(table, own, predicted, unit):  # type: ignore[no-untyped-def]
    """The loss of predicting `predicted` for class `own`; an empty table scores the match."""
    if len(table) == 0:
        if own == predicted:
            return unit * 1
        return unit * 0
    return table[own, predicted] * unit


def check_loss(loss: Any, n_classes: int) -> None:
    """Raise if `loss` is neither None nor a finite (n_classes, n_classes) matrix.

    Raises
    ------
    ValueError
        If the shape or a value is wrong.
    TypeError
        If it does not hold real numbers.
    """
    if loss is None:
        return
    try:
        matrix = np.asarray(loss)
        if matrix.dtype.kind not in "biuf":
            matrix = np.asarray([[float(value) for value in row] for row in loss])
    except (TypeError, ValueError) as error:
        msg = f"loss must be None or a matrix of real numbers, got {loss!r}"
        raise TypeError(msg) from error
    if matrix.shape != (n_classes, n_classes):
        msg = (
            f"loss must have shape ({n_classes}, {n_classes}) for {n_classes} classes (rows true, "
            f"columns predicted, in sorted label order), got shape {matrix.shape}"
        )
        raise ValueError(msg)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        msg = f"loss must be finite, got {matrix[row, column]} at row {row}, column {column}"
        raise ValueError(msg)


def largest_loss(loss: Any) -> float:
    """The largest absolute entry; 1 for the 0/1 match."""
    return 1.0 if loss is None else float(np.abs(np.asarray(loss, dtype=float)).max())


def loss_table(loss: Any, number: type) -> Array:
    """The matrix as floats or as Fractions; empty for the 0/1 match."""
    if loss is None:
        return np.empty((0, 0), dtype=object if number is Fraction else float)
    if number is Fraction:
        return np.array([[Fraction(_plain(value)) for value in row] for row in loss], dtype=object)
    return np.array([[float(value) for value in row] for row in loss])


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, which Fraction takes."""
    return value.item() if isinstance(value, np.generic) else value
