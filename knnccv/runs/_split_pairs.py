"""Sums over pairs of samples for the variance of one run, where one nearest neighbor decides; compiled.

Two samples are tested in one fold, or in two folds. A and B are the samples in their neighbor lists before
p and q, the two that decide. Tables hold the probability of that for lists without common samples, and for
the cases that common samples bring about.

If no two lists had a common sample, the sum over all pairs of samples would be a sum over the positions.
Few pairs differ from that: those with a common sample early in their lists, and those of which one is in
the list of the other. An index of the lists finds them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import inner, jit


class Fold(NamedTuple):
    """Folds of one size: their number in a run, the size, and the weight of a tested sample."""

    number: int
    size: int
    share: float


class PairTables(NamedTuple):
    """Probabilities times weights, summed over the folds of a run.

    ``same`` (2, depth + 1): both samples in one fold, by ``u = |A | B|``: p and q decide, two samples; one
    sample p decides. ``cross`` (5, depth + 1, depth + 1): the samples in two folds F and G, by ``|A|`` and
    ``|B|``: p must be outside F and q outside G; only p; only q; both are outside already; p and q are one
    sample. It is (5, 0, 0) for a single split. ``tails`` (depth + 1,) bound the weight of all cases beyond
    each depth.
    """

    same: Array
    cross: Array
    tails: Array

    @property
    def depth(self) -> int:
        """The largest number of passed samples."""
        return len(self.tails) - 1

    def cut(self, depth: int) -> PairTables:
        """The tables up to a depth."""
        end = depth + 1
        cross = np.ascontiguousarray(self.cross[:, :end, :end])
        return PairTables(np.ascontiguousarray(self.same[:, :end]), cross, self.tails[:end])


class ListIndex(NamedTuple):
    """Where every sample is listed: from ``starts[z]`` on, by position, the rows and the positions."""

    starts: Array
    rows: Array
    places: Array


def pair_tables(n_items: int, folds: tuple[Fold, ...], folded: bool, depth: int) -> PairTables:
    """The tables for lists up to this depth; with `folded` also those of pairs in different folds."""
    same, cross = np.zeros((2, depth + 2)), np.zeros((5, depth + 2, depth + 2) if folded else (5, 0, 0))
    pairs, tails = n_items * (n_items - 1), np.zeros(depth + 1)
    for fold in folds:
        weight = fold.number * fold.share**2 * fold.size * (fold.size - 1) / pairs
        passed, found = _same_fold(n_items - 2, n_items - fold.size, depth + 1)
        same += weight * found
        tails += fold.number * (fold.share * fold.size) ** 2 * np.arange(2, depth + 3) * passed[1:]
    for f in folds if folded else ():
        for g in folds:
            number = f.number * (g.number - (f is g))
            weight = number * f.share * g.share * f.size * g.size / pairs
            if weight:
                found = _two_folds(n_items - 2, f.size - 1, g.size - 1, depth + 1)
                cross += weight * found
                free = np.fliplr(found[3])
                tails += weight * pairs * np.array([free.trace(depth - d) for d in range(depth + 1)])
    return PairTables(same, cross, tails).cut(depth)


def _same_fold(n: int, n_train: int, depth: int) -> tuple[Array, Array]:
    """P(u given samples are not in T); times P(two more are), P(one more is); u = 0 .. depth."""
    left = n - np.arange(depth + 1)
    steps = np.maximum(left - n_train, 0) / np.maximum(left, 1)
    passed = np.concatenate([[1.0], np.cumprod(steps[:-1])])
    one = np.where(left >= 1, passed * n_train / np.maximum(left, 1), 0.0)
    two = np.where(left >= 2, one * (n_train - 1) / np.maximum(left - 1, 1), 0.0)
    return passed, np.array([two, one])


def _two_folds(n: int, a: int, b: int, depth: int) -> Array:
    """The five tables for folds that have `a` and `b` of the n other samples; (5, depth + 1, depth + 1)."""
    u, v = np.arange(depth + 1)[:, None], np.arange(depth + 1)[None, :]
    free = np.zeros((depth + 1, depth + 1))
    free[0, 0] = 1.0
    for i in range(1, depth + 1):
        free[i, 0] = free[i - 1, 0] * max(a - i + 1, 0) / max(n - i + 1, 1)
    for k in range(1, depth + 1):
        free[:, k] = free[:, k - 1] * max(b - k + 1, 0) / np.maximum(n - u[:, 0] - k + 1, 1)
    left, in_f, in_g = n - u - v, np.maximum(a - u, 0), np.maximum(b - v, 0)
    outside = max(n - a - b, 0)
    least = np.maximum(left, 1)
    single = np.where(left >= 1, free, 0.0) / least
    double = np.where(left >= 2, single, 0.0) / np.maximum(left - 1, 1)
    both = double * (in_g * (left - in_g) + outside * np.maximum(left - 1 - in_g, 0))
    return np.array([both, single * (left - in_f), single * (left - in_g), free, single * outside])


def index_lists(items: Array, listed: Array) -> ListIndex:
    """The index of lists, whose entries are marked in `listed`."""
    places, rows = np.nonzero(listed.T)
    found = items.T[listed.T]
    order = np.argsort(found, kind="stable")
    starts = np.searchsorted(found[order], np.arange(len(items) + 1))
    return ListIndex(starts, *(part[order].astype(np.int32) for part in (rows, places)))


@inner
def interacting(x, items, lengths, index, depth, marks, found):
    """Fill `found` with the samples after x whose lists interact with that of x; return their number."""
    n = 0
    for u in range(-1, lengths[x]):
        z = items[x, u] if u >= 0 else x
        if z > x and marks[z] != x:
            marks[z] = x
            found[n] = z
            n += 1
        for e in range(index.starts[z], index.starts[z + 1]):
            if u >= 0 and u + index.places[e] > depth:
                break
            other = index.rows[e]
            if other > x and marks[other] != x:
                marks[other] = x
                found[n] = other
                n += 1
    return n


@jit
def count_interacting(chosen, items, lengths, index, depth):
    """The number of interacting pairs of some rows with samples after them."""
    marks = np.full(len(items), -1, np.int32)
    found = np.empty(len(items), np.int32)
    total = 0
    for x in chosen:
        total += interacting(x, items, lengths, index, depth, marks, found)
    return total


@inner
def sum_pair(own, other, other_at, own_at, partner, where, start, same, cross):
    """Sum over p and q of the two lists, from row `start` on, of both scores times the probability.

    ``own`` and ``other`` are the scores along the lists; ``where[k]`` is the position of q in the first
    list, ``partner[i]`` that of p in the second one, `other_at` and `own_at` those of the other tested
    samples; large if not listed. Tested in one fold, both samples are passed in each other's lists; in two
    folds, they train each other.
    """
    total = 0.0
    for i in range(start, len(own)):
        row, common = 0.0, 0
        for k in range(len(other)):
            u = i - (i > other_at) + k - (k > own_at) - common
            if u >= same.shape[1]:
                break
            p_is_out, q_is_out = i == other_at or partner[i] < k, k == own_at or where[k] < i
            is_one = where[k] == i
            if not (p_is_out or q_is_out):
                row += other[k] * same[np.int64(is_one), u]
            if len(cross[0]) > 0 and common == 0 and i <= other_at and k <= own_at:
                row += other[k] * cross[4 if is_one else 2 * p_is_out + q_is_out, i, k]
            common += where[k] < i
        total += own[i] * row
    return total


@jit
def sum_interacting(begin, finish, items, lengths, scores, index, disjoint, same, cross, stop):
    """Sum over the pairs of rows ``begin .. finish - 1`` with later rows: true minus disjoint terms."""
    n_items, width = items.shape
    depth = same.shape[1] - 1
    marks, found = np.full(n_items, -1, np.int32), np.empty(n_items, np.int32)
    position = np.full(n_items, width, np.int32)
    where, partner = np.empty(width, np.int64), np.empty(width, np.int64)
    total = 0.0
    for x in range(begin, finish):
        if stop[0]:
            break
        for i in range(lengths[x]):
            position[items[x, i]] = i
        n_found = interacting(x, items, lengths, index, depth, marks, found)
        for f in range(n_found):
            z = found[f]
            start, own_at, other_at = int(position[z]), width, int(position[z])
            partner[:] = width
            for k in range(lengths[z]):
                q = items[z, k]
                if q == x:
                    own_at, start = k, 0
                where[k] = position[q]
                if where[k] < width:
                    partner[where[k]] = k
                    start = min(start, where[k])
            own, other = scores[x, : lengths[x]], scores[z, : lengths[z]]
            total += sum_pair(own, other, other_at, own_at, partner, where, start, same, cross)
            for i in range(start, min(len(own), depth + 1)):
                total -= own[i] * disjoint[z, i]
        for i in range(lengths[x]):
            position[items[x, i]] = width
    return total
