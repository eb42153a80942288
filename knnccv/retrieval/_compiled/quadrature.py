"""Quadrature of polynomials with non-negative coefficients, with a certified relative error.

``E[1 / (c + W)]`` is the integral of ``t^(c-1) E[t^W]`` over [0, 1]. Integrands are polynomials with
non-negative coefficients, so a rule that integrates every monomial with a relative error of at most e has
this error for each of them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...kernel import jit
from ...sampling import fill_hypergeometric

STEP, MOST, POWERS = 8, 160, (1, 2, 3, 4, 5)


class Rule(NamedTuple):
    """Nodes and weights on [0, 1], and the largest relative error of a monomial."""

    nodes: Array
    weights: Array
    error: float


@functools.lru_cache(maxsize=64)
def rule(degree: int, tol: float) -> Rule:
    """The smallest rule whose relative error is at most `tol` for ``t^d``, d = 0 .. degree.

    Nodes are ``1 - w^p`` with Gauss-Legendre nodes w and p = 1 .. 5. Candidates are compared at some
    monomials; the errors of all of them are measured for the rule that is returned. If none reaches `tol`,
    the best rule is returned, with its error.
    """
    best: Rule | None = None
    few = np.unique(np.geomspace(1, degree + 1, 256).round().astype(np.int64)) - 1
    for n in range(STEP, MOST + 1, STEP):
        at, mass = np.polynomial.legendre.leggauss(n)
        w, mass = (1 + at) / 2, mass / 2
        for power in POWERS:
            found = Rule(1 - w**power, mass * power * w ** (power - 1), 0.0)
            found = found._replace(error=_largest_error(found, few))
            if best is None or found.error < best.error:
                best = found
        if best is not None and best.error <= tol:
            measured = _of_all(best, degree)
            if measured.error <= tol:
                return measured
    assert best is not None
    return _of_all(best, degree)


def _of_all(found: Rule, degree: int) -> Rule:
    """The rule with the largest error of all monomials."""
    parts = [np.arange(start, min(start + 1024, degree + 1)) for start in range(0, degree + 1, 1024)]
    return found._replace(error=max(_largest_error(found, part) for part in parts))


def _largest_error(found: Rule, degrees: Array) -> float:
    sums = found.nodes ** degrees[:, None] @ found.weights
    return float(np.abs(1 - (degrees + 1) * sums).max())


@jit
def ratio_tables(size, drawn, nodes):
    """Ratios ``H(g + 1) / H(g)`` and values H(g) at every node, g = 0 .. size; O(size * drawn * nodes).

    H(g) is the generating function of the number of drawn items among g of `size` items, of which `drawn`
    are drawn. At the node 0 it is P(none of them is drawn). The last row of the ratios is 0.
    """
    n_nodes = len(nodes)
    ratios, values = np.zeros((size + 1, n_nodes)), np.zeros((size + 1, n_nodes))
    law = np.empty(drawn + 1)
    for g in range(size + 1):
        for b in range(drawn + 1):
            law[b] = 0.0
        fill_hypergeometric(law, g, drawn, size, 1.0)
        for b in range(drawn, -1, -1):
            for k in range(n_nodes):
                values[g, k] = values[g, k] * nodes[k] + law[b]
    for g in range(size):
        for k in range(n_nodes):
            ratios[g, k] = values[g + 1, k] / values[g, k] if values[g, k] > 1e-290 else 0.0
    return ratios, values
