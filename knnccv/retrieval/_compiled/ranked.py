"""Scores where nothing is random: every gallery item is drawn and no items tie."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .forms import add_terms
from .tables import AP, BIASED, INVERSE, MAP_R, R_PRECISION, RECIPROCAL, TRAPEZOID


@jit
def add_ranks(own, events, items, pool, plan, q, found):
    """Add the scores of query q; ``events[2 i + 1]`` wrong items are nearer than own item i."""
    single, relevant = found.single[q], found.relevant[q]
    ahead = 0
    seen = np.zeros(len(pool.item_starts) - 1, np.bool_)
    for i in items[: events[1]]:
        j = pool.identity[pool.stratum[i]]
        if not seen[j]:
            seen[j] = True
            ahead += 1
    first = ahead if plan.by_identity else events[1]
    single[RECIPROCAL] = 1 / (1 + first)
    for r in range(first, len(found.cmc[q])):
        found.cmc[q, r] = 1.0
    for a in range(len(own)):
        b = events[2 * a + 1]
        precision = (1 + a) / (1 + a + b)
        before = a / (a + b) if a + b > 0 else 1.0
        single[AP] += precision / relevant
        single[TRAPEZOID] += (precision + before) / 2 / relevant
        if a + b < relevant:
            single[R_PRECISION] += 1 / relevant
            single[MAP_R] += precision / relevant
        if a + b < len(found.ranks[q]):
            found.ranks[q, a + b] += 1.0
        for k in range(len(single) - BIASED):
            p = plan.nodes[len(plan.weights) + k]
            single[BIASED + k] += (1 - p) * p ** (a + b)
    single[INVERSE] = relevant / (len(own) + events[2 * len(own) - 1])


@jit
def rank_forms(own, events, items, pool, plan, q, found, forms):
    """Add the forms of query q where nothing is random; as `add_ranks`."""
    relevant = found.relevant[q]
    seen = np.zeros(len(pool.item_starts) - 1, np.bool_)
    ahead = 0
    for a in range(len(own)):
        begin = events[2 * a - 1] if a > 0 else 0
        b = events[2 * a + 1]
        for i in items[begin:b]:
            j = pool.identity[pool.stratum[i]]
            ahead += not seen[j]
            seen[j] = True
        counted = ahead if plan.by_identity else b
        add_terms(forms, a, b, counted, relevant, found.forms[q])
        for r in range(counted, len(found.shots[q])):
            found.shots[q, r] += 1 / relevant
