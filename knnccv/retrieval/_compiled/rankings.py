# mypy: allow-untyped-defs
"""Scores of single rankings: whole galleries, and random galleries that are drawn."""

from __future__ import annotations

import numpy as np

from ...kernel import inner, jit
from . import FIRST, FIRSTS, LAST, PRECISIONS
from .walk import meet, own_items, sort_items


@inner
def add_term(a, b, counted, relevant, plan, values):
    """Add a right item of one ranking, with a right and b wrong images before it.

    `counted` is what the ranks of first right items count: wrong images, or identities.
    """
    n_integrals, n_linear = len(plan.of), len(plan.law)
    for f in range(n_integrals):
        of = plan.of[f]
        if (of == FIRST and a > 0) or (of == LAST and a < relevant - 1):
            continue
        persistence = plan.terms[f, 5]
        below = plan.terms[f, 0] + a + (counted if of == FIRST else b)
        if persistence > 0.0:
            term = (1.0 - persistence) * persistence ** (a + b)
        elif below > 0.0:
            term = (plan.terms[f, 1] + plan.terms[f, 2] * a) / below
        else:
            term = plan.terms[f, 3]
        values[f] += term / (relevant if plan.terms[f, 4] > 0.0 else 1)
    for f in range(n_linear):
        law = plan.law[f]
        rank = a + b if law <= PRECISIONS else counted
        depth = min(plan.depths[f], relevant) if plan.within[f] else plan.depths[f]
        if rank < depth and (a == 0 or law != FIRSTS):
            term = plan.weights[f, rank] * (1 + a if law == PRECISIONS else 1)
            values[n_integrals + f] += term / plan.divisors[f, relevant]
    for f in range(len(plan.places)):
        place = plan.places[f]
        if a < place[1] and b < place[2]:
            values[n_integrals + n_linear + f] += plan.tables[place[0] + a * place[2] + b]
    start = n_integrals + n_linear + len(plan.places)
    for r in range(counted, plan.every):
        values[start + r] += 1 / relevant
    for r in range(counted, plan.first if a == 0 else 0):
        values[start + plan.every + r] = 1.0


@jit
def rank_rows(distances, masked, codes, pool, plan, found, left):
    """Score whole galleries: queries of which ties matter are not scored, and become True in `left`."""
    stamp = np.full(len(pool.item_starts) - 1, -1)
    for q in range(len(distances)):
        met = meet(distances[q], masked[q], codes[q], pool, plan.fair, found, q)
        left[q] = met.tied and len(met.own) > 0
        n_ahead, at = 0, 0
        for a in range(0 if left[q] else len(met.own)):
            b = met.events[2 * a + 1]
            while plan.by_identity and at < b:
                j = pool.identity[pool.stratum[met.items[at]]]
                n_ahead += stamp[j] != q
                stamp[j] = q
                at += 1
            counted = n_ahead if plan.by_identity else b
            add_term(a, b, counted, found.relevant[q], plan, found.values[q])


@inner
def _next(state):
    """A random number in [0, 1) and the next state, not 0, of Marsaglia's xorshift (2003)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@jit
def draw_gallery(pool, out, state, left, wanted, drawn):
    """Fill in which items that are not `out` are drawn: every subset of each stratum is equally likely.

    Selection sampling; `left` and `wanted` are scratch, one number for each stratum. O(items).
    """
    for s in range(len(left)):
        left[s] = 0
    for i in range(len(out)):
        left[pool.stratum[i]] += not out[i]
    for s in range(len(left)):
        all_of_it = pool.shots == 0 or pool.always[s]
        wanted[s] = left[s] if all_of_it else min(pool.shots, left[s])
    for i in range(len(out)):
        drawn[i] = False
        if not out[i]:
            s = pool.stratum[i]
            if wanted[s] == left[s] or _next(state) * left[s] < wanted[s]:
                drawn[i] = wanted[s] > 0
                wanted[s] -= drawn[i]
            left[s] -= 1


@jit
def choose_identities(pool, out, code, n_chosen, before, state, drawn):
    """Keep the drawn items of the identity `code`, or -1, and of `n_chosen` random others; O(items).

    Every set of identities is equally likely. Items that are always drawn stay. With `before`, identities
    of which all items are `out` cannot be chosen.
    """
    chosen = np.zeros(len(pool.item_starts) - 1, np.bool_)
    for i in range(len(out)):
        s = pool.stratum[i]
        if not pool.always[s] and not (before and out[i]):
            chosen[pool.identity[s]] = True
    if code >= 0:
        chosen[code] = False
    left = 0
    for j in range(len(chosen)):
        left += chosen[j]
    wanted = min(n_chosen, left)
    for j in range(len(chosen)):
        if chosen[j]:
            chosen[j] = wanted > 0 and (wanted == left or _next(state) * left < wanted)
            wanted -= chosen[j]
            left -= 1
    if code >= 0:
        chosen[code] = True
    for i in range(len(out)):
        s = pool.stratum[i]
        drawn[i] = drawn[i] and (pool.always[s] or chosen[pool.identity[s]])


@jit
def trial_rows(distances, masked, codes, galleries, pool, plan, found):
    """Scores of the queries of one block in every trial; `found` is filled."""
    n_trials, n_queries = found.firsts.shape
    n_strata, n_items = len(pool.sizes), distances.shape[1]
    left, wanted = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    drawn, state = np.zeros(n_items, np.bool_), np.zeros(1, np.uint64)
    stamp, near = np.zeros(len(pool.item_starts) - 1, np.int64), np.empty(n_items, np.int64)
    seen = 0
    for q in range(n_queries):
        code, out, row = codes[q], masked[q], distances[q]
        for v in range(n_trials):
            found.firsts[v, q] = -1
        own = own_items(row, out, max(code, 0), pool)
        if code < 0 or len(own) == 0:
            continue
        last, n_near = row[own[len(own) - 1]], 0
        for i in range(n_items):
            near[n_near] = i
            n_near += (not out[i]) & (row[i] <= last)
        ranked = sort_items(near[:n_near].copy(), row)
        for v in range(n_trials):
            state[0] = galleries.seeds[q, v]
            if len(galleries.shared) > 0:
                for i in range(n_items):
                    drawn[i] = galleries.shared[v, i]
            else:
                draw_gallery(pool, out, state, left, wanted, drawn)
                if galleries.n_chosen >= 0:
                    choose_identities(pool, out, code, galleries.n_chosen, galleries.before, state, drawn)
            relevant = 0
            for i in own:
                relevant += drawn[i]
            if relevant == 0:
                continue
            if plan.fair:
                _shuffle_ties(ranked, row, state)
            seen += 1
            a, b, n_ahead = 0, 0, 0
            for i in ranked:
                if not drawn[i]:
                    continue
                j = pool.owner[i]
                if j != code:
                    b += 1
                    n_ahead += stamp[j] != seen
                    stamp[j] = seen
                    continue
                counted = n_ahead if plan.by_identity else b
                if a == 0:
                    found.firsts[v, q] = counted
                add_term(a, b, counted, relevant, plan, found.values[v, q])
                a += 1
                if a == relevant:
                    break


@inner
def _shuffle_ties(near, row, state):
    """Put items at equal distances into random order."""
    start = 0
    for end in range(1, len(near) + 1):
        if end == len(near) or row[near[end]] != row[near[start]]:
            for i in range(end - 1, start, -1):
                j = start + int(_next(state) * (i - start + 1))
                near[i], near[j] = near[j], near[i]
            start = end
