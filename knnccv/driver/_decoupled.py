"""Decoupled sampling: A_x of every sample from training sets that are drawn for this sample alone.

The score is a mean of the A_x, and an expectation is linear. So the training sets of different samples may
be independent of each other, and a draw need not go farther along the neighbor list than to the K-th
training sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import ExecutorLike, WorkerPool, stop_flag
from .._typing import Array, Kernel
from ..designs import TrainingSets
from ..kernel import (
    Constraints,
    Labels,
    Tables,
    Task,
    compile_decide,
    compile_driver,
    compile_kernel,
    constraints_for,
)
from ..neighbors import Neighbors
from ..sampling import fixed_tail
from ._depth import first_depth
from ._draws import SCORE_DRAWS, decide_unused, score_draws, score_kernel_unused
from ._kind_scorer import KindScorer
from ._label_ties import FIRST_MIXED_GROUPS, first_mixed_groups
from ._problem import ScoringProblem
from ._rows import usable_lengths
from ._sampling import DrawnScores, Sampling, replicate_sizes

RARE = 2e-5
"""The first lists are so deep that half this share of the draws goes on beyond them."""


@dataclass(frozen=True)
class DrawnKind:
    """One kind of training sets, and how they are drawn and scored."""

    decide: Kernel | None
    kernel: Kernel | None
    sets: Constraints
    constraints: Constraints
    sizes: Array
    ties: KindScorer
    number: int

    def compile(self) -> None:
        """Compile the functions that score a training set."""
        compile_decide(self.decide or decide_unused, "the rule")
        compile_kernel(self.kernel or score_kernel_unused, "the rule")


@dataclass(frozen=True)
class DrawScorer:
    """Everything a worker needs to estimate the scores of a block of samples."""

    neighbors: Neighbors
    labels: Labels
    kinds: tuple[DrawnKind, ...]
    average_ties: bool
    seed: int
    name: str

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""
        for kind in self.kinds:
            kind.compile()
        compile_driver(score_draws, SCORE_DRAWS)
        compile_driver(first_mixed_groups, FIRST_MIXED_GROUPS)

    def __call__(self, rows: Array, depth: int) -> tuple[Array, Array, Array, Array]:
        """Return scores, variances and shares beyond the lists (n_kinds, n_rows), and a mask of ties."""
        lists = self.neighbors.search(rows, depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        scores, variances, missed = np.zeros((3, len(self.kinds), len(rows)))
        mixed = np.empty(len(rows), np.int64)
        first_mixed_groups(lists.items, lists.values, lengths, self.labels, mixed)
        tied = np.zeros(len(rows), bool)
        distances = lists.values
        if self.kinds[0].decide is not None:
            distances = self.neighbors.distances_of(lists)
        for j, kind in enumerate(self.kinds):
            with np.errstate(over="ignore"):  # without compilation, random numbers overflow
                score_draws(
                    kind.decide or decide_unused,
                    kind.kernel or score_kernel_unused,
                    kind.decide is not None,
                    lists.items,
                    lists.values,
                    distances,
                    lengths,
                    rows,
                    self.average_ties,
                    self.labels,
                    kind.sets,
                    kind.constraints,
                    kind.sizes,
                    np.uint64(self.seed),
                    kind.number,
                    scores[j],
                    variances[j],
                    missed[j],
                    stop_flag(),
                )
            kind.ties.leave_out_untested(scores[j], missed[j], rows, self.labels)
            variances[j][np.isnan(scores[j]) & kind.ties.untested[self.labels.classes[rows]]] = 0.0
            tied |= kind.ties.ties_that_matter(mixed, lists, rows, self.labels, RARE)
        return scores, variances, missed, tied


def sampled_scores(
    problem: ScoringProblem,
    neighbors: Neighbors,
    sampling: Sampling,
    rows: Array,
    *,
    n_jobs: int | None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
) -> DrawnScores:
    """Estimates of A_x for some samples; lists are deepened where draws go on beyond them."""
    scorer = draw_scorer(problem, neighbors, sampling)
    tails = tuple(kind.ties.fixed_tail for kind in scorer.kinds)
    depth = deepest = first_depth(problem, neighbors, RARE, tails)
    n_kinds, n_items = len(problem.training_sets), neighbors.n_items
    scores, variances, missed = np.zeros((3, n_kinds, n_items))
    tied = np.zeros(n_items, bool)
    parts = neighbors.parts(executor)
    if executor is not None:
        scorer = replace(scorer, neighbors=neighbors.for_workers(depth, executor))
    with WorkerPool(scorer, n_jobs=n_jobs, executor=executor, progress=progress, parts=parts) as workers:
        while len(rows):
            deepest = depth
            neighbors.prepare(depth)
            if executor is None and len(rows) == n_items:
                neighbors.search_all(depth, n_jobs=n_jobs, progress=progress)
            near = neighbors.visiting_order(rows, depth)
            for block, found in workers.map(near, neighbors.rows_at_once(depth), depth):
                scores[:, block], variances[:, block], missed[:, block], tied[block] = found
            if depth >= neighbors.max_depth:
                break
            rows = rows[(missed[:, rows] > 0).any(axis=0)]
            depth = min(2 * depth, neighbors.max_depth)
    n_draws = sum(int(kind.sizes.sum()) for kind in scorer.kinds)
    return DrawnScores(scores, variances, missed, tied, deepest, n_draws)


def draw_scorer(problem: ScoringProblem, neighbors: Neighbors, sampling: Sampling) -> DrawScorer:
    """The scorer of a problem, compiled."""
    kinds = []
    for number, kind in enumerate(problem.training_sets):
        task = problem.task(kind)
        nearest = problem.nearest(kind)
        sets = constraints_for(task, Tables(), n_nearest=nearest)
        decide, kernel, known = decision_of(problem, kind)
        tail = None if task.stratified else fixed_tail(task.n_available, task.train_size, nearest)
        ties = KindScorer(decide_unused, None, sets, nearest, tail, problem.never_tested()[number])
        sizes = replicate_sizes(sampling.n_draws, kind.probability)
        kinds.append(DrawnKind(decide, kernel, sets, problem.constraints(known), sizes, ties, number))
    scorer = DrawScorer(
        neighbors,
        problem.kernel_labels(),
        tuple(kinds),
        problem.ties == "random",
        sampling.seed,
        problem.variant.name,
    )
    scorer.compile()
    return scorer


def decision_of(problem: ScoringProblem, kind: TrainingSets) -> tuple[Kernel | None, Kernel | None, Task]:
    """The function that scores one training set, or the kernel that does; and the task of such a set.

    Without `decide` a kernel serves that is given the nearest samples of a known training set.
    """
    variant = problem.variant
    owner = f"variant {variant.name!r}"
    n_classes = len(problem.labels.classes)
    decide = variant.decision()
    if decide is not None:
        known = Task(
            kind.n_train,
            kind.n_train,
            kind.stratified,
            held_out=0,
            n_classes=n_classes,
            extra=kind.extra,
            n_extra=kind.n_extra,
        )
        return compile_decide(decide, owner), None, known
    known = problem.known_training_set_task(kind.most_train)
    if type(variant).fixed is None:
        extra = [int(stratum in kind.extra) for stratum in range(len(kind.n_train))]
        most = tuple(n + more for n, more in zip(kind.n_train, extra, strict=True))
        known = Task(most, most, kind.stratified, held_out=0, n_classes=n_classes)
    return None, compile_kernel(variant.kernel_for(known), owner), known
