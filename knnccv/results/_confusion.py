"""Expected confusion matrices: one run for each class, with a loss that counts its predictions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Array
from ..driver import Scored, ScoringProblem

# With two classes one run is enough, unless lists that end too early leave some predictions open.
MAX_UNDECIDED = 1e-9
NORMALIZE = ("true", "pred", "all")


def expected_confusion(
    problem: ScoringProblem, result: Scored, exact: bool, again: Callable[..., Scored]
) -> Array:
    """Return the matrix of `CompleteCV.confusion`, not normalized.

    ``again(**parameters)`` computes the result of other parameters; if `exact` in rational numbers.
    """
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
        if scored.per_item_exact is None:
            parts = np.where(scored.weights > 0, scored.weights * scored.per_item, 0.0)
            return np.bincount(labels.codes, parts, n_classes)
        totals = np.full(n_classes, Fraction(0), dtype=object)
        for c, score in zip(labels.codes, scored.per_item_exact, strict=True):
            if score is not None:
                totals[c] += score
        weighted: Array = totals * weights
        return weighted

    if n_classes == 2 and result.truncation_bound <= MAX_UNDECIDED:
        diagonal = sums(result if problem.parameters["loss"] is None else again(loss=None))
        counts = np.array([int(count) for count in labels.counts], dtype=object if exact else float)
        matrix = np.diag(diagonal)
        matrix[[0, 1], [1, 0]] = np.maximum(counts * weights - diagonal, 0)
        return matrix
    columns = []
    for c in range(n_classes):
        marks = np.zeros((n_classes, n_classes), int)
        marks[:, c] = 1
        columns.append(sums(again(loss=marks)))
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
