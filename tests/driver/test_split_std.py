"""The spread of one run: the formulas against the enumeration of all runs, random runs against both."""

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import SETTINGS, blobs, designs, problem, questions, special_designs
from scipy.sparse import csr_array
from seeds import over_seeds

from knnccv import KFold, LeaveGroupsOut, LeaveOut, Neighbors, StratifiedKFold, Subsample, complete_cv
from knnccv.datasets import load_diabetes, load_wine
from knnccv.driver import AVERAGES

ONE_NEIGHBOR = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 1}),
    ("rank", {"rank": 1}),
    ("confidence", {"n_neighbors": 1, "score": "brier"}),
    ("regression", {"n_neighbors": 1}),
]


def variance_of(question, average):
    """The variance over all runs, a Fraction."""
    runs = naive.run_scores(question.scores, question.y, question.listed, question.known_as(average))
    return naive.variance(runs)


@over_seeds(8, 24)
def test_the_formulas_equal_the_enumeration_of_all_runs(seeds):
    """What one neighbor decides, in designs that do not heed classes; its square is a rational number."""
    for seed in seeds:
        case = problem(seed)
        pairs = [(d, listed) for d, listed in designs(case, seed) if not d.stratifies and d != LeaveOut(1)]
        for q, question in enumerate(questions(seed, ONE_NEIGHBOR, 2, pairs, case)):
            if question.ties == "index":
                average = AVERAGES[(q // 2 + seed) % (2 if question.rule == "regression" else 3)]
                found, expected = question.ask(average).split_std("exact"), variance_of(question, average)
                assert (found.exact, found.n_runs) == (True, 0)
                off = abs(Fraction(found.std) ** 2 - expected)
                assert off <= expected / 10**12 + Fraction(1, 10**28), (question.where, average)
                off = abs(found.std - math.sqrt(expected))
                assert off <= found.error + 1e-15 * found.std, (question.where, average)


@pytest.mark.parametrize("seeds", [[5, 30], pytest.param(range(33, 41), marks=pytest.mark.slow)])
def test_random_runs_agree_with_the_enumeration(seeds):
    """5,000 runs of all rules and designs; the standard errors may be rough."""
    for seed in seeds:
        case = problem(seed)
        pairs = [(d, listed) for d, listed in designs(case, seed) if d != LeaveOut(1)]
        pairs += [pair for pair in special_designs(case, seed) if getattr(pair[0], "p", 1) > 1]
        for q, question in enumerate(questions(seed, SETTINGS, 8, pairs, case)):
            average = AVERAGES[q % 3]
            found = question.ask(average).split_std()
            expected = math.sqrt(variance_of(question, average))
            assert found.exact == (found.n_runs == 0)
            off = abs(found.std - expected)
            assert off <= 5 * found.error + 0.002 * expected + 1e-12, (question.where, average, found)


def test_ten_samples_in_training_sets_of_every_size():
    rng = np.random.default_rng(0)
    D, y, loss = rng.random((10, 10)), rng.integers(0, 3, 10), rng.integers(-3, 4, (3, 3))
    for size in (1, 5, 8, 9):
        found = complete_cv(D, y, "nn", Subsample(size), metric="precomputed", loss=loss).split_std("exact")
        listed = naive.subsample(10, size)
        scores = naive.scores(D, y, "nn", listed, loss=loss)
        expected = naive.variance(naive.run_scores(scores, y, listed))
        assert found.std == pytest.approx(math.sqrt(expected), rel=1e-12)


SIZES = [Subsample(0.7), Subsample(12), KFold(5), KFold(7)]


@pytest.mark.parametrize("design", SIZES, ids=repr)
def test_formulas_and_random_runs_agree_within_their_errors(design, monkeypatch):
    """Lists that end where little is left, lists that end too early, and 5,000 runs."""
    X, y = blobs(5, 121, 3)
    result = complete_cv(X, y, "nn", design)
    found, runs = result.split_std("exact"), result.split_std("sampled")
    with monkeypatch.context() as patch:
        patch.setattr("knnccv.runs._split_exact.PRECISION", 0.0)
        whole = result.split_std("exact")
    assert abs(found.std - whole.std) <= found.error + whole.error
    assert found.error < 1e-6
    assert whole.error < 1e-9
    assert (runs.exact, runs.n_runs) == (False, 5000)
    assert abs(runs.std - whole.std) <= 4 * runs.error
    assert 0 < runs.error < 0.05 * runs.std
    errors = []
    for depth in (1, 2, 6, 14, 60):
        near = Neighbors.from_data(X, n_neighbors=depth)
        short = complete_cv(near, y, "nn", design).split_std("exact")
        assert abs(short.std - whole.std) <= short.error + whole.error
        errors.append(short.error)
    assert errors[0] > errors[-1]


def test_lists_of_different_lengths_are_within_the_bound():
    X, y = blobs(2, 80, 2)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))
    whole = complete_cv(X, y, "nn", KFold(5)).split_std("exact")
    near = Neighbors.from_graph(csr_array(np.where(np.quantile(D, 0.6) > D, D, 0.0)))
    found = complete_cv(near, y, "nn", KFold(5)).split_std("exact")
    assert abs(found.std - whole.std) <= found.error + whole.error


def test_one_open_run_of_sixteen_is_within_the_bound():
    """All that is open is in one run, which alone moves the deviation of all runs from 0."""
    X, y = np.repeat([0.0, 100.0], 8)[:, None] + np.arange(16)[:, None] % 8, np.repeat([0, 1], 8)
    D = np.abs(X - X.T)
    D[0, 2:] = 0.0  # this list has one neighbor, but three vote
    D[8:, :8] = D[1:8, 8:] = 0.0
    whole = complete_cv(X, y, "knn", Subsample(15), n_neighbors=3).split_std("exact")
    near = Neighbors.from_graph(csr_array(D))
    found = complete_cv(near, y, "knn", Subsample(15), n_neighbors=3).split_std("exact")
    assert whole.std == 0
    assert found.std > 0.2
    assert found.std <= found.error + whole.error


def test_where_nothing_is_random_there_is_no_spread():
    case = problem(33)
    n_items = len(case.y)
    for design in (LeaveOut(1), KFold(n_items), LeaveGroupsOut([0, 0, 0, 1, 1, 2, 2][:n_items])):
        found = complete_cv(case.distances, case.y, "knn", design, metric="precomputed", n_neighbors=2)
        spread = found.split_std()
        assert (spread.std, spread.error, spread.exact) == (0, 0, True)
    X, y = np.arange(20.0)[:, None] + 100 * (np.arange(20) > 9)[:, None], np.arange(20) > 9
    for design in (KFold(4), Subsample(16), StratifiedKFold(3)):
        found = complete_cv(X, y, "nn", design).split_std()
        assert found.std <= found.error < 1e-3  # 3 / 5,000 where no run of 5,000 differs
    one = complete_cv(X, np.zeros(20), "nn", KFold(4)).split_std()
    assert (one.std, one.exact) == (0, True)


@pytest.mark.slow
def test_threads_batches_and_seeds(monkeypatch):
    X, y = blobs(8, 600, 3)
    monkeypatch.setattr("knnccv.runs._random_runs.N_RUNS", 600)
    for design in (Subsample(0.8), KFold(5)):
        result = complete_cv(X, y, "nn", design)
        for method in ("exact", "sampled"):
            assert result.split_std(method, n_jobs=1) == result.split_std(method, n_jobs=2)
    result = complete_cv(X[:90], y[:90], "confidence", KFold(5))
    one, four = result.split_std(), result.split_std(n_repeats=4)
    assert (four.std, four.error) == (one.std / 2, one.error / 2)
    assert float(one) == one.std
    assert (
        result.split_std(random_state=0) == one == result.split_std(random_state=np.random.default_rng(0))
    )
    assert result.split_std(random_state=1) != one
    monkeypatch.setattr("knnccv.runs._trials.BATCH_BYTES", 90 * 8 * 7)
    assert result.split_std().std == pytest.approx(one.std, rel=1e-12)


def test_approximate_neighbors_are_not_certified(monkeypatch):
    monkeypatch.setattr("knnccv.runs._random_runs.N_RUNS", 100)
    X, y = blobs(8, 90, 3)
    near = Neighbors.from_lists(Neighbors.from_data(X).kneighbors(30)[0], approximate=True)
    result = complete_cv(near, y, "nn", KFold(5))
    assert result.split_std().error == math.inf
    assert result.split_std("sampled").error < 0.1


def test_formulas_of_too_many_steps_give_way_to_random_runs(monkeypatch):
    X, y = blobs(8, 40, 3)
    monkeypatch.setattr("knnccv.runs._random_runs.N_RUNS", 50)
    monkeypatch.setattr("knnccv.runs._split_exact.MOST_STEPS", 10)
    long = complete_cv(X, y, "nn", KFold(5))
    with pytest.raises(ValueError, match=r"about .* steps, more than the 10 that are allowed"):
        long.split_std("exact")
    assert long.split_std().n_runs == 50


@pytest.mark.slow
@pytest.mark.parametrize("design", [Subsample(0.5), Subsample(0.9), KFold(7)], ids=repr)
def test_twenty_thousand_runs_of_the_bundled_sets(design, monkeypatch):
    wine, diabetes = load_wine(), load_diabetes()
    results = [
        complete_cv(wine.X, wine.y, "nn", design, ties="index"),
        complete_cv(diabetes.X, diabetes.y > np.median(diabetes.y), "nn", design, ties="index"),
        complete_cv(diabetes.X, diabetes.y, "regression", design, n_neighbors=1, ties="index"),
    ]
    monkeypatch.setattr("knnccv.runs._random_runs.N_RUNS", 20_000)
    for result in results:
        exact, runs = result.split_std("exact"), result.split_std("sampled")
        assert abs(runs.std - exact.std) <= 4 * runs.error
        assert exact.error < 1e-4 * exact.std
