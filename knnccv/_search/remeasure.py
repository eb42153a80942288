"""Candidates that an engine proposes, measured exactly and put into the order (value, index)."""

from __future__ import annotations

import numpy as np

from ..kernel import jit


@jit
def measure(data, rows, found, lengths, kind, values):  # type: ignore[no-untyped-def]
    """Surrogate values of the candidates, summed over the features in order, as `cdist` does.

    `kind` is 0 for squared euclidean, 1 for manhattan, 2 for chebyshev.
    """
    for r in range(len(rows)):
        for i in range(lengths[r]):
            total = 0.0
            for f in range(data.shape[1]):
                difference = data[rows[r], f] - data[found[r, i], f]
                if kind == 0:
                    total += difference * difference
                elif kind == 1:
                    total += abs(difference)
                else:
                    total = max(total, abs(difference))
            values[r, i] = total


@jit
def settle(rows, found, values, lengths, reach, depth, items, ranked, more, settled):  # type: ignore[no-untyped-def]
    """Sort each row's candidates by (value, index), without the item itself.

    A row is settled if it has `depth` of them, the last below `reach`, beyond which the others are.
    """
    width = found.shape[1]
    keys = np.empty(width, np.int64)
    near = np.empty(width)
    for r in range(len(rows)):
        n = 0
        for i in range(lengths[r]):
            if found[r, i] != rows[r]:
                keys[n] = found[r, i]
                near[n] = values[r, i]
                n += 1
        if n < depth:
            settled[r] = False
            continue
        by_index = np.argsort(keys[:n])
        final = np.argsort(near[by_index], kind="mergesort")
        for i in range(depth):
            items[r, i] = keys[by_index[final[i]]]
            ranked[r, i] = near[by_index[final[i]]]
        # Below 1e-280 rounding is no longer relative.
        settled[r] = ranked[r, depth - 1] < reach[r] and reach[r] > 1e-280
        more[r] = n > depth and near[by_index[final[depth]]] == ranked[r, depth - 1]
