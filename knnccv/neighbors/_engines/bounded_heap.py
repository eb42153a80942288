# mypy: allow-untyped-defs
"""Bounded heaps: each row of two arrays keeps its smallest pairs (value, sample).

Pairs are compared by value and then by sample, so the result does not depend on the order in which they
are offered. Short rows are sorted arrays, which is faster up to some hundred pairs. Long rows are binary
heaps with the largest pair in front.
"""

from __future__ import annotations

from ...kernel import inner

SHORT = 128


@inner
def place_of_largest(width):
    """Position of the largest pair in a row of this width."""
    return width - 1 if width <= SHORT else 0


@inner
def offer(values, items, row, value, item):
    """Put a pair, whose value is at most the largest of the row, into it; return the new largest value."""
    last = place_of_largest(values.shape[1])
    if value < values[row, last] or item < items[row, last]:
        replace_largest(values, items, row, value, item)
    return values[row, last]


@inner
def replace_largest(values, items, row, value, item):
    """Replace a row's largest pair by this one, which must be smaller."""
    width = values.shape[1]
    if width > SHORT:
        _sift_down(values, items, row, width, value, item)
        return
    at = width - 1
    while at > 0 and (
        values[row, at - 1] > value or (values[row, at - 1] == value and items[row, at - 1] > item)
    ):
        values[row, at] = values[row, at - 1]
        items[row, at] = items[row, at - 1]
        at -= 1
    values[row, at] = value
    items[row, at] = item


@inner
def _sift_down(values, items, row, width, value, item):
    """Put a pair into the empty top of a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= width:
            break
        right = child + 1
        if right < width and (
            values[row, right] > values[row, child]
            or (values[row, right] == values[row, child] and items[row, right] > items[row, child])
        ):
            child = right
        if values[row, child] < value or (values[row, child] == value and items[row, child] < item):
            break
        values[row, at] = values[row, child]
        items[row, at] = items[row, child]
        at = child
    values[row, at] = value
    items[row, at] = item


@inner
def sort_row(values, items, row):
    """Sort a row in ascending order."""
    width = values.shape[1]
    if width <= SHORT:
        return
    for last in range(width - 1, 0, -1):
        value = values[row, last]
        item = items[row, last]
        values[row, last] = values[row, 0]
        items[row, last] = items[row, 0]
        _sift_down(values, items, row, last, value, item)
