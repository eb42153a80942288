"""Random halvings: pairs of disjoint halves of the samples, or of groups of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_integer

SAME_CLASSES = 10
"""Halvings in a row that have the same numbers of every class, where these decide the training sets."""


@dataclass(frozen=True, eq=False)
class Halvings:
    """Random pairs of disjoint halves.

    Attributes
    ----------
    half_of : int8 ndarray of shape (n_halvings, n_items)
        The half of a sample, 0 or 1; -1 for one that is left out because the number is odd.
    n_units : int
        The number of samples, or of groups.
    of_groups : bool
        Whether whole groups are drawn.
    """

    half_of: Array
    n_units: int
    of_groups: bool

    def rows(self, halving: int, half: int) -> Array:
        """The samples of a half, ascending."""
        return np.flatnonzero(self.half_of[halving] == half)


def check_halvings(n_halvings: Any, n_units: int, what: str = "samples") -> int:
    """Return the number of halvings.

    Raises
    ------
    TypeError, ValueError
        If it is not an integer of at least 2, or there are fewer than four samples or groups.
    """
    number = check_integer("n_halvings", n_halvings, 2)
    if n_units < 4:
        msg = f"a standard error needs at least 4 {what}, two for each half, got {n_units}"
        raise ValueError(msg)
    return number


def draw_halvings(
    n_halvings: int,
    n_items: int,
    rng: np.random.Generator,
    *,
    groups: Array | None = None,
    classes: Array | None = None,
) -> Halvings:
    """Draw halvings, all equally likely.

    Parameters
    ----------
    n_halvings : int
        Their number.
    n_items : int
        The number of samples.
    rng : numpy Generator
        The source of randomness.
    groups : int64 ndarray of shape (n_items,), optional
        Group codes: halves of groups are drawn in place of halves of samples.
    classes : int64 ndarray of shape (n_items,), optional
        Class codes, for designs with training sets of given numbers of every class. Each halving is still a
        random one, but `SAME_CLASSES` in a row have the same numbers of every class in their halves. Fewer
        sets of tables then serve all halves.
    """
    half_of = np.full((n_halvings, n_items), -1, np.int8)
    if groups is not None:
        n_groups = int(groups.max()) + 1
        for one in half_of:
            one[:] = _random_halves(n_groups, rng)[groups]
        return Halvings(half_of, n_groups, True)
    if classes is None:
        for one in half_of:
            one[:] = _random_halves(n_items, rng)
        return Halvings(half_of, n_items, False)
    members = [np.flatnonzero(classes == c) for c in range(int(classes.max()) + 1)]
    for first in range(0, n_halvings, SAME_CLASSES):
        start = _random_halves(n_items, rng)
        for one in half_of[first : first + SAME_CLASSES]:
            for each in members:
                one[each] = rng.permutation(start[each])
    return Halvings(half_of, n_items, False)


def _random_halves(n_units: int, rng: np.random.Generator) -> Array:
    """The half of every unit; an odd number leaves one out."""
    half = np.full(n_units, -1, np.int8)
    order = rng.permutation(n_units)
    size = n_units // 2
    half[order[:size]], half[order[size : 2 * size]] = 0, 1
    return half
