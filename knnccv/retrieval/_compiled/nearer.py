"""Generating functions of the numbers of drawn items, and of identities, that are nearer, at nodes."""

from __future__ import annotations

from ...kernel import jit


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
def fill_powers(powers, nodes, exponent):
    """Fill in ``nodes ** exponent``."""
    for k in range(len(nodes)):
        base, left, power = nodes[k], exponent, 1.0
        while left > 0:
            if left & 1:
                power *= base
            base *= base
            left >>= 1
        powers[k] = power


@jit
def identities_ahead(product, none, settled, touched, nodes):
    """The generating function of the number of identities ahead.

    `none` is `settled` but for those that have changed; where they are few, each multiplies by a ratio.
    """
    n_moved = 0
    for j in touched:
        n_moved += none[j] != settled[j]
    if 4 * n_moved <= len(touched):
        for j in touched:
            if none[j] != settled[j]:
                replace(product, settled[j], none[j], nodes)
                settled[j] = none[j]
        return
    for k in range(len(nodes)):
        product[k] = 1.0
    whole = len(touched) - len(touched) % 2
    for at in range(0, whole, 2):  # two at once
        first, second = none[touched[at]], none[touched[at + 1]]
        for k in range(len(nodes)):
            t = nodes[k]
            product[k] *= (t + first * (1.0 - t)) * (t + second * (1.0 - t))
    for j in touched[whole:]:
        for k in range(len(nodes)):
            product[k] *= nodes[k] + none[j] * (1.0 - nodes[k])
    for j in touched:
        settled[j] = none[j]


@jit
def replace(product, before, after, nodes):
    """Replace the factor of an identity."""
    for k in range(len(nodes)):
        t = nodes[k]
        below = t + before * (1.0 - t)
        product[k] = product[k] * (t + after * (1.0 - t)) / below if below > 0.0 else 0.0


@jit
def fill_tied_factor(factor, step, share, ratios, row, whole):
    """Fill in the generating function over the former, if more items are nearer by the law `share`.

    Parameters
    ----------
    ratios : ndarray
        As in `Plan`, which is not passed on: that would take longer than the arithmetic.
    row : int
        The row of the next item.
    whole : bool
        Whether the whole stratum is drawn, so that all items have this row.
    """
    for k in range(len(step)):
        factor[k] = share[0]
        step[k] = 1.0
    for more in range(len(share) - 1):
        ratio = ratios[row if whole else row + more]
        for k in range(len(step)):
            step[k] *= ratio[k]
            factor[k] += share[more + 1] * step[k]
