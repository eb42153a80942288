"""The pass of `_influence` for a design that leaves out one group: the training set is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets, LeaveGroupsOut
from ..driver import ScoringProblem, usable_lengths
from ..groups import keep_outside
from ..kernel import Constraints, Labels, compile_driver, compile_kernel
from ..neighbors import NeighborLists, Neighbors
from ._influence_rows import CHANGES_ONE_BY_ONE, changes_one_by_one


@dataclass(frozen=True)
class GroupRemover:
    """Everything a worker needs to leave samples out of the lists of a block of tested samples.

    A sample of the tested sample's group, or one beyond the K + 1 nearest of the other groups and those
    that tie the last of these, changes nothing.

    Attributes
    ----------
    whole, smaller : tuple of Constraints
        For every size of training sets its constraints, and those of training sets of one sample less.
    nearest : ndarray of shape (n_sizes,)
        For every size the number of nearest training samples that decide.
    size_of : ndarray of shape (n_items,)
        The index of the size of the training set of a tested sample.
    groups : ndarray of shape (n_items,)
        The group of every sample.
    owners, weights : ndarray
        The reduced problem of every sample; the weights (n_problems, n_classes) of the tested samples.
    """

    neighbors: Neighbors
    labels: Labels
    kernel: Kernel
    whole: tuple[Constraints, ...]
    smaller: tuple[Constraints, ...]
    nearest: Array
    size_of: Array
    groups: Array
    owners: Array
    weights: Array
    average_ties: bool
    tol: float

    def compile(self) -> None:
        """Compile what blocks call."""
        compile_kernel(self.kernel, "the remover")
        compile_driver(changes_one_by_one, CHANGES_ONE_BY_ONE)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, ...], Array]:
        """Items, lengths, changes (n_rows, depth), and (1, n_rows) bases and tails; open rows."""
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        size_of = self.size_of[rows]
        nearest = self.nearest[size_of]
        items, values = np.zeros_like(lists.items), np.empty_like(lists.values)
        kept = np.empty(len(rows), np.int64)
        keep_outside(lists.items, lists.values, lengths, rows, self.groups, nearest, items, values, kept)
        changes, bases = np.zeros(items.shape), np.zeros(len(rows))
        fill = compile_driver(changes_one_by_one, CHANGES_ONE_BY_ONE)
        for size in np.unique(size_of):
            at = np.flatnonzero(size_of == size)
            part, part_bases = np.zeros((len(at), items.shape[1])), np.zeros(len(at))
            given = (items[at], values[at], kept[at], rows[at], self.average_ties, self.labels)
            both = (self.smaller[size], self.whole[size], -1)
            sums = (
                self.owners,
                0,
                self.weights,
                part,
                part_bases,
                np.zeros(len(at), np.int64),
                stop_flag(),
            )
            fill(self.kernel, *given, *both, *sums)
            changes[at], bases[at] = part, part_bases
        tails = (kept < nearest).astype(float)
        return (items, kept, changes, bases[None], tails[None]), tails > self.tol / 2


def group_remover(
    problem: ScoringProblem, neighbors: Neighbors, owners: Array, weights: Array, tol: float
) -> GroupRemover:
    """The remover of a problem that leaves out one group, compiled."""
    kind = cast(GroupTrainingSets, problem.training_sets[0])
    groups = cast(LeaveGroupsOut, problem.design).codes
    sizes = kind.train_sizes
    tasks = [problem.known_training_set_task(size) for size in sizes]
    smaller = [problem.known_training_set_task(size - 1) for size in sizes]
    kernel = compile_kernel(problem.variant.kernel_for(tasks[0]), f"variant {problem.variant.name!r}")
    n_nearest = problem.nearest(kind)
    return GroupRemover(
        neighbors,
        problem.kernel_labels(),
        kernel,
        tuple(problem.constraints(task) for task in tasks),
        tuple(problem.constraints(task) for task in smaller),
        np.array([min(n_nearest + 1, size) for size in sizes]),
        np.searchsorted(sizes, sum(kind.sizes) - np.array(kind.sizes)[groups]),
        groups,
        owners,
        weights,
        problem.ties == "random",
        tol,
    )
