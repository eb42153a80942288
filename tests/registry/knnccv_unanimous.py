"""Correct only if all K nearest training samples have the tested sample's class.

Let x_1, x_2, ... be the other samples, nearest first, and T the training set. The rule is correct for x
if and only if, along the order, the K-th sample of x's class in T precedes the first sample of another
class in T. So the walk needs only the probability that b samples of x's class and no others are in
T so far, for b < K.

Fixed |T| = a of M samples. With b of the samples so far in T and `left` samples still to come, the next
one is in T with probability (a - b) / left. A sample of x's class moves b to b + 1 with that probability; a
sample of another class must not be in T, which has probability (left - a + b) / left.

Fixed size a_c per class. The classes are drawn independently, so the probability is a product: a
hypergeometric distribution of b for x's class, times P(no sample of the other classes so far is in T), in
which a sample of class c, with `left_c` of its class to come, is one more factor (left_c - a_c) / left_c.

Every factor is a probability: nothing cancels, nothing overflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from knnccv.kernel import Task, Variant, jit
from knnccv.sampling import step_without_replacement


@jit
def unanimous_fixed(order, labels, target, constraints):
    """Sum over x_i of x's class of C(g_i, K-1) C(M-i, a-K) / C(M, a), g_i of them before i; O(depth K)."""
    k = constraints.n_nearest
    n_train = constraints.n_train[0]
    left = constraints.counts[0] - constraints.held_out
    own_class = labels.classes[target]
    unit = constraints.unit
    pure = np.full(k, unit * 0)  # pure[b] = P(b samples of x's class so far are in T, and no others)
    pure[0] = unit
    score = unit * 0
    for item in order.items:
        if labels.classes[item] == own_class:
            score += pure[k - 1] * (n_train - k + 1) / left
            step_without_replacement(pure, 0, n_train, left)
        else:
            alive = False
            for b in range(k):
                pure[b] = pure[b] * (left - n_train + b) / left
                alive = alive or pure[b] > 0
            if not alive:
                break
        left -= 1
    return score


@jit
def unanimous_stratified(order, labels, target, constraints):
    """The same, class by class: hypergeometric distribution times P(no others); O(depth + n_own K)."""
    k = constraints.n_nearest
    own_class = labels.classes[target]
    n_own = constraints.n_train[own_class]
    left = constraints.counts.copy()
    left[own_class] -= constraints.held_out
    unit = constraints.unit
    chosen = np.full(k, unit * 0)  # chosen[b] = P(b samples of x's class so far are in T)
    chosen[0] = unit
    p_none = unit * 1  # P(no sample of another class so far is in T)
    score = unit * 0
    for item in order.items:
        c = labels.classes[item]
        if c == own_class:
            score += p_none * chosen[k - 1] * (n_own - k + 1) / left[c]
            step_without_replacement(chosen, 0, n_own, left[c])
        else:
            p_none = p_none * (left[c] - constraints.n_train[c]) / left[c]
            if p_none == 0:
                break
        left[c] -= 1
    return score


class Unanimous(Variant):
    """Correct only if all K nearest training samples have the tested sample's class.

    K = 1 gives the nearest-neighbor rule. One minus the score is the share of errors plus the share of
    samples on which a rule with a reject option would abstain.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.

    Examples
    --------
    >>> from knnccv import Subsample, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> scores = [
    ...     complete_cv(wine.X, wine.y, "unanimous", Subsample(0.8), n_neighbors=k).score
    ...     for k in (1, 2, 3)
    ... ]
    >>> scores == sorted(scores, reverse=True)
    True
    """

    name = "unanimous"
    parameters: ClassVar[Mapping[str, Any]] = {"n_neighbors": 3}
    fixed = unanimous_fixed
    stratified = unanimous_stratified

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse a K that is not an integer, or exceeds the size of a training set."""
        k = parameters["n_neighbors"]
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            msg = f"n_neighbors must be an integer, got {k!r}"
            raise TypeError(msg)
        if not 1 <= k <= task.train_size:
            msg = (
                f"n_neighbors must be between 1 and {task.train_size}, the size of the training set, "
                f"got {k}"
            )
            raise ValueError(msg)
