"""The lists of samples within halves of the samples, compiled."""

from __future__ import annotations

from ..kernel import jit


@jit
def keep_halves(items, values, lengths, at, half_of, halving, half, enough, kept_items, kept_values, kept):
    """The lists of the rows `at` within their halves, down to `enough` samples and those that tie them."""
    for r in range(len(at)):
        row = at[r]
        side = half_of[halving[r]]
        n = 0
        for i in range(lengths[row]):
            item = items[row, i]
            kept_items[r, n] = item
            kept_values[r, n] = values[row, i]
            n += side[item] == half[r]  # without a branch, which would be mispredicted half of the time
            if n > enough and kept_values[r, n - 1] != kept_values[r, n - 2]:
                n -= 1
                break
        kept[r] = n
