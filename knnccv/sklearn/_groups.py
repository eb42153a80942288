"""Scores of listed splits, in which whole groups train or are tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..neighbors import Neighbors
from ._estimators import InexactError, Rule
from ._scoring import Measure
from ._splitters import Split

ROWS = 512
SPLITS = 2048
MAX_CELLS = 2**22  # samples times splits of one pass


@dataclass(frozen=True)
class Target:
    """The predicted quantity: ``codes`` of ``n_classes`` classes, or ``values`` (n_items, n_outputs)."""

    codes: Array
    n_classes: int
    values: Array


@jit
def _costs_of_splits(items, values, lengths, rows, train, test, k, by_distance, codes, costs, targets, out):
    """Compute the cost of each row's prediction in every split that tests it; O(list positions read).

    ``train`` and ``test`` (n_splits, n_items) are flags. ``costs`` has shape (n_classes, n_classes), or
    (0, 0) for the squared error of predicting the mean of ``targets``. The cost is 0 in splits that do not
    test the row, and NaN if the list is too short.
    """
    n_outputs = targets.shape[1]
    votes = np.zeros(max(len(costs), 1), np.int64)
    means = np.zeros(n_outputs)
    for r in range(len(rows)):
        for split in range(len(train)):
            out[r, split] = 0.0
            if not test[split, rows[r]]:
                continue
            votes[:] = 0
            means[:] = 0.0
            found = 0
            first = 0
            for i in range(lengths[r]):
                item = items[r, i]
                if not train[split, item]:
                    continue
                if by_distance and found == 1 and values[r, i] > values[r, first]:
                    found = k  # of two neighbors, the farther has the smaller weight
                    break
                if found == 0:
                    first = i
                found += 1
                if len(costs) > 0:
                    votes[codes[item]] += 1
                else:
                    for o in range(n_outputs):
                        means[o] += targets[item, o]
                if found == k:
                    break
            if found < k:
                out[r, split] = np.nan
            elif len(costs) > 0:
                out[r, split] = costs[codes[rows[r]], np.argmax(votes)]
            else:
                for o in range(n_outputs):
                    out[r, split] += (means[o] / k - targets[rows[r], o]) ** 2 / n_outputs


def score_splits(
    rule: Rule,
    measure: Measure,
    target: Target,
    splits: Iterator[tuple[Fraction, Split]],
    pooled: bool,
) -> tuple[float, float]:
    """Compute the mean score of splits with given probabilities, and a bound of its rounding error.

    The mean of the splits' scores or, with `pooled`, the mean over all their classifications.

    Raises
    ------
    ValueError
        If a training set is too small.
    """
    costs = _cost_table(measure, target)
    n_items = rule.neighbors.n_items
    chunk = max(min(MAX_CELLS // n_items, SPLITS), 1)
    total, weight = 0.0, 0.0
    while part := list(islice(splits, chunk)):
        rule.check_size(min(len(train) for _, (train, _) in part))
        train, test = (_flags([split[side] for _, split in part], n_items) for side in (0, 1))
        by_class = _class_weights(test, measure, target, pooled)
        scores = _scores(rule, target, costs, train, test, by_class)
        shares = np.array([float(probability) for probability, _ in part])
        total += float(shares @ scores)
        weight += float(shares @ (test.sum(axis=1) / n_items if pooled else np.ones(len(shares))))
    largest = float(np.abs(costs).max() if len(costs) else np.ptp(target.values, axis=0).max() ** 2)
    steps = n_items + rule.n_neighbors + 16
    return total / weight, float(steps * np.finfo(float).eps * max(largest, 1.0))


def _cost_table(measure: Measure, target: Target) -> Array:
    if measure.kind in ("squared", "brier"):
        return np.empty((0, 0))
    return np.eye(target.n_classes) if measure.costs is None else measure.costs


def _flags(parts: Sequence[Array], n_items: int) -> Array:
    flags = np.zeros((len(parts), n_items), bool)
    for row, part in zip(flags, parts, strict=True):
        row[part] = True
    return flags


def _class_weights(test: Array, measure: Measure, target: Target, pooled: bool) -> Array:
    """Return a tested sample's weight in its split's score by its class, shape (n_splits, n_classes)."""
    n_items = test.shape[1]
    if pooled:  # every sample is tested equally often
        counts = np.bincount(target.codes, minlength=target.n_classes)
        each = 1.0 / (counts * target.n_classes) if measure.kind == "balanced" else 1.0 / n_items
        return np.full((len(test), target.n_classes), each)
    if measure.kind != "balanced":
        return np.repeat(1.0 / test.sum(axis=1, keepdims=True), target.n_classes, axis=1)
    counts = np.array([np.bincount(target.codes[row], minlength=target.n_classes) for row in test])
    if measure.every_class and not counts.all():
        msg = f"{measure.name} has no closed form if a test set has no sample of some class"
        raise InexactError(msg)
    each = 1.0 / np.maximum(counts, 1) / (counts > 0).sum(axis=1, keepdims=True)
    return np.where(counts > 0, each, 0.0)


def _scores(rule: Rule, target: Target, costs: Array, train: Array, test: Array, by_class: Array) -> Array:
    """Compute every split's score, the weighted sum over its test samples."""
    near: Neighbors = rule.neighbors
    scores = np.zeros(len(train))
    per_training_item = near.n_items / max(int(train.sum(axis=1).min()), 1)
    depth = min(int(4 * rule.n_neighbors * per_training_item) + 16, near.max_depth)
    rows = np.flatnonzero(test.any(axis=0))
    while len(rows):
        near.prepare(depth)
        short: list[Array] = []
        for start in range(0, len(rows), ROWS):
            block = rows[start : start + ROWS]
            lists = near.search(block, depth)
            out = np.empty((len(block), len(train)))
            _costs_of_splits(
                lists.items,
                lists.values,
                lists.lengths,
                block,
                train,
                test,
                rule.n_neighbors,
                rule.by_distance and rule.n_neighbors > 1,
                target.codes,
                costs,
                target.values,
                out,
            )
            unknown = np.isnan(out).any(axis=1)
            short.append(block[unknown])
            known = block[~unknown]
            scores += (out[~unknown] * by_class[:, target.codes[known]].T).sum(axis=0)
        rows = np.concatenate(short)
        depth = min(2 * depth, near.max_depth)
    return scores
