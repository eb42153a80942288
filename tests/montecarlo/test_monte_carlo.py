"""`monte_carlo_cv`: every run is the classification of a real split."""

import naive
import numpy as np
import pytest
from problems import BUILT_IN, SETTINGS, plain, problem
from seeds import over_seeds

from knnccv import (
    KFold,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
    monte_carlo_cv,
)
from knnccv.driver import AVERAGES, validate_problem
from knnccv.runs import draw_runs

DESIGNS = [Subsample(5), LeaveOut(2), KFold(4), StratifiedKFold(2), StratifiedSubsample(0.5)]


def data(n_items=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_items)
    y[:12] = np.tile([0, 1, 2], 4)
    return rng.integers(0, 6, (n_items, 2)) + 0.3 * y[:, None], y


@over_seeds(3, 12)
def test_every_run_is_the_classification_of_its_split(seeds):
    for seed in seeds:
        case, values = problem(seed), np.random.default_rng(seed).integers(-5, 9, (7, 1 + seed % 2))
        n_items = len(case.y)
        designs = Subsample(n_items - 2), KFold(2), LeaveOut(1), StratifiedKFold(2)
        for variant, setting in [
            *SETTINGS,
            ("regression", {"n_neighbors": 1}),
            ("regression", {"n_neighbors": 2}),
        ]:
            of_values = variant == "regression"
            y = values[:n_items] if of_values else case.y
            parameters = case.parameters(setting)
            stratified = not of_values and np.bincount(case.y).max() > 1
            if parameters.get("n_neighbors", 1) > n_items // 2:
                continue
            for design in designs[: 4 if stratified else 3]:
                for ties in get_variant(variant).tie_rules:
                    asked = {"metric": "precomputed", "ties": ties, "n_repeats": 6, "random_state": seed}
                    few = monte_carlo_cv(case.distances, y, variant, design, **asked, **parameters)
                    drawn = validate_problem(y, n_items, variant, design, ties, "pooled", parameters)
                    runs = draw_runs(drawn, 6, np.random.default_rng(seed))
                    rule = variant, plain(parameters), ties
                    for run, fold in enumerate(runs.all_folds()):
                        expected = score_of_run(
                            case.distances.tolist(), y.tolist(), fold, runs.n_folds, *rule
                        )
                        where = f"seed {seed}: {rule} {design}"
                        assert few.scores[run] == pytest.approx(float(expected), rel=1e-12, abs=1e-12), (
                            where
                        )


def score_of_run(distances, y, fold, n_folds, variant, parameters, ties):
    """The mean over the folds of the mean score of their samples, each classified from the other folds."""
    scores = []
    for i in range(n_folds):
        each = []
        for x in np.flatnonzero(fold == i).tolist():
            _, groups = naive.neighbor_order(distances[x], x)
            kept = [[j for j in group if fold[j] != i] for group in groups]
            kept = [group for group in kept if group]
            each.append(naive.expected_over_ties(variant, kept, y, x, parameters, ties))
        if each and (fold != i).any():
            scores.append(naive.mean(each))
    return naive.mean(scores)


@pytest.mark.parametrize("design", [*DESIGNS, KFold(7), StratifiedSubsample(per_class={0: 3, 1: 9, 2: 1})])
def test_runs_are_unbiased(design):
    X, y = data(61)
    stratified = isinstance(design, StratifiedKFold | StratifiedSubsample)
    for v, variant in enumerate(BUILT_IN[: 4 if stratified else 5]):
        average = AVERAGES[v % 3]
        targets = X @ [1.0, -2.0] + y if variant == "regression" else y
        exact = complete_cv(X, targets, variant, design, average=average)
        assert exact.tied > 0
        few = monte_carlo_cv(X, targets, variant, design, n_repeats=400, random_state=1, average=average)
        assert abs(few.score - exact.score) < 4 * few.standard_error + 1e-12
        assert few.std > 0
        assert few.standard_error == pytest.approx(few.scores.std(ddof=1) / np.sqrt(400))
        assert few.error_bound == 0


def test_seeds_and_blocks(monkeypatch):
    X, y = data(120)
    one = monte_carlo_cv(X, y, "knn", 5, random_state=3)
    assert len(one.scores) == 50
    assert (monte_carlo_cv(X, y, "knn", 5, random_state=4).scores != one.scores).any()
    assert (monte_carlo_cv(X, y, "knn", 5).scores != monte_carlo_cv(X, y, "knn", 5).scores).any()
    monkeypatch.setattr("knnccv.neighbors._engines.brute_force.BLOCK_BYTES", 8 * 120 * 7)
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(monte_carlo_cv(X, y, "knn", 5, random_state=generator).scores, one.scores)


def test_short_lists_show_in_the_bound():
    X, y = data(60)
    short = Neighbors.from_data(X, n_neighbors=4)
    few = monte_carlo_cv(short, y, "knn", Subsample(20), n_neighbors=5, random_state=0)
    whole = monte_carlo_cv(X, y, "knn", Subsample(20), n_neighbors=5, random_state=0)
    assert few.error_bound > 0.9
    assert abs(few.score - whole.score) <= few.error_bound


def test_runs_that_average_ties_do_not_prefer_earlier_rows():
    """All samples are equal: with "index" the first rows decide, with "random" all rows do."""
    X, y = np.zeros((20, 1)), np.arange(20) < 5
    fair = monte_carlo_cv(X, y, "nn", Subsample(10), n_repeats=500, random_state=0)
    assert fair.ties == "random"
    share = (5 * 4 + 15 * 14) / (20 * 19)
    assert abs(fair.score - share) < 5 * fair.standard_error
    index = monte_carlo_cv(X, y, "nn", Subsample(10), ties="index", n_repeats=500, random_state=0)
    assert abs(index.score - share) > 5 * index.standard_error
    backwards = monte_carlo_cv(X, y[::-1], "nn", Subsample(10), ties="index", n_repeats=500, random_state=0)
    assert abs(backwards.score - index.score) > 5 * index.standard_error


def test_one_run_has_no_spread():
    X, y = data()
    one = monte_carlo_cv(X, y, "nn", 4, n_repeats=1, random_state=0)
    assert np.isnan(one.std)
    assert np.isnan(one.standard_error)
    assert float(one) == one.scores[0]
