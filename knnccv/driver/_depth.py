"""The depth of the first neighbor lists."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from .._typing import Array
from ..designs import LeaveGroupsOut
from ..neighbors import Neighbors
from ..sampling import fixed_tail
from ._group_scores import first_group_depth
from ._problem import ScoringProblem


def first_depth(
    problem: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    tails: tuple[Array | None, ...] | None = None,
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for the others.

    `tails` are the `fixed_tail` of the training sets, where they are known.
    """
    if isinstance(problem.design, LeaveGroupsOut):
        return first_group_depth(problem, neighbors, tol)
    depth = 1
    for kind, tail in zip(problem.training_sets, tails or repeat(None), strict=False):
        if tail is None:
            n_train = sum(kind.n_train) or kind.most_train
            tail = fixed_tail(sum(kind.counts) - 1, n_train, problem.nearest(kind))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, enough)
    # One more position shows whether a tied group continues beyond the list.
    return min(depth + (problem.ties == "random"), neighbors.max_depth)
