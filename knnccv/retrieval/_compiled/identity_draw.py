"""Galleries of random identities: the walk along the right items of a query.

Identities of which all nearer items are passed stay in one state; at every right item, the other ones with
nearer items are added to a copy of it.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .bounds import tail
from .buckets import bucket, group_starts
from .contributions import add_cumulative, add_ranked, add_reciprocals, add_tables
from .forms import law_length
from .identity_state import Nearer, Room, add_identity, copy_state, new_state, pass_item, sum_states
from .laws import fill_own_law
from .query import fill_draws, n_drawn, own_items, own_strata
from .tables import AP, BIASED, INVERSE, RECIPROCAL, TRAPEZOID
from .ties import times_of_group

NEGLIGIBLE = 1e-18


@jit
def score_rows_of_chosen(distances, masked, codes, n_chosen, others, pool, plan, forms, found):
    """As `score_rows`, with ``min(n_chosen, others[q])`` of ``others[q]`` other identities in a gallery."""
    n_strata = len(pool.sizes)
    sizes, draws = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    for q in range(len(distances)):
        row, out, code = distances[q], masked[q], codes[q]
        found.relevant[q] = 0
        if code < 0:
            continue
        own = own_items(row, out, code, pool)
        if len(own) == 0:
            continue
        family = own_strata(code, pool)
        fill_draws(sizes, draws, out, pool)
        starts = group_starts(row[own], plan.fair)
        events, items, _, found.ties[q] = bucket(
            row, out, code, own, starts, pool, plan.fair, found.means[q]
        )
        found.relevant[q] = relevant = n_drawn(family, draws)
        n_terms = 60 + 10 * len(items) + 8 * len(own) + 4 * relevant + 4 * n_strata
        found.rounding[q] = 2.3e-16 * n_terms
        _walk(
            own, starts, events, items, family, min(n_chosen, others[q]), others[q], sizes, draws, pool,
            plan, forms, found, q,
        )  # fmt: skip


@jit
def _walk(
    own, starts, events, items, family, n_chosen, n_others, sizes, draws, pool, plan, forms, found, q
):
    """Evaluate every group of right items, with the wrong items that are nearer."""
    n_nodes, relevant = len(plan.nodes), found.relevant[q]
    slots, identities, last = _slots(items, pool)
    n_slots = len(identities)
    nearer = Nearer(
        sizes, draws, np.zeros(len(sizes), np.int64), np.zeros(len(sizes), np.int64), slots, identities,
        np.ones((2, n_slots, n_nodes if plan.integrals else 0)), np.ones((2, n_slots)),
    )  # fmt: skip
    by_rank = plan.ranks > 0 or plan.map_r
    length = max(plan.length, relevant if plan.map_r else 0)
    depth = plan.max_rank if plan.by_identity else 0
    by_law = by_rank
    if forms.active:
        length = max(length, law_length(forms, relevant))
        depth = max(depth, forms.every if plan.by_identity else 0)
        by_law = by_rank or forms.every > 0 or len(forms.places) > 0
    n_states = min(n_chosen, n_slots) + 1
    n_images, n_identities = (n_nodes if plan.integrals else 0), (n_nodes if plan.identity_integrals else 0)
    passed = new_state(n_states, n_images, n_identities, length, depth)
    untied = new_state(n_states, n_images, n_identities, length, depth)
    state = new_state(n_states, n_images, n_identities, length, depth)
    images, of_identities = np.ones(n_nodes), np.ones(n_nodes)
    ranks, ahead = np.zeros(length), np.zeros(depth)
    widest = draws.max()
    room = Room(
        np.ones((2, n_nodes)), np.ones((2, n_nodes)), np.ones(2), np.zeros((4, max(length, 2))),
        np.empty(widest + 1), np.empty(widest + 1), np.empty(len(items) + len(own) + 1),
        np.empty(max(length, depth)), np.empty((2, n_states)),
    )  # fmt: skip
    mine, mine_too = np.empty(relevant + 1), np.empty(relevant + 1)
    is_passed, is_tied = np.zeros(n_slots, np.bool_), np.zeros(n_slots, np.bool_)
    equal = np.empty(len(sizes), np.int64)
    n_passed, n_seen, laws = 0, 0, True
    share_chosen = n_chosen / max(n_others, 1)
    for group in range(len(starts) - 1):
        begin, middle, end = events[2 * group], events[2 * group + 1], events[2 * group + 2]
        members = own[starts[group] : starts[group + 1]]
        for at in range(begin, middle):
            pass_item(pool.stratum[items[at]], nearer, pool, plan)
        for at in range(events[max(2 * group - 1, 0)], middle):  # tied with the last group, or after it
            c = slots[pool.identity[pool.stratum[items[at]]]]
            n_seen = max(n_seen, c + 1)
            if last[c] == at:
                is_passed[c] = True
                n_passed += add_identity(
                    passed, c, n_passed, n_chosen, n_others, 0.0, laws, nearer, pool, plan, room
                )
        is_tied[:] = False
        n_equal = 0
        for at in range(middle, end):
            s = pool.stratum[items[at]]
            if nearer.tied[s] == 0:
                equal[n_equal] = s
                n_equal += 1
            nearer.tied[s] += 1
            c = slots[pool.identity[s]]
            n_seen = max(n_seen, c + 1)
            is_tied[c] = True
        mean = 0.0
        for c in range(n_seen):
            none = share_chosen * nearer.none[0, c] + (1.0 - share_chosen) * nearer.none[1, c]
            mean += 1.0 - none
        limit = tail(mean, max(length, depth))
        laws = laws and limit >= NEGLIGIBLE
        copy_state(passed, untied, laws)
        n_untied = n_passed
        for c in range(n_seen):
            if not is_passed[c] and not is_tied[c]:
                n_untied += add_identity(
                    untied, c, n_untied, n_chosen, n_others, 0.0, laws, nearer, pool, plan, room
                )
        for i in members:
            nearer.tied[pool.stratum[i]] += 1
        times, shares = times_of_group(members, equal[:n_equal], family, nearer.tied, draws)
        if n_equal > 0 or len(members) > 1:
            found.rounding[q] += 2.3e-16 * len(times) * min(len(family), len(members))
        for v in range(len(times)):
            time, share = times[v], shares[v]
            if n_equal > 0 or v == 0:
                copy_state(untied, state, laws)
                n_added = n_untied
                for c in range(n_seen):
                    if is_tied[c]:
                        n_added += add_identity(
                            state, c, n_added, n_chosen, n_others, time, laws, nearer, pool, plan, room
                        )
                sum_states(state.images, state.span, images)
                sum_states(state.identities, state.span, of_identities)
                sum_states(state.ranks, state.span, ranks)
                sum_states(state.ahead, state.span, ahead)
            for s in family:
                if nearer.tied[s] == 0:
                    continue
                mine, mine_too = fill_own_law(
                    mine, mine_too, family, sizes, nearer.counts, nearer.tied, draws, s, time, room.piece,
                    room.part, room.share,
                )  # fmt: skip
                weight = nearer.tied[s] * (share * draws[s] / sizes[s])
                if plan.integrals:
                    _integrate(mine, relevant, weight, images, of_identities, plan, found.single[q])
                if forms.active and len(forms.of) > 0:
                    add_reciprocals(
                        mine, relevant, weight, images, of_identities, plan, forms, found.forms[q]
                    )
                first = weight * mine[0] if plan.max_rank else 0.0
                if not laws:
                    found.skipped[q] += max(weight if by_law else 0.0, first) * limit
                    continue
                if plan.max_rank:
                    add_cumulative(first, ahead if plan.by_identity else ranks, found.cmc[q])
                if by_rank:
                    add_ranked(mine, relevant, weight, ranks, plan.map_r, found.ranks[q], found.single[q])
                if forms.active:
                    add_tables(mine, relevant, weight, ranks, forms, found.forms[q])
                    counted = ahead if plan.by_identity else ranks
                    add_cumulative(weight / relevant, counted, found.shots[q])
        for i in members:
            nearer.counts[pool.stratum[i]] += 1
            nearer.tied[pool.stratum[i]] = 0
        for s in equal[:n_equal]:
            for _ in range(nearer.tied[s]):
                pass_item(s, nearer, pool, plan)
            nearer.tied[s] = 0


@jit
def _slots(items, pool):
    """Number the identities in the order of their nearest items; the last item of each."""
    slots = np.full(len(pool.item_starts) - 1, -1, np.int64)
    identities, last = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    n = 0
    for at in range(len(items)):
        j = pool.identity[pool.stratum[items[at]]]
        if slots[j] < 0:
            slots[j] = n
            identities[n] = j
            n += 1
        last[slots[j]] = at
    return slots, identities[:n], last[:n]


@jit
def _integrate(mine, relevant, weight, images, identities, plan, single):
    """Add what a right item contributes to the scores that divide by a rank, and to those of one node."""
    n_nodes = len(plan.weights)
    rectangle, before, whole, last = 0.0, mine[0] * images[len(images) - 1], 0.0, 0.0
    for k in range(len(images) - 1):
        t, power, total, inner, outer = plan.nodes[k], 1.0, 0.0, 0.0, 0.0
        for a in range(relevant):
            total += mine[a] * power
            outer += (1 + a) * mine[a] * power
            if a + 1 < relevant:
                inner += (1 + a) * mine[a + 1] * power
                power *= t
        if k >= n_nodes:
            single[BIASED + k - n_nodes] += weight * (1 - t) * total * images[k]
            continue
        mass = plan.weights[k] * images[k]
        rectangle += mass * outer
        before += mass * inner
        last += mass * power
        whole += plan.weights[k] * identities[k] if plan.identity_integrals else mass
    single[AP] += weight * rectangle / relevant
    single[TRAPEZOID] += weight * (rectangle + before) / 2 / relevant
    single[RECIPROCAL] += weight * mine[0] * whole
    single[INVERSE] += weight * mine[relevant - 1] * relevant * last
