"""The probabilities of the positions where the K nearest training samples end, in designs of one size.

`score_fixed_size` reads them: `scaled_position_weights` are the first entries of ``constraints.weights``,
and `thinning_rates` the first entries of ``constraints.numbers``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import Task, jit
from ..sampling import fill_binomial, position_law


class PositionWeights(NamedTuple):
    """Two weights of every position i = 1, 2, ..., at index i - 1.

    ``next_known``
        Weight of: exactly K of the first i samples are in the training set, and so is the next one.
    ``list_ends``
        Weight of: exactly K of the first i samples are in the training set. It serves the end of a list.
    """

    next_known: Array
    list_ends: Array


class ThinningRates(NamedTuple):
    """The factors of a sample that is left out, and of one that is taken."""

    p_skip: float
    p_take: float


@jit
def position_weights_at(weights, first, length):
    """The view of `PositionWeights` of `length` positions, packed into an array from `first` on."""
    middle = first + length
    return PositionWeights(weights[first:middle], weights[middle : middle + length])


def position_weights(task: Task, k: int, max_depth: int) -> PositionWeights:
    """The probabilities themselves, for i = 1 .. `max_depth`."""
    law = position_law(task.n_available, task.train_size, k, task.number)[:max_depth]
    i = np.arange(1, max_depth + 1)
    if task.number is Fraction:
        i = np.array([int(at) for at in i], dtype=object)
    list_ends = law * i / k
    left = np.maximum(task.n_available - i, 1)
    return PositionWeights(list_ends * (task.train_size - k) / left, list_ends)


def counted_weights(task: Task, k: int, max_depth: int) -> PositionWeights:
    """The probabilities divided by the number of K-subsets of i samples."""
    if not max_depth:
        return PositionWeights(np.empty(0), np.empty(0))
    subsets = [math.comb(i, k) for i in range(1, max_depth + 1)]
    shares = np.array([task.number(0) if n == 0 else task.number(1) / n for n in subsets])
    return PositionWeights(*(weights * shares for weights in position_weights(task, k, max_depth)))


def thinning_rates(task: Task) -> ThinningRates:
    """The rates that thin the samples to the training set; on Fractions 1 each, to count subsets."""
    if task.number is Fraction:
        return ThinningRates(1, 1)
    rate = task.train_size / task.n_available
    return ThinningRates(1.0 - rate, rate)


def scaled_position_weights(task: Task, k: int) -> PositionWeights:
    """The probabilities for all positions, divided by the weight that thinning gives to K of i samples."""
    if task.number is Fraction:
        return counted_weights(task, k, task.n_available)
    m, size = task.n_available, task.train_size
    next_known, list_ends = np.zeros((2, m))
    if size == m:  # thinning takes every sample
        next_known[k - 1], list_ends[k - 1] = float(m > k), 1.0
        return PositionWeights(next_known, list_ends)
    # From the most likely position outward: elsewhere both probabilities may be too small for a double.
    middle = min(max(k * m // size, k), m)
    law = np.zeros(middle + 1)
    fill_binomial(law, size / m)
    i = np.arange(k, m, dtype=float)
    factors = np.maximum(m - i - size + k, 0.0) / (m - i) * (m / (m - size))
    at = middle - k
    list_ends[middle - 1] = position_weights(task, k, middle).list_ends[-1] / law[k]
    list_ends[middle:] = list_ends[middle - 1] * np.cumprod(factors[at:])
    list_ends[k - 1 : middle - 1] = list_ends[middle - 1] * np.cumprod(1 / factors[:at][::-1])[::-1]
    next_known[k - 1 : -1] = list_ends[k - 1 : -1] * (size - k) / (m - i)
    return PositionWeights(next_known, list_ends)
