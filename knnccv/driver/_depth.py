"""How deep the neighbor lists must be."""

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
    question: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    tails: tuple[Array | None, ...] | None = None,
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for other ones.

    `tails` are the kinds' `fixed_tail`, where they are known.
    """
    if isinstance(question.design, LeaveGroupsOut):
        return first_group_depth(question, neighbors, tol)
    depth = 1
    for kind, tail in zip(question.kinds, tails or repeat(None), strict=False):
        if tail is None:
            tail = fixed_tail(sum(kind.counts) - 1, sum(kind.n_train), question.nearest(kind))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, enough)
    # One more position tells whether a tied group goes on beyond the list.
    return min(depth + (question.ties == "random"), neighbors.max_depth)
