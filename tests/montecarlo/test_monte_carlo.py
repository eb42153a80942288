"""`monte_carlo_cv`: every run is the classification of a real split."""

import naive
import numpy as np
import pytest
from problems import BUILT_IN, SETTINGS, problem

import knnccv.neighbors
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


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_every_run_is_the_classification_of_its_split(setting, seed):
    variant, parameters = setting
    case = problem(seed)
    y = case.y.tolist()
    parameters = case.parameters(parameters)
    for design in (Subsample(len(y) - 2), KFold(2), StratifiedKFold(2)):
        if parameters.get("n_neighbors", 1) > len(y) // 2:
            continue
        for ties in get_variant(variant).tie_rules:
            asked = {"metric": "precomputed", "ties": ties, **parameters}
            try:
                few = monte_carlo_cv(
                    case.distances, y, variant, design, n_repeats=6, random_state=seed, **asked
                )
            except ValueError as error:  # no class has two samples
                assert "n_splits must be between" in str(error)  # noqa: PT017
                continue
            asked = validate_problem(y, len(y), variant, design, ties, "pooled", parameters)
            runs = draw_runs(asked, 6, np.random.default_rng(seed))
            for run, fold in enumerate(runs.all_folds()):
                scores = []
                for i in range(runs.n_folds):
                    training = [j for j in range(len(y)) if fold[j] != i]
                    tested = [x for x in range(len(y)) if fold[x] == i]
                    if not training or not tested:
                        continue
                    each = []
                    for x in tested:
                        _, groups = naive.neighbor_order(case.distances[x].tolist(), x)
                        kept = [[j for j in group if j in training] for group in groups]
                        kept = [group for group in kept if group]
                        loss = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in parameters.items()}
                        each.append(naive.expected_over_ties(variant, kept, y, x, loss, ties))
                    scores.append(sum(each) / len(each))
                assert few.scores[run] == pytest.approx(float(sum(scores) / len(scores)), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2])
def test_every_run_of_regression_is_that_of_its_split(seed, k):
    case = problem(seed)
    y = np.random.default_rng(seed).integers(-5, 9, (len(case.y), 1 + seed % 2))
    targets = y.tolist()
    for design in (Subsample(len(y) - 2), KFold(2), LeaveOut(1)):
        for ties in get_variant("regression").tie_rules:
            few = monte_carlo_cv(
                case.distances,
                y,
                "regression",
                design,
                metric="precomputed",
                ties=ties,
                n_neighbors=k,
                n_repeats=6,
                random_state=seed,
            )
            asked = validate_problem(y, len(y), "regression", design, ties, "pooled", {"n_neighbors": k})
            runs = draw_runs(asked, 6, np.random.default_rng(seed))
            for run, fold in enumerate(runs.all_folds()):
                scores = []
                for i in range(runs.n_folds):
                    training = [j for j in range(len(y)) if fold[j] != i]
                    each = []
                    for x in (x for x in range(len(y)) if fold[x] == i):
                        _, groups = naive.neighbor_order(case.distances[x].tolist(), x)
                        kept = [[j for j in group if j in training] for group in groups]
                        kept = [group for group in kept if group]
                        each.append(
                            naive.expected_over_ties(
                                "regression", kept, targets, x, {"n_neighbors": k}, ties
                            )
                        )
                    scores.append(sum(each) / len(each))
                assert few.scores[run] == pytest.approx(float(sum(scores) / len(scores)), rel=1e-12)


UNBIASED = [
    pytest.param(variant, design, AVERAGES[(v + d) % 3], id=f"{variant}-{design}-{AVERAGES[(v + d) % 3]}")
    for v, variant in enumerate(BUILT_IN)
    for d, design in enumerate([*DESIGNS, KFold(7), StratifiedSubsample(per_class={0: 3, 1: 9, 2: 1})])
]
"""Every rule with every design, every average with every rule and with every design."""


@pytest.mark.parametrize(("variant", "design", "average"), UNBIASED)
def test_runs_are_unbiased(variant, design, average):
    X, y = data(61)
    if get_variant(variant).target == "values":
        y = X @ [1.0, -2.0] + y
        if isinstance(design, StratifiedKFold | StratifiedSubsample):
            with pytest.raises(ValueError, match="no classes to stratify by"):
                monte_carlo_cv(X, y, variant, design, n_repeats=2)
            return
    exact = complete_cv(X, y, variant, design, average=average)
    assert exact.tied > 0
    few = monte_carlo_cv(X, y, variant, design, n_repeats=2000, random_state=1, average=average)
    assert abs(few.score - exact.score) < 5 * few.standard_error + 1e-12
    assert few.std > 0
    assert few.standard_error == pytest.approx(few.scores.std(ddof=1) / np.sqrt(2000))
    assert few.error_bound == 0


def test_a_run_equals_scikit_learn_on_the_same_split():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(0, 3, 120)
    for design in (KFold(5), StratifiedSubsample(0.7)):
        few = monte_carlo_cv(X, y, "knn", design, n_neighbors=4, n_repeats=3, random_state=9)
        asked = validate_problem(y, 120, "knn", design, None, "pooled", {"n_neighbors": 4})
        runs = draw_runs(asked, 3, np.random.default_rng(9))
        for run, fold in enumerate(runs.all_folds()):
            scores = []
            for i in range(runs.n_folds):
                model = neighbors.KNeighborsClassifier(4).fit(X[fold != i], y[fold != i])
                scores.append(model.score(X[fold == i], y[fold == i]))
            assert few.scores[run] == pytest.approx(np.mean(scores), abs=1e-13)


def test_seeds_threads_and_blocks(monkeypatch):
    X, y = data(120)
    one = monte_carlo_cv(X, y, "knn", 5, random_state=3, n_jobs=1)
    assert len(one.scores) == 50
    np.testing.assert_array_equal(monte_carlo_cv(X, y, "knn", 5, random_state=3).scores, one.scores)
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(monte_carlo_cv(X, y, "knn", 5, random_state=generator).scores, one.scores)
    assert (monte_carlo_cv(X, y, "knn", 5, random_state=4).scores != one.scores).any()
    assert (monte_carlo_cv(X, y, "knn", 5).scores != monte_carlo_cv(X, y, "knn", 5).scores).any()
    monkeypatch.setattr(knnccv.neighbors._engines.brute_force, "BLOCK_BYTES", 8 * 120 * 7)
    np.testing.assert_array_equal(
        monte_carlo_cv(X, y, "knn", 5, random_state=3, n_jobs=2).scores, one.scores
    )


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
