"""Exact scores of random halves of the samples, from the neighbor lists of all samples.

The list of a sample within its half is its list among all samples without those outside the half. So one
set of lists, about twice as deep as a half needs, serves all halves. Halves whose training sets are of the
same kinds share a scorer. The rule's own kernels score the halves: nothing else is asked of a rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._labels import labels_of
from .._parallel import for_each
from .._typing import Array
from ..designs import GroupTrainingSets, LeaveGroupsOut, TrainingSets
from ..inference import Halvings
from ..kernel import Variant
from ..neighbors import NeighborLists, Neighbors
from ._depth import first_depth
from ._group_scores import GroupScorer, group_scorer
from ._keep_half import keep_half
from ._problem import ScoringProblem, weights_of
from ._rows import usable_lengths
from ._scores import BlockScorer, block_scorer

TOLERANCE = 1e-6
"""Admissible error of a half's score: far below what the number of halvings leaves uncertain."""
BLOCK = 2**18
"""List entries of a block of rows."""
AT_ONCE = 8
"""Halvings of a task."""


@dataclass(frozen=True)
class Half:
    """One half of a halving: how its samples are scored.

    ``weights`` (n_kinds, n_classes) are those of a sample in the half's score; ``enough`` is the number of
    neighbors after which the rest cannot matter.
    """

    halving: int
    half: int
    scorer: BlockScorer | GroupScorer
    problem: ScoringProblem
    weights: Array
    enough: int

    def contributions(self, lists: NeighborLists, rows: Array) -> tuple[Array, Array]:
        """The part of every row in the half's score, and the share of it that its list leaves undecided.

        The latter is a probability, (n_kinds, n_rows), 0 for samples that are never tested.
        """
        scores, tails = self.scorer.scores_and_tails(lists, lists.lengths, rows)
        weights = self.weights[:, self.problem.labels.codes[rows]]
        if len(scores) > 1 and type(self.problem.variant).over_kinds is not Variant.over_kinds:
            scores = self._over_kinds(scores, weights, lists, rows)
        parts = np.where(weights > 0, weights * scores, 0.0).sum(axis=0)
        return parts, np.where(weights > 0, tails, 0.0)

    def undecided(self, tails: Array, rows: Array) -> float:
        """The share of the half's score that these rows leave undecided."""
        return float((self.weights[:, self.problem.labels.codes[rows]] * tails).sum())

    def _over_kinds(self, scores: Array, weights: Array, lists: NeighborLists, rows: Array) -> Array:
        """The scores of a rule whose score over all training sets is not a weighted mean."""
        problem = self.problem

        def scores_with(**parameters: Any) -> Array:
            other = replace(problem, parameters={**problem.parameters, **parameters})
            scorer = block_scorer(other, self.scorer.neighbors, TOLERANCE, 0, None)
            return scorer.scores_and_tails(lists, lists.lengths, rows)[0]

        totals = weights.sum(axis=0)
        shares = weights / np.where(totals > 0, totals, 1.0)
        n_outputs = problem.values.shape[1]
        return problem.variant.over_kinds(scores, shares, scores_with, n_outputs, **problem.parameters)


def score_halves(
    problem: ScoringProblem, neighbors: Neighbors, halvings: Halvings, n_jobs: int | None
) -> tuple[Array, float, float]:
    """The exact score of every half, (n_halvings, 2), the mean training size, and the undecided share.

    The last is the largest share of a score that lists leave undecided since they end too early.

    The result does not depend on the threads: every part of a score has its own place, and the parts are
    added in their order.
    """
    halves, train_size = _halves(problem, neighbors, halvings)
    depth = max(first_depth(half.problem, neighbors, TOLERANCE) for half in halves[:1])
    depth = min(math.ceil(2 * depth + 7 * math.sqrt(2 * depth)), neighbors.max_depth)
    average_ties = problem.ties == "random"
    neighbors.search_all(depth, n_jobs=n_jobs)
    rows = neighbors.visiting_order(np.arange(neighbors.n_items), depth)
    size = max(BLOCK // depth, 1)
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    parts, undecided = np.zeros((2, len(blocks), len(halves)))
    for b, block in enumerate(blocks):
        out = parts[b], undecided[b]
        _score_block(halves, halvings, neighbors, block, depth, average_ties, out, n_jobs)
    scores = np.array([math.fsum(column) for column in parts.T])
    return scores.reshape(-1, 2), train_size, float(undecided.sum(axis=0).max())


def _score_block(
    halves: list[Half],
    halvings: Halvings,
    neighbors: Neighbors,
    block: Array,
    depth: int,
    average_ties: bool,
    out: tuple[Array, Array],
    n_jobs: int | None,
) -> None:
    """Add the parts of a block of rows to the scores, and what stays undecided, of every half.

    Rows with too short lists are scored once more, from deeper lists, if there are any.
    """
    parts, undecided = out
    waiting = {at: np.arange(len(block)) for at in range(len(halves))}
    growth = 1
    while waiting:
        used = np.unique(np.concatenate(list(waiting.values()))) if len(waiting) < len(halves) else None
        rows = block if used is None else block[used]
        lists = search_block(neighbors, rows, depth, n_jobs)
        lengths = usable_lengths(lists, neighbors, average_ties)
        last = depth >= neighbors.max_depth
        left: dict[int, Array] = {}

        def work(
            piece: list[int],
            rows: Array = rows,
            used: Array | None = used,
            lists: NeighborLists = lists,
            lengths: Array = lengths,
            last: bool = last,
            growth: int = growth,
            waiting: dict[int, Array] = waiting,
            left: dict[int, Array] = left,
        ) -> None:
            for at in piece:
                half = halves[at]
                half_of = halvings.half_of[half.halving]
                mine = waiting[at] if used is None else np.searchsorted(used, waiting[at])
                mine = mine[half_of[rows[mine]] == half.half]
                if not len(mine):
                    continue
                enough = neighbors.n_items if last else half.enough * growth
                kept = within_half(lists, lengths, mine, half_of, half.half, enough)
                found, tails = half.contributions(kept, rows[mine])
                short = (tails > TOLERANCE / 2).any(axis=0)
                if short.any() and last:
                    undecided[at] += half.undecided(tails[:, short], rows[mine[short]])
                elif short.any():
                    left[at] = mine[short] if used is None else used[mine[short]]
                    found = found[~short]
                parts[at] += math.fsum(found)

        indices = sorted(waiting)
        pieces = [indices[start : start + AT_ONCE] for start in range(0, len(indices), AT_ONCE)]
        for_each(work, pieces, n_jobs)
        waiting = left
        depth = min(2 * depth, neighbors.max_depth)
        growth *= 2


def search_block(neighbors: Neighbors, rows: Array, depth: int, n_jobs: int | None) -> NeighborLists:
    """The lists of the rows, searched in threads."""
    neighbors.prepare(depth)
    lists = NeighborLists.empty(len(rows), depth)
    size = neighbors.rows_at_once(depth)

    def fill(at: Array) -> None:
        lists.put(at, neighbors.search(rows[at], depth))

    positions = np.arange(len(rows))
    for_each(fill, [positions[start : start + size] for start in range(0, len(rows), size)], n_jobs)
    return lists


def within_half(
    lists: NeighborLists, lengths: Array, at: Array, half_of: Array, half: int, enough: int
) -> NeighborLists:
    """The lists of some rows without the samples outside the half, down to `enough` and their ties."""
    shape = (len(at), lists.items.shape[1])
    items, values = np.empty(shape, np.int32), np.empty(shape)
    kept = np.empty(len(at), np.int64)
    keep_half(lists.items, lists.values, lengths, at, half_of, half, enough, items, values, kept)
    return NeighborLists(items, values, kept, np.zeros(len(at), bool))


def _halves(problem: ScoringProblem, neighbors: Neighbors, halvings: Halvings) -> tuple[list[Half], float]:
    """All halves, and their mean training size.

    Raises
    ------
    ValueError
        If the design or the rule does not suit a half.
    """
    scorers: dict[Any, tuple[BlockScorer | GroupScorer, int]] = {}
    halves, sizes = [], []
    for halving in range(len(halvings.half_of)):
        for half in (0, 1):
            rows = halvings.rows(halving, half)
            reduced = _for_half(problem, rows)
            kinds = reduced.training_sets
            key = kinds if not isinstance(reduced.design, LeaveGroupsOut) else (halving, half)
            if key not in scorers:
                scorers[key] = _scorer(reduced, neighbors, rows)
            scorer, enough = scorers[key]
            weights = np.array([[float(w) for w in row] for row in reduced.item_weights])
            halves.append(Half(halving, half, scorer, reduced, weights, enough))
            sizes.append(sum(float(kind.probability) * _mean_train(kind) for kind in kinds))
    return halves, math.fsum(sizes) / len(sizes)


def _mean_train(kind: TrainingSets) -> float:
    if isinstance(kind, GroupTrainingSets):
        return sum(kind.sizes) * kind.n_train[0] / kind.counts[0]
    return float(kind.most_train)


def _for_half(problem: ScoringProblem, rows: Array) -> ScoringProblem:
    """The problem of a half; labels and class codes are those of all samples."""
    labels = labels_of(problem.labels, rows)
    try:
        design = problem.design.halved(problem.labels, rows)
        kinds = design.training_sets(labels)
        weights = design.item_weights(labels, problem.average) or weights_of(kinds, labels, problem.average)
        reduced = replace(problem, design=design, training_sets=kinds, item_weights=weights)
        for kind in kinds:
            for task in reduced.tasks_to_check(kind):
                problem.variant.check(task, **problem.parameters)
    except ValueError as error:
        msg = (
            f"a standard error needs scores of halves of the samples, {len(rows)} in each, but "
            f"{problem.variant.name!r} over {problem.design!r} does not suit them: {error}"
        )
        raise ValueError(msg) from error
    return reduced


def _scorer(
    reduced: ScoringProblem, neighbors: Neighbors, rows: Array
) -> tuple[BlockScorer | GroupScorer, int]:
    """The scorer of a half, and the number of neighbors after which the rest cannot matter."""
    if isinstance(reduced.design, LeaveGroupsOut):
        return group_scorer(reduced, neighbors, TOLERANCE, rows=rows), neighbors.n_items
    scorer = block_scorer(reduced, neighbors, TOLERANCE, 0, None)
    enough = first_depth(reduced, neighbors, TOLERANCE, scorer.fixed_tails)
    if any(tail is None for tail in scorer.fixed_tails):
        enough += math.ceil(2 * math.sqrt(enough))  # the tail depends on the classes of the neighbors
    return scorer, enough
