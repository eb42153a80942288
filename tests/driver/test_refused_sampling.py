"""Refused arguments of decoupled sampling: one clear error each."""

import numpy as np
import pytest
from decide_rules import Nearness, Prepared
from problems import blobs

from knnccv import (
    KFold,
    LeaveGroupsOut,
    Subsample,
    complete_cv,
    monte_carlo_cv,
    register,
    surface,
    unregister,
)
from knnccv.kernel import Variant, jit
from knnccv.testing import check_variant

X, Y = blobs(0, 24, 2)


@jit
def broken_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """NaN for sample 7."""
    return np.nan if target == 7 else 1.0


@jit
def infinite_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """Infinite for sample 3."""
    return np.inf if target == 3 else 1.0


@jit
def short_decide(items, distances):  # noqa: ARG001
    """Too few arguments."""
    return 1.0


@jit
def text_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """No number."""
    return "right"


@jit
def double_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """Two numbers."""
    return 1.0, 2.0


@jit
def empty_decide(items, distances, labels, target, constraints):
    """Nothing."""


@jit
def long_decide(items, distances, labels, target, constraints, more):  # noqa: ARG001
    """Too many arguments."""
    return 1.0


@jit
def raising_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """An error of its own for sample 5."""
    if target == 5:
        raise ValueError("no score for sample 5")
    return 1.0


@jit
def blind_kernel(order, labels, target, constraints):  # noqa: ARG001
    """A kernel that takes no distances."""
    return 1.0


@jit
def giving_up(order, distances, labels, target, constraints):  # noqa: ARG001
    """A kernel that leaves sample 4 out."""
    return np.nan if target == 4 else 1.0


def plain_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """Not compiled."""
    return 1.0


def rule(function, **members):
    return type("Rule", (Nearness,), {"name": "rule", "decide": function, **members})


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"n_draws": 1}, ValueError, "n_draws must be between 2 and 10000000, got 1"),
        (
            {"n_draws": 10**20},
            ValueError,
            "n_draws must be between 2 and 10000000, got 1000000000000000000",
        ),
        ({"n_neighbors": 0}, ValueError, "n_nearest of variant 'nearness' must be at least 1, got 0"),
        ({"n_neighbors": -1}, ValueError, "n_nearest of variant 'nearness' must be at least 1, got -1"),
        ({"n_neighbors": 2.5}, TypeError, "n_nearest of variant 'nearness' must be an integer, got 2.5"),
        ({"n_neighbors": "2"}, TypeError, "n_nearest of variant 'nearness' must be an integer, got '2'"),
        ({"n_neighbors": None}, TypeError, "n_nearest of variant 'nearness' must be an integer, got None"),
        ({"n_draws": 10.0}, TypeError, "n_draws must be an integer, got 10.0"),
        ({"n_draws": True}, TypeError, "n_draws must be an integer, got True"),
        ({"method": "mc"}, ValueError, "method must be one of 'auto', 'exact', 'sampled', got 'mc'"),
        ({"method": None}, ValueError, "method must be one of 'auto', 'exact', 'sampled', got None"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0, got -1"),
        ({"random_state": "1"}, TypeError, "random_state must be None, an integer or a numpy Generator"),
        ({"exact": True}, ValueError, "exact=True computes with rational numbers, but variant 'nearness'"),
        (
            {"exact": True, "method": "sampled"},
            ValueError,
            "method='sampled' draws training sets at random",
        ),
        ({"method": "exact"}, ValueError, "variant 'nearness' has no exact kernel for fixed-size"),
        ({"ties": "first"}, ValueError, "ties must be one of"),
    ],
)
def test_arguments(asked, error, message):
    with pytest.raises(error, match=message):
        complete_cv(X, Y, Nearness, KFold(3), **asked)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (broken_decide, ValueError, "function decide of variant 'rule' returned .* for sample 7: .* nan"),
        (infinite_decide, ValueError, "function decide of variant 'rule' returned .* for sample 3: .* inf"),
        (
            short_decide,
            TypeError,
            r"must take 5 arguments \(items, distances, labels, target, constraints\)",
        ),
        (text_decide, TypeError, "function .*text_decide of variant 'rule' does not fit the signature"),
        (plain_decide, TypeError, "must be a function decorated with knnccv.kernel.jit"),
        (3, TypeError, "must be a function decorated with knnccv.kernel.jit, got 3"),
        (double_decide, TypeError, "function .*double_decide of variant 'rule' does not fit the signature"),
        (empty_decide, TypeError, "function .*empty_decide of variant 'rule' does not fit the signature"),
        (long_decide, TypeError, "must take 5 arguments .*, got 6"),
        (raising_decide, ValueError, "no score for sample 5"),
    ],
)
def test_functions(function, error, message):
    with pytest.raises(error, match=message):
        complete_cv(X, Y, rule(function), KFold(3), n_draws=4, n_jobs=1)


@pytest.mark.parametrize(
    ("members", "asked", "error", "message"),
    [
        ({"fixed_by_distance": blind_kernel}, {}, TypeError, "must take 5 arguments .*, got 4"),
        ({"fixed_by_distance": plain_decide}, {}, TypeError, "must be a function decorated with"),
        (
            {"fixed_by_distance": giving_up},
            {"method": "exact"},
            ValueError,
            "cannot score sample 4 exactly: .*; method='auto' estimates",
        ),
        (
            {"fixed_by_distance": giving_up, "decide": None},
            {},
            ValueError,
            "cannot score sample 4 exactly: .*, and it has no function decide to estimate",
        ),
    ],
)
def test_kernels_that_see_distances(members, asked, error, message):
    with pytest.raises(error, match=message):
        complete_cv(X, Y, rule(**{"function": raising_decide, **members}), KFold(3), n_draws=4, **asked)


def test_register_compiles_and_refuses_the_function():
    with pytest.raises(TypeError, match="does not fit the signature"):
        register(rule(text_decide))


@pytest.mark.parametrize("kind", [str, complex])
def test_prepared_distances_that_are_no_numbers(kind):
    with pytest.raises(TypeError, match="prepare_distances of variant 'prepared' must return real numbers"):
        complete_cv(X, Y, Prepared, KFold(3), n_draws=4, weights=lambda distances: distances.astype(kind))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda distances: distances[:, 0], r"must return an array of shape \(\d+, 2\)"),
        (lambda distances: distances[1:], r"must return an array of shape \(\d+, 2\)"),
        (
            lambda distances: np.full(distances.shape, np.nan),
            "returned a score that is not a finite number",
        ),
    ],
)
def test_prepared_distances(weights, message):
    with pytest.raises(ValueError, match=message):
        complete_cv(X, Y, Prepared, KFold(3), n_draws=4, weights=weights)


def test_rules_and_designs_that_cannot_be_sampled():
    values = X[:, 0]
    with pytest.raises(
        ValueError, match="part='variance' is no mean of the scores of single training sets"
    ):
        complete_cv(X, values, "regression", KFold(3), part="variance", method="sampled")
    groups = np.repeat(np.arange(4), [20, 2, 1, 1])
    with pytest.raises(ValueError, match="smallest training set"):
        complete_cv(X, Y, "rank", LeaveGroupsOut(groups), rank=5, method="sampled")


def test_other_functions_need_kernels():
    for call in (
        lambda: monte_carlo_cv(X, Y, Nearness, Subsample(0.5)),
        lambda: surface(X, Y, variant=Nearness, train_sizes=5),
    ):
        with pytest.raises(ValueError, match="has no exact kernel for"):
            call()


def test_a_rule_needs_a_kernel_or_a_function():
    class Empty(Variant):
        name = "empty"

        def n_nearest(self):
            return 1

    with pytest.raises(TypeError, match="neither a fixed nor a stratified kernel, and no function decide"):
        complete_cv(X, Y, Empty, KFold(3))


def test_a_registered_rule_has_its_name():
    try:
        register(Nearness)
        found = complete_cv(X, Y, "nearness", KFold(3), n_draws=4)
        assert found.score == complete_cv(X, Y, Nearness(), KFold(3), n_draws=4).score
        with pytest.raises(
            ValueError, match="has no kernel without distances: there is nothing to compare"
        ):
            check_variant("nearness", len)
    finally:
        unregister("nearness")


@pytest.mark.parametrize("state", [3, None, np.random.default_rng(0)])
def test_random_states(state):
    first = complete_cv(X, Y, Nearness, KFold(3), n_draws=4, random_state=state)
    second = complete_cv(X, Y, Nearness, KFold(3), n_draws=4, random_state=state)
    assert (first.score == second.score) == (state == 3)
