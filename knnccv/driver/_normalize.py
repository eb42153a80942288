"""Normalization of confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array

NORMALIZE = ("true", "pred", "all")


def check_normalize(normalize: Any) -> None:
    """Raise ValueError if `CompleteCV.confusion` does not take this value."""
    if normalize is not None and not (isinstance(normalize, str) and normalize in NORMALIZE):
        allowed = ", ".join(map(repr, NORMALIZE))
        msg = f"normalize must be None, {allowed}, got {normalize!r}"
        raise ValueError(msg)


def normalized(matrix: Array, normalize: str | None) -> Array:
    """A copy of the matrix with rows, columns or the whole scaled to sum 1."""
    if normalize is None:
        return matrix.copy()
    axis = {"true": 1, "pred": 0, "all": None}[normalize]
    totals = np.broadcast_to(matrix.sum(axis=axis, keepdims=True), matrix.shape)
    out = np.full(matrix.shape, np.nan, dtype=matrix.dtype)
    np.divide(matrix, totals, out=out, where=(totals != 0).astype(bool))
    return out
