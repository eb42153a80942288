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
    kernel, items, values, lengths, targets, average_ties, labels, constraints, scores, tails, stop
):
    """Scores and tails (n_rows, n_kinds) of the rows; ends early at ``stop[0]``."""
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        kernel(near, labels, targets[r], constraints, scores[r], tails[r])


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
)


@dataclass(frozen=True)
class JointScorer:
    """The joint kernel of a variant with its constraints, and the number of kinds, for every few kinds."""

    parts: tuple[tuple[Kernel, Constraints, int], ...]

    def compile(self) -> None:
        """Compile what blocks call."""
        compile_driver(score_jointly, SCORE_JOINTLY)
        for kernel, _, _ in self.parts:
            compile_joint_kernel(kernel)

    def __call__(
        self, lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, average_ties: bool
    ) -> tuple[Array, Array]:
        """Scores and tails, (n_kinds, n_rows)."""
        found = []
        for kernel, constraints, n_kinds in self.parts:
            scores, tails = np.zeros((2, len(rows), n_kinds))
            score_jointly(
                compile_joint_kernel(kernel),
                lists.items,
                lists.values,
                lengths,
                rows,
                average_ties,
                labels,
                constraints,
                scores,
                tails,
                stop_flag(),
            )
            found.append((scores, tails))
        scores, tails = (np.concatenate(each, axis=1).T for each in zip(*found, strict=True))
        return scores, tails


def joint_scorer(problem: ScoringProblem, tasks: Sequence[Task]) -> JointScorer | None:
    """The joint kernel of the variant, or None if it has none for these tasks."""
    if not belong_together(type(problem.variant), "joint_kernel", "tables", "n_nearest"):
        return None
    parts = []
    nearest = problem.variant.n_nearest(**problem.parameters)
    for first in range(0, len(tasks), LANES):
        some = tasks[first : first + LANES]
        found = problem.variant.joint_kernel(some, **problem.parameters)
        if found is None:
            return None
        kernel, tables = found
        parts.append((kernel, constraints_for(some[0], tables, n_nearest=nearest), len(some)))
    return JointScorer(tuple(parts))
