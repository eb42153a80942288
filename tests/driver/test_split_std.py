"""The spread of one run: random runs against the enumeration of all runs."""

import math

import naive
import numpy as np
import pytest
from problems import SETTINGS, blobs, designs, problem, questions, special_designs

from knnccv import KFold, LeaveGroupsOut, LeaveOut, Neighbors, StratifiedKFold, Subsample, complete_cv
from knnccv._core.driver import AVERAGES


@pytest.mark.parametrize("seeds", [[5], pytest.param(range(29, 37), marks=pytest.mark.slow)])
def test_random_runs_agree_with_the_enumeration(seeds):
    """5,000 runs of many rules and designs; the standard errors may be rough."""
    for seed in seeds:
        case = problem(seed)
        pairs = [(d, listed) for d, listed in designs(case, seed) if d != LeaveOut(1)]
        pairs += [pair for pair in special_designs(case, seed) if getattr(pair[0], "p", 1) > 1]
        for q, question in enumerate(questions(seed, SETTINGS, 16, pairs, case)):
            average = AVERAGES[q % 3]
            found = question.ask(average).split_std()
            runs = question.scores, question.y, question.listed, question.known_as(average)
            expected = math.sqrt(naive.variance(naive.run_scores(*runs)))
            off = abs(found.std - expected)
            assert off <= 5 * found.std_error + 0.002 * expected + 1e-12, (question.where, average, found)


@pytest.mark.parametrize("design", [Subsample(0.7), KFold(7)], ids=repr)
def test_the_standard_error_is_that_of_other_runs(design):
    X, y = blobs(5, 121, 3)
    result = complete_cv(X, y, "nn", design)
    found = [result.split_std(500, seed) for seed in range(40)]
    assert np.std([each.std for each in found]) == pytest.approx(found[0].std_error, rel=0.5)
    assert result.split_std().std_error == pytest.approx(found[0].std_error / math.sqrt(10), rel=0.3)
    for depth in (2, 6, 14):  # lists that end too early
        short = complete_cv(Neighbors.from_data(X, n_neighbors=depth), y, "nn", design).split_std(500)
        assert abs(short.std - found[0].std) <= short.std_error + found[0].std_error


def test_where_nothing_is_random_there_is_no_spread():
    case = problem(33)
    n_items = len(case.y)
    for design in (LeaveOut(1), KFold(n_items), LeaveGroupsOut([0, 0, 0, 1, 1, 2, 2][:n_items])):
        found = complete_cv(case.distances, case.y, "knn", design, metric="precomputed", n_neighbors=2)
        spread = found.split_std()
        assert (spread.std, spread.std_error, spread.n_runs) == (0, 0, 0)
    X, y = np.arange(20.0)[:, None] + 100 * (np.arange(20) > 9)[:, None], np.arange(20) > 9
    for design in (KFold(4), Subsample(16), StratifiedKFold(3)):
        found = complete_cv(X, y, "nn", design).split_std()
        assert found.std <= found.std_error < 1e-3  # 3 / 5,000 where no run of 5,000 differs
    assert complete_cv(X, np.zeros(20), "nn", KFold(4)).split_std().std == 0


def test_as_many_runs_as_a_precision_needs(monkeypatch):
    X, y = blobs(5, 121, 3)
    result = complete_cv(X, y, "nn", KFold(7))
    usual = result.split_std()
    finer = result.split_std(precision=usual.std_error / 2)
    assert finer.std_error <= 1.1 * usual.std_error / 2
    assert 15_000 < finer.n_runs < 25_000
    assert abs(finer.std - usual.std) < 4 * usual.std_error
    assert result.split_std(precision=1.0) == usual
    monkeypatch.setattr("knnccv._core.luck.scorings._precision.TIMES", 10)
    with pytest.warns(UserWarning, match="runs have a standard error of .* takes some"):
        far = complete_cv(X[:20], y[:20], "nn", KFold(7)).split_std(precision=1e-9)
    assert far.n_runs == 50_000
