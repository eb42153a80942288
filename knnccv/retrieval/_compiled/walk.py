"""The walk along a query's own items: expected scores of one query after the other.

Before each own item the wrong items that are nearer multiply the generating function of their number, at
every node of the quadrature, by a stored ratio. Where they are more than their strata, the product over the
strata is computed anew instead. Nothing is sorted but the own items.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .alone import walk_alone
from .bounds import inverse_power
from .buckets import bucket, group_starts
from .evaluate import evaluate
from .forms import evaluate_forms
from .nearer import advance, identities_ahead, touch
from .query import fill_draws, n_drawn, own_items, own_strata
from .ranked import add_ranks, rank_forms
from .tables import Nearer, Scratch


@jit
def rank_rows(distances, masked, codes, pool, plan, found):
    """As `score_rows` for whole galleries and ties in their order, without forms; it compiles faster."""
    sizes, draws = np.empty(len(pool.sizes), np.int64), np.empty(len(pool.sizes), np.int64)
    for q in range(len(distances)):
        own, _, events, items, _ = _prepare(
            distances[q], masked[q], codes[q], sizes, draws, pool, plan, q, found
        )
        if len(own) > 0:
            add_ranks(own, events, items, pool, plan, q, found)


@jit
def walk_rows(distances, masked, codes, pool, plan, found):
    """As `score_rows` for random galleries and ties in their order, without forms; it compiles faster."""
    sizes, draws = np.empty(len(pool.sizes), np.int64), np.empty(len(pool.sizes), np.int64)
    for q in range(len(distances)):
        own, _, events, items, _ = _prepare(
            distances[q], masked[q], codes[q], sizes, draws, pool, plan, q, found
        )
        if len(own) > 0:
            family, relevant = own_strata(codes[q], pool), found.relevant[q]
            walk_alone(own, events, items, family, relevant, sizes, draws, pool, plan, q, found)


@jit
def score_rows(distances, masked, codes, pool, plan, forms, found):
    """Fill in the results of the queries of one block; `codes` has their identities, or -1."""
    sizes, draws = np.empty(len(pool.sizes), np.int64), np.empty(len(pool.sizes), np.int64)
    for q in range(len(distances)):
        own, starts, events, items, tied = _prepare(
            distances[q], masked[q], codes[q], sizes, draws, pool, plan, q, found
        )
        if len(own) == 0:
            continue
        family = own_strata(codes[q], pool)
        if pool.shots == 0 and not tied:
            add_ranks(own, events, items, pool, plan, q, found)
            if forms.active:
                rank_forms(own, events, items, pool, plan, q, found, forms)
        elif not tied and not forms.active:
            walk_alone(own, events, items, family, found.relevant[q], sizes, draws, pool, plan, q, found)
        else:
            _walk(own, starts, events, items, family, sizes, draws, pool, plan, forms, found, q)


@jit
def _prepare(row, out, code, sizes, draws, pool, plan, q, found):
    """The query's own items, none if it has no right one, their groups, and the wrong items among them."""
    nothing = np.empty(0, np.int64)
    found.relevant[q] = 0
    if code < 0:
        return nothing, nothing, nothing, np.empty(0, np.int32), False
    own = own_items(row, out, code, pool)
    if len(own) == 0:
        return nothing, nothing, nothing, np.empty(0, np.int32), False
    fill_draws(sizes, draws, out, pool)
    starts = group_starts(row[own], plan.fair)
    events, items, tied, found.ties[q] = bucket(
        row, out, code, own, starts, pool, plan.fair, found.means[q]
    )
    found.relevant[q] = relevant = n_drawn(own_strata(code, pool), draws)
    n_terms = 60 + 2 * len(items) + 8 * len(own) + 4 * relevant + 4 * len(sizes)
    found.rounding[q] = 2.3e-16 * n_terms
    return own, starts, events, items, tied


@jit
def _walk(own, starts, events, items, family, sizes, draws, pool, plan, forms, found, q):
    """Items that tie, or forms: multiply ratios item by item, and evaluate every group of own items."""
    n_strata, n_identities, n_nodes = len(sizes), len(pool.item_starts) - 1, len(plan.nodes)
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
        family, sizes, draws, np.zeros(n_strata, np.int64), np.zeros(n_strata, np.int64),
        np.ones(n_identities), np.zeros(2), np.ones(n_nodes), np.ones(n_nodes),
        np.empty(n_strata + 1, np.int64), np.empty(n_identities + 1, np.int64), np.zeros(2, np.int64),
        np.zeros(n_strata, np.int64), draws / np.maximum(sizes, 1), np.zeros(n_strata, np.bool_),
        np.zeros(n_identities, np.bool_), np.empty(len(items) + n_strata, np.int64),
        np.empty(len(items), np.int64), np.empty(len(items), np.int64), np.ones(n_identities),
    )  # fmt: skip
    if plan.integrals:
        for s in range(n_strata):
            nearer.starts[s] = 0 if draws[s] == sizes[s] else plan.rows[sizes[s]]
    counts, tied = nearer.counts, nearer.tied
    for group in range(len(starts) - 1):
        begin, end = events[2 * group], events[2 * group + 1]
        steps, some, stratum = nearer.steps[: end - begin], items[begin:end], pool.stratum
        for at in range(len(steps)):
            steps[at] = stratum[some[at]]
        advance(steps, nearer, pool, plan)
        n_equal = 0
        for at in range(end, events[2 * group + 2]):
            s = pool.stratum[items[at]]
            if tied[s] == 0:
                equal[n_equal] = s
                n_equal += 1
            tied[s] += 1
        touch(equal[:n_equal], nearer, pool, plan)
        if plan.identity_integrals:
            touched = nearer.identities[: nearer.lengths[1]]
            identities_ahead(
                nearer.ahead, nearer.none, nearer.settled, touched, plan.nodes, len(plan.weights)
            )
        members = own[starts[group] : starts[group + 1]]
        for i in members:
            tied[pool.stratum[i]] += 1
        evaluate(members, equal[:n_equal], nearer, pool, plan, scratch, found, q)
        if forms.active:
            evaluate_forms(members, equal[:n_equal], nearer, pool, plan, forms, scratch, found, q)
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
            advance(nearer.steps[:n], nearer, pool, plan)
