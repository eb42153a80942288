"""Few-shot episodes by enumeration: all sets of classes, all supports, all orders of ties, in Fractions.

Nothing here uses a binomial coefficient. An episode chooses N of the classes, and of each chosen class c
``shots[c]`` samples that are not the query. A query is classified by a vote of its nearest supports. The
mean over episodes is the mean over the classes of the mean over their samples, since every class of an
episode gives as many queries and each sample is as likely to be one.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import naive


def share_right(D, y, x, supports, ties, n_neighbors=1):
    """The share of the orders of tied supports, and of tied votes, in which the query gets its class."""
    if ties == "index":
        ordered = sorted(supports, key=lambda j: (D[x][j], j))
        return share_of_votes(y, x, ordered[:n_neighbors])
    last = sorted(D[x][j] for j in supports)[n_neighbors - 1]
    certain = [j for j in supports if D[x][j] < last]
    tied = [j for j in supports if D[x][j] == last]
    return mean(
        share_of_votes(y, x, [*certain, *some]) for some in combinations(tied, n_neighbors - len(certain))
    )


def share_of_votes(y, x, voters):
    """1 if the class of x alone has the most votes, less if others have as many, 0 if one has more."""
    votes = Counter(y[j] for j in voters)
    first = [c for c in votes if votes[c] == max(votes.values())]
    return Fraction(int(y[x] in first), len(first))


def supports_of(y, x, n_way, shots, classes):
    """For every set of classes with that of x: all their supports, one tuple for each class."""
    for others in combinations([c for c in classes if c != y[x]], n_way - 1):
        pools = [[j for j in range(len(y)) if y[j] == c and j != x] for c in (y[x], *others)]
        drawn = (combinations(pool, shots[c]) for pool, c in zip(pools, (y[x], *others), strict=True))
        yield product(*drawn)


def query_accuracy(D, y, x, n_way, shots, ties, classes, n_neighbors=1):
    """The mean over the sets of other classes of the mean over the supports."""
    return mean(
        mean(share_right(D, y, x, [j for one in drawn for j in one], ties, n_neighbors) for drawn in every)
        for every in supports_of(y, x, n_way, shots, classes)
    )


def accuracies(D, y, n_way, shots, ties, classes=None, n_neighbors=1):
    """That of every sample of these classes (default: all), by its number."""
    classes = sorted(set(y)) if classes is None else classes
    asked = [x for x in range(len(y)) if y[x] in classes]
    return {x: query_accuracy(D, y, x, n_way, shots, ties, classes, n_neighbors) for x in asked}


def mean(values):
    """The mean of some Fractions."""
    return naive.mean(list(values))


def mean_of_classes(y, values):
    """The mean over the classes of the mean of their samples' values."""
    return mean(mean(value for x, value in values.items() if y[x] == c) for c in {y[x] for x in values})
