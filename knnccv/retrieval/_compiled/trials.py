"""Random galleries and their scores."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .forms import add_of_trial
from .query import own_items
from .tables import AP, BIASED, INVERSE, MAP_R, R_PRECISION, RECIPROCAL, TRAPEZOID


@jit
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
    left[:] = 0
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
    left = chosen.sum()
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
def trial_rows(
    distances, masked, codes, seeds, galleries, n_chosen, before, pool, plan, forms, trial_forms, found
):
    """Scores of the queries of one block in every trial.

    Parameters
    ----------
    seeds : uint64 ndarray of shape (n_queries, n_trials)
    galleries : bool ndarray of shape (n_trials, n_gallery)
        Galleries for all queries; without rows, every query draws its own.
    n_chosen : int
        Random identities besides the query's own; -1: all.
    before : bool
        As for `choose_identities`.
    found : Trials
        Filled.
    """
    n_trials, n_queries, n_columns = found.singles.shape
    n_items = distances.shape[1]
    left, wanted = np.empty(len(pool.sizes), np.int64), np.empty(len(pool.sizes), np.int64)
    drawn, state = np.zeros(n_items, np.bool_), np.zeros(1, np.uint64)
    stamp = np.zeros(len(pool.item_starts) - 1, np.int64)
    seen = 0
    for q in range(n_queries):
        found.firsts[:, q] = -1
        code = codes[q]
        if code < 0:
            continue
        out, row = masked[q], distances[q]
        own = own_items(row, out, code, pool)
        if len(own) == 0:
            continue
        near = np.flatnonzero((row <= row[own].max()) & ~out)
        near = near[np.argsort(row[near], kind="mergesort")]
        for v in range(n_trials):
            state[0] = seeds[q, v]
            if len(galleries) > 0:
                drawn[:] = galleries[v]
            else:
                draw_gallery(pool, out, state, left, wanted, drawn)
                if n_chosen >= 0:
                    choose_identities(pool, out, code, n_chosen, before, state, drawn)
            relevant = 0
            for i in own:
                relevant += drawn[i]
            if relevant == 0:
                continue
            if plan.fair:
                _shuffle_ties(near, row, state)
            seen += 1
            a, rank, identities = 0, 0, 0
            single = found.singles[v, q]
            for i in near:
                if not drawn[i]:
                    continue
                rank += 1
                j = pool.identity[pool.stratum[i]]
                if j != code:
                    identities += stamp[j] != seen
                    stamp[j] = seen
                    continue
                if a == 0:
                    first = identities if plan.by_identity else rank - 1
                    found.firsts[v, q] = first
                    single[RECIPROCAL] = 1 / (1 + first)
                a += 1
                before = (a - 1) / (rank - 1) if rank > 1 else 1.0
                single[AP] += a / rank / relevant
                single[TRAPEZOID] += (a / rank + before) / 2 / relevant
                if rank <= relevant:
                    single[R_PRECISION] += 1 / relevant
                    single[MAP_R] += a / rank / relevant
                for b in range(n_columns - BIASED):
                    p = plan.nodes[len(plan.weights) + b]
                    single[BIASED + b] += (1 - p) * p ** (rank - 1)
                if trial_forms.active:
                    counted = identities if plan.by_identity else rank - a
                    add_of_trial(
                        trial_forms, forms, a - 1, rank - a, counted, relevant, found.columns[v, q],
                        found.curves[v, q],
                    )  # fmt: skip
                if a == relevant:
                    single[INVERSE] = relevant / rank
                    break


@jit
def _shuffle_ties(near, row, state):
    """Put items at equal distances into random order."""
    start = 0
    for end in range(1, len(near) + 1):
        if end == len(near) or row[near[end]] != row[near[start]]:
            for i in range(end - 1, start, -1):
                j = start + int(_next(state) * (i - start + 1))
                near[i], near[j] = near[j], near[i]
            start = end
