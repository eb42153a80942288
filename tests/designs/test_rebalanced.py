"""`RebalancedLeaveOneOut` against the list of its training sets, in fractions."""

import itertools
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import plain, problem

from knnccv import (
    RebalancedLeaveOneOut,
    StratifiedSubsample,
    complete_cv,
    monte_carlo_cv,
)
from knnccv._labels import encode_labels

N_PROBLEMS = 210
SETTINGS = [
    ("nn", {}),
    ("knn", {"n_neighbors": 1}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 2, "vote_ties": "random"}),
    ("nn", {"loss": True}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 2}),
    ("confidence", {"n_neighbors": 2, "score": "brier"}),
]


def expected_scores(distances, y, name, ties, **parameters):
    """The mean score of every sample over the training sets without it and one of every other class."""
    classes = sorted(set(y))
    found = []
    for x in range(len(y)):
        others = [[j for j in range(len(y)) if y[j] == c] for c in classes if c != y[x]]
        _, groups = naive.neighbor_order(distances[x], x)
        scores = []
        for left_out in itertools.product(*others):
            inside = [[j for j in group if j not in left_out] for group in groups]
            inside = [group for group in inside if group]
            scores.append(naive.expected_over_ties(name, inside, y, x, parameters, ties))
        found.append(sum(scores, Fraction(0)) / len(scores))
    return found


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_equals_the_list_of_training_sets(seed):
    case = problem(seed)
    n_classes = 2 + seed % 2
    y = np.arange(len(case.y)) % n_classes
    if len(y) // n_classes < 2:
        y = np.arange(len(y)) % 2
    name, setting = SETTINGS[seed % len(SETTINGS)]
    parameters = case.parameters(setting)
    if "loss" in parameters:
        size = len(np.unique(y))
        parameters["loss"] = np.random.default_rng(seed).integers(-2, 6, (size, size))
    ties = ["random", "index"][seed % 3 == 2]
    average = ["pooled", "item", "class"][seed % 5 % 3]
    found = complete_cv(
        case.distances, y, name, RebalancedLeaveOneOut(), metric="precomputed", ties=ties, average=average,
        exact=seed % 7 == 0, **parameters,
    )  # fmt: skip
    expected = expected_scores(case.distances.tolist(), y.tolist(), name, ties, **plain(parameters))
    assert found.per_item == pytest.approx([float(each) for each in expected], abs=1e-13)
    counts = np.bincount(y)
    share = [
        Fraction(1, len(y)) if average != "class" else Fraction(1, len(counts) * int(counts[c])) for c in y
    ]
    score = sum(w * a for w, a in zip(share, expected, strict=True))
    if seed % 7 == 0:
        assert found.exact == score
    else:
        assert abs(Fraction(found.score) - score) <= found.error_bound


def test_a_majority_of_all_is_right_by_chance():
    y = np.arange(20) % 2
    X = np.random.default_rng(3).normal(size=(20, 2))
    found = complete_cv(X, y, "knn", RebalancedLeaveOneOut(), n_neighbors=18, vote_ties="random")
    assert found.score == pytest.approx(0.5, abs=1e-12)


def test_is_the_stratified_subsample_except_for_the_average():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], [15, 10, 5])
    ours = complete_cv(X, y, "knn", RebalancedLeaveOneOut(), n_neighbors=3)
    same = StratifiedSubsample(per_class={"a": 14, "b": 9, "c": 4})
    theirs = complete_cv(X, y, "knn", same, n_neighbors=3, average="item")
    assert ours.score == theirs.score
    assert ours.n_train_sets == 15 * 10 * 5
    assert repr(RebalancedLeaveOneOut()) == ours.design == "RebalancedLeaveOneOut()"
    runs = monte_carlo_cv(
        X, y, "knn", RebalancedLeaveOneOut(), n_repeats=4000, random_state=0, n_neighbors=3
    )
    assert abs(runs.score - ours.score) < 4 * runs.standard_error


def test_draws_one_sample_of_every_class():
    labels = encode_labels([0, 1, 0, 2, 1, 2, 0])
    fold, kinds = RebalancedLeaveOneOut().draw(labels, np.random.default_rng(0))
    assert np.bincount(labels.codes[fold == 0]).tolist() == [1, 1, 1]
    assert kinds.tolist() == [0]


def test_halves_use_the_same_design():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    found = complete_cv(rng.normal(size=(60, 2)), y, "knn", RebalancedLeaveOneOut(), n_neighbors=3)
    assert 0.02 < found.standard_error(50) < 0.2


def test_a_class_of_one_sample_is_refused():
    with pytest.raises(ValueError, match="at least two samples of every class, but class 1 has one"):
        complete_cv(np.arange(5.0)[:, None], [0, 0, 0, 0, 1], "nn", RebalancedLeaveOneOut())


def test_real_targets_are_refused():
    with pytest.raises(ValueError, match="real targets, no classes to stratify by"):
        complete_cv(np.arange(5.0)[:, None], np.arange(5.0), "regression", RebalancedLeaveOneOut())
