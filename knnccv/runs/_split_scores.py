"""The score of every sample if one sample of its neighbor list decides, and passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from .._parallel import for_each
from .._typing import Array
from ..driver import Scored, ScoringProblem, Step, known_set_part, unserved, usable_lengths
from ..kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Labels,
    Order,
    compile_driver,
    jit,
)
from ..neighbors import NeighborLists, Neighbors
from ._trials import known_task

ROWS = 256
ROUNDED = 1e-14
"""Differences of a score from a mean that rounding may cause, as a share of the largest score."""


@dataclass(frozen=True)
class Alone:
    """The lists of all samples, and the score of each if one sample of its list decides, less a mean.

    ``scores`` (n_items, depth) are multiplied by the class weights where these differ; ``largest`` bounds
    their absolute value beyond the lists as well. ``unsure`` bounds the effect of tied samples that hardly
    matter.
    """

    lists: NeighborLists
    scores: Array
    largest: float
    unsure: float
    mean: float = 0.0

    @property
    def vanish(self) -> bool:
        """Return True if the lists are complete and all scores are 0: no run differs from another."""
        return bool((self.lists.lengths == len(self.scores) - 1).all() and not self.scores.any())


@jit
def score_alone(kernel, items, lengths, first, last, labels, constraints, out):
    """Scores of the rows ``first .. last - 1`` where one sample of their list decides; by a known T."""
    one, end = np.empty(1, np.int64), np.ones(1, np.int64)
    for r in range(first, last):
        for i in range(lengths[r]):
            one[0] = items[r, i]
            out[r, i] = kernel(Order(one, end), labels, r, constraints)


SCORE_ALONE = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.int64,
    types.int64,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 2, "C"),
)


def alone_scores(
    problem: ScoringProblem,
    lists: NeighborLists,
    neighbors: Neighbors,
    result: Scored,
    tol: float,
    by_class: Array,
    equal: bool,
    n_jobs: int | None,
) -> Alone:
    """The scores where one sample decides; less a mean, if this moves all runs alike."""
    lists.lengths = usable_lengths(lists, neighbors, average_ties=False)
    labels, codes = problem.kernel_labels(), problem.labels.codes
    scores = np.zeros(lists.items.shape)
    task = known_task(problem, problem.training_sets[0])
    for step in known_set_part(problem, task).steps:
        step.compiled()
        _score_lists(lists, step, labels, scores, n_jobs)
        if not len(unserved(scores)):
            break
    unsure = (
        4 * tol * problem.largest**2 if problem.ties == "random" and _tied_scores(lists, scores) else 0.0
    )
    largest = problem.largest
    if not equal:
        return Alone(lists, scores * by_class[codes][:, None], largest, unsure, result.score)
    largest += abs(result.score)
    scores -= result.score
    scores[np.abs(scores) <= ROUNDED * largest] = 0.0
    return Alone(lists, scores, largest, unsure)


def _score_lists(
    lists: NeighborLists,
    step: Step,
    labels: Labels,
    out: Array,
    n_jobs: int | None,
) -> None:
    compile_driver(score_alone, SCORE_ALONE)

    def fill(first: int, last: int) -> None:
        score_alone(step.kernel, lists.items, lists.lengths, first, last, labels, step.constraints, out)

    over_blocks(fill, len(lists.items), ROWS, n_jobs)


def _tied_scores(lists: NeighborLists, scores: Array) -> bool:
    """Return True if the lists hold tied samples of different scores."""
    equal = lists.values[:, 1:] == lists.values[:, :-1]
    equal &= np.arange(1, scores.shape[1]) < lists.lengths[:, None]
    return bool((equal & (scores[:, 1:] != scores[:, :-1])).any())


def over_blocks(work: Callable[[int, int], Any], n_rows: int, size: int, n_jobs: int | None) -> list[Any]:
    """``work(first, last)`` for blocks of rows in threads; the results in the order of the blocks."""
    starts = list(range(0, n_rows, size))
    found: list[Any] = [None] * len(starts)

    def one(at: int) -> None:
        found[at] = work(starts[at], min(starts[at] + size, n_rows))

    for_each(one, range(len(starts)), n_jobs)
    return found
