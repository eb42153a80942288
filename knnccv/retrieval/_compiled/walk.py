"""The walk along a query's own items: expected scores of one query after the other.

Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Where they are more than their strata, the product over the
strata is computed anew instead. Nothing is sorted but the own items.

Passing many arrays to a function takes longer than the arithmetic for one own item, and a function is
compiled once more in every one that calls it. So the walk is one function.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial
from .laws import (
    NEGLIGIBLE,
    fill_own_law,
    fill_powers,
    fill_sum_law,
    fill_tied_factor,
    identities_ahead,
    least,
    multiply,
    none_left,
    none_of_tied,
    times_of_group,
)
from .query import meet
from .sums import add_term, contribute, finish, nothing_yet
from .tables import EACH, PRECISIONS, RANKS


@jit
def rank_rows(distances, masked, codes, pool, plan, found, left):
    """Score whole galleries: queries of which ties matter are not scored, and become True in `left`."""
    stamp = np.full(len(pool.item_starts) - 1, -1)
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, found, q)
        left[q] = met.tied and len(met.own) > 0
        n_ahead, at, cmc = 0, 0, found.cmc[q]
        for a in range(0 if left[q] else len(met.own)):
            b = met.events[2 * a + 1]
            while plan.by_identity and at < b:
                j = pool.identity[pool.stratum[met.items[at]]]
                n_ahead += stamp[j] != q
                stamp[j] = q
                at += 1
            counted = n_ahead if plan.by_identity else b
            add_term(a, b, counted, found.relevant[q], plan, found.values[q], found.shots[q])
            for r in range(counted if a == 0 else len(cmc), len(cmc)):
                cmc[r] = 1.0


@jit
def walk_rows(distances, masked, codes, pool, plan, found):
    """Score random galleries, or ties; `codes` has the identities of the queries, or -1."""
    n_strata, n_identities, nothing = len(pool.sizes), len(pool.item_starts) - 1, np.empty(0)
    stratum, identity, nodes, by_identity = pool.stratum, pool.identity, plan.nodes, plan.by_identity
    integrals, identity_integrals, n_nodes = plan.integrals, plan.identity_integrals, len(nodes)
    by_rank = plan.wanted[RANKS] or plan.wanted[PRECISIONS] or len(plan.places) > 0
    by_rank = by_rank or (plan.wanted[EACH] and not by_identity)
    shares, of_strata, n_ahead = np.empty(n_strata), np.empty((2, n_strata), np.int64), plan.ahead
    first_rows, seen = of_strata[0], of_strata[1]
    touched, equal = np.empty(n_strata + 1, np.int64), np.empty(n_strata, np.int64)
    ahead, seen_ahead = np.empty(n_identities + 1, np.int64), np.empty(n_identities, np.int64)
    of_identity, at_nodes = np.empty((2, n_identities)), np.empty((9, n_nodes))
    none, left = of_identity[0], of_identity[1]
    images, product, powers, factor, step = at_nodes[0], at_nodes[1], at_nodes[2], at_nodes[3], at_nodes[4]
    last, last_ahead, images_then, product_then = at_nodes[5], at_nodes[6], at_nodes[7], at_nodes[8]
    now, all_of_it = np.zeros(1), np.ones(1)
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, found, q)
        own, starts, events, items = met.own, met.starts, met.events, met.items
        if len(own) == 0:
            continue
        family, strata, relevant = met.family, met.strata, found.relevant[q]
        sizes, draws, counts, tied = strata.sizes, strata.draws, strata.counts, strata.tied
        sums, room, length = nothing_yet(met, relevant, plan)
        mine, others, ahead_law = np.empty(relevant), np.empty(length), np.empty(n_ahead)
        rows = np.empty(len(items) + n_strata, np.int64)
        for s in range(n_strata):
            seen[s], first_rows[s] = 0, 0
            shares[s] = draws[s] / max(sizes[s], 1)
            if integrals and draws[s] < sizes[s]:
                first_rows[s] = plan.rows[sizes[s]]
        for j in range(n_identities):
            none[j], seen_ahead[j] = 1.0, 0
        for k in range(n_nodes):
            images[k], product[k] = 1.0, 1.0
        fill_powers(last, nodes, max(length - 1, 0))
        fill_powers(last_ahead, nodes, max(n_ahead - 1, 0))
        n_touched, n_seen, mean, mean_ahead, skipped = 0, 0, 0.0, 0.0, 0.0
        for group in range(len(starts) - 1):
            begin = events[2 * group - 1] if group > 0 else 0  # tied with the last group, or after it
            middle, end = events[2 * group + 1], events[2 * group + 2]
            n, n_equal = 0, 0
            for at in range(begin, end):
                s = stratum[items[at]]
                touched[n_touched] = s  # without a branch
                n_touched += 1 - seen[s]
                seen[s] = 1
                if by_identity:
                    ahead[n_seen] = identity[s]
                    n_seen += 1 - seen_ahead[identity[s]]
                    seen_ahead[identity[s]] = 1
                if at >= middle:
                    equal[n_equal] = s
                    n_equal += tied[s] == 0
                    tied[s] += 1
                    continue
                if by_identity:
                    was = none[identity[s]]
                    stays = was * none_left(sizes[s], counts[s], draws[s])
                    none[identity[s]] = stays
                    mean_ahead += was - stays
                rows[n] = first_rows[s] + counts[s]
                n += first_rows[s] > 0
                mean += shares[s]
                counts[s] += 1
            if integrals:
                table, n_sure = plan.ratios, middle - begin - n
                if n > n_touched:
                    table, n, n_sure = plan.values, 0, 0
                    for s in touched[:n_touched]:
                        rows[n] = first_rows[s] + counts[s]
                        n += first_rows[s] > 0
                        n_sure += 0 if first_rows[s] > 0 else counts[s]
                    for k in range(n_nodes):
                        images[k] = 1.0
                multiply(images, table, rows[:n])
                if n_sure > 0:
                    fill_powers(powers, nodes, n_sure)
                    for k in range(n_nodes):
                        images[k] *= powers[k]
            if identity_integrals:
                identities_ahead(product, none, ahead[:n_seen], nodes)
            limit = least(mean, length, images if integrals else nothing, last)
            ahead_limit = least(mean_ahead, n_ahead, product if identity_integrals else nothing, last_ahead)
            n_members = starts[group + 1] - starts[group]
            for at in range(starts[group], starts[group + 1]):
                tied[stratum[own[at]]] += 1
            times, times_shares = now, all_of_it
            images_now, product_now, none_now = images, product, none
            if n_equal > 0 or n_members > 1:
                times, times_shares = times_of_group(equal[:n_equal], family, strata)
                found.rounding[q] += 2.3e-16 * len(times) * min(len(family), n_members)
            for v in range(len(times)):
                time = times[v]
                if n_equal > 0:
                    images_now, product_now, none_now = images_then, product_then, left
                    for k in range(n_nodes):
                        images_then[k] = images[k]
                    for j in ahead[:n_seen]:
                        left[j] = none[j]
                for s in equal[:n_equal]:
                    share = room.chosen[: tied[s] + 1]
                    fill_binomial(share, time)
                    if integrals:
                        row = first_rows[s] + counts[s] if first_rows[s] > 0 else 0
                        fill_tied_factor(factor, step, share, plan.ratios, row, first_rows[s] == 0)
                        for k in range(n_nodes):
                            images_then[k] *= factor[k]
                    was = left[identity[s]]
                    if by_identity and was > 0.0:
                        left[identity[s]] = was * none_of_tied(share, sizes[s], counts[s], draws[s])
                if n_equal > 0 and identity_integrals:
                    identities_ahead(product_then, left, ahead[:n_seen], nodes)
                has_others, has_ahead = False, False
                for s in family:  # the own items of a stratum have the same law
                    if tied[s] == 0:
                        continue
                    fill_own_law(mine, family, strata, s, time, room)
                    weight = tied[s] * (times_shares[v] * draws[s] / sizes[s])
                    negligible = (weight if by_rank else weight * mine[0]) * limit
                    law, counted = nothing, nothing
                    if negligible < NEGLIGIBLE:
                        skipped += negligible
                    elif length > 0:
                        if not has_others:
                            fill_sum_law(
                                others, touched[:n_touched], strata, time, ahead[:0], none_now, room
                            )
                            has_others = True
                        law, counted = others, nothing if by_identity else others
                    negligible = (weight if plan.wanted[EACH] else weight * mine[0]) * ahead_limit
                    if by_identity and negligible < NEGLIGIBLE:
                        skipped += negligible
                    elif n_ahead > 0:
                        if not has_ahead:
                            fill_sum_law(
                                ahead_law, touched[:0], strata, time, ahead[:n_seen], none_now, room
                            )
                            has_ahead = True
                        counted = ahead_law
                    contribute(mine, weight, images_now, product_now, law, counted, plan, sums)
            for at in range(starts[group], starts[group + 1]):
                counts[stratum[own[at]]] += 1
                tied[stratum[own[at]]] = 0
            for s in equal[:n_equal]:
                tied[s] = 0
        found.skipped[q] += skipped
        finish(sums, plan, found.values[q], found.cmc[q], found.shots[q])
