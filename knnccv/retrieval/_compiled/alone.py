"""The walk along own items where nothing ties: one function, without costly calls for every item."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .bounds import NEGLIGIBLE, inverse_power, least, tail
from .contributions import add_cumulative, add_ranked, polynomial
from .laws import fill_ahead_law, fill_next_law, fill_others_law, none_left
from .nearer import identities_ahead, multiply, power
from .tables import AP, BIASED, INVERSE, RECIPROCAL, TRAPEZOID


@jit
def walk_alone(own, events, items, family, relevant, sizes, draws, pool, plan, q, found):
    """Add the scores of query q; the same as evaluating every group of tied own items.

    Passing many arrays to a function takes longer than the arithmetic for one own item. So all arrays are
    local here, and only some are passed on.
    """
    n_strata, n_identities = len(sizes), len(pool.item_starts) - 1
    nodes, weights, ratios, values = plan.nodes, plan.weights, plan.ratios, plan.values
    stratum, identity = pool.stratum, pool.identity
    single, curve, ranks = found.single[q], found.cmc[q], found.ranks[q]
    n_nodes, n_weights, n_biased = len(nodes), len(weights), len(single) - BIASED
    integrals, by_identity, trapezoid = plan.integrals, plan.by_identity, plan.trapezoid
    identity_integrals, max_rank = plan.identity_integrals, plan.max_rank
    by_rank = plan.ranks > 0 or plan.map_r
    length = max(plan.length, relevant if plan.map_r else 0)
    counts, tied = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64)
    shares, starts = draws / np.maximum(sizes, 1), np.zeros(n_strata, np.int64)
    if integrals:
        for s in range(n_strata):
            starts[s] = 0 if draws[s] == sizes[s] else plan.rows[sizes[s]]
    seen, seen_ahead = np.zeros(n_strata, np.bool_), np.zeros(n_identities, np.bool_)
    strata, identities = np.empty(n_strata + 1, np.int64), np.empty(n_identities + 1, np.int64)
    none, settled = np.ones(n_identities), np.ones(n_identities)
    rows = np.empty(len(items) + n_strata, np.int64)
    images, ahead_at = np.ones(n_nodes), np.ones(n_nodes)
    outer, inner = np.empty(n_nodes), np.empty(n_nodes)
    last_power = nodes ** (relevant - 1)
    inverse, inverse_ahead = inverse_power(nodes, length - 1), inverse_power(nodes, max_rank - 1)
    widest = draws.max()
    law, part, chosen = np.empty(widest + 1), np.empty(widest + 1), np.empty(1)
    mine, mine_too = np.zeros(relevant + 1), np.zeros(relevant + 1)
    kept, known = np.empty((len(family), widest + 1)), np.full(len(family), -1)
    others, others_too = np.empty(max(length, 1)), np.empty(max(length, 1))
    ahead, ahead_too = np.empty(max(max_rank, 1)), np.empty(max(max_rank, 1))
    narrow = True
    for s in family:
        narrow = narrow and draws[s] <= 1
    n_seen, n_ahead, mean, mean_ahead, skipped = 0, 0, 0.0, 0.0, 0.0
    for a in range(len(own)):
        begin, end = events[2 * a], events[2 * a + 1]
        n = 0
        for at in range(begin, end):
            s = stratum[items[at]]
            count, start = counts[s], starts[s]
            counts[s] = count + 1
            mean += shares[s]
            rows[n] = start + count
            n += start > 0
            strata[n_seen] = s  # without a branch
            n_seen += not seen[s]
            seen[s] = True
            if by_identity:
                j = identity[s]
                was = none[j]
                none[j] = was * none_left(sizes[s], count, draws[s])
                mean_ahead += was - none[j]
                identities[n_ahead] = j
                n_ahead += not seen_ahead[j]
                seen_ahead[j] = True
        if integrals and n <= n_seen:
            multiply(images, ratios, rows[:n])
            power(images, nodes, end - begin - n)
        elif integrals:
            n, n_sure = 0, 0
            for s in strata[:n_seen]:
                rows[n] = starts[s] + counts[s]
                n += starts[s] > 0
                n_sure += 0 if starts[s] > 0 else counts[s]
            images[:] = 1.0
            multiply(images, values, rows[:n])
            power(images, nodes, n_sure)
        if identity_integrals:
            identities_ahead(ahead_at, none, settled, identities[:n_ahead], nodes, n_weights)
        member = stratum[own[a]]
        if narrow:
            mine[:] = 0.0
            mine[0] = 1.0
            n = 1
            for s in family:
                if s != member and draws[s] == 1:
                    hit, miss = counts[s] / sizes[s], (sizes[s] - counts[s]) / sizes[s]
                    for r in range(n, 0, -1):
                        mine[r] = mine[r] * miss + mine[r - 1] * hit
                    mine[0] *= miss
                    n += 1
        else:
            mine, mine_too = fill_next_law(
                mine, mine_too, family, sizes, counts, draws, member, law, kept, known
            )
        weight = draws[member] / sizes[member]
        if integrals:
            top = relevant - 1
            while top > 0 and mine[top] == 0.0:
                top -= 1
            polynomial(outer, mine, top, nodes)
            rectangle, whole, last = 0.0, 0.0, 0.0
            for k in range(n_weights):
                mass = weights[k] * images[k]
                rectangle += mass * outer[k]
                last += mass * last_power[k]
                whole += weights[k] * ahead_at[k] if identity_integrals else mass
            single[AP] += weight * rectangle / relevant
            single[RECIPROCAL] += weight * mine[0] * whole
            single[INVERSE] += weight * mine[relevant - 1] * relevant * last
            if trapezoid:
                before = mine[0] * images[n_nodes - 1]
                polynomial(inner, mine[1:], top - 1, nodes)
                for k in range(n_weights):
                    before += weights[k] * images[k] * inner[k]
                single[TRAPEZOID] += weight * (rectangle + before) / 2 / relevant
            for b in range(n_biased):
                t, total = nodes[n_weights + b], 0.0
                for r in range(top, -1, -1):
                    total = total * t + mine[r]
                single[BIASED + b] += weight * (1 - t) * total * images[n_weights + b]
        has_others = False
        limit = least(tail(mean, length), images, inverse, n_weights) if length > 0 else 1.0
        if by_rank and limit >= NEGLIGIBLE:
            others, others_too = fill_others_law(
                others, others_too, strata[:n_seen], sizes, counts, tied, draws, 0.0, law, part, chosen
            )
            has_others = True
            add_ranked(mine, relevant, weight, others, plan.map_r, ranks, single)
        elif by_rank:
            skipped += weight * limit
        if max_rank > 0:
            first = weight * mine[0]
            if by_identity:
                limit = tail(mean_ahead, max_rank)
                if identity_integrals:
                    limit = least(limit, ahead_at, inverse_ahead, n_weights)
            if first * limit < NEGLIGIBLE:
                skipped += first * limit
            elif by_identity:
                ahead, ahead_too = fill_ahead_law(ahead, ahead_too, identities[:n_ahead], none)
                add_cumulative(first, ahead, curve)
            else:
                if not has_others:
                    others, others_too = fill_others_law(
                        others, others_too, strata[:n_seen], sizes, counts, tied, draws, 0.0, law, part,
                        chosen,
                    )  # fmt: skip
                add_cumulative(first, others, curve)
        counts[member] += 1
    found.skipped[q] += skipped
