"""Tables of one stratum's laws, given that one of its items is drawn, and bases of scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array
from ...kernel import jit
from ...sampling import fill_hypergeometric
from .tables import AP, BIASED, INVERSE, RECIPROCAL, TRAPEZOID

PRECISION, RECALL, NDCG, R_PRECISION, MAP_R = 0, 1, 2, 3, 4


class Wanted(NamedTuple):
    """What is computed: columns are the integrals, then the scores at ranks, then the CMC."""

    integrals: Any  # columns of `Found.single`
    at_ranks: Any  # PRECISION, ...
    depths: Any  # of these
    max_rank: Any  # length of the CMC; 0: none
    length: Any  # of the law of the number of nearer items; 0: not needed
    by_identity: Any
    identity_integral: Any  # the integral over the number of identities, or -1
    nodes: Any  # of the quadrature, one for each persistence, and 0
    weights: Any


class Tables(NamedTuple):
    """Of strata of every size n: row ``rows[n] + g`` if g of the n items are nearer.

    ``behind`` and ``before`` are given that an item of the stratum is drawn that is not, or is, nearer.
    """

    rows: Any
    whole: Any  # generating functions at the nodes
    behind: Any  # divided by `whole`
    before: Any
    law: Any  # of the number of drawn nearer items, 0 .. a
    law_behind: Any
    law_before: Any


def tables_of(sizes: Array, drawn: int, nodes: Array) -> Tables:
    """Tables for strata of some sizes, each larger than `drawn`."""
    rows = np.full(int(sizes.max(initial=0)) + 1, -1, np.int64)
    different = np.unique(sizes)
    starts = np.concatenate([[0], np.cumsum(different + 1)]).astype(np.int64)
    rows[different] = starts[:-1]
    n_rows = int(starts[-1])
    made = Tables(
        rows,
        *(np.zeros((n_rows, len(nodes))) for _ in range(3)),
        *(np.zeros((n_rows, drawn + 1)) for _ in range(3)),
    )
    for size in different.tolist():
        _fill_tables(size, drawn, nodes, made)
    return made


@jit
def _fill_tables(size, drawn, nodes, tables):
    for nearer in range(size + 1):
        row = tables.rows[size] + nearer
        law, behind, before = tables.law[row], tables.law_behind[row], tables.law_before[row]
        fill_hypergeometric(law, nearer, drawn, size, 1.0)
        if nearer < size:
            fill_hypergeometric(behind, nearer, drawn - 1, size - 1, 1.0)
        if nearer > 0:
            fill_hypergeometric(before[1:], nearer - 1, drawn - 1, size - 1, 1.0)
        for k in range(len(nodes)):
            whole, second, third = 0.0, 0.0, 0.0
            for b in range(drawn, -1, -1):
                whole = whole * nodes[k] + law[b]
                second = second * nodes[k] + behind[b]
                third = third * nodes[k] + before[b]
            tables.whole[row, k] = whole
            if whole > 1e-290:
                tables.behind[row, k] = second / whole
                tables.before[row, k] = third / whole


@jit
def fill_basis(basis, relevant, wanted):
    """Fill ``basis[f, a, k]``: integral f of a right item behind a others, as weights of the nodes."""
    nodes, weights = wanted.nodes, wanted.weights
    basis[:] = 0.0
    for f in range(len(wanted.integrals)):
        kind = wanted.integrals[f]
        for a in range(relevant):
            for k in range(len(weights)):
                t, share = nodes[k], weights[k]
                if kind == AP:
                    basis[f, a, k] = share * (1 + a) * t**a / relevant
                elif kind == TRAPEZOID:
                    inner = a * t ** (a - 1) if a > 0 else 0.0
                    basis[f, a, k] = share * ((1 + a) * t**a + inner) / 2 / relevant
                elif kind == RECIPROCAL and a == 0:
                    basis[f, a, k] = share
                elif kind == INVERSE and a == relevant - 1:
                    basis[f, a, k] = share * relevant * t**a
            if kind >= BIASED:
                k = len(weights) + kind - BIASED
                basis[f, a, k] = (1 - nodes[k]) * nodes[k] ** a
        if kind == TRAPEZOID:
            basis[f, 0, len(nodes) - 1] = 1 / (2 * relevant)


@jit
def fill_gains(gains, relevant, wanted):
    """Fill ``gains[f, a, b]``: score f at ranks of a right item behind a right and b wrong ones."""
    gains[:] = 0.0
    for f in range(len(wanted.at_ranks)):
        kind = wanted.at_ranks[f]
        depth = relevant if kind >= R_PRECISION else wanted.depths[f]
        ideal = 0.0
        for r in range(min(relevant, depth)):
            ideal += 1 / np.log2(r + 2)
        for a in range(min(relevant, depth)):
            for b in range(min(depth - a, gains.shape[2])):
                if kind == PRECISION:
                    gains[f, a, b] = 1 / depth
                elif kind == NDCG:
                    gains[f, a, b] = 1 / np.log2(a + b + 2) / ideal
                elif kind == MAP_R:
                    gains[f, a, b] = (1 + a) / (1 + a + b) / relevant
                else:
                    gains[f, a, b] = 1 / relevant
