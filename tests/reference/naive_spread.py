"""The variance of one run by enumeration of all runs, in Fractions; literal, for a few samples.

A run is one outcome of a `naive.Design`: one training set, or the training sets of a whole partition into
folds. Its score is a weighted sum over its tests, with the weights of `naive.classifications` for
average="pooled"; for the other averages every test of x has the same weight, such that the mean over all
runs is the complete score.
"""

from fractions import Fraction
from math import comb

import naive


def run_scores(D, y, variant, design, average="pooled", ties="index", **params):
    """Return the score of every outcome, a list of Fractions."""
    found = naive.scores(D, y, variant, design, ties, **params)
    weights = test_weights(y, design, average)
    return [
        sum(
            (
                weights[x, len(T)] * found[T, x]
                for T in outcome
                for x in range(design.n_items)
                if x not in T
            ),
            Fraction(0),
        )
        for outcome in design.outcomes
    ]


def test_weights(y, design, average):
    """Return {(x, size of T): weight of this test in the score of its run}."""
    if average == "pooled":
        pooled = {}
        for T, x, weight in naive.classifications(design):
            pooled[x, len(T)] = weight * len(design.outcomes)
        return pooled
    tested, sizes = {}, {}
    for outcome in design.outcomes:
        for T in outcome:
            for x in set(range(design.n_items)) - T:
                tested[x] = tested.get(x, 0) + Fraction(1, len(design.outcomes))
                sizes.setdefault(x, set()).add(len(T))
    weights = naive.item_weights(y, design, average)
    return {(x, size): weights[x] / tested[x] for x in tested for size in sizes[x]}


test_weights.__test__ = False


def variance(scores):
    """Return the mean squared deviation from the mean."""
    mean = sum(scores, Fraction(0)) / len(scores)
    return sum(((score - mean) ** 2 for score in scores), Fraction(0)) / len(scores)


def fixed_size_variance(D, y, alpha, loss=None):
    """Return the variance of one split into alpha training samples and the rest, for one nearest neighbor.

    For every two tested samples, and every two samples that may be their nearest, the training sets in
    which they are the nearest are counted by a binomial coefficient.
    """
    N = len(D)
    orders = [naive.neighbor_order(row, x)[0] for x, row in enumerate(D)]
    table = [[Fraction(naive.outcome_of(y[j], y, x, loss)) for j in range(N)] for x in range(N)]
    second = first = Fraction(0)
    for x in range(N):
        for x2 in range(N):
            others = set(range(N)) - {x, x2}
            sums = Fraction(0)
            own = [j for j in orders[x] if j in others]
            other = [j for j in orders[x2] if j in others]
            for i, p in enumerate(own):
                before_p = set(own[:i])
                for k, q in enumerate(other):
                    before = before_p.union(other[:k])
                    if p in before or q in before:
                        continue
                    free = len(others) - len(before) - len({p, q})
                    drawn = alpha - len({p, q})
                    if 0 <= drawn <= free:
                        sums += table[x][p] * table[x2][q] * comb(free, drawn)
            second += sums
            if x == x2:
                first += sum(
                    table[x][p] * comb(N - 2 - i, alpha - 1) for i, p in enumerate(own) if i <= N - 2
                )
    splits = comb(N, alpha)
    tested = N - alpha
    return second / splits / tested**2 - (first / splits / tested) ** 2
