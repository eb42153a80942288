"""P(a sample, or a pair of samples, is among the K nearest), for training sets of one fixed size."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import Task, jit
from knnccv.sampling import position_law


class Inclusion(NamedTuple):
    """Two probabilities of every position.

    ``single``
        P(the sample at the position is among the K nearest of T).
    ``with_nearer``
        P(it and a given nearer sample both are). It depends on the farther sample only.
    """

    single: Array
    with_nearer: Array


def inclusion_weights(task: Task, k: int) -> Array:
    """The arrays of `Inclusion`, one after the other.

    Given that the K-th nearest is at position p, the K - 1 others are a uniform subset of the p - 1 nearer
    samples, so both are sums of positive terms over p.

    Returns
    -------
    ndarray of shape (2 * n_available,)
    """
    m = task.n_available
    law = position_law(m, task.train_size, k, task.number)
    nearer = np.arange(m)  # samples before position p
    if task.number is Fraction:
        nearer = np.array([int(n) for n in nearer], dtype=object)
    one = law * (k - 1) / np.maximum(nearer, 1)
    two = one * (k - 2) / np.maximum(nearer - 1, 1) if k > 1 else one * 0
    return np.concatenate(Inclusion(law + _after(one), one + _after(two)))


def _after(terms: Array) -> Array:
    """At i the sum of the terms at the positions after it."""
    sums = np.cumsum(terms[::-1])[::-1]
    return np.concatenate([sums[1:], sums[:1] * 0])


@jit
def inclusion_of(constraints):
    """The views of `inclusion_weights`."""
    middle = len(constraints.weights) // 2
    return Inclusion(constraints.weights[:middle], constraints.weights[middle:])


@jit
def mean_inclusion(inclusion, start, end, unit):
    """The mean probabilities of a tied group over its orders.

    For one of its samples; for one of its samples and a given sample before the group; and for two of its
    samples.
    """
    size = end - start
    one = unit * 0
    with_nearer = unit * 0
    within = unit * 0
    for i in range(start, end):
        one += inclusion.single[i]
        with_nearer += inclusion.with_nearer[i]
        within += inclusion.with_nearer[i] * (i - start)
    if size > 1:
        within = within * 2 / (size * (size - 1))
    return one / size, with_nearer / size, within
