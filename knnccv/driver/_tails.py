"""How likely neighbors beyond a depth, and ties, are to matter.

A neighbor matters as far as fewer than K of those before it are in the training set. The probability of
that, its *tail*, falls along the order.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..kernel import Constraints, Labels, jit
from ..sampling import stratified_tails


@jit
def labels_differ(labels, one, other):  # type: ignore[no-untyped-def]
    """Whether two samples have different classes or targets."""
    if labels.classes[one] != labels.classes[other]:
        return True
    for output in range(labels.values.shape[1]):
        if labels.values[one, output] != labels.values[other, output]:
            return True
    return False


def fill_tails(
    items: Array,
    lengths: Array,
    rows: Array,
    labels: Labels,
    constraints: Constraints,
    nearest: int,
    table: Array | None,
    out: Array,
) -> None:
    """Fill in the tails after so many samples of every row.

    They are in `table` where training sets have a fixed size, else depend on the classes of the samples.
    """
    if table is not None:
        out[:] = table[lengths]
    else:
        stratified_tails(items, lengths, rows, labels, constraints, nearest, out)


def ties_that_matter(
    items: Array,
    ties: Array,
    rows: Array,
    labels: Labels,
    constraints: Constraints,
    nearest: int,
    table: Array | None,
    tol: float,
) -> Array:
    """Which rows have a tie of different labels that is reached with a probability above ``tol / 2``.

    `ties` are the positions where the first of them is, -1 for none: later ones are reached less often.
    The same holds for all lists that are deep enough for `tol`, whatever their depth.
    """
    tied = ties >= 0
    unsure = np.flatnonzero(ties >= nearest)  # fewer samples than that never decide
    if len(unsure):
        tails = np.empty(len(unsure))
        where = (ties[unsure], rows[unsure], labels, constraints, nearest, table, tails)
        fill_tails(items if table is not None else items[unsure], *where)
        tied[unsure] = tails > tol / 2
    return tied
