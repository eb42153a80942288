"""Fair ties: items at an own item's distance are nearer with the same probability.

This probability is the own item's time, uniform on [0, 1]. Expected scores are polynomials in it.
"""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_binomial, tie_times
from .laws import none_left
from .nearer import replace


@jit
def times_of_group(members, equal, family, tied, draws):
    """Nodes and weights that integrate over the time of a group of own items; one node if nothing ties.

    The degree is at most the number of tied items that are drawn.
    """
    if len(equal) == 0 and len(members) == 1:
        return np.zeros(1), np.ones(1)
    degree = 0
    for s in equal:
        degree += min(tied[s], draws[s])
    for s in family:
        degree += min(tied[s], draws[s])
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
def fill_tied_factor(factor, step, share, ratios, row, whole):
    """Fill in the generating function over the former, in this case; `step` is scratch.

    Parameters
    ----------
    ratios : ndarray
        As in `Plan`, which is not passed on: that would take longer than the arithmetic.
    row : int
        The row of the next item.
    whole : bool
        Whether the whole stratum is drawn, so that all items have this row.
    """
    factor[:] = share[0]
    step[:] = 1.0
    for more in range(len(share) - 1):
        ratio = ratios[row if whole else row + more]
        for k in range(len(step)):
            step[k] *= ratio[k]
            factor[k] += share[more + 1] * step[k]


@jit
def mix_ties(equal, time, none, images, ahead, nearer, pool, plan, chosen):
    """Let the tied wrong items be nearer with probability `time` each; `none`, `images`, `ahead` change."""
    factor, step = np.empty(len(images)), np.empty(len(images))
    for s in equal:
        size, count, drawn = nearer.sizes[s], nearer.counts[s], nearer.draws[s]
        share = chosen[: nearer.tied[s] + 1]
        fill_binomial(share, time)
        if plan.integrals:
            row = 0 if drawn == size else plan.rows[size] + count
            fill_tied_factor(factor, step, share, plan.ratios, row, drawn == size)
            images *= factor
        j = pool.identity[s]
        if plan.by_identity and none[j] > 0.0:
            before = none[j]
            none[j] = before * none_of_tied(share, size, count, drawn)
            if plan.identity_integrals:
                replace(ahead, before, none[j], plan.nodes, len(plan.weights))
