"""The lists of samples within a half, compiled."""

from __future__ import annotations

from ..kernel import jit


@jit
def keep_half(items, values, lengths, at, half_of, half, enough, kept_items, kept_values, kept):
    """The lists of the rows `at` without samples outside the half, down to `enough` and their ties."""
    for r in range(len(at)):
        row = at[r]
        n = 0
        for i in range(lengths[row]):
            item = items[row, i]
            kept_items[r, n] = item
            kept_values[r, n] = values[row, i]
            n += half_of[item] == half  # without a branch, which would be mispredicted half of the time
            if n > enough and kept_values[r, n - 1] != kept_values[r, n - 2]:
                n -= 1
                break
        kept[r] = n
