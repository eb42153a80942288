"""What a right item adds to the sums of a query, and the scores that follow from them.

All forms are linear in few sums over the right items. A score that divides by a rank is an integral over
the generating function of the number of wrong items before them; others are sums over laws.
"""

from __future__ import annotations

import numpy as np

from ...kernel import inner
from .tables import EACH, FIRST, FIRSTS, LAST, PRECISIONS, Room, Sums


@inner
def nothing_yet(met, relevant, plan):
    """Sums of nothing for a query with this number of right items, scratch, and the length of its laws."""
    length, n_ranks, n_rows, n_columns = plan.length, plan.ranks, 0, 0
    if plan.follows:
        length, n_ranks = max(length, relevant), max(n_ranks, relevant)
    for f in range(len(plan.places)):
        row = plan.row_of[relevant]
        n_rows = max(n_rows, min(plan.places[f, row, 1], relevant))
        n_columns = max(n_columns, plan.places[f, row, 2])
    length, n_nodes = max(length, n_columns), len(plan.nodes)
    sums = Sums(
        np.zeros((relevant, n_nodes if plan.integrals else 0)),
        np.zeros(n_nodes if plan.identity_integrals else 0),
        np.zeros((4, max(length, plan.ahead))),
        n_ranks,
        np.zeros((n_rows, n_columns)),
    )
    widest = 0
    for size in met.strata.sizes:
        widest = max(widest, size)
    table = np.zeros((4, max(widest + 1, length + 4, plan.ahead + 4, relevant + 4)))
    none, n_own = np.zeros(len(met.strata.sizes) + 4), len(met.family)
    kept, known = np.zeros((n_own, widest + 1)), np.zeros(n_own, np.int64)
    return sums, Room(table[0], table[1], table[2], table[3], none, kept, known), length


@inner
def contribute(mine, weight, images, identities, others, counted, plan, sums):
    """Add a right item that is drawn with this weight, or several with the same laws.

    Parameters
    ----------
    mine : ndarray of shape (R,)
        Law of the number of right items before it.
    images, identities : ndarray
        Generating functions of the numbers of wrong images, and of identities, before it.
    others, counted : ndarray
        Laws of the number of wrong images, and of what ranks of first items count; empty if negligible.
    """
    for k in range(len(sums.identities)):
        sums.identities[k] += weight * mine[0] * identities[k]
    for a in range(len(mine)):
        share, row = weight * mine[a], sums.images[a]
        if share == 0.0:
            continue
        for k in range(len(row)):
            row[k] += share * images[k]
        for law in range(PRECISIONS + 1):
            row, times = sums.laws[law], share * (1 + a if law == PRECISIONS else 1)
            for b in range(min(len(others), sums.n_ranks - a) if plan.wanted[law] else 0):
                row[a + b] += times * others[b]
        for b in range(min(len(others), sums.pairs.shape[1]) if a < len(sums.pairs) else 0):
            sums.pairs[a, b] += share * others[b]
    for kind in range(FIRSTS, EACH + 1):
        row, share = sums.laws[kind], weight * mine[0] if kind == FIRSTS else weight
        for r in range(len(counted) if plan.wanted[kind] else 0):
            row[r] += share * counted[r]


@inner
def finish(sums, plan, values, cmc, shots):
    """Fill in what follows from the sums."""
    relevant, n_integrals, n_linear = len(sums.images), len(plan.of), len(plan.law)
    powers = np.ones(len(plan.nodes))
    for a in range(relevant if n_integrals > 0 else 0):
        for f in range(n_integrals):
            of = plan.of[f]
            if (of == FIRST and a > 0) or (of == LAST and a < relevant - 1):
                continue
            if plan.terms[f, 0] == 0.0 and a == 0:
                total = plan.terms[f, 3] * sums.images[0, len(powers) - 1]
            else:
                total, row = 0.0, sums.images[a]
                if of == FIRST and plan.identity_integrals:
                    row = sums.identities
                for k in range(len(powers)):
                    total += plan.mass[f, k] * powers[k] * row[k]
                total *= plan.terms[f, 1] + plan.terms[f, 2] * a
            values[f] += total / (relevant if plan.terms[f, 4] > 0.0 else 1)
        for k in range(len(powers)):
            powers[k] *= plan.nodes[k]
    for f in range(n_linear):
        total, depth, row = 0.0, plan.depths[f], sums.laws[plan.law[f]]
        if plan.within[f]:
            depth = min(depth, relevant)
        for r in range(min(depth, len(row))):
            total += row[r] * plan.weights[f, r]
        values[n_integrals + f] = total / plan.divisors[f, relevant]
    for f in range(len(plan.places)):
        place = plan.places[f, plan.row_of[relevant]]
        total = 0.0
        for a in range(min(relevant, place[1])):
            for b in range(place[2]):
                total += sums.pairs[a, b] * plan.tables[place[0] + a * place[2] + b]
        values[n_integrals + n_linear + f] = total
    total = 0.0
    for r in range(len(cmc)):
        total += sums.laws[FIRSTS, r]
        cmc[r] = total
    total = 0.0
    for r in range(len(shots)):
        total += sums.laws[EACH, r]
        shots[r] = total / relevant


@inner
def add_term(a, b, counted, relevant, plan, values, shots):
    """Add a right item of one ranking, with a right and b wrong images before it.

    `counted` is what the ranks of first right items count: wrong images, or identities.
    """
    n_integrals, n_linear = len(plan.of), len(plan.law)
    for f in range(n_integrals):
        of = plan.of[f]
        if (of == FIRST and a > 0) or (of == LAST and a < relevant - 1):
            continue
        persistence = plan.terms[f, 5]
        below = plan.terms[f, 0] + a + (counted if of == FIRST else b)
        if persistence > 0.0:
            term = (1.0 - persistence) * persistence ** (a + b)
        elif below > 0.0:
            term = (plan.terms[f, 1] + plan.terms[f, 2] * a) / below
        else:
            term = plan.terms[f, 3]
        values[f] += term / (relevant if plan.terms[f, 4] > 0.0 else 1)
    for f in range(n_linear):
        law = plan.law[f]
        rank = a + b if law <= PRECISIONS else counted
        depth = min(plan.depths[f], relevant) if plan.within[f] else plan.depths[f]
        if rank < depth and (a == 0 or law != FIRSTS):
            term = plan.weights[f, rank] * (1 + a if law == PRECISIONS else 1)
            values[n_integrals + f] += term / plan.divisors[f, relevant]
    for f in range(len(plan.places)):
        place = plan.places[f, plan.row_of[relevant]]
        if a < place[1] and b < place[2]:
            values[n_integrals + n_linear + f] += plan.tables[place[0] + a * place[2] + b]
    for r in range(counted, len(shots)):
        shots[r] += 1 / relevant
