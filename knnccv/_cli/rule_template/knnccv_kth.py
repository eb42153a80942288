"""Correct if the K-th nearest training sample has the tested sample's class."""

import numpy as np

from knnccv.kernel import Score, Tables, Variant, jit
from knnccv.kernel.sampling import fill_hypergeometric, position_law


@jit
def kth_fixed(order, labels, target, constraints):
    """Sum of pi(i) over the samples of x's class, with the mean in tied groups; O(depth)."""
    weights = constraints.weights
    own_class = labels.classes[target]
    score = constraints.unit * 0
    start = 0
    while start < len(order.items):
        end = order.group_end[start]
        weight = constraints.unit * 0
        n_own = 0
        for i in range(start, end):
            weight += weights[i]
            if labels.classes[order.items[i]] == own_class:
                n_own += 1
        score += weight * n_own / (end - start)
        start = end
    return score


@jit
def kth_stratified(order, labels, target, constraints):
    """Sum of P(the K-th is in the group and of x's class) over tied groups; O(C K^2 b^2) for b tied."""
    own_class = labels.classes[target]
    available = constraints.counts.copy()
    available[own_class] -= constraints.held_out
    seen = np.zeros_like(available)
    tied = np.zeros_like(available)
    score = constraints.unit * 0
    for i in range(len(order.items)):
        tied[labels.classes[order.items[i]]] += 1
        if i + 1 < order.group_end[i]:
            continue
        if tied[own_class] > 0:
            law = np.full((constraints.n_nearest, tied.sum() + 1), constraints.unit * 0)
            law[0, 0] = constraints.unit
            for c in range(len(available)):
                law = add_class(law, seen[c], tied[c], constraints.n_train[c], available[c], c == own_class)
            for h in range(1, law.shape[1]):
                score += law[max(len(law) - h, 0) :, h].sum() / h
        seen += tied
        tied[:] = 0
    return score


@jit
def add_class(law, seen, tied, n_train, available, is_own):
    """Add a class to ``law[b, h]`` = P(b samples of T are before the group, and h in it).

    That of x's class counts its samples in the group: each of the h is the K-th with probability 1/h.
    """
    result = law * 0
    unit = result[0, 0] + 1
    before = np.full(seen + 1, unit * 0)
    fill_hypergeometric(before, seen, n_train, available, unit)
    for b in range(min(seen + 1, len(law))):
        if before[b] > 0:
            among = np.full(tied + 1, unit * 0)
            fill_hypergeometric(among, tied, n_train - b, available - seen, unit)
            for h in range(tied + 1):
                factor = before[b] * among[h] * (h if is_own else 1)
                result[b:, h:] += factor * law[: len(law) - b, : law.shape[1] - h]
    return result


class Kth(Variant):
    """Correct if the K-th nearest training sample has the tested sample's class.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    """

    name = "kth"
    parameters = {"n_neighbors": 2}
    tie_rules = ("index", "random")
    fixed = kth_fixed
    stratified = kth_stratified

    def n_nearest(self, **parameters):
        """K."""
        return parameters["n_neighbors"]

    def score(self, **parameters):
        """The share of correct answers."""
        return Score(f"accuracy of neighbor {parameters['n_neighbors']}", is_share=True)

    def check(self, task, **parameters):
        """Refuse K larger than the training set."""
        if not 1 <= parameters["n_neighbors"] <= task.train_size:
            msg = (
                f"n_neighbors must be between 1 and {task.train_size}, the size of the training set, "
                f"got {parameters['n_neighbors']}"
            )
            raise ValueError(msg)

    def tables(self, task, **parameters):
        """The distribution pi of the position of the K-th nearest training sample, which `fixed` reads."""
        law = position_law(task.n_available, task.train_size, parameters["n_neighbors"], task.number)
        return Tables(weights=law)
