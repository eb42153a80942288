# mypy: allow-untyped-defs
"""Laws and generating functions of numbers of drawn items that are nearer than a query's own one.

Tied items are nearer with the same probability, the own item's time, uniform on [0, 1]. Expected scores are
polynomials in it. Laws too unlikely to count are left out by bounds of P(W < length).

``E[1 / (c + W)]`` is the integral of ``t^(c-1) E[t^W]`` over [0, 1]. Integrands are polynomials with
non-negative coefficients, so a rule that integrates every monomial with a relative error of at most e has
this error for each of them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...kernel import inner, jit
from ...kernel.sampling import fill_binomial, fill_hypergeometric, tie_times

NEGLIGIBLE = 1e-17
"""What is less is left out, and its bound is added to the error."""


@inner
def fill_law(law, strata, s, size, drawn, tied, time, room):
    """Fill ``law[b]``, b = 0 .. drawn: P(b of the `drawn` of `size` items of stratum s are nearer).

    ``strata.counts[s]`` items are nearer, and each of `tied` items is with probability `time`. O(drawn)
    without ties, or if all items are drawn.
    """
    nearer, part = strata.counts[s], room.part
    for b in range(drawn + 1):
        law[b] = 0.0
    if tied == 0 and drawn < size:
        fill_hypergeometric(law, nearer, drawn, size, 1.0)
        return
    share = room.chosen[: tied + 1]
    fill_binomial(share, time)
    for more in range(tied + 1):
        if drawn == size:
            law[nearer + more] = share[more]
            continue
        for b in range(drawn + 1):
            part[b] = 0.0
        fill_hypergeometric(part, nearer + more, drawn, size, 1.0)
        for b in range(drawn + 1):
            law[b] += share[more] * part[b]


@inner
def convolve(total, length, law, n_terms, other):
    """Convolve ``total[:length]`` with ``law[:n_terms]`` in place; `other` is scratch. The new length."""
    longer = min(length + n_terms - 1, len(total))
    for r in range(longer):
        other[r] = 0.0
    for b in range(n_terms):
        weight = law[b]
        if weight > 0.0:
            for r in range(b, min(length + b, longer)):
                other[r] += weight * total[r - b]
    for r in range(longer):
        total[r] = other[r]
    return longer


@inner
def none_left(size, nearer, drawn):
    """P(no drawn item is nearer) after one more item is, divided by the former; 0 if there can be none."""
    return max(size - nearer - drawn, 0) / (size - nearer)


@inner
def fill_own_law(mine, family, strata, member, time, room):
    """Fill the law of the number of drawn own items before one of them, which is drawn.

    The item counts among the tied ones of its stratum `member`.
    """
    for r in range(len(mine)):
        mine[r] = 0.0
    mine[0] = 1.0
    length = 1
    for s in family:
        size, drawn, tied = strata.sizes[s], strata.draws[s], strata.tied[s]
        if s == member:
            size, drawn, tied = size - 1, drawn - 1, tied - 1
        n_terms = min(drawn, strata.counts[s] + tied) + 1
        if n_terms > 1:
            fill_law(room.law, strata, s, size, drawn, tied, time, room)
            length = convolve(mine, length, room.law, n_terms, room.other)


@inner
def fill_sum_law(law, touched, strata, time, identities, none, room):
    """Fill the law of the number of nearer drawn items of some strata, and of identities ahead.

    Identity j is ahead with probability ``1 - none[j]``. Strata of which one item is drawn are such
    indicators as well, which are added four at once, in arrays that begin with four zeros.
    O(terms * length).
    """
    for r in range(len(law)):
        law[r] = 0.0
    law[0] = 1.0
    length, n = 1, 0
    for s in touched:
        size, drawn, nearer, tied = strata.sizes[s], strata.draws[s], strata.counts[s], strata.tied[s]
        if drawn == 1:
            room.none[n] = (size - nearer - tied * time) / size
            n += 1
        elif drawn > 0:
            fill_law(room.law, strata, s, size, drawn, tied, time, room)
            length = convolve(law, length, room.law, min(drawn, nearer + tied) + 1, room.other)
    for j in identities:
        room.none[n] = none[j]
        n += 1
    total, other, none = room.other, room.part, room.none
    for r in range(4):
        total[r], other[r], none[n + r] = 0.0, 0.0, 1.0
    for r in range(len(law)):
        total[r + 4], other[r + 4] = law[r], 0.0
    for at in range(0, n, 4):
        first, second, third, fourth = none[at], none[at + 1], none[at + 2], none[at + 3]
        a0, a2 = first * second, (1.0 - first) * (1.0 - second)
        a1 = first * (1.0 - second) + (1.0 - first) * second
        b0, b2 = third * fourth, (1.0 - third) * (1.0 - fourth)
        b1 = third * (1.0 - fourth) + (1.0 - third) * fourth
        c0, c1, c2 = a0 * b0, a0 * b1 + a1 * b0, a0 * b2 + a1 * b1 + a2 * b0
        c3, c4 = a1 * b2 + a2 * b1, a2 * b2
        length = min(length + 4, len(law))
        for r in range(length):
            near = c0 * total[r + 4] + c1 * total[r + 3] + c2 * total[r + 2]
            other[r + 4] = near + c3 * total[r + 1] + c4 * total[r]
        total, other = other, total
    for r in range(len(law)):
        law[r] = total[r + 4]


@inner
def times_of_group(equal, family, strata):
    """Nodes and weights that integrate over the time of a group of tied items.

    The degree is at most the number of tied items that are drawn.
    """
    degree = 0
    for s in equal:
        degree += min(strata.tied[s], strata.draws[s])
    for s in family:
        degree += min(strata.tied[s], strata.draws[s])
    return tie_times(degree + 1, 1.0)


@inner
def none_of_tied(share, size, nearer, drawn):
    """P(no drawn item is nearer) over the former, if more items are nearer by the law `share`."""
    stays, product = share[0], 1.0
    for more in range(len(share) - 1):
        product *= none_left(size, nearer + more, drawn)
        stays += share[more + 1] * product
    return stays


@inner
def least(mean, length, values, powers):
    """A bound of P(W < length) for a sum W of independent indicators with this mean.

    Chernoff's, or the least of ``E[t^W] / t^(length - 1)``, given both powers at some nodes.
    """
    bound = 1.0
    if mean > length > 0:
        bound = np.exp(length - mean + length * np.log(mean / length))
    if bound < NEGLIGIBLE:
        return bound
    for k in range(len(values)):
        if powers[k] > 1e-300 and values[k] < bound * powers[k]:
            bound = values[k] / powers[k]
    return bound


@inner
def multiply(images, table, rows):
    """Multiply `images` by rows of the table, four at once."""
    whole = len(rows) - len(rows) % 4
    for at in range(0, whole, 4):
        first, second = table[rows[at]], table[rows[at + 1]]
        third, fourth = table[rows[at + 2]], table[rows[at + 3]]
        for k in range(len(images)):
            images[k] *= (first[k] * second[k]) * (third[k] * fourth[k])
    for at in range(whole, len(rows)):
        first = table[rows[at]]
        for k in range(len(images)):
            images[k] *= first[k]


@inner
def fill_powers(powers, nodes, exponent):
    """Fill in ``nodes ** exponent``."""
    for k in range(len(nodes)):
        base, left, power = nodes[k], exponent, 1.0
        while left > 0:
            if left & 1:
                power *= base
            base *= base
            left >>= 1
        powers[k] = power


@inner
def identities_ahead(product, none, touched, nodes):
    """The generating function of the number of identities ahead."""
    for k in range(len(nodes)):
        product[k] = 1.0
    for j in touched:
        for k in range(len(nodes)):
            product[k] *= nodes[k] + none[j] * (1.0 - nodes[k])


@inner
def fill_tied_factor(factor, step, share, ratios, row, whole):
    """Fill in the generating function over the former, if more items are nearer by the law `share`.

    Parameters
    ----------
    ratios : ndarray
        As in `Plan`, which is not passed on: that would take longer than the arithmetic.
    row : int
        The row of the next item.
    whole : bool
        Whether the whole stratum is drawn, so that all items have this row.
    """
    for k in range(len(step)):
        factor[k] = share[0]
        step[k] = 1.0
    for more in range(len(share) - 1):
        ratio = ratios[row if whole else row + more]
        for k in range(len(step)):
            step[k] *= ratio[k]
            factor[k] += share[more + 1] * step[k]


STEP, MOST, POWERS = 8, 160, (1, 2, 3, 4, 5)


class Rule(NamedTuple):
    """Nodes and weights on [0, 1], and the largest relative error of a monomial."""

    nodes: Array
    weights: Array
    error: float


NO_RULE = Rule(np.empty(0), np.empty(0), 0.0)


@functools.lru_cache(maxsize=64)
def rule(degree: int, tol: float) -> Rule:
    """The smallest rule whose relative error is at most `tol` for ``t^d``, d = 0 .. degree.

    Nodes are ``1 - w^p`` with Gauss-Legendre nodes w and p = 1 .. 5. Candidates are compared at some
    monomials; the errors of all of them are measured for the rule that is returned. If none reaches `tol`,
    the best rule is returned, with its error.
    """
    best = NO_RULE._replace(error=np.inf)
    few = np.unique(np.geomspace(1, degree + 1, 256).round().astype(np.int64)) - 1
    for n in range(STEP, MOST + 1, STEP):
        at, mass = np.polynomial.legendre.leggauss(n)
        w, mass = (1 + at) / 2, mass / 2
        for power in POWERS:
            found = Rule(1 - w**power, mass * power * w ** (power - 1), 0.0)
            found = found._replace(error=_largest_error(found, few))
            if found.error < best.error:
                best = found
        if best.error <= tol:
            measured = _of_all(best, degree)
            if measured.error <= tol:
                return measured
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
    """Ratios ``H(g + 1) / H(g)`` at every node, g = 0 .. size; O(size * drawn * nodes).

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
    return ratios
