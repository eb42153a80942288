"""What the chosen ones of random identities add before a right item.

Some of the other identities are chosen, each set equally likely. They are looked at one after the other: if
j of the first c are chosen, the next one is with probability ``(n_chosen - j) / (n_others - c)``. State j
has the probability of j chosen ones, times the generating function, or the law, of the nearer items that
they add. All terms are positive and at most 1. Identities without a nearer item change nothing and are left
out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial
from .laws import add_to, fill_law, none_left
from .ties import fill_tied_factor, none_of_tied

LEAST = 1e-30
"""States of a smaller probability are dropped: far less than the rounding that every bound contains."""


class State(NamedTuple):
    """One row for each number of chosen identities; tables that are not needed have no columns."""

    images: Any  # at the nodes: generating function of the number of items
    identities: Any  # of the number of identities
    ranks: Any  # law of the number of items
    ahead: Any  # of the number of identities
    mass: Any  # probability of each state
    span: Any  # first and last state that are kept; the others are 0


class Nearer(NamedTuple):
    """Wrong items that are nearer: of every stratum, and of the identities that have one."""

    sizes: Any
    draws: Any
    counts: Any
    tied: Any
    slots: Any  # number of an identity in the order of its nearest item, or -1
    identities: Any  # the identity of a number
    factors: Any  # generating function (0: if chosen, 1: if not; identity; node)
    none: Any  # probability of no drawn item (0: if chosen, 1: if not; identity)


class Room(NamedTuple):
    """Scratch arrays."""

    images: Any
    identities: Any
    left: Any
    laws: Any  # (4, longest law of an identity)
    piece: Any
    part: Any
    share: Any
    row: Any
    chances: Any


@jit
def new_state(n_states, n_images, n_identities, n_ranks, n_ahead):
    """The state in which no identity has been looked at."""
    state = State(
        np.zeros((n_states, n_images)),
        np.zeros((n_states, n_identities)),
        np.zeros((n_states, n_ranks)),
        np.zeros((n_states, n_ahead)),
        np.zeros(n_states),
        np.zeros(2, np.int64),
    )
    state.images[0] = 1.0
    state.identities[0] = 1.0
    state.ranks[0, :1] = 1.0
    state.ahead[0, :1] = 1.0
    state.mass[0] = 1.0
    return state


@jit
def copy_state(source, target, laws):
    """Copy, without the laws unless `laws`."""
    for j in range(target.span[0], target.span[1] + 1):
        _clear(target, j)
    for j in range(source.span[0], source.span[1] + 1):
        target.mass[j] = source.mass[j]
        target.images[j] = source.images[j]
        target.identities[j] = source.identities[j]
        if laws:
            target.ranks[j] = source.ranks[j]
            target.ahead[j] = source.ahead[j]
    target.span[:] = source.span


@jit
def _clear(state, j):
    state.mass[j] = 0.0
    state.images[j] = 0.0
    state.identities[j] = 0.0
    state.ranks[j] = 0.0
    state.ahead[j] = 0.0


@jit
def sum_states(table, span, total):
    """The sum over the states."""
    if table.shape[1] > 0:
        total[:] = 0.0
        for j in range(span[0], span[1] + 1):
            for k in range(table.shape[1]):
                total[k] += table[j, k]


@jit
def pass_item(s, nearer, pool, plan):
    """One more wrong item of stratum s is nearer."""
    size, before, drawn = nearer.sizes[s], nearer.counts[s], nearer.draws[s]
    c = nearer.slots[pool.identity[s]]
    stays = none_left(size, before, drawn)
    row = 0 if drawn == size else plan.rows[size] + before
    for kind in range(2 if pool.always[s] else 1):
        nearer.none[kind, c] *= stays
        if plan.integrals:
            for k in range(nearer.factors.shape[2]):
                nearer.factors[kind, c, k] *= plan.ratios[row, k]
    nearer.counts[s] += 1


@jit
def add_identity(state, c, n_before, n_chosen, n_others, time, laws, nearer, pool, plan, room):
    """Look at one more identity, after `n_before` others; `time`: probability that a tied item is nearer.

    Returns
    -------
    int
        1, or 0 if all its items are in every gallery, so that it is not among those chosen from.
    """
    identity = nearer.identities[c]
    strata = pool.strata[pool.strata_starts[identity] : pool.strata_starts[identity + 1]]
    sure = True
    for s in strata:
        sure = sure and (pool.always[s] or nearer.sizes[s] == 0)
    images, left = room.images, room.left
    left[0], left[1] = nearer.none[0, c], nearer.none[1, c]
    if plan.integrals:
        images[0], images[1] = nearer.factors[0, c], nearer.factors[1, c]
    for s in strata:
        if nearer.tied[s] > 0:
            _mix_ties(s, time, nearer, pool, plan, room)
    last = min(state.span[1] + (0 if sure else 1), len(state.mass) - 1)
    chances, span = room.chances, (state.span[0], last)
    for j in range(state.span[0], last + 1):
        chances[0, j], chances[1, j] = 1.0, 0.0
        if not sure:
            n_left = n_others - n_before
            chances[0, j] = max(n_left - (n_chosen - j), 0) / n_left
            chances[1, j] = min(n_chosen - j + 1, n_left) / n_left
    if plan.integrals:
        _mix_nodes(state.images, images, span, chances)
    if plan.identity_integrals:
        for kind in range(2):
            for k in range(len(plan.nodes)):
                room.identities[kind, k] = left[kind] + (1.0 - left[kind]) * plan.nodes[k]
        _mix_nodes(state.identities, room.identities, span, chances)
    if laws and state.ahead.shape[1] > 0:
        law, other = room.laws[0], room.laws[1]
        law[0], law[1], other[0], other[1] = left[0], 1.0 - left[0], left[1], 1.0 - left[1]
        length = 2 if left[1] < 1.0 else 1
        _mix_laws(state.ahead, law[:2], other[:length], span, chances, room.row)
    if laws and state.ranks.shape[1] > 0:
        law = _law(strata, False, time, nearer, pool, room.laws[0], room.laws[1], room)
        other = _law(strata, True, time, nearer, pool, room.laws[2], room.laws[3], room)
        _mix_laws(state.ranks, law, other, span, chances, room.row)
    _move(state, span, chances)
    return 0 if sure else 1


@jit
def _move(state, span, chances):
    """The probabilities of the states after one more identity."""
    mass, low, high = state.mass, span[0], span[1]
    for j in range(high, low - 1, -1):
        mass[j] *= chances[0, j]
        if j > 0:
            mass[j] += chances[1, j] * mass[j - 1]
    while low < high and mass[low] < LEAST:
        _clear(state, low)
        low += 1
    while high > low and mass[high] < LEAST:
        _clear(state, high)
        high -= 1
    state.span[0], state.span[1] = low, high


@jit
def _mix_ties(s, time, nearer, pool, plan, room):
    """Let the tied items of a stratum be nearer with probability `time` each."""
    size, before, drawn, n_tied = nearer.sizes[s], nearer.counts[s], nearer.draws[s], nearer.tied[s]
    share = room.share[: n_tied + 1]
    fill_binomial(share, time)
    stays = none_of_tied(share, size, before, drawn)
    n_kinds = 2 if pool.always[s] else 1
    for kind in range(n_kinds):
        room.left[kind] *= stays
    if plan.integrals:
        factor = np.empty(len(plan.nodes))
        row = 0 if drawn == size else plan.rows[size] + before
        fill_tied_factor(factor, np.empty_like(factor), share, plan.ratios, row, drawn == size)
        for kind in range(n_kinds):
            room.images[kind] *= factor


@jit
def _law(strata, only_sure, time, nearer, pool, total, other, room):
    """The law of the number of nearer drawn items of an identity, or of those that are always drawn."""
    total[:] = 0.0
    other[:] = 0.0
    total[0] = 1.0
    length = 1
    for s in strata:
        most = min(nearer.draws[s], nearer.counts[s] + nearer.tied[s])
        if most > 0 and (pool.always[s] or not only_sure):
            fill_law(
                room.piece, nearer.sizes[s], nearer.counts[s], nearer.tied[s], nearer.draws[s], time,
                room.part, room.share,
            )  # fmt: skip
            total, other, length = add_to(total, other, length, room.piece, most + 1)
    return total[:length]


@jit
def _mix_nodes(table, factors, span, chances):
    """Multiply by the factors of one more identity; ``factors[0]`` if it is chosen, else ``factors[1]``.

    `chances`: for every state, the probabilities that it is not chosen, and that it is in the state before.
    """
    if_chosen, if_not, n = factors[0], factors[1], table.shape[1]
    for j in range(span[1], span[0] - 1, -1):
        stays, moves = chances[0, j], chances[1, j]
        here = table[j]
        if j == span[0] or moves == 0.0:
            for k in range(n):
                here[k] *= stays * if_not[k]
        else:
            below = table[j - 1]
            for k in range(n):
                here[k] = stays * here[k] * if_not[k] + moves * below[k] * if_chosen[k]


@jit
def _mix_laws(table, if_chosen, if_not, span, chances, row):
    """As `_mix_nodes`, with laws; `row` is scratch."""
    n = table.shape[1]
    for j in range(span[1], span[0] - 1, -1):
        stays, moves = chances[0, j], chances[1, j]
        here = table[j]
        if len(if_not) > 1:
            _convolve(here, if_not, row[:n])
        stays *= 1.0 if len(if_not) > 1 else if_not[0]
        for r in range(n):
            here[r] *= stays
        if j == span[0] or moves == 0.0:
            continue
        below = table[j - 1]
        for b in range(min(len(if_chosen), n)):
            weight = moves * if_chosen[b]
            if weight > 0.0:
                for r in range(n - b):
                    here[b + r] += weight * below[r]


@jit
def _convolve(here, law, total):
    total[:] = 0.0
    for b in range(min(len(law), len(here))):
        for r in range(len(here) - b):
            total[b + r] += law[b] * here[r]
    here[:] = total


@jit
def count_others(out, codes, pool, others):
    """Count the identities besides the query's own with an item that is random and not `out`."""
    found = np.empty(len(pool.item_starts) - 1, np.bool_)
    for q in range(len(codes)):
        found[:] = False
        for i in range(out.shape[1]):
            s = pool.stratum[i]
            if not pool.always[s] and not out[q, i]:
                found[pool.identity[s]] = True
        others[q] = found.sum()
        if codes[q] >= 0:
            others[q] -= found[codes[q]]
