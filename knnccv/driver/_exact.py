"""Exact mode: the same kernels, unjitted, on rational numbers."""

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


def exact_scores(question: ScoringProblem, neighbors: Neighbors) -> Scores:
    """A_x of every sample as Fractions; which samples are tied is left out.

    Raises
    ------
    ValueError
        If the neighbor lists end before the last position that can matter.
    """
    if isinstance(question.design, LeaveGroupsOut):
        return exact_group_scores(question, neighbors)
    n_items = neighbors.n_items
    depth = max(_depth_that_matters(question), 1)
    if depth > neighbors.max_depth:
        msg = (
            f"exact=True needs {depth} neighbors of every sample, but {neighbors!r} has at most "
            f"{neighbors.max_depth}"
        )
        raise ValueError(msg)
    needed = depth
    average_ties = question.ties == "random"
    if average_ties or not neighbors.ordered_by_index:  # a tied group must be seen whole
        depth = neighbors.max_depth
    labels = exact_labels(question)
    untested = question.never_tested()
    rows_of_kind = as_python(score_rows)
    scores = np.full((len(question.kinds), n_items), None, dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        lists = neighbors.search(rows, depth)
        lengths = usable_lengths(lists, neighbors, average_ties)
        wanted = ~untested[:, question.labels.codes[rows]].all(axis=0)
        missing = (lengths < needed) & wanted
        if missing.any():
            at = int(rows[np.argmax(missing)])
            msg = (
                f"exact=True needs {needed} neighbors, ties included; the list of sample {at} is too short"
            )
            raise ValueError(msg)
        for j, kind in enumerate(question.kinds):
            task = question.task(kind, Fraction)
            kernel = as_python(question.variant.kernel_for(task))
            constraints = question.constraints(task)
            tested = ~untested[j, question.labels.codes[rows]]
            out = np.full(int(tested.sum()), None, dtype=object)
            rows_of_kind(
                kernel,
                lists.items[tested],
                lists.values[tested],
                lengths[tested],
                as_objects(rows[tested]),
                average_ties,
                labels,
                constraints,
                out,
                np.empty(len(out), np.int64),
                stop_flag(),
            )
            scores[j, rows[tested]] = [rational(score, question, (constraints,)) for score in out]
    return Scores(scores, np.zeros(scores.shape), np.zeros(n_items, bool), depth)


def _depth_that_matters(question: ScoringProblem) -> int:
    """So deep that at least K of the samples passed are in every training set."""
    deepest = 0
    for kind in question.kinds:
        n_available = sum(kind.counts) - 1
        left_out = n_available - sum(kind.n_train)
        deepest = max(deepest, min(left_out + question.nearest(kind), n_available))
    return deepest
