"""The walk along a query's own items: expected scores of one query after the other.

Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Where they are more than their strata, the product over the
strata is computed anew instead. Nothing is sorted but the own items.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial
from .laws import (
    NEGLIGIBLE,
    fill_ahead_law,
    fill_others_law,
    fill_own_law,
    least,
    new_room,
    none_left,
    none_of_tied,
    tail,
    times_of_group,
)
from .nearer import fill_powers, fill_tied_factor, identities_ahead, multiply, replace
from .query import meet, own_strata
from .sums import add_firsts, add_images, add_ranks, add_term, finish, law_lengths, new_sums
from .tables import EACH, PRECISIONS, RANKS, Strata


@jit
def new_strata(n_strata):
    """The strata of a query of which nothing is known."""
    return Strata(
        np.zeros(n_strata, np.int64),
        np.zeros(n_strata, np.int64),
        np.zeros(n_strata, np.int64),
        np.zeros(n_strata, np.int64),
    )


@jit
def rank_rows(distances, masked, codes, pool, plan, found, left):
    """Score whole galleries: queries of which ties matter are not scored, and become True in `left`."""
    strata = new_strata(len(pool.sizes))
    stamp = np.full(len(pool.item_starts) - 1, -1)
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, strata, found, q)
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
    strata = new_strata(len(pool.sizes))
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, strata, found, q)
        if len(met.own) > 0:
            _walk(met, own_strata(codes[q], pool), strata, pool, plan, found, q)


@jit
def _walk(met, family, strata, pool, plan, found, q):
    """Add what every group of own items contributes to the sums of query q.

    Passing many arrays to a function takes longer than the arithmetic for one own item. So what is done for
    each of them is not a function.
    """
    own, starts, events, items = met.own, met.starts, met.events, met.items
    sizes, draws, counts, tied = strata.sizes, strata.draws, strata.counts, strata.tied
    stratum, identity, nodes, by_identity = pool.stratum, pool.identity, plan.nodes, plan.by_identity
    n_strata, n_identities, n_nodes = len(sizes), len(pool.item_starts) - 1, len(plan.nodes)
    relevant, integrals, n_ahead = found.relevant[q], plan.integrals, plan.ahead
    length, n_ranks = law_lengths(relevant, plan)
    sums = new_sums(relevant, n_ranks, plan)
    widest = 0
    shares, first_rows = np.zeros(n_strata), np.zeros(n_strata, np.int64)
    for s in range(n_strata):
        counts[s], tied[s] = 0, 0
        widest = max(widest, draws[s])
        shares[s] = draws[s] / max(sizes[s], 1)
        if integrals and draws[s] < sizes[s]:
            first_rows[s] = plan.rows[sizes[s]]
    room = new_room(widest, len(items) + len(own), len(family), max(length, n_ahead, relevant))
    mine, others, ahead_law = np.empty(relevant), np.empty(length), np.empty(n_ahead)
    seen, seen_ahead = np.zeros(n_strata, np.bool_), np.zeros(n_identities, np.bool_)
    touched, ahead = np.empty(n_strata + 1, np.int64), np.empty(n_identities + 1, np.int64)
    equal = np.empty(n_strata, np.int64)
    none, settled, left = np.ones(n_identities), np.ones(n_identities), np.ones(n_identities)
    rows = np.empty(len(items) + n_strata, np.int64)
    images, of_identities, powers = np.ones(n_nodes), np.ones(n_nodes), np.ones(n_nodes)
    images_then, identities_then = np.empty(n_nodes), np.empty(n_nodes)
    factor, step = np.empty(n_nodes), np.empty(n_nodes)
    last, last_ahead = np.empty(n_nodes), np.empty(n_nodes)
    fill_powers(last, nodes, max(length - 1, 0))
    fill_powers(last_ahead, nodes, max(n_ahead - 1, 0))
    by_rank = plan.wanted[RANKS] or plan.wanted[PRECISIONS] or len(plan.places) > 0
    by_rank = by_rank or (plan.wanted[EACH] and not by_identity)
    now, all_of_it = np.zeros(1), np.ones(1)
    n_touched, n_seen, mean, mean_ahead, skipped = 0, 0, 0.0, 0.0, 0.0
    for group in range(len(starts) - 1):
        begin = events[2 * group - 1] if group > 0 else 0  # tied with the last group, or after it
        middle, end = events[2 * group + 1], events[2 * group + 2]
        n, n_sure = 0, 0
        for at in range(begin, middle):
            s = stratum[items[at]]
            count = counts[s]
            counts[s] = count + 1
            mean += shares[s]
            rows[n] = first_rows[s] + count
            n += first_rows[s] > 0
            touched[n_touched] = s  # without a branch
            n_touched += not seen[s]
            seen[s] = True
            if by_identity:
                j = identity[s]
                was = none[j]
                none[j] = was * none_left(sizes[s], count, draws[s])
                mean_ahead += was - none[j]
                ahead[n_seen] = j
                n_seen += not seen_ahead[j]
                seen_ahead[j] = True
        if integrals:
            n_sure = middle - begin - n
            if n > n_touched:
                n, n_sure = 0, 0
                for s in touched[:n_touched]:
                    rows[n] = first_rows[s] + counts[s]
                    n += first_rows[s] > 0
                    n_sure += 0 if first_rows[s] > 0 else counts[s]
                for k in range(n_nodes):
                    images[k] = 1.0
                multiply(images, plan.values, rows[:n])
            else:
                multiply(images, plan.ratios, rows[:n])
            if n_sure > 0:
                fill_powers(powers, nodes, n_sure)
                for k in range(n_nodes):
                    images[k] *= powers[k]
        n_equal = 0
        for at in range(middle, end):
            s = stratum[items[at]]
            equal[n_equal] = s
            n_equal += tied[s] == 0
            tied[s] += 1
            touched[n_touched] = s
            n_touched += not seen[s]
            seen[s] = True
            if by_identity:
                ahead[n_seen] = identity[s]
                n_seen += not seen_ahead[identity[s]]
                seen_ahead[identity[s]] = True
        if plan.identity_integrals:
            identities_ahead(of_identities, none, settled, ahead[:n_seen], nodes)
        limit, ahead_limit = 1.0, 1.0
        if length > 0:
            limit = tail(mean, length)
            if integrals:
                limit = least(limit, images, last)
        if n_ahead > 0:
            ahead_limit = tail(mean_ahead, n_ahead)
            if plan.identity_integrals:
                ahead_limit = least(ahead_limit, of_identities, last_ahead)
        n_members = starts[group + 1] - starts[group]
        for at in range(starts[group], starts[group + 1]):
            tied[stratum[own[at]]] += 1
        times, times_shares = now, all_of_it
        if n_equal > 0 or n_members > 1:
            times, times_shares = times_of_group(equal[:n_equal], family, strata)
            found.rounding[q] += 2.3e-16 * len(times) * min(len(family), n_members)
        for v in range(len(times)):
            time = times[v]
            if n_equal > 0:
                for k in range(n_nodes):
                    images_then[k], identities_then[k] = images[k], of_identities[k]
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
                    j = identity[s]
                    if by_identity and left[j] > 0.0:
                        was = left[j]
                        left[j] = was * none_of_tied(share, sizes[s], counts[s], draws[s])
                        if plan.identity_integrals:
                            replace(identities_then, was, left[j], nodes)
            has_others, has_ahead = False, False
            for s in family:  # the own items of a stratum have the same law
                if tied[s] == 0:
                    continue
                fill_own_law(mine, family, strata, s, time, room)
                weight = tied[s] * (times_shares[v] * draws[s] / sizes[s])
                first = weight * mine[0]
                if integrals and n_equal > 0:
                    add_images(mine, weight, images_then, identities_then, sums)
                elif integrals:
                    add_images(mine, weight, images, of_identities, sums)
                least_share = weight if by_rank else first
                if length > 0 and least_share * limit < NEGLIGIBLE:
                    skipped += least_share * limit
                elif length > 0:
                    if not has_others:
                        fill_others_law(others, touched[:n_touched], strata, time, room)
                        has_others = True
                    add_ranks(mine, weight, others, n_ranks, plan, sums)
                    if not by_identity:
                        add_firsts(first, weight, others, plan, sums)
                least_share = weight if plan.wanted[EACH] else first
                if n_ahead > 0 and least_share * ahead_limit < NEGLIGIBLE:
                    skipped += least_share * ahead_limit
                elif n_ahead > 0:
                    if not has_ahead:
                        fill_ahead_law(ahead_law, ahead[:n_seen], left if n_equal > 0 else none, room)
                        has_ahead = True
                    add_firsts(first, weight, ahead_law, plan, sums)
        for at in range(starts[group], starts[group + 1]):
            s = stratum[own[at]]
            counts[s] += 1
            tied[s] = 0
        for s in equal[:n_equal]:
            tied[s] = 0
    found.skipped[q] += skipped
    finish(sums, plan, found.values[q], found.cmc[q], found.shots[q])
