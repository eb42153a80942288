"""The score as a rational number: `_votes` in Fractions, without its recurrences; for small problems."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from math import comb

from .._parallel import counted
from .._typing import Array
from ..neighbors import Neighbors
from ..sampling import tie_times
from ._problem import Distances, Problem


def exact_accuracies(
    problem: Problem, neighbors: Neighbors, n_neighbors: int, ties: str
) -> tuple[Fraction, ...]:
    """The expected accuracy of every sample as a query, as the mean over the ways and shots."""
    distances = Distances(neighbors, problem.order)
    found = [Fraction(0)] * len(problem.order)
    for at, x in counted(enumerate(problem.order.tolist()), len(problem.order)):
        values = distances.in_order_of_rows(at, at + 1)[0]
        terms = [
            value
            for shots in problem.shots.tolist()
            for value in vote_accuracy(problem, values, x, shots, n_neighbors, ties)
        ]
        found[x] = sum(terms, Fraction(0)) / len(terms)
    return tuple(found)


def exact_mean(problem: Problem, per_item: tuple[Fraction, ...]) -> Fraction:
    """The mean over the classes of the means over their samples."""
    counts, codes = problem.labels.counts.tolist(), problem.labels.codes.tolist()
    total = sum((value / counts[c] for value, c in zip(per_item, codes, strict=True)), Fraction(0))
    return total / len(counts)


def vote_accuracy(
    problem: Problem, values: Array, x: int, shots: list[int], n_neighbors: int, ties: str
) -> list[Fraction]:
    """The expected accuracy of sample x for every number of ways of the episodes.

    ``values`` are its distances to all samples, in their order; ``shots`` the supports of every class.
    """
    codes, available = problem.labels.codes.tolist(), problem.labels.counts.tolist()
    own_class, n_classes, n_terms = codes[x], len(available), problem.episodes.ways[-1]
    available[own_class] -= 1
    others = sorted((j for j in range(len(codes)) if j != x), key=lambda j: (values[j], j))
    groups = [[j] for j in others]
    if ties == "random":
        groups = [list(group) for _, group in groupby(others, key=lambda j: float(values[j]))]
    nearer, sums = [0] * n_classes, [Fraction(0)] * n_terms
    for group in groups:
        tied = [sum(codes[j] == c for j in group) for c in range(n_classes)]
        behind = [n - g - t for n, g, t in zip(available, nearer, tied, strict=True)]
        degree = min(sum(map(min, tied, shots)), len(group) - 1)
        last_voters = [c for c in range(n_classes) if tied[c] and (n_neighbors > 1 or c == own_class)]
        for time, weight in zip(*tie_times(degree + 1, Fraction(1)), strict=True) if last_voters else ():
            each = zip(nearer, tied, behind, shots, strict=True)
            laws = [_law(g, t, b, k, time, n_neighbors) for g, t, b, k in each]
            for last in last_voters:
                drawn = _law(nearer[last], tied[last] - 1, behind[last], shots[last] - 1, time, n_neighbors)
                chance = weight * Fraction(tied[last] * shots[last], available[last])
                won = _wins(n_neighbors, own_class, last, laws, drawn, n_terms)
                sums = [value + chance * term for value, term in zip(sums, won, strict=True)]
        nearer = [g + t for g, t in zip(nearer, tied, strict=True)]
    return [sums[way - 1] / comb(n_classes - 1, way - 1) for way in problem.episodes.ways]


def _wins(
    n_neighbors: int, own: int, last: int, laws: list[list[Fraction]], drawn: list[Fraction], n_terms: int
) -> list[Fraction]:
    """The probability of a right vote whose last voter is of class `last`, for each number of others.

    ``ways[y, z, v]``: y other classes with z votes in all, v of them with as many as the own class.
    """
    sums = [Fraction(0)] * n_terms
    for t in range(1, n_neighbors + 1):
        law = [Fraction(0), *drawn] if last == own else laws[own]  # the last voter is a vote for its class
        if t >= len(law) or not law[t]:
            continue
        ways = {(0, 0, 0): law[t]}
        for c in range(len(laws)):
            if c == own:
                continue
            votes = [Fraction(0), *drawn] if c == last else laws[c]
            found = {} if c == last else dict(ways)  # a class with the last voter is in the episode
            for (y, z, v), chance in ways.items():
                for b, share in enumerate(votes[: t + 1]):
                    key = (y + 1, z + b, v + (b == t))
                    if share and key[0] < n_terms and key[1] <= n_neighbors - t:
                        found[key] = found.get(key, Fraction(0)) + chance * share
            ways = found
        for (y, z, v), chance in ways.items():
            if z == n_neighbors - t:
                sums[y] += chance / (1 + v)
    return sums


@lru_cache(maxsize=2**16)
def _law(
    n_nearer: int, n_tied: int, n_behind: int, n_drawn: int, time: Fraction, most: int
) -> list[Fraction]:
    """The law of up to `most` nearer ones among the drawn, if a tied sample is with probability `time`."""
    law = [Fraction(0)] * (n_drawn + 1)
    sets = comb(n_nearer + n_tied + n_behind, n_drawn)
    for a in range(n_drawn + 1):
        for m in range(n_drawn + 1 - a):
            share = Fraction(comb(n_nearer, a) * comb(n_tied, m) * comb(n_behind, n_drawn - a - m), sets)
            for up in range(m + 1) if share else ():
                law[a + up] += share * comb(m, up) * time**up * (1 - time) ** (m - up)
    return law[: most + 1]
