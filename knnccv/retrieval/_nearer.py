"""Wrong items that become nearer, and the generating functions of the numbers of drawn ones."""

from __future__ import annotations

from ..kernel import jit
from ._laws import none_left


@jit
def advance(steps, counts, none, means, images, lists, nearer, sizes, draws, pool, plan):
    """One more wrong item is nearer of each of the strata `steps`, which may repeat.

    Where there are more items than strata, the product over the strata is computed anew: this takes fewer
    factors than one ratio for every item.
    """
    touch(steps, lists, nearer, pool, plan)
    rows, before = nearer.rows, nearer.before
    n = 0
    for at in range(len(steps)):
        s = steps[at]
        before[at] = counts[s]
        counts[s] += 1
        means[0] += nearer.shares[s]
        start = nearer.starts[s]
        rows[n] = start + before[at]
        n += start > 0
    if plan.by_identity:
        for at in range(len(steps)):
            s = steps[at]
            j = pool.identity[s]
            was = none[j]
            none[j] = was * none_left(sizes[s], before[at], draws[s])
            means[1] += was - none[j]
    if not plan.integrals:
        return
    if n <= lists.lengths[0]:
        _multiply(images, plan.ratios, rows[:n])
        _power(images, plan.nodes, len(steps) - n)
        return
    n, n_sure = 0, 0
    for s in lists.strata[: lists.lengths[0]]:
        start = nearer.starts[s]
        rows[n] = start + counts[s]
        n += start > 0
        if start == 0:
            n_sure += counts[s]
    images[:] = 1.0
    _multiply(images, plan.values, rows[:n])
    _power(images, plan.nodes, n_sure)


@jit
def touch(steps, lists, nearer, pool, plan):
    """Add strata of `steps` to the list of those of which a wrong item is nearer or tied."""
    lengths, strata, seen = lists.lengths, lists.strata, nearer.seen
    n = lengths[0]
    for s in steps:
        if not seen[s]:
            seen[s] = True
            strata[n] = s
            n += 1
    lengths[0] = n
    if plan.by_identity:
        for s in steps:
            j = pool.identity[s]
            nearer.moved[j] = True
            if not nearer.seen_ahead[j]:
                nearer.seen_ahead[j] = True
                lists.identities[lengths[1]] = j
                lengths[1] += 1


@jit
def _multiply(images, table, rows):
    """Multiply `images` by rows of the table, four at once."""
    whole = len(rows) - len(rows) % 4
    for at in range(0, whole, 4):
        first, second = table[rows[at]], table[rows[at + 1]]
        third, fourth = table[rows[at + 2]], table[rows[at + 3]]
        for k in range(len(images)):
            images[k] *= (first[k] * second[k]) * (third[k] * fourth[k])
    for at in range(whole, len(rows)):
        first = table[rows[at]]
        for k in range(len(images)):
            images[k] *= first[k]


@jit
def _power(images, nodes, exponent):
    """Multiply by ``nodes ** exponent``: items that are always drawn."""
    if exponent == 0:
        return
    for k in range(len(images)):
        base, left = nodes[k], exponent
        while left > 0:
            if left & 1:
                images[k] *= base
            base *= base
            left >>= 1


@jit
def identities_ahead(identities, none, lists, nearer, plan):
    """The generating function of the number of identities ahead, where `none` has changed.

    Few changes multiply it by a ratio each, otherwise the product is computed anew.
    """
    touched = lists.identities[: lists.lengths[1]]
    n_moved = 0
    for j in touched:
        n_moved += nearer.moved[j]
    anew = 4 * n_moved > len(touched)
    if anew:
        identities[:] = 1.0
    for j in touched:
        if nearer.moved[j]:
            nearer.moved[j] = False
            if not anew and nearer.settled[j] > 0.0:
                replace(identities, nearer.settled[j], none[j], plan)
            nearer.settled[j] = none[j]
        if anew:
            stays = none[j]
            for k in range(len(plan.weights)):
                identities[k] *= plan.nodes[k] + stays * (1.0 - plan.nodes[k])


@jit
def replace(identities, before, after, plan):
    """Replace the factor of an identity."""
    for k in range(len(plan.weights)):
        t = plan.nodes[k]
        identities[k] *= (t + after * (1.0 - t)) / (t + before * (1.0 - t))
