"""Scores of a rule that decides from one training set, by enumeration of all training sets and tie orders.

The rule is a plain function ``decide(near, distances, y, x)``: the K nearest training samples, the nearest
first, their distances to x, all labels, and the tested sample. It returns the score of x. Samples at equal
distances come in every order that the tie rule allows, each equally likely.
"""

from fractions import Fraction

import naive


def per_item(D, y, decide, n_nearest, design, ties="random", average="item"):
    """Return the list of A_x, the mean score of x when tested, None if x is never tested."""
    D, y = naive.plain(D), naive.plain(y)
    found = {}
    for T, x, groups_in_T in naive.tests(D, design):
        orders = naive.equally_likely_orders(groups_in_T, n_nearest, ties)
        near = [order[:n_nearest] for order in orders]
        found[T, x] = naive.mean([Fraction(decide(each, [D[x][j] for j in each], y, x)) for each in near])
    total, weight = [Fraction(0)] * design.n_items, [Fraction(0)] * design.n_items
    for T, x, w in naive.classifications(design):
        w = w if average == "pooled" else 1
        total[x] += w * found[T, x]
        weight[x] += w
    return [t / w if w else None for t, w in zip(total, weight, strict=True)]


def complete(D, y, decide, n_nearest, design, ties="random", average="pooled"):
    """Return the mean score over all training sets, with the weights of `naive.item_weights`."""
    scores = per_item(D, y, decide, n_nearest, design, ties, average)
    weights = naive.item_weights(y, design, average)
    return sum((w * a for w, a in zip(weights, scores, strict=True) if a is not None), Fraction(0))
