"""Laws of numbers of drawn items that are nearer than a query's own one, with fair ties.

Tied items are nearer with the same probability, the own item's time, uniform on [0, 1]. Expected scores are
polynomials in it. Laws too unlikely to count are left out by bounds of P(W < length).
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial, fill_hypergeometric, tie_times
from .tables import Room

NEGLIGIBLE = 1e-17
"""What is less is left out, and its bound is added to the error."""


@jit
def new_room(widest, n_items, n_own, length):
    """Scratch for strata of which at most `widest` items are drawn, and laws of at most this length."""
    return Room(
        np.empty(widest + 1),
        np.empty(widest + 1),
        np.empty(n_items + 1),
        np.empty(length),
        np.empty(length + 4),
        np.empty(length + 4),
        np.empty((n_own, widest + 1)),
        np.zeros(n_own, np.int64),
    )


@jit
def fill_law(law, strata, s, size, drawn, tied, time, room):
    """Fill ``law[b]``, b = 0 .. drawn: P(b of the `drawn` of `size` items of stratum s are nearer).

    ``strata.counts[s]`` items are nearer, and each of `tied` items is with probability `time`. O(drawn)
    without ties, or if all items are drawn.
    """
    nearer, part = strata.counts[s], room.part
    for b in range(drawn + 1):
        law[b] = 0.0
    if tied == 0 and drawn < size:
        fill_hypergeometric(law, nearer, drawn, size, 1.0)
        return
    share = room.chosen[: tied + 1]
    fill_binomial(share, time)
    for more in range(tied + 1):
        if drawn == size:
            law[nearer + more] = share[more]
            continue
        for b in range(drawn + 1):
            part[b] = 0.0
        fill_hypergeometric(part, nearer + more, drawn, size, 1.0)
        for b in range(drawn + 1):
            law[b] += share[more] * part[b]


@jit
def convolve(total, length, law, n_terms, other):
    """Convolve ``total[:length]`` with ``law[:n_terms]`` in place; `other` is scratch. The new length."""
    longer = min(length + n_terms - 1, len(total))
    for r in range(longer):
        other[r] = 0.0
    for b in range(n_terms):
        weight = law[b]
        if weight > 0.0:
            for r in range(b, min(length + b, longer)):
                other[r] += weight * total[r - b]
    for r in range(longer):
        total[r] = other[r]
    return longer


@jit
def none_left(size, nearer, drawn):
    """P(no drawn item is nearer) after one more item is, divided by the former; 0 if there can be none."""
    return max(size - nearer - drawn, 0) / (size - nearer)


@jit
def fill_own_law(mine, family, strata, member, time, room):
    """Fill the law of the number of drawn own items before one of them, which is drawn.

    The item counts among the tied ones of its stratum `member`. Laws of strata of which no item is tied are
    kept while the number of nearer ones is the same; `room.known` has this number, and 1 more.
    """
    for r in range(len(mine)):
        mine[r] = 0.0
    mine[0] = 1.0
    length = 1
    for f in range(len(family)):
        s = family[f]
        size, drawn, tied, nearer = strata.sizes[s], strata.draws[s], strata.tied[s], strata.counts[s]
        law = room.law
        if s == member:
            size, drawn, tied = size - 1, drawn - 1, tied - 1
            if drawn > 0:
                fill_law(law, strata, s, size, drawn, tied, time, room)
        elif tied > 0 and drawn > 0:
            fill_law(law, strata, s, size, drawn, tied, time, room)
        elif drawn > 0 and nearer > 0:
            law = room.kept[f]
            if room.known[f] != nearer + 1:
                room.known[f] = nearer + 1
                fill_law(law, strata, s, size, drawn, tied, time, room)
        n_terms = min(drawn, nearer + tied) + 1
        if n_terms > 1:
            length = convolve(mine, length, law, n_terms, room.other)


@jit
def fill_others_law(total, touched, strata, time, room):
    """Fill the law of the number of nearer drawn items of some strata; O(strata * length)."""
    before, after, waiting, n_waiting = room.padded, room.padded_too, np.ones(4), 0
    length = _begin(before, after, len(total))
    for s in touched:
        size, drawn, nearer, tied = strata.sizes[s], strata.draws[s], strata.counts[s], strata.tied[s]
        if drawn == 1:
            waiting[n_waiting] = (size - nearer - tied * time) / size
            n_waiting += 1
            if n_waiting == 4:
                length = _add_four(before, after, length, waiting, len(total))
                before, after, n_waiting = after, before, 0
        elif drawn > 0:
            fill_law(room.law, strata, s, size, drawn, tied, time, room)
            n_terms = min(drawn, nearer + tied) + 1
            length = convolve(before[4 : len(total) + 4], length, room.law, n_terms, after[4:])
    _end(before, after, length, waiting, n_waiting, total)


@jit
def fill_ahead_law(total, identities, none, room):
    """Fill the law of the number of identities ahead, identity j with probability ``1 - none[j]``."""
    before, after, waiting, n_waiting = room.padded, room.padded_too, np.ones(4), 0
    length = _begin(before, after, len(total))
    for j in identities:
        waiting[n_waiting] = none[j]
        n_waiting += 1
        if n_waiting == 4:
            length = _add_four(before, after, length, waiting, len(total))
            before, after, n_waiting = after, before, 0
    _end(before, after, length, waiting, n_waiting, total)


@jit
def _begin(before, after, length):
    """The law of nothing, after four zeros."""
    for r in range(length + 4):
        before[r] = 0.0
        after[r] = 0.0
    before[4] = 1.0
    return 1


@jit
def _end(before, after, length, waiting, n_waiting, total):
    """Add the indicators that are left, and copy the law."""
    for at in range(n_waiting, 4):
        waiting[at] = 1.0
    _add_four(before, after, length, waiting, len(total))
    for r in range(len(total)):
        total[r] = after[r + 4]


@jit
def _add_four(total, other, length, none, limit):
    """Convolve the law ``total[4:]`` with four indicators, given their probabilities of 0."""
    first, second, third, fourth = none[0], none[1], none[2], none[3]
    a0, a2 = first * second, (1.0 - first) * (1.0 - second)
    a1 = first * (1.0 - second) + (1.0 - first) * second
    b0, b2 = third * fourth, (1.0 - third) * (1.0 - fourth)
    b1 = third * (1.0 - fourth) + (1.0 - third) * fourth
    c0, c1, c2 = a0 * b0, a0 * b1 + a1 * b0, a0 * b2 + a1 * b1 + a2 * b0
    c3, c4 = a1 * b2 + a2 * b1, a2 * b2
    longer = min(length + 4, limit)
    for r in range(longer):
        near = c0 * total[r + 4] + c1 * total[r + 3] + c2 * total[r + 2]
        other[r + 4] = near + c3 * total[r + 1] + c4 * total[r]
    return longer


@jit
def times_of_group(equal, family, strata):
    """Nodes and weights that integrate over the time of a group of tied items.

    The degree is at most the number of tied items that are drawn.
    """
    degree = 0
    for s in equal:
        degree += min(strata.tied[s], strata.draws[s])
    for s in family:
        degree += min(strata.tied[s], strata.draws[s])
    return tie_times(degree + 1, 1.0)


@jit
def none_of_tied(share, size, nearer, drawn):
    """P(no drawn item is nearer) over the former, if more items are nearer by the law `share`."""
    stays, product = share[0], 1.0
    for more in range(len(share) - 1):
        product *= none_left(size, nearer + more, drawn)
        stays += share[more + 1] * product
    return stays


@jit
def tail(mean, length):
    """A bound of P(W < length) for a sum W of independent indicators; Chernoff."""
    if length == 0 or mean <= length:
        return 1.0
    return np.exp(length - mean + length * np.log(mean / length))


@jit
def least(bound, values, powers):
    """The least of `bound` and ``E[t^W] / t^(length - 1)``, bounds of P(W < length), given both powers."""
    if bound < NEGLIGIBLE:
        return bound
    for k in range(len(values)):
        if powers[k] > 1e-300 and values[k] < bound * powers[k]:
            bound = values[k] / powers[k]
    return bound
