"""Shapley values of nearest-neighbor votes by their definition, in Fractions."""

import itertools
import math
from fractions import Fraction


def share_of_right(flags, k):
    """The utility of a training set: right ones among its K nearest, divided by K."""
    return Fraction(sum(flags[:k]), k)


def shapley(flags, k):
    """Values of samples in this order, by all subsets; `flags` tells which are right."""
    n = len(flags)
    values = [Fraction(0)] * n
    for subset in itertools.product((False, True), repeat=n):
        size = sum(subset)
        utility = share_of_right([flag for flag, taken in zip(flags, subset, strict=True) if taken], k)
        for j in range(n):
            if subset[j]:
                share = Fraction(math.factorial(size - 1) * math.factorial(n - size), math.factorial(n))
            else:
                share = -Fraction(math.factorial(size) * math.factorial(n - size - 1), math.factorial(n))
            values[j] += share * utility
    return values


def of_one_test(distances, right, k, ties):
    """Values of training samples for one tested sample: the mean over the orders of tied samples."""
    groups = [
        [j for j, value in enumerate(distances) if value == distance] for distance in sorted(set(distances))
    ]
    orders = [list(itertools.permutations(g)) if ties == "random" else [tuple(g)] for g in groups]
    values = [Fraction(0)] * len(distances)
    count = math.prod(len(order) for order in orders)
    for chosen in itertools.product(*orders):
        order = [j for group in chosen for j in group]
        for j, value in zip(order, shapley([right[j] for j in order], k), strict=True):
            values[j] += value / count
    return values


def leave_one_out(distances, y, k, ties):
    """Means over the samples, each tested on all others."""
    n = len(y)
    values = [Fraction(0)] * n
    for x in range(n):
        others = [j for j in range(n) if j != x]
        found = of_one_test([distances[x][j] for j in others], [int(y[j] == y[x]) for j in others], k, ties)
        for j, value in zip(others, found, strict=True):
            values[j] += value / n
    return values


def of_tests(distances, y_test, y, k, ties):
    """Means over other tested samples."""
    values = [Fraction(0)] * len(y)
    for row, label in zip(distances, y_test, strict=True):
        for j, value in enumerate(of_one_test(row, [int(own == label) for own in y], k, ties)):
            values[j] += value / len(y_test)
    return values
