"""Probabilities that decide the variance of one run, where one nearest neighbor decides.

Two samples are tested in one fold, or in two folds. A and B are the samples in their neighbor lists before
p and q, the two that decide. The tables hold the probability of that for lists without common samples, and
for the cases that common samples bring about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array


@dataclass(frozen=True)
class Fold:
    """Folds of one size: their number in a run, the size, and the weight of a tested sample."""

    number: int
    size: int
    share: float


@dataclass(frozen=True)
class PairTables:
    """Probabilities times weights, summed over the folds of a run.

    Attributes
    ----------
    one, two : ndarray of shape (depth + 1,)
        Both samples in one fold, by ``u = |A | B|``: the same sample p decides; p and q decide.
    both, first, second, same, free : ndarray of shape (depth + 1, depth + 1)
        The samples in two folds F and G, by ``|A|`` and ``|B|``: p must be outside F and q outside G; only
        p; only q; they are one sample; both are outside already. All zero for a single split.
    tail : float
        Bound of the weight of all cases beyond the depth.
    """

    one: Array
    two: Array
    both: Array
    first: Array
    second: Array
    same: Array
    free: Array
    tail: float

    @property
    def depth(self) -> int:
        """The largest number of passed samples."""
        return len(self.one) - 1


def pair_tables(n_items: int, folds: tuple[Fold, ...], folded: bool, depth: int) -> PairTables:
    """The tables for lists up to this depth; with `folded` also those of pairs in different folds."""
    one, two = np.zeros((2, depth + 2))
    cross = np.zeros((5, depth + 2, depth + 2))
    pairs = n_items * (n_items - 1)
    tail = 0.0
    for fold in folds:
        weight = fold.number * fold.share**2 * fold.size * (fold.size - 1) / pairs
        passed, here, apart = _same_fold(n_items - 2, n_items - fold.size, depth + 1)
        one += weight * here
        two += weight * apart
        tail += fold.number * (fold.share * fold.size) ** 2 * (depth + 2) * float(passed[-1])
    for f in folds if folded else ():
        for g in folds:
            number = f.number * (g.number - (f is g))
            weight = number * f.share * g.share * f.size * g.size / pairs
            if weight:
                found = _two_folds(n_items - 2, f.size - 1, g.size - 1, depth + 1)
                cross += weight * found
                tail += weight * pairs * float(np.fliplr(found[4]).trace())
    one, two, cross = one[:-1], two[:-1], cross[:, :-1, :-1]
    both, first, second, same, free = (np.ascontiguousarray(table) for table in cross)
    return PairTables(one, two, both, first, second, same, free, tail)


def _same_fold(n: int, n_train: int, depth: int) -> tuple[Array, Array, Array]:
    """P(u given samples are not in T), and times P(one more is), P(two more are); u = 0 .. depth."""
    u = np.arange(depth + 1)
    left = n - u
    steps = np.maximum(left - n_train, 0) / np.maximum(left, 1)
    passed = np.concatenate([[1.0], np.cumprod(steps[:-1])])
    one = np.where(left >= 1, passed * n_train / np.maximum(left, 1), 0.0)
    two = np.where(left >= 2, one * (n_train - 1) / np.maximum(left - 1, 1), 0.0)
    return passed, one, two


def _two_folds(n: int, a: int, b: int, depth: int) -> Array:
    """The five tables for folds that have `a` and `b` of the n other samples; (5, depth + 1, depth + 1)."""
    u, v = np.arange(depth + 1)[:, None], np.arange(depth + 1)[None, :]
    free = np.zeros((depth + 1, depth + 1))
    free[0, 0] = 1.0
    for i in range(1, depth + 1):
        free[i, 0] = free[i - 1, 0] * max(a - i + 1, 0) / max(n - i + 1, 1)
    for k in range(1, depth + 1):
        free[:, k] = free[:, k - 1] * max(b - k + 1, 0) / np.maximum(n - u[:, 0] - k + 1, 1)
    left, in_f, in_g = n - u - v, np.maximum(a - u, 0), np.maximum(b - v, 0)
    outside = max(n - a - b, 0)
    least = np.maximum(left, 1)
    single = np.where(left >= 1, free, 0.0) / least
    double = np.where(left >= 2, single, 0.0) / np.maximum(left - 1, 1)
    both = double * (in_g * (left - in_g) + outside * np.maximum(left - 1 - in_g, 0))
    return np.array([both, single * (left - in_f), single * (left - in_g), single * outside, free])
