"""Scores of samples for all kinds of training sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import types

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..kernel import (
    CONSTRAINTS,
    JOINT_KERNEL,
    LABELS,
    Constraints,
    Labels,
    Task,
    compile_driver,
    compile_joint_kernel,
    constraints_for,
    jit,
)
from ..kernel.simd import LANES
from ..neighbors import NeighborLists
from ._light_kernels import belong_together
from ._problem import ScoringProblem
from ._rows import DISTANCES, INTEGERS, ITEMS, order_of


@jit
def score_jointly(
    kernel, items, values, lengths, targets, average_ties, labels, constraints, scores, tails, served, stop
):
    """Scores and tails (n_rows, n_kinds) of the rows that the kernel serves; ends early at ``stop[0]``."""
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        served[r] = kernel(near, labels, targets[r], constraints, scores[r], tails[r])


_BOOLEANS, _FLOATS = types.Array(types.boolean, 1, "C"), types.Array(types.float64, 2, "C")
SCORE_JOINTLY = types.void(
    JOINT_KERNEL,
    ITEMS,
    DISTANCES,
    INTEGERS,
    INTEGERS,
    types.boolean,
    LABELS,
    CONSTRAINTS,
    _FLOATS,
    _FLOATS,
    _BOOLEANS,
    _BOOLEANS,
)


@dataclass(frozen=True)
class JointScorer:
    """The joint kernels of a problem: for every few kinds of training sets, kernels to be tried in turn."""

    groups: tuple[tuple[tuple[Kernel, Constraints], ...], ...]
    sizes: tuple[int, ...]

    def compile(self) -> None:
        """Compile what the first block calls."""
        compile_driver(score_jointly, SCORE_JOINTLY)
        for group in self.groups:
            compile_joint_kernel(group[0][0])

    def __call__(
        self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, average_ties: bool
    ) -> tuple[Array, Array, Array]:
        """Scores and tails, (n_kinds, n_rows), and the mask of the rows that are served."""
        served = np.ones(len(rows), bool)
        parts = [
            self._score(group, size, lists, lengths, rows, labels, average_ties, served)
            for group, size in zip(self.groups, self.sizes, strict=True)
        ]
        scores, tails = (np.concatenate(each, axis=1).T for each in zip(*parts, strict=True))
        return scores, tails, served

    def _score(
        self,
        group: tuple[tuple[Kernel, Constraints], ...],
        size: int,
        lists: NeighborLists,
        lengths: Array,
        rows: Array,
        labels: Labels,
        average_ties: bool,
        served: Array,
    ) -> tuple[Array, Array]:
        scores, tails = np.zeros((2, len(rows), size))
        left = np.arange(len(rows))
        for kernel, constraints in group:
            some = lists if len(left) == len(rows) else lists.cut(left, lists.items.shape[1])
            found, beyond = np.zeros((2, len(left), size))
            done = np.zeros(len(left), bool)
            score_jointly(
                compile_joint_kernel(kernel),
                some.items,
                some.values,
                lengths[left],
                rows[left],
                average_ties,
                labels,
                constraints,
                found,
                beyond,
                done,
                stop_flag(),
            )
            scores[left], tails[left] = found, beyond
            left = left[~done]
            if not len(left):
                break
        served[left] = False
        return scores, tails


def joint_scorer(problem: ScoringProblem, tasks: Sequence[Task]) -> JointScorer | None:
    """The joint kernels of the variant, or None if it has none for these tasks."""
    if not belong_together(type(problem.variant), "joint_kernels", "tables", "n_nearest"):
        return None
    groups, sizes = [], []
    nearest = problem.variant.n_nearest(**problem.parameters)
    for first in range(0, len(tasks), LANES):
        some = tasks[first : first + LANES]
        found = problem.variant.joint_kernels(some, **problem.parameters)
        if not found:
            return None
        groups.append(
            tuple((kernel, constraints_for(some[0], tables, n_nearest=nearest)) for kernel, tables in found)
        )
        sizes.append(len(some))
    return JointScorer(tuple(groups), tuple(sizes))
