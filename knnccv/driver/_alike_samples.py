"""Samples with equal features and equal targets: their scores are equal, and one is computed."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..neighbors import Neighbors, distinct_rows
from ._problem import ScoringProblem


def alike_samples(problem: ScoringProblem, neighbors: Neighbors) -> Array | None:
    """The sample whose score serves for each sample, int64 (n_items,); None if every sample needs its own.

    A kernel is given the neighbors in order, the tied groups, and the tested sample's target. Let A and B
    be samples with equal features and equal targets. For every other sample the distance from A is that
    from B, to the last bit, since it is computed from equal numbers. A is not its own neighbor but B's, and
    B is A's, in a tied group of the same distance and with the same target. So the two lists have the same
    tied groups, with the same numbers of every target in them, and averaged over all orders of tied samples
    the scores are equal. Only the order within a tied group, in which the kernel adds, may differ: the
    scores that separate computations would give differ by roundings, which the error bound covers. The
    shares that a list leaves undecided are equal as well: it is cut before a tied group, never in one.

    In the order of the rows (``ties="index"``) a sample's place among its copies matters, and in designs
    that leave out groups its group does; there every sample has its own score.
    """
    if problem.ties != "random" or problem.leaves_groups:
        return None
    distinct = neighbors.distinct_rows()
    if distinct is None:
        return None
    parts = np.column_stack([distinct, problem.labels.codes])
    if problem.values.size:
        parts = np.column_stack([parts, np.ascontiguousarray(problem.values).view(np.int64)])
    alike = distinct_rows(parts, fewest_copies=2)
    if alike is None:
        return None
    first = np.unique(alike, return_index=True)[1]
    return np.asarray(first[alike], dtype=np.int64)


def one_of_alike(problem: ScoringProblem, neighbors: Neighbors) -> tuple[Array, Array]:
    """Samples of which one is in every set of `alike_samples`, and the size of the set for every sample."""
    alike = alike_samples(problem, neighbors)
    if alike is None:
        return np.arange(neighbors.n_items), np.ones(neighbors.n_items, np.int64)
    return np.unique(alike), np.bincount(alike, minlength=neighbors.n_items)
