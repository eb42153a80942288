# mypy: allow-untyped-defs
"""Exact scores of random halves of the samples, from the neighbor lists of all samples.

The list of a sample within its half is its list among all samples without those outside the half. So one
set of lists, about twice as deep as a half needs, serves all halves. Halves whose training sets are of the
same kinds share a scorer. The rule's own kernels score the halves: nothing else is asked of a rule.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...._base.labels import labels_of
from ...._base.parallel import for_each
from ...._base.typing import Array
from ....designs import SMALL_SHARE, Design, GroupTrainingSets, TrainingSets
from ....kernel import Variant
from ....neighbors import NeighborLists, Neighbors, within
from ...driver import (
    BlockScorer,
    ScoringProblem,
    block_scorer,
    by_class,
    first_depth,
    labels_of_pool,
    training_sets_of_pool,
    usable_lengths,
    weights_of,
    with_parameters,
)
from ...driver.groups import GroupScorer, group_scorer
from ..inference import Halvings

TOLERANCE = 1e-6
"""Admissible error of a half's score: far below what the number of halvings leaves uncertain."""
BLOCK = 2**19
"""List entries of a block of rows."""
STACK = 2**16
"""List entries from which no other half joins a task."""


class HalfScorer(ABC):
    """Scores halves whose training sets are of the same kinds, from lists within the halves.

    A score is a number, or an array with one for every cell of a surface: ``shape``. With ``by_class`` the
    samples of a class are adjacent. After ``enough`` neighbors the rest hardly ever matters.
    """

    enough: int
    shape: tuple[int, ...] = ()
    by_class: bool = False

    @abstractmethod
    def sums(self, lists: NeighborLists, rows: Array, weights: Array, owner: Owner) -> Sums:
        """The weighted scores of rows; ``weights`` (n_kinds, n_rows)."""


class Owner(NamedTuple):
    """The halves of a task; ``of_row`` (n_rows,) says which one has a row.

    With ``last`` no lists are deeper.
    """

    of_row: Array
    n_halves: int
    last: bool


class Sums(NamedTuple):
    """What rows add to the scores of their halves, and what stays undecided: arrays (n_halves, ...).

    The rows that are ``short`` (n_rows,) need deeper lists, and add nothing yet.
    """

    scores: Array
    undecided: Array
    short: Array


@dataclass(frozen=True)
class Half:
    """One half of a halving; ``weights`` (n_kinds, n_classes) are those of a sample in its score.

    ``train_size`` is the mean size of its training sets, for a surface (n_columns,).
    """

    halving: int
    half: int
    scorer: HalfScorer
    weights: Array
    train_size: Any


def score_in_halves(
    problem: ScoringProblem,
    neighbors: Neighbors,
    halvings: Halvings,
    halves: list[Half],
    depth: int,
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """The score of every half, (n_halvings, 2, ...), and the undecided shares, (...).

    The latter are the largest shares of a score that lists leave undecided since they end too early.

    The result does not depend on the threads: blocks of rows, and their halves, are added in their order.
    """
    neighbors.search_all(depth, n_jobs=n_jobs)
    rows = neighbors.visiting_order(np.arange(neighbors.n_items), depth)
    shape, size = halves[0].scorer.shape, max(BLOCK // depth, 1)
    scores, undecided = np.zeros((2, len(halves), *shape))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        if halves[0].scorer.by_class:
            block = block[np.argsort(problem.labels.codes[block], kind="stable")]
        waiting = [
            (at, block[halvings.half_of[half.halving, block] == half.half])
            for at, half in enumerate(halves)
        ]
        deep, growth = depth, 1
        while waiting:
            known = np.unique(np.concatenate([mine for _, mine in waiting])) if growth > 1 else block
            lists = neighbors.lists(known, deep, n_jobs)
            lists.lengths = usable_lengths(lists, neighbors, problem.ties == "random")
            place = np.zeros(neighbors.n_items, np.int64)
            place[known] = np.arange(len(known))
            last = deep >= neighbors.max_depth
            codes = problem.labels.codes
            task = _Task(halves, halvings, codes, lists, place, last, growth, scores, undecided)
            for_each(task, _pieces(halves, waiting, deep), n_jobs)
            waiting = sorted(task.left, key=lambda pair: pair[0])
            deep, growth = min(2 * deep, neighbors.max_depth), 2 * growth
    return scores.reshape(-1, 2, *shape), undecided.max(axis=0)


@dataclass(frozen=True)
class _Task:
    """Scores some halves of a block of rows; ``place`` is the row of a sample in the lists."""

    halves: list[Half]
    halvings: Halvings
    codes: Array
    lists: NeighborLists
    place: Array
    last: bool
    growth: int
    scores: Array
    undecided: Array
    left: list[tuple[int, Array]] = field(default_factory=list)

    def __call__(self, piece: list[tuple[int, Array]]) -> None:
        """Score samples of several halves that share a scorer; those with too short lists are left."""
        halves = [self.halves[at] for at, _ in piece]
        scorer = halves[0].scorer
        rows = np.concatenate([mine for _, mine in piece])
        of_row = np.repeat(np.arange(len(piece)), [len(mine) for _, mine in piece])
        halving, side = np.array([(half.halving, half.half) for half in halves]).T
        depth, enough = self.lists.items.shape[1], scorer.enough * self.growth
        last = self.last and enough >= depth
        kept = within(
            self.lists,
            self.place[rows],
            self.halvings.half_of,
            halving[of_row],
            side[of_row],
            min(enough, depth),
        )
        weights = np.concatenate(
            [half.weights[:, self.codes[mine]] for half, (_, mine) in zip(halves, piece, strict=True)],
            axis=1,
        )
        found = scorer.sums(kept, rows, weights, Owner(of_row, len(piece), last))
        at = np.array([at for at, _ in piece])
        self.scores[at] += found.scores
        self.undecided[at] += found.undecided
        self.left.extend(
            (int(at[one]), rows[found.short & (of_row == one)]) for one in np.unique(of_row[found.short])
        )


def _pieces(
    halves: list[Half], waiting: list[tuple[int, Array]], depth: int
) -> list[list[tuple[int, Array]]]:
    """The waiting samples of halves in pieces of one scorer and at most `STACK` list entries.

    A surface takes each half alone.
    """
    by_scorer: dict[int, list[list[tuple[int, Array]]]] = {}
    for at, rows in waiting:
        if not len(rows):
            continue
        scorer = halves[at].scorer
        pieces = by_scorer.setdefault(id(scorer), [[]])
        if pieces[-1] and (scorer.shape or sum(len(mine) for _, mine in pieces[-1]) * depth > STACK):
            pieces.append([])
        pieces[-1].append((at, rows))
    return [piece for pieces in by_scorer.values() for piece in pieces]


def depth_for_halves(mean: float, neighbors: Neighbors) -> int:
    """Depth of lists that hold enough samples of a half, if they do at the depth `mean` on average."""
    return min(math.ceil(mean + 5 * math.sqrt(mean)), neighbors.max_depth)


@dataclass(frozen=True)
class RuleScorer(HalfScorer):
    """The rule's own kernels; ``enough`` neighbors are needed for fixed-size training sets.

    ``problem`` is that of one of the halves, which have training sets of the same kinds.
    """

    scorer: BlockScorer | GroupScorer
    problem: ScoringProblem
    enough: int

    def sums(self, lists: NeighborLists, rows: Array, weights: Array, owner: Owner) -> Sums:
        """The sums over the rows of every half."""
        scores, tails = self._scores(lists, rows, weights)
        found = np.where(weights > 0, weights * scores, 0.0).sum(axis=0)
        tails = np.where(weights > 0, tails, 0.0)
        short: Array = np.logical_or.reduce(tails > TOLERANCE / 2, axis=0)
        undecided = (weights * tails * short).sum(axis=0)
        if owner.last:
            short[:] = False
        else:
            found[short] = undecided[short] = 0.0
        of_halves = [np.bincount(owner.of_row, each, owner.n_halves) for each in (found, undecided)]
        return Sums(of_halves[0], of_halves[1], short)

    def _scores(self, lists: NeighborLists, rows: Array, weights: Array) -> tuple[Array, Array]:
        """Scores in halves, and the undecided shares, (n_kinds, n_rows)."""
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
            scorer = block_scorer(with_parameters(problem, **parameters), self.scorer.neighbors, TOLERANCE)
            return scorer.scores_and_tails(lists, lists.lengths, rows)[0]

        totals = weights.sum(axis=0)
        shares = weights / np.where(totals > 0, totals, 1.0)
        n_outputs = problem.values.shape[1]
        return problem.variant.over_kinds(scores, shares, scores_with, n_outputs, **problem.parameters)


def score_halves(
    problem: ScoringProblem, neighbors: Neighbors, halvings: Halvings, n_jobs: int | None
) -> tuple[Array, float, float]:
    """The exact score of every half, (n_halvings, 2), the mean training size, and the undecided share.

    Raises
    ------
    ValueError
        If the design or the rule does not suit a half.
    """
    halves = _halves(problem, neighbors, halvings)
    first: Any = halves[0].scorer
    depth = depth_for_halves(2 * first_depth(first.problem, neighbors, TOLERANCE), neighbors)
    scores, undecided = score_in_halves(problem, neighbors, halvings, halves, depth, n_jobs)
    return scores, math.fsum(half.train_size for half in halves) / len(halves), float(undecided)


def _halves(problem: ScoringProblem, neighbors: Neighbors, halvings: Halvings) -> list[Half]:
    """All halves; what is equal for several is computed once."""
    known: dict[Any, Half] = {}
    scorers: dict[Any, RuleScorer] = {}
    halves = []
    for halving, half in np.ndindex(len(halvings.half_of), 2):
        rows = halvings.rows(halving, half)
        if problem.pool is None:
            key = _decides(problem, rows) or (halving, half)
        else:
            tested, drawn = _tested_and_drawn(problem, rows)
            of_both = problem.labels.codes[tested], problem.pool.codes[drawn]
            key = tuple(np.bincount(codes).tobytes() for codes in of_both)
        if key not in known:
            known[key] = _half(problem, neighbors, rows, scorers)
        halves.append(replace(known[key], halving=halving, half=half))
    return halves


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


def _half(
    problem: ScoringProblem, neighbors: Neighbors, rows: Array, scorers: dict[Any, RuleScorer]
) -> Half:
    """A half of these samples; `scorers` has those of other halves."""
    reduced = _for_half(problem, rows)
    kinds = reduced.training_sets
    key = kinds if not reduced.leaves_groups else rows.tobytes()
    if key not in scorers:
        scorers[key] = _scorer(reduced, neighbors, rows)
    weights = np.array([[float(w) for w in row] for row in reduced.item_weights])
    train_size = sum(float(kind.probability) * _mean_train(kind) for kind in kinds)
    return Half(0, 0, scorers[key], weights, train_size)


def _mean_train(kind: TrainingSets) -> float:
    if isinstance(kind, GroupTrainingSets):
        return sum(kind.sizes) * kind.n_train[0] / kind.counts[0]
    return float(kind.most_train)


def _for_half(problem: ScoringProblem, rows: Array) -> ScoringProblem:
    """The problem of a half; labels and class codes are those of all samples."""
    try:
        if problem.pool is None:
            reduced = problem.over(_halved(problem, rows), labels_of(problem.labels, rows))
        else:
            tested, drawn = _tested_and_drawn(problem, rows)
            design = problem.design.halved(labels_of_pool(problem.pool), drawn)
            kinds = training_sets_of_pool(design, problem.pool, drawn)
            weights = weights_of(kinds, labels_of(problem.labels, tested), problem.average)
            reduced = replace(problem, design=design, training_sets=kinds, item_weights=weights)
        for task in reduced.tasks_to_check(reduced.training_sets):
            problem.variant.check(task, **problem.parameters)
    except ValueError as error:
        msg = (
            f"a standard error needs scores of halves of the samples, {len(rows)} in each, but "
            f"{problem.variant.name!r} over {problem.design!r} does not suit them: {error}"
        )
        raise ValueError(msg) from error
    return reduced


def _tested_and_drawn(problem: ScoringProblem, rows: Array) -> tuple[Array, Array]:
    """The samples of a half that are tested, and those of the pool."""
    n_tested = len(problem.labels.codes)
    return rows[rows < n_tested], rows[rows >= n_tested] - n_tested


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


def _scorer(reduced: ScoringProblem, neighbors: Neighbors, rows: Array) -> RuleScorer:
    if reduced.leaves_groups:
        groups = group_scorer(reduced, neighbors, TOLERANCE, rows=rows)
        return RuleScorer(groups, reduced, neighbors.n_items)
    scorer = block_scorer(reduced, neighbors, TOLERANCE)
    enough = first_depth(reduced, neighbors, TOLERANCE, scorer.fixed_tails)
    if any(tail is None for tail in scorer.fixed_tails):
        enough += math.ceil(2 * math.sqrt(enough))  # the tail depends on the classes of the neighbors
    return RuleScorer(scorer, reduced, enough)
