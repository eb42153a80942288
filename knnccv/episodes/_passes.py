"""One problem with its tables, and the passes over all samples as queries.

Nearest supports, and votes of several, from distances of blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from .._base.labels import EncodedLabels
from .._base.parallel import for_each, one_blas_thread
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import usable_lengths
from ..neighbors import Neighbors
from ._episodes import Episodes
from ._rows import Block, Found, Plan, Vote, score_rows, score_tied_row, score_votes

BLOCK_BYTES = 2**24
FEWEST_ROWS, MOST_ROWS = 16, 512
MANY_CLASSES = 100
"""All numbers of ways cost (n_classes - 1)^2 per pair of samples of a class, so by default not beyond."""
MOST_CLASSES = 1000
"""Beyond, a binomial coefficient of all ways overflows."""
MOST_SETS = 10**300
"""Beyond, numbers of sets of classes overflow double precision."""
LIMIT_HOURS = 2.0
SECONDS_PER_STEP = 1e-9  # of votes, measured on one processor
VOTES_AT_ONCE = 16  # rows


@dataclass(frozen=True)
class Problem:
    """Episodes of some classes, and what the compiled functions need for every row."""

    labels: EncodedLabels
    episodes: Episodes
    plan: Plan

    @classmethod
    def of(
        cls, labels: EncodedLabels, episodes: Episodes, ties: str, *, all_ways: bool, jackknife: bool
    ) -> Problem:
        """Sort the samples by class and fill the tables.

        Raises
        ------
        ValueError
            If the sets of classes are too many for double precision.
        """
        counts = labels.counts
        n_classes = len(counts)
        n_terms = n_classes if all_ways else episodes.ways[-1]
        _check_sets(n_classes, n_terms)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        shots = episodes.shots_of(labels)
        tables = np.array([np.concatenate([*map(none_nearer, counts, row)]) for row in shots])
        functional = np.zeros(episodes.ways[-1] if jackknife else 0)
        if jackknife:  # for the mean over the ways
            sets = binomials(n_classes - 2, len(functional))
            for way in episodes.ways:
                functional[way - 1] = 1 / (len(episodes.ways) * sets[way - 1])
        items = np.argsort(labels.codes, kind="stable")
        plan = Plan(items, bounds, tables, shots, n_terms, functional, ties == "random")
        return cls(labels, episodes, plan)

    def own_weights(self, own_class: int) -> Array:
        """The probability that own sample i is drawn and the nearest of the drawn, (n_shots, n_own)."""
        n, shots = int(self.labels.counts[own_class]) - 1, self.plan.shots[:, own_class].tolist()
        return np.array([none_nearer(n - 1, shot - 1, shot / n) for shot in shots])


def none_nearer(n: int, n_drawn: int, weight: float = 1.0) -> Array:
    """The probability that none of the drawn is among the g nearest of n samples, for g from 0 to n.

    ``C(n - g, K) / C(n, K)`` as a product of K factors, times the weight.
    """
    values = np.full(n + 1, weight)
    for k in range(n_drawn):
        values *= np.maximum(n - np.arange(n + 1) - k, 0) / (n - k)
    return values


def binomials(n: int, n_terms: int) -> Array:
    """C(n, k) for k < n_terms, as floats."""
    values = np.ones(n_terms)
    for k in range(1, n_terms):
        values[k] = values[k - 1] * (n - k + 1) / k
    return values


def choose_all_ways(all_ways: Any, n_classes: int, *, by_default: bool) -> bool:
    """Whether all ways are computed; `by_default` only where there are few classes.

    Raises
    ------
    TypeError, ValueError
        If `all_ways` is neither None nor a bool, or is True for too many classes.
    """
    if all_ways is None:
        return by_default and n_classes <= MANY_CLASSES
    must = "all_ways must be True, False or None"
    check(isinstance(all_ways, (bool, np.bool_)), must, all_ways, TypeError)
    msg = f"all_ways=True serves up to {MOST_CLASSES} classes, got {n_classes}; give all_ways=False"
    check(not (all_ways and n_classes > MOST_CLASSES), msg)
    return bool(all_ways)


def _check_sets(n_classes: int, n_way: int) -> None:
    """Raise ValueError if a query's class can be drawn with too many sets of other classes."""
    others = n_classes - 1
    if comb(others, min(n_way - 1, others // 2)) > MOST_SETS:
        most = next(k for k in range(others) if comb(others, k) > MOST_SETS)
        msg = (
            f"n_way must be at most {most} for {n_classes} classes, since the numbers of sets of classes "
            f"overflow double precision beyond, got {n_way}"
        )
        raise ValueError(msg)


def products(data: Array, order: Array) -> tuple[Array, Array, Array]:
    """Factors whose products order all samples for every row, as squared euclidean distances do.

    ``|y|^2 - 2 x.y`` differs from the squared distance by a constant of the row. It is computed in double
    precision, from centered data. Distances whose products differ by more than `slack` are in the same
    order as those of `Neighbors.values`.

    Returns
    -------
    left, right : float64 ndarray of shape (n_items, n_features + 1)
        ``left[x] @ right[y]`` is the product for the samples in this order.
    slack : float64 ndarray of shape (n_items,)
        For every row.
    """
    center = data.mean(axis=0, dtype=np.float64)
    integers = bool((np.rint(data) == data).all())
    if integers:
        center = np.rint(center)
    centered = data[order] - center
    shift = int(np.frexp(np.abs(centered).max())[1])
    centered = np.ldexp(centered, -shift)
    squares = np.einsum("ij,ij->i", centered, centered)
    left = np.column_stack([centered, np.ones(len(data))])
    right = np.column_stack([-2 * centered, squares])
    longest = float(squares.max())
    if integers and shift <= 24 and 8 * longest * 4.0**shift < 2**53:
        return left, right, np.zeros(len(data))  # integers times a power of two: nothing is rounded
    # Rounding of the centered data, of the sums of n_features + 1 products in any order, and of the
    # distances as differences; all of it for both of the distances that are compared.
    unit = 2.0**-53 * (4 * data.shape[1] + 40)
    slack = unit * (np.sqrt(squares) + np.sqrt(longest)) ** 2 + 1e-300
    return left, right, slack


class Distances:
    """Values that order all samples for blocks of rows.

    Parameters
    ----------
    neighbors : Neighbors
    order : int64 ndarray of shape (n_items,)
        The samples class by class: the order of the columns.

    Attributes
    ----------
    by_lists : bool
        Whether the values come from neighbor lists. Those of samples beyond a list are infinite.

    Raises
    ------
    ValueError
        If the neighbors are approximate.
    """

    def __init__(self, neighbors: Neighbors, order: Array) -> None:
        self._neighbors = neighbors
        self._order = order
        self._products: tuple[Array, Array, Array] | None = None
        msg = f"{neighbors!r} are approximate, but episodes need the exact order of the samples"
        check(not neighbors.approximate, msg)
        self.by_lists = not neighbors.sees_all
        vectors = None if self.by_lists else neighbors.vectors()
        if vectors is not None:
            self._products = products(vectors, order)

    def block(self, begin: int, end: int) -> tuple[Array, Array]:
        """Values of the rows ``order[begin:end]``, in the order of the columns, and their slack."""
        if self._products is None:
            return self.exact(begin, end), np.zeros(end - begin)
        left, right, slack = self._products
        return left[begin:end] @ right.T, slack[begin:end]

    def exact(self, begin: int, end: int) -> Array:
        """Exact values of the rows ``order[begin:end]``, in the order of the columns."""
        rows = self._order[begin:end]
        if self._neighbors.sees_all:
            return np.ascontiguousarray(self._neighbors.values(rows)[:, self._order])
        depth = self._neighbors.max_depth
        lists = self._neighbors.search(rows, depth)
        values = np.full((len(rows), self._neighbors.n_items), np.inf)
        lengths = usable_lengths(lists, self._neighbors, average_ties=True)
        for row, items, known, length in zip(values, lists.items, lists.values, lengths, strict=True):
            row[items[:length]] = known[:length]
        return np.ascontiguousarray(values[:, self._order])

    def in_order_of_rows(self, begin: int, end: int) -> Array:
        """Exact values of the rows ``order[begin:end]``, with the columns in the order of the samples.

        Raises
        ------
        ValueError
            If a list does not hold all samples.
        """
        values = np.empty((end - begin, self._neighbors.n_items))
        values[:, self._order] = self.exact(begin, end)
        if self.by_lists and (np.isinf(values).sum(axis=1) > 1).any():
            raise ValueError(too_short(self._neighbors))
        return values


def too_short(neighbors: Neighbors) -> str:
    """The message where lists of the nearest samples do not suffice."""
    return (
        f"the lists of {neighbors!r} are too short: jackknife and votes need the order of all "
        f"{neighbors.n_items - 1} other samples; pass complete lists, features or distances"
    )


Score = Callable[["Distances", Found, int, int, int], None]
"""``score(distances, found, own_class, begin, end)`` fills in rows of one class, class by class."""


def over_rows(
    problem: Problem, neighbors: Neighbors, score: Score, most_rows: int, n_jobs: int | None
) -> Found:
    """What a function of blocks finds for all samples, in their order."""
    plan, bounds = problem.plan, problem.plan.bounds.tolist()
    n_items, n_classes = len(plan.items), len(bounds) - 1
    with one_blas_thread():
        distances = Distances(neighbors, plan.items)
        sums = np.zeros((n_items, len(plan.shots), plan.n_terms))
        without = np.zeros((n_items, n_classes if len(plan.functional) else 0))
        left_open = np.zeros_like(sums) if distances.by_lists else sums[:0]
        found = Found(sums, without, left_open, np.zeros(n_items, bool))
        size = min(max(BLOCK_BYTES // (8 * n_items), FEWEST_ROWS), most_rows)
        blocks = [
            (c, begin, min(begin + size, bounds[c + 1]))
            for c in range(n_classes)
            for begin in range(bounds[c], bounds[c + 1], size)
        ]
        for_each(lambda block: score(distances, found, *block), blocks, n_jobs)
    back = np.argsort(plan.items)
    return Found(*(part[back] if len(part) else part for part in found))


def nearest_supports(problem: Problem, neighbors: Neighbors, n_jobs: int | None) -> Found:
    """Score the nearest support."""
    plan, bounds = problem.plan, problem.plan.bounds

    def score(distances: Distances, found: Found, own_class: int, begin: int, end: int) -> None:
        values, slack = distances.block(begin, end)
        values[np.arange(end - begin), np.arange(begin, end)] = np.inf
        own = np.sort(values[:, bounds[own_class] : bounds[own_class + 1]], axis=1)
        own = np.ascontiguousarray(own[:, :-1])
        others = np.delete(np.arange(len(bounds) - 1), own_class)
        block = Block(own_class, others, values, own, problem.own_weights(own_class), slack)
        some = Found(*(part[begin:end] for part in found))
        certain = np.zeros(end - begin, bool)
        if not distances.by_lists:
            score_rows(block, plan, some, certain)
        for r in np.flatnonzero(~certain).tolist():
            row = distances.exact(begin + r, begin + r + 1)[0] if slack[r] > 0 else values[r]
            row[begin + r] = np.inf
            score_tied_row(row, block, plan, some, r)

    return over_rows(problem, neighbors, score, MOST_ROWS, n_jobs)


def all_votes(problem: Problem, neighbors: Neighbors, n_neighbors: int, n_jobs: int | None) -> Found:
    """Score votes of several supports, if they do not take too long.

    Raises
    ------
    ValueError
        If this would take more than `LIMIT_HOURS` of one processor.
    """
    plan = problem.plan
    hours = hours_of_votes(problem, n_neighbors)
    msg = (
        f"votes of {n_neighbors} supports for {len(plan.items)} samples would take about "
        f"{hours:.0f} hours of one processor (limit: {LIMIT_HOURS:g}). Possible: n_neighbors=1, which "
        "takes seconds; fewer samples of every class; one number of ways and shots; or no jackknife"
    )
    check(hours <= LIMIT_HOURS, msg)
    codes, counts, average = problem.labels.codes, problem.labels.counts, plan.average_ties
    vote = Vote(counts, plan.shots, n_neighbors, average)

    def score(distances: Distances, found: Found, own_class: int, begin: int, end: int) -> None:
        for at, row in enumerate(distances.in_order_of_rows(begin, end), begin):
            tested = int(plan.items[at])
            row[tested] = -np.inf
            found.tied[at] = score_votes(row, codes, tested, vote, found.sums[at])
            for deleted in range(found.without.shape[1]):
                if deleted != own_class:
                    found.without[at, deleted] = score_without(row, tested, deleted)

    def score_without(row: Array, tested: int, deleted: int) -> float:
        kept, out = codes != deleted, np.zeros((len(plan.shots), len(plan.functional)))
        shots = np.delete(plan.shots, deleted, axis=1)
        left = Vote(np.delete(counts, deleted), shots, n_neighbors, average)
        place = int(kept[:tested].sum())
        score_votes(row[kept], codes[kept] - (codes[kept] > deleted), place, left, out)
        return float((out @ plan.functional).sum())

    return over_rows(problem, neighbors, score, VOTES_AT_ONCE, n_jobs)


def hours_of_votes(problem: Problem, n_neighbors: int) -> float:
    """About how many hours of one processor the votes take."""
    plan, n_classes = problem.plan, len(problem.labels.counts)
    lefts = ((t, n_neighbors - t) for t in range(1, n_neighbors + 1))
    steps = sum((left + 1) * (left // t + 1) * (min(t, left) + 2) for t, left in lefts)
    steps *= n_classes * (plan.n_terms - 1) * len(plan.shots)
    if len(plan.functional):
        steps *= n_classes
    return float(len(plan.items) ** 2 * steps * SECONDS_PER_STEP / 3600)
