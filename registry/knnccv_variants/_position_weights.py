"""How likely it is where the K nearest training samples end, for training sets of one fixed size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import Task
from knnccv.sampling import fill_binomial, position_law

DEEPEST_COUNT = 1024


def position_weights(task: Task, k: int, deepest: int) -> tuple[Array, Array]:
    """For i = 1 .. `deepest` the weights of the votes among the first i samples.

    First P(exactly K of them are in the training set, and so is the next), then P(exactly K of them are).
    """
    law = position_law(task.n_available, task.train_size, k, task.number)[:deepest]
    i = np.arange(1, deepest + 1)
    if task.number is Fraction:
        i = np.array([int(at) for at in i], dtype=object)
    exactly = law * i / k
    left = np.maximum(task.n_available - i, 1)
    return exactly * (task.train_size - k) / left, exactly


def deepest_count(task: Task, k: int) -> int:
    """How deep lists may be for the K-subsets to be counted by integers of 64 bits."""
    if task.number is Fraction:
        return task.n_available
    deepest = k
    while (
        deepest < min(task.n_available, DEEPEST_COUNT)
        and math.comb(deepest + 1, min(k, (deepest + 1) // 2)) < 2**62
    ):
        deepest += 1
    return deepest if math.comb(deepest, min(k, deepest // 2)) < 2**62 else 0


def counted_weights(task: Task, k: int, deepest: int) -> Array:
    """As `position_weights`, over the number of K-subsets."""
    if not deepest:
        return np.empty(0)
    subsets = [math.comb(i, k) for i in range(1, deepest + 1)]
    shares = [task.number(0) if n == 0 else task.number(1) / n for n in subsets]
    weights = [told * np.array(shares) for told in position_weights(task, k, deepest)]
    return np.concatenate(weights)


def thinning_rates(task: Task) -> tuple[float, float]:
    """What a sample weighs that is left out, and one that is taken; on Fractions 1 each, to count."""
    if task.number is Fraction:
        return 1, 1
    rate = task.train_size / task.n_available
    return 1.0 - rate, rate


def scaled_position_weights(task: Task, k: int) -> Array:
    """As `position_weights` for all positions, over the weight that thinning gives to K of i samples."""
    if task.number is Fraction:
        return counted_weights(task, k, task.n_available)
    m, size = task.n_available, task.train_size
    told, exactly = np.zeros((2, m))
    if size == m:  # thinning takes every sample
        told[k - 1], exactly[k - 1] = float(m > k), 1.0
        return np.concatenate([told, exactly])
    # From the likeliest position outward: elsewhere both probabilities may be too small for a double.
    middle = min(max(k * m // size, k), m)
    law = np.zeros(middle + 1)
    fill_binomial(law, size / m)
    i = np.arange(k, m, dtype=float)
    factors = np.maximum(m - i - size + k, 0.0) / (m - i) * (m / (m - size))
    at = middle - k
    exactly[middle - 1] = position_weights(task, k, middle)[1][-1] / law[k]
    exactly[middle:] = exactly[middle - 1] * np.cumprod(factors[at:])
    exactly[k - 1 : middle - 1] = exactly[middle - 1] * np.cumprod(1 / factors[:at][::-1])[::-1]
    told[k - 1 : -1] = exactly[k - 1 : -1] * (size - k) / (m - i)
    return np.concatenate([told, exactly])
