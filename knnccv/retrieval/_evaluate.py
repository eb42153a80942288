"""Expected scores at one group of own items that are equally near, in compiled code."""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import fill_binomial, tie_times
from ._integrals import add_integrals, weigh
from ._laws import fill_ahead_law, fill_next_law, fill_others_law, fill_own_law, none_left
from ._nearer import replace
from ._tables import MAP_R, R_PRECISION

NEGLIGIBLE = 1e-17
FEW = 4


@jit
def evaluate(
    members, equal, family, counts, tied, lists, none, means, images, identities, sizes, draws, pool, plan,
    q, found, scratch,
):  # fmt: skip
    """Add what a group of own items contributes to the scores of query q.

    Fair ties: each own item has a uniform time, and every item that ties with it is nearer with this
    probability, which is the same for all own items of a stratum. The scores are polynomials in the time,
    of a degree of at most the number of tied items that are drawn, and Gauss-Legendre nodes integrate them
    exactly.
    """
    relevant = found.relevant[q]
    fair = len(equal) > 0 or len(members) > 1
    times, shares = scratch.law, scratch.part
    if fair:
        degree = 0
        for s in equal:
            degree += min(tied[s], draws[s])
        for s in family:
            degree += min(tied[s], draws[s])
        times, shares = tie_times(degree + 1, 1.0)
        found.rounding[q] += 2.3e-16 * len(times) * min(len(family), len(members))
    strata, touched = lists.strata[: lists.lengths[0]], lists.identities[: lists.lengths[1]]
    length = scratch.length
    limit, ahead_limit = 1.0, 1.0
    if length > 0:
        limit = least(tail(means[0], length), images, scratch.inverse, len(plan.weights))
    if plan.by_identity and plan.max_rank > 0:
        ahead_limit = tail(means[1], plan.max_rank)
        if plan.identity_integrals:
            ahead_limit = least(ahead_limit, identities, scratch.inverse_ahead, len(plan.weights))
    law, part, chosen = scratch.law, scratch.part, scratch.chosen
    mine, mine_too = scratch.mine, scratch.mine_too
    others, others_too = scratch.others, scratch.others_too
    ahead, ahead_too = scratch.ahead, scratch.ahead_too
    at_once, of_identities, left = images, identities, none
    if len(equal) > 0:
        at_once, of_identities = images.copy(), identities.copy()
    for v in range(len(times) if fair else 1):
        time, share = (times[v], shares[v]) if fair else (0.0, 1.0)
        if len(equal) > 0:
            left = none.copy()
            at_once[:], of_identities[:] = images, identities
            _mix(equal, counts, tied, left, at_once, of_identities, sizes, draws, pool, plan, chosen, time)
        if plan.integrals:
            weigh(at_once, plan, scratch)
        has_others, has_ahead = False, False  # laws that are computed when they are needed
        for s in family:
            if tied[s] == 0:
                continue
            if fair:
                mine, mine_too = fill_own_law(
                    mine, mine_too, family, sizes, counts, tied, draws, s, time, law, part, chosen
                )
            else:
                mine, mine_too = fill_next_law(
                    mine, mine_too, family, sizes, counts, draws, s, law, scratch.kept, scratch.known
                )
            weight = tied[s] * (share * draws[s] / sizes[s])
            if plan.integrals:
                single = found.single[q]
                add_integrals(mine, relevant, weight, at_once, of_identities, plan, single, scratch)
            first = weight * mine[0] if plan.max_rank else 0.0
            by_rank = (plan.ranks > 0 or plan.map_r) and limit >= NEGLIGIBLE
            if (plan.ranks > 0 or plan.map_r) and not by_rank:
                found.skipped[q] += weight * limit
            by_first = first * (ahead_limit if plan.by_identity else limit) >= NEGLIGIBLE
            if not by_first:
                found.skipped[q] += first * (ahead_limit if plan.by_identity else limit)
            if (by_rank or (by_first and not plan.by_identity)) and not has_others:
                has_others = True
                others, others_too = fill_others_law(
                    others, others_too, strata, sizes, counts, tied, draws, time, law, part, chosen
                )
            if by_first and plan.by_identity:
                if not has_ahead:
                    has_ahead = True
                    ahead, ahead_too = fill_ahead_law(ahead, ahead_too, touched, left)
                add_first(first, ahead, found.cmc[q])
            elif by_first:
                add_first(first, others, found.cmc[q])
            if by_rank:
                add_ranked(mine, relevant, weight, others, plan.map_r, found.ranks[q], found.single[q])


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
def _mix(equal, counts, tied, left, at_once, of_identities, sizes, draws, pool, plan, chosen, time):
    """Let the tied wrong items be nearer with probability `time` each."""
    factor, step = np.empty(len(at_once)), np.empty(len(at_once))
    for s in equal:
        size, nearer, drawn = sizes[s], counts[s], draws[s]
        share = chosen[: tied[s] + 1]
        fill_binomial(share, time)
        if plan.integrals:
            factor[:] = share[0]
            step[:] = 1.0
            for more in range(tied[s]):
                row = 0 if drawn == size else plan.rows[size] + nearer + more
                for k in range(len(step)):
                    step[k] *= plan.ratios[row, k]
                    factor[k] += share[more + 1] * step[k]
            at_once *= factor
        if plan.by_identity:
            j = pool.identity[s]
            stays, product = share[0], 1.0
            for more in range(tied[s]):
                product *= none_left(size, nearer + more, drawn)
                stays += share[more + 1] * product
            before = left[j]
            if before > 0.0:
                left[j] = before * stays
                if plan.identity_integrals:
                    replace(of_identities, before, left[j], plan.nodes, len(plan.weights))


@jit
def add_first(weight, law, curve):
    """Add ``weight P(rank <= r)`` for r = 1, 2, ..."""
    total = 0.0
    for r in range(len(curve)):
        total += law[r]
        curve[r] += weight * total


@jit
def add_ranked(mine, relevant, weight, others, map_r, ranks, single):
    """The law of the rank, A + W + 1, and the scores that look at the first R ranks.

    The terms of many right items are added up before they are added to the result; long sums are inexact.
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
