"""What each gallery item adds to the expected scores if it is drawn.

A right item i adds E_i to the score of its query. If item j of another stratum is drawn, E_i changes in one
of two ways, according to whether j is nearer than i. Sums of both changes over the right items so far are
kept for every stratum; j needs them only at its own place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernel import jit
from .bounds import tail
from .hajek_laws import fill_all_but_one, fill_own, multiply
from .hajek_tables import fill_basis, fill_gains
from .query import fill_draws, n_drawn, own_items, own_strata

NEGLIGIBLE = 1e-20


class State(NamedTuple):
    """Strata of one query; `before` and `behind` are sums of changes, one column for each score."""

    sizes: Any
    draws: Any
    counts: Any  # nearer items
    random: Any
    seen: Any  # strata that have nearer wrong items and are random
    n_seen: Any  # their number, and that of identities ahead
    ahead: Any  # identities with nearer items
    before: Any
    behind: Any


@jit
def effect_rows(distances, masked, codes, weights, pool, tables, wanted, effects):
    """Add ``weights[q] (E[score | j is drawn] - E[score])`` of all queries of a block to ``effects[j]``."""
    for q in range(len(distances)):
        if weights[q] > 0:
            _add_query(distances[q], masked[q], codes[q], weights[q], pool, tables, wanted, effects)


@jit
def _add_query(row, out, code, weight, pool, tables, wanted, effects):
    state, sure = _state(out, pool, effects.shape[1]), 0
    own, family = own_items(row, out, code, pool), own_strata(code, pool)
    relevant = n_drawn(family, state.draws)
    place, events, items = _places(row, out, code, own, pool)
    met, met_too = np.zeros(len(state.sizes), np.bool_), np.zeros(len(pool.item_starts) - 1, np.bool_)
    basis = np.empty((len(wanted.integrals), relevant, len(wanted.nodes)))
    gains = np.empty((len(wanted.at_ranks), relevant, wanted.length))
    fill_basis(basis, relevant, wanted)
    fill_gains(gains, relevant, wanted)
    mine, changed = np.empty(relevant), np.empty(relevant)
    part = np.empty(state.draws.max() + 1)
    values = np.empty((relevant, effects.shape[1]))
    base = np.empty(effects.shape[1])
    for i in range(len(own)):
        for at in range(events[i], events[i + 1]):
            s = pool.stratum[items[at]]
            j = pool.identity[s]
            if not met_too[j]:
                met_too[j] = True
                state.ahead[state.n_seen[1]] = j
                state.n_seen[1] += 1
            if state.random[s]:
                if not met[s]:
                    met[s] = True
                    state.seen[state.n_seen[0]] = s
                    state.n_seen[0] += 1
                effects[items[at]] += weight * (state.behind[s] - state.before[s])
            else:
                sure += 1
            state.counts[s] += 1
        member = pool.stratum[own[i]]
        chance = state.draws[member] / state.sizes[member]
        fill_own(mine, part, family, state.sizes, state.counts, state.draws, member, -1, False)
        values[:] = 0.0
        _add_integrals(values, chance * mine, basis, sure, state, tables, wanted)
        if wanted.length > 0:
            _add_laws(values, chance * mine, gains, sure, state, tables, wanted)
        if wanted.by_identity:
            _add_identities(values, chance * mine, state, tables, wanted, pool)
        _score(base, mine, values, chance)
        for s in family:
            if not state.random[s]:
                continue
            met[s] = True
            share = (state.draws[s] - 1) / (state.sizes[s] - 1) if s == member else chance
            nearer = state.counts[s]
            if nearer > 0:
                if share > 0:
                    fill_own(changed, part, family, state.sizes, state.counts, state.draws, member, s, True)
                    _score(state.before[s], changed, values, share, accumulate=True)
                state.before[s] -= base
            if s == member:
                effects[own[i]] += weight * ((1 / chance - 1) * base + state.behind[s] - state.before[s])
            if nearer + (s == member) < state.sizes[s]:
                if share > 0:
                    fill_own(
                        changed, part, family, state.sizes, state.counts, state.draws, member, s, False
                    )
                    _score(state.behind[s], changed, values, share, accumulate=True)
                state.behind[s] -= base
        state.counts[member] += 1
    for j in range(len(out)):
        s = pool.stratum[j]
        if met[s] and not out[j]:
            effects[j] += weight * (state.before[s] if place[j] < len(own) else state.behind[s])


@jit
def _state(out, pool, n_columns):
    n_strata = len(pool.sizes)
    sizes, draws = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    fill_draws(sizes, draws, out, pool)
    return State(
        sizes, draws, np.zeros(n_strata, np.int64), draws < sizes, np.empty(n_strata, np.int64),
        np.zeros(2, np.int64), np.empty(len(pool.item_starts) - 1, np.int64),
        np.zeros((n_strata, n_columns)), np.zeros((n_strata, n_columns)),
    )  # fmt: skip


@jit
def _places(row, out, code, own, pool):
    """The number of own items before every item; wrong items in the order of their place."""
    place = np.zeros(len(row), np.int64)
    events = np.zeros(len(own) + 2, np.int64)
    for i in range(len(row)):
        if out[i] or pool.identity[pool.stratum[i]] == code:
            continue
        low, high = 0, len(own)
        while low < high:
            middle = (low + high) // 2
            value = row[own[middle]]
            if value < row[i] or (value == row[i] and own[middle] < i):
                low = middle + 1
            else:
                high = middle
        place[i] = low
        events[low + 1] += 1
    for i in range(1, len(events)):
        events[i] += events[i - 1]
    items, filled = np.empty(events[-1], np.int64), events[:-1].copy()
    for i in range(len(row)):
        if not out[i] and pool.identity[pool.stratum[i]] != code:
            items[filled[place[i]]] = i
            filled[place[i]] += 1
    return place, events, items


@jit
def _score(score, law, values, share, accumulate=False):
    """The score of an own item that is drawn with probability `share` and has this law of own items."""
    if not accumulate:
        score[:] = 0.0
    for a in range(len(law)):
        if law[a] > 0.0:
            score += share * law[a] * values[a]


@jit
def _add_integrals(values, mine, basis, sure, state, tables, wanted):
    """Fill in the integrals of `values`, and add the changes of wrong strata."""
    n_nodes = len(wanted.nodes)
    if len(basis) == 0:
        return
    product = np.empty(n_nodes)
    for k in range(n_nodes):
        product[k] = wanted.nodes[k] ** sure
    for at in range(state.n_seen[0]):
        s = state.seen[at]
        product *= tables.whole[tables.rows[state.sizes[s]] + state.counts[s]]
    mass = np.zeros((len(basis), n_nodes))
    base = np.zeros(len(basis))
    for f in range(len(basis)):
        if f == wanted.identity_integral:
            continue
        for a in range(len(mine)):
            total = 0.0
            for k in range(n_nodes):
                both = basis[f, a, k] * product[k]
                total += both
                mass[f, k] += mine[a] * both
            values[a, f] = total
            base[f] += mine[a] * total
    for at in range(state.n_seen[0]):
        s = state.seen[at]
        row = tables.rows[state.sizes[s]] + state.counts[s]
        for f in range(len(basis)):
            behind, before = 0.0, 0.0
            for k in range(n_nodes):
                behind += mass[f, k] * tables.behind[row, k]
                before += mass[f, k] * tables.before[row, k]
            state.behind[s, f] += behind - base[f]
            state.before[s, f] += before - base[f]


@jit
def _add_laws(values, mine, gains, sure, state, tables, wanted):
    """The same for scores at ranks, and the CMC of images: laws of the number of nearer wrong items."""
    n, length, first = state.n_seen[0], wanted.length, len(wanted.integrals)
    start = first + len(gains)
    n_ranks = 0 if wanted.by_identity else wanted.max_rank
    mean = float(sure)
    for at in range(n):
        s = state.seen[at]
        mean += state.counts[s] * state.draws[s] / state.sizes[s]
    if sure >= length or tail(mean, length) * mine.sum() < NEGLIGIBLE:
        return
    root = np.zeros(length)
    root[sure] = 1.0
    factors, outs = np.empty((n, tables.law.shape[1])), np.empty((n, length))
    for at in range(n):
        s = state.seen[at]
        factors[at] = tables.law[tables.rows[state.sizes[s]] + state.counts[s]]
    fill_all_but_one(factors, n, root, outs)
    law, weights = root, np.zeros((len(gains), length))
    if n > 0:
        law = outs[0].copy()
        multiply(law, factors[0], factors.shape[1] - 1)
    base = np.zeros(values.shape[1])
    for f in range(len(gains)):
        for a in range(len(mine)):
            total = 0.0
            for b in range(length):
                total += gains[f, a, b] * law[b]
                weights[f, b] += mine[a] * gains[f, a, b]
            values[a, first + f] = total
            base[first + f] += mine[a] * total
    total = 0.0
    for r in range(n_ranks):
        total += law[r]
        values[0, start + r] = total
        base[start + r] = mine[0] * total
    changed = np.empty(length)
    for at in range(n):
        s = state.seen[at]
        row = tables.rows[state.sizes[s]] + state.counts[s]
        for side in range(2):
            sums = state.before[s] if side else state.behind[s]
            changed[:] = outs[at]
            multiply(
                changed, tables.law_before[row] if side else tables.law_behind[row], len(factors[at]) - 1
            )
            for f in range(len(gains)):
                total = 0.0
                for b in range(length):
                    total += weights[f, b] * changed[b]
                sums[first + f] += total - base[first + f]
            total = 0.0
            for r in range(n_ranks):
                total += changed[r]
                sums[start + r] += mine[0] * total - base[start + r]


@jit
def _add_identities(values, mine, state, tables, wanted, pool):
    """The same for the CMC and the reciprocal rank of identities, which are ahead or not."""
    n, n_ranks, f = state.n_seen[1], wanted.max_rank, wanted.identity_integral
    start, n_nodes = values.shape[1] - n_ranks, len(wanted.weights)
    factors, outs = np.empty((n, 2)), np.zeros((n, max(n_ranks, 1)))
    product = np.ones(n_nodes)
    for at in range(n):
        stays = _stays(state.ahead[at], -1, state, tables, pool)
        factors[at, 0], factors[at, 1] = stays, 1 - stays
        for k in range(n_nodes):
            product[k] *= stays + (1 - stays) * wanted.nodes[k]
    law = np.zeros(max(n_ranks, 1))
    law[0] = 1.0
    if n_ranks > 0:
        fill_all_but_one(factors, n, law, outs)
        if n > 0:
            law[:] = outs[0]
            multiply(law, factors[0], 1)
    total = 0.0
    for r in range(n_ranks):
        total += law[r]
        values[0, start + r] = total
    usual, sums = values[0, start:].copy(), np.empty(n_ranks)
    whole = 0.0
    if f >= 0:
        for k in range(n_nodes):
            whole += wanted.weights[k] * product[k]
        values[0, f] = whole
    for at in range(n):
        j = state.ahead[at]
        total = 0.0
        for r in range(n_ranks):
            sums[r] = total
            total += outs[at, r]
        for s in pool.strata[pool.strata_starts[j] : pool.strata_starts[j + 1]]:
            if not state.random[s] or state.counts[s] == 0:
                continue
            row = tables.rows[state.sizes[s]] + state.counts[s]
            stays = _stays(j, s, state, tables, pool) * tables.law_behind[row, 0]
            behind_s, before_s = state.behind[s, start:], state.before[s, start:]
            for r in range(n_ranks):
                less = sums[r] - usual[r]
                behind_s[r] += mine[0] * (less + stays * outs[at, r])
                before_s[r] += mine[0] * less
            if f < 0:
                continue
            behind, before = 0.0, 0.0
            for k in range(n_nodes):
                t = wanted.nodes[k]
                mass = wanted.weights[k] * product[k] / (factors[at, 0] + factors[at, 1] * t)
                behind += mass * (stays + (1 - stays) * t)
                before += mass * t
            state.behind[s, f] += mine[0] * (behind - whole)
            state.before[s, f] += mine[0] * (before - whole)


@jit
def _stays(j, without, state, tables, pool):
    """P(no drawn item of identity j is nearer), over all of its strata but one."""
    stays = 1.0
    for s in pool.strata[pool.strata_starts[j] : pool.strata_starts[j + 1]]:
        if s != without and state.counts[s] > 0:
            if not state.random[s]:
                return 0.0
            stays *= tables.law[tables.rows[state.sizes[s]] + state.counts[s], 0]
    return stays
