# mypy: allow-untyped-defs
"""Scores of random runs: plain votes are counted 512 runs at a time, other rules are asked run by run.

`nearest_in_runs` lists the K nearest training samples of every tested sample, run by run: for weights,
means and any scoring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import types

from ...._base.parallel import for_each, stop_flag
from ...._base.typing import Array
from ....designs import TrainingSets
from ....kernel import CONSTRAINTS, KERNEL, LABELS, Labels, Order, Task, compile_driver, jit
from ....kernel.sampling import random_below, scramble
from ....neighbors import NeighborLists, Neighbors
from ...driver import (
    DISTANCES,
    ITEMS,
    ROWS,
    Jobs,
    Part,
    Rows,
    ScoringProblem,
    Step,
    Watch,
    deepen,
    fill_group_ends,
    first_depth,
    known_set_part,
    unserved,
)
from ._counts import (
    ANY,
    RIGHT,
    TOLERANCE,
    Ballot,
    RunCounter,
    RunTables,
    ballot_of,
    check_lists_end_late,
    deepened,
)
from ._planes import NEITHER, Runs

BATCH_BYTES = 2**26
"""Bytes of the scores of all samples in the runs that are scored at once."""

ROUNDING = 1e-14
"""The kernels' rounding errors of an average over the orders of ties are below this."""

ROWS_AT_ONCE = 256
"""Samples whose nearest training samples a thread lists at a time."""


class Trials(NamedTuple):
    """Runs, and the folds of them that are asked for.

    ``fold_of`` (n_items, n_runs) is the fold that tests a sample; the samples of the other folds train.
    ``tested`` (n_runs, n_folds) are the folds that are asked for, where the ``nearest`` training samples
    decide.
    """

    fold_of: Array
    tested: Array
    nearest: int


@jit
def score_trials(kernel, rows, certain, trials, labels, constraints, out, stop):
    """Compute the score of every row in every run that tests its sample in one of the folds.

    The score is NaN if the list of the row ends before the nearest training samples are found, or if a
    sample that is not in the list may tie with the last of them (not ``certain``).
    """
    fold_of, tested, nearest = trials
    items, values, lengths, targets = rows.items, rows.values, rows.lengths, rows.targets
    depth = items.shape[1]
    order = np.empty(depth, np.int64)
    group_end = np.empty(depth, np.int64)
    for r in range(len(targets)):
        for run in range(fold_of.shape[1]):
            if stop[0]:
                return
            fold = fold_of[targets[r], run]
            if fold < 0 or not tested[run, fold]:
                continue
            found = 0
            group_start = 0
            last = 0
            for i in range(lengths[r]):
                item = items[r, i]
                if fold_of[item, run] == fold or fold_of[item, run] == NEITHER:
                    continue
                tie = found > 0 and rows.average_ties and values[r, i] == values[r, last]
                if found >= nearest and not tie:
                    break
                if not tie:
                    group_start = found
                order[found] = item
                found += 1
                for j in range(group_start, found):
                    group_end[j] = found
                last = i
            end = lengths[r] - 1
            if found < nearest or (not certain[r] and values[r, last] == values[r, end]):
                out[r, run] = np.nan
            else:
                out[r, run] = kernel(
                    Order(order[:found], group_end[:found]), labels, targets[r], constraints
                )


_FLAGS = types.Array(types.boolean, 1, "C")
_TRIALS = types.NamedTuple([ITEMS, types.Array(types.boolean, 2, "C"), types.int64], Trials)
SCORE_TRIALS = types.void(KERNEL, ROWS, _FLAGS, _TRIALS, LABELS, CONSTRAINTS, DISTANCES, _FLAGS)


@dataclass(frozen=True)
class TrialScorer:
    """Everything a worker needs to score blocks of samples.

    ``shares`` (n_kinds, n_classes): the contribution of one tested sample to the score of its run;
    ``kind_of`` (n_runs, n_folds): the kind of every training set.
    """

    neighbors: Neighbors
    labels: Labels
    parts: tuple[Part, ...]
    nearest: tuple[int, ...]
    shares: Array
    fold_of: Array
    kind_of: Array
    average_ties: bool

    def compile(self) -> None:
        """Compile the functions of a block, or load them from the cache; needed once per process."""
        for part in self.parts:
            part.compile()
        compile_driver(score_trials, SCORE_TRIALS)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, Array], Array]:
        """Return the rows' contributions to the score of every run, and their unknown shares; open rows."""
        n_runs = self.fold_of.shape[1]
        scores = np.zeros((len(rows), n_runs))
        certain = ~lists.may_tie_beyond
        if not self.average_ties and self.neighbors.ordered_by_index:
            certain[:] = True
        for j, part in enumerate(self.parts):
            left = np.arange(len(rows))
            for step in part.steps:
                some = lists if len(left) == len(rows) else lists.cut(left, lists.items.shape[1])
                found = scores[left]
                self._score(step, j, some, certain[left], rows[left], found)
                scores[left] = found
                left = left[unserved(found)]
                if not len(left):
                    break
        # Averages over the orders of ties round; a sample that is right in all of them counts one.
        scores[np.abs(scores - 1) < ROUNDING] = 1.0
        fold = self.fold_of[rows].T
        kind = self.kind_of[np.arange(n_runs)[:, None], fold]
        share = self.shares[kind, self.labels.classes[rows]]
        share = np.where(fold >= 0, share, 0.0).T
        known = ~np.isnan(scores)
        unknown = np.where(known, 0.0, share).sum(axis=1)
        is_open = np.asarray(~known.all(axis=1))
        return (np.where(known, scores * share, 0.0), unknown), is_open

    def _score(
        self, step: Step, j: int, lists: NeighborLists, certain: Array, rows: Array, out: Array
    ) -> None:
        """Score the rows in the runs whose training sets are of kind j."""
        block = Rows(lists.items, lists.values, lists.lengths, rows, self.average_ties)
        trials = Trials(self.fold_of, self.kind_of == j, self.nearest[j])
        known = self.labels, step.constraints
        score_trials(step.compiled(), block, certain, trials, *known, out, stop_flag())


def trial_scorer(
    problem: ScoringProblem, neighbors: Neighbors, fold_of: Array, kinds: Array
) -> TrialScorer:
    """The scorer of runs, ``fold_of`` (n_items, n_runs) and ``kinds`` (n_runs, n_folds); compiled."""
    shares = item_shares(problem, kinds.shape[1])
    if problem.leaves_groups:  # training sets differ in size from run to run
        sizes, kinds = np.unique((fold_of == -1).sum(axis=0)[:, None], return_inverse=True)
        kinds = kinds.reshape(-1, 1)
        tasks = [problem.known_training_set_task(int(size)) for size in sizes]
        shares = np.repeat(shares, len(sizes), axis=0)
    else:
        tasks = [known_task(problem, kind) for kind in problem.training_sets]
    n_nearest = problem.variant.n_nearest(**problem.parameters)
    plan = TrialScorer(
        neighbors,
        problem.kernel_labels(),
        tuple(known_set_part(problem, task) for task in tasks),
        tuple(min(n_nearest, task.train_size) for task in tasks),
        shares,
        np.ascontiguousarray(fold_of),
        np.ascontiguousarray(kinds),
        problem.ties == "random",
    )
    plan.compile()
    return plan


def item_shares(problem: ScoringProblem, n_folds: int) -> Array:
    """Return the weight of a tested sample in the score of its run, shape (n_kinds, n_classes)."""
    n_classes = len(problem.labels.classes)
    shares = np.zeros((len(problem.training_sets), n_classes))
    for j, (kind, weights) in enumerate(zip(problem.training_sets, problem.item_weights, strict=True)):
        # Divide the weight by the probability that the sample is tested; a run has several folds.
        for c, (weight, tested) in enumerate(zip(weights, kind.tested_share(n_classes), strict=True)):
            if tested:
                shares[j, c] = float(weight / tested / kind.probability / n_folds)
    return shares


def known_task(problem: ScoringProblem, kind: TrainingSets) -> Task:
    """Return the task of a known training set: all available samples are drawn."""
    return Task(
        kind.n_train, kind.n_train, kind.stratified, held_out=0, n_classes=len(problem.labels.classes)
    )


def score_runs(
    problem: ScoringProblem, neighbors: Neighbors, runs: Runs, jobs: Jobs, announce: bool = True
) -> tuple[Array, float]:
    """The score of every run, and the mean share that lists leave unknown times the largest score.

    Plain votes are counted 512 runs at a time. What this leaves, samples with ties that matter, and all
    other rules go through the kernels of the rule run by run.
    """
    every = np.arange(neighbors.n_items)
    ballot = ballot_of(problem)
    if ballot is None or not ballot.plain or ballot.random_ties or jobs.executor is not None:
        parts, unknown = np.zeros((runs.n_runs, 0)), np.zeros(runs.n_runs)
        left = dict.fromkeys(range(runs.n_blocks), every)
    else:
        parts, unknown, left = _count_votes(problem, neighbors, runs, ballot, jobs.n_jobs)
    scores, missed = np.array([math.fsum(part) for part in parts]), 0.0
    for block, rows in sorted(left.items()):
        fold_of, some = runs.folds(block), runs.rows(block)
        kinds = runs.kind_of[some]
        size = max(1, BATCH_BYTES // (8 * len(rows)))
        for start in range(0, len(fold_of), size):
            part = slice(start, start + size)
            plan = trial_scorer(problem, neighbors, fold_of[part].T, kinds[part])
            added, beyond = _run_by_run(plan, problem, rows, jobs, announce)
            for run, column in enumerate(added.T, some.start + start):
                scores[run] = math.fsum([*parts[run], *column])
            missed += beyond / runs.n_runs
            announce = False
    return scores, (float(unknown.mean()) + missed) * problem.largest


def _count_votes(
    problem: ScoringProblem, neighbors: Neighbors, runs: Runs, ballot: Ballot, n_jobs: int | None
) -> tuple[Array, Array, dict[int, Array]]:
    """Parts of the scores of runs of plain votes, and unknown shares; by block, samples not counted.

    A share is divided into two parts of few digits, whose products with counts are exact. So the sum of the
    parts of a run, rounded once, is that of the single samples.
    """
    shares, differ = item_shares(problem, runs.n_folds), runs.kinds.ndim > 1
    coarse = shares.astype(np.float32).astype(float)
    halves = np.stack([coarse, shares - coarse])
    parts: list[Array] = [np.empty(0)] * runs.n_blocks
    unknown = np.zeros(runs.n_runs)
    tied: dict[int, Array] = {}

    def take(block: int, tables: RunTables) -> None:
        some = runs.rows(block)
        weights = halves[:, runs.kinds[some]] if differ else halves[:, None]
        exactly = np.moveaxis(tables.counts * weights, 0, -1)
        parts[block] = exactly.reshape(len(exactly), -1)
        unknown[some] = (tables.unknown * weights.sum(axis=0)).sum(axis=(1, 2))
        if len(tables.tied):
            tied[block] = tables.tied

    cells = np.arange(runs.n_folds) if differ else runs.kinds
    counter = RunCounter(problem, neighbors, runs, ANY if ballot.any_of else RIGHT, cells, draws_ties=False)
    counter.count(take, n_jobs)
    return np.concatenate(parts), unknown, tied


def _run_by_run(
    plan: TrialScorer, problem: ScoringProblem, rows: Array, jobs: Jobs, announce: bool
) -> tuple[Array, float]:
    """The parts of some samples (n_rows, n_runs) in the scores of runs; the sum of what is unknown."""
    neighbors, n_runs = plan.neighbors, plan.fold_of.shape[1]
    added, unknown = np.empty((neighbors.n_items, n_runs)), np.zeros(neighbors.n_items)
    depth = first_depth(problem, neighbors, TOLERANCE)
    one = replace(plan, fold_of=np.ascontiguousarray(plan.fold_of[:, :1]), kind_of=plan.kind_of[:1])
    watch = Watch(problem, neighbors, lambda row: list(deepen(one, row, depth)), n_runs, not announce)
    for block, _, found, _ in deepen(plan, rows, depth, jobs, begin=watch):
        added[block], unknown[block] = found
    return np.asarray(added[rows]), float(unknown.sum())


@jit
def add_votes(items, weights, start, end, cells, sums):
    """Add the weights of some neighbors, places `start` to `end` of (n, K), to the cells of their classes.

    `cells` (n_items, n_outputs) are columns of `sums`. Three times as fast as NumPy.
    """
    for row in range(len(items)):
        for place in range(start, end):
            for output in range(cells.shape[1]):
                sums[row, cells[items[row, place], output]] += weights[row, place]


@jit
def fill_nearest(rows, fold_of, k, seed, items, values, is_open):
    """Fill the K nearest training samples of some rows in every run that tests them; -1 in the others.

    ``fold_of`` (n_items, n_runs) are folds; `items` and `values` have shape (n_runs, n_items, K). Which of
    tied samples are among the K is drawn. A row is open if its list ends too early for some run.
    """
    depth = rows.items.shape[1]
    group_end, state = np.arange(1, depth + 1), np.empty(1, np.uint64)
    for r in range(len(rows.targets)):
        own, length = rows.targets[r], rows.lengths[r]
        if rows.average_ties:
            fill_group_ends(rows.values[r], length, group_end)
        state[0] = scramble(np.uint64(seed) ^ scramble(np.uint64(own + 1)))
        for run in range(fold_of.shape[1]):
            fold, found, i = fold_of[own, run], 0, 0
            for place in range(k):
                items[run, own, place] = -1
            if fold < 0:
                continue
            while i < length and found < k:
                end, left = group_end[i], np.int64(0)
                for j in range(i, end):
                    other = fold_of[rows.items[r, j], run]
                    left += np.int64(other != fold and other != NEITHER)
                missing = min(left, k - found)
                for j in range(i, end):
                    other = fold_of[rows.items[r, j], run]
                    trains = other != fold and other != NEITHER
                    if not trains or missing == 0:
                        continue
                    if missing == left or random_below(state, left) < missing:
                        items[run, own, found] = rows.items[r, j]
                        values[run, own, found] = rows.values[r, j]
                        missing -= 1
                        found += 1
                    left -= 1
                i = end
            is_open[r] |= found < k


def nearest_in_runs(
    neighbors: Neighbors,
    folds: Array,
    k: int,
    ties: str,
    depth: int,
    n_jobs: int | None = None,
    seed: int = 0,
) -> tuple[Array, Array]:
    """The K nearest training samples of every tested sample.

    Parameters
    ----------
    folds : int32 ndarray of shape (n_runs, n_items)
        The fold that tests a sample; -1: it trains in all, -2: it neither trains nor is tested.
    ties : {"index", "random"}
        Whether tied samples are taken in the order of the data, or drawn.
    depth : int
        Depth of the first neighbor lists.

    Returns
    -------
    items : int32 ndarray of shape (n_runs, n_items, K)
        The nearest first; -1 where a sample is not tested.
    distances : float64 ndarray of shape (n_runs, n_items, K)

    Raises
    ------
    ValueError
        If given neighbor lists end too early.
    """
    fold_of = np.ascontiguousarray(folds.T, dtype=np.int32)
    items = np.empty((len(folds), neighbors.n_items, k), np.int32)
    values = np.zeros(items.shape)
    average = ties == "random"
    lists = neighbors.all_lists(min(depth, neighbors.max_depth), n_jobs)

    def find(rows: Rows, final: bool) -> Array:  # noqa: ARG001
        """Fill in the rows; mark those that need longer lists."""
        is_open = np.zeros(len(rows.targets), bool)

        def fill(start: int) -> None:
            some = slice(start, start + ROWS_AT_ONCE)
            block = Rows._make((*(part[some] for part in rows[:-1]), average))
            with np.errstate(over="ignore"):
                fill_nearest(block, fold_of, k, seed, items, values, is_open[some])

        for_each(fill, range(0, len(is_open), ROWS_AT_ONCE), n_jobs)
        return is_open

    left = deepened(find, neighbors, np.arange(neighbors.n_items), lists, average, n_jobs)
    check_lists_end_late(left, neighbors, k)
    return items, neighbors.to_distance(values)
