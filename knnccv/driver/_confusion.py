"""Expected confusion matrices: one run for each class, with a loss that counts its predictions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .._typing import Array
from ._result import CompleteCV, Evaluation

# With two classes one run is enough, unless lists that end too early leave some predictions open.
MAX_UNDECIDED = 1e-9


def expected_confusion(result: CompleteCV, evaluation: Evaluation) -> Array:
    """Return the matrix of `CompleteCV.confusion`, not normalized."""
    if "loss" not in evaluation.problem.variant.parameters:
        msg = (
            f"variant {result.variant!r} does not predict a class, so it has no confusion matrix; rules "
            "that take a loss have one ('nn', 'knn')"
        )
        raise ValueError(msg)
    return _matrix(result, evaluation)


def _matrix(result: CompleteCV, evaluation: Evaluation) -> Array:
    labels = evaluation.problem.labels
    n_classes = len(labels.classes)
    if n_classes == 2 and result.truncation_bound <= MAX_UNDECIDED:
        accuracy = result if result.parameters["loss"] is None else evaluation.again(loss=None)
        diagonal = _sums(accuracy, evaluation)
        matrix = np.diag(diagonal)
        matrix[[0, 1], [1, 0]] = np.maximum(_class_weights(evaluation) - diagonal, 0)
        return matrix
    columns = []
    for c in range(n_classes):
        marks = np.zeros((n_classes, n_classes), int)
        marks[:, c] = 1
        columns.append(_sums(evaluation.again(loss=marks), evaluation))
    return np.column_stack(columns)


def _sums(result: CompleteCV, evaluation: Evaluation) -> Array:
    """The sum of weighted scores over the samples of every class."""
    codes = evaluation.problem.labels.codes
    if result.per_item_exact is None:
        parts = np.where(result.weights > 0, result.weights * result.per_item, 0.0)
        return np.bincount(codes, parts, len(evaluation.problem.labels.classes))
    sums = np.full(len(evaluation.problem.labels.classes), Fraction(0), dtype=object)
    for c, score in zip(codes, result.per_item_exact, strict=True):
        if score is not None:
            sums[c] += score
    return sums * _item_weights(evaluation)


def _item_weights(evaluation: Evaluation) -> Array:
    """The weight of one sample of every class; Fractions in exact mode."""
    weights = np.array(
        [sum(each, Fraction(0)) for each in zip(*evaluation.problem.item_weights, strict=True)]
    )
    return weights if evaluation.exact else weights.astype(float)


def _class_weights(evaluation: Evaluation) -> Array:
    counts = [int(count) for count in evaluation.problem.labels.counts]
    weights: Array = np.array(counts, dtype=object if evaluation.exact else float) * _item_weights(
        evaluation
    )
    return weights
