"""The library against the enumeration of all training sets: scores, tables, ties, runs."""

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import (
    REGRESSION,
    SETTINGS,
    Problem,
    StratifiedShuffle,
    designs,
    drawn_folds,
    plain,
    problem,
    questions,
)
from seeds import over_seeds

from knnccv import LeaveGroupsOut, LeaveOut, RebalancedLeaveOneOut, Subsample, complete_cv, monte_carlo_cv
from knnccv._core.driver import AVERAGES
from knnccv_variants.votes import KNN

RULES = SETTINGS + REGRESSION


def averages_of(question):
    """Every average, and shares of the classes where all of them are tested."""
    if question.rule == "regression":
        return AVERAGES[:2]
    tested = {int(question.y[x]) for _, x in question.scores}
    parts = {c: 1 + 2 * c for c in tested}
    shares = {c: Fraction(n, sum(parts.values())) for c, n in parts.items()}
    return [*AVERAGES, *([shares] if tested == set(question.y.tolist()) else [])]


def check_scores(question, average):
    """The score, the scores and weights of the samples, and the number of training sets."""
    expected = question.expected(average)
    where = f"{question.where} {average}"
    own = naive.item_means(question.scores, question.listed, question.known_as(average))
    found = question.ask(average)
    off = abs(Fraction(found.score) - expected)
    assert off <= Fraction(1, 10**12) * max(abs(expected), 1), where
    assert off <= found.error_bound < 2e-11, where
    np.testing.assert_allclose(found.per_item, np.array(own, float), rtol=0, atol=1e-13, err_msg=where)
    weights = naive.item_weights(question.y, question.listed, question.known_as(average))
    np.testing.assert_allclose(found.weights, np.array(weights, float), atol=1e-15, err_msg=where)
    assert found.n_train_sets == naive.training_sets(question.listed), where
    return found


def check_rational(question, average):
    """The same in rational numbers."""
    found = question.ask(average, exact=True)
    own = naive.item_means(question.scores, question.listed, question.known_as(average))
    assert found.fraction == question.expected(average), f"{question.where} {average}"
    assert list(found.per_item_fraction) == own, f"{question.where} {average}"
    return found


def check_tied(question, floating, rational):
    """The number of samples whose ties matter; by index they count as far as the lists are read."""
    for found in (floating, rational):
        if not isinstance(question.design, LeaveGroupsOut | StratifiedShuffle):  # counted generously there
            depth = found.depth if question.ties == "index" else len(question.y)
            expected = naive.tied_items(question.D, question.y, question.listed, question.length, depth)
            assert found.n_tied == expected, question.where
    if question.ties == "random":
        assert floating.n_tied == rational.n_tied, question.where


def check_confusion(question, average, floating, rational):
    """What is predicted for each class, and that the loss of it is the score."""
    listed, average = question.listed, question.known_as(average)
    inputs = question.D, question.y, question.rule, listed, average, question.ties
    expected = np.array(naive.confusion(*inputs, **plain(question.parameters)))
    assert rational.confusion().tolist() == expected.tolist(), question.where
    matrix = floating.confusion()
    np.testing.assert_allclose(matrix, expected.astype(float), atol=1e-13, err_msg=question.where)
    assert matrix.min() >= 0
    loss = question.parameters.get("loss")
    worth = np.eye(len(matrix)) if loss is None else loss
    assert (matrix * worth).sum() == pytest.approx(floating.score, abs=1e-12), question.where


@over_seeds(3)
def test_every_rule_design_tie_rule_and_average(seeds):
    for seed in seeds:
        for q, question in enumerate(questions(seed, RULES, every=13)):
            averages = averages_of(question)
            floating = [check_scores(question, average) for average in averages]
            at = q % len(averages)
            rational = check_rational(question, averages[at])
            check_tied(question, floating[at], rational)
            if question.rule in ("nn", "knn"):
                check_confusion(question, averages[at], floating[at], rational)


@over_seeds(2)
def test_rebalanced_leave_one_out(seeds):
    for seed in seeds:
        case, n_classes = problem(seed, most=7), 2 + seed % 2
        y = np.random.default_rng(seed).permutation(np.arange(len(case.y)) % n_classes)
        n_train = {c: n - 1 for c, n in enumerate(np.bincount(y).tolist())}
        if 0 not in n_train.values():
            case = Problem(case.distances, y, np.arange(n_classes**2).reshape(n_classes, n_classes) - 2)
            pairs = [(RebalancedLeaveOneOut(), naive.stratified(y, n_train))]
            for q, question in enumerate(questions(seed, SETTINGS, 1, pairs, case)):
                check_scores(question, AVERAGES[q % 3])
                check_rational(question, AVERAGES[q % 3])


def tied_groups(seed):
    """8 samples in groups of unequal sizes, at few distances."""
    rng = np.random.default_rng([seed, 4])
    n_groups = int(rng.integers(3, 6))
    groups = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 8 - n_groups)]))
    distances = rng.integers(0, 1 + seed % 4, (8, 8)).astype(float)
    case = Problem(distances, rng.permutation([0, 1, 2, 0, 1, 2, 0, 1]), rng.integers(-3, 9, (3, 3)))
    pairs = [(LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)) for p in range(1, n_groups)]
    return case, pairs


@over_seeds(4)
def test_many_ties_among_groups_of_many_sizes(seeds):
    for seed in seeds:
        case, pairs = tied_groups(seed)
        for question in questions(seed, RULES, 5, pairs, case):
            check_scores(question, "item")
            check_rational(question, "pooled")
            if question.rule != "regression":
                check_runs(question, seed)


def check_runs(question, seed):
    """Each of the runs that are drawn has the score that its training set gives."""
    design, asked = question.design, {"ties": question.ties, **question.parameters}
    few = monte_carlo_cv(
        question.D, question.y, question.rule, design, metric="precomputed", n_runs=4, random_state=seed,
        **asked,
    )  # fmt: skip
    n_tested = Fraction(8 * design.p, len(set(design.groups)))
    for score, fold in zip(few.scores, drawn_folds(design, question.y, 4, seed), strict=True):
        training = frozenset(np.flatnonzero(fold < 0).tolist())
        right = sum(question.scores[training, x] for x in range(8) if x not in training)
        assert score == pytest.approx(float(right / n_tested), abs=1e-12), question.where


@over_seeds(3)
def test_the_range_over_orders_of_ties(seeds):
    for seed in seeds:
        tied = 4 * seed + 1 + seed % 2  # a kind of problem in which many tie
        case = problem(tied, most=6)
        pairs = [pair for pair in designs(case, seed) if not pair[1].is_kfold]
        rules = [rule for rule in RULES if rule[1].get("score") != "log_loss"]
        for question in questions(tied, rules, 5, pairs, case):
            if question.ties == "index" or question.parameters.get("vote_ties"):
                continue
            result = question.ask()
            report = result.tie_report()
            inputs = question.D, question.y.tolist(), question.rule, question.listed
            low, high = np.array(naive.extremes(*inputs, **plain(question.parameters)), float)
            one = question.length == 1 or question.rule == "rank"
            two_classes = question.rule == "knn" and len(case.classes) == 2
            share = question.rule == "confidence" and "score" not in question.parameters
            if one or two_classes or share:
                assert report.is_exact, question.where
                np.testing.assert_allclose(report.per_item_lowest, low, atol=1e-12, err_msg=question.where)
                np.testing.assert_allclose(
                    report.per_item_highest, high, atol=1e-12, err_msg=question.where
                )
            else:
                assert not (report.per_item_lowest < low - 1e-12).any(), question.where
                assert not (report.per_item_highest > high + 1e-12).any(), question.where
            assert report.lowest - 1e-12 <= report.score <= report.highest + 1e-12, question.where
            assert report.n_tied == result.n_tied


def test_the_range_of_several_outputs():
    """Of four tied samples the nearest in absolute terms is not the nearest in squares."""
    X = np.array([[0.0], [1.0], [1.0], [-1.0], [-1.0], [3.0]])
    y = np.array([[0.0, 0.0], [3.0, 0.0], [2.0, 2.0], [1.0, 2.5], [0.0, 3.2], [1.0, 1.0]])
    report = complete_cv(X, y, "regression", Subsample(3), n_neighbors=1).tie_report()
    assert report.is_exact
    D, listed = np.abs(X - X.T), naive.subsample(6, 3)
    low, high = naive.extremes(D, y.tolist(), "regression", listed, n_neighbors=1)
    np.testing.assert_allclose(report.per_item_lowest, np.array(low, float), rtol=1e-12)
    np.testing.assert_allclose(report.per_item_highest, np.array(high, float), rtol=1e-12)


def blobs(n_items=300, n_groups=25, n_classes=3, decimals=15):
    """Groups that cluster, of very unequal sizes."""
    rng = np.random.default_rng(0)
    groups = np.minimum(rng.geometric(0.15, n_items) - 1, n_groups - 1)
    groups[:n_groups] = np.arange(n_groups)
    groups = rng.permutation(groups)
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 1.5 * rng.normal(size=(n_groups, 2))[groups] + 0.8 * y[:, None]
    return X.round(decimals), y, groups


@over_seeds(1)
def test_many_sets_of_groups_are_gone_through_by_case(seeds):
    """Groups of one sample are leave-p-out: 319,770 sets, and 5e16."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for n_items, p, decimals, tol in ((22, 8, 1, 1e-12), (22, 8, 15, 0), (60, 30, 15, 1e-3)):
            X, y = rng.normal(size=(n_items, 1 + seed % 2)).round(decimals), rng.integers(0, 3, n_items)
            for variant, ties in (("knn", "random"), ("rank", "index"), ("regression", "random")):
                asked = {"rank" if variant == "rank" else "n_neighbors": 3, "ties": ties, "tol": tol}
                design = LeaveGroupsOut(rng.permutation(n_items), p)
                found = complete_cv(X, y, variant, design, method="exact", **asked)
                expected = complete_cv(X, y, variant, LeaveOut(p), **asked | {"tol": 1e-12})
                assert found.n_train_sets == math.comb(n_items, p) > 20_000
                gaps = np.abs(found.per_item - expected.per_item)
                assert gaps.mean() <= found.error_bound + 1e-13 < 2 * tol * np.ptp(y) ** 2 + 1e-11, seed


def test_items_deep_in_their_own_group_are_asked_again():
    """Every sample has its 39 nearest neighbors in its own group."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 2)) + 1000 * rng.normal(size=(4, 2))[groups]
    y = rng.integers(0, 2, 160)
    for variant, p in (("knn", 1), ("nn", 2)):
        found = complete_cv(X, y, variant, LeaveGroupsOut(groups, p))
        assert found.depth > 39
        assert found.error_bound < 1e-12
        exact = complete_cv(X, y, variant, LeaveGroupsOut(groups, p), exact=True)
        assert found.score == pytest.approx(float(exact.fraction), abs=1e-13)


def test_names_of_groups_do_not_matter():
    X, y, groups = blobs()
    expected = complete_cv(X, y, "nn", LeaveGroupsOut(groups, 2)).score
    names = [("subject", int(group)) if group % 2 else f"s{group}" for group in groups]
    dates = np.datetime64("2020-01-01") + groups
    for given in (groups.tolist(), names, dates, groups / 2, [str(g) for g in groups], groups[::-1][::-1]):
        assert complete_cv(X, y, "nn", LeaveGroupsOut(given, 2)).score == expected


def test_training_sets_smaller_than_a_rank_are_looked_at_whole():
    X, y, groups = blobs(40, 6)
    found = complete_cv(X, y, "rank", LeaveGroupsOut(groups), rank=100)
    expected = [float((y[groups[x] != groups] == y[x]).any()) for x in range(40)]
    np.testing.assert_allclose(found.per_item, expected, atol=1e-12)
    most = 40 - int(np.bincount(groups).max())
    assert complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_neighbors=most).score > 0


def test_tied_targets_of_groups_are_counted():
    X, y = np.repeat([0.0, 1.0, 2.0], 2)[:, None], np.arange(6.0)
    assert complete_cv(X, y, "regression", LeaveGroupsOut(np.arange(6), 3), n_neighbors=1).n_tied == 6


def test_plugins_need_a_kernel_for_fixed_sizes():
    X, y, groups = blobs(40, 6)
    design = LeaveGroupsOut(groups, 3)
    voted = type("Voted", (KNN,), {"name": "voted", "stratified": None})
    expected = complete_cv(X, y, "knn", design, n_neighbors=3)
    assert complete_cv(X, y, voted, design, n_neighbors=3).score == expected.score
