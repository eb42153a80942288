"""The variance of one run, exactly, for rules that one nearest training sample decides."""

from __future__ import annotations

import math

import numpy as np

from .._parallel import for_each, stop_flag
from .._typing import Array
from ..driver import Block, Scored, ScoringProblem, all_lists, known_set_part, usable_lengths
from ..neighbors import NeighborLists, Neighbors
from ..sampling import position_law
from ._split_pairs import Fold, PairTables, count_interacting, index_lists, pair_tables, sum_interacting
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
