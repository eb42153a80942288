"""What an own item contributes to scores that are given as forms."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from .bounds import NEGLIGIBLE, tail
from .contributions import EVERY, FIRST, add_cumulative, add_reciprocals, add_tables
from .laws import fill_ahead_law, fill_others_law, fill_own_law
from .query import own_strata
from .ties import mix_ties, times_of_group


@jit
def fill_relevant(masked, codes, pool, relevant):
    """Fill in the number of right items that are drawn for every query of a block."""
    left = np.zeros(len(pool.sizes), np.int64)
    for q in range(len(codes)):
        code = codes[q]
        if code < 0:
            continue
        own = own_strata(code, pool)
        for s in own:
            left[s] = 0
        for i in pool.items[pool.item_starts[code] : pool.item_starts[code + 1]]:
            left[pool.stratum[i]] += not masked[q, i]
        for s in own:
            relevant[q] += left[s] if pool.shots == 0 or pool.always[s] else min(pool.shots, left[s])


@jit
def law_length(forms, relevant):
    """Length of the law of the number of wrong items before an own one that the forms need."""
    length = forms.length
    for f in range(len(forms.places)):
        length = max(length, forms.places[f, forms.row_of[relevant], 2])
    return length


@jit
def evaluate_forms(members, equal, nearer, pool, plan, forms, scratch, found, q):
    """Add what a group of own items contributes to the forms; as `evaluate`, with the same ties."""
    family, sizes, draws = nearer.family, nearer.sizes, nearer.draws
    counts, tied, none, means = nearer.counts, nearer.tied, nearer.none, nearer.means
    images, identities = nearer.images, nearer.ahead
    strata, touched = nearer.strata[: nearer.lengths[0]], nearer.identities[: nearer.lengths[1]]
    relevant = found.relevant[q]
    length = law_length(forms, relevant)
    times, shares = times_of_group(members, equal, family, tied, draws)
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
            mix_ties(equal, time, left, at_once, of_identities, nearer, pool, plan, scratch.chosen)
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
                add_reciprocals(mine, relevant, weight, at_once, of_identities, plan, forms, found.forms[q])
            if length > 0 and weight * limit < NEGLIGIBLE:
                found.skipped[q] += weight * limit
            elif length > 0:
                if not has_others:
                    has_others = True
                    others, others_too = fill_others_law(
                        others, others_too, strata, sizes, counts, tied, draws, time, scratch.law,
                        scratch.part, scratch.chosen,
                    )  # fmt: skip
                add_tables(mine, relevant, weight, others, forms, found.forms[q])
                if n_ahead == 0:
                    add_cumulative(weight / relevant, others, found.shots[q])
            if n_ahead > 0 and weight * ahead_limit < NEGLIGIBLE:
                found.skipped[q] += weight * ahead_limit
            elif n_ahead > 0:
                if not has_ahead:
                    has_ahead = True
                    ahead, ahead_too = fill_ahead_law(ahead, ahead_too, touched, left)
                add_cumulative(weight / relevant, ahead, found.shots[q])


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
def add_of_trial(trial_forms, forms, a, b, counted, relevant, columns, curve):
    """Add a right item of one ranking to the columns of all forms, and to the curve of all shots."""
    add_terms(forms, a, b, counted, relevant, columns)
    start = len(forms.of) + len(forms.places)
    for f in range(len(trial_forms.at)):
        if a + b < trial_forms.at.shape[1]:
            columns[start + f] += trial_forms.at[f, a + b] / trial_forms.divisors[f, relevant]
    start += len(trial_forms.at)
    for f in range(len(trial_forms.first)):
        if counted < trial_forms.first.shape[1]:
            if trial_forms.every[f]:
                columns[start + f] += trial_forms.first[f, counted] / relevant
            elif a == 0:
                columns[start + f] += trial_forms.first[f, counted]
    for r in range(counted, len(curve)):
        curve[r] += 1 / relevant
