"""Correct if the K-th nearest training sample has the tested sample's class."""

from knnccv.kernel import Tables, Variant, jit
from knnccv.sampling import position_law


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

    def n_nearest(self, **parameters):
        """K."""
        return parameters["n_neighbors"]

    def check(self, task, **parameters):
        """Refuse K larger than the training set."""
        if not 1 <= parameters["n_neighbors"] <= task.train_size:
            msg = (
                f"n_neighbors must be between 1 and {task.train_size}, the size of the training set, "
                f"got {parameters['n_neighbors']}"
            )
            raise ValueError(msg)

    def tables(self, task, **parameters):
        """The distribution pi of the position of the K-th nearest training sample."""
        law = position_law(task.n_available, task.train_size, parameters["n_neighbors"], task.number)
        return Tables(weights=law)
