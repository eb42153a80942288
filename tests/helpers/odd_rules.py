"""Rules that fit and rules that do not, for the tests of the registry and of `check_variant`."""

# A kernel has four arguments, used or not.
# ruff: noqa: ARG001

import numpy as np

from knnccv.kernel import Variant, jit


@jit
def quarter(order, labels, target, constraints):
    return constraints.unit / 4


@jit
def nearest_agrees(order, labels, target, constraints):
    """The plain formula of ICML eq. 4, as a plugin would write it."""
    score = constraints.unit * 0
    left = constraints.counts[0] - constraints.held_out
    p_none = constraints.unit
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += p_none * constraints.n_train[0] / left
        p_none *= (left - constraints.n_train[0]) / left
        left -= 1
        if p_none <= 0:
            break
    return score


def variant_class(called="quarter", /, **members):
    """A new subclass of Variant with these members; every sample scores 1/4 unless they say otherwise."""

    def n_nearest(self, **parameters):
        return 1

    return type("Made", (Variant,), {"name": called, "fixed": quarter, "n_nearest": n_nearest, **members})


def problem(n_items=30, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_items, 2)), rng.integers(0, 3, n_items)


def plain(order, labels, target, constraints):
    return 0.5


def three_arguments(order, labels, target):
    return 0.5


def tuple_result(order, labels, target, constraints):
    return (0.5, 0.5)


def unknown_field(order, labels, target, constraints):
    return constraints.distance


def no_result(order, labels, target, constraints):
    pass


def wants_more(self, depth):
    self.depth = depth
