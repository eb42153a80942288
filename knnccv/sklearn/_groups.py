"""Scores of listed splits, in which whole groups train or are tested."""

from __future__ import annotations

from itertools import islice

import numpy as np

from .._parallel import counted
from .._typing import Array
from ..driver import InexactError
from ..runs import NEITHER, nearest_in_runs
from ._by_runs import AT_ONCE, Question, outputs_of, weights_of
from ._estimators import check_size
from ._scoring import Measure
from ._splitters import GroupLaw


def score_splits(asked: Question, measure: Measure, law: GroupLaw) -> tuple[float, float]:
    """Compute the mean score of all splits of a law, and a bound of its rounding error.

    The mean of the splits' scores or, if these are pooled, the mean over all their classifications.

    Raises
    ------
    ValueError
        If a training set is too small.
    """
    rule, y, labels, pooled = asked.rule, asked.request.y, asked.labels, asked.request.pooled
    k, codes, each = rule.n_neighbors, labels.codes, np.eye(len(labels.classes))
    by_costs = not rule.regression and measure.kind != "brier"
    costs = each if measure.costs is None else measure.costs
    targets = y.reshape(len(y), -1).astype(float) if rule.regression else each[codes]
    least = min(int(np.sort(law.sizes)[:n_train].sum()) for _, n_train, _ in law.parts)
    check_size(k, least)
    depth = 4 * k * len(y) // max(least, 1) + 16
    splits, total, weight = law.splits(), 0.0, 0.0
    step = max(1, AT_ONCE // (len(y) * max(k, targets.shape[1])))
    starts = range(0, law.n_splits, step)
    for _ in counted(starts, len(starts)):
        part = list(islice(splits, step))
        fold_of = np.full((len(part), len(law.sizes)), NEITHER, np.int32)
        for row, (_, (trained, left_out)) in enumerate(part):
            fold_of[row, list(trained)], fold_of[row, list(left_out)] = -1, 0
        folds = fold_of[:, law.codes]
        is_tested = folds == 0
        tested = (is_tested @ each[codes]).astype(np.int64)
        by_class = _class_weights(tested, measure, labels.counts, pooled)
        items, distances = nearest_in_runs(rule.neighbors, folds, k, "index", depth, asked.request.n_jobs)
        outputs = outputs_of(asked, items, weights_of(rule, distances))
        gaps = costs[codes, outputs.argmax(axis=2)] if by_costs else ((outputs - targets) ** 2).mean(axis=2)
        scores = (np.where(is_tested, gaps, 0.0) * by_class[:, codes]).sum(axis=1)
        shares = np.array([float(probability) for probability, _ in part])
        total += float(shares @ scores)
        weight += float(shares @ (tested.sum(axis=1) / len(y) if pooled else np.ones(len(shares))))
    largest = float(np.abs(costs).max() if by_costs else np.ptp(targets, axis=0).max() ** 2)
    steps = len(y) + k + 16
    # The squared errors of the shares of the votes are summed over the classes, not averaged.
    factor = targets.shape[1] if measure.kind == "brier" else 1
    return factor * (total / weight), float(factor * (steps * np.finfo(float).eps * max(largest, 1.0)))


def _class_weights(tested: Array, measure: Measure, counts: Array, pooled: bool) -> Array:
    """Return a tested sample's weight in its split's score by its class, shape (n_splits, n_classes).

    `tested` (n_splits, n_classes) are the tested samples of every class, `counts` all samples.
    """
    if pooled:  # every sample is tested equally often
        each = 1.0 / (counts * len(counts)) if measure.kind == "balanced" else 1.0 / counts.sum()
        return np.full(tested.shape, each)
    if measure.kind != "balanced":
        return np.broadcast_to(1.0 / tested.sum(axis=1, keepdims=True), tested.shape)
    if measure.every_class and not tested.all():
        msg = f"{measure.name} has no closed form if a test set has no sample of some class"
        raise InexactError(msg)
    each = 1.0 / np.maximum(tested, 1) / (tested > 0).sum(axis=1, keepdims=True)
    return np.where(tested > 0, each, 0.0)
