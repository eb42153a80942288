"""The tie report: the lowest and the highest score over the orders of tied samples."""

import pickle
from itertools import chain, permutations, product

import naive
import numpy as np
import pytest
from problems import designs, problem

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    surface,
)

RULES = [
    ("nn", {}, True),
    ("nn", {"loss": True}, True),
    ("rank", {"rank": 2}, True),
    ("confidence", {"n_neighbors": 2}, True),
    ("knn", {"n_neighbors": 1}, True),
    ("knn", {"n_neighbors": 3}, None),
    ("confidence", {"n_neighbors": 3, "score": "brier"}, False),
]


def extremes(case, variant, listed, parameters):
    """The lowest and highest A_x over all orders of the tied groups of x, each fixed for all T."""
    distances, y = case.distances.tolist(), case.y.tolist()
    low, high = [], []
    for x in range(len(y)):
        _, groups = naive.neighbor_order(distances[x], x)
        scores = []
        for parts in product(*[permutations(group) for group in groups]):
            order = list(chain.from_iterable(parts))
            total, number = 0, 0
            for (training,) in listed.outcomes:
                if x not in training:
                    near = [j for j in order if j in training]
                    total += naive.score_one(variant, near, y, x, parameters)
                    number += 1
            if number:
                scores.append(total / number)
        low.append(min(scores) if scores else np.nan)
        high.append(max(scores) if scores else np.nan)
    return np.array(low, float), np.array(high, float)


@pytest.mark.parametrize("seed", [s for s in range(40) if s % 4 in (1, 2)])
def test_the_range_equals_the_enumeration(seed):
    case = problem(seed)
    n_items = len(case.y)
    if n_items > 6:
        return
    half = {c: (case.y.tolist().count(c) + 1) // 2 for c in case.classes}
    pairs = [(Subsample(n_items // 2 + 1), naive.subsample(n_items, n_items // 2 + 1))]
    if sum(half.values()) < n_items:
        pairs.append((StratifiedSubsample(per_class=half), naive.stratified(case.y.tolist(), half)))
    for design, listed in pairs:
        smallest = min(len(outcome[0]) for outcome in listed.outcomes)
        for variant, setting, exact in RULES:
            if setting.get("n_neighbors", 1) > smallest:
                continue
            parameters = case.parameters(setting)
            result = complete_cv(
                case.distances, case.y, variant, design, metric="precomputed", **parameters
            )
            report = result.tie_report()
            plain = {name: v.tolist() if hasattr(v, "tolist") else v for name, v in parameters.items()}
            low, high = extremes(case, variant, listed, plain)
            assert report.exact_range == (len(case.classes) == 2 if exact is None else exact)
            if report.exact_range:
                np.testing.assert_allclose(report.per_item_lowest, low, atol=1e-12)
                np.testing.assert_allclose(report.per_item_highest, high, atol=1e-12)
            else:
                assert (report.per_item_lowest >= low - 1e-12)[~np.isnan(low)].all()
                assert (report.per_item_highest <= high + 1e-12)[~np.isnan(low)].all()
            assert report.lowest <= report.score + 1e-12
            assert report.score <= report.highest + 1e-12
            assert report.n_tied == result.tied


def test_nothing_is_at_stake_without_ties():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
    report = complete_cv(X, y, "knn", KFold(5)).tie_report()
    assert (report.n_items, report.n_tied) == (50, 0)
    assert report.lowest == pytest.approx(report.score, abs=1e-14)
    assert report.highest == pytest.approx(report.score, abs=1e-14)


def test_regression_with_one_neighbor():
    X, y = [[0.0], [1.0], [1.0], [2.0]], [0.0, 1.0, 4.0, 9.0]
    report = complete_cv(X, y, "regression", Subsample(3), n_neighbors=1).tie_report()
    assert report.exact_range
    np.testing.assert_allclose(report.per_item_lowest, [1, 9, 9, 25])
    np.testing.assert_allclose(report.per_item_highest, [16, 9, 9, 64])


def test_the_range_of_several_outputs_equals_the_enumeration():
    """Of four tied samples the nearest in absolute terms is not the nearest in squares."""
    X = np.array([[0.0], [1.0], [1.0], [-1.0], [-1.0], [3.0]])
    y = np.array([[0.0, 0.0], [3.0, 0.0], [2.0, 2.0], [1.0, 2.5], [0.0, 3.2], [1.0, 1.0]])
    report = complete_cv(X, y, "regression", Subsample(3), n_neighbors=1).tie_report()
    assert report.exact_range
    distances, listed = np.abs(X - X.T).tolist(), naive.subsample(6, 3)
    for x in range(6):
        _, groups = naive.neighbor_order(distances[x], x)
        means = []
        for parts in product(*[permutations(group) for group in groups]):
            order = list(chain.from_iterable(parts))
            sets = [training for (training,) in listed.outcomes if x not in training]
            nearest = [next(j for j in order if j in training) for training in sets]
            means.append(np.mean([((y[j] - y[x]) ** 2).sum() for j in nearest]))
        assert report.per_item_lowest[x] == pytest.approx(min(means), rel=1e-12)
        assert report.per_item_highest[x] == pytest.approx(max(means), rel=1e-12)


def test_lists_that_end_within_ties_widen_the_bound_of_the_report():
    """The order by index can use the whole list; other orders cannot, as more samples may tie."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (60, 2)).astype(float), rng.integers(0, 2, 60)
    near = Neighbors.from_data(X)
    short = Neighbors.from_data(X, n_neighbors=7)
    whole = complete_cv(near, y, "knn", Subsample(0.6), n_neighbors=1, ties="index").tie_report()
    result = complete_cv(short, y, "knn", Subsample(0.6), n_neighbors=1, ties="index")
    report = result.tie_report()
    assert report.error_bound > result.error_bound
    for name in ("lowest", "highest"):
        assert abs(getattr(report, name) - getattr(whole, name)) <= report.error_bound


def test_index_order_and_fair_order_lie_within_the_range():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (80, 2)).astype(float), rng.integers(0, 2, 80)
    scores = [
        complete_cv(X[order], y[order], "knn", Subsample(40), ties="index").score
        for order in (rng.permutation(80) for _ in range(10))
    ]
    result = complete_cv(X, y, "knn", Subsample(40))
    report = result.tie_report()
    assert report.lowest < min(scores) < report.score < max(scores) < report.highest


def test_what_has_no_report():
    X, y = np.arange(8.0)[:, None], [0, 1] * 4
    with pytest.raises(ValueError, match="a copied or pickled result does not contain"):
        pickle.loads(pickle.dumps(complete_cv(X, y, "nn", KFold(2)))).tie_report()
    with pytest.raises(ValueError, match="not offered for LeaveGroupsOut"):
        complete_cv(X, y, "nn", LeaveGroupsOut([0, 0, 1, 1, 2, 2, 3, 3])).tie_report()


def test_the_report_tells_what_short_lists_leave_open():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (60, 2)).astype(float), rng.integers(0, 2, 60)
    near = Neighbors.from_data(X)
    short = Neighbors.from_lists(*near.kneighbors(6))
    whole = complete_cv(near, y, "knn", Subsample(0.5)).tie_report()
    report = complete_cv(short, y, "knn", Subsample(0.5)).tie_report()
    assert report.error_bound > 0.1 > 1e-9 > whole.error_bound
    for name in ("lowest", "score", "highest"):
        assert abs(getattr(report, name) - getattr(whole, name)) <= report.error_bound
    unsure = Neighbors.from_lists(*near.kneighbors(20), approximate=True)
    assert complete_cv(unsure, y, "knn", Subsample(0.5)).tie_report().error_bound == np.inf


def test_a_surface_of_one_huge_group():
    """The numbers of own samples within the group are likely around one value only."""
    X, y = np.zeros((150, 1)), np.arange(150) % 2
    found = surface(X, y, [1, 4, 30], [30, 75, 140], tol=1e-12)
    for row, k in enumerate([1, 4, 30]):
        for column, size in enumerate([30, 75, 140]):
            cell = complete_cv(X, y, "knn", Subsample(size), n_neighbors=k).score
            assert found.scores[row, column] == pytest.approx(cell, abs=1e-11)


def reached(x, start, k, listed):
    """Return True if a training set without x has fewer than k of these samples."""
    sets = {training for outcome in listed.outcomes for training in outcome if x not in training}
    return any(sum(j in training for j in start) < min(k, len(training)) for training in sets)


def is_tied(x, distances, y, k, listed, depth):
    """Return True if a tied group of different labels is reached within the first `depth` neighbors."""
    order, groups = naive.neighbor_order(distances[x], x)
    seen = [[j for j in group if order.index(j) < depth] for group in groups]
    starts = [order.index(group[0]) for group in seen if len({str(y[j]) for j in group}) > 1]
    return any(reached(x, order[:start], k, listed) for start in starts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [s for s in range(16) if s % 4])
def test_tied_equals_the_enumeration_in_both_modes(seed):
    case = problem(seed)
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 4, (len(case.y), 2))
    rules = [
        ("nn", {}),
        ("knn", {"n_neighbors": 2}),
        ("rank", {"rank": 3}),
        ("regression", {"n_neighbors": 1}),
    ]
    compared = 0
    counts = []
    for design, listed in designs(case, seed):
        smallest = min(len(training) for outcome in listed.outcomes for training in outcome)
        for variant, setting in rules:
            y = targets if variant == "regression" else case.y
            stratified = isinstance(design, StratifiedKFold | StratifiedSubsample)
            k = next(iter(setting.values()), 1)
            if (variant == "regression" and stratified) or (variant == "knn" and k > smallest):
                continue
            for ties in ("index", "random"):
                asked = {"metric": "precomputed", "ties": ties, **setting}
                for exact in (True, False):
                    found = complete_cv(case.distances, y, variant, design, exact=exact, **asked)
                    counts.append(found.tied)
                depth = found.depth if ties == "index" else len(y)
                near = case.distances.tolist(), y.tolist(), k, listed, depth
                expected = sum(is_tied(x, *near) for x in range(len(y)))
                assert counts[-2:] == [expected, expected], (variant, design, ties)
                compared += 1
    assert compared > 20


LEFT_OUT = np.random.default_rng(3).integers(0, 9, 45)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["index", "random"])
@pytest.mark.parametrize(
    "design",
    [
        Subsample(0.8),
        Subsample(30),
        KFold(7),
        LeaveOut(1),
        StratifiedKFold(4),
        StratifiedSubsample(0.7),
        StratifiedSubsample(per_class={0: 1, 1: 14, 2: 10}),
        LeaveGroupsOut(LEFT_OUT),
        LeaveGroupsOut(LEFT_OUT, 4),
    ],
    ids=str,
)
def test_tied_does_not_depend_on_the_mode(design, ties):
    """Far from a sample there are more ties, which floating point does not look at and rationals do."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15, 2)), rng.normal(size=(30, 2)).round(1)])
    y = rng.permutation(np.repeat([0, 1, 2], [14, 15, 16]))
    for variant, setting in [("nn", {}), ("knn", {"n_neighbors": 3}), ("rank", {"rank": 2})]:
        if getattr(design, "p", 1) > 1 and variant != "nn":
            continue
        asked = {"ties": ties, **setting}
        for tol in (1e-12, 1e-3):
            floating = complete_cv(X, y, variant, design, tol=tol, **asked)
            exact = complete_cv(X, y, variant, design, tol=tol, exact=True, **asked)
            assert floating.tied == exact.tied, (variant, tol)
            assert floating.tied < 45


def test_what_is_never_tested_is_not_tied():
    """Class 0 always trains; of class 1, only two are as near to each other as to a sample of it."""
    X = np.array([[0.0], [1], [1], [1], [5], [6], [7], [8]])
    y = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    design = StratifiedSubsample(per_class={0: 2, 1: 3})
    for exact in (False, True):
        assert complete_cv(X, y, "nn", design, exact=exact).tied == 2
