"""Scores that are means of ``1 / (c + W)``: integrals over the generating function of W."""

from __future__ import annotations

from ..kernel import jit
from ._tables import AP, BIASED, INVERSE, RECIPROCAL, TRAPEZOID


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
