"""P(a sample, or a pair of samples, is among the K nearest), for training sets of one fixed size."""

from __future__ import annotations

import numpy as np

from knnccv._typing import Array
from knnccv.kernel import Task, inner
from knnccv.sampling import Inclusion, inclusion_law


def inclusion_weights(task: Task, k: int) -> Array:
    """The arrays of `inclusion_law`, one after the other, shape (2 * n_available,)."""
    return np.concatenate(inclusion_law(task.n_available, task.train_size, k, task.number))


@inner
def inclusion_of(constraints):
    """The views of `inclusion_weights`."""
    middle = len(constraints.weights) // 2
    return Inclusion(constraints.weights[:middle], constraints.weights[middle:])


@inner
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
