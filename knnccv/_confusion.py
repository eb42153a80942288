"""Expected confusion matrices, from the losses that mark one predicted class."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .kernel import Array

if TYPE_CHECKING:
    from .driver import Asked
    from .result import CompleteCV

NORMALIZE = ("true", "pred", "all")
# Two classes need one question, as one of them is predicted; but not where short lists leave that open.
DECIDED = 1e-9


def check_normalize(normalize: Any) -> None:
    """Raise ValueError if it is not what `CompleteCV.confusion` takes."""
    if normalize is not None and not (isinstance(normalize, str) and normalize in NORMALIZE):
        allowed = ", ".join(map(repr, NORMALIZE))
        msg = f"normalize must be None, {allowed}, got {normalize!r}"
        raise ValueError(msg)


def expected_confusion(result: CompleteCV, asked: Asked) -> Array:
    """The matrix of `CompleteCV.confusion`, not normalized."""
    if "loss" not in asked.question.variant.parameters:
        msg = (
            f"variant {result.variant!r} predicts no class that confusion() could count; the rules that "
            "take a loss do ('nn', 'knn')"
        )
        raise ValueError(msg)
    return _matrix(result, asked)


def _matrix(result: CompleteCV, asked: Asked) -> Array:
    labels = asked.question.labels
    n_classes = len(labels.classes)
    if n_classes == 2 and result.truncation_bound <= DECIDED:
        right = result if result.parameters["loss"] is None else asked.again(loss=None)
        diagonal = _sums(right, asked)
        matrix = np.diag(diagonal)
        matrix[[0, 1], [1, 0]] = np.maximum(_class_weights(asked) - diagonal, 0)
        return matrix
    columns = []
    for c in range(n_classes):
        marks = np.zeros((n_classes, n_classes), int)
        marks[:, c] = 1
        columns.append(_sums(asked.again(loss=marks), asked))
    return np.column_stack(columns)


def _sums(result: CompleteCV, asked: Asked) -> Array:
    """What the items of every class add to the score."""
    codes = asked.question.labels.codes
    if result.per_item_exact is None:
        parts = np.where(result.weights > 0, result.weights * result.per_item, 0.0)
        return np.bincount(codes, parts, len(asked.question.labels.classes))
    sums = np.full(len(asked.question.labels.classes), Fraction(0), dtype=object)
    for c, score in zip(codes, result.per_item_exact, strict=True):
        if score is not None:
            sums[c] += score
    return sums * _item_weights(asked)


def _item_weights(asked: Asked) -> Array:
    """What an item of every class counts, Fractions in exact mode."""
    weights = np.array([sum(each, Fraction(0)) for each in zip(*asked.question.item_weights, strict=True)])
    return weights if asked.exact else weights.astype(float)


def _class_weights(asked: Asked) -> Array:
    """What all items of every class count."""
    counts = [int(count) for count in asked.question.labels.counts]
    weights: Array = np.array(counts, dtype=object if asked.exact else float) * _item_weights(asked)
    return weights


def normalized(matrix: Array, normalize: str | None) -> Array:
    """The matrix with rows, columns or all of it scaled to sum 1; a copy."""
    if normalize is None:
        return matrix.copy()
    axis = {"true": 1, "pred": 0, "all": None}[normalize]
    totals = np.broadcast_to(matrix.sum(axis=axis, keepdims=True), matrix.shape)
    out = np.full(matrix.shape, np.nan, dtype=matrix.dtype)
    np.divide(matrix, totals, out=out, where=(totals != 0).astype(bool))
    return out
