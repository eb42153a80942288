"""The kernels of a rule that score tested samples without each of their listed samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..driver import Block, Part, Reach, Rows, ScoringProblem, Step, part_of, reach_of, steps_of
from ..kernel import (
    JOINT,
    LANES,
    REMOVAL,
    Constraints,
    Labels,
    Task,
    chain_of,
    compile_driver,
    removals_of,
)
from ..neighbors import NeighborLists
from ..sampling import fixed_tail
from ._reduced import ReducedProblem
from ._removal_rows import PASSES, WITHOUT_LAST_OF, Missing, Sets, Sums, without_last_of


@dataclass(frozen=True)
class Removal:
    """Some kinds of training sets of N - 1 samples, and the kernels that score lists for all of them.

    Attributes
    ----------
    kinds : slice
        The places of the kinds.
    removed : int
        The class of the missing sample; -1 for any class.
    first : int
        The first of the reduced problems that have these kinds.
    weights : ndarray of shape (n_kinds, n_problems, n_classes)
        The weights of a tested sample; one row for kinds of which the kernel scores the mean.
    steps : tuple of Step
        The kernels in the order in which they are tried; some for several kinds leave samples unserved.
    whole : Constraints, optional
        The training sets for lists with all their samples, if others than those of the steps.
    """

    kinds: slice
    removed: int
    first: int
    weights: Array
    steps: tuple[Step, ...]
    whole: Constraints | None = None

    def compile(self) -> None:
        """Compile what is called first."""
        _both_compiled(self.steps[0])

    def add(self, block: Block, owners: Array, changes: Array, bases: Array, served: Array) -> None:
        """Add the changes of the rows that are not yet `served`, and set their bases.

        `owners` (n_items,) are the reduced problems of the samples; the others are those of `Sums`.
        """
        lists, labels = block.lists, block.labels
        rows = Rows(lists.items, lists.values, block.lengths, block.rows, block.average_ties)
        weights = np.ascontiguousarray(self.weights.T)
        missing = Missing(owners, self.first, weights)
        served |= weights.max(axis=(1, 2))[labels.classes[block.rows]] == 0
        for step in self.steps:
            if served.all():
                return
            whole = self.whole or step.constraints
            sets = Sets(step.constraints, whole, self.removed, missing)
            given = step.constraints if step.form == REMOVAL else sets
            add_changes, kernel = _both_compiled(step)
            add_changes(kernel, rows, labels, given, missing, Sums(changes, bases, served), stop_flag())


def _both_compiled(step: Step) -> tuple[Kernel, Kernel]:
    """The pass of a step, and its kernel."""
    return compile_driver(*PASSES[step.form]), step.compiled()


@dataclass(frozen=True)
class RemovalKernels:
    """The kernels of a rule for one kind of training sets, with and without a listed sample.

    Attributes
    ----------
    task : Task
        The training sets.
    part : Part
        The kernels of the rule for them.
    reach : Reach
        How far lists matter.
    removed : int
        The class of the missing sample; -1 for any class.
    steps : tuple of Step
        The kernel of `Variant.removals`, if there is one, and those of the rule.
    """

    task: Task
    part: Part
    reach: Reach
    removed: int
    steps: tuple[Step, ...]

    def first_depth(self, tol: float) -> int:
        """One more than certifies training sets of one size, since a listed sample is left out."""
        tail = self.reach.fixed_tail
        if tail is None:
            tail = fixed_tail(sum(self.task.counts) - 1, sum(self.task.n_train), self.reach.n_nearest)
        return 1 + int(np.argmax(tail <= tol / 2))

    def removal(self, at: int, first: int, weights: Array) -> Removal:
        """The removal of this kind, at the place `at`; the weights are (n_problems, n_classes)."""
        return Removal(slice(at, at + 1), self.removed, first, weights[None], self.steps)

    def tails(
        self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, *, shorter: bool
    ) -> Array:
        """The probability that a list does not decide, or, if `shorter`, without one of its samples."""
        items = lists.items
        if not shorter:
            return self.reach.tails(lengths, items, rows, labels)
        if self.reach.fixed_tail is not None:
            return self.reach.tails(np.maximum(lengths - 1, 0), items, rows, labels)
        items, lengths = np.empty_like(items), lengths.copy()
        drop = compile_driver(without_last_of, WITHOUT_LAST_OF)
        drop(lists.items, lengths, labels, self.removed, items)
        return self.reach.tails(lengths, items, rows, labels)


def removal_kernels(problem: ScoringProblem, task: Task, removed: int | None) -> RemovalKernels:
    """The kernels for training sets that lack a sample of the class `removed`: -1 any, None no sample."""
    part = part_of(problem, task, joint=False)
    steps = part.steps
    link = None
    if removed is not None:
        link = removals_of(problem.variant, [task], [1.0], removed, problem.parameters)
    if link is not None:
        steps = (*steps_of(problem, task, [link._replace(form=REMOVAL)]), *steps)
    untested = np.zeros(len(problem.labels.classes), bool)
    reach = reach_of(problem, task, part.constraints, untested)
    return RemovalKernels(task, part, reach, -1 if removed is None else removed, steps)


@dataclass(frozen=True)
class ReducedKind:
    """One kind of training sets of reduced problems from `first` on.

    ``weights`` (n_problems, n_classes) are those of a tested sample.
    """

    kernels: RemovalKernels
    first: int
    weights: Array


def reduced_kinds(problem: ScoringProblem, reduced: list[ReducedProblem]) -> list[ReducedKind]:
    """The kinds of training sets of all reduced problems; stratified ones for each problem."""
    found: dict[object, ReducedKind] = {}
    for g, one in enumerate(reduced):
        for kind, row in zip(one.training_sets, one.item_weights, strict=True):
            first, n_problems = (g, 1) if kind.stratified else (0, len(reduced))
            key = (g if kind.stratified else -1, kind.n_train, kind.counts, kind.extra, kind.n_extra)
            if key not in found:
                removed = one.removed if kind.stratified else -1
                kernels = removal_kernels(problem, problem.task(kind), removed)
                found[key] = ReducedKind(kernels, first, np.zeros((n_problems, len(row))))
            found[key].weights[g - first] += [float(weight) for weight in row]
    return list(found.values())


def removals(problem: ScoringProblem, kinds: list[ReducedKind]) -> list[Removal]:
    """The removals of all kinds: of several kinds together where a kernel serves them, then of each."""
    alone = [kind.kernels.removal(at, kind.first, kind.weights) for at, kind in enumerate(kinds)]
    at_once = any(removal.steps[0].form == REMOVAL for removal in alone)
    together: list[Removal] = []
    begin = 0
    for (stratified, first), same in groupby(
        kinds, lambda kind: (kind.kernels.task.stratified, kind.first)
    ):
        of_problem = list(same)
        size = LANES if stratified else len(of_problem)
        for start in range(0, len(of_problem), size):
            some = of_problem[start : start + size]
            if len(some) > 1 and stratified != at_once:
                found = _joint(problem, some) if stratified else _mean(problem, some)
                at = slice(begin + start, begin + start + len(some))
                together += [
                    Removal(at, some[0].kernels.removed, first, weights, steps) for weights, steps in found
                ]
        begin += len(of_problem)
    return together + alone


def _joint(problem: ScoringProblem, kinds: Sequence[ReducedKind]) -> list[tuple[Array, tuple[Step, ...]]]:
    """The weights and the joint kernel of kinds of one reduced problem, if there is one."""
    tasks = [kind.kernels.task for kind in kinds]
    links = [link for link in chain_of(problem.variant, tasks, problem.parameters) if link.form == JOINT]
    weights = np.array([kind.weights for kind in kinds])
    return [(weights, steps_of(problem, tasks[0], links[:1]))] if links else []


def _mean(problem: ScoringProblem, kinds: Sequence[ReducedKind]) -> list[tuple[Array, tuple[Step, ...]]]:
    """The weights and the removal kernel for the mean over sizes of the training set, if there is one."""
    tasks, weights = [kind.kernels.task for kind in kinds], [kind.weights for kind in kinds]
    total = np.sum(weights, axis=0)
    shares = [float(each.sum() / total.sum()) for each in weights]
    parts = zip(weights, shares, strict=True)
    uneven = any(np.abs(each - share * total).max() > 1e-15 * total.max() for each, share in parts)
    if uneven or any(task.counts != tasks[0].counts for task in tasks):
        return []
    link = removals_of(problem.variant, tasks, shares, -1, problem.parameters)
    if link is None:
        return []
    return [(total[None], steps_of(problem, tasks[0], [link._replace(form=REMOVAL)]))]
