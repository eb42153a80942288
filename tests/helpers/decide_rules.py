"""Rules without kernels, and with kernels that see distances, compiled and in plain Python; broken ones."""

# A rule takes the arguments that it is called with, used or not.
# ruff: noqa: ARG001

import numpy as np

from knnccv.kernel import Variant, jit


@jit
def nearness_decide(items, distances, labels, target, constraints):
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
def prepared_decide(items, weights, labels, target, constraints):
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


def weighed(near, distances, y, x):
    """`Prepared` with `falling` weights in plain Python."""
    weights = np.exp(-np.array(distances))
    own = sum(weight for weight, j in zip(weights, near, strict=True) if y[j] == y[x])
    return own / weights.sum()


@jit
def closeness_decide(items, distances, labels, target, constraints):
    """Closeness of the nearest training sample if it has the own class, otherwise 0."""
    if labels.classes[items[0]] != labels.classes[target]:
        return 0.0
    return 1.0 / (1.0 + distances[0])


@jit
def closeness_by_distance(order, distances, labels, target, constraints):
    """Sum over the positions of P(nearest training sample) times closeness; one or several strata."""
    left = constraints.counts.copy()
    need = constraints.n_train
    several = len(left) > 1
    left[labels.classes[target] if several else 0] -= constraints.held_out
    score, none_yet = 0.0, 1.0
    for i in range(len(order.items)):
        c = labels.classes[order.items[i]]
        s = c if several else 0
        hit = min(need[s] / left[s], 1.0)
        if c == labels.classes[target]:
            score += none_yet * hit / (1.0 + distances[i])
        none_yet *= 1.0 - hit
        left[s] -= 1
    return score


@jit
def closeness_or_nan(order, distances, labels, target, constraints):
    """The same for every second sample, NaN for the others."""
    if target % 2:
        return np.nan
    return closeness_by_distance(order, distances, labels, target, constraints)


@jit
def closeness_in_many(order, distances, labels, target, constraints):
    """The same for many samples, NaN for few."""
    if constraints.counts[0] < 40:
        return np.nan
    return closeness_by_distance(order, distances, labels, target, constraints)


class Closeness(Variant):
    """A rule with kernels that see distances; ties in the order of the rows."""

    name = "closeness"
    fixed_by_distance = closeness_by_distance
    stratified_by_distance = closeness_by_distance

    def n_nearest(self):
        """One."""
        return 1


class Sometimes(Closeness):
    """The same, which leaves every second sample out."""

    name = "sometimes"
    fixed_by_distance = closeness_or_nan
    stratified_by_distance = closeness_or_nan
    decide = closeness_decide


class Never(Sometimes):
    """A rule that cannot be sampled either."""

    name = "never"
    decide = None


class InMany(Closeness):
    """A rule whose kernel leaves the samples of halves out."""

    name = "in-many"
    fixed_by_distance = closeness_in_many


def closeness(near, distances, y, x):
    """The same in plain Python."""
    return 1 / (1 + distances[0]) if y[near[0]] == y[x] else 0


def broken(function, **members):
    """`Nearness` with another function or other members."""
    return type("Rule", (Nearness,), {"name": "rule", "decide": function, **members})


@jit
def nan_decide(items, distances, labels, target, constraints):
    """NaN for sample 7."""
    return np.nan if target == 7 else 1.0


@jit
def infinite_decide(items, distances, labels, target, constraints):
    """Infinite for sample 3."""
    return np.inf if target == 3 else 1.0


@jit
def short_decide(items, distances):
    """Too few arguments."""
    return 1.0


@jit
def text_decide(items, distances, labels, target, constraints):
    """No number."""
    return "right"


@jit
def raising_decide(items, distances, labels, target, constraints):
    """An error of its own for sample 5."""
    if target == 5:
        raise ValueError("no score for sample 5")
    return 1.0


@jit
def blind_kernel(order, labels, target, constraints):
    """A kernel that takes no distances."""
    return 1.0


@jit
def giving_up(order, distances, labels, target, constraints):
    """A kernel that leaves sample 4 out."""
    return np.nan if target == 4 else 1.0


def plain_decide(items, distances, labels, target, constraints):
    """Not compiled."""
    return 1.0


class Empty(Variant):
    """A rule of nothing."""

    name = "empty"

    def n_nearest(self):
        """One."""
        return 1
