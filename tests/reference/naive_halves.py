"""Scores of halves by enumeration, and the halvings of a few samples, all of them.

The sizes of training sets within a half are written here once more, from their definition: the same share
of the half is tested, at least one sample; training sets of at most a tenth of the samples keep their size.
"""

from fractions import Fraction
from itertools import combinations

import naive


def train_size(N, alpha, n):
    """Return the training size in a half of n samples."""
    if 10 * alpha <= N:
        return alpha
    return n - max(1, min(n - 1, round(Fraction((N - alpha) * n, N))))


def part(D, y, rows):
    """Return the distances and labels of some samples."""
    return [[D[i][j] for j in rows] for i in rows], [y[i] for i in rows]


def score(D, y, rows, variant, make_design, average, ties, **params):
    """Return the complete score of the samples `rows`; make_design(labels) gives the half's design."""
    distances, labels = part(D, y, rows)
    if params.get("loss") is not None:  # naive numbers the classes that are there
        known, there = sorted(set(y)), sorted(set(labels))
        at = [known.index(label) for label in there]
        params["loss"] = [[params["loss"][a][b] for b in at] for a in at]
    return naive.complete(distances, labels, variant, make_design(labels), average, ties, **params)


def all_halvings(N):
    """Return all ordered pairs of disjoint halves of N samples."""
    n = N // 2
    return [
        (first, second)
        for first in combinations(range(N), n)
        for second in combinations([x for x in range(N) if x not in first], n)
    ]


def variance(pairs):
    """Return a quarter of the mean squared difference of the pairs of scores."""
    return sum(((a - b) ** 2 for a, b in pairs), Fraction(0)) / (4 * len(pairs))
