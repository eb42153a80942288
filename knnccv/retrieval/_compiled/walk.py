# mypy: allow-untyped-defs
"""The walk along a query's own items: expected scores of one query after the other.

What the mask leaves to be drawn, with the wrong items in the order of the own ones, comes first (`meet`).
Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Nothing is sorted but the own items. Each own item adds to
few sums, in which all forms are linear (`contribute`): a score that divides by a rank is an integral over
the generating function, others are sums over laws. The scores follow at the end (`finish`).

Passing many arrays to a function takes longer than the arithmetic for one own item, and a function is
compiled once more in every one that calls it. So the walk is one function.
"""

from __future__ import annotations

import numpy as np

from ...kernel import inner, jit
from ...kernel.sampling import fill_binomial
from . import EACH, FIRST, FIRSTS, LAST, PRECISIONS, RANKS, Met, Room, Strata, Sums
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


@inner
def own_items(row, out, code, pool):
    """Items of the query's identity that are not `out`, by distance, then by number."""
    start, stop = pool.item_starts[code], pool.item_starts[code + 1]
    own = np.empty(stop - start, np.int64)
    n = 0
    for at in range(start, stop):
        own[n] = pool.items[at]
        n += not out[pool.items[at]]
    return sort_items(own[:n], row)


@inner
def sort_items(items, row):
    """Sort items by their distances, stable; as `np.argsort`, which takes a second to compile."""
    other, n, width = np.empty_like(items), len(items), 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or row[items[i]] <= row[items[j]]):
                    other[k] = items[i]
                    i += 1
                else:
                    other[k] = items[j]
                    j += 1
        items, other = other, items
        width *= 2
    return items


@jit
def count_left(masked, pool, left):
    """Count the items of every stratum that are not masked, for every query."""
    for q in range(len(masked)):
        for s in range(len(pool.sizes)):
            left[q, s] = pool.sizes[s]
        for i in range(len(pool.stratum)):
            left[q, pool.stratum[i]] -= masked[q, i]


@inner
def meet(row, out, code, pool, fair, found, q):
    """What the walk along a query's own items meets: wrong items in their order, without sorting them.

    Items ``events[2 j]`` to ``events[2 j + 1]`` are nearer than group j of tied own items and not nearer
    than the one before, those up to ``events[2 j + 2]`` tied with it. Without a right item all is empty.
    Where the order is doubtful, ``found.slack`` becomes -1.
    """
    slack, close = max(found.slack[q], 0.0), False
    code_or_0, n_strata = max(code, 0), len(pool.sizes)
    own = own_items(row, out, code_or_0, pool)
    if code < 0:
        own = own[:0]
    table = np.zeros((4, n_strata), np.int64)
    strata = Strata(table[0], table[1], table[2], table[3])
    family = pool.strata[pool.strata_starts[code_or_0] : pool.strata_starts[code_or_0 + 1]]
    starts, edges, n_groups, total = np.empty(len(own) + 1, np.int64), np.empty(len(own) + 1), 0, 0.0
    for i in range(len(own)):
        value = row[own[i]]
        close = close or (i > 0 and value - row[own[i - 1]] <= slack)
        if n_groups == 0 or not fair or value != edges[n_groups - 1]:
            starts[n_groups], edges[n_groups] = i, value
            n_groups += 1
        total += value
    starts[n_groups] = len(own)
    if len(own) == 0:
        return Met(own, starts, starts, np.empty(0, np.int32), fair, family, strata)
    relevant, n_ties = 0, 0
    tied = n_groups < len(own)
    for s in range(n_strata):
        strata.sizes[s] = pool.sizes[s]
    for i in range(len(out)):
        strata.sizes[pool.stratum[i]] -= out[i]
    for s in range(n_strata):
        size = strata.sizes[s]
        strata.draws[s] = size if pool.shots == 0 or pool.always[s] else min(pool.shots, size)
    for s in family:
        relevant += strata.draws[s]
    kept, values, found.means[q, 1] = _not_behind(row, out, pool.owner, code, edges[n_groups - 1], slack)
    n = len(kept)
    place = np.zeros(n, np.int32)
    _fill_slots(values, edges[:n_groups], place)
    events, items = np.zeros(2 * n_groups + 3, np.int64), np.empty(n, np.int32)
    for at in range(n):
        low = place[at]
        place[at] = 2 * low
        if edges[low] - values[at] <= 2.0 * slack:
            n_ties += 1
            close = True
            if fair:
                place[at] += 1
                tied = True
            else:
                while low < n_groups and edges[low] == values[at] and own[low] < kept[at]:
                    low += 1
                place[at] = 2 * low
        events[place[at] + 2] += 1
    for b in range(2, 2 * n_groups + 3):
        events[b] += events[b - 1]
    for at in range(n):
        items[events[place[at] + 1]] = kept[at]
        events[place[at] + 1] += 1
    found.relevant[q], found.ties[q], found.means[q, 0] = relevant, n_ties, total / len(own)
    n_terms = 60 + 2 * n + 8 * len(own) + 4 * relevant + 4 * n_strata
    found.rounding[q] = 2.3e-16 * n_terms
    if close and slack > 0.0:
        found.slack[q] = -1.0
    return Met(own, starts[: n_groups + 1], events, items, tied, family, strata)


@inner
def _fill_slots(values, edges, place):
    """For every value, the number of edges that are smaller, by bisection; none is above the last edge."""
    size = len(edges)
    while size > 1:
        half = size >> 1
        for at in range(len(place)):  # the bounds are the same for all values, so there is no branch
            low = place[at]
            place[at] = low + (half if edges[np.uint64(low + half - 1)] < values[at] else 0)
        size -= half


@inner
def _not_behind(row, out, owner, code, last, slack):
    """The wrong items that are not behind the last own one, their values, and the mean of all wrong ones.

    Values are less by the slack, so that an item close behind an own one counts as close before it.
    """
    kept, values, n, n_wrong = np.empty(len(row), np.int32), np.empty(len(row)), 0, 0
    sums = np.zeros(8)  # whose additions need not wait for each other
    for i in range(len(row)):
        is_wrong = (not out[i]) & (owner[i] != code)
        kept[n], values[n] = i, row[i] - slack  # without a branch
        n += is_wrong & (row[i] - slack <= last)
        n_wrong += is_wrong
        sums[i & 7] += row[i] * is_wrong
    return kept[:n], values[:n], sums.sum() / max(n_wrong, 1)


@inner
def nothing_yet(met, relevant, plan):
    """Sums of nothing for a query with this number of right items, scratch, and the length of its laws."""
    length, n_ranks, n_rows, n_columns = plan.length, plan.ranks, 0, 0
    if plan.follows:
        length, n_ranks = max(length, relevant), max(n_ranks, relevant)
    for f in range(len(plan.places)):
        n_rows = max(n_rows, min(plan.places[f, 1], relevant))
        n_columns = max(n_columns, plan.places[f, 2])
    length, n_nodes = max(length, n_columns), len(plan.nodes)
    sums = Sums(
        np.zeros((relevant, n_nodes if plan.integrals else 0)),
        np.zeros(n_nodes if plan.identity_integrals else 0),
        np.zeros((4, max(length, plan.ahead))),
        n_ranks,
        np.zeros((n_rows, n_columns)),
    )
    widest = 0
    for size in met.strata.sizes:
        widest = max(widest, size)
    table = np.zeros((4, max(widest + 1, length + 4, plan.ahead + 4, relevant + 4)))
    none = np.zeros(len(met.strata.sizes) + 4)
    return sums, Room(table[0], table[1], table[2], table[3], none), length


@inner
def contribute(mine, weight, images, identities, others, counted, plan, sums):
    """Add a right item that is drawn with this weight, or several with the same laws.

    Parameters
    ----------
    mine : ndarray of shape (R,)
        Law of the number of right items before it.
    images, identities : ndarray
        Generating functions of the numbers of wrong images, and of identities, before it.
    others, counted : ndarray
        Laws of the number of wrong images, and of what ranks of first items count; empty if negligible.
    """
    for k in range(len(sums.identities)):
        sums.identities[k] += weight * mine[0] * identities[k]
    for a in range(len(mine)):
        share, row = weight * mine[a], sums.images[a]
        if share == 0.0:
            continue
        for k in range(len(row)):
            row[k] += share * images[k]
        for law in range(PRECISIONS + 1):
            row, times = sums.laws[law], share * (1 + a if law == PRECISIONS else 1)
            for b in range(min(len(others), sums.n_ranks - a) if plan.wanted[law] else 0):
                row[a + b] += times * others[b]
        for b in range(min(len(others), sums.pairs.shape[1]) if a < len(sums.pairs) else 0):
            sums.pairs[a, b] += share * others[b]
    for kind in range(FIRSTS, EACH + 1):
        row, share = sums.laws[kind], weight * mine[0] if kind == FIRSTS else weight
        for r in range(len(counted) if plan.wanted[kind] else 0):
            row[r] += share * counted[r]


@inner
def finish(sums, plan, values):
    """Fill in what follows from the sums."""
    relevant, n_integrals, n_linear = len(sums.images), len(plan.of), len(plan.law)
    powers = np.ones(len(plan.nodes))
    for a in range(relevant if n_integrals > 0 else 0):
        for f in range(n_integrals):
            of = plan.of[f]
            if (of == FIRST and a > 0) or (of == LAST and a < relevant - 1):
                continue
            if plan.terms[f, 0] == 0.0 and a == 0:
                total = plan.terms[f, 3] * sums.images[0, len(powers) - 1]
            else:
                total, row = 0.0, sums.images[a]
                if of == FIRST and plan.identity_integrals:
                    row = sums.identities
                for k in range(len(powers)):
                    total += plan.mass[f, k] * powers[k] * row[k]
                total *= plan.terms[f, 1] + plan.terms[f, 2] * a
            values[f] += total / (relevant if plan.terms[f, 4] > 0.0 else 1)
        for k in range(len(powers)):
            powers[k] *= plan.nodes[k]
    for f in range(n_linear):
        total, depth, row = 0.0, plan.depths[f], sums.laws[plan.law[f]]
        if plan.within[f]:
            depth = min(depth, relevant)
        for r in range(min(depth, len(row))):
            total += row[r] * plan.weights[f, r]
        values[n_integrals + f] = total / plan.divisors[f, relevant]
    for f in range(len(plan.places)):
        place = plan.places[f]
        total = 0.0
        for a in range(min(relevant, place[1])):
            for b in range(place[2]):
                total += sums.pairs[a, b] * plan.tables[place[0] + a * place[2] + b]
        values[n_integrals + n_linear + f] = total
    start = n_integrals + n_linear + len(plan.places)
    total = 0.0
    for r in range(plan.every):
        total += sums.laws[EACH, r]
        values[start + r] = total / relevant
    total = 0.0
    for r in range(plan.first):
        total += sums.laws[FIRSTS, r]
        values[start + plan.every + r] = total


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
        rows = np.empty(len(items), np.int64)
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
                multiply(images, plan.ratios, rows[:n])
                fill_powers(powers, nodes, middle - begin - n)
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
        finish(sums, plan, found.values[q])
