"""Scores of listed splits, in which whole groups train or are tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .._parallel import counted
from .._typing import Array
from ..driver import InexactError
from ..kernel import jit
from ..neighbors import Neighbors
from ._estimators import Rule
from ._scoring import Measure
from ._splitters import GroupLaw

ROWS = 512
SPLITS = 2**15
MAX_CELLS = 2**20  # samples times splits of one pass


@dataclass(frozen=True)
class Target:
    """The predicted quantity: ``codes`` of ``n_classes`` classes, or ``values`` (n_items, n_outputs)."""

    codes: Array
    n_classes: int
    values: Array


@jit
def _costs_of_splits(
    items, values, lengths, rows, groups, train, test, k, by_distance, codes, costs, targets, out
):
    """Compute the cost of each row's prediction in every split that tests it; O(list positions read).

    ``train`` and ``test`` (n_splits, n_groups) are flags of the groups, ``groups`` (n_items,) those of the
    samples. ``costs`` has shape (n_classes, n_classes), or (0, 0) for the squared error of predicting the
    mean of ``targets``. The cost is 0 in splits that do not test the row, and NaN if the list is too short.
    """
    n_outputs = targets.shape[1]
    votes = np.zeros(max(len(costs), 1), np.int64)
    means = np.zeros(n_outputs)
    groups_of = np.empty(items.shape[1], np.int64)
    for r in range(len(rows)):
        own_group = groups[rows[r]]
        for i in range(lengths[r]):
            groups_of[i] = groups[items[r, i]]
        for split in range(len(train)):
            out[r, split] = 0.0
            if not test[split, own_group]:
                continue
            votes[:] = 0
            means[:] = 0.0
            found = 0
            first = 0
            for i in range(lengths[r]):
                if not train[split, groups_of[i]]:
                    continue
                item = items[r, i]
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
    law: GroupLaw,
    pooled: bool,
) -> tuple[float, float]:
    """Compute the mean score of all splits of a law, and a bound of its rounding error.

    The mean of the splits' scores or, with `pooled`, the mean over all their classifications.

    Raises
    ------
    ValueError
        If a training set is too small.
    """
    costs = _cost_table(measure, target)
    n_items = rule.neighbors.n_items
    splits = law.group_splits()
    members = np.zeros((len(law.sizes), target.n_classes), np.int64)  # of every class in every group
    np.add.at(members, (law.codes, target.codes), 1)
    total, weight = 0.0, 0.0
    while part := list(islice(splits, SPLITS)):
        train, test = (_flags([split[side] for _, split in part], len(members)) for side in (0, 1))
        n_train, tested = (train @ members).sum(axis=1), test @ members
        rule.check_size(int(n_train.min()))
        by_class = _class_weights(tested, measure, target, pooled)
        scores = _scores(rule, target, costs, law.codes, train, test, int(n_train.min()), by_class)
        shares = np.array([float(probability) for probability, _ in part])
        total += float(shares @ scores)
        weight += float(shares @ (tested.sum(axis=1) / n_items if pooled else np.ones(len(shares))))
    largest = float(np.abs(costs).max() if len(costs) else np.ptp(target.values, axis=0).max() ** 2)
    steps = n_items + rule.n_neighbors + 16
    return total / weight, float(steps * np.finfo(float).eps * max(largest, 1.0))


def _cost_table(measure: Measure, target: Target) -> Array:
    if measure.kind in ("squared", "brier"):
        return np.empty((0, 0))
    return np.eye(target.n_classes) if measure.costs is None else measure.costs


def _flags(parts: Sequence[tuple[int, ...]], n_groups: int) -> Array:
    flags = np.zeros((len(parts), n_groups), bool)
    for row, part in zip(flags, parts, strict=True):
        row[list(part)] = True
    return flags


def _class_weights(counts: Array, measure: Measure, target: Target, pooled: bool) -> Array:
    """Return a tested sample's weight in its split's score by its class, shape (n_splits, n_classes).

    `counts` (n_splits, n_classes) are the tested samples of every class.
    """
    n_items = len(target.codes)
    if pooled:  # every sample is tested equally often
        of_all = np.bincount(target.codes, minlength=target.n_classes)
        each = 1.0 / (of_all * target.n_classes) if measure.kind == "balanced" else 1.0 / n_items
        return np.full((len(counts), target.n_classes), each)
    if measure.kind != "balanced":
        return np.repeat(1.0 / counts.sum(axis=1, keepdims=True), target.n_classes, axis=1)
    if measure.every_class and not counts.all():
        msg = f"{measure.name} has no closed form if a test set has no sample of some class"
        raise InexactError(msg)
    each = 1.0 / np.maximum(counts, 1) / (counts > 0).sum(axis=1, keepdims=True)
    return np.where(counts > 0, each, 0.0)


def _scores(
    rule: Rule,
    target: Target,
    costs: Array,
    groups: Array,
    train: Array,
    test: Array,
    n_train: int,
    by_class: Array,
) -> Array:
    """Compute every split's score, the weighted sum over its test samples."""
    near: Neighbors = rule.neighbors
    scores = np.zeros(len(train))
    per_training_item = near.n_items / max(n_train, 1)
    depth = min(int(4 * rule.n_neighbors * per_training_item) + 16, near.max_depth)
    tested: Array = np.asarray(test.any(axis=0))
    rows = np.flatnonzero(tested[groups])
    size = min(max(MAX_CELLS // len(train), 1), ROWS)
    while len(rows):
        near.prepare(depth)
        short: list[Array] = []
        starts = range(0, len(rows), size)
        for start in counted(starts, len(starts)):
            block = rows[start : start + size]
            lists = near.search(block, depth)
            out = np.empty((len(block), len(train)))
            _costs_of_splits(
                lists.items,
                lists.values,
                lists.lengths,
                block,
                groups,
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
