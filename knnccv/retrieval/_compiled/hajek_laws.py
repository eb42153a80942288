"""Laws of sums of independent numbers without each of them, by positive sums only, and of own items."""

from __future__ import annotations

import numpy as np

from ...kernel import jit
from ...sampling import fill_hypergeometric


@jit
def multiply(law, factor, degree):
    """Convolve a truncated law with ``factor[: degree + 1]``, in place."""
    if degree == 1:
        miss, hit = factor[0], factor[1]
        before = 0.0
        for r in range(len(law)):
            value = law[r]
            law[r] = value * miss + before * hit
            before = value
        return
    for r in range(len(law) - 1, -1, -1):
        total = 0.0
        for b in range(min(degree, r) + 1):
            total += factor[b] * law[r - b]
        law[r] = total


@jit
def fill_all_but_one(factors, n, root, outs):
    """Fill ``outs[x]``, the convolution of `root` with all of the n factors but factor x.

    A tree: what lies outside of a half is what lies outside of the whole, and the other half. Nothing is
    divided. O(n log n) convolutions.
    """
    degree = factors.shape[1] - 1
    n_levels = 2
    while 1 << (n_levels - 2) < max(n, 1):
        n_levels += 1
    levels = np.empty((n_levels, len(root)))
    levels[0] = root
    stack = np.empty((2 * n_levels, 5), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, n, 0, 0, 0
    height = 1 if n > 0 else 0
    while height > 0:
        height -= 1
        low, high, depth = stack[height, 0], stack[height, 1], stack[height, 2]
        if depth > 0:
            levels[depth] = levels[depth - 1]
            for x in range(stack[height, 3], stack[height, 4]):
                multiply(levels[depth], factors[x], degree)
        if high - low == 1:
            outs[low] = levels[depth]
            continue
        middle = (low + high) // 2
        for first, last, rest, end in ((middle, high, low, middle), (low, middle, middle, high)):
            stack[height, 0], stack[height, 1], stack[height, 2] = first, last, depth + 1
            stack[height, 3], stack[height, 4] = rest, end
            height += 1


@jit
def fill_own(law, part, family, sizes, counts, draws, member, other, nearer):
    """Fill the law of the number of drawn own items before one of stratum `member`, which is drawn.

    Also given that an item of stratum `other` is drawn, unless this is -1, and that it is before the
    first one if `nearer`.
    """
    law[:] = 0.0
    law[0] = 1.0
    for s in family:
        size, drawn, count = sizes[s], draws[s], counts[s]
        if s == member:
            size, drawn = size - 1, drawn - 1
        if s == other:
            size, drawn = size - 1, drawn - 1
            count -= nearer
        if size > 0 and drawn > 0:
            part[: drawn + 1] = 0.0
            fill_hypergeometric(part, count, drawn, size, 1.0)
            multiply(law, part, drawn)
    if other >= 0 and nearer:
        for r in range(len(law) - 1, 0, -1):
            law[r] = law[r - 1]
        law[0] = 0.0
