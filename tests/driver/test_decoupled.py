"""Decoupled sampling against the enumeration of all training sets."""

import math
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

import naive
import naive_decide
import numpy as np
import pytest
from decide_rules import Nearness, Prepared, falling, nearness
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
)
from knnccv.sampled._draws import estimate
from knnccv.sklearn._designs import Shares, StratifiedShuffle

AVERAGES = ("pooled", "item", "class")
N_PROBLEMS = 200
FAST = 12


class Tally:
    """Sums of errors and of stated variances over many estimates."""

    def __init__(self):
        self.errors, self.variances, self.squares = [], [], []

    def add(self, found, expected):
        self.errors.append(found.score - float(expected))
        self.variances.append(found.std_error**2)

    def check(self):
        """The sum of all errors is within four standard errors, and these have the right size."""
        assert abs(sum(self.errors)) < 4 * math.sqrt(sum(self.variances))
        squares = np.array(self.errors) ** 2
        spread = math.sqrt(((squares - self.variances) ** 2).sum())
        assert abs(squares.sum() - sum(self.variances)) < 4 * spread


def few_samples(listed):
    return min(len(training) for outcome in listed.outcomes for training in outcome)


def check_problems(seeds):
    tally = Tally()
    for seed in seeds:
        case = problem(seed)
        for d, (design, listed) in enumerate(designs(case, seed)):
            k = 1 + (seed + d) % 3
            if (seed + d) % 2 or k > few_samples(listed):
                continue
            ties, average = ("random", "index")[(seed + d // 2) % 2], AVERAGES[(seed + d) % 3]
            inputs = case.distances.tolist(), case.y.tolist(), nearness, k, listed, ties
            found = complete_cv(
                case.distances, case.y, Nearness, design, metric="precomputed", ties=ties, average=average,
                n_neighbors=k, n_draws=100, random_state=seed, n_jobs=1,
            )  # fmt: skip
            assert isinstance(found, SampledCV)
            assert found.truncation_bound == 0
            tally.add(found, naive_decide.complete(*inputs, average))
            each = naive_decide.per_item(*inputs, average)
            assert [a is None for a in each] == np.isnan(found.per_item).tolist()
    assert len(tally.errors) > 2 * len(seeds)
    tally.check()


def test_a_rule_that_only_decides_equals_the_enumeration_on_average():
    check_problems(range(FAST))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(4))
def test_more_problems(chunk):
    size = N_PROBLEMS // 4
    check_problems(range(chunk * size, (chunk + 1) * size))


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        ("nn", {}),
        pytest.param("knn", {"n_neighbors": 3, "vote_ties": "random"}, marks=pytest.mark.slow),
        pytest.param("rank", {"rank": 2}, marks=pytest.mark.slow),
        pytest.param("confidence", {"n_neighbors": 3, "score": "brier"}, marks=pytest.mark.slow),
        pytest.param("regression", {"n_neighbors": 2}, marks=pytest.mark.slow),
    ],
)
def test_rules_with_kernels_can_be_sampled(rule, parameters):
    tally = Tally()
    for seed in range(20):
        case = problem(seed)
        for design, listed in designs(case, seed):
            if parameters.get("n_neighbors", 1) > few_samples(listed):
                continue
            if rule == "regression" and "Stratified" in type(design).__name__:
                continue
            inputs = case.distances.tolist(), case.y.tolist(), rule, listed
            found = complete_cv(
                case.distances, case.y, rule, design, metric="precomputed", method="sampled", n_draws=50,
                random_state=seed, n_jobs=1, **parameters,
            )  # fmt: skip
            tally.add(found, naive.complete(*inputs, **parameters))
    tally.check()


@pytest.mark.parametrize("p", [1, 2])
def test_groups_that_are_left_out_together(p):
    tally = Tally()
    for seed in range(12):
        case = problem(seed)
        rng = np.random.default_rng(seed)
        groups = np.append(np.arange(4), rng.integers(0, 4, len(case.y) - 4))
        listed = naive.leave_groups_out(groups, p)
        k = 1 + seed % 3  # training sets may have fewer samples
        inputs = case.distances.tolist(), case.y.tolist(), nearness, k, listed
        found = complete_cv(
            case.distances, case.y, Nearness, LeaveGroupsOut(groups, p), metric="precomputed",
            n_neighbors=k, n_draws=100, random_state=seed, n_jobs=1,
        )  # fmt: skip
        tally.add(found, naive_decide.complete(*inputs))
    tally.check()


def test_classes_that_get_an_extra_sample_at_random():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [2, 3, 3, 5])
    X = rng.integers(0, 3, (len(y), 2)).astype(float)
    tally = Tally()
    for extra in (1, 2):
        train = Shares((1, 1, 2, 2), (0, 1, 3), extra)
        design = StratifiedShuffle("", train, len(y) - 6 - extra)
        for rule in ("rank", "nn"):
            expected = complete_cv(
                X, y, rule, design, exact=True, **({"rank": 2} if rule == "rank" else {})
            )
            for seed in range(10):
                found = complete_cv(
                    X, y, rule, design, method="sampled", n_draws=100, random_state=seed, n_jobs=1,
                    **({"rank": 2} if rule == "rank" else {}),
                )  # fmt: skip
                tally.add(found, expected.exact)
    tally.check()


@pytest.mark.parametrize("ties", ["random", "index"])
@pytest.mark.parametrize("cv", [Subsample(0.3), StratifiedKFold(4), StratifiedSubsample(0.5)])
def test_threads_blocks_and_depths_change_no_bit(cv, ties, monkeypatch):
    X, y = blobs(0, 90, 3)
    X = np.round(X, 1) if ties == "random" else X
    asked = {"n_neighbors": 4, "n_draws": 30, "random_state": 5, "ties": ties}
    items, values = Neighbors.from_data(X, "manhattan").kneighbors(89)
    given = complete_cv(Neighbors.from_lists(items, values), y, Nearness, cv, **asked)
    asked["metric"] = "manhattan"
    once = complete_cv(X, y, Nearness, cv, n_jobs=1, **asked)
    again = complete_cv(X, y, Nearness, cv, n_jobs=3, **asked)
    monkeypatch.setattr(Neighbors, "rows_at_once", lambda *_: 7)
    monkeypatch.setattr("knnccv.sampled._decoupled.RARE", 0.5)  # shallow lists, which are deepened
    blocks = complete_cv(X, y, Nearness, cv, n_jobs=2, **asked)
    for other in (again, given, blocks):
        assert np.array_equal(once.per_item, other.per_item)
        assert np.array_equal(once.per_item_std_error, other.per_item_std_error)
        assert (once.score, once.std_error, once.tied) == (other.score, other.std_error, other.tied)
    other = complete_cv(X, y, Nearness, cv, **{**asked, "random_state": 6})
    assert other.score != once.score


@pytest.mark.slow
def test_processes_change_no_bit():
    X, y = blobs(1, 60, 2)
    asked = {"cv": KFold(4), "n_draws": 20}
    with ProcessPoolExecutor(2) as pool:
        found = complete_cv(X, y, Nearness, executor=pool, **asked)
    assert np.array_equal(found.per_item, complete_cv(X, y, Nearness, **asked).per_item)


def test_a_python_function_of_the_distances(monkeypatch):
    case, tally = problem(1), Tally()
    for seed, (design, listed) in enumerate(designs(case, 1)):
        if few_samples(listed) < 2:
            continue

        def weigh(near, distances, y, x):
            weights = [math.exp(-d) for d in distances]
            own = sum(w for w, j in zip(weights, near, strict=True) if y[j] == y[x])
            return own / sum(weights)

        asked = {"metric": "precomputed", "n_draws": 101, "random_state": seed, "weights": falling}
        found = complete_cv(case.distances, case.y, Prepared, design, **asked)
        tally.add(found, naive_decide.complete(case.distances.tolist(), case.y.tolist(), weigh, 2, listed))
        with monkeypatch.context() as patch:
            patch.setattr("knnccv.sampled._decoupled.AT_ONCE", 300)  # a row at a time
            again = complete_cv(case.distances, case.y, Prepared, design, **asked)
        assert np.array_equal(found.per_item, again.per_item)
    tally.check()


def test_short_lists_are_reported():
    X, y = blobs(2, 40, 2)
    items, distances = Neighbors.from_data(X).kneighbors(6)
    short = Neighbors.from_lists(items, distances)
    found = complete_cv(short, y, Nearness, Subsample(20), n_neighbors=3, n_draws=200)
    whole = complete_cv(X, y, Nearness, Subsample(20), n_neighbors=3, n_draws=200)
    assert found.truncation_bound > 0.1
    assert whole.truncation_bound == 0
    assert 0 <= whole.score - found.score < found.truncation_bound + 5 * whole.std_error
    assert "lists too short" in repr(found)


def test_what_a_sampled_result_has_and_what_it_has_not():
    X, y = blobs(3, 30, 2)
    found = complete_cv(X, y, Nearness, KFold(4), n_draws=11)
    assert isinstance(found, CompleteCV)
    assert (found.exact, found.certified, found.error_bound) == (False, False, math.inf)
    assert found.n_draws == 12  # folds of 7 and of 8 samples: 5.5 draws for each, rounded up
    assert found.per_item_std_error.shape == (30,)
    total = math.sqrt((found.weights**2 * found.per_item_std_error**2).sum())
    assert total == pytest.approx(found.std_error, rel=1e-12)
    assert "12 random training sets for each of 30 samples" in repr(found)
    assert list(found.to_frame().columns) == ["label", "score", "weight", "std_error"]
    assert set(found.per_class()) == {0, 1}
    for further in (
        found.standard_error, found.confusion, found.influence, found.tie_report, found.split_std,
        found.confidence_interval, found.half_scores,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="needs an exact score"):
            further()


def test_the_estimate_is_that_of_a_stratified_sample():
    scores = np.array([1.0, 0.0, 4.0, 3.0, 2.0, 2.0, 5.0])  # slices 0, 1, 2; a third draw of slice 0
    slices = [[1.0, 3.0, 5.0], [0.0, 2.0], [4.0, 2.0]]
    means = [Fraction(sum(map(int, each)), len(each)) for each in slices]
    spread = [np.var(each, ddof=1) / len(each) for each in slices]
    mean, variance = estimate(scores)
    assert mean == pytest.approx(float(sum(means) / 3), rel=1e-15)
    assert variance == pytest.approx(sum(spread) / 9, rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("cv", [Subsample(10), StratifiedKFold(3)])
def test_the_stated_standard_error_is_right(cv):
    X, y = blobs(4, 24, 2)
    found = [
        complete_cv(X, y, Nearness, cv, n_neighbors=3, n_draws=20, random_state=seed, n_jobs=1)
        for seed in range(1000)
    ]
    seen = np.std([each.score for each in found], ddof=1)
    stated = math.sqrt(np.mean([each.std_error**2 for each in found]))
    print(f"{cv}: stated {stated:.3e}, seen {seen:.3e}, ratio {stated / seen:.3f}")
    assert stated == pytest.approx(seen, rel=0.1)
    largest = max(abs(each.std_error / seen - 1) for each in found)
    print(f"largest deviation of one stated standard error {largest:.2f}")


def test_neighbors_keep_their_lists():
    X, y = blobs(5, 300, 2)
    near = Neighbors.from_data(X)
    first = complete_cv(near, y, Nearness, KFold(4), n_draws=10)
    assert near._stored is not None
    again = complete_cv(near, y, Nearness, KFold(4), n_draws=10)
    assert np.array_equal(first.per_item, again.per_item)
