"""Rules of all training samples within a radius, against enumeration and scikit-learn."""

import math
from fractions import Fraction
from functools import partial

import naive
import numpy as np
import pytest
from problems import blobs, designs, groups_of, problem
from seeds import over_seeds
from sklearn import model_selection
from sklearn.neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

from knnccv import KFold, LeaveGroupsOut, LeaveOut, Neighbors, StratifiedKFold, Subsample, complete_cv
from knnccv.sklearn import expected_score

FREQUENT = "most_frequent"
STRATA = model_selection.StratifiedKFold(4, shuffle=True)
FOLDS = model_selection.KFold(4, shuffle=True)


def radius_of(case, seed):
    """A distance of two samples: one is just within, few others are, and some samples have no neighbor."""
    others = case.distances[~np.eye(len(case.y), dtype=bool)]
    return float(np.quantile(others, (0.1, 0.25, 0.5)[seed % 3], method="lower"))


def vote_in(case, radius, outlier, loss=None):
    """The score of one training set, for naive: the majority within the radius, or the outlier label."""

    def decide(near, distances, y, x):
        voters = [y[j] for j, d in zip(near, distances, strict=True) if d <= radius]
        if not voters and outlier == FREQUENT:
            voters = [y[j] for j in near]
        label = max(sorted(set(voters)), key=voters.count) if voters else outlier
        if loss is None:
            return label == y[x]
        return int(loss[case.classes.index(y[x])][case.classes.index(label)])

    return decide


def error_in(radius, outlier):
    """The same for the mean target."""

    def decide(near, distances, y, x):
        own = naive.as_outputs(y[x])
        used = [naive.as_outputs(y[j]) for j, d in zip(near, distances, strict=True) if d <= radius]
        if not used and outlier == "mean":
            used = [naive.as_outputs(y[j]) for j in near]
        means = map(naive.mean, zip(*used, strict=True)) if used else [Fraction(outlier)] * len(own)
        return sum((mean - t) ** 2 for mean, t in zip(means, own, strict=True))

    return decide


def none_in(radius):
    """The same for the share without neighbors."""

    def decide(near, distances, y, x):  # noqa: ARG001
        return not any(d <= radius for d in distances)

    return decide


def listed_score(case, y, rule, listed, average="pooled"):
    """The mean score over all training sets; the order of tied samples does not matter."""
    return naive.complete(case.distances, y, rule, listed, average, "index", n_nearest=len(y))


@over_seeds(5)
def test_votes_equal_the_enumeration(seeds):
    for seed in seeds:
        case = problem(seed, most=8)
        radius = radius_of(case, seed)
        for at, (design, listed) in enumerate(designs(case, seed), seed):
            average = ("pooled", "item", "class")[at // 2 % 3]
            ask = partial(
                complete_cv, case.distances, case.y, "radius", design, metric="precomputed", n_jobs=1
            )
            ask = partial(ask, radius=radius, average=average, ties=("index", "random")[at % 2])
            for outlier in (FREQUENT, (None, case.classes[at % len(case.classes)], 99)[at % 3]):
                loss = case.loss if outlier in (FREQUENT, *case.classes) and at // 2 % 2 else None
                found = ask(outlier_label=outlier, loss=loss)
                expected = listed_score(case, case.y, vote_in(case, radius, outlier, loss), listed, average)
                where = seed, design, outlier, average
                assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-11, where
                assert found.n_tied == 0, where
            if at % 2:
                found = ask(score="outliers")
                expected = listed_score(case, case.y, none_in(radius), listed, average)
                assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-11, where


@over_seeds(5)
def test_errors_equal_the_enumeration(seeds):
    for seed in seeds:
        case = problem(seed, most=8)
        radius = radius_of(case, seed)
        targets = np.random.default_rng([seed, 7]).integers(-3, 4, (len(case.y), 1 + seed % 2))
        pair = Subsample(2), naive.subsample(len(case.y), 2)
        for design, listed in [*designs(case, seed), pair]:
            if not isinstance(design, Subsample | LeaveOut | KFold):
                continue
            ask = partial(complete_cv, case.distances, targets, "radius_regression", design, radius=radius)
            ask = partial(ask, metric="precomputed", n_jobs=1)
            for outlier in ("mean", 2):
                found = ask(outlier_value=outlier)
                expected = listed_score(case, targets, error_in(radius, outlier), listed)
                where = seed, design, outlier
                assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-10, where
            found = ask(score="outliers")
            expected = listed_score(case, targets, none_in(radius), listed)
            assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-10, (seed, design)


def subsets_that_win(counts, n_train, available):
    """The share of the training sets in which class 1 beats class 0 and is not beaten by class 2."""
    lower, own, higher = counts
    ways = sum(
        math.comb(lower, a)
        * math.comb(own, t)
        * math.comb(higher, b)
        * math.comb(rest, n_train - a - t - b)
        for rest in [available - sum(counts)]
        for t in range(1, own + 1)
        for a in range(min(lower, t - 1) + 1)
        for b in range(min(higher, t) + 1)
        if a + t + b <= n_train
    )
    return Fraction(ways, math.comb(available, n_train))


@pytest.mark.parametrize(
    ("counts", "n_others"), [((35, 40, 30), 20), ((0, 60, 55), 20), ((80, 3, 0), 20), ((2, 4, 3), 90)]
)
def test_many_votes_equal_the_sum_over_their_numbers(counts, n_others):
    others = np.arange(n_others) % 3
    y = np.concatenate([np.repeat([0, 1, 2], counts), others])
    X = np.concatenate([np.ones(sum(counts)), 9.0 + np.arange(n_others)])[:, None]
    asked = {"radius": 1.0, "test": ([[0.0]], [1]), "n_jobs": 1}
    for n_train in (1, 2, len(y) // 2, len(y) - 1, len(y)):
        expected = subsets_that_win(counts, n_train, len(y))
        found = complete_cv(X, y, "radius", Subsample(n_train), **asked)
        assert found.score == pytest.approx(float(expected), rel=1e-12, abs=1e-18)
        if n_train <= n_others:  # all may be farther: the most frequent label is one of the others
            none = Fraction(math.comb(n_others, n_train), math.comb(len(y), n_train))
            expected += none * subsets_that_win(np.bincount(others).tolist(), n_train, n_others)
        found = complete_cv(X, y, "radius", Subsample(n_train), outlier_label=FREQUENT, **asked)
        assert found.score == pytest.approx(float(expected), rel=1e-12, abs=1e-18)


def data(seed, n_items=60, n_classes=3):
    """Samples with ties and duplicates, and a radius that no distance equals: roundings do not matter."""
    X, y = blobs(seed, n_items, n_classes)
    return np.round(X, 1), y, float(np.random.default_rng(seed).choice([0.32, 0.51, 0.72, 1.13]))


@over_seeds(2)
def test_one_training_set_is_scored_as_by_scikit_learn(seeds):
    for seed in seeds:
        X, y, radius = data(seed)
        train, test = np.arange(60) % 3 > 0, np.arange(60) % 3 == 0
        tested = {"test": (X[test], y[test]), "radius": radius, "n_jobs": 1}
        for label in (FREQUENT, 1):
            peer = RadiusNeighborsClassifier(radius, outlier_label=label).fit(X[train], y[train])
            for method in ("exact", "sampled"):
                asked = {"outlier_label": label, "method": method, "n_draws": 2, **tested}
                found = complete_cv(X[train], y[train], "radius", Subsample(40), **asked)
                assert found.score == pytest.approx(peer.score(X[test], y[test]), abs=1e-12), (seed, label)
        wide = {**tested, "radius": 9.0, "test": (X[test], X[test])}
        peer = RadiusNeighborsRegressor(9.0).fit(X[train], X[train])
        error = ((peer.predict(X[test]) - X[test]) ** 2).sum(axis=1).mean()
        for method in ("exact", "sampled"):
            found = complete_cv(
                X[train], X[train], "radius_regression", Subsample(40), method=method, n_draws=2, **wide
            )
            assert found.score == pytest.approx(error, abs=1e-12), seed


def test_estimators_without_an_outlier_label():
    X, y, radius = data(1)
    asked = {"radius": radius, "outlier_label": None}
    of_folds = complete_cv(X, y, "radius", StratifiedKFold(4), **asked)
    share = complete_cv(X, y, "radius", StratifiedKFold(4), score="outliers", **asked).score
    with pytest.warns(UserWarning, match=f"{100 * share:.3g} % of the tested samples .*count as errors"):
        found = expected_score(RadiusNeighborsClassifier(radius), X, y, cv=STRATA)
    assert found.score == pytest.approx(of_folds.score, abs=1e-12)
    assert found.error_bound >= 0
    found = expected_score(RadiusNeighborsClassifier(9.0), X, y, cv=STRATA)  # no sample is alone
    assert found.score == complete_cv(X, y, "radius", StratifiedKFold(4), radius=9.0).score


@over_seeds(2)
def test_groups_are_sampled(seeds):
    for seed in seeds:
        case = problem(seed, most=8)
        radius = float(np.median(case.distances))
        groups = groups_of(case, seed)
        listed = naive.leave_groups_out(groups, 1)
        targets = np.arange(len(case.y)) % 3
        pairs = [
            ("radius", case.y, vote_in(case, radius, None)),
            ("radius_regression", targets, error_in(radius, "mean")),
        ]
        for rule, y, decide in pairs:
            asked = {"metric": "precomputed", "radius": radius, "n_draws": 50, "n_jobs": 1}
            found = complete_cv(case.distances, y, rule, LeaveGroupsOut(groups, 1), **asked)
            expected = float(listed_score(case, y, decide, listed))
            assert abs(found.score - expected) < 5 * found.std_error + 1e-12, (seed, rule)


def test_lists_that_end_within_the_radius_leave_their_share_undecided():
    X, y, _ = data(5)
    near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(12))
    for radius in (0.05, 0.6, 3.0):
        whole = complete_cv(X, y, "radius", KFold(3), radius=radius)
        short = complete_cv(near, y, "radius", KFold(3), radius=radius)
        assert abs(short.score - whole.score) <= short.error_bound
    assert short.error_bound > 0.9


def test_confusion_and_labels():
    X, y, radius = data(6)
    names = np.array(["a", "b", "c"])[y]
    found = complete_cv(X, names, "radius", KFold(4), radius=radius, outlier_label="b")
    table = found.confusion()
    assert table.sum() == pytest.approx(1)
    assert np.trace(table) == pytest.approx(found.score)
    assert "outlier_label='b'" in repr(found)
    asked_again = complete_cv(X, names, "radius", KFold(4), **found.parameters)
    assert asked_again.score == found.score
    two = complete_cv(X, y > 0, "radius", KFold(4), radius=radius, outlier_label=True)
    assert np.trace(two.confusion()) == pytest.approx(two.score)
    costs = complete_cv(X, y, "radius", KFold(4), radius=radius, outlier_label=1, loss=1 - np.eye(3))
    assert costs.score == pytest.approx(1 - found.score)
    alone = complete_cv(X, np.zeros(60), "radius", KFold(4), radius=radius)  # one class
    outliers = complete_cv(X, y, "radius", KFold(4), radius=radius, score="outliers")
    assert alone.score == pytest.approx(1 - outliers.score)
