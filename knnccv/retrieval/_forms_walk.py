"""What an own item contributes to scores that are given as forms, in compiled code."""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import tie_times
from ._evaluate import NEGLIGIBLE, _mix, tail
from ._laws import fill_ahead_law, fill_others_law, fill_own_law

EVERY, FIRST = 0, 1


@jit
def fill_relevant(masked, codes, pool, relevant):
    """Fill in the number of right items that are drawn for every query of a block."""
    left = np.zeros(len(pool.sizes), np.int64)
    for q in range(len(codes)):
        code = codes[q]
        if code < 0:
            continue
        own = pool.strata[pool.strata_starts[code] : pool.strata_starts[code + 1]]
        for s in own:
            left[s] = 0
        for i in pool.items[pool.item_starts[code] : pool.item_starts[code + 1]]:
            left[pool.stratum[i]] += not masked[q, i]
        for s in own:
            relevant[q] += left[s] if pool.shots == 0 or pool.always[s] else min(pool.shots, left[s])


@jit
def evaluate_forms(
    members, equal, family, counts, tied, lists, none, means, images, identities, sizes, draws, pool, plan,
    q, found, scratch, forms,
):  # fmt: skip
    """Add what a group of own items contributes to the forms; as `evaluate`, with the same ties."""
    relevant = found.relevant[q]
    degree = 0
    for s in equal:
        degree += min(tied[s], draws[s])
    for s in family:
        degree += min(tied[s], draws[s])
    times, shares = np.zeros(1), np.ones(1)
    if len(equal) > 0 or len(members) > 1:
        times, shares = tie_times(degree + 1, 1.0)
    strata, touched = lists.strata[: lists.lengths[0]], lists.identities[: lists.lengths[1]]
    length = forms.length
    for f in range(len(forms.places)):
        length = max(length, forms.places[f, forms.row_of[relevant], 2])
    n_ahead = forms.every if plan.by_identity else 0
    limit, ahead_limit = tail(means[0], length), tail(means[1], n_ahead)
    mine, mine_too = scratch.mine, scratch.mine_too
    others, others_too = np.empty(max(length, 1)), np.empty(max(length, 1))
    ahead, ahead_too = np.empty(max(n_ahead, 1)), np.empty(max(n_ahead, 1))
    at_once, of_identities, left = images, identities, none
    if len(equal) > 0:
        at_once, of_identities = images.copy(), identities.copy()
    for v in range(len(times)):
        time, share = times[v], shares[v]
        if len(equal) > 0:
            left = none.copy()
            at_once[:], of_identities[:] = images, identities
            _mix(
                equal, counts, tied, left, at_once, of_identities, sizes, draws, pool, plan, scratch.chosen,
                time,
            )  # fmt: skip
        has_others, has_ahead = False, False
        for s in family:
            if tied[s] == 0:
                continue
            mine, mine_too = fill_own_law(
                mine, mine_too, family, sizes, counts, tied, draws, s, time, scratch.law, scratch.part,
                scratch.chosen,
            )  # fmt: skip
            weight = tied[s] * (share * draws[s] / sizes[s])
            if len(forms.of) > 0:
                _add_reciprocals(
                    mine, relevant, weight, at_once, of_identities, plan, forms, found.forms[q]
                )
            if length > 0 and weight * limit < NEGLIGIBLE:
                found.skipped[q] += weight * limit
            elif length > 0:
                if not has_others:
                    has_others = True
                    others, others_too = fill_others_law(
                        others, others_too, strata, sizes, counts, tied, draws, time, scratch.law,
                        scratch.part, scratch.chosen,
                    )  # fmt: skip
                _add_tables(mine, relevant, weight, others, forms, found.forms[q])
                if n_ahead == 0:
                    _add_every(weight / relevant, others, found.shots[q])
            if n_ahead > 0 and weight * ahead_limit < NEGLIGIBLE:
                found.skipped[q] += weight * ahead_limit
            elif n_ahead > 0:
                if not has_ahead:
                    has_ahead = True
                    ahead, ahead_too = fill_ahead_law(ahead, ahead_too, touched, left)
                _add_every(weight / relevant, ahead, found.shots[q])


@jit
def _add_reciprocals(mine, relevant, weight, images, identities, plan, forms, columns):
    """Means of ``(constant + slope a) / (c + a + b)``: integrals over the generating function of b."""
    n_nodes = len(plan.weights)
    for f in range(len(forms.of)):
        c, constant, slope = forms.terms[f, 0], forms.terms[f, 1], forms.terms[f, 2]
        of, total = forms.of[f], 0.0
        start, stop = 0, relevant
        if of == FIRST:
            stop = 1
        elif of != EVERY:
            start = relevant - 1
        shift = 1 if c == 0 else 0  # the term of a = 0 is not an integral
        generating = identities if of == FIRST and plan.by_identity else images
        start = max(start, shift)
        for k in range(n_nodes if start < stop else 0):
            t = plan.nodes[k]
            power, inner = t ** (start - shift), 0.0
            for a in range(start, stop):
                inner += (constant + slope * a) * mine[a] * power
                power *= t
            total += forms.mass[f, k] * generating[k] * inner
        if c == 0 and (of in (EVERY, FIRST) or relevant == 1):
            total += forms.terms[f, 3] * mine[0] * images[len(images) - 1]
        columns[f] += weight * total / (relevant if forms.terms[f, 4] > 0 else 1)


@jit
def _add_tables(mine, relevant, weight, others, forms, columns):
    """Means of the tables' numbers."""
    n_before = len(forms.of)
    for f in range(len(forms.places)):
        place = forms.places[f, forms.row_of[relevant]]
        at, n_rows, n_columns = place[0], place[1], place[2]
        total = 0.0
        for a in range(min(relevant, n_rows)):
            inner = 0.0
            for b in range(n_columns):
                inner += others[b] * forms.values[at + a * n_columns + b]
            total += mine[a] * inner
        columns[n_before + f] += weight * total


@jit
def _add_every(weight, law, curve):
    """Add ``weight P(rank <= r)`` for r = 1, 2, ..."""
    total = 0.0
    for r in range(len(curve)):
        total += law[r]
        curve[r] += weight * total


@jit
def rank_forms(own, events, items, pool, plan, q, found, forms):
    """Add the forms of query q where nothing is random; as `add_ranks`."""
    relevant = found.relevant[q]
    seen = np.zeros(len(pool.item_starts) - 1, np.bool_)
    ahead = 0
    for a in range(len(own)):
        begin = events[2 * a - 1] if a > 0 else 0
        b = events[2 * a + 1]
        for i in items[begin:b]:
            j = pool.identity[pool.stratum[i]]
            ahead += not seen[j]
            seen[j] = True
        counted = ahead if plan.by_identity else b
        add_terms(forms, a, b, counted, relevant, found.forms[q])
        for r in range(counted, len(found.shots[q])):
            found.shots[q, r] += 1 / relevant


@jit
def add_terms(forms, a, b, counted, relevant, columns):
    """Add the terms of a right item of one ranking, with a right and b wrong images before it.

    `counted` is what the rank of the first right item counts: wrong images, or identities.
    """
    for f in range(len(forms.of)):
        c, constant, slope = forms.terms[f, 0], forms.terms[f, 1], forms.terms[f, 2]
        of, before = forms.of[f], b
        if of == FIRST:
            before = counted
        if of == EVERY or (of == FIRST and a == 0) or (of != FIRST and a == relevant - 1):
            below = c + a + before
            term = (constant + slope * a) / below if below > 0 else forms.terms[f, 3]
            columns[f] += term / (relevant if forms.terms[f, 4] > 0 else 1)
    for f in range(len(forms.places)):
        place = forms.places[f, forms.row_of[relevant]]
        at, n_rows, n_columns = place[0], place[1], place[2]
        if a < n_rows and b < n_columns:
            columns[len(forms.of) + f] += forms.values[at + a * n_columns + b]


@jit
def add_of_trial(trial, forms, a, b, counted, relevant, columns, curve):
    """Add a right item of one ranking to the columns of all forms, and to the curve of all shots."""
    add_terms(forms, a, b, counted, relevant, columns)
    start = len(forms.of) + len(forms.places)
    for f in range(len(trial.at)):
        if a + b < trial.at.shape[1]:
            columns[start + f] += trial.at[f, a + b] / trial.divisors[f, relevant]
    start += len(trial.at)
    for f in range(len(trial.first)):
        if counted < trial.first.shape[1]:
            if trial.every[f]:
                columns[start + f] += trial.first[f, counted] / relevant
            elif a == 0:
                columns[start + f] += trial.first[f, counted]
    for r in range(counted, len(curve)):
        curve[r] += 1 / relevant
