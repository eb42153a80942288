# mypy: allow-untyped-defs
"""The variance of one run, exactly, for rules that one nearest training sample decides.

It is a sum over pairs of samples. Two samples are tested in one fold, or in two folds. A and B are the
samples in their neighbor lists before p and q, the two that decide. Tables hold the probability of that for
lists without common samples, and for the cases that common samples bring about.

If no two lists had a common sample, the sum over all pairs of samples would be a sum over the positions.
Few pairs differ from that: those with a common sample early in their lists, and those of which one is in
the list of the other. An index of the lists finds them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._parallel import for_each, stop_flag
from .._typing import Array
from ..driver import Block, Scored, ScoringProblem, all_lists, known_set_part, usable_lengths
from ..kernel import inner, jit
from ..neighbors import NeighborLists, Neighbors
from ..sampling import position_law
from ._trials import item_shares, known_task

MOST_STEPS = 5e9
"""Steps of the exact sums."""
PRECISION = 1e-7
"""Error of N times the variance that ends the lists."""
SAMPLED_ROWS = 200
ROWS_AT_ONCE = 256
ROUNDED = 1e-14
"""Differences of a score from a mean that rounding may cause, as a share of the largest score."""
EPS = float(np.finfo(float).eps)


class NotExactError(ValueError):
    """The exact standard deviation is not offered for this result."""


def why_not_exact(problem: ScoringProblem, result: Scored) -> str:
    """Why there is no exact standard deviation; empty if there may be one."""
    if problem.pool is not None:
        return "the training sets come from a pool"
    if not problem.design.one_run or problem.design.stratifies:
        return f"{problem.design!r} has no formula"
    if any(problem.nearest(kind) != 1 for kind in problem.training_sets):
        return "the rule looks at several nearest training samples"
    if problem.ties == "random" and result.tied:
        return f'{result.tied} samples have ties that matter, under ties="random"'
    return ""


def exact_variance(
    problem: ScoringProblem, neighbors: Neighbors, result: Scored, tol: float, n_jobs: int | None
) -> tuple[float, float]:
    """The variance of the score of one run, and a bound of its error.

    Raises
    ------
    NotExactError
        If it takes too many steps.
    """
    folded, n_items = problem.design.one_run == "folds", neighbors.n_items
    shares = item_shares(problem, problem.design.n_folds)
    by_class = shares[0] / shares[0].max()
    folds = tuple(
        Fold(int(kind.probability * problem.design.n_folds), int(kind.n_test), float(share))
        for kind, share in zip(problem.training_sets, shares.max(axis=1), strict=True)
    )
    tables = _deep_tables(n_items, folds, folded, neighbors.max_depth)
    depth, same, cross = tables.depth, tables.same, tables.cross
    lists = all_lists(neighbors, min(depth + 2, neighbors.max_depth), n_jobs)
    lists.lengths = usable_lengths(lists, neighbors, average_ties=False)
    items, lengths = lists.items, lists.lengths
    listed = np.arange(items.shape[1]) < lengths[:, None]
    scores, mean, largest = _single_scores(problem, lists, listed), result.score, problem.largest
    unsure = problem.ties == "random" and _has_tied_scores(lists, listed, scores)
    if (by_class == 1).all():  # a mean that is subtracted moves all runs alike
        largest += abs(mean)
        scores[listed] -= mean
        scores[np.abs(scores) <= ROUNDED * largest] = 0.0
        mean = 0.0
    scores *= by_class[problem.labels.codes][:, None]
    if (lengths == n_items - 1).all() and not scores.any():  # no run differs from another
        return 0.0, 0.0
    index = index_lists(items, listed)
    chosen = np.unique(np.linspace(0, n_items - 1, min(n_items, SAMPLED_ROWS)).astype(np.int64))
    pairs = count_interacting(chosen, items, lengths, index, depth) * n_items / len(chosen)
    _check_steps(pairs * depth**2 / 2 * (1 + folded))

    at = np.add.outer(np.arange(depth + 1), np.arange(depth + 1))
    base = np.where(at <= depth, same[0, np.minimum(at, depth)] + (cross[0] if folded else 0.0), 0.0)
    own = np.zeros((n_items, depth + 1))
    own[:, : items.shape[1]] = scores[:, : depth + 1]
    disjoint = np.einsum("xk,ik->xi", own, base)
    starts = range(0, n_items, ROWS_AT_ONCE)
    corrections = np.zeros(len(starts))

    def differ(start: int) -> None:
        end = min(start + ROWS_AT_ONCE, n_items)
        corrections[start // ROWS_AT_ONCE] = sum_interacting(
            start, end, items, lengths, scores, index, disjoint, same, cross, stop_flag()
        )

    for_each(differ, starts, n_jobs)
    deciding = np.zeros(scores.shape[1])
    for fold in folds:
        law = position_law(n_items - 1, n_items - fold.size, 1)
        deciding += fold.number * fold.share**2 * fold.size / n_items * law[: len(deciding)]
    summed = own.sum(axis=0)
    apart = float(summed @ base @ summed) - float((own * disjoint).sum())
    second = math.fsum([float((scores**2 @ deciding).sum()), apart, 2 * math.fsum(corrections)])
    total = sum(fold.number * fold.size * fold.share for fold in folds)
    beyond = float(tables.tails[-1]) + _ends_early(lengths, depth, n_items, folds) * total**2
    error = beyond * largest**2 + 32 * (depth + 8) * EPS * (total * largest) ** 2
    bound = result.truncation_bound  # of the mean score
    error += 4 * tol * problem.largest**2 * unsure + 2 * abs(mean) * bound + bound**2
    return max(second - mean**2, 0.0), error


def _deep_tables(n_items: int, folds: tuple[Fold, ...], folded: bool, max_depth: int) -> PairTables:
    """The tables to the depth that the precision needs, or as far as the lists go."""
    deepest = n_items - 2 if max_depth == n_items - 1 else max(max_depth - 2, 0)
    depth = min(16, deepest)
    while True:
        tables = pair_tables(n_items, folds, folded, depth)
        enough = np.flatnonzero(tables.tails <= PRECISION / n_items)
        if len(enough) or depth == deepest:
            tables = tables.cut(int(enough[0])) if len(enough) else tables
            _check_steps(n_items * tables.depth**3 / 4)
            return tables
        _check_steps(n_items * depth**3 / 4)  # every sample meets those that its list names
        depth = min(2 * depth, deepest)


def _single_scores(problem: ScoringProblem, lists: NeighborLists, listed: Array) -> Array:
    """The scores (n_items, depth) of every sample if one sample of its list decides; 0 beyond the list."""
    rows = np.repeat(np.arange(len(listed)), lists.lengths)
    items, values = lists.items[listed][:, None], lists.values[listed][:, None]
    single = NeighborLists.of_full_rows(items, values, np.zeros(len(rows), bool))
    part = known_set_part(problem, known_task(problem, problem.training_sets[0]))
    scores = np.zeros(listed.shape)
    scores[listed] = part.scores(Block(single, single.lengths, rows, problem.kernel_labels(), False))
    return scores


def _has_tied_scores(lists: NeighborLists, listed: Array, scores: Array) -> bool:
    """Return True if the lists hold tied samples of different scores."""
    equal = listed[:, 1:] & (lists.values[:, 1:] == lists.values[:, :-1])
    return bool((equal & (scores[:, 1:] != scores[:, :-1])).any())


def _ends_early(lengths: Array, depth: int, n_items: int, folds: tuple[Fold, ...]) -> float:
    """Share of the cases that lists leave open which are shorter than the others."""
    short = lengths[lengths < min(depth + 2, n_items - 1)]
    if not len(short):
        return 0.0
    largest_test = max(fold.size for fold in folds)
    left = n_items - 2 - np.arange(int(short.max()))
    steps = np.maximum(left - (n_items - largest_test), 0) / np.maximum(left, 1)
    passed = np.concatenate([[1.0], np.cumprod(steps)])
    return 4 * float(passed[np.maximum(short - 1, 0)].sum()) / n_items


def _check_steps(steps: float) -> None:
    if steps > MOST_STEPS:
        msg = f"about {steps:.1g} steps, more than the {MOST_STEPS:,.0f} that are allowed"
        raise NotExactError(msg)


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
