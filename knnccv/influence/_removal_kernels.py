"""The kernels of a rule that score tested samples without each of their listed samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..driver import Kind, Part, ScoringProblem, kind_of, part_of
from ..kernel import (
    Constraints,
    Labels,
    Tables,
    Task,
    compile_driver,
    compile_removal_kernel,
    constraints_for,
    removals_of,
)
from ..neighbors import NeighborLists
from ..sampling import fixed_tail
from ._influence_rows import (
    CHANGES_AT_ONCE,
    CHANGES_ONE_BY_ONE,
    WITHOUT_LAST_OF,
    changes_at_once,
    changes_one_by_one,
    without_last_of,
)


@dataclass(frozen=True)
class RemovalKernels:
    """The kernels of a rule for one kind of training sets, with and without a listed sample.

    Attributes
    ----------
    part : Part
        The kernels of the rule for these training sets.
    kind : Kind
        How far lists matter.
    at_once : (jitted function, Constraints), or None
        The kernel of `Variant.removals`.
    removed : int
        The class of the missing sample; -1 for any class.
    """

    part: Part
    kind: Kind
    at_once: tuple[Kernel, Constraints] | None
    removed: int

    @property
    def constraints(self) -> Constraints:
        """The training sets."""
        return self.part.constraints

    def compile(self) -> None:
        """Compile what is called first."""
        if self.at_once is not None:
            compile_removal_kernel(self.at_once[0])
        else:
            self.part.compile()

    def first_depth(self, tol: float) -> int:
        """One more than certifies training sets of one size, since a listed sample is left out."""
        tail = self.kind.fixed_tail
        if tail is None:
            counts, n_train = self.constraints.counts, self.constraints.n_train
            tail = fixed_tail(int(counts.sum()) - 1, int(n_train.sum()), self.kind.n_nearest)
        return 1 + int(np.argmax(tail <= tol / 2))

    def fill_changes(
        self,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
        owners: Array,
        first: int,
        weights: Array,
        changes: Array,
        bases: Array,
        served: Array,
    ) -> None:
        """Add the changes of the rows that are not yet `served`, and set their bases.

        `owners`, `first`, `weights`, `changes`, `bases` and `served` are those of `changes_at_once`.
        """
        given = (lists.items, lists.values, lengths, rows, average_ties, labels)
        sums = (owners, first, weights, changes, bases, served, stop_flag())
        if self.at_once is not None:
            fill = compile_driver(changes_at_once, CHANGES_AT_ONCE)
            kernel, constraints = self.at_once
            fill(compile_removal_kernel(kernel), *given, constraints, *sums)
            if served.all():
                return
        fill = compile_driver(changes_one_by_one, CHANGES_ONE_BY_ONE)
        for step in self.part.steps:
            fill(step.compiled(), *given, step.constraints, step.constraints, self.removed, *sums)
            if served.all():
                return

    def tails(
        self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, *, shorter: bool
    ) -> Array:
        """The probability that a list does not decide, or, if `shorter`, without one of its samples."""
        items = lists.items
        if not shorter:
            return self.kind.tails(lengths, items, rows, labels)
        if self.kind.fixed_tail is not None:
            return self.kind.tails(np.maximum(lengths - 1, 0), items, rows, labels)
        items, lengths = np.empty_like(items), lengths.copy()
        drop = compile_driver(without_last_of, WITHOUT_LAST_OF)
        drop(lists.items, lengths, labels, self.removed, items)
        return self.kind.tails(lengths, items, rows, labels)


def removal_kernels(problem: ScoringProblem, task: Task, removed: int | None) -> RemovalKernels:
    """The kernels for training sets that lack a sample of the class `removed`: -1 any, None no sample."""
    at_once = None
    if removed is not None:
        link = removals_of(problem.variant, [task], [1.0], removed, problem.parameters)
        if link is not None:
            nearest = problem.variant.n_nearest(**problem.parameters)
            at_once = link.kernel, constraints_for(task, link.tables or Tables(), n_nearest=nearest)
    part = part_of(problem, task, joint=False)
    untested = np.zeros(len(problem.labels.classes), bool)
    kind = kind_of(problem, task, part.constraints, untested)
    return RemovalKernels(part, kind, at_once, -1 if removed is None else removed)
