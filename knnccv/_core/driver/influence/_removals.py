"""What is left without a sample: problems of N - 1 samples, their training sets, and the kernels for them.

A kernel scores the list of a tested sample without each of its listed samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import cast

import numpy as np

from ...._base.labels import EncodedLabels, labels_of
from ...._base.parallel import stop_flag
from ...._base.typing import Array, Kernel
from ....designs import LeaveGroupsOut, TrainingSets
from ....kernel import (
    JOINT,
    LANES,
    REMOVAL,
    Constraints,
    Task,
    chain_of,
    compile_driver,
    removals_of,
)
from ....kernel.sampling import fixed_tail
from .._problem import (
    ScoringProblem,
    check_labels_of,
    check_tested,
    training_sets_of_pool,
    weights_of,
)
from .._rows import Block, Part, Step, part_of, steps_of
from .._scores import Reach, reach_of
from ._removal_rows import PASSES, Missing, Sets, Sums, without_last_of


@dataclass(frozen=True)
class ReducedProblem:
    """What is left of a problem without a sample; equal for all samples of a class but a few.

    Attributes
    ----------
    removed : int
        The class of the missing sample.
    training_sets : tuple of TrainingSets
        Those of the design for the other samples.
    item_weights : tuple of tuple of Fraction
        Weights (n_kinds, n_classes) of the other samples.
    """

    removed: int
    training_sets: tuple[TrainingSets, ...]
    item_weights: tuple[tuple[Fraction, ...], ...]


def reduced_problems(problem: ScoringProblem) -> tuple[list[ReducedProblem], Array]:
    """The different problems of N - 1 samples, and the index of that of every sample, int64 (n_items,).

    With a pool, samples of the pool are missing; the index of those tested, numbered before them, is -1.

    A design knows a class by its size, and by the order in which the classes first appear. So all samples
    of a class leave the same problem, except that its first one may leave another. A class keeps its code
    if its only sample is removed.

    Raises
    ------
    ValueError
        If the design or the rule is impossible without some sample, or the design leaves out several
        groups.
    """
    design = cast(LeaveGroupsOut, problem.design) if problem.leaves_groups else None
    if design is not None and (design.p > 1 or problem.pool is not None):
        more = " and for LeaveGroupsOut of one group" if problem.pool is None else ", with a test set"
        msg = f"influence is available for designs of single samples{more}, got {problem.design!r}"
        raise ValueError(msg)
    labels = problem.pool or problem.labels
    codes, least = labels.codes, 3 - (problem.pool is not None)
    if len(codes) < least:
        msg = (
            f"influence needs at least {least} samples, so that {least - 1} are left without one of them, "
            f"got {len(codes)}"
        )
        raise ValueError(msg)
    if design is not None:
        groups, sizes = design.codes, design.sizes
        for at in (np.argmin(sizes[groups]), np.argmax(groups != np.argmax(sizes))):
            _without(problem, int(at))  # leaves the fewest groups, or the smallest training set
    found: dict[tuple[object, ...], int] = {}
    reduced: list[ReducedProblem] = []
    index = np.empty(len(codes), np.int64)
    by_class = np.argsort(codes, kind="stable")
    for members in np.split(by_class, np.cumsum(labels.counts)[:-1]):
        for some in (members[:1], members[1:]):
            if not len(some):
                continue
            one = _without(problem, int(some[-1]))
            stratified = any(kind.stratified for kind in one.training_sets)
            kinds = () if problem.leaves_groups else one.training_sets
            key = (one.removed if stratified else -1, kinds, one.item_weights)
            if key not in found:
                found[key] = len(reduced)
                reduced.append(one)
            index[some] = found[key]
    if problem.pool is not None:
        index = np.concatenate([np.full(len(problem.labels.codes), -1), index])
    return reduced, index


def _without(problem: ScoringProblem, item: int) -> ReducedProblem:
    labels = problem.pool or problem.labels
    removed = int(labels.codes[item])
    try:
        if problem.pool is not None:
            rest = labels_of(labels, np.delete(np.arange(len(labels.codes)), item))
            kinds = training_sets_of_pool(problem.design.without(item), rest)
            weights = weights_of(kinds, problem.labels, problem.average)
        else:
            kinds, weights = _split(problem, _labels_without(labels, item), item)
        if problem.pool is None and labels.counts[removed] == 1:
            kinds = tuple(_with_empty_class(kind, removed) for kind in kinds)
            weights = tuple((*row[:removed], Fraction(0), *row[removed:]) for row in weights)
        for task in problem.tasks_to_check(kinds):
            problem.variant.kernel_for(task)
            problem.variant.check(task, **problem.parameters)
    except ValueError as error:
        name = labels.classes.tolist()[removed]
        label = "" if problem.variant.target == "values" else f" (class {name!r})"
        msg = (
            "influence needs the score without each sample, by the same design and rule, but without "
            f"sample {item}{label} there is none: {error}"
        )
        raise ValueError(msg) from error
    return ReducedProblem(removed, kinds, weights)


def _split(
    problem: ScoringProblem, labels: EncodedLabels, item: int
) -> tuple[tuple[TrainingSets, ...], tuple[tuple[Fraction, ...], ...]]:
    """The training sets and the weights of these labels, from which an item was removed."""
    design = problem.design.without(item)
    kinds = design.training_sets(labels)
    for kind in kinds:
        too_many = any(size > count for size, count in zip(kind.n_train, kind.counts, strict=True))
        if too_many or kind.n_test <= 0:
            msg = f"{design!r} leaves none of {len(labels.codes)} samples to test"
            raise ValueError(msg)
    check_labels_of(problem.average, labels, True, problem.variant.name)
    weights = design.item_weights(labels, problem.average) or weights_of(kinds, labels, problem.average)
    check_tested(problem.average, weights, labels, design)
    return kinds, weights


def _labels_without(labels: EncodedLabels, item: int) -> EncodedLabels:
    """The labels of the other samples."""
    codes = np.delete(labels.codes, item)
    counts = np.bincount(codes, minlength=len(labels.classes))
    left = counts > 0
    return EncodedLabels((np.cumsum(left) - 1)[codes], labels.classes[left], counts[left])


def _with_empty_class(kind: TrainingSets, c: int) -> TrainingSets:
    """The same training sets, with a class c that has no sample."""
    if not kind.stratified:
        return kind
    return replace(
        kind,
        n_train=(*kind.n_train[:c], 0, *kind.n_train[c:]),
        counts=(*kind.counts[:c], 0, *kind.counts[c:]),
        extra=tuple(stratum + (stratum >= c) for stratum in kind.extra),
    )


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
        The weights of a tested sample.
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
        labels, rows = block.labels, block.as_read()
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
class ReducedKind:
    """One kind of training sets of N - 1 samples, and the kernels of the rule for them.

    Attributes
    ----------
    task : Task
        The training sets.
    part : Part
        The kernels that score a whole list.
    reach : Reach
        How far lists matter.
    removed : int
        The class of the missing sample; -1 for any class.
    steps : tuple of Step
        The kernels that score lists without each of their samples: that of `Variant.removals`, if there is
        one, and those of the rule.
    first : int
        The first of the reduced problems that have this kind.
    weights : ndarray of shape (n_problems, n_classes)
        The weights of a tested sample in the problems from `first` on.
    """

    task: Task
    part: Part
    reach: Reach
    removed: int
    steps: tuple[Step, ...]
    first: int
    weights: Array

    def first_depth(self, tol: float) -> int:
        """One more than certifies training sets of one size, since a listed sample is left out."""
        tail = self.reach.fixed_tail
        if tail is None:
            tail = fixed_tail(sum(self.task.counts) - 1, sum(self.task.n_train), self.reach.n_nearest)
        return 1 + int(np.argmax(tail <= tol / 2))

    def removal(self, at: int) -> Removal:
        """The removal of this kind, at the place `at`."""
        return Removal(slice(at, at + 1), self.removed, self.first, self.weights[None], self.steps)

    def changes(self, block: Block, owners: Array) -> tuple[Array, Array]:
        """The scores of rows without a sample beyond the list, and weighted changes without a listed one.

        `owners` (n_items,) are the reduced problems of the samples. Shapes (n_rows,), (n_rows, depth).
        """
        changes, bases = np.zeros(block.lists.items.shape), np.zeros((1, len(block.rows)))
        self.removal(0).add(block, owners, changes, bases, np.zeros(len(block.rows), np.int64))
        return bases[0], changes

    def tails(self, block: Block, *, shorter: bool) -> Array:
        """The probability that a list does not decide, or, if `shorter`, without one of its samples."""
        items, lengths, labels = block.lists.items, block.lengths, block.labels
        if shorter and self.reach.fixed_tail is not None:
            lengths = np.maximum(lengths - 1, 0)
        elif shorter:
            items, lengths = np.empty_like(items), lengths.copy()
            without_last_of(block.lists.items, lengths, labels, self.removed, items)
        return self.reach.tails(lengths, items, block.rows, labels)


def reduced_kind(
    problem: ScoringProblem, task: Task, removed: int | None, weights: Array, first: int = 0
) -> ReducedKind:
    """The kernels for training sets that lack a sample of the class `removed`: -1 any, None no sample."""
    part = part_of(problem, task, joint=False)
    steps = part.steps
    link = None if removed is None else removals_of(problem.variant, task, removed, problem.parameters)
    if link is not None:
        steps = (*steps_of(problem, task, [link._replace(form=REMOVAL)]), *steps)
    untested = np.zeros(len(problem.labels.classes), bool)
    reach = reach_of(problem, task, part.constraints, untested)
    return ReducedKind(task, part, reach, -1 if removed is None else removed, steps, first, weights)


def reduced_kinds(problem: ScoringProblem, reduced: list[ReducedProblem]) -> list[ReducedKind]:
    """The kinds of training sets of all reduced problems; stratified ones for each problem."""
    found: dict[object, ReducedKind] = {}
    for g, one in enumerate(reduced):
        for kind, row in zip(one.training_sets, one.item_weights, strict=True):
            first, n_problems = (g, 1) if kind.stratified else (0, len(reduced))
            key = (g if kind.stratified else -1, kind.n_train, kind.counts, kind.extra, kind.n_extra)
            if key not in found:
                removed = one.removed if kind.stratified else -1
                weights = np.zeros((n_problems, len(row)))
                found[key] = reduced_kind(problem, problem.task(kind), removed, weights, first)
            found[key].weights[g - first] += [float(weight) for weight in row]
    return list(found.values())


def removals(problem: ScoringProblem, kinds: list[ReducedKind]) -> list[Removal]:
    """The removals of kinds: of several of one problem where a joint kernel serves them, then of each."""
    together: list[Removal] = []
    stratified = [at for at, kind in enumerate(kinds) if kind.task.stratified]
    for first, same in groupby(stratified, lambda at: kinds[at].first):
        places = list(same)
        for start in range(0, len(places), LANES):
            some = [kinds[at] for at in places[start : start + LANES]]
            tasks = [kind.task for kind in some]
            links = [
                link for link in chain_of(problem.variant, tasks, problem.parameters) if link.form == JOINT
            ]
            if len(some) > 1 and links and some[0].steps[0].form != REMOVAL:
                at = slice(places[start], places[start] + len(some))
                weights = np.array([kind.weights for kind in some])
                steps = steps_of(problem, tasks[0], links[:1])
                together.append(Removal(at, some[0].removed, first, weights, steps))
    return together + [kind.removal(at) for at, kind in enumerate(kinds)]
