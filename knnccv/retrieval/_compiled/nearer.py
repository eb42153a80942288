"""Wrong items that become nearer, and the generating functions of the numbers of drawn ones."""

from __future__ import annotations

from ...kernel import jit
from .laws import none_left


@jit
def advance(steps, nearer, pool, plan):
    """One more wrong item is nearer of each of the strata `steps`, which may repeat.

    Where there are more items than strata, the product over the strata is computed anew: this takes fewer
    factors than one ratio for every item.
    """
    starts, shares, rows, before = nearer.starts, nearer.shares, nearer.rows, nearer.before
    counts, images, seen, strata = nearer.counts, nearer.images, nearer.seen, nearer.strata
    n, n_strata, mean = 0, nearer.lengths[0], nearer.means[0]
    for at in range(len(steps)):
        s = steps[at]
        count, start = counts[s], starts[s]
        before[at] = count
        counts[s] = count + 1
        mean += shares[s]
        rows[n] = start + count
        n += start > 0
        strata[n_strata] = s  # without a branch
        n_strata += not seen[s]
        seen[s] = True
    nearer.means[0], nearer.lengths[0] = mean, n_strata
    if plan.by_identity:
        _pass_identities(steps, nearer, pool)
    if not plan.integrals:
        return
    if n <= n_strata:
        multiply(images, plan.ratios, rows[:n])
        power(images, plan.nodes, len(steps) - n)
        return
    n, n_sure = 0, 0
    for s in strata[:n_strata]:
        start = starts[s]
        rows[n] = start + counts[s]
        n += start > 0
        if start == 0:
            n_sure += counts[s]
    images[:] = 1.0
    multiply(images, plan.values, rows[:n])
    power(images, plan.nodes, n_sure)


@jit
def _pass_identities(steps, nearer, pool):
    """Multiply the probabilities that no drawn item of the identities is nearer."""
    identity, before, none = pool.identity, nearer.before, nearer.none
    seen, identities, n_identities = nearer.seen_ahead, nearer.identities, nearer.lengths[1]
    mean = nearer.means[1]
    for at in range(len(steps)):
        s = steps[at]
        j = identity[s]
        was = none[j]
        stays = was * none_left(nearer.sizes[s], before[at], nearer.draws[s])
        none[j] = stays
        mean += was - stays
        identities[n_identities] = j
        n_identities += not seen[j]
        seen[j] = True
    nearer.means[1], nearer.lengths[1] = mean, n_identities


@jit
def touch(steps, nearer, pool, plan):
    """Add strata of `steps` to the list of those of which a wrong item is nearer or tied."""
    for s in steps:
        if not nearer.seen[s]:
            nearer.seen[s] = True
            nearer.strata[nearer.lengths[0]] = s
            nearer.lengths[0] += 1
        j = pool.identity[s]
        if plan.by_identity and not nearer.seen_ahead[j]:
            nearer.seen_ahead[j] = True
            nearer.identities[nearer.lengths[1]] = j
            nearer.lengths[1] += 1


@jit
def multiply(images, table, rows):
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
def power(images, nodes, exponent):
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
def identities_ahead(product, none, settled, touched, nodes, n_nodes):
    """The generating function of the number of identities ahead, at the first `n_nodes` nodes.

    `none` is `settled` but for those that have changed; where they are few, each multiplies by a ratio.
    """
    n_moved = 0
    for j in touched:
        n_moved += none[j] != settled[j]
    if 4 * n_moved <= len(touched):
        for j in touched:
            if none[j] != settled[j]:
                replace(product, settled[j], none[j], nodes, n_nodes)
                settled[j] = none[j]
        return
    product[:] = 1.0
    whole = len(touched) - len(touched) % 2
    for at in range(0, whole, 2):  # two at once
        first, second = none[touched[at]], none[touched[at + 1]]
        for k in range(n_nodes):
            t = nodes[k]
            product[k] *= (t + first * (1.0 - t)) * (t + second * (1.0 - t))
    for j in touched[whole:]:
        for k in range(n_nodes):
            product[k] *= nodes[k] + none[j] * (1.0 - nodes[k])
    for j in touched:
        settled[j] = none[j]


@jit
def replace(product, before, after, nodes, n_nodes):
    """Replace the factor of an identity."""
    for k in range(n_nodes):
        t = nodes[k]
        product[k] *= (t + after * (1.0 - t)) / (t + before * (1.0 - t))
