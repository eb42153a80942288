"""Groups of tied samples that contain several classes."""

from __future__ import annotations

from ..kernel import jit


@jit
def has_mixed_group(order, labels):
    """Return True if samples of different classes tie; O(depth)."""
    classes, items, group_end = labels.classes, order.items, order.group_end
    for i in range(1, len(items)):
        if group_end[i - 1] > i and classes[items[i]] != classes[items[i - 1]]:
            return True
    return False


@jit
def is_mixed(items, classes, start, end):
    """Return True if the samples at the positions `start` .. `end` - 1 have several classes."""
    c = classes[items[start]]
    same = True
    for i in range(start + 1, end):
        same = same and classes[items[i]] == c
    return not same
