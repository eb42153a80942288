"""The walk along a query's own items: expected scores of one query after the other, in compiled code.

Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Where they are more than their strata, the product over the
strata is computed anew instead. Nothing is sorted but the own items.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ._alone import inverse_power, walk_alone
from ._buckets import bucket, group_starts
from ._evaluate import evaluate
from ._forms_walk import evaluate_forms, rank_forms
from ._nearer import advance, identities_ahead, touch
from ._ranked import add_ranks
from ._tables import Lists, Nearer, Scratch


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
        own = pool.items[pool.item_starts[code] : pool.item_starts[code + 1]]
        own = own[~out[own]]
        if len(own) == 0:
            continue
        sizes[:] = pool.sizes
        for i in range(len(out)):
            sizes[pool.stratum[i]] -= out[i]
        for s in range(n_strata):
            take = pool.shots
            draws[s] = sizes[s] if take == 0 or pool.always[s] else min(take, sizes[s])
        own = own[np.argsort(row[own], kind="mergesort")]
        starts = group_starts(row[own], plan.fair)
        events, items, tied, found.ties[q] = bucket(
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
        elif not tied and not forms.active:
            family = pool.strata[pool.strata_starts[code] : pool.strata_starts[code + 1]]
            walk_alone(own, events, items, family, relevant, sizes, draws, pool, plan, q, found)
        else:
            _walk(own, starts, events, items, code, sizes, draws, pool, plan, q, found, forms)


@jit
def _walk(own, starts, events, items, code, sizes, draws, pool, plan, q, found, forms):
    """Items that tie, or forms: multiply ratios item by item, and evaluate every group of own items."""
    n_strata, n_identities, n_nodes = len(sizes), len(pool.item_starts) - 1, len(plan.nodes)
    counts, tied = np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64)
    lists = Lists(
        np.empty(n_strata + 1, np.int64), np.empty(n_identities + 1, np.int64), np.zeros(2, np.int64)
    )
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
        np.empty(max(plan.max_rank, 1)), np.empty(max(plan.max_rank, 1)), np.empty(n_nodes),
        plan.nodes ** (relevant - 1), np.empty(n_nodes), np.empty(n_nodes),
        inverse_power(plan.nodes, length - 1), inverse_power(plan.nodes, plan.max_rank - 1),
        np.empty((len(family), widest + 1)), np.full(len(family), -1),
    )  # fmt: skip
    nearer = Nearer(
        np.zeros(n_strata, np.int64), draws / np.maximum(sizes, 1), np.zeros(n_strata, np.bool_),
        np.zeros(n_identities, np.bool_), np.empty(len(items) + n_strata, np.int64),
        np.empty(len(items), np.int64), np.empty(len(items), np.int64), np.ones(n_identities),
    )  # fmt: skip
    if plan.integrals:
        for s in range(n_strata):
            nearer.starts[s] = 0 if draws[s] == sizes[s] else plan.rows[sizes[s]]
    for group in range(len(starts) - 1):
        begin, end = events[2 * group], events[2 * group + 1]
        steps, some, stratum = nearer.steps[: end - begin], items[begin:end], pool.stratum
        for at in range(len(steps)):
            steps[at] = stratum[some[at]]
        advance(steps, counts, none, means, images, lists, nearer, sizes, draws, pool, plan)
        n_equal = 0
        for at in range(end, events[2 * group + 2]):
            s = pool.stratum[items[at]]
            if tied[s] == 0:
                equal[n_equal] = s
                n_equal += 1
            tied[s] += 1
        touch(equal[:n_equal], lists, nearer, pool, plan)
        if plan.identity_integrals:
            touched = lists.identities[: lists.lengths[1]]
            identities_ahead(identities, none, nearer.settled, touched, plan.nodes, len(plan.weights))
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
        n = 0
        for s in equal[:n_equal]:
            for _ in range(tied[s]):
                nearer.steps[n] = s
                n += 1
            tied[s] = 0
        if n > 0:
            steps = nearer.steps[:n]
            advance(steps, counts, none, means, images, lists, nearer, sizes, draws, pool, plan)
