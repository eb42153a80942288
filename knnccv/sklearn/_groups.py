"""Scores of listed splits, in which whole groups train or are tested."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from .._labels import encode_labels
from .._parallel import counted
from .._typing import Array
from ..driver import InexactError
from ..kernel import jit
from ._estimators import Rule, check_size
from ._scoring import Measure
from ._splitters import GroupLaw

ROWS = 512
SPLITS = 2**15
MAX_CELLS = 2**20  # samples times splits of one pass


class Tables(NamedTuple):
    """What a prediction costs.

    Attributes
    ----------
    codes : int64 ndarray of shape (n_items,)
        The classes of the samples; one class for a regression.
    counts : int64 ndarray of shape (n_classes,)
        The number of samples of every class.
    costs : ndarray of shape (n_classes, n_classes)
        Rows: true, columns: predicted classes; (0, 0) for squared errors of means of `targets`.
    targets : ndarray of shape (n_items, n_outputs)
        The averaged values; n_outputs is 0 for `costs`.
    """

    codes: Array
    counts: Array
    costs: Array
    targets: Array


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
    rule: Rule, measure: Measure, y: Array, law: GroupLaw, pooled: bool
) -> tuple[float, float]:
    """Compute the mean score of all splits of a law, and a bound of its rounding error.

    The mean of the splits' scores or, with `pooled`, the mean over all their classifications.

    Raises
    ------
    ValueError
        If a training set is too small.
    """
    tables = _tables(rule, measure, y)
    n_items = len(y)
    splits = law.splits()
    members = np.zeros((len(law.sizes), len(tables.counts)), np.int64)  # of every class in every group
    np.add.at(members, (law.codes, tables.codes), 1)
    total, weight = 0.0, 0.0
    while part := list(islice(splits, SPLITS)):
        train, test = np.zeros((2, len(part), len(members)), bool)
        for row, (_, (trained, left_out)) in enumerate(part):
            train[row, list(trained)] = test[row, list(left_out)] = True
        least, tested = int((train @ members).sum(axis=1).min()), test @ members
        check_size(rule.n_neighbors, least)
        by_class = _class_weights(tested, measure, tables.counts, pooled)
        scores = _scores(rule, tables, law.codes, train, test, least, by_class)
        shares = np.array([float(probability) for probability, _ in part])
        total += float(shares @ scores)
        weight += float(shares @ (tested.sum(axis=1) / n_items if pooled else np.ones(len(shares))))
    costs, targets = tables.costs, tables.targets
    largest = float(np.abs(costs).max() if len(costs) else np.ptp(targets, axis=0).max() ** 2)
    steps = n_items + rule.n_neighbors + 16
    # The squared errors of the shares of the votes are summed over the classes, not averaged.
    factor = targets.shape[1] if measure.kind == "brier" else 1
    return factor * (total / weight), float(factor * (steps * np.finfo(float).eps * max(largest, 1.0)))


def _tables(rule: Rule, measure: Measure, y: Array) -> Tables:
    none = np.empty((0, 0))
    if rule.regression:
        values = np.ascontiguousarray(y.reshape(len(y), -1), dtype=float)
        return Tables(np.zeros(len(y), np.int64), np.array([len(y)]), none, values)
    labels = encode_labels(y)
    each = np.eye(len(labels.classes))
    if measure.kind == "brier":
        return Tables(labels.codes, labels.counts, none, each[labels.codes])
    return Tables(labels.codes, labels.counts, each if measure.costs is None else measure.costs, none)


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


def _scores(
    rule: Rule, tables: Tables, groups: Array, train: Array, test: Array, n_train: int, by_class: Array
) -> Array:
    """Compute every split's score, the weighted sum over its test samples."""
    near, k = rule.neighbors, rule.n_neighbors
    scores = np.zeros(len(train))
    depth = min(int(4 * k * near.n_items / max(n_train, 1)) + 16, near.max_depth)
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
            by_distance = rule.by_distance and k > 1
            _costs_of_splits(
                *(lists.items, lists.values, lists.lengths, block, groups, train, test, k, by_distance),
                *(tables.codes, tables.costs, tables.targets, out),
            )
            unknown = np.isnan(out).any(axis=1)
            short.append(block[unknown])
            known = block[~unknown]
            scores += (out[~unknown] * by_class[:, tables.codes[known]].T).sum(axis=0)
        rows = np.concatenate(short)
        depth = min(2 * depth, near.max_depth)
    return scores
