"""Few-shot episodes by enumeration: all sets of classes, all supports, all orders of ties, in Fractions.

Nothing here uses a binomial coefficient. An episode chooses N of the classes, and of each chosen class K
samples that are not the query. A query is classified by a vote of its nearest supports. The mean over
episodes is the mean over the classes of the mean over their samples, since every class of an episode gives
as many queries and each sample is as likely to be one.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product


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


def query_accuracy(D, y, x, n_way, n_shot, ties, classes=None, n_neighbors=1):
    """The mean over the sets of other classes of the mean over the supports."""
    classes = sorted(set(y)) if classes is None else classes
    others = [c for c in classes if c != y[x]]
    return mean(
        mean(
            share_right(D, y, x, [j for one in drawn for j in one], ties, n_neighbors)
            for drawn in product(*(combinations(pool, n_shot) for pool in pools_of(y, x, chosen)))
        )
        for chosen in combinations(others, n_way - 1)
    )


def pools_of(y, x, others):
    """The samples that may be drawn: those of the class of x without x, and those of each other class."""
    return [[j for j in range(len(y)) if y[j] == c and j != x] for c in (y[x], *others)]


def mean(values):
    """The mean of some Fractions."""
    values = list(values)
    common = math.lcm(*(value.denominator for value in values))
    total = sum(value.numerator * (common // value.denominator) for value in values)
    return Fraction(total, common * len(values))


def episode_score(D, y, n_way, n_shot, ties="random", classes=None):
    """The mean over all episodes of these classes (default: all of them)."""
    classes = sorted(set(y)) if classes is None else classes
    return mean(
        mean(query_accuracy(D, y, x, n_way, n_shot, ties, classes) for x in range(len(y)) if y[x] == c)
        for c in classes
    )
