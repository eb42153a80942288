"""Tied samples of different labels."""

from __future__ import annotations

from numba import types

from ..kernel import LABELS, jit
from ._rows import DISTANCES, INTEGERS, ITEMS


@jit
def labels_differ(labels, one, other):
    """Return True if two samples have different classes or targets."""
    if labels.classes[one] != labels.classes[other]:
        return True
    for output in range(labels.values.shape[1]):
        if labels.values[one, output] != labels.values[other, output]:
            return True
    return False


@jit
def first_mixed_tie(items, values, length, labels):
    """First position whose sample ties the one before it and has another label, or -1."""
    for i in range(1, length):
        if values[i] == values[i - 1] and labels_differ(labels, items[i], items[i - 1]):
            return i
    return -1


@jit
def first_mixed_groups(items, values, lengths, labels, out):
    """``out[r]`` = start of the first tied group of different labels in row r, or -1; O(depth) per row."""
    for r in range(len(lengths)):
        start = first_mixed_tie(items[r], values[r], lengths[r], labels)
        while start > 0 and values[r, start] == values[r, start - 1]:
            start -= 1
        out[r] = start


FIRST_MIXED_GROUPS = types.void(ITEMS, DISTANCES, INTEGERS, LABELS, INTEGERS)
