"""The variance of one run, exactly, for rules that one nearest training sample decides."""

from __future__ import annotations

import math

import numpy as np

from .._parallel import stop_flag
from .._typing import Array
from ..driver import Scored, ScoringProblem, all_lists
from ..neighbors import Neighbors
from ..sampling import position_law
from ._split_pairs import count_interacting, fill_disjoint, index_lists, sum_interacting
from ._split_scores import ROWS, Alone, alone_scores, over_blocks
from ._split_tables import Fold, PairTables, pair_tables
from ._trials import item_shares

MOST_STEPS = 5e9
"""Steps of the exact sums."""
PRECISION = 1e-7
"""Error of N times the variance that ends the lists."""
SAMPLED_ROWS = 200


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
    folded = problem.design.one_run == "folds"
    n_items = neighbors.n_items
    shares = item_shares(problem, problem.design.n_folds)
    by_class = shares[0] / shares[0].max()
    folds = tuple(
        Fold(number, int(kind.n_test), float(share))
        for number, kind, share in zip(
            _numbers(problem), problem.training_sets, shares.max(axis=1), strict=True
        )
    )
    tables = _deep_tables(n_items, folds, folded, neighbors.max_depth)
    depth = tables.depth
    lists = all_lists(neighbors, min(depth + 2, neighbors.max_depth), n_jobs)
    equal = bool((by_class == 1).all())
    alone = alone_scores(problem, lists, neighbors, result, tol, by_class, equal, n_jobs)
    if alone.vanish:
        return 0.0, 0.0
    items, lengths, scores = lists.items, lists.lengths, alone.scores
    starts, rows, places = index_lists(items, lengths, n_items)
    chosen = np.unique(np.linspace(0, n_items - 1, min(n_items, SAMPLED_ROWS)).astype(np.int64))
    pairs = count_interacting(chosen, items, lengths, starts, rows, places, depth) * n_items / len(chosen)
    _check_steps(pairs * depth**2 / 2 * (1 + folded))

    same_rows = np.empty((n_items, depth + 1))
    cross_rows = np.empty((n_items if folded else 1, depth + 1))
    two, both = tables.two, tables.both

    def fill(first: int, last: int) -> None:
        fill_disjoint(first, last, lengths, scores, two, both, folded, same_rows, cross_rows)

    def differ(first: int, last: int) -> float:
        found: float = sum_interacting(
            first, last, items, lengths, scores, starts, rows, places, same_rows, cross_rows,
            tables.one, two, both, tables.first, tables.second, tables.same, tables.free, folded,
            stop_flag(),
        )  # fmt: skip
        return found

    over_blocks(fill, n_items, ROWS, n_jobs)
    corrections = math.fsum(over_blocks(differ, n_items, ROWS, n_jobs))
    deciding = np.zeros(scores.shape[1])
    for fold in folds:
        law = position_law(n_items - 1, n_items - fold.size, 1)
        deciding += fold.number * fold.share**2 * fold.size / n_items * law[: len(deciding)]
    within = np.arange(scores.shape[1]) < lengths[:, None]
    listed = np.where(within, scores, 0.0)
    summed = np.zeros(depth + 1)
    summed[: scores.shape[1]] = listed.sum(axis=0)[: depth + 1]
    at = np.add.outer(np.arange(depth + 1), np.arange(depth + 1))
    base = np.where(at <= depth, two[np.minimum(at, depth)] + both, 0.0)
    own = listed[:, : depth + 1]
    inner = same_rows[:, : own.shape[1]] + (cross_rows[:, : own.shape[1]] if folded else 0.0)
    squares = float((listed**2 @ deciding).sum())
    disjoint = float(summed @ base @ summed) - float((own * inner).sum())
    second = math.fsum([squares, disjoint, 2 * corrections])
    total = sum(fold.number * fold.size * fold.share for fold in folds)
    short = _ends_early(lengths, depth, n_items, folds)
    error = (tables.tail + short) * alone.largest**2 + _rounding(depth) * (total * alone.largest) ** 2
    return max(second - alone.mean**2, 0.0), error + _mean_error(alone, result)


def _deep_tables(n_items: int, folds: tuple[Fold, ...], folded: bool, max_depth: int) -> PairTables:
    """The tables to the depth that the precision needs, or as far as the lists go."""
    deepest = n_items - 2 if max_depth == n_items - 1 else max(max_depth - 2, 0)
    depth = min(16, deepest)
    while True:
        tables = pair_tables(n_items, folds, folded, depth)
        if tables.tail <= PRECISION / n_items or depth == deepest:
            break
        _check_steps(n_items * depth**3 / 4)  # every sample meets those that its list names
        depth = min(2 * depth, deepest)
    low, high = 0, depth
    while low < high and tables.tail <= PRECISION / n_items:
        middle = (low + high) // 2
        if pair_tables(n_items, folds, folded, middle).tail <= PRECISION / n_items:
            high = middle
        else:
            low = middle + 1
    _check_steps(n_items * high**3 / 4)
    return pair_tables(n_items, folds, folded, high)


def _ends_early(lengths: Array, depth: int, n_items: int, folds: tuple[Fold, ...]) -> float:
    """Weight of the cases that lists leave open which are shorter than the others."""
    short = lengths[lengths < min(depth + 2, n_items - 1)]
    if not len(short):
        return 0.0
    largest_test = max(fold.size for fold in folds)
    left = n_items - 2 - np.arange(int(short.max()))
    steps = np.maximum(left - (n_items - largest_test), 0) / np.maximum(left, 1)
    passed = np.concatenate([[1.0], np.cumprod(steps)])
    total = sum(fold.number * fold.size * fold.share for fold in folds)
    return 4 * total**2 * float(passed[np.maximum(short - 1, 0)].sum()) / n_items


def _mean_error(alone: Alone, result: Scored) -> float:
    """Bound of what the error of the mean score and ties add to the error of the variance."""
    bound = result.truncation_bound
    return alone.unsure + 2 * abs(alone.mean) * bound + bound**2


def _rounding(depth: int) -> float:
    """Bound of the rounding errors of a sum over pairs of positions, for scores of at most 1."""
    return 32 * (depth + 8) * float(np.finfo(float).eps)


def _numbers(problem: ScoringProblem) -> list[int]:
    """The number of folds of every kind in one run."""
    return [int(kind.probability * problem.design.n_folds) for kind in problem.training_sets]


def _check_steps(steps: float) -> None:
    if steps > MOST_STEPS:
        msg = f"about {steps:.1g} steps, more than the {MOST_STEPS:,.0f} that are allowed"
        raise NotExactError(msg)
