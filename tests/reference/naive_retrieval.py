"""Retrieval scores by enumeration of all galleries and all orders of tied items, in Fractions."""

from __future__ import annotations

import collections
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


def law(query, distances, ids, strata, shots, pool, *, always=(), ties="index", others=None):
    """The chance of every ranking, a tuple of identities; `others`: how many of which are chosen."""
    found = collections.defaultdict(Fraction)
    number, choosable = others or (0, ())
    sets = (
        [None] if others is None else list(itertools.combinations(choosable, min(number, len(choosable))))
    )
    for chosen in sets:
        part = [i for i in pool if chosen is None or i in always or ids[i] in (query, *chosen)]
        drawn = list(galleries({i: strata[i] for i in part}, shots, always))
        for gallery in drawn:
            orders = list(rankings(gallery, distances, ties))
            for order in orders:
                found[tuple(ids[i] for i in order)] += Fraction(1, len(sets) * len(drawn) * len(orders))
    return found


def expected(score, query, chances):
    """The mean of ``score(ranking, query)``; None without a right item."""
    if not any(query in ranking for ranking in chances):
        return None
    return sum(chance * score(ranking, query) for ranking, chance in chances.items())


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


def ap_within(k, divisor):
    def score(ranking, query):
        ranks = right_ranks(ranking, query)
        terms = (Fraction(c, r) for c, r in enumerate(ranks, 1) if r <= k)
        return sum(terms, Fraction(0)) / divisor(k, len(ranks))

    return score


def cmc_of_every(by_identity, n=4):
    """The curve of every right item as if it were the only one."""

    def score(ranking, query):
        before = [v if by_identity else b for _, b, v in places(ranking, query)]
        shares = [Fraction(sum(b < r for b in before), len(before)) for r in range(1, n + 1)]
        return np.array(shares, dtype=object)

    return score


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
    "rbp": biased(Fraction(4, 5)),
    "rbp@0.75": biased(Fraction(3, 4)),
    "rbp@0.1": biased(Fraction(1, 10)),
    "ap@2/r": ap_within(2, lambda _, n_right: n_right),
    "ap@3/min": ap_within(3, min),
    "cmc_all_shots": cmc_of_every(by_identity=False),
}
IDENTITY = IMAGE | {
    "rr": reciprocal_of_identities,
    "cmc": cmc_of_identities,
    "cmc_all_shots": cmc_of_every(by_identity=True),
}


def places(ranking, query):
    """Right and wrong items before every right item, and the identities of the wrong ones."""
    for at, identity in enumerate(ranking):
        if identity == query:
            wrong = [other for other in ranking[:at] if other != query]
            yield at - len(wrong), len(wrong), len(set(wrong))


def of_reciprocal(form, by_identity):
    def term(a, b):
        below = form.c + a + b
        return (
            (Fraction(form.constant) + Fraction(form.slope) * a) / below if below else Fraction(form.at_top)
        )

    def score(ranking, query):
        found = [(a, b) for a, b, _ in places(ranking, query)]
        chosen = {"every": found, "first": found[:1], "last": found[-1:]}[form.of]
        if form.of == "first" and by_identity:
            chosen = [(a, v) for a, _, v in places(ranking, query)][:1]
        return sum(term(a, b) for a, b in chosen) / (len(found) if form.normalize == "R" else 1)

    return score


def of_at_rank(form, _):
    weights = [Fraction(weight) for weight in form.weights]

    def score(ranking, query):
        ranks = right_ranks(ranking, query)
        n, k = len(ranks), len(weights)
        divisors = {"1": 1, "k": k, "R": n, "min(k,R)": min(k, n), "ideal": sum(weights[: min(k, n)])}
        return sum((weights[r - 1] for r in ranks if r <= k), Fraction(0)) / divisors[form.normalize]

    return score


def of_first(form, by_identity):
    weights = collections.defaultdict(Fraction, enumerate(map(Fraction, form.weights)))

    def score(ranking, query):
        before = [v if by_identity else b for _, b, v in places(ranking, query)]
        values = [weights[n] for n in (before[:1] if form.of == "first" else before)]
        return sum(values) / len(values)

    return score


def of_table(form, _):
    def score(ranking, query):
        found = [(a, b) for a, b, _ in places(ranking, query)]
        rows, columns = form.phi.shape
        return sum(
            (Fraction(float(form.phi[a][b])) for a, b in found if a < rows and b < columns), Fraction(0)
        )

    return score


def of_form(form, by_identity):
    """A form of the user's own as a function of a ranking."""
    kinds = {"Reciprocal": of_reciprocal, "AtRank": of_at_rank, "First": of_first, "Table": of_table}
    return kinds[type(form).__name__](form, by_identity)


def scores_of(rank, convention):
    """Every built-in score, by name."""
    found = dict(IDENTITY if rank == "identity" else IMAGE)
    return found | ({"ap": ap_trapezoid} if convention == "trapezoid" else {})
