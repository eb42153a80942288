"""The training sets that are drawn from a pool of samples, and the kernels that score samples over them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._labels import EncodedLabels
from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets, TrainingSets
from ..driver import (
    CHANGES_AT_ONCE,
    CHANGES_ONE_BY_ONE,
    SCORE_ROWS,
    WITHOUT_LAST_OF,
    ScoringProblem,
    belong_together,
    changes_at_once,
    changes_one_by_one,
    first_kernel,
    score_rows,
    without_last_of,
)
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


@functools.cache
def _compiled(kernel: Kernel) -> Kernel:
    """The kernel, compiled and checked once."""
    return compile_kernel(kernel, "condense")


def kinds_within(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...]:
    """The kinds of training sets that the design draws from a pool with these numbers of samples per class.

    Raises
    ------
    ValueError
        If it cannot: every class, or the pool, must have a sample that is not drawn.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    kinds = problem.design.training_sets(EncodedLabels(codes, problem.labels.classes, counts))
    for kind in kinds:
        if isinstance(kind, GroupTrainingSets):
            msg = f"condense draws single samples from the pool, got cv={problem.design!r}"
            raise ValueError(msg)
        for stratum, (count, n_train) in enumerate(zip(kind.counts, kind.n_train, strict=True)):
            most = n_train + (kind.n_extra > 0 and stratum in kind.extra)
            if count and most >= count:
                name = problem.labels.classes.tolist()[stratum]
                whole = f"class {name!r}" if kind.stratified else "the pool"
                msg = (
                    f"{problem.design!r} draws all {count} samples of {whole}; each of them is tested with "
                    "training sets of the others, so at least one must be left"
                )
                raise ValueError(msg)
        for held_out in (0, 1):
            problem.variant.check(_task(problem, kind, held_out), **problem.parameters)
    return kinds


def try_kinds(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...] | None:
    """`kinds_within`, or None if the design cannot draw training sets from such a pool."""
    try:
        return kinds_within(problem, counts)
    except ValueError:
        return None


def _task(problem: ScoringProblem, kind: TrainingSets, held_out: int) -> Task:
    return Task(
        kind.n_train,
        kind.counts,
        kind.stratified,
        held_out=held_out,
        n_classes=len(problem.labels.classes),
        extra=kind.extra,
        n_extra=kind.n_extra,
    )


@dataclass(frozen=True)
class Law:
    """One kind of training sets drawn from a pool, for tested samples in the pool, or outside it.

    Attributes
    ----------
    probability : float
        The share of this kind.
    kernel, light, constraints
        The kernels of the rule for these training sets.
    at_once : (jitted function, Constraints), or None
        `Variant.removal_kernel`, if a sample of the pool is missing.
    removed : int
        The class of the missing sample; -1 for any class.
    n_nearest : int
        The number of nearest training samples that decide.
    fixed_tail : ndarray or None
        At m the probability that more than m candidates matter; None for stratified training sets.
    """

    probability: float
    kernel: Kernel
    light: Kernel | None
    constraints: Constraints
    at_once: tuple[Kernel, Constraints] | None
    removed: int
    n_nearest: int
    fixed_tail: Array | None

    def scores(self, lists: NeighborLists, rows: Array, labels: Labels, average_ties: bool) -> Array:
        """Expected score of every row, shape (n_rows,)."""
        scores = np.zeros(len(rows))
        left = np.arange(len(rows))
        for kernel in self._kernels():
            part = lists if len(left) == len(rows) else lists.cut(left, lists.items.shape[1])
            found = np.zeros(len(left))
            compile_driver(score_rows, SCORE_ROWS)(
                _compiled(kernel),
                part.items,
                part.values,
                part.lengths,
                rows[left],
                average_ties,
                labels,
                self.constraints,
                found,
                stop_flag(),
            )
            scores[left] = found
            left = left[np.isposinf(found)]
            if not len(left):
                break
        return scores

    def changes(
        self, lists: NeighborLists, rows: Array, labels: Labels, average_ties: bool, owners: Array
    ) -> tuple[Array, Array]:
        """The score of every row without a candidate beyond its list, and its change without a listed one.

        `owners` (n_items,) are 0 for the samples whose removal counts. Shapes (n_rows,), (n_rows, depth).
        """
        changes, bases = np.zeros(lists.items.shape), np.zeros(len(rows))
        weights = np.ones((1, self.constraints.n_classes))
        served = np.zeros(len(rows), np.int64)
        given = (lists.items, lists.values, lists.lengths, rows, average_ties, labels)
        sums = (owners, 0, weights, changes, bases, served, stop_flag())
        if self.at_once is not None:
            kernel, constraints = self.at_once
            fill = compile_driver(changes_at_once, CHANGES_AT_ONCE)
            fill(compile_removal_kernel(kernel), *given, constraints, *sums)
        for kernel in self._kernels():
            if served.all():
                break
            fill = compile_driver(changes_one_by_one, CHANGES_ONE_BY_ONE)
            fill(_compiled(kernel), *given, self.constraints, self.constraints, self.removed, *sums)
        return bases, changes

    def _kernels(self) -> Iterator[Kernel]:
        first = first_kernel(self.light, self.kernel)
        yield first
        if first is not self.kernel:
            yield self.kernel

    def tails(self, lists: NeighborLists, rows: Array, labels: Labels, shorter: bool) -> Array:
        """The probability that the listed candidates do not decide, shape (n_rows,).

        With `shorter`, that they do not if one of them is removed.
        """
        if self.fixed_tail is not None:
            known: Array = self.fixed_tail[np.maximum(lists.lengths - shorter, 0)]
            return known
        items, lengths = lists.items, lists.lengths
        if shorter:
            items, lengths = np.zeros_like(items), lengths.copy()
            drop = compile_driver(without_last_of, WITHOUT_LAST_OF)
            drop(lists.items, lengths, labels, self.removed, items)
        tails = np.empty(len(rows))
        fill = compile_driver(stratified_tails, STRATIFIED_TAILS)
        fill(items, lengths, rows, labels, self.constraints, self.n_nearest, tails)
        return tails


def laws_of(
    problem: ScoringProblem, kinds: tuple[TrainingSets, ...], held_out: int, removed: int | None = None
) -> tuple[Law, ...]:
    """The laws of all kinds, for a tested sample in the pool (`held_out` 1) or not (0).

    `removed` is the class of a sample that is missing in the counts of the kinds, None if none is.
    """
    variant, laws = problem.variant, []
    for kind in kinds:
        task = _task(problem, kind, held_out)
        constraints = problem.constraints(task)
        at_once = light = None
        if belong_together(type(variant), "light_kernel"):
            light = variant.light_kernel(task, constraints)
        missing = -1 if removed is None or not kind.stratified else removed
        if removed is not None and belong_together(type(variant), "removal_kernel", "tables", "n_nearest"):
            special: Any = variant.removal_kernel(task, missing, **problem.parameters)
            if special is not None:
                at_once = special[0], constraints_for(task, special[1], n_nearest=problem.nearest(kind))
        nearest = problem.nearest(kind)
        tail = None if kind.stratified else fixed_tail(task.n_available, task.train_size, nearest)
        kernel = variant.kernel_for(task)
        laws.append(
            Law(float(kind.probability), kernel, light, constraints, at_once, missing, nearest, tail)
        )
    return tuple(laws)
