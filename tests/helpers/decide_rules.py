"""A rule without kernels for tests, compiled and in plain Python."""

import numpy as np

from knnccv.kernel import Variant, jit


@jit
def nearness_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """Weighted share of the own class; the weights depend on distance, place and sample."""
    own, total = 0.0, 0.0
    for i in range(len(items)):
        weight = (1.0 + items[i] % 2) / ((1.0 + distances[i]) * (i + 1))
        total += weight
        if labels.classes[items[i]] == labels.classes[target]:
            own += weight
    return own / total


def nearness(near, distances, y, x):
    """The same in plain Python."""
    weights = [
        (1 + j % 2) / ((1 + d) * (i + 1)) for i, (j, d) in enumerate(zip(near, distances, strict=True))
    ]
    own = sum(weight for weight, j in zip(weights, near, strict=True) if y[j] == y[x])
    return own / sum(weights)


class Nearness(Variant):
    """A rule that only decides."""

    name = "nearness"
    parameters = {"n_neighbors": 2}  # noqa: RUF012
    decide = nearness_decide

    def n_nearest(self, **parameters):
        """K."""
        return parameters["n_neighbors"]


@jit
def prepared_decide(items, weights, labels, target, constraints):  # noqa: ARG001
    """Weighted share of the own class, with weights that a Python function made of the distances."""
    own = 0.0
    for i in range(len(items)):
        if labels.classes[items[i]] == labels.classes[target]:
            own += weights[i]
    return own / weights.sum()


class Prepared(Nearness):
    """A rule whose weights are a Python function of the distances."""

    name = "prepared"
    parameters = {"n_neighbors": 2, "weights": None}  # noqa: RUF012
    decide = prepared_decide

    def prepare_distances(self, distances, **parameters):
        """The function that the user gave, of an array of shape (n, K)."""
        return parameters["weights"](distances)


def falling(distances):
    """Weights that fall with the distance."""
    return np.exp(-distances)
