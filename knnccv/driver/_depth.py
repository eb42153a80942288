"""The depth of the first neighbor lists."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from .._typing import Array
from ..neighbors import Neighbors
from ..sampling import fixed_tail
from ._problem import ScoringProblem


def first_depth(
    problem: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    tails: tuple[Array | None, ...] | None = None,
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for the others.

    For groups it is twice the depth that suffices if they are not clustered.

    `tails` are the `fixed_tail` of the training sets, where they are known.
    """
    depth = 1
    for kind, tail in zip(problem.training_sets, tails or repeat(None), strict=False):
        if tail is None:
            tail = fixed_tail(kind.n_available, kind.least_train or kind.most_train, problem.nearest(kind))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, 2 * enough if problem.leaves_groups else enough)
    # One more position shows whether a tied group continues beyond the list.
    return min(depth + (problem.ties == "random"), neighbors.max_depth)
