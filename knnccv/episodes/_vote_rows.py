"""Votes of several nearest supports for all samples, if they do not take too long."""

from __future__ import annotations

import numpy as np

from .._parallel import for_each, one_blas_thread
from .._typing import Array
from ..neighbors import Neighbors
from ._distances import Distances
from ._problem import Problem
from ._votes import score_votes

LIMIT_HOURS = 2.0
SECONDS_PER_STEP = 1e-9  # measured on one processor


def hours_of_votes(problem: Problem, n_neighbors: int) -> float:
    """About how many hours of one processor the votes take."""
    n_items, n_classes = len(problem.order), len(problem.bounds) - 1
    steps = 0
    for t in range(1, n_neighbors + 1):
        left = n_neighbors - t
        steps += (left + 1) * (left // t + 1) * (min(t, left) + 2)
    steps *= n_classes * (problem.n_terms - 1) * len(problem.shots)
    if problem.jackknife:
        steps *= n_classes
    return n_items * n_items * steps * SECONDS_PER_STEP / 3600


def all_votes(
    problem: Problem, neighbors: Neighbors, n_neighbors: int, ties: str, n_jobs: int | None
) -> tuple[Array, Array, int]:
    """Sums over the choices of other classes (n_items, n_shots, n_terms); without each class; ties.

    The second has the values that the score without each class needs, (n_items, n_classes), if it is asked
    for. The last is the number of tied samples.

    Raises
    ------
    ValueError
        If this would take more than `LIMIT_HOURS` of one processor.
    """
    hours = hours_of_votes(problem, n_neighbors)
    if hours > LIMIT_HOURS:
        msg = (
            f"votes of {n_neighbors} supports for {len(problem.order)} samples would take about "
            f"{hours:.0f} hours of one processor (limit: {LIMIT_HOURS:g}). Possible: n_neighbors=1, which "
            "takes seconds; fewer samples of every class; one number of ways and shots; or no jackknife"
        )
        raise ValueError(msg)
    shots, n_classes = problem.shots, len(problem.bounds) - 1
    sums = np.zeros((len(problem.order), len(shots), problem.n_terms))
    without = np.zeros((len(problem.order), n_classes * problem.jackknife))
    functional = problem.functional()
    tied = np.zeros(len(problem.order), bool)
    codes = problem.labels.codes

    def score_block(begin: int) -> None:
        end = min(begin + size, len(problem.order))
        values = distances.in_order_of_rows(begin, end)
        for row, tested in zip(values, problem.order[begin:end], strict=True):
            row[tested] = -np.inf
            tied[tested] = score_votes(
                row,
                codes,
                int(tested),
                problem.labels.counts,
                ties == "random",
                shots,
                n_neighbors,
                problem.n_terms,
                sums[tested],
            )
            for deleted in range(n_classes * problem.jackknife):
                if deleted != codes[tested]:
                    without[tested, deleted] = score_without(row, int(tested), deleted)

    def score_without(row: Array, tested: int, deleted: int) -> float:
        kept = codes != deleted
        out = np.zeros((len(shots), len(functional)))
        score_votes(
            row[kept],
            codes[kept] - (codes[kept] > deleted),
            int(kept[:tested].sum()),
            np.delete(problem.labels.counts, deleted),
            ties == "random",
            np.delete(shots, deleted, axis=1),
            n_neighbors,
            len(functional),
            out,
        )
        return float((out @ functional).sum())

    with one_blas_thread():
        distances = Distances(neighbors, problem.order)
        size = min(distances.rows_at_once(), 16)
        for_each(score_block, range(0, len(problem.order), size), n_jobs)
    return sums, without, int(tied.sum())
