"""Retrieval scores by enumeration of all galleries and all orders of tied items, in Fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def galleries(strata, shots, always):
    """All galleries, as lists of items; equally likely."""
    cells = {}
    for item, stratum in strata.items():
        cells.setdefault((stratum, item in always), []).append(item)
    choices = []
    for (_, sure), members in cells.items():
        n_drawn = len(members) if sure or not shots else min(shots, len(members))
        choices.append(list(itertools.combinations(members, n_drawn)))
    for parts in itertools.product(*choices):
        yield [item for part in parts for item in part]


def rankings(items, distances, ties):
    """All orders of the items; equally likely."""
    items = sorted(items, key=lambda i: (distances[i], i))
    if ties == "index":
        yield items
        return
    groups = [list(group) for _, group in itertools.groupby(items, key=lambda i: distances[i])]
    for parts in itertools.product(*[itertools.permutations(group) for group in groups]):
        yield [item for part in parts for item in part]


def expected(score, query, distances, ids, strata, shots, pool, *, always=(), ties="index"):
    """The mean of ``score(ranking, ids, query)`` over galleries and orders; None without a right item."""
    if not any(ids[i] == query for i in pool):
        return None
    total, n_galleries = 0, 0
    for gallery in galleries({i: strata[i] for i in pool}, shots, always):
        values = [score([ids[i] for i in order], query) for order in rankings(gallery, distances, ties)]
        total = total + sum(values) / Fraction(len(values))
        n_galleries += 1
    return total / n_galleries


def expected_of_chosen(score, query, n_chosen, choosable, distances, ids, strata, shots, pool, **options):
    """As `expected`, also the mean over the sets of `n_chosen` of the choosable identities."""
    always = options.get("always", ())
    values = []
    for chosen in itertools.combinations(sorted(choosable), min(n_chosen, len(choosable))):
        part = [i for i in pool if i in always or ids[i] == query or ids[i] in chosen]
        values.append(expected(score, query, distances, ids, strata, shots, part, **options))
    return None if values[0] is None else sum(values) / Fraction(len(values))


def hits(ranking, query):
    return [identity == query for identity in ranking]


def right_ranks(ranking, query):
    """Ranks of the right items, from 1."""
    return [r for r, hit in enumerate(hits(ranking, query), 1) if hit]


def ap(ranking, query):
    ranks = right_ranks(ranking, query)
    return sum(Fraction(c, r) for c, r in enumerate(ranks, 1)) / len(ranks)


def ap_trapezoid(ranking, query):
    ranks = right_ranks(ranking, query)
    before = [Fraction(c, r - 1) if r > 1 else Fraction(1) for c, r in enumerate(ranks)]
    both = [Fraction(c + 1, r) + b for (c, r), b in zip(enumerate(ranks), before, strict=True)]
    return sum(both) / 2 / len(ranks)


def reciprocal(ranking, query):
    return Fraction(1, right_ranks(ranking, query)[0])


def inverse(ranking, query):
    ranks = right_ranks(ranking, query)
    return Fraction(len(ranks), ranks[-1])


def once(ranking):
    """Every identity at its first place."""
    return list(dict.fromkeys(ranking))


def reciprocal_of_identities(ranking, query):
    return reciprocal(once(ranking), query)


def cmc(ranking, query, n=4):
    first = right_ranks(ranking, query)[0]
    return np.array([Fraction(int(first <= r)) for r in range(1, n + 1)], dtype=object)


def cmc_of_identities(ranking, query):
    return cmc(once(ranking), query)


def precision(k):
    return lambda ranking, query: Fraction(sum(hits(ranking, query)[:k]), k)


def recall(k):
    return lambda ranking, query: Fraction(sum(hits(ranking, query)[:k]), sum(hits(ranking, query)))


def r_precision(ranking, query):
    n_right = sum(hits(ranking, query))
    return Fraction(sum(hits(ranking, query)[:n_right]), n_right)


def map_at_r(ranking, query):
    ranks = right_ranks(ranking, query)
    terms = (Fraction(c, r) for c, r in enumerate(ranks, 1) if r <= len(ranks))
    return sum(terms, Fraction(0)) / len(ranks)


def ndcg(k):
    def gain(r):
        return Fraction(1 / math.log2(1 + r))

    def score(ranking, query):
        ranks = right_ranks(ranking, query)
        ideal = sum(gain(r) for r in range(1, min(k, len(ranks)) + 1))
        return sum((gain(r) for r in ranks if r <= k), Fraction(0)) / ideal

    return score


def biased(p):
    return lambda ranking, query: sum((1 - p) * p ** (r - 1) for r in right_ranks(ranking, query))


IMAGE = {
    "ap": ap,
    "rr": reciprocal,
    "inp": inverse,
    "cmc": cmc,
    "precision@1": precision(1),
    "precision@3": precision(3),
    "recall@2": recall(2),
    "r_precision": r_precision,
    "map@r": map_at_r,
    "ndcg@3": ndcg(3),
    "rbp@0.75": biased(Fraction(3, 4)),
}
IDENTITY = IMAGE | {"rr": reciprocal_of_identities, "cmc": cmc_of_identities}
