"""Scores of random runs: known training sets, on the neighbor lists of all samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import types

from .._parallel import ExecutorLike, WorkerPool, stop_flag
from .._typing import Array
from ..designs import TrainingSets
from ..driver import (
    HARD,
    Jobs,
    Part,
    ScoringProblem,
    Step,
    announce_trials,
    deepen,
    first_depth,
    hardest,
    known_set_part,
    unserved,
)
from ..kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Labels,
    Order,
    Task,
    compile_driver,
    jit,
)
from ..neighbors import NeighborLists, Neighbors

TOLERANCE = 1e-12


@jit
def score_trials(
    kernel,
    items,
    values,
    lengths,
    certain,
    targets,
    average_ties,
    fold_of,
    tested,
    nearest,
    labels,
    constraints,
    out,
    stop,
):
    """Compute the score of every row in every run that tests its sample in one of the ``tested`` folds.

    ``fold_of`` (n_items, n_runs) is the fold that tests a sample; the samples of the other folds train.
    ``tested`` has shape (n_runs, n_folds). The score is NaN if the list of the row ends before ``nearest``
    training samples are found, or if a sample that is not in the list may tie with the last of them (not
    ``certain``).
    """
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
                if fold_of[item, run] == fold:
                    continue
                tie = found > 0 and average_ties and values[r, i] == values[r, last]
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


SCORE_TRIALS = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.boolean, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.boolean,
    types.Array(types.int32, 2, "C"),
    types.Array(types.boolean, 2, "C"),
    types.int64,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 2, "C"),
    types.Array(types.boolean, 1, "C"),
)


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
        score_trials(
            step.compiled(),
            lists.items,
            lists.values,
            lists.lengths,
            certain,
            rows,
            self.average_ties,
            self.fold_of,
            self.kind_of == j,
            self.nearest[j],
            self.labels,
            step.constraints,
            out,
            stop_flag(),
        )


def trial_scorer(
    question: ScoringProblem, neighbors: Neighbors, runs: list[tuple[Array, Array]]
) -> TrialScorer:
    """The scorer of these runs, each as `Design.draw` returns it; compiled."""
    fold_of = np.ascontiguousarray(np.array([fold for fold, _ in runs], dtype=np.int32).T)
    kind_of = np.ascontiguousarray([kinds for _, kinds in runs])
    shares = item_shares(question, kind_of.shape[1])
    if question.leaves_groups:  # training sets differ in size from run to run
        sizes, kind_of = np.unique((fold_of < 0).sum(axis=0)[:, None], return_inverse=True)
        kind_of = kind_of.reshape(-1, 1)
        tasks = [question.known_training_set_task(int(size)) for size in sizes]
        shares = np.repeat(shares, len(sizes), axis=0)
    else:
        tasks = [known_task(question, kind) for kind in question.training_sets]
    n_nearest = question.variant.n_nearest(**question.parameters)
    plan = TrialScorer(
        neighbors,
        question.kernel_labels(),
        tuple(known_set_part(question, task) for task in tasks),
        tuple(min(n_nearest, task.train_size) for task in tasks),
        shares,
        fold_of,
        kind_of,
        question.ties == "random",
    )
    plan.compile()
    return plan


def item_shares(question: ScoringProblem, n_folds: int) -> Array:
    """Return the weight of a tested sample in the score of its run, shape (n_kinds, n_classes)."""
    n_classes = len(question.labels.classes)
    shares = np.zeros((len(question.training_sets), n_classes))
    for j, (kind, weights) in enumerate(zip(question.training_sets, question.item_weights, strict=True)):
        # Divide the weight by the probability that the sample is tested; a run has several folds.
        for c, (weight, tested) in enumerate(zip(weights, kind.tested_share(n_classes), strict=True)):
            if tested:
                shares[j, c] = float(weight / tested / kind.probability / n_folds)
    return shares


def known_task(question: ScoringProblem, kind: TrainingSets) -> Task:
    """Return the task of a known training set: all available samples are drawn."""
    return Task(
        kind.n_train,
        kind.n_train,
        kind.stratified,
        held_out=0,
        n_classes=len(question.labels.classes),
    )


def score_runs(
    plan: TrialScorer,
    question: ScoringProblem,
    n_jobs: int | None,
    executor: ExecutorLike | None,
    progress: bool,
    announce: bool = True,
) -> tuple[Array, float]:
    """The score of every run, and the mean share that lists leave unknown times the largest score."""
    neighbors = plan.neighbors
    n_runs = plan.fold_of.shape[1]
    added = np.empty((neighbors.n_items, n_runs))
    unknown = np.empty(neighbors.n_items)
    waiting = announce

    def begin(rows: Array, depth: int, workers: WorkerPool) -> None:
        nonlocal waiting
        if waiting:
            announce_trials(plan, question, rows, depth, workers.n_workers)
            waiting = False
        if n_runs * hardest(question, neighbors.max_depth) > HARD:
            workers.stand_apart()

    def take(block: Array, depth: int, found: tuple[Array, Array], is_open: Array) -> None:  # noqa: ARG001
        added[block], unknown[block] = found

    rows = np.arange(neighbors.n_items)
    depth = first_depth(question, neighbors, TOLERANCE)
    deepen(plan, rows, depth, take, Jobs(n_jobs, executor, progress), begin=begin)
    scores = np.array([math.fsum(column) for column in added.T])
    missed = float(unknown.sum()) / len(scores) * question.largest
    return scores, missed
