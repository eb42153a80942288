"""Exact scores of random halves of the samples, from the neighbor lists of all samples.

The list of a sample within its half is its list among all samples without those outside the half. So one
set of lists, about twice as deep as a half needs, serves all halves. Halves whose training sets are of the
same kinds share a scorer. The rule's own kernels score the halves: nothing else is asked of a rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._labels import labels_of
from .._parallel import for_each
from .._typing import Array
from ..designs import SMALL_SHARE, Design, GroupTrainingSets, TrainingSets
from ..driver import (
    BlockScorer,
    ScoringProblem,
    block_scorer,
    by_class,
    first_depth,
    usable_lengths,
    weights_of,
)
from ..groups import GroupScorer, group_scorer
from ..inference import Halvings
from ..kernel import Variant
from ..neighbors import NeighborLists, Neighbors
from ._keep_halves import keep_halves

TOLERANCE = 1e-6
"""Admissible error of a half's score: far below what the number of halvings leaves uncertain."""
BLOCK = 2**18
"""List entries of a block of rows."""
STACK = 2**16
"""List entries from which no other half joins a task."""


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
    train_size: float

    def weights_of(self, rows: Array) -> Array:
        """The weights of samples in the half's score, (n_kinds, n_rows)."""
        weights: Array = self.weights[:, self.problem.labels.codes[rows]]
        return weights

    def scores(self, lists: NeighborLists, rows: Array, weights: Array) -> tuple[Array, Array]:
        """Scores in halves that share the scorer, and the undecided shares, (n_kinds, n_rows)."""
        scores, tails = self.scorer.scores_and_tails(lists, lists.lengths, rows)
        if np.isnan(scores[weights > 0]).any():
            name = self.problem.variant.name
            msg = f"the exact kernel of variant {name!r} leaves samples of a half out: they take too long"
            raise ValueError(msg)
        if len(scores) > 1 and type(self.problem.variant).over_kinds is not Variant.over_kinds:
            scores = self._over_kinds(scores, weights, lists, rows)
        return scores, tails

    def _over_kinds(self, scores: Array, weights: Array, lists: NeighborLists, rows: Array) -> Array:
        """The scores of a rule whose score over all training sets is not a weighted mean."""
        problem = self.problem

        def scores_with(**parameters: Any) -> Array:
            other = replace(problem, parameters={**problem.parameters, **parameters})
            scorer = block_scorer(other, self.scorer.neighbors, TOLERANCE)
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
    depth = first_depth(halves[0].problem, neighbors, TOLERANCE)
    depth = depth_for_halves(2 * depth, neighbors)
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
    waiting = [
        (at, block[halvings.half_of[half.halving, block] == half.half]) for at, half in enumerate(halves)
    ]
    growth = 1
    while waiting:
        rows = block if growth == 1 else np.unique(np.concatenate([mine for _, mine in waiting]))
        lists = search_block(neighbors, rows, depth, n_jobs)
        place = np.zeros(neighbors.n_items, np.int64)
        place[rows] = np.arange(len(rows))
        task = _Task(
            halves,
            halvings,
            lists,
            usable_lengths(lists, neighbors, average_ties),
            place,
            depth >= neighbors.max_depth,
            growth,
            *out,
        )
        for_each(task, _pieces(halves, waiting, depth), n_jobs)
        waiting = sorted(task.left, key=lambda pair: pair[0])
        depth = min(2 * depth, neighbors.max_depth)
        growth *= 2


@dataclass(frozen=True)
class _Task:
    """Scores some halves of a block of rows; ``place`` is the row of a sample in the lists."""

    halves: list[Half]
    halvings: Halvings
    lists: NeighborLists
    lengths: Array
    place: Array
    last: bool
    growth: int
    parts: Array
    undecided: Array
    left: list[tuple[int, Array]] = field(default_factory=list)

    def __call__(self, piece: list[tuple[int, Array]]) -> None:
        """Score samples of several halves that share a scorer; those with too short lists are left."""
        halves = [self.halves[at] for at, _ in piece]
        rows = np.concatenate([mine for _, mine in piece])
        owner = np.repeat(np.arange(len(piece)), [len(mine) for _, mine in piece])
        enough = len(self.place) if self.last else halves[0].enough * self.growth
        halving, side = np.array([(half.halving, half.half) for half in halves]).T
        kept = within_halves(
            self.lists,
            self.lengths,
            self.place[rows],
            self.halvings.half_of,
            halving[owner],
            side[owner],
            enough,
        )
        weights = np.concatenate(
            [half.weights_of(mine) for half, (_, mine) in zip(halves, piece, strict=True)], axis=1
        )
        scores, tails = halves[0].scores(kept, rows, weights)
        found = np.where(weights > 0, weights * scores, 0.0).sum(axis=0)
        open_ = np.where(weights > 0, tails, 0.0)
        short = (open_ > TOLERANCE / 2).any(axis=0)
        at = np.array([at for at, _ in piece])
        if not self.last:
            found[short] = 0.0
        self.parts[at] += np.bincount(owner, found, len(piece))
        if self.last:
            self.undecided[at] += np.bincount(owner, (weights * open_ * short).sum(axis=0), len(piece))
        else:
            self.left.extend(
                (int(at[one]), rows[short & (owner == one)]) for one in np.unique(owner[short])
            )


def _pieces(
    halves: list[Half], waiting: list[tuple[int, Array]], depth: int
) -> list[list[tuple[int, Array]]]:
    """The waiting samples of halves in pieces of one scorer and at most `STACK` list entries."""
    by_scorer: dict[int, list[list[tuple[int, Array]]]] = {}
    for at, rows in waiting:
        if not len(rows):
            continue
        pieces = by_scorer.setdefault(id(halves[at].scorer), [[]])
        if sum(len(mine) for _, mine in pieces[-1]) * depth > STACK:
            pieces.append([])
        pieces[-1].append((at, rows))
    return [piece for pieces in by_scorer.values() for piece in pieces]


def depth_for_halves(mean: float, neighbors: Neighbors) -> int:
    """Depth of lists that hold enough samples of a half, if they do at the depth `mean` on average."""
    return min(math.ceil(mean + 7 * math.sqrt(mean)), neighbors.max_depth)


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


def within_halves(
    lists: NeighborLists,
    lengths: Array,
    at: Array,
    half_of: Array,
    halving: Array,
    half: Array,
    enough: int,
) -> NeighborLists:
    """The lists of the rows `at`, each within its half, down to `enough` neighbors and their ties.

    ``half_of`` (n_halvings, n_items) is as in `Halvings`; ``halving`` and ``half`` name the half of a row.
    """
    shape = (len(at), lists.items.shape[1])
    items, values = np.empty(shape, np.int32), np.empty(shape)
    kept = np.empty(len(at), np.int64)
    keep_halves(lists.items, lists.values, lengths, at, half_of, halving, half, enough, items, values, kept)
    return NeighborLists(items, values, kept, np.zeros(len(at), bool))


def within_half(
    lists: NeighborLists, lengths: Array, at: Array, half_of: Array, half: int, enough: int
) -> NeighborLists:
    """`within_halves` for rows of one half; ``half_of`` (n_items,)."""
    halving, side = np.zeros(len(at), np.int64), np.full(len(at), half)
    return within_halves(lists, lengths, at, half_of[None], halving, side, enough)


def _halves(problem: ScoringProblem, neighbors: Neighbors, halvings: Halvings) -> tuple[list[Half], float]:
    """All halves, and their mean training size.

    Raises
    ------
    ValueError
        If the design or the rule does not suit a half.
    """
    known: dict[Any, Half] = {}
    scorers: dict[Any, tuple[BlockScorer | GroupScorer, int]] = {}
    halves, sizes = [], []
    for halving in range(len(halvings.half_of)):
        for half in (0, 1):
            rows = halvings.rows(halving, half)
            key = _decides(problem, rows) or (halving, half)
            if key not in known:
                known[key] = _half(problem, neighbors, rows, scorers)
            halves.append(replace(known[key], halving=halving, half=half))
            sizes.append(known[key].train_size)
    return halves, math.fsum(sizes) / len(sizes)


def _decides(problem: ScoringProblem, rows: Array) -> Any:
    """What decides the training sets and the weights of a half; None if that is not known."""
    asked = problem.design.depends_on
    codes = problem.labels.codes[rows]
    counts = np.bincount(codes, minlength=len(problem.labels.classes))
    if asked == "size" and not by_class(problem.average):
        return len(rows), (counts > 0).tobytes()
    if asked in ("size", "counts"):
        return counts.tobytes()
    if asked == "order":
        return counts.tobytes(), np.argsort(np.unique(codes, return_index=True)[1]).tobytes()
    return None


def _half(problem: ScoringProblem, neighbors: Neighbors, rows: Array, scorers: dict[Any, Any]) -> Half:
    """A half of these samples; `scorers` has those of other halves."""
    reduced = _for_half(problem, rows)
    kinds = reduced.training_sets
    key = kinds if not reduced.leaves_groups else rows.tobytes()
    if key not in scorers:
        scorers[key] = _scorer(reduced, neighbors, rows)
    scorer, enough = scorers[key]
    weights = np.array([[float(w) for w in row] for row in reduced.item_weights])
    train_size = sum(float(kind.probability) * _mean_train(kind) for kind in kinds)
    return Half(0, 0, scorer, reduced, weights, enough, train_size)


def _mean_train(kind: TrainingSets) -> float:
    if isinstance(kind, GroupTrainingSets):
        return sum(kind.sizes) * kind.n_train[0] / kind.counts[0]
    return float(kind.most_train)


def _for_half(problem: ScoringProblem, rows: Array) -> ScoringProblem:
    """The problem of a half; labels and class codes are those of all samples."""
    labels = labels_of(problem.labels, rows)
    try:
        design = _halved(problem, rows)
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


def _halved(problem: ScoringProblem, rows: Array) -> Design:
    """The design of a half.

    Raises
    ------
    TypeError, ValueError
        If a design from elsewhere returns no design, or one that tests another share of the samples.
    """
    design = problem.design.halved(problem.labels, rows)
    if not isinstance(design, Design):
        msg = f"{type(problem.design).__name__}.halved must return a design, got {design!r}"
        raise TypeError(msg)
    if type(problem.design).__module__.startswith("knnccv."):
        return design
    n_items, n_half = len(problem.labels.codes), len(rows)
    of_all, of_half = (
        float(sum(kind.probability * kind.n_test for kind in each.training_sets(labels)))
        for each, labels in ((problem.design, problem.labels), (design, labels_of(problem.labels, rows)))
    )
    n_train = n_items - of_all
    keeps_few = n_train <= SMALL_SHARE * n_items and n_train == n_half - of_half
    if not keeps_few and abs(of_all / n_items - of_half / n_half) > 1 / n_half:
        msg = (
            f"it tests {of_all / n_items:.2g} of all samples, but {of_half / n_half:.2g} of a half; give "
            f"{type(problem.design).__name__} a method halved(labels, rows) that keeps the share"
        )
        raise ValueError(msg)
    return design


def _scorer(
    reduced: ScoringProblem, neighbors: Neighbors, rows: Array
) -> tuple[BlockScorer | GroupScorer, int]:
    """The scorer of a half, and the number of neighbors after which the rest cannot matter."""
    if reduced.leaves_groups:
        return group_scorer(reduced, neighbors, TOLERANCE, rows=rows), neighbors.n_items
    scorer = block_scorer(reduced, neighbors, TOLERANCE)
    enough = first_depth(reduced, neighbors, TOLERANCE, scorer.fixed_tails)
    if any(tail is None for tail in scorer.fixed_tails):
        enough += math.ceil(2 * math.sqrt(enough))  # the tail depends on the classes of the neighbors
    return scorer, enough
