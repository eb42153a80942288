# mypy: allow-untyped-defs
"""Exact scores of many choices of columns that share most of their columns.

Squared Euclidean and Manhattan distances are sums over the columns. For a block of rows, the sums over the
columns that all candidates have are computed once, and every candidate adds its own. The neighbor lists
then go through the driver's kernels, as those of `complete_cv` do. Sums are taken in the order of the
columns, so the distances are those of `complete_cv` to the last bit, and so are the ties.

A search costs O(n_candidates n_items^2) per step, with a partial sort of every row. The memory is
O(n_items) per thread and O(n_items) per candidate, and never the matrix of all distances.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._base.parallel import for_each
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import (
    ScoringProblem,
    alike_samples,
    block_scorer,
    first_depth,
    usable_lengths,
    validate_problem,
)
from .._core.driver.influence import check_linear
from ..kernel import inner, jit
from ..neighbors import FAST_BYTES, NeighborLists, Neighbors, check_features, nearest_of, ranking


@inner
def add_columns(columns, numbers, row, squared, sums):
    """Add the squared or absolute differences between a row and all rows, in the order of `numbers`."""
    n_items = len(sums)
    for number in numbers:
        column = columns[number]
        own = column[row]
        if squared:
            for j in range(n_items):
                gap = own - column[j]
                sums[j] += gap * gap
        else:
            for j in range(n_items):
                sums[j] += abs(own - column[j])


@jit
def fill_shared(columns, kept, start, squared, sums):
    """``sums[r]``: the sums over the columns `kept`, for row ``start + r``; O(n_kept n_items) per row."""
    for r in range(len(sums)):
        sums[r] = 0.0
        add_columns(columns, kept, start + r, squared, sums[r])


@jit
def fill_values(columns, shared, start, candidates, which, rows, squared, values):
    """``values[i]``: the shared sums of ``rows[i]``, and those over ``candidates[which[i]]``."""
    for i in range(len(values)):
        values[i] = shared[rows[i] - start]
        add_columns(columns, candidates[which[i]], rows[i], squared, values[i])


METRICS = ("euclidean", "sqeuclidean", "manhattan")
TOLERANCE = 1e-12
"""Admissible error of a score, relative to the largest one: the default of `complete_cv`."""
SCORE_BYTES = 2**26
"""Bytes of the samples' scores that are kept until the mean is taken."""
FEWEST_COPIES = 4


def as_table(X: Any, metric: str) -> Array:
    """The columns of X as the rows of an array, (n_features, n_items), scaled by a power of two.

    Raises
    ------
    ValueError, TypeError
        If X is not a table of finite real numbers with two columns or more, or the metric is no sum over
        the columns.
    """
    if metric not in METRICS:
        allowed = ", ".join(map(repr, METRICS))
        msg = f"metric must be one of {allowed}, whose distances are sums over the columns, got {metric!r}"
        raise ValueError(msg)
    data = check_features(X)
    check(data.shape[1] >= 2, f"X has n_features = {data.shape[1]}; a choice of columns needs at least 2")
    with warnings.catch_warnings(action="ignore"):  # `check_features` has warned
        prepared = ranking(data, metric, None)
    msg = f"X spans too many orders of magnitude for metric {metric!r}: squared differences vanish"
    check(prepared.kind, msg)
    return np.ascontiguousarray(prepared.data.T)


def column_problem(
    y: Any, n_items: int, variant: Any, cv: Any, average: Any, parameters: Mapping[str, Any]
) -> ScoringProblem:
    """The problem that all choices of columns share.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or the score is no mean over the samples.
    """
    problem = validate_problem(y, n_items, variant, cv, None, average, parameters)
    msg = f"cv={problem.design!r} leaves out groups, which is not served; take a design of samples"
    check(not problem.leaves_groups, msg)
    msg = f"y has 1 class, {problem.labels.classes.tolist()[0]!r}; a choice of columns needs at least 2"
    check(problem.variant.target != "classes" or len(problem.labels.classes) >= 2, msg)
    check_linear(problem, "a search")
    return problem


class ColumnScorer:
    """The exact score of choices of columns from a table.

    Parameters
    ----------
    columns : float64 ndarray of shape (n_columns, n_items)
        The columns of all candidates, each as a row.
    problem : ScoringProblem
        See `column_problem`.
    metric : {"euclidean", "sqeuclidean", "manhattan"}
    n_jobs : int, optional
        Threads.
    """

    def __init__(self, columns: Array, problem: ScoringProblem, metric: str, n_jobs: int | None) -> None:
        self.columns = columns
        self.n_items = columns.shape[1]
        self.n_scored = 0
        self.problem = problem
        self._n_jobs = n_jobs
        self._metric = metric
        self._squared = metric != "manhattan"
        # These neighbors tell the driver how ties are ordered; the lists come from `_lists`.
        self._stand_in = Neighbors.from_data(columns[:1].T, metric)
        self._scorer = block_scorer(problem, self._stand_in, TOLERANCE)
        self._depth = first_depth(problem, self._stand_in, TOLERANCE, self._scorer.fixed_tails)
        self._n_values = [len(np.unique(column)) for column in columns]
        weights = np.array([[float(w) for w in row] for row in problem.item_weights])
        self._weights = weights[:, problem.labels.codes]

    @property
    def sign(self) -> int:
        """1 if a larger score is better, otherwise -1."""
        return -1 if self.problem.is_loss else 1

    def scores(self, kept: Sequence[int], candidates: Sequence[Sequence[int]]) -> Array:
        """The scores of choices of columns.

        Parameters
        ----------
        kept : sequence of int
            The columns that all choices have, which come first in the sums.
        candidates : sequence of sequences of int
            The further columns of every choice, in the order of the sums; equally many for all.

        Returns
        -------
        float64 ndarray of shape (n_candidates,)
        """
        shared = np.array(kept, dtype=np.int64)
        further = np.array(candidates, dtype=np.int64).reshape(len(candidates), -1)
        at_once = max(SCORE_BYTES // self._weights.nbytes, 1)
        means = [
            self._scores_of(shared, further[start : start + at_once])
            for start in range(0, len(further), at_once)
        ]
        self.n_scored += len(further)
        return np.concatenate(means)

    def _scores_of(self, kept: Array, candidates: Array) -> Array:
        alike = np.array([self._alike(np.concatenate([kept, further])) for further in candidates])
        needed = alike == np.arange(self.n_items)
        found = np.zeros((len(self._weights), len(candidates), self.n_items))
        row_bytes = 8 * self.n_items
        height = min(max(FAST_BYTES // row_bytes, 1), self.n_items)
        abreast = max(FAST_BYTES // (row_bytes * height), 1)
        group = max(abreast, len(kept) // 4 + 1, 8)  # each group computes the shared sums again

        def score(piece: tuple[int, int]) -> None:
            start, first = piece
            stop = min(start + height, self.n_items)
            shared = np.empty((stop - start, self.n_items))
            fill_shared(self.columns, kept, start, self._squared, shared)
            for at in range(first, min(first + group, len(candidates)), abreast):
                end = min(at + abreast, first + group, len(candidates))
                which, rows = np.nonzero(needed[at:end, start:stop])
                if len(which):
                    which, rows = which + at, rows + start
                    values = np.empty((len(which), self.n_items))
                    fill_values(self.columns, shared, start, candidates, which, rows, self._squared, values)
                    found[:, which, rows] = self._row_scores(values, rows)

        pieces = [
            (start, first)
            for first in range(0, len(candidates), group)
            for start in range(0, self.n_items, height)
        ]
        for_each(score, pieces, self._n_jobs)
        weights, scores = self._weights[:, None], np.take_along_axis(found, alike[None], axis=2)
        parts = np.where(weights > 0, weights * scores, 0.0)
        return np.array([math.fsum(parts[:, c].ravel()) for c in range(len(candidates))])

    def _row_scores(self, values: Array, rows: Array) -> Array:
        """Scores (n_kinds, n_rows) from the values that order all samples for every row."""
        depth = self._depth
        scores, tails = self._from_lists(values, rows, depth)
        left = np.arange(len(rows))
        while depth < self.n_items - 1:
            left = left[(tails > TOLERANCE / 2).any(axis=0)]
            if not len(left):
                break
            depth = min(2 * depth, self.n_items - 1)
            scores[:, left], tails = self._from_lists(values[left], rows[left], depth)
        return scores

    def _from_lists(self, values: Array, rows: Array, depth: int) -> tuple[Array, Array]:
        lists = NeighborLists.of_full_rows(*nearest_of(values, rows, depth))
        lengths = usable_lengths(lists, self._stand_in, self._scorer.average_ties)
        return self._scorer.scores_and_tails(lists, lengths, rows)

    def _alike(self, chosen: Array) -> Array:
        """The sample whose score serves for each sample with these columns, (n_items,).

        It is looked for only if no column has too many different values.
        """
        itself = np.arange(self.n_items)
        if max(self._n_values[c] for c in chosen) * FEWEST_COPIES > self.n_items:
            return itself
        with warnings.catch_warnings(action="ignore"):
            neighbors = Neighbors.from_data(np.ascontiguousarray(self.columns[chosen].T), self._metric)
        alike = alike_samples(self.problem, neighbors)
        return itself if alike is None else alike
