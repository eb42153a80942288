"""The w smallest pairs (value, item) seen so far, as a binary heap in two arrays, the largest in front.

Pairs are compared by value and then by item. What a heap holds in the end therefore depends on the pairs
alone, not on the order in which they came.
"""

from __future__ import annotations

from ..kernel import jit


@jit
def replace_largest(values, items, value, item):  # type: ignore[no-untyped-def]
    """Let the largest pair go and take this one in, which must be smaller; O(log w)."""
    n = len(values)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        right = child + 1
        if right < n and (
            values[right] > values[child]
            or (values[right] == values[child] and items[right] > items[child])
        ):
            child = right
        if values[child] < value or (values[child] == value and items[child] < item):
            break
        values[at] = values[child]
        items[at] = items[child]
        at = child
    values[at] = value
    items[at] = item


@jit
def sort_heap(values, items):  # type: ignore[no-untyped-def]
    """Turn a heap into an ascending list."""
    for last in range(len(values) - 1, 0, -1):
        value = values[last]
        item = items[last]
        values[last] = values[0]
        items[last] = items[0]
        replace_largest(values[:last], items[:last], value, item)
