# mypy: allow-untyped-defs
"""The compiled passes over a block of samples: how each score changes without each of its neighbors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from ...._base.typing import Array
from ....kernel import (
    CONSTRAINTS,
    JOINT,
    JOINT_KERNEL,
    KERNEL,
    LABELS,
    REMOVAL,
    REMOVAL_KERNEL,
    Constraints,
    Order,
    inner,
    jit,
)
from .._rows import INTEGERS, ROWS, order_of

_FLOATS, _CUBE = types.Array(types.float64, 2, "C"), types.Array(types.float64, 3, "C")
_FLAGS = types.Array(types.boolean, 1, "C")


class Missing(NamedTuple):
    """The missing samples that count.

    ``weights[c, g, k]`` is the weight of a tested sample of class c in kind k if the missing one has the
    owner ``first + g``, by ``owners`` (n_items,); other missing samples do not count.
    """

    owners: Array
    first: int
    weights: Array


class Sets(NamedTuple):
    """Some kinds of training sets of N - 1 samples, for lists that are scored without each sample.

    ``constraints``, ``whole``
        The training sets; for the list with all its samples.
    ``removed``
        The class of the missing sample, -1 for any of a fixed-size design.
    """

    constraints: Constraints
    whole: Constraints
    removed: int
    missing: Missing


class Sums(NamedTuple):
    """What a pass fills: weighted changes (n_rows, depth), and scores without a sample beyond the list.

    ``bases`` is (n_kinds, n_rows). ``served[r]`` is 1 for a row to skip, and stays 0 for a row left to
    other kernels.
    """

    changes: Array
    bases: Array
    served: Array


def pass_over_rows(score_all):
    """A compiled pass that adds the weighted changes of every row; see `Missing` and `Sums`.

    ``score_all(kernel, near, labels, target, sets, alone, scores)`` fills the scores of all kinds without
    each listed sample (depth, n_kinds), and in a last row without a sample beyond the list; ``alone`` is
    the same array, flat. It returns False if the kernel does not serve the sample. ``sets`` are what it
    reads: a few arrays, since a call costs as much as a short walk if there are many.
    """

    @jit
    def add_changes(kernel, rows, labels, sets, missing, sums, stop):
        items, values, lengths, targets, average_ties = rows
        changes, bases, served = sums
        owners, first = missing.owners, missing.first
        n_problems, n_kinds = missing.weights.shape[1:]
        depth = items.shape[1]
        order = np.empty(depth, labels.classes.dtype)
        group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
        alone = np.empty((depth + 1) * n_kinds)
        scores = alone.reshape((depth + 1, n_kinds))
        for r in range(len(targets)):
            if stop[0]:
                break
            if served[r]:
                continue
            near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
            if not score_all(kernel, near, labels, targets[r], sets, alone, scores):
                continue
            served[r] = 1
            for k in range(n_kinds):
                bases[k, r] = scores[depth, k]
            weights, row = missing.weights[labels.classes[targets[r]]], changes[r]
            for i in range(len(near.items)):
                at = owners[near.items[i]] - first
                if not 0 <= at < n_problems:
                    continue
                change = 0.0
                for k in range(n_kinds):
                    if weights[at, k] > 0:
                        change += weights[at, k] * (scores[i, k] - scores[depth, k])
                row[i] += change

    return add_changes


@jit
def score_at_once(kernel, near, labels, target, constraints, alone, scores):  # noqa: ARG001
    """The scores of one kind by a removal kernel, see `Variant.removals`."""
    alone[-1] = kernel(near, labels, target, constraints, alone)
    return alone[-1] != math.inf


def by_the_rule(score_list):
    """A function that scores every list without one sample by a kernel of the rule.

    ``score_list(kernel, near, labels, target, constraints, scores, i)`` fills the row i; False if the
    kernel does not serve the list. It is called once for positions that are alike.
    """

    @jit
    def score_all(kernel, near, labels, target, sets, alone, scores):  # noqa: ARG001
        classes, (items, group_end) = labels.classes, near
        own_class, n_listed, removed = classes[target], len(items), sets.removed
        by_class = labels.values.size == 0
        left = sets.whole.counts[max(removed, 0)]
        if removed < 0 or removed == own_class:
            left -= sets.whole.held_out
        n_removable = n_listed
        if removed >= 0:
            n_removable = 0
            for i in range(n_listed):
                n_removable += classes[items[i]] == removed
        last, n_kinds = len(scores) - 1, scores.shape[1]
        for k in range(n_kinds):
            scores[last, k] = 0.0
        if n_removable <= left and not score_list(kernel, near, labels, target, sets.whole, scores, last):
            return False
        owners, first, weights = sets.missing
        rest, rest_end = np.empty_like(items), np.empty_like(items)
        for i in range(n_listed):
            scores[i, 0] = np.nan
            at, largest = owners[items[i]] - first, 0.0
            if 0 <= at < weights.shape[1]:
                for k in range(n_kinds):
                    largest = max(largest, weights[own_class, at, k])
            if largest == 0:
                continue
            like = earlier_alike(near, labels, i, scores) if by_class else i
            if like < i:
                for k in range(n_kinds):
                    scores[i, k] = scores[like, k]
                continue
            for p in range(n_listed - 1):
                old = p + (p >= i)
                rest[p] = items[old]
                end = group_end[old]
                rest_end[p] = end - (end > i)
            shorter = Order(rest[: n_listed - 1], rest_end[: n_listed - 1])
            if not score_list(kernel, shorter, labels, target, sets.constraints, scores, i):
                return False
        return True

    return score_all


@jit
def score_alone(kernel, near, labels, target, constraints, scores, i):
    """The score of one kind."""
    scores[i, 0] = kernel(near, labels, target, constraints)
    return scores[i, 0] != math.inf


@jit
def score_jointly(kernel, near, labels, target, constraints, scores, i):
    """The scores of all kinds, by a joint kernel."""
    kernel(near, labels, target, constraints, scores[i], np.empty(scores.shape[1]))
    return scores[i].max() != math.inf


_MISSING = types.NamedTuple([INTEGERS, types.int64, _CUBE], Missing)
_SETS = types.NamedTuple([CONSTRAINTS, CONSTRAINTS, types.int64, _MISSING], Sets)
_REST = (_MISSING, types.NamedTuple([_FLOATS, _FLOATS, INTEGERS], Sums), _FLAGS)
PASSES = {
    REMOVAL: (pass_over_rows(score_at_once), types.void(REMOVAL_KERNEL, ROWS, LABELS, CONSTRAINTS, *_REST)),
    JOINT: (
        pass_over_rows(by_the_rule(score_jointly)),
        types.void(JOINT_KERNEL, ROWS, LABELS, _SETS, *_REST),
    ),
    "": (pass_over_rows(by_the_rule(score_alone)), types.void(KERNEL, ROWS, LABELS, _SETS, *_REST)),
}
"""By the form of a step its pass, and the signature."""


@inner
def earlier_alike(near, labels, i, scores):
    """A position before i whose removal leaves the same tied groups of the same classes, or i itself."""
    end = near.group_end[i]
    c = labels.classes[near.items[i]]
    p = i - 1
    while p >= 0 and near.group_end[p] == end:
        if labels.classes[near.items[p]] == c and not np.isnan(scores[p, 0]):
            return p
        p -= 1
    if p != i - 1 or end != i + 1 or p < 0 or labels.classes[near.items[p]] != c or np.isnan(scores[p, 0]):
        return i
    return p if p == 0 or near.group_end[p - 1] == p else i


@jit
def without_last_of(items, lengths, labels, removed, out):
    """Copy the lists without the last sample of the class `removed`; -1: without the last sample."""
    for r in range(len(lengths)):
        last = lengths[r] - 1
        while removed >= 0 and last >= 0 and labels.classes[items[r, last]] != removed:
            last -= 1
        n_left = 0
        for i in range(lengths[r]):
            if i != last:
                out[r, n_left] = items[r, i]
                n_left += 1
        lengths[r] = n_left


class Found(NamedTuple):
    """What is found for a block: the lists with the changes, and (n_kinds, n_rows) bases and tails."""

    items: Array
    lengths: Array
    changes: Array
    bases: Array
    tails: Array


class Copies(NamedTuple):
    """The classes of all samples, and the equal ones: those with the same ``same``, of this number."""

    classes: Array
    same: Array
    number: Array


class Totals(NamedTuple):
    """The sums over the tested samples.

    ``deltas`` are the changes without each sample; ``copy_deltas[same[x]]`` is that by one of the equal
    samples without another. ``bases[:, 1]`` and ``[:, 0]`` of shape (n_kinds, 2, n_classes) are the sums
    and what rounding took; ``tails`` are (n_kinds, n_classes).
    """

    deltas: Array
    copy_deltas: Array
    bases: Array
    tails: Array


@jit
def add_rows(rows, is_open, found, copies, totals):
    """Add the results of the rows that are not open, in their order, each for its equal samples."""
    items, lengths, changes, bases, tails = found
    same, sums = copies.same, totals.bases
    for r in range(len(rows)):
        if is_open[r]:
            continue
        first, n = same[rows[r]], copies.number[rows[r]]
        met = False
        for i in range(lengths[r]):
            if n == 1 or same[items[r, i]] != first:
                totals.deltas[items[r, i]] += n * changes[r, i]
            elif not met:
                met = True
                totals.copy_deltas[first] += (n - 1) * changes[r, i]
        c = copies.classes[rows[r]]
        for q in range(len(bases)):
            base = n * bases[q, r]
            totals.tails[q, c] += n * tails[q, r]
            total = sums[q, 1, c] + base
            if abs(sums[q, 1, c]) >= abs(base):
                sums[q, 0, c] += sums[q, 1, c] - total + base
            else:
                sums[q, 0, c] += base - total + sums[q, 1, c]
            sums[q, 1, c] = total
