"""One query: its own items and strata, and what the mask leaves to be drawn."""

from __future__ import annotations

import numpy as np

from ...kernel import jit


@jit
def own_items(row, out, code, pool):
    """Items of the query's identity that are not `out`, by distance, then by number."""
    own = pool.items[pool.item_starts[code] : pool.item_starts[code + 1]]
    own = own[~out[own]]
    return own[np.argsort(row[own], kind="mergesort")]


@jit
def own_strata(code, pool):
    """Strata of the query's identity."""
    return pool.strata[pool.strata_starts[code] : pool.strata_starts[code + 1]]


@jit
def fill_draws(sizes, draws, out, pool):
    """Fill in how many items of every stratum are not `out`, and how many of these are drawn; O(items)."""
    sizes[:] = pool.sizes
    for i in range(len(out)):
        sizes[pool.stratum[i]] -= out[i]
    for s in range(len(sizes)):
        whole = pool.shots == 0 or pool.always[s]
        draws[s] = sizes[s] if whole else min(pool.shots, sizes[s])


@jit
def n_drawn(strata, draws):
    """Number of items that are drawn of some strata."""
    total = 0
    for s in strata:
        total += draws[s]
    return total
