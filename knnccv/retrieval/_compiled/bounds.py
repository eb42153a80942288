"""Bounds of P(W < length), by which laws too unlikely to count are left out."""

from __future__ import annotations

import numpy as np

from ...kernel import jit

NEGLIGIBLE = 1e-17
"""What is less is left out, and its bound is added to the error."""


@jit
def tail(mean, length):
    """A bound of P(W < length) for a sum W of independent indicators; Chernoff."""
    if length == 0 or mean <= length:
        return 1.0
    return np.exp(length - mean + length * np.log(mean / length))


@jit
def least(bound, values, inverse, n_nodes):
    """The least of `bound` and ``E[t^W] / t^(length - 1)``, bounds of P(W < length), at the nodes."""
    if bound < NEGLIGIBLE:
        return bound
    for k in range(n_nodes):
        other = values[k] * inverse[k]
        if other < bound:  # never where it is infinite or 0 * infinity
            bound = other
    return bound


@jit
def inverse_power(nodes, exponent):
    """``nodes ** -exponent``; infinite where it is too large for a number."""
    result = np.empty(len(nodes))
    for k in range(len(nodes)):
        value = nodes[k] ** max(exponent, 0)
        result[k] = 1.0 / value if value > 1e-300 else np.inf
    return result
