"""Blocks of samples: neighbor lists, kernels, scores; deeper lists until the tolerance holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._parallel import ExecutorLike, WorkerPool
from .._typing import Array, Kernel
from ..designs import LeaveGroupsOut
from ..kernel import Labels, compile_distance_kernel, compile_driver, jit
from ..neighbors import NeighborLists, Neighbors
from ..sampling import STRATIFIED_TAILS, fixed_tail, stratified_tails
from ._alike_samples import alike_samples
from ._depth import first_depth
from ._forecast import HARD, announce_scores, hardest, may_be_long
from ._group_scores import group_scorer
from ._joint_scorer import JointScorer, joint_scorer
from ._kind_scorer import KindScorer
from ._label_ties import FIRST_MIXED_GROUPS, first_mixed_groups
from ._light_kernels import compile_first, light_kernels
from ._method import Computation, check_complete, kernels_of, needs_all
from ._problem import ScoringProblem
from ._rows import (
    SCORE_ROWS,
    SCORE_ROWS_BY_DISTANCE,
    score_rows,
    score_rows_by_distance,
    usable_lengths,
)
from ._summary import Scores


@jit
def no_score(order, labels, target, constraints):  # noqa: ARG001
    """A kernel for callers that need only the ties."""
    return 0.0


@dataclass(frozen=True)
class BlockScorer:
    """Everything a worker needs to score a block of samples."""

    neighbors: Neighbors
    labels: Labels
    kinds: tuple[KindScorer, ...]
    average_ties: bool
    tol: float
    tie_order: int = 0
    losses: Array | None = None
    joint: JointScorer | None = None

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""
        if self.joint is not None:
            self.joint.compile()
        else:
            self._compile_kinds()
        compile_driver(first_mixed_groups, FIRST_MIXED_GROUPS)

    def _compile_kinds(self) -> None:
        blind = [kind for kind in self.kinds if not kind.sees_distances]
        compile_first([kind.light for kind in blind], [kind.kernel for kind in blind], "the scorer")
        compile_driver(score_rows, SCORE_ROWS)
        for kind in self.kinds:
            if kind.sees_distances:
                compile_distance_kernel(kind.kernel, "the scorer")
                compile_driver(score_rows_by_distance, SCORE_ROWS_BY_DISTANCE)
        if any(tail is None for tail in self.fixed_tails):
            compile_driver(stratified_tails, STRATIFIED_TAILS)

    @property
    def fixed_tails(self) -> tuple[Array | None, ...]:
        """The `fixed_tail` of every kind."""
        return tuple(kind.fixed_tail for kind in self.kinds)

    def __call__(
        self, rows: Array, depth: int, keep_lists: bool
    ) -> tuple[NeighborLists | None, Array, Array, Array]:
        """Return the rows' lists if requested, scores, tails (n_kinds, n_rows), and a mask of tied rows."""
        lists, lengths = self.lists_of(rows, depth)
        mixed = self._mixed(lists, lengths)
        scores, tails = self._scores_and_tails(lists, lengths, rows, mixed)
        return lists if keep_lists else None, scores, tails, self._tied(mixed, lists, rows)

    def lists_of(self, rows: Array, depth: int) -> tuple[NeighborLists, Array]:
        """The rows' lists, and the lengths up to which the tie rule can use them."""
        lists = self.neighbors.search(rows, depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties or self.tie_order != 0)
        if self.losses is not None:
            from ._tie_order import order_ties_by_score

            lists = order_ties_by_score(lists, lengths, rows, self.labels, self.losses, self.tie_order)
        return lists, lengths

    def scores(self, lists: NeighborLists, lengths: Array, rows: Array) -> Array:
        """Scores (n_kinds, n_rows), NaN if a sample is never tested."""
        return self._scores_and_tails(lists, lengths, rows, self._mixed(lists, lengths))[0]

    def scores_and_tails(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[Array, Array]:
        """`scores` and `tails`."""
        mixed = lengths if self.joint is None else self._mixed(lists, lengths)
        return self._scores_and_tails(lists, lengths, rows, mixed)

    def tails(self, lists: NeighborLists, lengths: Array, rows: Array) -> Array:
        """The share of every score that the lists leave undecided, shape (n_kinds, n_rows)."""
        return np.array([kind.tails(lists, lengths, rows, self.labels) for kind in self.kinds])

    def _scores_and_tails(
        self, lists: NeighborLists, lengths: Array, rows: Array, mixed: Array
    ) -> tuple[Array, Array]:
        """Scores and tails; the joint kernel gets the rows without mixed groups, if ties are averaged."""
        if self.joint is None:
            return self._by_kind(lists, lengths, rows), self.tails(lists, lengths, rows)
        at = np.flatnonzero(mixed < 0) if self.average_ties else np.arange(len(rows))
        some = lists if len(at) == len(rows) else lists.cut(at, lists.items.shape[1])
        scores, tails = np.empty((2, len(self.kinds), len(rows)))
        found, beyond = self.joint(some, lengths[at], rows[at], self.labels, self.average_ties)
        for found_one, beyond_one, kind in zip(found, beyond, self.kinds, strict=True):
            kind.leave_out_untested(found_one, beyond_one, rows[at], self.labels)
        scores[:, at], tails[:, at] = found, beyond
        left = np.delete(np.arange(len(rows)), at)
        if len(left):
            self._compile_kinds()
            rest = lists.cut(left, lists.items.shape[1])
            scores[:, left] = self._by_kind(rest, lengths[left], rows[left])
            tails[:, left] = self.tails(rest, lengths[left], rows[left])
        return scores, tails

    def _by_kind(self, lists: NeighborLists, lengths: Array, rows: Array) -> Array:
        distances = None
        if any(kind.sees_distances for kind in self.kinds):
            distances = self.neighbors.distances_of(lists)
        return np.array(
            [
                kind.scores(lists, lengths, rows, self.labels, self.average_ties, distances)
                for kind in self.kinds
            ]
        )

    def _mixed(self, lists: NeighborLists, lengths: Array) -> Array:
        """The start of the first tied group of different labels in every row, -1 for none."""
        mixed = np.empty(len(lengths), np.int64)
        first_mixed_groups(lists.items, lists.values, lengths, self.labels, mixed)
        return mixed

    def _tied(self, mixed: Array, lists: NeighborLists, rows: Array) -> Array:
        tied = np.zeros(len(rows), bool)
        for kind in self.kinds:
            tied |= kind.ties_that_matter(mixed, lists, rows, self.labels, self.tol)
        return tied


def float_scores(
    given: Computation,
    *,
    keep: bool = False,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    kernel: Kernel | None = None,
) -> Scores:
    """A_x of every sample in floating point, from lists that are deepened until the tolerance holds.

    The variant's kernels are used unless another `kernel` is given.

    Raises
    ------
    InexactError
        At the first sample that the kernel leaves out and that may not be sampled.
    """
    problem, neighbors, tol = given.problem, given.neighbors, given.tol
    n_jobs, tie_order = given.n_jobs, given.tie_order
    complete = kernel is None and needs_all(given)
    scorer: Any
    if isinstance(problem.design, LeaveGroupsOut):
        scorer = group_scorer(problem, neighbors, tol, kernel=kernel)
    else:
        scorer = block_scorer(problem, neighbors, tol, tie_order, kernel)
    depth = first_depth(
        problem, neighbors, tol, scorer.fixed_tails if isinstance(scorer, BlockScorer) else None
    )
    parts = neighbors.parts(executor)
    here = scorer
    if executor is not None:
        scorer = replace(scorer, neighbors=neighbors.for_workers(depth, executor))
        if isinstance(scorer, BlockScorer):
            scorer = replace(scorer, kinds=tuple(kind.up_to(neighbors.max_depth) for kind in scorer.kinds))
    n_kinds, n_items = len(problem.training_sets), neighbors.n_items
    scores = np.empty((n_kinds, n_items))
    tails = np.empty((n_kinds, n_items))
    tied = np.zeros(n_items, bool)
    same = None if tie_order else alike_samples(problem, neighbors)
    deepest = depth
    cache = neighbors.room(depth) if keep else None
    # Lists that are kept must be those of all samples.
    rows = np.arange(n_items) if same is None or cache is not None else np.unique(same)
    with WorkerPool(scorer, n_jobs=n_jobs, executor=executor, progress=progress, parts=parts) as workers:
        announced = tie_order != 0 or kernel is not None or not isinstance(scorer, BlockScorer)
        tried = 0  # number of rows of the last forecast
        while len(rows):
            # In a later round a tied group may go on to the end of the list.
            reach = depth if depth == deepest else neighbors.max_depth
            deepest = depth
            hard = rows if same is None else rows[same[rows] == rows]
            if not announced and len(hard) != tried and may_be_long(problem, reach, len(hard)):
                tried = len(hard)
                announced = announce_scores(here, problem, hard, depth, tol, workers.n_workers)
            if hardest(problem, depth) > HARD:
                workers.stand_apart()
            neighbors.prepare(depth)
            if executor is None and len(rows) == n_items:
                neighbors.search_all(depth, n_jobs=n_jobs, progress=progress)
            near = neighbors.visiting_order(rows, depth)
            for block, (lists, *found) in workers.map(
                near, neighbors.rows_at_once(depth), depth, cache is not None
            ):
                scores[:, block], tails[:, block], tied[block] = found
                if complete:
                    last = (tails[:, block] <= tol / 2) | (depth >= neighbors.max_depth)
                    check_complete(given, block, np.where(last, found[0], 0.0))
                if cache is not None and lists is not None:
                    cache.put(block, lists)
            if cache is not None:
                neighbors.store(cache)
                cache = None
            if depth >= neighbors.max_depth:
                break
            rows = rows[(tails[:, rows] > tol / 2).any(axis=0)]
            if same is not None:
                rows = rows[same[rows] == rows]
            depth = min(2 * depth, neighbors.max_depth)
    if same is not None:
        scores, tails, tied = scores[:, same], tails[:, same], tied[same]
    return Scores(scores, tails, tied, deepest)


def block_scorer(
    problem: ScoringProblem, neighbors: Neighbors, tol: float, tie_order: int, kernel: Kernel | None
) -> BlockScorer:
    """The scorer of a problem, compiled; with another kernel than the variant's, if given."""
    tasks = [problem.task(kind) for kind in problem.training_sets]
    kernels, sees_distances = (
        kernels_of(problem.variant, tasks) if kernel is None else ([kernel] * len(tasks), False)
    )
    constraints = [problem.constraints(task) for task in tasks]
    light: Sequence[Kernel | None] = [None] * len(tasks)
    joint = None
    if kernel is None and not sees_distances:
        light = light_kernels(problem.variant, tasks, constraints)
        joint = joint_scorer(problem, tasks)
    if sees_distances:
        for each in kernels:
            compile_distance_kernel(each, f"variant {problem.variant.name!r}")
    elif joint is None:
        compile_first(light, kernels, f"variant {problem.variant.name!r}")
    nearest = [problem.nearest(kind) for kind in problem.training_sets]
    tails = [
        None if task.stratified else fixed_tail(task.n_available, task.train_size, k)
        for task, k in zip(tasks, nearest, strict=True)
    ]
    untested, seen = problem.never_tested(), [sees_distances] * len(tasks)
    parts = zip(kernels, light, constraints, nearest, tails, untested, seen, strict=True)
    scorer = BlockScorer(
        neighbors,
        problem.kernel_labels(),
        tuple(KindScorer(*each) for each in parts),
        problem.ties == "random" and not tie_order,
        tol,
        tie_order,
        problem.single_neighbor_scores() if tie_order else None,
        joint,
    )
    scorer.compile()
    return scorer
