"""Influence: the score without each sample, against enumeration and against runs on N - 1 samples."""

import pickle
from fractions import Fraction

import naive
import numpy as np
import pytest

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
)
from knnccv.driver._problem import AVERAGES
from knnccv.kernel import Tables, Variant, jit

FEW = 3  # cases of each kind among the fast tests; the others are marked slow


@jit
def nearest_two_agree(order, labels, target, constraints):
    """In designs of one size: the share of training sets whose two nearest have the target's class."""
    left = constraints.counts[0] - constraints.held_out
    n_train = constraints.n_train[0]
    p_zero, p_one, score = constraints.unit, constraints.unit * 0, constraints.unit * 0
    p_right = constraints.unit * 0
    for i in range(len(order.items)):
        own = labels.classes[order.items[i]] == labels.classes[target]
        hit_first = n_train * constraints.unit / (left - i)
        hit_second = (n_train - 1) * constraints.unit / (left - i)
        if own:
            score += p_right * hit_second
        p_one = p_one * (1 - hit_second) + p_zero * hit_first
        p_right = p_right * (1 - hit_second) + (p_zero * hit_first if own else 0.0)
        p_zero *= 1 - hit_first
    return score


class BothAgree(Variant):
    """A plugin: a fixed-size kernel and nothing else."""

    name = "both agree"
    fixed = nearest_two_agree

    def n_nearest(self, **_):
        return 2

    def check(self, task, **_):
        if task.train_size < 2:
            msg = "two training samples are needed"
            raise ValueError(msg)

    def tables(self, task, **_):
        return Tables()


RULES = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 1}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 3, "loss": True}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 2}),
    ("confidence", {"n_neighbors": 3, "score": "brier"}),
    ("regression", {"n_neighbors": 2}),
    (BothAgree, {}),
]


def few_fast(cases):
    """The cases, all but the first few marked slow."""
    return [case if i < FEW else pytest.param(case, marks=pytest.mark.slow) for i, case in enumerate(cases)]


def table(rng, n_items, n_classes, tied):
    """Features and labels, every class at least twice; on a lattice if `tied`."""
    y = rng.integers(0, n_classes, n_items)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    X = rng.normal(size=(n_items, 2)) + 0.8 * y[:, None]
    return np.round(X) if tied else X, rng.permutation(y)


def without_each(X, y, rule, design, **asked):
    """The score of the other samples, for every sample."""
    scores = []
    for j in range(len(y)):
        rest = np.delete(np.arange(len(y)), j)
        scores.append(complete_cv(X[rest], y[rest], rule, design, **asked).score)
    return np.array(scores)


def two_parts(found, result, weights_without):
    """The parts by their definition."""
    n_items = len(found.total)
    kept = np.array([weights_without[j] @ np.delete(result.per_item, j) for j in range(n_items)])
    np.testing.assert_allclose(found.as_tested, result.score - kept, atol=1e-13)
    np.testing.assert_allclose(found.as_tested + found.as_training, found.total, atol=1e-13)


def enumerated(case, rule, parameters, make, average, ties):
    D, y = case
    scores = []
    for j in range(len(y)):
        rest = [x for x in range(len(y)) if x != j]
        smaller = [[D[a][b] for b in rest] for a in rest]
        labels = [y[x] for x in rest]
        scores.append(naive.complete(smaller, labels, rule, make(labels), average, ties, **parameters))
    return scores


def library_and_naive_designs(rng, y):
    n_items = len(y)
    size = int(rng.integers(1, n_items - 1))
    k = int(rng.integers(2, n_items - 1))
    pairs = [
        (Subsample(size), lambda labels: naive.subsample(len(labels), size)),
        (Subsample(0.5), lambda labels: naive.subsample(len(labels), len(labels) // 2)),
        (LeaveOut(1), lambda labels: naive.leave_out(len(labels), 1)),
        (KFold(k), lambda labels: naive.kfold(len(labels), k)),
        (StratifiedSubsample(per_class=1), lambda labels: naive.stratified(labels, dict.fromkeys(labels, 1))),
    ]
    if np.bincount(y).max() > 2:
        pairs.append((StratifiedKFold(2), lambda labels: naive.stratified_kfold(labels, 2)))
    return pairs


@pytest.mark.parametrize("seed", few_fast(range(30)))
def test_scores_without_each_sample_equal_the_enumeration(seed):
    rng = np.random.default_rng(seed)
    n_items = 5 + seed % 3
    y = rng.integers(0, 2, n_items)
    y[:4] = [0, 1, 0, 1]
    y = rng.permutation(y)
    D = rng.integers(0, 4 if seed % 2 else 90, (n_items, n_items)).astype(float)
    compared = 0
    for d, (design, make) in enumerate(library_and_naive_designs(rng, y)):
        for s, (rule, given) in enumerate(RULES[:2] + RULES[3:6] + RULES[7:9]):
            if (s + d + seed) % 3 or (given.get("n_neighbors", 1) > 2 and d == 4):
                continue
            parameters = dict(given)
            if "loss" in given:
                parameters["loss"] = rng.integers(-2, 6, (2, 2)).tolist()
            average, ties = AVERAGES[(s + seed) % 3], ("random", "index")[(s + d) % 2]
            asked = {"ties": ties, "average": average, "metric": "precomputed", **parameters}
            try:
                expected = enumerated((D.tolist(), y.tolist()), rule, parameters, make, average, ties)
                result = complete_cv(D, y, rule, design, **asked)
            except ValueError:
                continue
            found = result.influence()
            where = f"{rule} {parameters} {design} {average} {ties}"
            np.testing.assert_allclose(
                result.score - found.total, [float(e) for e in expected], atol=1e-12, err_msg=where
            )
            compared += 1
    assert compared >= 4
    assert isinstance(expected[0], Fraction)


def designs_of(rng, y, n_items):
    counts = np.bincount(y)
    sizes = {c: int(rng.integers(1, n)) for c, n in enumerate(counts)}
    designs = [
        Subsample(int(rng.integers(5, n_items - 3))),
        Subsample(0.5),
        LeaveOut(int(rng.integers(1, 4))),
        KFold(int(rng.integers(2, 7))),
    ]
    if counts.min() >= 3:
        designs += [StratifiedSubsample(0.5), StratifiedSubsample(per_class=sizes)]
    if counts.max() > 3:
        designs += [StratifiedKFold(3)]
    return designs


def problems_of(seed):
    """Rules, designs and data of one seed."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(18, 42))
    n_classes = (2, 3, 2, 4)[seed % 4]
    X, y = table(rng, n_items, n_classes, tied=seed % 3 == 0)
    for d, design in enumerate(designs_of(rng, y, n_items)):
        for s, (rule, given) in enumerate(RULES):
            if (s + d + seed) % 4:
                continue
            parameters = dict(given)
            if "loss" in given:
                parameters["loss"] = rng.integers(-2, 6, (n_classes, n_classes))
            fixed = rule in ("regression", BothAgree)
            if fixed and d > 3:
                continue
            ties = "index" if rule is BothAgree or (s + d) % 3 == 0 else "random"
            targets = rng.normal(size=n_items) if rule == "regression" else y
            yield X, targets, rule, design, {"ties": ties, "average": AVERAGES[(s + seed) % 3], **parameters}


@pytest.mark.parametrize("seed", few_fast(range(36)))
def test_totals_equal_runs_without_each_sample(seed):
    compared = 0
    for X, y, rule, design, asked in problems_of(seed):
        try:
            expected = without_each(X, y, rule, design, **asked)
            result = complete_cv(X, y, rule, design, **asked)
        except ValueError:
            continue
        found = result.influence()
        where = f"{rule} {asked} {design}"
        np.testing.assert_allclose(result.score - found.total, expected, atol=1e-11, err_msg=where)
        compared += 1
    assert compared >= 8
