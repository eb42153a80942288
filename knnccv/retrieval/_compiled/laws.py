"""Laws of the number of drawn items among the nearer ones of a stratum, with fair ties, and their sums."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial, fill_hypergeometric


@jit
def fill_law(law, size, nearer, tied, drawn, time, part, chosen):
    """Fill ``law[b]``, b = 0 .. drawn: P(b of the `drawn` of `size` items are nearer).

    `nearer` items are nearer, and each of `tied` items is with probability `time`. `part` and `chosen` are
    scratch. O(drawn) without ties, or if all items are drawn.
    """
    for b in range(drawn + 1):
        law[b] = 0.0
    if drawn == size and tied == 0:
        law[nearer] = 1.0
        return
    if drawn == size:
        share = chosen[: tied + 1]
        fill_binomial(share, time)
        for more in range(tied + 1):
            law[nearer + more] = share[more]
        return
    if tied == 0 and drawn == 1:
        law[0], law[1] = (size - nearer) / size, nearer / size
        return
    if tied == 0:
        fill_hypergeometric(law, nearer, drawn, size, 1.0)
        return
    share = chosen[: tied + 1]
    fill_binomial(share, time)
    for more in range(tied + 1):
        for b in range(drawn + 1):
            part[b] = 0.0
        fill_hypergeometric(part, nearer + more, drawn, size, 1.0)
        for b in range(drawn + 1):
            law[b] += share[more] * part[b]


@jit
def add_to(total, other, length, law, n_terms):
    """Convolve ``total[:length]`` with ``law[:n_terms]``; O(length * n_terms).

    Returns
    -------
    total, other : ndarray
        The result and the scratch array, whose roles may be exchanged.
    """
    limit = len(total)
    longer = min(length + n_terms - 1, limit)
    if n_terms == 2:
        miss, hit = law[0], law[1]
        other[0] = total[0] * miss
        for r in range(1, longer):
            other[r] = total[r] * miss + total[r - 1] * hit
        return other, total, longer
    for r in range(longer):
        other[r] = 0.0
    for b in range(n_terms):
        weight = law[b]
        if weight > 0.0:
            for r in range(b, min(length + b, limit)):
                other[r] += weight * total[r - b]
    return other, total, longer


@jit
def none_left(size, nearer, drawn):
    """P(no drawn item is nearer) after one more item is, divided by the former; 0 if there can be none."""
    return max(size - nearer - drawn, 0) / (size - nearer)


@jit
def fill_own_law(total, other, own, sizes, counts, tied, draws, member, time, law, part, chosen):
    """The law of the number of drawn own items before one of them, given that this one is drawn.

    Parameters
    ----------
    total, other : ndarray
        Scratch; one of them is returned with the law of 0 .. R - 1 items.
    own : ndarray
        The strata of the query's identity.
    sizes, counts, tied, draws : ndarray
        Of every stratum: items, nearer items, tied items, drawn items.
    member : int
        The stratum of the item itself, which counts among its tied items.
    """
    total[:] = 0.0
    other[:] = 0.0
    total[0] = 1.0
    length = 1
    for s in own:
        size, drawn, equal = sizes[s], draws[s], tied[s]
        if s == member:
            size, drawn, equal = size - 1, drawn - 1, equal - 1
        if size > 0 and drawn > 0:
            fill_law(law, size, counts[s], equal, drawn, time, part, chosen)
            total, other, length = add_to(total, other, length, law, drawn + 1)
    return total, other


@jit
def fill_next_law(total, other, own, sizes, counts, draws, member, law, kept, known):
    """As `fill_own_law`, where nothing is tied; laws of strata that have not changed are kept.

    Parameters
    ----------
    kept : ndarray of shape (len(own), largest draw + 1)
        The laws of the own strata when ``known`` of their items were nearer.
    known : int64 ndarray of shape (len(own),)
        -1 for none.
    """
    total[:] = 0.0
    other[:] = 0.0
    total[0] = 1.0
    length = 1
    for f in range(len(own)):
        s = own[f]
        size, drawn, nearer = sizes[s], draws[s], counts[s]
        if s == member:
            if drawn > 1:
                fill_law(law, size - 1, nearer, 0, drawn - 1, 0.0, law, law)
                n_terms = min(drawn - 1, nearer) + 1
                total, other, length = add_to(total, other, length, law, n_terms)
        elif drawn > 0 and nearer > 0:
            if known[f] != nearer:
                known[f] = nearer
                fill_law(kept[f], size, nearer, 0, drawn, 0.0, law, law)
            n_terms = min(drawn, nearer) + 1
            total, other, length = add_to(total, other, length, kept[f], n_terms)
    return total, other


@jit
def fill_others_law(total, other, strata, sizes, counts, tied, draws, time, law, part, chosen):
    """The law of the number of nearer drawn items of some independent strata; O(strata * length)."""
    total[:] = 0.0
    other[:] = 0.0
    total[0] = 1.0
    length = 1
    for s in strata:
        fill_law(law, sizes[s], counts[s], tied[s], draws[s], time, part, chosen)
        n_terms = min(draws[s], counts[s] + tied[s]) + 1
        total, other, length = add_to(total, other, length, law, n_terms)
    return total, other


@jit
def fill_ahead_law(total, other, identities, none):
    """The law of the number of identities ahead, identity j with probability ``1 - none[j]``."""
    before, after = np.zeros(len(total) + 4), np.zeros(len(total) + 4)  # after four zeros
    before[4] = 1.0
    length = 1
    whole = len(identities) - len(identities) % 4
    for at in range(0, whole, 4):
        first, second = none[identities[at]], none[identities[at + 1]]
        third, fourth = none[identities[at + 2]], none[identities[at + 3]]
        length = _add_four(before, after, length, first, second, third, fourth)
        before, after = after, before
    for at in range(whole, len(identities)):
        length = _add_four(before, after, length, none[identities[at]], 1.0, 1.0, 1.0)
        before, after = after, before
    total[:] = before[4:]
    return total, other


@jit
def _add_four(total, other, length, first, second, third, fourth):
    """Convolve the law ``total[4:]`` with four indicators, given their probabilities of 0."""
    a0, a2 = first * second, (1.0 - first) * (1.0 - second)
    a1 = first * (1.0 - second) + (1.0 - first) * second
    b0, b2 = third * fourth, (1.0 - third) * (1.0 - fourth)
    b1 = third * (1.0 - fourth) + (1.0 - third) * fourth
    c0, c1, c2 = a0 * b0, a0 * b1 + a1 * b0, a0 * b2 + a1 * b1 + a2 * b0
    c3, c4 = a1 * b2 + a2 * b1, a2 * b2
    longer = min(length + 4, len(total) - 4)
    for r in range(longer):
        near = c0 * total[r + 4] + c1 * total[r + 3] + c2 * total[r + 2]
        other[r + 4] = near + c3 * total[r + 1] + c4 * total[r]
    return longer
