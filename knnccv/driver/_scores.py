"""Blocks of samples: neighbor order, kernel, score; deepened until the tolerance holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._parallel import ExecutorLike, WorkerPool, stop_flag
from .._typing import Array, Kernel
from ..designs import LeaveGroupsOut
from ..kernel import Constraints, Labels, compile_driver, compile_kernel, jit
from ..neighbors import NeighborLists, Neighbors
from ..sampling import STRATIFIED_TAILS, fixed_tail, stratified_tails
from ._depth import first_depth
from ._forecast import HARD, announce_scores, hardest, may_be_long
from ._group_scores import group_plan
from ._light_kernels import compile_first, first_kernel, light_kernels, not_served
from ._problem import ScoringProblem
from ._rows import SCORE_ROWS, score_rows, usable_lengths
from ._summary import Scores
from ._tails import fill_tails, ties_that_matter


@jit
def no_score(order, labels, target, constraints):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """A kernel for those who want to know no more than which samples are tied."""
    return 0.0


@dataclass(frozen=True)
class BlockScorer:
    """What a block of samples needs; sent to the workers."""

    neighbors: Neighbors
    labels: Labels
    kernels: tuple[Kernel, ...]
    light: tuple[Kernel | None, ...]
    constraints: tuple[Constraints, ...]
    nearest: tuple[int, ...]
    fixed_tails: tuple[Array | None, ...]
    untested: Array
    average_ties: bool
    tol: float
    tie_order: int = 0
    losses: Array | None = None

    def compile(self) -> None:
        """Compile what the blocks call, or load it from the cache; every process needs it once."""
        compile_first(self.light, self.kernels, "the plan")
        compile_driver(score_rows, SCORE_ROWS)
        if any(table is None for table in self.fixed_tails):
            compile_driver(stratified_tails, STRATIFIED_TAILS)

    def __call__(
        self, rows: Array, depth: int, keep_lists: bool
    ) -> tuple[NeighborLists | None, Array, Array, Array]:
        """The rows' lists, if wanted, scores and tails (n_kinds, n_rows), and which are tied."""
        lists, lengths = self.known(rows, depth)
        scores, tied = self.scores(lists, lengths, rows)
        tails = self.tails(lists, lengths, rows)
        return lists if keep_lists else None, scores, tails, tied

    def known(self, rows: Array, depth: int) -> tuple[NeighborLists, Array]:
        """The rows' lists, and how far they tell what the tie rule needs."""
        lists = self.neighbors.search(rows, depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties or self.tie_order != 0)
        if self.losses is not None:
            from ._tie_order import order_ties_by_score

            lists = order_ties_by_score(lists, lengths, rows, self.labels, self.losses, self.tie_order)
        return lists, lengths

    def scores(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[Array, Array]:
        """Scores (n_kinds, n_rows), NaN where a sample is never tested, and which rows are tied."""
        scores = np.zeros((len(self.kernels), len(rows)))
        ties = np.full(len(rows), -1)  # what follows reads it, also where `score_rows` was told to stop
        tied = np.zeros(len(rows), bool)
        for j, kernel in enumerate(self.kernels):
            first = first_kernel(self.light[j], kernel)
            self._score(first, j, lists, lengths, rows, scores[j], ties)
            left = not_served(scores[j]) if first is not kernel else rows[:0]
            if len(left):
                rest = lists.cut(left, lists.items.shape[1])
                found = np.empty(len(left))
                full = compile_kernel(kernel, "the plan")
                self._score(full, j, rest, lengths[left], rows[left], found, np.empty(len(left), np.int64))
                scores[j, left] = found
            untested = self.untested[j, self.labels.classes[rows]]
            scores[j, untested] = np.nan
            tied |= ties_that_matter(lists.items, ties, rows, *self._kind(j), self.tol) & ~untested
        return scores, tied

    def tails(self, lists: NeighborLists, lengths: Array, rows: Array) -> Array:
        """How much of every score the lists leave open, shape (n_kinds, n_rows)."""
        tails = np.empty((len(self.kernels), len(rows)))
        for j in range(len(self.kernels)):
            fill_tails(lists.items, lengths, rows, *self._kind(j), tails[j])
            tails[j, self.untested[j, self.labels.classes[rows]]] = 0.0
        return tails

    def _kind(self, j: int) -> tuple[Labels, Constraints, int, Array | None]:
        """What decides how likely a position is to matter in training sets of kind j."""
        return self.labels, self.constraints[j], self.nearest[j], self.fixed_tails[j]

    def _score(
        self,
        kernel: Kernel,
        j: int,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        out: Array,
        ties: Array,
    ) -> None:
        """Have the kernel score the rows as training sets of kind j."""
        args = lists.items, lists.values, lengths, rows, self.average_ties, self.labels, self.constraints[j]
        score_rows(kernel, *args, out, ties, stop_flag())


def float_scores(
    question: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    *,
    n_jobs: int | None,
    tie_order: int,
    keep: bool,
    executor: ExecutorLike | None,
    progress: bool,
    kernel: Kernel | None = None,
) -> Scores:
    """A_x of every sample in floating point, in lists that are deepened until the tolerance holds.

    The variant's kernels are used unless another `kernel` is given.
    """
    plan: Any
    if isinstance(question.design, LeaveGroupsOut):
        plan = group_plan(question, neighbors, tol, kernel=kernel)
    else:
        plan = _plan(question, neighbors, tol, tie_order, kernel)
    depth = first_depth(question, neighbors, tol, plan.fixed_tails)
    if executor is not None:
        plan = replace(plan, neighbors=neighbors.for_workers(depth))
    n_kinds, n_items = len(question.kinds), neighbors.n_items
    scores = np.empty((n_kinds, n_items))
    tails = np.empty((n_kinds, n_items))
    tied = np.zeros(n_items, bool)
    rows = np.arange(n_items)
    deepest = depth
    cache = neighbors.room(depth) if keep else None
    with WorkerPool(plan, n_jobs=n_jobs, executor=executor, progress=progress) as workers:
        announced = tie_order != 0 or kernel is not None or not isinstance(plan, BlockScorer)
        while len(rows):
            # Of rows that are asked again, tied groups may go on to the very end.
            reach = depth if depth == deepest else neighbors.max_depth
            deepest = depth
            if not announced and may_be_long(question, reach, len(rows)):
                announced = announce_scores(plan, question, rows, depth, tol, workers.n_workers)
            if hardest(question, depth) > HARD:
                workers.stand_apart()
            neighbors.prepare(depth)
            if executor is None and len(rows) == n_items:
                neighbors.search_all(depth, n_jobs=n_jobs, progress=progress)
            near = neighbors.visiting_order(rows, depth)
            for block, (lists, *found) in workers.map(
                near, neighbors.rows_at_once(depth), depth, cache is not None
            ):
                scores[:, block], tails[:, block], tied[block] = found
                if cache is not None and lists is not None:
                    cache.put(block, lists)
            if cache is not None:
                neighbors.store(cache)
                cache = None
            if depth >= neighbors.max_depth:
                break
            rows = rows[(tails[:, rows] > tol / 2).any(axis=0)]
            depth = min(2 * depth, neighbors.max_depth)
    return Scores(scores, tails, tied, deepest)


def _plan(
    question: ScoringProblem, neighbors: Neighbors, tol: float, tie_order: int, kernel: Kernel | None
) -> BlockScorer:
    tasks = [question.task(kind) for kind in question.kinds]
    kernels = tuple(kernel or question.variant.kernel_for(task) for task in tasks)
    constraints = tuple(question.constraints(task) for task in tasks)
    light: tuple[Kernel | None, ...] = (None,) * len(tasks)
    if kernel is None:
        light = light_kernels(question.variant, tasks, constraints)
    compile_first(light, kernels, f"variant {question.variant.name!r}")
    nearest = tuple(question.nearest(kind) for kind in question.kinds)
    plan = BlockScorer(
        neighbors,
        question.kernel_labels(),
        kernels,
        light,
        constraints,
        nearest,
        tuple(
            None if task.stratified else fixed_tail(task.n_available, task.train_size, k)
            for task, k in zip(tasks, nearest, strict=True)
        ),
        question.never_tested(),
        question.ties == "random" and not tie_order,
        tol,
        tie_order,
        question.single_neighbor_scores() if tie_order else None,
    )
    plan.compile()
    return plan
