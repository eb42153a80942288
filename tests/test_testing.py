"""`knnccv.testing.check_variant`: passes what is right, finds what is wrong, and says where."""
# ruff: noqa: ARG001, ARG002 (kernels and methods have fixed arguments, used or not)

from fractions import Fraction

import numpy as np
import pytest
from decide_rules import Closeness, closeness_decide
from odd_rules import variant_class

from knnccv import get_variant
from knnccv.kernel import Score, Tables, Variant, jit
from knnccv.kernel.sampling import position_law
from knnccv.testing import check_variant


def outcome(own, predicted, loss):
    return int(own == predicted) if loss is None else loss[own][predicted]


def score_nn(near, own, loss):
    return outcome(own, near[0], loss)


def score_regression(near, own, n_neighbors, **parameters):
    return (Fraction(sum(near[:n_neighbors]), n_neighbors) - own) ** 2


WHOLE = [[0, 3, -7], [1, 0, 2], [5, 4, 0]]


@pytest.mark.slow
def test_settings_seeds_and_cases():
    """Settings are counted apart, those that fit no problem are passed over; seeds decide."""

    def compared(*losses, n_cases=2, **more):
        parameters = [{"loss": loss} for loss in losses]
        return check_variant("nn", score_nn, parameters=parameters, n_cases=n_cases, exact=False, **more)

    assert compared(None, WHOLE, n_cases=4) == compared(None, n_cases=4) + compared(WHOLE, n_cases=4)
    assert compared(WHOLE, [[0]] * 9, n_cases=4) == compared(WHOLE, n_cases=4)
    assert (
        compared(None, random_state=1) == compared(None, random_state=1) != compared(None, random_state=2)
    )
    assert compared(None) < compared(None, n_cases=4)


@jit
def matches(order, labels, target, constraints):
    """P(the second nearest training sample has the class of the tested one)."""
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i]
    return score


class Second(Variant):
    """Right if the second nearest training sample has the item's class; what the wrong ones derive from."""

    name = "second"
    fixed = matches

    def n_nearest(self, **parameters):
        return 2

    def check(self, task, **parameters):
        if task.train_size < 2:
            msg = f"train_size must be at least 2, got {task.train_size}"
            raise ValueError(msg)

    def tables(self, task, **parameters):
        return Tables(weights=position_law(task.n_available, task.train_size, 2, task.number))


@jit
def all_but_the_last(order, labels, target, constraints):
    score = constraints.unit * 0
    for i in range(len(order.items) - 1):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i]
    return score


@jit
def doubled(order, labels, target, constraints):
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score -= constraints.weights[i] * 2
    return score


@jit
def divides(order, labels, target, constraints):
    share = 1 / len(order.items)
    score = constraints.unit * 0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += constraints.weights[i] * (share * len(order.items))
    return score


@jit
def half(order, labels, target, constraints):
    return 0.5


@jit
def moody(order, labels, target, constraints):
    if target == 4:
        raise ValueError
    return matches(order, labels, target, constraints)


@jit
def no_number(order, labels, target, constraints):
    return constraints.unit * np.nan


@jit
def as_if_complete(order, labels, target, constraints):
    """Right for complete cross-validation; takes the tested sample for one of the counted ones always."""
    left = constraints.counts[0] - 1
    n_train = constraints.n_train[0]
    none = constraints.unit * 1
    score = constraints.unit * 0
    for item in order.items:
        if left < 1:
            break
        if labels.classes[item] == labels.classes[target]:
            score += none * n_train / left
        none = none * (left - n_train) / left
        left -= 1
    return score


def float_tables(self, task, **parameters):
    return Tables(weights=position_law(task.n_available, task.train_size, 2, float))


def shy_tables(self, task, **parameters):
    if task.train_size == 3:
        msg = "three is too many to count"
        raise ValueError(msg)
    return Second.tables(self, task, **parameters)


def score_first(near, own):
    return int(near[0] == own)


def second(near, own):
    return int(near[1:2] == [own])


def made(**members):
    """The model, with other members."""
    return type("Made", (Second,), members)


def always(value):
    """A method that returns this."""
    return lambda *_, **__: value


def largest(factor):
    """Regression with another bound of the largest score."""

    def score(self, **parameters):
        return Score(high=np.inf, is_loss=True, largest=lambda values: factor * float(np.ptp(values)) ** 2)

    return type("Bounded", (type(get_variant("regression")),), {"score": score})


def minus_two(near, own):
    return -2 * second(near, own)


NEAREST = {"parameters": [{"n_neighbors": 1}], "n_cases": 5}


@pytest.mark.parametrize(
    ("rule", "score", "asked"),
    [
        (Second, second, {"n_cases": 5}),
        (Second(), second, {"n_cases": 2}),
        (made(n_nearest=always(5)), second, {"n_cases": 5}),  # too large is no mistake
        (made(fixed=doubled, score=always(Score(low=-2.0))), minus_two, {"n_cases": 5}),
        (largest(1), score_regression, NEAREST | {"n_cases": 3}),
        (made(tables=float_tables), second, {"exact": False, "n_cases": 4}),
        (made(fixed=divides), second, {"exact": False, "n_cases": 4}),
    ],
)
def test_what_is_right_passes(rule, score, asked):
    assert check_variant(rule, score, **asked) > 10


PROBLEM = r".*: sample \d, variant 'second'.*Subsample\(.*ties='index'; distances \[\[.*classes \["
WRONG = {
    "kernel": (made(fixed=all_but_the_last), second, {}, "A_x is .* enumeration gives " + PROBLEM),
    "one stratum": (made(stratified=matches), second, {"n_cases": 10}, r"StratifiedSubsample\("),
    "scorer": ("nn", lambda *near_own, loss: 1 - score_nn(*near_own, loss), {}, "enumeration gives"),
    "targets": ("regression", lambda near, own, **_: abs(near[0] - own), NEAREST, r"gives .*values \["),
    "unfair ties": (made(tie_rules=("index", "random")), second, {}, "ties='random'"),
    "no number": (made(fixed=no_number), second, {"exact": False}, "A_x is "),
    "one of two": (
        made(n_nearest=always(1)),
        second,
        {},
        r"n_nearest returns 1, but samples .* score of \[",
    ),
    "-2": (
        made(fixed=doubled),
        minus_two,
        {},
        r"score\(\) of variant .* 0 to 1 now, and sample .* scores -",
    ),
    "half of the range": (largest(0.5), score_regression, NEAREST, "declares 0 to inf, at most "),
    "float tables": (made(tables=float_tables), second, {}, "exact"),
    "a division": (made(fixed=divides), second, {}, "exact"),
    "a float that is right": (made(fixed=half), lambda *_: Fraction(1, 2), {}, "exact"),
    "raises": (made(fixed=moody), second, {}, ""),
    "tables raise": (made(tables=shy_tables), second, {}, "three is too many to count"),
    # Runs call the same kernel with `held_out` 0; this one then scores up to 2.
    "single sets": (variant_class(fixed=as_if_complete), score_first, {}, ""),
}


RAISED = {"-2", "float tables", "a division", "a float that is right", "raises", "tables raise"}
"""Faults of which the error itself may reach the caller; it is no refusal, which would be passed over."""


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_found(fault):
    rule, score, asked, message = WRONG[fault]
    with pytest.raises((AssertionError, TypeError, ValueError), match=f"(?s){message}") as caught:
        check_variant(rule, score, **asked)
    assert caught.type is AssertionError or fault in RAISED


def test_rules_that_only_decide_are_compared_on_training_sets():
    def close(near, own, distances):
        return (near[0] == own) / (1 + distances[0])

    rule = variant_class("rule", fixed=None, decide=closeness_decide)
    assert check_variant(rule, close, n_cases=8) > 40
    with pytest.raises(AssertionError, match=r"decide returns .*, the naive scorer gives"):
        check_variant(rule, lambda *asked: close(*asked) ** 2, n_cases=10)
    with pytest.raises(ValueError, match="neither a kernel without distances nor a function decide"):
        check_variant(Closeness, close)
