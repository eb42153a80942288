"""Right only if all K nearest training samples have the tested item's class.

Let x_1, x_2, ... be the other samples, nearest first, and T the training set. The rule is right for x
exactly if, on the walk along the order, the K-th own sample that is in T comes before the first sample of
another class that is in T. So the walk needs only the probability that b own samples and nobody else were
met so far, for b < K.

Fixed |T| = a of M samples. With b of the samples so far in T and `left` samples still to come, the next
one is
in T with probability (a - b) / left. An own sample moves b to b + 1 with that probability; a sample of
another class must not be in T, which has probability (left - a + b) / left.

Fixed size a_c per class. The classes are drawn independently, so the probability is a product: a
hypergeometric law of b for the own class, times P(nobody of the other classes so far is in T), in which
a sample of class c, with `left_c` of its class to come, is one more factor (left_c - a_c) / left_c.

Every factor is a probability: nothing cancels, nothing overflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from knnccv.kernel import Tables, Task, Variant, jit
from knnccv.sampling import step_without_replacement


@jit
def unanimous_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """Sum over own x_i of C(g_i, K-1) C(M-i, a-K) / C(M, a), g_i own samples before i; O(depth K)."""
    k = constraints.integers[0]
    n_train = constraints.n_train[0]
    left = constraints.counts[0] - constraints.held_out
    own = labels.classes[target]
    unit = constraints.unit
    pure = np.full(k, unit * 0)  # pure[b] = P(b own samples so far are in T, and nobody else)
    pure[0] = unit
    score = unit * 0
    for item in order.items:
        if labels.classes[item] == own:
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
def unanimous_stratified(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """The same, class by class: own hypergeometric law times P(nobody else); O(depth + own K)."""
    k = constraints.integers[0]
    own = labels.classes[target]
    n_own = constraints.n_train[own]
    left = constraints.counts.copy()
    left[own] -= constraints.held_out
    unit = constraints.unit
    chosen = np.full(k, unit * 0)  # chosen[b] = P(b own samples so far are in T)
    chosen[0] = unit
    alone = unit * 1  # P(nobody of another class so far is in T)
    score = unit * 0
    for item in order.items:
        c = labels.classes[item]
        if c == own:
            score += alone * chosen[k - 1] * (n_own - k + 1) / left[own]
            step_without_replacement(chosen, 0, n_own, left[own])
        else:
            alone = alone * (left[c] - constraints.n_train[c]) / left[c]
            if alone == 0:
                break
        left[c] -= 1
    return score


class Unanimous(Variant):
    """Right only if all K nearest training samples have the item's class.

    With K = 1 the nearest-neighbor rule. The complement holds both the mistakes and the samples on which
    a rule with a reject option would abstain.

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
        """K must be an integer that fits into every training set."""
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

    def tables(self, task: Task, **parameters: Any) -> Tables:  # noqa: ARG002 (K is all it needs)
        """K."""
        return Tables(integers=(self.n_nearest(**parameters),))
