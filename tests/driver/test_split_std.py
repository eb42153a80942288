"""The spread of one run: the formulas against the enumeration of all runs, random runs against both."""

import math
import pickle
from fractions import Fraction

import naive
import naive_spread
import numpy as np
import pytest
from problems import blobs, designs, plain, problem

import knnccv.runs._random_runs as random_runs
import knnccv.runs._split_exact as split_exact
import knnccv.runs._trials as trials
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
from knnccv.datasets import load_diabetes, load_wine

AVERAGES = ("pooled", "item", "class")


def ask(case, variant, design, ties="index", average="pooled", **parameters):
    """The result of one problem."""
    asked = {"ties": ties, "average": average, "metric": "precomputed", "n_jobs": 1}
    return complete_cv(case.distances, case.y, variant, design, **asked, **parameters)


def enumerated(case, variant, listed, ties="index", average="pooled", **parameters):
    """The variance over all runs, a Fraction."""
    inputs = case.distances.tolist(), case.y.tolist(), variant, listed, average, ties
    return naive_spread.variance(naive_spread.run_scores(*inputs, **plain(parameters)))


def check(found, expected, where):
    """The exact spread is within its bound, and its square within 1e-12 of the rational variance."""
    assert found.exact, where
    assert found.n_runs == 0
    assert abs(Fraction(found.std) ** 2 - expected) <= expected / 10**12 + Fraction(1, 10**28), where
    assert abs(found.std - math.sqrt(expected)) <= found.error + 1e-15 * found.std, where


def check_sampled(found, expected, where):
    """The spread of 5,000 runs is within its error of the rational variance; its error may be rough."""
    std = math.sqrt(expected)
    assert not found.exact, where
    assert abs(found.std - std) <= 5 * found.error + 0.002 * std + 1e-12, where


FEW = 5


@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(c, marks=pytest.mark.slow) for c in range(1, 12))], ids="from {}".format
)
def test_every_design_equals_the_enumeration_of_all_runs(chunk):
    compared = 0
    for seed in range(FEW * chunk, FEW * chunk + FEW):
        case = problem(seed)
        for d, (design, listed) in enumerate(designs(case, seed)):
            if design == LeaveOut(1):  # it uses all splits
                continue
            parameters = {"loss": case.loss} if (seed + d) % 2 else {}
            average = AVERAGES[(seed + d // 2) % 3]
            expected = enumerated(case, "nn", listed, average=average, **parameters)
            found = ask(case, "nn", design, average=average, **parameters).split_std()
            if not design.stratifies or (found.exact and expected == 0):
                check(found, expected, f"seed {seed}: {design} {average} {parameters}")
            else:
                check_sampled(found, expected, f"seed {seed}: {design} {average} {parameters}")
            compared += 1
    assert compared >= 30


EIGHT = [(KFold(k), k) for k in (2, 3, 4, 5, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("design", "k"), EIGHT, ids=repr)
def test_eight_samples_in_equal_and_unequal_folds(design, k, seed):
    rng = np.random.default_rng(seed)
    D, y = rng.random((8, 8)), rng.permutation([0, 0, 0, 1, 1, 1, 2, 2])
    result = complete_cv(D, y, "nn", design, metric="precomputed", ties="index")
    scores = naive_spread.run_scores(D.tolist(), y.tolist(), "nn", naive.kfold(8, k))
    check(result.split_std("exact"), naive_spread.variance(scores), f"{design}")


@pytest.mark.parametrize("kind", ["folds", "sizes"])
def test_classes_that_are_never_tested_or_never_train(kind):
    D = np.random.default_rng(3).random((7, 7))
    y = np.array([0, 0, 0, 0, 1, 1, 2])
    if kind == "sizes":
        cases = [{0: 2, 1: 2, 2: 0}, {0: 4, 1: 1, 2: 1}, {0: 1, 1: 0, 2: 1}]
        pairs = [(StratifiedSubsample(per_class=sizes), naive.stratified(y, sizes)) for sizes in cases]
    else:
        pairs = [(StratifiedKFold(k), naive.stratified_kfold(y, k)) for k in (2, 3, 4)]
    for design, listed in pairs:
        for average in AVERAGES:
            result = complete_cv(D, y, "nn", design, metric="precomputed", average=average)
            scores = naive_spread.run_scores(D.tolist(), y.tolist(), "nn", listed, average)
            check_sampled(result.split_std(), naive_spread.variance(scores), f"{design} {average}")


@pytest.mark.parametrize("alpha", [1, 6, 13, 18, 19])
def test_twenty_samples_equal_the_counted_training_sets(alpha):
    rng = np.random.default_rng(alpha)
    D, y = rng.random((20, 20)), rng.integers(0, 3, 20)
    loss = rng.integers(-3, 4, (3, 3))
    found = complete_cv(D, y, "nn", Subsample(alpha), metric="precomputed", loss=loss).split_std("exact")
    check(found, naive_spread.fixed_size_variance(D.tolist(), y.tolist(), alpha, loss.tolist()), f"{alpha}")


ONE_NEIGHBOR = [
    ("knn", {"n_neighbors": 1}),
    ("rank", {"rank": 1}),
    ("confidence", {"n_neighbors": 1, "score": "brier"}),
]


@pytest.mark.parametrize(("variant", "parameters"), ONE_NEIGHBOR)
def test_every_rule_that_one_neighbor_decides_is_exact(variant, parameters):
    case = problem(4)
    for design, listed in [(Subsample(3), naive.subsample(len(case.y), 3)), (KFold(2), None)]:
        listed = listed or naive.kfold(len(case.y), 2)
        result = ask(case, variant, design, **parameters)
        check(result.split_std("exact"), enumerated(case, variant, listed, **parameters), variant)


def test_regression_on_one_neighbor_is_exact():
    rng = np.random.default_rng(1)
    D, y = rng.random((6, 6)), rng.integers(-3, 4, 6)
    result = complete_cv(D, y.astype(float), "regression", KFold(4), metric="precomputed", n_neighbors=1)
    scores = naive_spread.run_scores(D.tolist(), y.tolist(), "regression", naive.kfold(6, 4), n_neighbors=1)
    check(result.split_std("exact"), naive_spread.variance(scores), "regression")


DESIGNS = [
    Subsample(0.7),
    Subsample(12),
    KFold(5),
    KFold(7),
]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_lists_that_end_are_within_the_reported_bound(design, monkeypatch):
    X, y = blobs(5, 121, 3)
    result = complete_cv(X, y, "nn", design)
    found = result.split_std("exact")
    monkeypatch.setattr(split_exact, "PRECISION", 0.0)
    whole = result.split_std("exact")
    assert abs(found.std - whole.std) <= found.error + whole.error
    assert found.error < 1e-6
    assert whole.error < 1e-9


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_given_lists_that_end_too_early_are_within_the_bound(design):
    X, y = blobs(5, 121, 3)
    whole = complete_cv(X, y, "nn", design).split_std("exact")
    spreads = []
    for depth in (1, 2, 6, 14, 60):
        near = Neighbors.from_data(X, n_neighbors=depth)
        found = complete_cv(near, y, "nn", design).split_std("exact")
        assert abs(found.std - whole.std) <= found.error + whole.error
        spreads.append(found.error)
    assert spreads[0] > spreads[-1]


def test_one_open_run_of_sixteen_is_within_the_bound():
    """All that is open is in one run, which alone moves the deviation of all runs from 0."""
    from scipy.sparse import csr_array

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


def test_lists_of_different_lengths_are_within_the_bound():
    from scipy.sparse import csr_array

    X, y = blobs(2, 80, 2)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))
    whole = complete_cv(X, y, "nn", KFold(5)).split_std("exact")
    near = Neighbors.from_graph(csr_array(np.where(np.quantile(D, 0.6) > D, D, 0.0)))
    found = complete_cv(near, y, "nn", KFold(5)).split_std("exact")
    assert abs(found.std - whole.std) <= found.error + whole.error


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_random_runs_agree_with_the_formulas(design):
    X, y = blobs(6, 121, 3)
    result = complete_cv(X, y, "nn", design)
    exact, runs = result.split_std("exact"), result.split_std("sampled")
    assert not runs.exact
    assert runs.n_runs == 5000
    assert abs(runs.std - exact.std) <= 4 * runs.error
    assert 0 < runs.error < 0.05 * runs.std


OTHERS = [
    ("knn", {"n_neighbors": 3}, "index"),
    ("rank", {"rank": 2}, "random"),
    ("confidence", {"n_neighbors": 2}, "random"),
    ("nn", {}, "random"),
]


@pytest.mark.parametrize(("variant", "parameters", "ties"), OTHERS)
def test_random_runs_agree_with_the_enumeration(variant, parameters, ties):
    case = problem(33)  # with ties
    n_items = len(case.y)
    groups = np.arange(n_items) // 2
    for design, listed in [
        (KFold(2), naive.kfold(n_items, 2)),
        (Subsample(n_items - 2), naive.subsample(n_items, n_items - 2)),
        (LeaveGroupsOut(groups, 2), naive.leave_groups_out(groups, 2)),
    ]:
        expected = math.sqrt(enumerated(case, variant, listed, ties, **parameters))
        found = ask(case, variant, design, ties, **parameters).split_std()
        assert found.exact == (found.n_runs == 0)
        assert abs(found.std - expected) <= 4 * found.error + 1e-12, (design, found, expected)


def test_a_training_set_for_each_sample_serves_every_rule():
    case = problem(33)
    n_items = len(case.y)
    listed = naive.leave_out(n_items, 1)
    for average in AVERAGES:
        expected = enumerated(case, "knn", listed, "random", average, n_neighbors=2)
        result = ask(case, "knn", Subsample(n_items - 1), "random", average, n_neighbors=2)
        check(result.split_std("exact"), expected, average)


def test_where_all_splits_are_used_nothing_is_random():
    case = problem(33)
    n_items = len(case.y)
    groups = [0, 0, 0, 1, 1, 2, 2][:n_items]
    for design in (LeaveOut(1), KFold(n_items), LeaveGroupsOut(groups)):
        found = ask(case, "knn", design, n_neighbors=2).split_std()
        assert (found.std, found.error, found.exact) == (0, 0, True)


def test_a_score_that_never_varies_has_no_spread():
    X, y = np.arange(20.0)[:, None] + 100 * (np.arange(20) > 9)[:, None], np.arange(20) > 9
    for design in (KFold(4), Subsample(16), StratifiedKFold(3)):
        found = complete_cv(X, y, "nn", design).split_std()
        assert found.std <= found.error < 1e-3
    one = complete_cv(X, np.zeros(20), "nn", KFold(4)).split_std()
    assert (one.std, one.exact) == (0, True)


@pytest.mark.parametrize("design", [Subsample(0.8), KFold(5)], ids=repr)
def test_the_number_of_threads_does_not_change_a_bit(design, monkeypatch):
    X, y = blobs(8, 600, 3)
    result = complete_cv(X, y, "nn", design)
    monkeypatch.setattr(random_runs, "N_RUNS", 1500)
    for method in ("exact", "sampled"):
        assert result.split_std(method, n_jobs=1) == result.split_std(method, n_jobs=2)


def test_batches_of_runs_do_not_change_the_spread(monkeypatch):
    X, y = blobs(8, 90, 3)
    result = complete_cv(X, y, "confidence", KFold(5))
    monkeypatch.setattr(random_runs, "N_RUNS", 600)
    one = result.split_std()
    monkeypatch.setattr(trials, "BATCH_BYTES", 90 * 8 * 7)
    assert result.split_std().std == pytest.approx(one.std, rel=1e-12)


def test_seeds(monkeypatch):
    monkeypatch.setattr(random_runs, "N_RUNS", 200)
    X, y = blobs(8, 90, 3)
    result = complete_cv(X, y, "knn", KFold(5))
    assert result.split_std() == result.split_std(random_state=0)
    assert result.split_std(random_state=np.random.default_rng(0)) == result.split_std()
    assert result.split_std(random_state=1) != result.split_std()


def test_repeats_text_and_number():
    X, y = blobs(8, 90, 3)
    result = complete_cv(X, y, "nn", KFold(5))
    one, four = result.split_std(), result.split_std(n_repeats=4)
    assert (four.std, four.error) == (one.std / 2, one.error / 2)
    assert float(one) == one.std
    assert repr(random_runs.SplitSpread(0.01234, True, 1e-9, 0)) == "± 0.0123 (exact)"
    sampled = random_runs.SplitSpread(0.01234, False, 0.000123, 5000)
    assert repr(sampled) == "± 0.0123 (5,000 sampled runs, standard error 0.00012)"


def test_approximate_neighbors_are_not_certified(monkeypatch):
    monkeypatch.setattr(random_runs, "N_RUNS", 100)
    X, y = blobs(8, 90, 3)
    near = Neighbors.from_lists(Neighbors.from_data(X).kneighbors(30)[0], approximate=True)
    result = complete_cv(near, y, "nn", KFold(5))
    assert result.split_std().error == math.inf
    assert result.split_std("sampled").error < 0.1


def refuse(*_):
    """The splits of a design whose splits others draw."""
    msg = "drawn elsewhere"
    raise NotImplementedError(msg)


def test_bad_arguments(monkeypatch):
    X, y = blobs(8, 40, 3)
    result = complete_cv(X, y, "nn", KFold(5))
    with pytest.raises(ValueError, match="method must be one of 'auto', 'exact', 'sampled', got 'mean'"):
        result.split_std("mean")
    with pytest.raises(ValueError, match="n_repeats must be at least 1, got 0"):
        result.split_std(n_repeats=0)
    with pytest.raises(TypeError, match="random_state must be"):
        result.split_std(random_state="seed")
    with pytest.raises(ValueError, match="n_jobs"):
        result.split_std(n_jobs=0)
    with pytest.raises(ValueError, match="this needs the data"):
        pickle.loads(pickle.dumps(result)).split_std()
    for rule, design, why in [
        ("knn", KFold(5), "several nearest training samples"),
        ("nn", LeaveGroupsOut(np.arange(40) // 4, 2), "has no formula"),
        ("nn", StratifiedKFold(5), "has no formula"),
    ]:
        with pytest.raises(ValueError, match=f'method="exact" is not offered: .*{why}'):
            complete_cv(X, y, rule, design).split_std("exact")
    undrawn = type("Undrawn", (KFold,), {"draw": refuse})
    with pytest.raises(ValueError, match=r"cannot draw runs of .*: drawn elsewhere"):
        complete_cv(X, y, "nn", undrawn(5)).split_std()
    tied = complete_cv(np.round(X), y, "nn", KFold(5), ties="random")
    with pytest.raises(ValueError, match="samples have ties that matter"):
        tied.split_std("exact")
    for n_neighbors in (1, 3):
        weighted = complete_cv(X, y, "weighted", KFold(5), n_neighbors=n_neighbors)
        with pytest.raises(ValueError, match="the distances, which are not known here"):
            weighted.split_std()
    bias = complete_cv(X, X[:, 0], "regression", KFold(5), part="variance")
    with pytest.raises(ValueError, match="a mean over runs"):
        bias.split_std()
    monkeypatch.setattr(random_runs, "N_RUNS", 50)
    monkeypatch.setattr(split_exact, "MOST_STEPS", 10)
    long = complete_cv(X, y, "nn", KFold(5))
    with pytest.raises(ValueError, match=r"about .* steps, more than the 10 that are allowed"):
        long.split_std("exact")
    assert long.split_std().n_runs == 50


BUNDLED = [Subsample(0.5), Subsample(0.9), KFold(7)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "diabetes"])
@pytest.mark.parametrize("design", BUNDLED, ids=repr)
def test_twenty_thousand_runs_of_the_bundled_sets(name, design, monkeypatch):
    data = load_wine() if name == "wine" else load_diabetes()
    y = data.y if name == "wine" else data.y > np.median(data.y)
    result = complete_cv(data.X, y, "nn", design, ties="index")
    monkeypatch.setattr(random_runs, "N_RUNS", 20_000)
    exact, runs = result.split_std("exact"), result.split_std("sampled")
    assert abs(runs.std - exact.std) <= 4 * runs.error


@pytest.mark.slow
def test_twenty_thousand_runs_of_regression_on_one_neighbor(monkeypatch):
    data = load_diabetes()
    result = complete_cv(data.X, data.y, "regression", KFold(5), n_neighbors=1, ties="index")
    monkeypatch.setattr(random_runs, "N_RUNS", 20_000)
    exact, runs = result.split_std("exact"), result.split_std("sampled")
    assert abs(runs.std - exact.std) <= 4 * runs.error
    assert exact.error < 1e-4 * exact.std
