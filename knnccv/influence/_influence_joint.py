"""The pass of `_influence` for all kinds of training sets at once, by a joint or a mixed kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import types

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..driver import (
    DISTANCES,
    FIRST_MIXED_GROUPS,
    INTEGERS,
    ITEMS,
    ScoringProblem,
    first_mixed_groups,
    order_of,
)
from ..kernel import (
    CONSTRAINTS,
    JOINT,
    JOINT_KERNEL,
    LABELS,
    LANES,
    Constraints,
    Labels,
    Order,
    Tables,
    Task,
    chain_of,
    compile_driver,
    compile_joint_kernel,
    compile_removal_kernel,
    constraints_for,
    jit,
    removals_of,
)
from ..neighbors import NeighborLists
from ._influence_rows import CHANGES_AT_ONCE, changes_at_once, earlier_alike
from ._reduced import ReducedProblem


@jit
def changes_jointly(
    kernel, items, values, lengths, targets, average_ties, labels, constraints, removed, owners, owner,
    weights, changes, bases, served, stop,
):  # fmt: skip
    """As `changes_one_by_one`, for all kinds of training sets of the reduced problem `owner`.

    ``weights`` are (n_kinds, n_classes), ``bases`` (n_kinds, n_rows). ``served[r]`` is 1 for a row to skip.
    """
    n_kinds = len(weights)
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    rest = np.empty(depth, labels.classes.dtype)
    rest_end = np.empty(depth, labels.classes.dtype)
    alone = np.empty(depth)
    base, scores, tails = np.zeros(n_kinds), np.zeros(n_kinds), np.zeros(n_kinds)
    for r in range(len(targets)):
        if stop[0]:
            break
        own_class = labels.classes[targets[r]]
        if served[r] or weights[:, own_class].max() == 0:
            continue
        n_listed = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], n_listed, average_ties)
        n_removable = 0
        for i in range(n_listed):
            n_removable += labels.classes[near.items[i]] == removed
        left = constraints.counts[removed]
        if removed == own_class:
            left -= constraints.held_out
        base[:] = 0.0
        if n_removable <= left:
            kernel(near, labels, targets[r], constraints, base, tails)
        for k in range(n_kinds):
            if weights[k, own_class] > 0:
                bases[k, r] = base[k]
        for i in range(n_listed):
            alone[i] = np.nan
            if owners[near.items[i]] != owner:
                continue
            like = earlier_alike(near, labels, i, alone)
            if like < i:
                alone[i] = alone[like]
            else:
                for p in range(n_listed - 1):
                    old = p + (p >= i)
                    rest[p] = near.items[old]
                    end = near.group_end[old]
                    rest_end[p] = end - (end > i)
                shorter = Order(rest[: n_listed - 1], rest_end[: n_listed - 1])
                kernel(shorter, labels, targets[r], constraints, scores, tails)
                alone[i] = 0.0
                for k in range(n_kinds):
                    if weights[k, own_class] > 0:
                        alone[i] += weights[k, own_class] * (scores[k] - base[k])
            changes[r, i] += alone[i]


_FLOATS = types.Array(types.float64, 2, "C")
CHANGES_JOINTLY = types.void(
    JOINT_KERNEL, ITEMS, DISTANCES, INTEGERS, INTEGERS, types.boolean, LABELS, CONSTRAINTS, types.int64,
    INTEGERS, types.int64, _FLOATS, _FLOATS, _FLOATS, INTEGERS, types.Array(types.boolean, 1, "C"),
)  # fmt: skip


@dataclass(frozen=True)
class JointRemoval:
    """Some kinds of training sets of a reduced problem, and the joint kernel for them.

    ``at`` are their places among all kinds, ``owner`` is the reduced problem, ``removed`` the class of the
    missing sample, and ``weights`` (n_kinds, n_classes) those of a tested sample.
    """

    kernel: Kernel
    constraints: Constraints
    at: slice
    owner: int
    removed: int
    weights: Array

    def compile(self) -> None:
        """Compile what blocks call."""
        compile_joint_kernel(self.kernel)
        compile_driver(changes_jointly, CHANGES_JOINTLY)

    def __call__(
        self,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
        owners: Array,
        changes: Array,
        bases: Array,
    ) -> Array:
        """Add the changes; return a mask (int64) of the rows that the kernel serves."""
        mixed = np.full(len(rows), -1)
        if average_ties:
            fill = compile_driver(first_mixed_groups, FIRST_MIXED_GROUPS)
            fill(lists.items, lists.values, lengths, labels, mixed)
        compile_driver(changes_jointly, CHANGES_JOINTLY)(
            compile_joint_kernel(self.kernel),
            lists.items,
            lists.values,
            lengths,
            rows,
            average_ties,
            labels,
            self.constraints,
            self.removed,
            owners,
            self.owner,
            self.weights,
            changes,
            bases[self.at],
            (mixed >= 0).astype(np.int64),
            stop_flag(),
        )
        return (mixed < 0).astype(np.int64)


def joint_removals(problem: ScoringProblem, reduced: list[ReducedProblem]) -> list[JointRemoval]:
    """The joint kernels for the kinds of all reduced problems, in their order; none for a single kind."""
    variant, found = problem.variant, []
    nearest = variant.n_nearest(**problem.parameters)
    first = 0
    for owner, one in enumerate(reduced):
        weights = np.array([[float(weight) for weight in row] for row in one.item_weights])
        for start in range(0, len(weights), LANES):
            tasks = [problem.task(kind) for kind in one.training_sets[start : start + LANES]]
            if len(tasks) == 1 or not all(task.stratified for task in tasks):
                continue
            links = [link for link in chain_of(variant, tasks, problem.parameters) if link.form == JOINT]
            if not links:
                continue
            kernel, tables = links[0].kernel, links[0].tables or Tables()
            at = slice(first + start, first + start + len(tasks))
            constraints = constraints_for(tasks[0], tables, n_nearest=nearest)
            some = np.ascontiguousarray(weights[start : start + len(tasks)])
            found.append(JointRemoval(kernel, constraints, at, owner, one.removed, some))
        first += len(weights)
    return found


@dataclass(frozen=True)
class MixedRemoval:
    """Training sets of several sizes, and a removal kernel for the mean score over all of them.

    ``weights`` (n_problems, n_classes) are the sums of the sizes' weights of a tested sample.
    """

    kernel: Kernel
    constraints: Constraints
    weights: Array
    at: slice

    def compile(self) -> None:
        """Compile what blocks call."""
        compile_removal_kernel(self.kernel)
        compile_driver(changes_at_once, CHANGES_AT_ONCE)

    def __call__(
        self,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
        owners: Array,
        changes: Array,
        bases: Array,
    ) -> Array:
        """Add the changes; every size gets the mean as its base. Return a mask of the rows served."""
        mean, served = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        compile_driver(changes_at_once, CHANGES_AT_ONCE)(
            compile_removal_kernel(self.kernel),
            lists.items,
            lists.values,
            lengths,
            rows,
            average_ties,
            labels,
            self.constraints,
            owners,
            0,
            self.weights,
            changes,
            mean,
            served,
            stop_flag(),
        )
        bases[self.at] = mean
        return served


def mixed_removals(
    problem: ScoringProblem, tasks: Sequence[Task], weights: Sequence[Array]
) -> list[MixedRemoval]:
    """The kernel for the mean over sizes of the training set with these weights; none for one size."""
    variant = problem.variant
    if len(tasks) == 1 or any(task.stratified or task.counts != tasks[0].counts for task in tasks):
        return []
    total = np.sum(weights, axis=0)
    shares = [float(each.sum() / total.sum()) for each in weights]
    parts = zip(weights, shares, strict=True)
    if any(np.abs(each - share * total).max() > 1e-15 * total.max() for each, share in parts):
        return []
    link = removals_of(variant, tasks, shares, -1, problem.parameters)
    if link is None:
        return []
    kernel, tables = link.kernel, link.tables or Tables()
    constraints = constraints_for(tasks[0], tables, n_nearest=variant.n_nearest(**problem.parameters))
    return [MixedRemoval(kernel, constraints, total, slice(0, len(tasks)))]
