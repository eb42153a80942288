"""How likely a sample, and a pair of samples, are among the K nearest, for training sets of one fixed size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import Task, jit
from knnccv.sampling import position_law


def inclusion_weights(task: Task, k: int) -> Array:
    """P(the sample at position i is among the K nearest of T), then P(it and a given nearer one both are).

    Given that the K-th nearest is at position p, the K - 1 others are a uniform subset of the p - 1 nearer
    samples, so both are sums of positive terms over p. The pair depends on the farther sample only.

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
    return np.concatenate([law + _after(one), one + _after(two)])


def _after(terms: Array) -> Array:
    """At i the sum of the terms at the positions after it."""
    sums = np.cumsum(terms[::-1])[::-1]
    return np.concatenate([sums[1:], sums[:1] * 0])


@jit
def mean_inclusion(weights, n_available, start, end, unit):  # type: ignore[no-untyped-def]
    """What `inclusion_weights` are for a tied group, in the mean over its orders.

    For a sample of it; for one with a given sample before the group; and for two of the group.
    """
    size = end - start
    one = unit * 0
    with_nearer = unit * 0
    within = unit * 0
    for i in range(start, end):
        one += weights[i]
        with_nearer += weights[n_available + i]
        within += weights[n_available + i] * (i - start)
    if size > 1:
        within = within * 2 / (size * (size - 1))
    return one / size, with_nearer / size, within
