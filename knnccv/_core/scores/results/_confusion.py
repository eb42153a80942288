"""Expected confusion matrices: one run for each class, with a loss that counts its predictions.

And what is read off a table: precision, recall, F1 and Matthews' correlation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...._base.typing import Array
from ...._base.validation import check_choice
from ...driver import Evaluation, Scored
from ._scored import again

# With two classes one run is enough, unless lists that end too early leave some predictions open.
MAX_UNDECIDED = 1e-9
NORMALIZE = ("true", "pred", "all")
TABLE_AVERAGES = ("binary", "macro", "micro", "weighted")


def expected_confusion(result: Scored, given: Evaluation) -> Array:
    """Return the matrix of `CompleteCV.confusion`, not normalized."""
    problem, exact = given.problem, given.exact
    if "loss" not in problem.variant.parameters:
        msg = (
            f"variant {problem.variant.name!r} does not predict a class, so it has no confusion matrix; "
            "rules that take a loss have one ('nn', 'knn')"
        )
        raise ValueError(msg)
    labels = problem.labels
    n_classes = len(labels.classes)
    # The weight of one sample of every class.
    weights = np.array([sum(each, Fraction(0)) for each in zip(*problem.item_weights, strict=True)])
    weights = weights if exact else weights.astype(float)

    def sums(scored: Scored) -> Array:
        """The sum of weighted scores over the samples of every class."""
        if scored.per_item_fraction is None:
            parts = np.where(scored.weights > 0, scored.weights * scored.per_item, 0.0)
            return np.bincount(labels.codes, parts, n_classes)
        totals = np.full(n_classes, Fraction(0), dtype=object)
        for c, score in zip(labels.codes, scored.per_item_fraction, strict=True):
            if score is not None:
                totals[c] += score
        weighted: Array = totals * weights
        return weighted

    predicts = problem.radius is None  # without neighbors within a radius there may be no prediction
    if n_classes == 2 and predicts and result.truncation_bound <= MAX_UNDECIDED:
        diagonal = sums(result if problem.loss is None else again(given, loss=None))
        counts = np.array([int(count) for count in labels.counts], dtype=object if exact else float)
        matrix = np.diag(diagonal)
        matrix[[0, 1], [1, 0]] = np.maximum(counts * weights - diagonal, 0)
        return matrix
    columns = []
    for c in range(n_classes):
        marks = np.zeros((n_classes, n_classes), int)
        marks[:, c] = 1
        columns.append(sums(again(given, loss=marks)))
    return np.column_stack(columns)


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


def share_right(matrix: Array, classes: Array, of_true: float, average: Any, pos_label: Any) -> float:
    """Precision, recall or F of a table, rows true and columns predicted: the shares of the diagonal.

    ``TP / (of_true * true + (1 - of_true) * predicted)`` of the classes, averaged: `of_true` is 1 for
    recall, 0 for precision and 1/2 for F1. An undefined share counts as 0, as in scikit-learn.
    """
    check_choice("average", average, TABLE_AVERAGES)
    right, true, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    if average == "micro":
        right, true, predicted = (
            right.sum(keepdims=True),
            true.sum(keepdims=True),
            predicted.sum(keepdims=True),
        )
    base = of_true * true + (1 - of_true) * predicted
    shares = np.divide(right, base, out=np.zeros(len(base)), where=base > 0)
    if average == "weighted":
        return float(shares @ true / true.sum())
    if average != "binary":
        return float(shares.mean())
    names = list(classes)
    if len(names) > 2 or pos_label not in names:
        msg = (
            f"average='binary' needs two classes, and pos_label one of them, got {pos_label!r} for the "
            f"classes {classes.tolist()}; other averages: {', '.join(map(repr, TABLE_AVERAGES[1:]))}"
        )
        raise ValueError(msg)
    return float(shares[names.index(pos_label)])


def matthews(matrix: Array) -> float:
    """Matthews' correlation coefficient of a table, in Gorodkin's form; 0 where it is undefined."""
    true, predicted, total = matrix.sum(axis=1), matrix.sum(axis=0), matrix.sum()
    spread = (total**2 - true @ true) * (total**2 - predicted @ predicted)
    return float((np.trace(matrix) * total - true @ predicted) / np.sqrt(spread)) if spread > 0 else 0.0
