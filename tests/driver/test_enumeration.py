"""The library against the enumeration of all training sets: scores, tables, ties, runs."""

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

from knnccv import LeaveGroupsOut, StratifiedKFold, Subsample, complete_cv, monte_carlo_cv
from knnccv.driver import AVERAGES

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
    assert found.exact == question.expected(average), f"{question.where} {average}"
    assert list(found.per_item_exact) == own, f"{question.where} {average}"
    return found


def check_tied(question, floating, rational):
    """The number of samples whose ties matter; by index they count as far as the lists are read."""
    assert floating.tied == rational.tied, question.where
    if not isinstance(question.design, LeaveGroupsOut | StratifiedShuffle):  # counted generously there
        depth = floating.depth if question.ties == "index" else len(question.y)
        expected = naive.tied_items(question.D, question.y, question.listed, question.length, depth)
        assert floating.tied == expected, question.where


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


@over_seeds(5, 30)
def test_every_rule_design_tie_rule_and_average(seeds):
    for seed in seeds:
        for q, question in enumerate(questions(seed, RULES, every=5)):
            averages = averages_of(question)
            floating = [check_scores(question, average) for average in averages]
            at = q % len(averages)
            rational = check_rational(question, averages[at])
            check_tied(question, floating[at], rational)
            if question.rule in ("nn", "knn"):
                check_confusion(question, averages[at], floating[at], rational)


def test_stratified_folds_depend_on_which_class_appears_first():
    """One a, three c, one b: in two folds, as in `naive.stratified_allocation`."""
    D = np.random.default_rng(0).random((5, 5))
    found = []
    for labels in ("abccc", "acccb", "cbacc"):
        listed = naive.stratified_kfold(labels, 2)
        expected = naive.complete(D, list(labels), "nn", listed)
        result = complete_cv(D, list(labels), "nn", StratifiedKFold(2), metric="precomputed", exact=True)
        assert result.exact == expected
        found.append(naive.stratified_allocation(labels, 2))
    assert found[0] != found[1]


def tied_groups(seed):
    """8 samples in groups of unequal sizes, at few distances."""
    rng = np.random.default_rng([seed, 4])
    n_groups = int(rng.integers(3, 6))
    groups = rng.permutation(np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 8 - n_groups)]))
    distances = rng.integers(0, 1 + seed % 4, (8, 8)).astype(float)
    case = Problem(distances, rng.permutation([0, 1, 2, 0, 1, 2, 0, 1]), rng.integers(-3, 9, (3, 3)))
    pairs = [(LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p)) for p in range(1, n_groups)]
    return case, pairs


@over_seeds(4, 20)
def test_many_ties_among_groups_of_many_sizes(seeds):
    for seed in seeds:
        case, pairs = tied_groups(seed)
        for question in questions(seed, RULES, 4, pairs, case):
            check_scores(question, "item")
            check_rational(question, "pooled")


@over_seeds(4, 20)
def test_runs_without_groups_are_classifications_of_their_splits(seeds):
    """Each of the runs that are drawn has the score that its training set gives."""
    for seed in seeds:
        case, pairs = tied_groups(seed)
        for question in questions(seed, SETTINGS, 6, pairs, case):
            design, asked = question.design, {"ties": question.ties, **question.parameters}
            few = monte_carlo_cv(
                case.distances, case.y, question.rule, design, metric="precomputed", n_repeats=4,
                random_state=seed, **asked,
            )  # fmt: skip
            n_tested = Fraction(8 * design.p, len(set(design.groups)))
            for score, fold in zip(few.scores, drawn_folds(design, case.y, 4, seed), strict=True):
                training = frozenset(np.flatnonzero(fold < 0).tolist())
                right = sum(question.scores[training, x] for x in range(8) if x not in training)
                assert score == pytest.approx(float(right / n_tested), abs=1e-12), question.where


@over_seeds(3, 20)
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
                assert report.exact_range, question.where
                np.testing.assert_allclose(report.per_item_lowest, low, atol=1e-12, err_msg=question.where)
                np.testing.assert_allclose(
                    report.per_item_highest, high, atol=1e-12, err_msg=question.where
                )
            else:
                assert not (report.per_item_lowest < low - 1e-12).any(), question.where
                assert not (report.per_item_highest > high + 1e-12).any(), question.where
            assert report.lowest - 1e-12 <= report.score <= report.highest + 1e-12, question.where
            assert report.n_tied == result.tied


def test_the_range_of_several_outputs():
    """Of four tied samples the nearest in absolute terms is not the nearest in squares."""
    X = np.array([[0.0], [1.0], [1.0], [-1.0], [-1.0], [3.0]])
    y = np.array([[0.0, 0.0], [3.0, 0.0], [2.0, 2.0], [1.0, 2.5], [0.0, 3.2], [1.0, 1.0]])
    report = complete_cv(X, y, "regression", Subsample(3), n_neighbors=1).tie_report()
    assert report.exact_range
    D, listed = np.abs(X - X.T), naive.subsample(6, 3)
    low, high = naive.extremes(D, y.tolist(), "regression", listed, n_neighbors=1)
    np.testing.assert_allclose(report.per_item_lowest, np.array(low, float), rtol=1e-12)
    np.testing.assert_allclose(report.per_item_highest, np.array(high, float), rtol=1e-12)
