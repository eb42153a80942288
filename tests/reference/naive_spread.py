"""The variance of one run by enumeration of all runs, in Fractions; literal, for a few samples.

A run is one outcome of a `naive.Design`: one training set, or the training sets of a whole partition into
folds. Its score is a weighted sum over its tests, with the weights of `naive.classifications` for
average="pooled"; for the other averages every test of x has the same weight, such that the mean over all
runs is the complete score.
"""

from fractions import Fraction

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
