"""Kernels that see distances, against the enumeration; samples that they leave out are sampled."""

import math
from concurrent.futures import ProcessPoolExecutor

import naive_decide
import numpy as np
import pytest
from problems import blobs, designs, problem

from knnccv import (
    CompleteCV,
    KFold,
    LeaveGroupsOut,
    Neighbors,
    SampledCV,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
)
from knnccv.halves import halvings_of
from knnccv.kernel import Variant, jit


@jit
def closeness_decide(items, distances, labels, target, constraints):  # noqa: ARG001
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


def closeness(near, distances, y, x):
    return 1 / (1 + distances[0]) if y[near[0]] == y[x] else 0


@pytest.mark.parametrize("seed", range(8))
def test_a_kernel_that_sees_distances_equals_the_enumeration(seed):
    case = problem(seed)
    for design, listed in designs(case, seed):
        for average in ("pooled", "class"):
            inputs = case.distances.tolist(), case.y.tolist(), closeness, 1, listed, "index", average
            found = complete_cv(
                case.distances, case.y, Closeness, design, metric="precomputed", average=average
            )
            assert type(found) is CompleteCV
            assert abs(found.score - float(naive_decide.complete(*inputs))) <= found.error_bound + 1e-15


def test_distances_are_those_of_the_metric():
    X, y = blobs(0, 40, 2)
    near = Neighbors.from_data(X)  # whose lists are ordered by squared distances
    items, distances = near.kneighbors(39)
    for cv in (KFold(3), StratifiedSubsample(0.5)):
        found = complete_cv(X, y, Closeness, cv)
        given = complete_cv(Neighbors.from_lists(items, distances), y, Closeness, cv)
        assert found.score == pytest.approx(given.score, rel=1e-14)


def test_samples_that_the_kernel_leaves_out_are_sampled():
    errors, variances = [], []
    X, y = blobs(1, 40, 2)
    for cv in (Subsample(0.5), StratifiedKFold(3)):
        exact = complete_cv(X, y, Closeness, cv)
        for seed in range(10):
            found = complete_cv(X, y, Sometimes, cv, n_draws=40, random_state=seed)
            assert isinstance(found, SampledCV)
            assert found.n_sampled == 20
            assert "for each of 20 of 40 samples, 0 samples tied" in repr(found)
            assert np.array_equal(found.per_item[::2], exact.per_item[::2])
            assert not found.per_item_std_error[::2].any()
            assert found.per_item_std_error[1::2].any()
            errors.append(found.score - exact.score)
            variances.append(found.std_error**2)
    assert abs(sum(errors)) < 4 * math.sqrt(sum(variances))
    everything = complete_cv(X, y, Sometimes, KFold(3), n_draws=40, method="sampled")
    assert everything.per_item_std_error[::2].any()


@pytest.mark.slow
def test_processes_change_no_bit():
    X, y = blobs(1, 60, 2)
    with ProcessPoolExecutor(2) as pool:
        found = complete_cv(X, y, Closeness, KFold(4), executor=pool)
    assert np.array_equal(found.per_item, complete_cv(X, y, Closeness, KFold(4)).per_item)


@pytest.mark.parametrize(
    ("rule", "asked", "message"),
    [
        (
            Sometimes,
            {"method": "exact"},
            r"cannot score sample \d?[13579] exactly: .*; method='auto'",
        ),
        (Never, {}, r"cannot score sample \d?[13579] exactly: .*, and it has no function decide"),
        (Closeness, {"exact": True}, "no kernel that scores these training sets without distances"),
        (Closeness, {"method": "sampled"}, "has no function decide to estimate"),
        (Closeness, {"cv": LeaveGroupsOut(np.arange(40) % 4)}, "no exact kernel for cv=LeaveGroupsOut"),
    ],
)
def test_what_cannot_be_scored_is_refused(rule, asked, message):
    X, y = blobs(1, 40, 2)
    with pytest.raises(ValueError, match=message):
        complete_cv(X, y, rule, **{"cv": KFold(3), **asked})


@jit
def closeness_in_many(order, distances, labels, target, constraints):
    """The same for many samples, NaN for few."""
    if constraints.counts[0] < 40:
        return np.nan
    return closeness_by_distance(order, distances, labels, target, constraints)


class InMany(Closeness):
    """A rule whose kernel leaves the samples of halves out."""

    name = "in-many"
    fixed_by_distance = closeness_in_many


def test_halves_are_scored_by_the_same_kernel():
    X, y = blobs(1, 40, 2)
    result = complete_cv(X, y, Closeness, Subsample(0.5))
    problem_of_it = result._evaluation.problem
    halvings = halvings_of(problem_of_it, result._evaluation.halves_request(result, 3, None, 0))
    found = result.half_scores(3).scores
    for at, half in np.ndindex(3, 2):
        rows = halvings.rows(at, half)
        alone = complete_cv(X[rows], y[rows], Closeness, Subsample(0.5))
        assert found[at, half] == pytest.approx(alone.score, rel=1e-12)
    with pytest.raises(ValueError, match="leaves samples of a half out"):
        complete_cv(X, y, InMany, Subsample(0.5)).half_scores(3)


def test_other_functions_say_that_the_rule_needs_distances():
    X, y = blobs(1, 40, 2)
    with pytest.raises(ValueError, match="by the distances, which are not known here; use complete_cv"):
        monte_carlo_cv(X, y, Sometimes, KFold(3), n_repeats=2)


def test_a_bare_function_is_refused_with_a_hint():
    X, y = blobs(1, 40, 2)
    with pytest.raises(TypeError, match="a function that scores one training set is the member decide"):
        complete_cv(X, y, fading_votes, KFold(3))


def fading_votes(items, distances, labels, target, constraints):  # noqa: ARG001
    return 1.0
