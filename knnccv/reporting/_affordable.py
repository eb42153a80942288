"""Estimates of what the sections on classes and items cost, from sizes alone, never from the clock.

The unit is about a second of one processor. They were fitted to 20,000 items with 20 columns, 2 to 10
classes and K from 1 to 50.
"""

from __future__ import annotations

CONFUSION_LIMIT = 20.0
INFLUENCE_LIMIT = 20.0
COUNTED = 15
"""The largest K for which the votes of several classes are counted in one walk."""


def confusion_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the confusion matrix: a pass for each class, none for two classes."""
    if n_classes <= 2:
        return 0.0
    seen = min(n_classes, 20)
    return n_items * n_classes * (5 + 0.6 * seen * n_neighbors) * 1e-6 * max(ties, 1.0)


def influence_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the influence of all items: a walk along each list, or one pass for each listed item."""
    each = 40 + 6.0 * n_neighbors
    if n_classes > 2 and n_neighbors > COUNTED:
        each = 0.06 * n_neighbors**2 * n_classes
    return n_items * each * 1e-6 * max(ties, 1.0) ** 2
