"""The kernels of a rule that score tested samples without each of their listed samples."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..kernel import (
    Constraints,
    Labels,
    Task,
    compile_driver,
    compile_kernel,
    compile_removal_kernel,
    constraints_for,
)
from ..neighbors import NeighborLists
from ..sampling import STRATIFIED_TAILS, fixed_tail, stratified_tails
from ._influence_rows import (
    CHANGES_AT_ONCE,
    CHANGES_ONE_BY_ONE,
    WITHOUT_LAST_OF,
    changes_at_once,
    changes_one_by_one,
    without_last_of,
)
from ._light_kernels import belong_together, first_kernel
from ._problem import ScoringProblem


@functools.cache
def _compiled(kernel: Kernel) -> Kernel:
    """The kernel, compiled and checked once."""
    return compile_kernel(kernel, "a removal")


@dataclass(frozen=True)
class RemovalKernels:
    """The kernels of a rule for one kind of training sets, with and without a listed sample.

    Attributes
    ----------
    kernel, light, constraints
        The kernels of the rule for these training sets, as in `KindScorer`.
    at_once : (jitted function, Constraints), or None
        `Variant.removal_kernel`.
    removed : int
        The class of the missing sample; -1 for any class.
    n_nearest : int
        The number of nearest training samples that decide.
    fixed_tail : ndarray or None
        As in `KindScorer`.
    """

    kernel: Kernel
    light: Kernel | None
    constraints: Constraints
    at_once: tuple[Kernel, Constraints] | None
    removed: int
    n_nearest: int
    fixed_tail: Array | None

    def compile(self) -> None:
        """Compile what is called first."""
        if self.at_once is not None:
            compile_removal_kernel(self.at_once[0])
        else:
            _compiled(first_kernel(self.light, self.kernel))

    def in_turn(self) -> Iterator[Kernel]:
        """The light kernel if there is one, and the full one for what it does not serve, compiled."""
        first = first_kernel(self.light, self.kernel)
        yield _compiled(first)
        if first is not self.kernel:
            yield _compiled(self.kernel)

    def first_depth(self, tol: float) -> int:
        """One more than certifies training sets of one size, since a listed sample is left out."""
        tail = self.fixed_tail
        if tail is None:
            counts, n_train = self.constraints.counts, self.constraints.n_train
            tail = fixed_tail(int(counts.sum()) - 1, int(n_train.sum()), self.n_nearest)
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
        for kernel in self.in_turn():
            fill(kernel, *given, self.constraints, self.constraints, self.removed, *sums)
            if served.all():
                return

    def tails(
        self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, *, shorter: bool
    ) -> Array:
        """The probability that a list does not decide, or, if `shorter`, without one of its samples."""
        if self.fixed_tail is not None:
            known: Array = self.fixed_tail[np.maximum(lengths - shorter, 0)]
            return known
        items = lists.items
        if shorter:
            items, lengths = np.empty_like(items), lengths.copy()
            drop = compile_driver(without_last_of, WITHOUT_LAST_OF)
            drop(lists.items, lengths, labels, self.removed, items)
        tails = np.empty(len(rows))
        fill = compile_driver(stratified_tails, STRATIFIED_TAILS)
        fill(items, lengths, rows, labels, self.constraints, self.n_nearest, tails)
        return tails


def removal_kernels(
    problem: ScoringProblem, task: Task, nearest: int, removed: int | None
) -> RemovalKernels:
    """The kernels for training sets that lack a sample of the class `removed`: -1 any, None no sample."""
    variant = problem.variant
    constraints = problem.constraints(task)
    at_once = light = None
    if belong_together(type(variant), "light_kernel"):
        light = variant.light_kernel(task, constraints)
    if removed is None:
        removed = -1
    elif belong_together(type(variant), "removal_kernel", "tables", "n_nearest"):
        special = variant.removal_kernel(task, removed, **problem.parameters)
        if special is not None:
            at_once = special[0], constraints_for(task, special[1], n_nearest=nearest)
    tail = None if task.stratified else fixed_tail(task.n_available, task.train_size, nearest)
    return RemovalKernels(variant.kernel_for(task), light, constraints, at_once, removed, nearest, tail)
