"""What one own item adds to the scores, given the laws of the items before it.

Scores that are means of ``1 / (c + W)`` are integrals over the generating function of W, others are sums
over its law.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .tables import AP, BIASED, INVERSE, MAP_R, R_PRECISION, RECIPROCAL, TRAPEZOID

EVERY, FIRST = 0, 1
FEW = 4


@jit
def weigh(images, plan, scratch):
    """Weights of the quadrature times the generating function."""
    mass, weights = scratch.mass, plan.weights
    for k in range(len(weights)):
        mass[k] = weights[k] * images[k]


@jit
def add_integrals(mine, relevant, weight, images, identities, plan, single, scratch):
    """Add an own item; `mine` is the law of own items before it, `scratch.mass` is from `weigh`."""
    mass, outer, inner = scratch.mass, scratch.outer, scratch.inner
    nodes, weights, power = plan.nodes, plan.weights, scratch.last
    top = relevant - 1
    while top > 0 and mine[top] == 0.0:
        top -= 1
    polynomial(outer, mine, top, nodes)
    rectangle, whole, last = 0.0, 0.0, 0.0
    for k in range(len(weights)):
        rectangle += mass[k] * outer[k]
        last += mass[k] * power[k]
        whole += mass[k]
    if plan.identity_integrals:
        whole = 0.0
        for k in range(len(weights)):
            whole += weights[k] * identities[k]
    single[AP] += weight * rectangle / relevant
    single[RECIPROCAL] += weight * mine[0] * whole
    single[INVERSE] += weight * mine[relevant - 1] * relevant * last
    if plan.trapezoid:
        before = mine[0] * images[len(images) - 1]
        polynomial(inner, mine[1:], top - 1, nodes)
        for k in range(len(weights)):
            before += mass[k] * inner[k]
        single[TRAPEZOID] += weight * (rectangle + before) / 2 / relevant
    for b in range(len(single) - BIASED):
        k = len(weights) + b
        total = 0.0
        for a in range(top, -1, -1):
            total = total * nodes[k] + mine[a]
        single[BIASED + b] += weight * (1 - nodes[k]) * total * images[k]


@jit
def polynomial(values, law, top, nodes):
    """The polynomial with coefficients ``(1 + a) law[a]``, a = 0 .. top, at every node."""
    for k in range(len(values)):
        values[k] = 0.0
    for a in range(top, -1, -1):
        more = (1 + a) * law[a]
        for k in range(len(values)):
            values[k] = values[k] * nodes[k] + more


@jit
def add_cumulative(weight, law, curve):
    """Add ``weight P(rank <= r)`` for r = 1, 2, ..."""
    total = 0.0
    for r in range(len(curve)):
        total += law[r]
        curve[r] += weight * total


@jit
def add_ranked(mine, relevant, weight, others, map_r, ranks, single):
    """The law of the rank, A + W + 1, and the scores that look at the first R ranks.

    The terms of many right items are added up before they are added to the result, which is more exact.
    """
    few = relevant <= FEW
    total, times = (ranks, weight) if few else (np.zeros(len(ranks)), 1.0)
    within, average = 0.0, 0.0
    for a in range(relevant):
        if mine[a] > 0.0:
            for b in range(min(len(others), len(ranks) - a)):
                total[a + b] += times * mine[a] * others[b]
            if map_r:
                precise, averaged = 0.0, 0.0
                for b in range(relevant - a):
                    precise += others[b]
                    averaged += others[b] * (1 + a) / (1 + a + b)
                within += mine[a] * precise
                average += mine[a] * averaged
    if not few:
        for r in range(len(ranks)):
            ranks[r] += weight * total[r]
    if map_r:
        single[R_PRECISION] += weight * within / relevant
        single[MAP_R] += weight * average / relevant


@jit
def add_reciprocals(mine, relevant, weight, images, identities, plan, forms, columns):
    """Means of ``(constant + slope a) / (c + a + b)``: integrals over the generating function of b."""
    n_nodes = len(plan.weights)
    for f in range(len(forms.of)):
        c, constant, slope = forms.terms[f, 0], forms.terms[f, 1], forms.terms[f, 2]
        of, total = forms.of[f], 0.0
        start, stop = 0, relevant
        if of == FIRST:
            stop = 1
        elif of != EVERY:
            start = relevant - 1
        shift = 1 if c == 0 else 0  # the term of a = 0 is not an integral
        generating = identities if of == FIRST and plan.by_identity else images
        start = max(start, shift)
        for k in range(n_nodes if start < stop else 0):
            t = plan.nodes[k]
            power, inner = t ** (start - shift), 0.0
            for a in range(start, stop):
                inner += (constant + slope * a) * mine[a] * power
                power *= t
            total += forms.mass[f, k] * generating[k] * inner
        if c == 0 and (of in (EVERY, FIRST) or relevant == 1):
            total += forms.terms[f, 3] * mine[0] * images[len(images) - 1]
        columns[f] += weight * total / (relevant if forms.terms[f, 4] > 0 else 1)


@jit
def add_tables(mine, relevant, weight, others, forms, columns):
    """Means of the tables' numbers."""
    n_before = len(forms.of)
    for f in range(len(forms.places)):
        place = forms.places[f, forms.row_of[relevant]]
        at, n_rows, n_columns = place[0], place[1], place[2]
        total = 0.0
        for a in range(min(relevant, n_rows)):
            inner = 0.0
            for b in range(n_columns):
                inner += others[b] * forms.values[at + a * n_columns + b]
            total += mine[a] * inner
        columns[n_before + f] += weight * total
