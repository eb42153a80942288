"""Exact mode: the source of the kernels, run unjitted on rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .._parallel import stop_flag
from ..designs import LeaveGroupsOut
from ..kernel import as_python
from ..neighbors import Neighbors
from ._group_scores import exact_group_scores
from ._problem import ScoringProblem
from ._rational import as_objects, exact_labels, rational
from ._rows import score_rows, usable_lengths
from ._summary import Scores


def exact_scores(problem: ScoringProblem, neighbors: Neighbors) -> Scores:
    """A_x of every sample as Fractions; tied samples are not counted.

    Raises
    ------
    ValueError
        If the neighbor lists end before the last position that can matter.
    """
    if isinstance(problem.design, LeaveGroupsOut):
        return exact_group_scores(problem, neighbors)
    n_items = neighbors.n_items
    depth = max(_depth_that_matters(problem), 1)
    if depth > neighbors.max_depth:
        msg = (
            f"exact=True needs {depth} neighbors of every sample, but {neighbors!r} has at most "
            f"{neighbors.max_depth}"
        )
        raise ValueError(msg)
    needed = depth
    average_ties = problem.ties == "random"
    if average_ties or not neighbors.ordered_by_index:  # a tied group must be complete
        depth = neighbors.max_depth
    labels = exact_labels(problem)
    untested = problem.never_tested()
    score_rows_exactly = as_python(score_rows)
    scores = np.full((len(problem.training_sets), n_items), None, dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        lists = neighbors.search(rows, depth)
        lengths = usable_lengths(lists, neighbors, average_ties)
        wanted = ~untested[:, problem.labels.codes[rows]].all(axis=0)
        missing = (lengths < needed) & wanted
        if missing.any():
            at = int(rows[np.argmax(missing)])
            msg = (
                f"exact=True needs {needed} neighbors, ties included; the list of sample {at} is too short"
            )
            raise ValueError(msg)
        for j, kind in enumerate(problem.training_sets):
            task = problem.task(kind, Fraction)
            kernel = as_python(problem.variant.kernel_for(task))
            constraints = problem.constraints(task)
            tested = ~untested[j, problem.labels.codes[rows]]
            out = np.full(int(tested.sum()), None, dtype=object)
            score_rows_exactly(
                kernel,
                lists.items[tested],
                lists.values[tested],
                lengths[tested],
                as_objects(rows[tested]),
                average_ties,
                labels,
                constraints,
                out,
                stop_flag(),
            )
            scores[j, rows[tested]] = [rational(score, problem, (constraints,)) for score in out]
    return Scores(scores, np.zeros(scores.shape), np.zeros(n_items, bool), depth)


def _depth_that_matters(problem: ScoringProblem) -> int:
    """Depth at which at least K of the samples passed are in every training set."""
    depth = 0
    for kind in problem.training_sets:
        n_available = sum(kind.counts) - 1
        left_out = n_available - sum(kind.n_train)
        depth = max(depth, min(left_out + problem.nearest(kind), n_available))
    return depth
