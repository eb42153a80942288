# mypy: allow-untyped-defs
"""Galleries of random identities: the walk along the right items of a query.

Some of the other identities are chosen, each set equally likely. They are looked at one after the other: if
j of the first c are chosen, the next one is with probability ``(n_chosen - j) / (n_others - c)``. State j
has the probability of j chosen ones, times the generating function, or the law, of the nearer items that
they add. All terms are positive and at most 1. Identities without a nearer item change nothing and are left
out. Those of which all nearer items are passed stay in one state; at every right item, the other ones with
nearer items are added to a copy of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernel import FALSE, TRUE, inner, jit
from ...sampling import fill_binomial
from . import EACH, PRECISIONS, RANKS
from .laws import (
    ONE,
    convolve,
    fill_law,
    fill_own_law,
    fill_tied_factor,
    least,
    none_left,
    none_of_tied,
    times_of_group,
)
from .walk import contribute, finish, meet, nothing_yet

NEGLIGIBLE = 1e-18
LEAST = 1e-30
"""States of a smaller probability are dropped: far less than the rounding that every bound contains."""


class State(NamedTuple):
    """One row for each number of chosen identities."""

    table: Any  # probability; generating functions of items and of identities; laws of both
    starts: Any  # columns of these four, those that are not needed are none; and the end
    span: Any  # first and last state that are kept, the others are 0; number of identities looked at


class Nearer(NamedTuple):
    """Wrong items that are nearer: of every stratum, and of the identities that have one."""

    strata: Any
    n_chosen: Any
    n_others: Any
    slots: Any  # number of an identity in the order of its nearest item, or -1
    identities: Any  # the identity of a number
    factors: Any  # generating function (0: if chosen, 1: if not; identity; node)
    none: Any  # probability of no drawn item (0: if chosen, 1: if not; identity)
    room: Any
    at_nodes: Any  # scratch, as are the following
    left: Any
    laws: Any  # (3, longest law of an identity)
    chances: Any


@jit
def score_rows_of_chosen(distances, masked, codes, n_chosen, others, pool, plan, found):
    """As `walk_rows`, with ``min(n_chosen, others[q])`` of ``others[q]`` other identities in a gallery."""
    n_nodes, n_ahead, stratum, identity, nothing = (
        len(plan.nodes), plan.ahead, pool.stratum, pool.identity, np.empty(0)
    )  # fmt: skip
    by_rank = plan.wanted[RANKS] or plan.wanted[PRECISIONS] or plan.wanted[EACH] or len(plan.places) > 0
    equal = np.empty(len(pool.sizes), np.int64)
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, found, q)
        own, starts, events, items = met.own, met.starts, met.events, met.items
        if len(own) == 0:
            continue
        found.rounding[q] += 8 * 2.3e-16 * len(items)
        family, strata, relevant = met.family, met.strata, found.relevant[q]
        counts, tied = strata.counts, strata.tied
        sums, room, length = nothing_yet(met, relevant, plan)
        chosen = min(n_chosen, others[q]), others[q]
        slots, identities, last = _identities_of(items, pool)
        n_slots, longest = len(identities), max(length, n_ahead, relevant, 2)
        n_states, n_factors = min(chosen[0], n_slots) + 1, n_nodes if plan.integrals else 0
        nearer = Nearer(
            strata, chosen[0], chosen[1], slots, identities, np.ones((2, n_slots, n_factors)),
            np.ones((2, n_slots)), room, np.ones((4, n_nodes)), np.ones(2), np.zeros((3, longest)),
            np.empty((2, n_states)),
        )  # fmt: skip
        passed, untied = _new_state(n_states, length, plan), _new_state(n_states, length, plan)
        state = _new_state(n_states, length, plan)
        mine, total, ends = np.empty(relevant), np.zeros(state.table.shape[1]), state.starts
        images, of_identities = total[ends[0] : ends[1]], total[ends[1] : ends[2]]
        others_law, ahead = total[ends[2] : ends[3]], total[ends[3] : ends[4]]
        is_passed, is_tied = np.zeros(n_slots, np.bool_), np.zeros(n_slots, np.bool_)
        n_seen, laws, share_chosen = 0, TRUE, chosen[0] / max(chosen[1], 1)
        for group in range(len(starts) - 1):
            before = events[2 * group - 1] if group > 0 else 0  # tied with the last group, or after it
            middle, end = events[2 * group + 1], events[2 * group + 2]
            for c in range(n_slots):
                is_tied[c] = False
            n_equal = 0
            for at in range(before, end):
                s = stratum[items[at]]
                n_seen = max(n_seen, nearer.slots[identity[s]] + 1)
                if at < middle:
                    _pass_item(s, nearer, pool, plan)
                    continue
                equal[n_equal] = s
                n_equal += tied[s] == 0
                tied[s] += 1
                is_tied[nearer.slots[identity[s]]] = True
            mean = 0.0
            for c in range(n_seen):
                mean += 1.0 - share_chosen * nearer.none[0, c] - (1.0 - share_chosen) * nearer.none[1, c]
            limit = least(mean, max(length, n_ahead), nothing, nothing)
            laws = laws and limit >= NEGLIGIBLE
            for at in range(before, middle):
                c = nearer.slots[identity[stratum[items[at]]]]
                if last[c] == at:
                    is_passed[c] = True
                    _add_identity(passed, c, 0.0, laws, nearer, pool, plan)
            _copy_state(passed, untied, laws)
            for c in range(n_seen):
                if not is_passed[c] and not is_tied[c]:
                    _add_identity(untied, c, 0.0, laws, nearer, pool, plan)
            n_members = starts[group + 1] - starts[group]
            for at in range(starts[group], starts[group + 1]):
                tied[stratum[own[at]]] += 1
            times, shares = times_of_group(equal[:n_equal], family, strata)
            if n_equal > 0 or n_members > 1:
                found.rounding[q] += 2.3e-16 * len(times) * min(len(family), n_members)
            for v in range(len(times)):
                if n_equal > 0 or v == 0:
                    _copy_state(untied, state, laws)
                    for c in range(n_seen):
                        if is_tied[c]:
                            _add_identity(state, c, times[v], laws, nearer, pool, plan)
                    _sum_states(state, total)
                for s in family:
                    if tied[s] == 0:
                        continue
                    fill_own_law(mine, family, strata, s, times[v], room)
                    weight = tied[s] * (shares[v] * strata.draws[s] / strata.sizes[s])
                    law, counted = nothing, nothing
                    if laws:
                        law, counted = others_law, ahead if plan.by_identity else others_law
                    else:
                        found.skipped[q] += (weight if by_rank else weight * mine[0]) * limit
                    contribute(mine, weight, images, of_identities, law, counted, plan, sums)
            for at in range(starts[group], starts[group + 1]):
                counts[stratum[own[at]]] += 1
                tied[stratum[own[at]]] = 0
            for s in equal[:n_equal]:
                tied[s] = 0
        finish(sums, plan, found.values[q])


@inner
def _identities_of(items, pool):
    """Identities in the order of their nearest items: their numbers, the identities, their last items."""
    n_identities = len(pool.item_starts) - 1
    slots, table = np.full(n_identities, -1), np.empty((2, n_identities), np.int64)
    n = 0
    for at in range(len(items)):
        j = pool.identity[pool.stratum[items[at]]]
        if slots[j] < 0:
            slots[j] = n
            table[0, n] = j
            n += 1
        table[1, slots[j]] = at
    return slots, table[0, :n], table[1, :n]


@inner
def _new_state(n_states, length, plan):
    """The state in which no identity has been looked at."""
    n_nodes, starts = len(plan.nodes), np.ones(5, np.int64)
    starts[1] += n_nodes if plan.integrals else 0
    starts[2] = starts[1] + (n_nodes if plan.identity_integrals else 0)
    starts[3] = starts[2] + length
    starts[4] = starts[3] + plan.ahead
    table = np.zeros((n_states, starts[4]))
    for k in range(starts[2]):
        table[0, k] = 1.0
    for law in range(2, 4):
        if starts[law] < starts[law + 1]:
            table[0, starts[law]] = 1.0
    return State(table, starts, np.zeros(3, np.int64))


@inner
def _copy_state(source, target, laws):
    """Copy, without the laws unless `laws`."""
    _clear(target, target.span[0], target.span[1] + 1)
    for j in range(source.span[0], source.span[1] + 1):
        for k in range(source.starts[4 if laws else 2]):
            target.table[j, k] = source.table[j, k]
    for at in range(3):
        target.span[at] = source.span[at]


@inner
def _clear(state, low, high):
    for j in range(low, high):
        for k in range(state.table.shape[1]):
            state.table[j, k] = 0.0


@inner
def _sum_states(state, total):
    """The sum over the states."""
    for k in range(len(total)):
        total[k] = 0.0
    for j in range(state.span[0], state.span[1] + 1):
        for k in range(len(total)):
            total[k] += state.table[j, k]


@inner
def _pass_item(s, nearer, pool, plan):
    """One more wrong item of stratum s is nearer."""
    strata = nearer.strata
    size, before, drawn = strata.sizes[s], strata.counts[s], strata.draws[s]
    c = nearer.slots[pool.identity[s]]
    stays = none_left(size, before, drawn)
    row = 0 if drawn == size else plan.rows[size] + before
    for kind in range(2 if pool.always[s] else 1):
        nearer.none[kind, c] *= stays
        for k in range(nearer.factors.shape[2]):
            nearer.factors[kind, c, k] *= plan.ratios[row, k]
    strata.counts[s] += 1


@inner
def _add_identity(state, c, time, laws, nearer, pool, plan):
    """Look at one more identity; `time`: probability that a tied item is nearer.

    It is not among those chosen from if all its items are in every gallery.
    """
    identity, images, left = nearer.identities[c], nearer.at_nodes[:2], nearer.left
    strata = pool.strata[pool.strata_starts[identity] : pool.strata_starts[identity + 1]]
    sure = TRUE
    for s in strata:
        sure = sure and (pool.always[s] or nearer.strata.sizes[s] == 0)
    for kind in range(2):
        left[kind] = nearer.none[kind, c]
        for k in range(nearer.factors.shape[2]):
            images[kind, k] = nearer.factors[kind, c, k]
    for s in strata:
        if nearer.strata.tied[s] > 0:
            _mix_ties(s, time, nearer, pool, plan)
    last, chances = min(state.span[1] + (0 if sure else 1), len(state.table) - 1), nearer.chances
    span, starts = (state.span[0], last), state.starts
    n_left = nearer.n_others - state.span[2]
    for j in range(state.span[0], last + 1):
        chances[0, j], chances[1, j] = 1.0, 0.0
        if not sure:
            chances[0, j] = max(n_left - (nearer.n_chosen - j), 0) / n_left
            chances[1, j] = min(nearer.n_chosen - j + 1, n_left) / n_left
    if plan.integrals:
        _mix_nodes(state, starts[0], images, span, chances)
    if plan.identity_integrals:
        indicators = nearer.at_nodes[2:]
        for kind in range(2):
            for k in range(len(plan.nodes)):
                indicators[kind, k] = left[kind] + (1.0 - left[kind]) * plan.nodes[k]
        _mix_nodes(state, starts[1], indicators, span, chances)
    law, other = nearer.laws[0], nearer.laws[1]
    if laws and starts[3] < starts[4]:
        law[0], law[1], other[0], other[1] = left[0], 1.0 - left[0], left[1], 1.0 - left[1]
        _mix_laws(
            state, starts[3:], law[:2], other[: 2 if left[1] < 1.0 else 1], span, chances, nearer.laws[2]
        )
    if laws and starts[2] < starts[3]:
        n = _fill_law_of(law, strata, FALSE, time, nearer, pool)
        n_other = _fill_law_of(other, strata, TRUE, time, nearer, pool)
        _mix_laws(state, starts[2:], law[:n], other[:n_other], span, chances, nearer.laws[2])
    _move(state, span, chances)
    state.span[2] += not sure


@inner
def _move(state, span, chances):
    """The probabilities of the states after one more identity."""
    table, low, high = state.table, span[0], span[1]
    for j in range(high, low - 1, -1):
        table[j, 0] *= chances[0, j]
        if j > 0:
            table[j, 0] += chances[1, j] * table[j - 1, 0]
    while low < high and table[low, 0] < LEAST:
        low += 1
    while high > low and table[high, 0] < LEAST:
        high -= 1
    _clear(state, span[0], low)
    _clear(state, high + 1, span[1] + 1)
    state.span[0], state.span[1] = low, high


@inner
def _mix_ties(s, time, nearer, pool, plan):
    """Let the tied items of a stratum be nearer with probability `time` each."""
    strata = nearer.strata
    size, before, drawn = strata.sizes[s], strata.counts[s], strata.draws[s]
    share = nearer.room.chosen[: strata.tied[s] + 1]
    fill_binomial(share, time)
    stays = none_of_tied(share, size, before, drawn)
    factor, step = np.ones(nearer.factors.shape[2]), np.empty(nearer.factors.shape[2])
    if plan.integrals:
        row = 0 if drawn == size else plan.rows[size] + before
        fill_tied_factor(factor, step, share, plan.ratios, row, drawn == size)
    for kind in range(2 if pool.always[s] else 1):
        nearer.left[kind] *= stays
        for k in range(len(factor)):
            nearer.at_nodes[kind, k] *= factor[k]


@inner
def _fill_law_of(total, strata, only_sure, time, nearer, pool):
    """Fill the law of the number of nearer drawn items of an identity, or of those that are always drawn.

    Returns
    -------
    int
        Its length.
    """
    for r in range(len(total)):
        total[r] = 0.0
    total[0] = 1.0
    length, of = ONE, nearer.strata
    for s in strata:
        most = min(of.draws[s], of.counts[s] + of.tied[s])
        if most > 0 and (pool.always[s] or not only_sure):
            fill_law(nearer.room.law, of, s, of.sizes[s], of.draws[s], of.tied[s], time, nearer.room)
            length = convolve(total, length, nearer.room.law, most + 1, nearer.room.other)
    return length


@inner
def _mix_nodes(state, start, factors, span, chances):
    """Multiply by the factors of one more identity; ``factors[0]`` if it is chosen, else ``factors[1]``.

    `chances`: for every state, the probabilities that it is not chosen, and that it is in the state before.
    """
    if_chosen, if_not, end = factors[0], factors[1], start + factors.shape[1]
    for j in range(span[1], span[0] - 1, -1):
        stays, moves = chances[0, j], chances[1, j]
        here = state.table[j][start:end]
        if j == span[0] or moves == 0.0:
            for k in range(len(here)):
                here[k] *= stays * if_not[k]
        else:
            below = state.table[j - 1][start:end]
            for k in range(len(here)):
                here[k] = stays * here[k] * if_not[k] + moves * below[k] * if_chosen[k]


@inner
def _mix_laws(state, ends, if_chosen, if_not, span, chances, row):
    """As `_mix_nodes`, with laws; `row` is scratch."""
    start, end, n = ends[0], ends[1], ends[1] - ends[0]
    for j in range(span[1], span[0] - 1, -1):
        stays, moves = chances[0, j], chances[1, j]
        here = state.table[j][start:end]
        if len(if_not) > 1:
            convolve(here, n, if_not, len(if_not), row)
        stays *= 1.0 if len(if_not) > 1 else if_not[0]
        for r in range(n):
            here[r] *= stays
        if j == span[0] or moves == 0.0:
            continue
        below = state.table[j - 1][start:end]
        for b in range(min(len(if_chosen), n)):
            weight = moves * if_chosen[b]
            if weight > 0.0:
                for r in range(n - b):
                    here[b + r] += weight * below[r]
