"""Estimates of what the sections on classes and items cost, from sizes alone, never from the clock.

The unit is about a second of one processor. They were fitted to 20,000 items with 20 columns, 2 to 10
classes and K from 1 to 50, and to 5,000 items with tied groups of 40 to 140.
"""

from __future__ import annotations

CONFUSION_LIMIT = 20.0
INFLUENCE_LIMIT = 20.0
PART = 6.0
"""Work of the confusion matrix of a part of the samples, where all of them are too many."""
FEWEST = 200
COUNTED = 15
"""The largest K for which the votes of several classes are counted in one walk."""
MOST_SEEN = 20
"""Classes beyond this number do not make a vote slower: a list holds few of them."""


def confusion_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the confusion matrix: a pass for each class, none for two classes.

    `ties` is the mean size of a tied group, 1 without ties.
    """
    if n_classes <= 2:
        return 0.0
    each = 5 + 0.6 * min(n_classes, MOST_SEEN) * n_neighbors
    return n_items * n_classes * each * 1e-6 * (1 + (ties - 1) * n_neighbors / 125)


def affordable_confusion(n_items: int, units: float) -> int:
    """The number of samples whose confusion matrix is computed if that of all takes so many units."""
    return min(n_items, max(FEWEST, int(n_items * PART / units)))


def influence_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the influence of all items: a walk along each list, or one for each listed item."""
    each, slower = 40 + 6.0 * n_neighbors, 0.01
    if n_classes > 2:
        slower = 0.01 * n_neighbors
        if n_neighbors > COUNTED:
            each, slower = 0.06 * n_neighbors**2 * n_classes, 1.0
    return n_items * each * 1e-6 * (1 + (ties - 1) * slower)
