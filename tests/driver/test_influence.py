"""Influence: the score without each sample, against enumeration and against runs on N - 1 samples."""

import naive
import numpy as np
import pytest
from odd_rules import nearest_agrees, variant_class
from problems import (
    REGRESSION,
    SETTINGS,
    ByClass,
    Shares,
    StratifiedShuffle,
    groups_of,
    makers,
    problem,
    questions,
)
from seeds import over_seeds

from knnccv import Neighbors, complete_cv
from knnccv._core.driver import AVERAGES
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample

Plugin = variant_class("plugin", fixed=nearest_agrees)
"""A fixed-size kernel and nothing else."""
FIXED = [("regression", {"n_neighbors": 2}), (Plugin, {"ties": "index"})]
RULES = [*SETTINGS, *FIXED]


def without(y, j):
    return np.delete(np.arange(len(y)), j)


def enumerated(question, make, average):
    """Naive's score of the other samples, for each sample; None if one is not possible."""
    scores = []
    for j in range(len(question.y)):
        rest = without(question.y, j)
        y, parameters = question.y[rest], dict(question.parameters)
        if parameters.get("loss") is not None:  # of the classes that are left
            at = np.isin(np.unique(question.y), y)
            parameters["loss"] = parameters["loss"][np.ix_(at, at)].tolist()
        D = question.D[np.ix_(rest, rest)]
        try:
            listed = make(rest)
            scores.append(naive.complete(D, y, question.rule, listed, average, question.ties, **parameters))
        except ValueError:
            return None
    return np.array(scores, float)


def designs_of_others(case, seed):
    """Pairs of a design and the function that enumerates it for some rows."""
    groups = groups_of(case, seed)

    def of_labels(make):
        return lambda rows: make(case.y[rows].tolist())

    pairs = [(design, of_labels(make)) for design, make in makers(case, seed)]
    if len(set(groups)) > 2:
        pairs.append((LeaveGroupsOut(groups), lambda rows: naive.leave_groups_out(groups[rows], 1)))
    return pairs


@over_seeds(4)
def test_scores_without_each_sample_equal_the_enumeration(seeds):
    compared = 0
    for seed in seeds:
        case = problem(seed)
        for d, (design, make) in enumerate(designs_of_others(case, seed)):
            pairs = [(design, make(np.arange(len(case.y))))]
            for q, question in enumerate(questions(seed + d, SETTINGS + REGRESSION, 5, pairs, case)):
                average = AVERAGES[(q + seed) % (2 if question.rule == "regression" else 3)]
                expected = enumerated(question, make, average)
                if expected is not None:
                    result = question.ask(average)
                    off = np.abs(result.score - result.influence().per_item - expected)
                    assert off.max() < 1e-12, f"{question.where} {average}"
                    compared += 1
    assert compared > 4 * len(seeds)


def check_removals(X, y, rule, design, n_removed, seed, **asked):
    """The total of some samples is the difference to the score of the others."""
    result = complete_cv(X, y, rule, design, n_jobs=1, **asked)
    found = result.influence()
    some = np.random.default_rng(seed).permutation(len(y))[:n_removed]
    for j in some:
        rest = without(y, j)
        others = design
        if isinstance(design, LeaveGroupsOut):
            others = LeaveGroupsOut(np.asarray(design.groups)[rest])
        expected = complete_cv(X[rest], y[rest], rule, others, n_jobs=1, **asked).score
        assert abs(result.score - found.per_item[j] - expected) < 2e-11, (seed, rule, asked, design, j)
    return result


def table(rng, n_items, n_classes, decimals=15):
    """Features and labels, every class at least twice."""
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 0.8 * y[:, None]
    return X.round(decimals), rng.permutation(y)


def larger_designs(rng, y):
    n_items, counts = len(y), np.bincount(y)
    yield from (
        Subsample(0.8),
        Subsample(int(rng.integers(5, n_items - 3))),
        LeaveOut(int(rng.integers(1, 4))),
    )
    yield from (KFold(int(rng.integers(2, 7))), LeaveGroupsOut(rng.integers(0, n_items // 5, n_items)))
    yield StratifiedKFold(int(rng.integers(2, counts.max() - 1)))
    yield StratifiedSubsample(0.75 if counts.min() > 3 else 0.5)
    sizes = {c: int(rng.integers(max(1, n // 3), n)) for c, n in enumerate(counts)}
    yield StratifiedSubsample(per_class=sizes)


@over_seeds(2)
def test_totals_equal_runs_without_each_sample(seeds):
    """Short lists, tied and untied; every kind of training sets, and a plugin."""
    shorter = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_items, n_classes = int(rng.integers(*((80, 120) if seed % 2 else (20, 42)))), 2 + seed % 4
        X, y = table(rng, n_items, n_classes, decimals=(0, 1, 15)[seed % 3])
        for d, design in enumerate(larger_designs(rng, y)):
            fixed = isinstance(design, Subsample | LeaveOut | KFold)
            rules = RULES if fixed else RULES[: -len(FIXED)]
            for s, (rule, given) in enumerate(rules):
                if (s + d + seed) % 9:
                    continue
                asked = {
                    "ties": ("random", "index")[(s + d) % 3 == 0],
                    "average": AVERAGES[(s + d) % 3],
                    **given,
                }
                if "loss" in given:
                    asked["loss"] = rng.integers(-2, 6, (n_classes, n_classes))
                targets = rng.normal(size=n_items) if rule == "regression" else y
                result = check_removals(X, targets, rule, design, 2, seed, **asked)
                shorter += result.depth < n_items // 2
    assert shorter > 0


def test_special_removals():
    """Classes of one sample, the first of its class, many equal samples, folds of two sizes, splitters."""
    rng = np.random.default_rng(1)
    X, y = table(rng, 16, 2, 0)
    y[7] = 2
    for design in (Subsample(6), KFold(4), StratifiedKFold(3), StratifiedSubsample(per_class=1)):
        for rule, asked in (("nn", {}), ("knn", {"n_neighbors": 2})):
            check_removals(X, y, rule, design, 3, 4, **asked)
    alone = np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    for design in (KFold(4), Subsample(5), StratifiedKFold(4)):
        for rule, asked in (("nn", {}), ("knn", {"n_neighbors": 3}), ("confidence", {"n_neighbors": 2})):
            check_removals(X[:11], alone, rule, design, 3, 0, **asked)
    X, y = table(rng, 23, 3)
    y[0] = 2  # without it, class 2 appears after the others
    check_removals(X, y, "nn", StratifiedKFold(4), 23, 0)
    X, y = rng.integers(0, 2, (40, 2)).astype(float), rng.integers(0, 2, 40)
    y[:3] = [1, 0, 0]  # without the first sample, class 0 appears first
    for design in (Subsample(20), KFold(7), StratifiedKFold(7), StratifiedSubsample(0.5)):
        check_removals(X, y, "nn", design, 3, 0)
        check_removals(X, y, "knn", design, 3, 0, n_neighbors=3)
    check_removals(X, rng.integers(0, 3, 40).astype(float), "regression", KFold(7), 3, 0, n_neighbors=2)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    for design in (
        StratifiedShuffle("both", Shares.of(np.bincount(y), 14), 15),  # a class gets one more at random
        StratifiedShuffle("some", Shares.of(np.bincount(y), 15), 8, balanced=True),
        ByClass("folds", StratifiedKFold(4)),
    ):
        for rule, asked in (("nn", {}), ("knn", {"n_neighbors": 3}), ("rank", {"rank": 2})):
            check_removals(X, y, rule, design, 3, 0, **asked)


@pytest.mark.parametrize("average", AVERAGES)
def test_the_total_has_two_parts(average):
    X, y = table(np.random.default_rng(3), 20, 2)
    for design in (KFold(3), Subsample(8), StratifiedKFold(3)):
        result = complete_cv(X, y, "nn", design, average=average)
        found = result.influence()
        for j in range(len(y)):
            rest = without(y, j)
            weights = complete_cv(X[rest], y[rest], "nn", design, average=average).weights
            kept = weights @ np.delete(result.per_item, j)
            assert found.as_tested[j] == pytest.approx(result.score - kept, abs=1e-14)
        np.testing.assert_allclose(found.as_tested + found.as_training, found.per_item, atol=1e-14)


def test_lists_that_end_too_early_show_in_the_bound():
    X, y = table(np.random.default_rng(6), 60, 2)
    lists = Neighbors.from_data(X).kneighbors(8)
    short = complete_cv(Neighbors.from_lists(*lists), y, "nn", Subsample(20)).influence()
    full = complete_cv(X, y, "nn", Subsample(20)).influence()
    assert full.error_bound < 1e-12 < short.error_bound
    assert np.abs(short.per_item - full.per_item).max() <= short.error_bound


def test_wrong_labels_are_among_the_most_harmful():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + 6 * y[:, None]
    wrong = rng.choice(200, 20, replace=False)
    y[wrong] = 1 - y[wrong]
    for rule, parameters, n_found in (("nn", {}, 17), ("knn", {"n_neighbors": 5}, 19)):
        found = complete_cv(X, y, rule, Subsample(0.5), **parameters).influence()
        assert len(set(found.most_harmful(20)) & set(wrong)) >= n_found
    loss = complete_cv(X, y, "nn", Subsample(0.8), loss=[[0, 1], [1, 0]]).influence()
    accuracy = complete_cv(X, y, "nn", Subsample(0.8)).influence()
    assert loss.is_loss
    assert not accuracy.is_loss
    np.testing.assert_allclose(loss.per_item, -accuracy.per_item, atol=1e-14)
    assert set(loss.most_harmful(15)) == set(accuracy.most_harmful(15))
    assert len(loss.most_harmful(1000)) == 200


def test_shares_of_a_class_that_goes_with_its_sample():
    """Refused as `complete_cv` of the other samples is; with one sample more, every influence exists."""
    asked = {"average": {0: 0.5, 1: 0.3, 2: 0.2}}
    for design, least in ((Subsample(3), 1), (StratifiedSubsample(per_class={0: 2, 1: 1, 2: 1}), 2)):
        for n_last in (least, least + 1):
            y = np.array([0] * 4 + [1] * 3 + [2] * n_last)
            X = np.random.default_rng(1).normal(size=(len(y), 2))
            if n_last > least:
                check_removals(X, y, "nn", design, len(y), 0, **asked)
                continue
            with pytest.raises(ValueError, match=r"without sample 7 .*: average") as caught:
                complete_cv(X, y, "nn", design, **asked).influence()
            with pytest.raises(ValueError, match=r"^average") as alone:
                complete_cv(X[without(y, 7)], y[without(y, 7)], "nn", design, **asked)
            assert str(caught.value).endswith(str(alone.value))
