"""The passes over all samples as queries: nearest supports, votes of several, and rational scores."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from .._parallel import counted, for_each, one_blas_thread
from .._typing import Array
from ..kernel import as_python
from ..neighbors import Neighbors
from ._problem import Distances, Problem
from ._rows import Block, Found, score_rows, score_tied_row
from ._votes import Vote, Walk, score_votes

LIMIT_HOURS = 2.0
SECONDS_PER_STEP = 1e-9  # of votes, measured on one processor
VOTES_AT_ONCE = 16  # rows


class Sums(NamedTuple):
    """Of every sample.

    ``polynomials`` (n_items, n_shots, n_terms) are sums over the choices of other classes, ``without``
    (n_items, n_classes) what the score without each class needs, if it is wanted. ``left_open`` is what
    samples beyond the lists could add to the first; it has no rows if all are compared.
    """

    polynomials: Array
    without: Array
    left_open: Array
    tied: Array

    @classmethod
    def zeros(cls, problem: Problem, by_lists: bool) -> Sums:
        """Before the pass."""
        n_items, n_classes = len(problem.order), len(problem.labels.counts)
        shape = (len(problem.shots), problem.n_terms)
        return cls(
            np.zeros((n_items, *shape)),
            np.zeros((n_items, n_classes * problem.jackknife)),
            np.zeros((n_items * by_lists, *shape)),
            np.zeros(n_items, bool),
        )


def nearest_supports(problem: Problem, neighbors: Neighbors, ties: str, n_jobs: int | None) -> Sums:
    """Score the nearest support."""
    plan, bounds = problem.plan(ties), problem.bounds

    def score_block(block: tuple[int, int, int]) -> None:
        own_class, begin, end = block
        rows = problem.order[begin:end]
        values, slack = distances.block(begin, end)
        values[np.arange(end - begin), np.arange(begin, end)] = np.inf
        own = np.sort(values[:, bounds[own_class] : bounds[own_class + 1]], axis=1)
        own = np.ascontiguousarray(own[:, :-1])
        given = Block(own_class, values, own, problem.own_weights(own_class), slack)
        shape = (end - begin, *sums.polynomials.shape[1:])
        found = Found(np.zeros(shape), np.zeros((end - begin, len(bounds) - 1)), np.zeros(shape))
        certain = np.zeros(end - begin, bool)
        if not distances.by_lists:
            score_rows(given, plan, found, certain)
        for r in np.flatnonzero(~certain).tolist():
            exact = distances.exact(begin + r, begin + r + 1)[0] if slack[r] > 0 else values[r]
            sums.tied[rows[r]] = score_tied_row(exact, rows[r], given, plan, found, r)
        sums.polynomials[rows] = found.sums
        if distances.by_lists:
            sums.left_open[rows] = found.left_open
        if problem.jackknife:
            sums.without[rows] = found.without

    with one_blas_thread():
        distances = Distances(neighbors, problem.order)
        sums = Sums.zeros(problem, distances.by_lists)
        size = distances.rows_at_once()
        blocks = [
            (c, begin, min(begin + size, int(bounds[c + 1])))
            for c in range(len(bounds) - 1)
            for begin in range(int(bounds[c]), int(bounds[c + 1]), size)
        ]
        for_each(score_block, blocks, n_jobs)
    return sums


def all_votes(
    problem: Problem, neighbors: Neighbors, n_neighbors: int, ties: str, n_jobs: int | None
) -> Sums:
    """Score votes of several supports, if they do not take too long.

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
    codes, counts, average = problem.labels.codes, problem.labels.counts, ties == "random"
    vote = Vote(counts, problem.shots, n_neighbors, average, 1.0)
    functional = problem.functional()

    def score_block(begin: int) -> None:
        end = min(begin + size, len(problem.order))
        values = distances.in_order_of_rows(begin, end)
        for row, tested in zip(values, problem.order[begin:end].tolist(), strict=True):
            row[tested] = -np.inf
            sums.tied[tested] = score_votes(row, codes, tested, vote, sums.polynomials[tested])
            for deleted in range(sums.without.shape[1]):
                if deleted != codes[tested]:
                    sums.without[tested, deleted] = score_without(row, tested, deleted)

    def score_without(row: Array, tested: int, deleted: int) -> float:
        kept, out = codes != deleted, np.zeros((len(problem.shots), len(functional)))
        shots = np.delete(problem.shots, deleted, axis=1)
        left = Vote(np.delete(counts, deleted), shots, n_neighbors, average, 1.0)
        place = int(kept[:tested].sum())
        score_votes(row[kept], codes[kept] - (codes[kept] > deleted), place, left, out)
        return float((out @ functional).sum())

    with one_blas_thread():
        distances = Distances(neighbors, problem.order)
        sums = Sums.zeros(problem, False)
        size = min(distances.rows_at_once(), VOTES_AT_ONCE)
        for_each(score_block, range(0, len(problem.order), size), n_jobs)
    return sums


def exact_accuracies(
    problem: Problem, neighbors: Neighbors, n_neighbors: int, ties: str
) -> tuple[Fraction, ...]:
    """The rational accuracy of every sample as a query, as the mean over the ways and shots."""
    distances, score = Distances(neighbors, problem.order), as_python(score_votes)
    score.__globals__["fill_votes"] = look_up_votes
    # With NumPy's integers Fractions would not stay exact.
    sizes, shots = problem.labels.counts.astype(object), problem.shots.astype(object)
    vote = Vote(sizes, shots, n_neighbors, ties == "random", Fraction(1))
    sets = [comb(len(sizes) - 1, way - 1) for way in problem.episodes.ways]
    found = [Fraction(0)] * len(problem.order)
    for at, x in counted(enumerate(problem.order.tolist()), len(problem.order)):
        values = distances.in_order_of_rows(at, at + 1)[0]
        values[x] = -np.inf
        sums = np.full((len(shots), problem.episodes.ways[-1]), Fraction(0))
        score(values, problem.labels.codes, x, vote, sums)
        terms = sums[:, [way - 1 for way in problem.episodes.ways]] / np.array(sets, dtype=object)
        found[x] = terms.sum() / terms.size
    return tuple(found)


def look_up_votes(walk: Walk, c: int, shots: Array, n_out: int, time: Fraction, law: Array) -> None:
    """`fill_votes` for Fractions, from laws that are kept."""
    nearer, tied = walk.nearer[c], walk.tied[c] - n_out
    behind = walk.available[c] - n_out - nearer - tied
    law[:] = votes_law(nearer, tied, behind, shots[c] - n_out, time, len(law))


@lru_cache(maxsize=2**16)
def votes_law(
    n_nearer: int, n_tied: int, n_behind: int, n_drawn: int, time: Fraction, length: int
) -> list[Fraction]:
    """The law of the nearer ones among the drawn, if a tied sample is with probability `time`."""
    law = [Fraction(0)] * (n_drawn + length)
    sets = comb(n_nearer + n_tied + n_behind, n_drawn)
    for a in range(n_drawn + 1):
        for m in range(n_drawn + 1 - a):
            share = Fraction(comb(n_nearer, a) * comb(n_tied, m) * comb(n_behind, n_drawn - a - m), sets)
            for up in range(m + 1) if share else ():
                law[a + up] += share * comb(m, up) * time**up * (1 - time) ** (m - up)
    return law[:length]


def exact_mean(problem: Problem, per_item: tuple[Fraction, ...]) -> Fraction:
    """The mean over the classes of the means over their samples."""
    counts, codes = problem.labels.counts.tolist(), problem.labels.codes.tolist()
    total = sum((value / counts[c] for value, c in zip(per_item, codes, strict=True)), Fraction(0))
    return total / len(counts)


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
