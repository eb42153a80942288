"""How the score changes without each sample: one pass over the neighbor lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..driver import Jobs, Scored, ScoringProblem, alike_samples, deepen, first_depth, usable_lengths
from ..kernel import Labels, Task, Variant, compile_driver
from ..neighbors import NeighborLists, Neighbors
from ._influence_groups import GroupRemover, group_remover
from ._influence_joint import JointRemoval, MixedRemoval, joint_removals, mixed_removals
from ._influence_result import Influence
from ._influence_rows import ADD_ROWS, add_rows
from ._reduced import ReducedProblem, reduced_problems
from ._removal_kernels import RemovalKernels, removal_kernels

LARGEST_TOL = 1e-9  # a change is about 1/N of the score


@dataclass(frozen=True)
class Removal:
    """One kind of training sets of N - 1 samples, and the missing samples that it is for.

    Attributes
    ----------
    task : Task
        The training sets.
    kernels : RemovalKernels
        The kernels of the rule for them.
    first : int
        The first of the reduced problems that have this kind.
    weights : ndarray of shape (n_problems, n_classes)
        The weights of a tested sample in these problems.
    """

    task: Task
    kernels: RemovalKernels
    first: int
    weights: Array


@dataclass(frozen=True)
class BlockRemover:
    """Everything a worker needs to leave samples out of the lists of a block of tested samples."""

    neighbors: Neighbors
    labels: Labels
    removals: tuple[Removal, ...]
    owners: Array
    average_ties: bool
    tol: float
    joint: tuple[JointRemoval | MixedRemoval, ...] = ()

    def compile(self) -> None:
        """Compile what blocks call first."""
        alone = np.ones(len(self.removals), bool)
        for joint in self.joint:
            joint.compile()
            alone[joint.at] = False
        for removal, is_alone in zip(self.removals, alone, strict=True):
            if is_alone:
                removal.kernels.compile()

    def first_depth(self, problem: ScoringProblem) -> int:
        """One more than certifies the fixed-size training sets, since a listed sample is left out."""
        depth = max(2, *(removal.kernels.first_depth(self.tol) for removal in self.removals))
        return min(depth + (problem.ties == "random"), self.neighbors.max_depth)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, ...], Array]:
        """Items, lengths, changes (n_rows, depth), and (n_removals, n_rows) bases and tails; open rows."""
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        changes = np.zeros(lists.items.shape)
        bases, tails = np.zeros((2, len(self.removals), len(rows)))
        served = np.zeros((len(self.removals), len(rows)), np.int64)
        given = (lists, lengths, rows, self.labels, self.average_ties, self.owners)
        for joint in self.joint:
            served[joint.at] = joint(*given, changes, bases)
        for q, removal in enumerate(self.removals):
            if not served[q].all():
                sums = (removal.first, removal.weights, changes, bases[q], served[q])
                removal.kernels.fill_changes(*given, *sums)
            counted = removal.weights[:, self.labels.classes[rows]].max(axis=0) > 0
            tail = removal.kernels.tails(lists, lengths, rows, self.labels, shorter=True)
            tails[q] = np.where(counted, tail, 0.0)
        is_open = np.asarray((tails > self.tol / 2).any(axis=0))
        return (lists.items, lengths, changes, bases, tails), is_open


def influence(
    result: Scored, problem: ScoringProblem, neighbors: Neighbors, tol: float, n_jobs: int | None
) -> Influence:
    """Return the `Influence` of every sample on the score of `result`."""
    _check_linear(problem)
    reduced, owners = reduced_problems(problem)
    tol = min(tol, LARGEST_TOL)
    remover: BlockRemover | GroupRemover
    if problem.leaves_groups:
        weights = np.array([[float(weight) for weight in one.item_weights[0]] for one in reduced])
        remover = group_remover(problem, neighbors, owners, weights, tol)
        depth = min(2 + first_depth(problem, neighbors, tol), neighbors.max_depth)
        parts = [(0, weights)]
    else:
        removals = tuple(_removals(problem, reduced))
        joint: list[JointRemoval | MixedRemoval] = [*joint_removals(problem, reduced)]
        if any(removal.kernels.at_once is not None for removal in removals):
            by_size = [each.weights for each in removals]
            joint = [*mixed_removals(problem, [each.task for each in removals], by_size)]
        remover = BlockRemover(
            neighbors,
            problem.kernel_labels(),
            removals,
            owners,
            problem.ties == "random",
            tol,
            tuple(joint),
        )
        remover.compile()
        depth = remover.first_depth(problem)
        parts = [(removal.first, removal.weights) for removal in removals]
    same = _same_changes(problem, neighbors, owners)
    sums = _Sums(problem, parts, owners, same)

    def take(block: Array, now: int, found: tuple[Array, ...], is_open: Array) -> None:
        if now >= neighbors.max_depth:
            is_open[:] = False
        items, lengths, changes, bases, tails = found
        rest = (np.ascontiguousarray(each[:, ~is_open]) for each in (bases, tails))
        sums.add(block[~is_open], items[~is_open], lengths[~is_open], changes[~is_open], *rest)

    deepen(remover, np.unique(same), depth, take, Jobs(n_jobs))
    without, bound = sums.scores_without(len(reduced), problem)
    kept = _kept(result, problem, reduced, owners)
    return Influence(
        total=result.score - without,
        as_tested=result.score - kept,
        as_training=kept - without,
        labels=problem.targets,
        measure=problem.measure,
        is_loss=problem.is_loss,
        error_bound=float("inf") if neighbors.approximate else result.error_bound + bound,
    )


def _check_linear(problem: ScoringProblem) -> None:
    """Refuse a score that is not the mean of the samples' scores over all training sets."""
    if type(problem.variant).over_kinds is Variant.over_kinds:
        return
    scores = np.zeros((1, 1))

    def refuse(**parameters: object) -> Array:
        shown = ", ".join(f"{name}={value!r}" for name, value in problem.parameters.items())
        msg = (
            f"influence needs a score that is a mean over the training sets; {problem.variant.name!r} with "
            f"{shown} is not (asked for {parameters})"
        )
        raise ValueError(msg)

    problem.variant.over_kinds(scores, scores + 1, refuse, problem.values.shape[1], **problem.parameters)


def _removals(problem: ScoringProblem, reduced: list[ReducedProblem]) -> list[Removal]:
    """One for each kind of training sets; stratified ones for each reduced problem."""
    found: dict[object, Removal] = {}
    for g, one in enumerate(reduced):
        for kind, row in zip(one.training_sets, one.item_weights, strict=True):
            weights = np.array([float(weight) for weight in row])
            key = (g if kind.stratified else -1, kind.n_train, kind.counts, kind.extra, kind.n_extra)
            if key in found:
                found[key].weights[0 if kind.stratified else g] += weights
                continue
            n_problems = 1 if kind.stratified else len(reduced)
            matrix = np.zeros((n_problems, len(row)))
            matrix[0 if kind.stratified else g] = weights
            removed = one.removed if kind.stratified else -1
            first = g if kind.stratified else 0
            task = problem.task(kind)
            kernels = removal_kernels(problem, task, removed)
            found[key] = Removal(task, kernels, first, matrix)
    return list(found.values())


class _Sums:
    """Sums over the tested samples.

    `parts` has, for every kind of training sets, the first reduced problem and the weights, (n_problems,
    n_classes). `same` is the tested sample that stands for each sample.
    """

    def __init__(
        self, problem: ScoringProblem, parts: list[tuple[int, Array]], owners: Array, same: Array
    ) -> None:
        n_items, n_classes = len(owners), len(problem.labels.classes)
        self._parts, self._owners, self._codes = parts, owners, problem.labels.codes
        self._same = same
        self._copies = np.bincount(same, minlength=n_items)[same]
        self._changes, self._copy_changes, self._own = np.zeros((3, n_items))
        self._bases = np.zeros((len(parts), 2, n_classes))
        self._tails = np.zeros((len(parts), n_classes))

    def add(
        self, rows: Array, items: Array, lengths: Array, changes: Array, bases: Array, tails: Array
    ) -> None:
        """Add rows of a block."""
        compile_driver(add_rows, ADD_ROWS)(
            rows,
            items,
            lengths,
            self._codes,
            self._same,
            self._copies,
            changes,
            bases,
            tails,
            self._changes,
            self._copy_changes,
            self._bases,
            self._tails,
        )
        for (first, weights), base in zip(self._parts, bases, strict=True):
            at = self._owners[rows] - first
            inside = (at >= 0) & (at < len(weights))
            own = weights[np.where(inside, at, 0), self._codes[rows]]
            self._own[rows] += np.where(inside, own * base, 0.0)

    def scores_without(self, n_problems: int, problem: ScoringProblem) -> tuple[Array, float]:
        """The score without every sample, and a bound of what the ends of the lists can change."""
        totals, bounds = np.zeros((2, n_problems))
        sums = zip(self._parts, self._bases.sum(axis=1), self._tails, strict=True)
        for (first, weights), base, tails in sums:
            problems = slice(first, first + len(weights))
            totals[problems] += weights @ base
            bounds[problems] += weights @ tails
        changes = self._changes + (self._copy_changes - self._own)[self._same]
        without = totals[self._owners] + changes
        return without, float(bounds.max()) * problem.largest


def _same_changes(problem: ScoringProblem, neighbors: Neighbors, owners: Array) -> Array:
    """The tested sample that stands for every sample, int64 (n_items,): itself, or one that is alike.

    Without one of the samples that are alike, the others are left with the same lists.
    """
    alike, itself = alike_samples(problem, neighbors), np.arange(len(owners))
    if alike is None:
        return itself
    mixed = np.bincount(alike, owners != owners[alike], len(owners)) > 0
    return np.where(mixed[alike], itself, alike)


def _kept(result: Scored, problem: ScoringProblem, reduced: list[ReducedProblem], owners: Array) -> Array:
    """For every sample the others' mean score, with the weights of the problem without it."""
    codes = problem.labels.codes
    scores = np.bincount(codes, result.per_item, len(problem.labels.classes))
    means, weights = [], []
    for one in reduced:
        each = np.array([float(sum(column)) for column in zip(*one.item_weights, strict=True)])
        means.append(sum(w * score for w, score in zip(each, scores, strict=True) if w > 0))
        weights.append(each)
    own = np.array(weights)[owners, codes]
    parts = np.where(own > 0, own * result.per_item, 0.0)
    return np.asarray(np.array(means)[owners] - parts)
