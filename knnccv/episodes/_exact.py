"""The score as a rational number: slow, for small problems."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np

from .._parallel import counted
from .._typing import Array
from ..neighbors import Neighbors
from ._distances import Distances
from ._exact_votes import vote_accuracy
from ._problem import Problem

Polynomial = list[Fraction]
"""Coefficients of the powers of z, the probability that a tied sample is farther."""


def exact_accuracies(
    problem: Problem, neighbors: Neighbors, n_neighbors: int, ties: str
) -> tuple[Fraction, ...]:
    """The expected accuracy of every sample as a query, as the mean over the ways and shots."""
    distances = Distances(neighbors, problem.order)
    found = [Fraction(0)] * len(problem.order)
    for at, x in counted(enumerate(problem.order), len(problem.order)):
        values = distances.in_order_of_rows(at, at + 1)[0]
        rows = [
            _accuracy(problem, values, int(x), shots, ties)
            if n_neighbors == 1
            else vote_accuracy(problem, values, int(x), shots, n_neighbors, ties)
            for shots in problem.shots.tolist()
        ]
        terms = [value for row in rows for value in row]
        found[int(x)] = sum(terms, Fraction(0)) / len(terms)
    return tuple(found)


def exact_mean(problem: Problem, per_item: tuple[Fraction, ...]) -> Fraction:
    """The mean over the classes of the means over their samples."""
    counts = problem.labels.counts.tolist()
    total = sum(
        (value / counts[c] for value, c in zip(per_item, problem.labels.codes.tolist(), strict=True)),
        Fraction(0),
    )
    return total / len(counts)


def _accuracy(problem: Problem, values: Array, x: int, shots: list[int], ties: str) -> list[Fraction]:
    """The expected accuracy of x for every number of ways of the episodes."""
    codes, counts = problem.labels.codes, problem.labels.counts.tolist()
    own_class, n_classes = int(codes[x]), len(counts)
    n_terms, n_shot = problem.episodes.ways[-1], shots[own_class]
    items = np.arange(len(codes))
    own = (codes == own_class) & (items != x)
    sums = [Fraction(0)] * n_terms
    for i in np.flatnonzero(own):
        if ties == "index":
            nearer = (values < values[i]) | ((values == values[i]) & (items < i))
            tied = np.zeros(len(codes), bool)
        else:
            nearer, tied = values < values[i], (values == values[i]) & (items != i)
        n_own = counts[own_class] - 1
        n_tied, n_nearer = int((own & tied).sum()), int((own & nearer).sum())
        factor = _none_nearer(n_own - 1 - n_tied - n_nearer, n_tied, n_nearer, n_shot - 1)
        polynomials: list[Polynomial] = [[Fraction(1)]] + [[Fraction(0)]] * (n_terms - 1)
        for c in range(n_classes):
            if c != own_class:
                among = codes == c
                among &= items != x
                n_tied, n_nearer = int((among & tied).sum()), int((among & nearer).sum())
                chance = _none_nearer(counts[c] - n_tied - n_nearer, n_tied, n_nearer, shots[c])
                for k in range(n_terms - 1, 0, -1):
                    polynomials[k] = _plus(polynomials[k], _times(chance, polynomials[k - 1]))
        for k in range(n_terms):
            sums[k] += Fraction(n_shot, n_own) * _integral(_times(factor, polynomials[k]))
    return [sums[way - 1] / comb(n_classes - 1, way - 1) for way in problem.episodes.ways]


def _none_nearer(n_behind: int, n_tied: int, n_nearer: int, n_drawn: int) -> Polynomial:
    """The probability that none of the drawn is nearer."""
    sets = comb(n_behind + n_tied + n_nearer, n_drawn)
    degree = min(n_tied, n_drawn)
    return [Fraction(comb(n_tied, j) * comb(n_behind, n_drawn - j), sets) for j in range(degree + 1)]


def _plus(one: Polynomial, other: Polynomial) -> Polynomial:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    return [value + shorter[j] if j < len(shorter) else value for j, value in enumerate(longer)]


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def _integral(polynomial: Polynomial) -> Fraction:
    """Over z from 0 to 1."""
    return sum((value / (j + 1) for j, value in enumerate(polynomial)), Fraction(0))
