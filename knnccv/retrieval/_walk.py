"""The walk along a query's own items: expected scores of one query after the other, in compiled code.

Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Nothing is sorted but the own items.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ._evaluate import evaluate
from ._forms_walk import evaluate_forms, rank_forms
from ._laws import none_left
from ._ranked import add_ranks
from ._tables import Lists, Scratch


@jit
def score_rows(distances, masked, codes, pool, plan, forms, found):
    """Fill in the results of the queries of one block; `codes` has their identities, or -1."""
    n_strata = len(pool.sizes)
    sizes, draws = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    for q in range(len(distances)):
        row, out = distances[q], masked[q]
        code = codes[q]
        found.relevant[q] = 0
        if code < 0:
            continue
        for s in range(n_strata):
            sizes[s] = pool.sizes[s]
        for i in range(len(out)):
            if out[i]:
                sizes[pool.stratum[i]] -= 1
        for s in range(n_strata):
            take = pool.shots
            draws[s] = sizes[s] if take == 0 or pool.always[s] else min(take, sizes[s])
        own = pool.items[pool.item_starts[code] : pool.item_starts[code + 1]]
        own = own[~out[own]]
        if len(own) == 0:
            continue
        own = own[np.argsort(row[own], kind="mergesort")]
        starts = _group_starts(row[own], plan.fair)
        events, items, tied, found.ties[q] = _bucket(
            row, out, code, own, starts, pool, plan.fair, found.means[q]
        )
        relevant = 0
        for s in pool.strata[pool.strata_starts[code] : pool.strata_starts[code + 1]]:
            relevant += draws[s]
        found.relevant[q] = relevant
        found.rounding[q] = 2.3e-16 * (60 + 2 * len(items) + 8 * len(own) + 4 * relevant + 4 * n_strata)
        if pool.shots == 0 and not tied:
            add_ranks(own, events, items, pool, plan, q, found)
            if forms.active:
                rank_forms(own, events, items, pool, plan, q, found, forms)
        else:
            _walk(own, starts, events, items, code, sizes, draws, pool, plan, q, found, forms)


@jit
def _group_starts(values, fair):
    """Starts of the groups of equal own values, and the end; each item is a group unless ties are fair."""
    starts = np.empty(len(values) + 1, np.int64)
    n = 0
    for i in range(len(values)):
        if i == 0 or not fair or values[i] != values[i - 1]:
            starts[n] = i
            n += 1
    starts[n] = len(values)
    return starts[: n + 1]


@jit
def _bucket(row, out, code, own, starts, pool, fair, means):
    """Wrong items in the order of the own ones: those before group j, and those tied with it.

    Returns
    -------
    events : int64 ndarray of shape (2 * n_groups + 1,)
        Items ``events[2 j]`` to ``events[2 j + 1]`` are nearer than group j and not nearer than the one
        before, those up to ``events[2 j + 2]`` tied with it.
    items : int64 ndarray
    tied : bool
        Whether any wrong item or two own ones tie, and ties are fair.
    n_ties : int
        Number of wrong items that tie with an own one.
    """
    n_groups = len(starts) - 1
    edges = row[own[starts[:n_groups]]]
    last = row[own[-1]]
    place, kept = np.empty(len(row), np.int32), np.empty(len(row), np.int32)
    n, n_ties, n_wrong, total = 0, 0, 0, 0.0
    for i in range(len(row)):
        if out[i] or pool.identity[pool.stratum[i]] == code:
            continue
        value = row[i]
        n_wrong += 1
        total += value
        if value > last:
            continue
        low, size = 0, n_groups
        while size > 1:  # without a branch, which would be mispredicted half of the time
            half = size >> 1
            low += half * (edges[low + half - 1] < value)
            size -= half
        low += edges[low] < value
        if not fair:
            while low < n_groups and edges[low] == value and own[low] < i:
                low += 1
        if (low < n_groups and edges[low] == value) or (low > 0 and edges[low - 1] == value):
            n_ties += 1
        if low < n_groups:
            place[n] = 2 * low + (1 if fair and edges[low] == value else 0)
            kept[n] = i
            n += 1
    means[0], means[1] = row[own].mean(), total / max(n_wrong, 1)
    events = np.zeros(2 * n_groups + 2, np.int64)
    for i in range(n):
        events[place[i] + 2] += 1
    tied = n_groups < len(own)
    for b in range(2, 2 * n_groups + 2):
        tied = tied or (b % 2 == 1 and events[b] > 0)
        events[b] += events[b - 1]
    items = np.empty(n, np.int64)
    for i in range(n):
        items[events[place[i] + 1]] = kept[i]
        events[place[i] + 1] += 1
    return events[: 2 * n_groups + 1], items, tied, n_ties


@jit
def _walk(own, starts, events, items, code, sizes, draws, pool, plan, q, found, forms):
    """Random strata: multiply ratios item by item, and evaluate every group of own items."""
    n_strata, n_identities, n_nodes = len(sizes), len(pool.item_starts) - 1, len(plan.nodes)
    counts, tied = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64)
    lists = Lists(np.empty(n_strata, np.int64), np.empty(n_identities, np.int64), np.zeros(2, np.int64))
    seen, seen_ahead = np.zeros(n_strata, np.bool_), np.zeros(n_identities, np.bool_)
    none = np.ones(n_identities)
    images, identities = np.ones(n_nodes), np.ones(n_nodes)
    means = np.zeros(2)
    family = pool.strata[pool.strata_starts[code] : pool.strata_starts[code + 1]]
    equal = np.empty(n_strata, np.int64)
    relevant, widest = found.relevant[q], draws.max()
    length = max(plan.length, relevant if plan.map_r else 0)
    scratch = Scratch(
        length, np.empty(widest + 1), np.empty(widest + 1), np.empty(len(items) + len(own) + 1),
        np.empty(relevant + 1), np.empty(relevant + 1), np.empty(max(length, 1)), np.empty(max(length, 1)),
        np.empty(max(plan.max_rank, 1)), np.empty(max(plan.max_rank, 1)),
    )  # fmt: skip
    for group in range(len(starts) - 1):
        begin = events[2 * group]
        n_equal = 0
        for at in range(begin, events[2 * group + 2]):
            s = pool.stratum[items[at]]
            if not seen[s]:
                seen[s] = True
                lists.strata[lists.lengths[0]] = s
                lists.lengths[0] += 1
            if not seen_ahead[pool.identity[s]]:
                seen_ahead[pool.identity[s]] = True
                lists.identities[lists.lengths[1]] = pool.identity[s]
                lists.lengths[1] += 1
            if at >= events[2 * group + 1]:
                if tied[s] == 0:
                    equal[n_equal] = s
                    n_equal += 1
                tied[s] += 1
                continue
            _pass(s, counts, none, means, images, identities, sizes, draws, pool, plan)
        members = own[starts[group] : starts[group + 1]]
        for i in members:
            tied[pool.stratum[i]] += 1
        evaluate(
            members, equal[:n_equal], family, counts, tied, lists, none, means, images, identities,
            sizes, draws, pool, plan, q, found, scratch,
        )  # fmt: skip
        if forms.active:
            evaluate_forms(
                members, equal[:n_equal], family, counts, tied, lists, none, means, images, identities,
                sizes, draws, pool, plan, q, found, scratch, forms,
            )  # fmt: skip
        for i in members:
            counts[pool.stratum[i]] += 1
            tied[pool.stratum[i]] = 0
        for s in equal[:n_equal]:
            for _ in range(tied[s]):
                _pass(s, counts, none, means, images, identities, sizes, draws, pool, plan)
            tied[s] = 0


@jit
def _pass(s, counts, none, means, images, identities, sizes, draws, pool, plan):
    """One more wrong item of stratum s is nearer."""
    size, nearer, drawn = sizes[s], counts[s], draws[s]
    if plan.integrals:
        row = 0 if drawn == size else plan.rows[size] + nearer
        for k in range(len(images)):
            images[k] *= plan.ratios[row, k]
    if plan.by_identity:
        j = pool.identity[s]
        before = none[j]
        if before > 0.0:
            none[j] = before * none_left(size, nearer, drawn)
            means[1] += before - none[j]
            if plan.identity_integrals:
                for k in range(len(identities)):
                    t = plan.nodes[k]
                    identities[k] *= (t + none[j] * (1.0 - t)) / (t + before * (1.0 - t))
    counts[s] += 1
    means[0] += drawn / size
