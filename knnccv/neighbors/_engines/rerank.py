"""Exact distances of proposed candidates, and their order by (value, index)."""

from __future__ import annotations

import numpy as np

from ...kernel import ZERO, jit
from .bounded_heap import replace_largest, sort_row

ABREAST = 4
NO_ITEM = 2**31 - 1


@jit
def measure(data, rows, found, values):
    """Fill in squared euclidean distances to the candidates, summed over the features as in `cdist`.

    Four candidates are measured side by side, as each sum is a chain of dependent additions.
    """
    n_found = found.shape[1]
    for r in range(len(rows)):
        point = data[rows[r]]
        for i in range(0, n_found - n_found % ABREAST, ABREAST):
            a, b, c, d = (
                data[found[r, i]],
                data[found[r, i + 1]],
                data[found[r, i + 2]],
                data[found[r, i + 3]],
            )
            of_a = of_b = of_c = of_d = 0.0
            for f in range(len(point)):
                x = np.float64(point[f])
                to_a = x - a[f]
                to_b = x - b[f]
                to_c = x - c[f]
                to_d = x - d[f]
                of_a += to_a * to_a
                of_b += to_b * to_b
                of_c += to_c * to_c
                of_d += to_d * to_d
            values[r, i] = of_a
            values[r, i + 1] = of_b
            values[r, i + 2] = of_c
            values[r, i + 3] = of_d
        for i in range(n_found - n_found % ABREAST, n_found):
            other = data[found[r, i]]
            total = 0.0
            for f in range(len(point)):
                difference = np.float64(point[f]) - other[f]
                total += difference * difference
            values[r, i] = total


@jit
def settle(found, values, limits, depth, items, ranked, may_tie_beyond, settled):
    """Fill in each row's nearest candidates, by (value, index).

    A row is settled if the last one in its list is below its limit, a bound for all other samples.
    """
    width = found.shape[1]
    best = np.empty((1, width))
    who = np.empty((1, width), found.dtype)
    for r in range(len(found)):
        best[:] = np.inf
        who[:] = NO_ITEM
        for i in range(width):
            replace_largest(best, who, ZERO, values[r, i], found[r, i])
        sort_row(best, who, ZERO)
        for i in range(depth):
            items[r, i] = who[0, i]
            ranked[r, i] = best[0, i]
        # Below 1e-280 rounding is no longer relative.
        settled[r] = best[0, depth - 1] < limits[r] and limits[r] > 1e-280
        may_tie_beyond[r] = width > depth and best[0, depth] == best[0, depth - 1]
