"""Rules without kernels, and kernels that see distances: random training sets against the enumeration."""

import math

import naive
import numpy as np
import pytest
from decide_rules import Closeness, Nearness, Prepared, Sometimes, closeness, falling, nearness, weighed
from problems import (
    REGRESSION,
    Shares,
    StratifiedShuffle,
    blobs,
    designs,
    groups_of,
    problem,
    questions,
    smallest,
)
from seeds import over_seeds

from knnccv import CompleteCV, Neighbors, SampledCV, complete_cv
from knnccv._core.driver import AVERAGES
from knnccv._core.luck.halves import halvings_of
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample


class Tally:
    """Sums of errors and of stated variances over many estimates."""

    def __init__(self):
        self.errors, self.variances = [], []

    def add(self, found, expected):
        self.errors.append(found.score - float(expected))
        self.variances.append(found.std_error**2)

    def check(self):
        """The sum of all errors is within four standard errors, and these have the right size."""
        assert abs(sum(self.errors)) < 4 * math.sqrt(sum(self.variances))
        squares = np.array(self.errors) ** 2
        spread = math.sqrt(((squares - self.variances) ** 2).sum())
        assert abs(squares.sum() - sum(self.variances)) < 4 * spread


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 150), marks=pytest.mark.slow)])
def test_a_rule_that_only_decides_equals_the_enumeration_on_average(seeds):
    tally = Tally()
    for seed in seeds:
        case = problem(seed)
        groups = groups_of(case, seed)
        pairs = designs(case, seed)
        pairs += [
            (LeaveGroupsOut(groups, p), naive.leave_groups_out(groups, p))
            for p in range(1, len(set(groups)))
        ]
        for d, (design, listed) in enumerate(pairs):
            k = 1 + (seed + d) % 3
            if (seed + d) % 2 or k > smallest(listed):
                continue
            ties, average = ("random", "index")[(seed + d // 2) % 2], AVERAGES[(seed + d) % 3]
            found = complete_cv(
                case.distances, case.y, Nearness, design, metric="precomputed", ties=ties, average=average,
                n_neighbors=k, n_draws=100, random_state=seed, n_jobs=1,
            )  # fmt: skip
            assert isinstance(found, SampledCV)
            assert found.truncation_bound == 0
            scores = naive.scores(case.distances, case.y, nearness, listed, ties, n_nearest=k)
            tally.add(found, naive.total(scores, case.y, listed, average))
            each = naive.item_means(scores, listed)
            assert [a is None for a in each] == np.isnan(found.per_item).tolist()
    assert len(tally.errors) > 2 * len(seeds)
    tally.check()


@pytest.mark.parametrize(
    "rules",
    [
        [("nn", {}), ("knn", {"n_neighbors": 3, "vote_ties": "random"})],
        pytest.param(
            [("rank", {"rank": 2}), ("confidence", {"n_neighbors": 3, "score": "brier"}), *REGRESSION],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_rules_with_kernels_can_be_sampled(rules):
    tally = Tally()
    for seed in range(10):
        for question in questions(seed, rules, len(rules)):
            if question.ties == "random":
                found = question.ask(method="sampled", n_draws=50, random_state=seed)
                tally.add(found, question.expected())
    tally.check()


@over_seeds(6)
def test_sets_of_groups_are_drawn_for_samples_with_too_many(seeds, monkeypatch):
    """Of the samples, and of a pool for a test set; the others are exact."""
    tally, n_sampled = Tally(), []
    for seed in [*seeds, 2]:  # some samples of seed 2 are exact
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 2)).round(seed % 3), rng.integers(0, 3, 30)
        design = LeaveGroupsOut(rng.permutation(np.arange(30) % 8), int(rng.integers(2, 5)))
        asked = {"n_neighbors": 1 + seed % 3, "ties": ("random", "index")[seed % 2], "n_jobs": 1}
        for test in (None, (rng.normal(size=(9, 2)).round(seed % 3), rng.integers(0, 3, 9))):
            exact = complete_cv(X, y, "knn", design, test=test, **asked)
            assert type(exact) is CompleteCV
            drawn = {"test": test, "n_draws": 60, "random_state": seed, **asked}
            tally.add(complete_cv(X, y, "knn", design, method="sampled", **drawn), exact.score)
            with monkeypatch.context() as patch:
                patch.setattr("knnccv._core.driver.groups.MAX_SETS", 0)
                patch.setattr("knnccv._core.driver.groups.MAX_CASES", 5)
                found = complete_cv(X, y, "knn", design, **drawn)
                if isinstance(found, SampledCV):
                    tally.add(found, exact.score)
                    n_sampled.append(found.n_sampled / len(found.per_item))
                    same = np.isclose(found.per_item, exact.per_item, rtol=0, atol=1e-12)
                    assert same.sum() >= len(same) - found.n_sampled
                else:
                    assert found.score == pytest.approx(exact.score, abs=1e-12)
    assert 0 < min(n_sampled) < 1
    tally.check()


def test_kernels_that_see_distances_equal_the_enumeration():
    for seed in range(8):
        case = problem(seed)
        for design, listed in designs(case, seed):
            scores = naive.scores(case.distances, case.y, closeness, listed, "index", n_nearest=1)
            for average in ("pooled", "class"):
                found = complete_cv(
                    case.distances, case.y, Closeness, design, metric="precomputed", average=average
                )
                assert type(found) is CompleteCV
                expected = float(naive.total(scores, case.y, listed, average))
                assert abs(found.score - expected) <= found.error_bound + 1e-15


def test_distances_are_those_of_the_metric():
    X, y = blobs(0, 40, 2)
    near = Neighbors.from_data(X)  # whose lists are ordered by squared distances
    for cv in (KFold(3), StratifiedSubsample(0.5)):
        found = complete_cv(X, y, Closeness, cv)
        given = complete_cv(Neighbors.from_lists(*near.kneighbors(39)), y, Closeness, cv)
        assert found.score == pytest.approx(given.score, rel=1e-14)


def test_samples_that_the_kernel_leaves_out_are_sampled():
    tally = Tally()
    X, y = blobs(1, 40, 2)
    for cv in (Subsample(0.5), StratifiedKFold(3)):
        exact = complete_cv(X, y, Closeness, cv)
        for seed in range(10):
            found = complete_cv(X, y, Sometimes, cv, n_draws=40, random_state=seed)
            assert isinstance(found, SampledCV)
            assert found.n_sampled == 20
            assert np.array_equal(found.per_item[::2], exact.per_item[::2])
            assert not found.per_item_std_error[::2].any()
            assert found.per_item_std_error[1::2].any()
            tally.add(found, exact.score)
    tally.check()
    everything = complete_cv(X, y, Sometimes, KFold(3), n_draws=40, method="sampled")
    assert everything.per_item_std_error[::2].any()


def test_a_python_function_of_the_distances(monkeypatch):
    case, tally = problem(1), Tally()
    for seed, (design, listed) in enumerate(designs(case, 1)):
        if smallest(listed) > 1:
            asked = {"metric": "precomputed", "n_draws": 101, "random_state": seed, "weights": falling}
            found = complete_cv(case.distances, case.y, Prepared, design, **asked)
            tally.add(found, naive.complete(case.distances, case.y, weighed, listed, n_nearest=2))
            with monkeypatch.context() as patch:
                patch.setattr("knnccv._core.driver.sampled.AT_ONCE", 300)  # a row at a time
                again = complete_cv(case.distances, case.y, Prepared, design, **asked)
            assert np.array_equal(found.per_item, again.per_item)
    tally.check()


def test_classes_that_get_an_extra_sample_at_random():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [2, 3, 3, 5])
    X = rng.integers(0, 3, (len(y), 2)).astype(float)
    tally = Tally()
    for extra in (1, 2):
        design = StratifiedShuffle("", Shares((1, 1, 2, 2), (0, 1, 3), extra), len(y) - 6 - extra)
        for rule, parameters in (("nn", {}), ("rank", {"rank": 2})):
            expected = complete_cv(X, y, rule, design, exact=True, **parameters)
            for seed in range(10):
                asked = {"method": "sampled", "n_draws": 60, "random_state": seed, **parameters}
                tally.add(complete_cv(X, y, rule, design, n_jobs=1, **asked), expected.fraction)
    tally.check()


@pytest.mark.parametrize("ties", ["random", "index"])
def test_shallow_lists_are_deepened(ties, monkeypatch):
    X, y = blobs(0, 90, 3)
    asked = {"n_neighbors": 4, "n_draws": 30, "ties": ties, "metric": "manhattan"}
    for cv in (Subsample(0.3), StratifiedKFold(4)):
        expected = complete_cv(X.round(1), y, Nearness, cv, **asked)
        with monkeypatch.context() as patch:
            patch.setattr("knnccv._core.driver.sampled.RARE", 0.5)
            found = complete_cv(X.round(1), y, Nearness, cv, **asked)
        assert np.array_equal(found.per_item, expected.per_item)
        assert (found.std_error, found.n_tied) == (expected.std_error, expected.n_tied)


def test_short_lists_are_reported():
    X, y = blobs(2, 40, 2)
    short = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(6))
    found = complete_cv(short, y, Nearness, Subsample(20), n_neighbors=3, n_draws=200)
    whole = complete_cv(X, y, Nearness, Subsample(20), n_neighbors=3, n_draws=200)
    assert found.truncation_bound > 0.1
    assert whole.truncation_bound == 0
    assert 0 <= whole.score - found.score < found.truncation_bound + 5 * whole.std_error


def test_what_a_sampled_result_has():
    X, y = blobs(3, 30, 2)
    found = complete_cv(X, y, Nearness, KFold(4), n_draws=11)
    assert isinstance(found, CompleteCV)
    assert (found.is_exact, found.certified, found.error_bound) == (False, False, math.inf)
    assert found.n_draws == 12  # folds of 7 and of 8 samples: 5.5 draws for each, rounded up
    assert found.per_item_std_error.shape == (30,)
    total = math.sqrt((found.weights**2 * found.per_item_std_error**2).sum())
    assert total < found.std_error < 1.2 * total
    assert list(found.to_frame().columns) == ["label", "score", "weight", "std_error"]
    assert set(found.per_class()) == {0, 1}


LINE, LINE_Y = np.arange(3.0)[:, None], [0, 1, 0]


def test_few_draws_that_agree_are_not_certain():
    # Every sample has two training sets of one sample. Samples 0 and 2 are right with one of them.
    for n_draws, seeds in ((2, range(40)), (3, range(120))):
        asked = {"method": "sampled", "n_draws": n_draws, "n_jobs": 1}
        found = [complete_cv(LINE, LINE_Y, "nn", Subsample(1), random_state=s, **asked) for s in seeds]
        agree = [each for each in found if not each.per_item_std_error.any()]
        assert len(agree) > 4
        for each in agree:
            assert each.std_error == pytest.approx(1 / (3 * n_draws), rel=1e-12)
            assert abs(each.score - 1 / 3) <= 4 * each.std_error
        assert all(each.std_error > 0 for each in found)


@pytest.mark.parametrize(("rule", "k"), [("knn", 1), ("weighted_regression", 2)])
@pytest.mark.parametrize("n_draws", [100, 1001])
def test_a_tested_sample_apart_has_a_choice(rule, k, n_draws):
    """Two of three samples train. With as many draws as here, about half of the seeds see no variance."""
    asked = {"n_neighbors": k, "test": ([[0.1]], [0]), "n_jobs": 1}
    pool = np.array([[0.0], [1.0], [2.5]]), [0, 1, 2], rule, KFold(3)
    if rule == "knn":
        exact = 2 / 3  # the nearest of three is in two of three training sets
    else:
        sets = [(0.1, 0), (0.9, 1)], [(0.1, 0), (2.4, 2)], [(0.9, 1), (2.4, 2)]
        means = [sum(v / d for d, v in each) / sum(1 / d for d, _ in each) for each in sets]
        exact = np.mean(np.square(means))
    for seed in range(30):
        found = complete_cv(*pool, method="sampled", n_draws=n_draws, random_state=seed, **asked)
        assert abs(found.score - exact) < 4 * found.std_error


def test_one_training_sample_of_a_random_class():
    # The sizes of all classes are 0, and one of them gets the only sample.
    design = StratifiedShuffle("", Shares((0, 0), (0, 1), 1), 2)
    found = complete_cv(LINE, LINE_Y, Nearness, design, n_neighbors=1, n_draws=400)
    # Sample 1 is never right. Samples 0 and 2 are right with each other, rarer than with sample 1: the
    # class 0 is drawn with probability 1/2, and they are then left out for the other one only.
    assert abs(found.per_item[0] - 1 / 3) < 4 * found.per_item_std_error[0]
    assert found.per_item[1] == 0


def test_samples_without_a_choice_are_certain():
    features, y = blobs(0, 12, 2)
    # In the last design sample 0 alone is tested, by all samples of class 1.
    alone = StratifiedSubsample(per_class={0: 0, 1: int(np.sum(y))})
    for cv in (LeaveOut(1), LeaveGroupsOut(np.arange(12) // 3), alone):
        assert complete_cv(features, y, Nearness, cv, n_draws=5).std_error == 0
    tied = complete_cv(np.zeros((12, 1)), y, "nn", LeaveOut(1), method="sampled", n_draws=2)
    assert tied.std_error > 0


def test_the_other_draw_has_the_largest_loss():
    features, y = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]), [0, 0, 0, 1, 1, 1]
    loss = [[0, 7], [7, 0]]
    found = complete_cv(features, y, "nn", KFold(4), method="sampled", n_draws=20, loss=loss)
    assert found.score == 0
    # Half of the folds have one sample, with one training set; the others have two, with 10 draws.
    assert found.std_error == pytest.approx(7 * (1 / 2 / 6) / 10, rel=1e-12)


def test_halves_are_scored_by_the_same_kernel():
    X, y = blobs(1, 40, 2)
    result = complete_cv(X, y, Closeness, Subsample(0.5))
    request = result._halves_request(3, None, 0)
    halvings = halvings_of(result._evaluation.problem, request)
    found = result.half_scores(3).scores
    for at, half in np.ndindex(3, 2):
        rows = halvings.rows(at, half)
        alone = complete_cv(X[rows], y[rows], Closeness, Subsample(0.5))
        assert found[at, half] == pytest.approx(alone.score, rel=1e-12)
