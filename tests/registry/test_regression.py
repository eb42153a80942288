"""K-nearest-neighbor regression against the enumeration of all training sets, and against scikit-learn."""

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
    Subsample,
    complete_cv,
    monte_carlo_cv,
)

N_PROBLEMS = 60


def problem(seed):
    """4 to 7 samples with ties and duplicates in most; one or two integer targets."""
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(4, 8))
    levels = int(rng.choice([2, 3, 1000]))
    distances = rng.integers(0, levels, (n_items, n_items)).astype(float)
    shape = (n_items,) if seed % 2 else (n_items, 2)
    return distances, rng.integers(-5, 9, shape)


def designs(n_items, rng):
    size = int(rng.integers(1, n_items))
    k = int(rng.integers(2, n_items + 1))
    return [
        (Subsample(size), naive.subsample(n_items, size)),
        (KFold(k), naive.kfold(n_items, k)),
        (LeaveOut(1), naive.leave_out(n_items, 1)),
        (Subsample(1), naive.subsample(n_items, 1)),
    ]


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_the_error_equals_the_enumeration(seed):
    distances, y = problem(seed)
    rng = np.random.default_rng(seed)
    compared = 0
    for design, listed in designs(len(y), rng):
        smallest = min(len(training) for outcome in listed.outcomes for training in outcome)
        for k in range(1, min(smallest, 4) + 1):
            for t, ties in enumerate(("index", "random")):
                average = ("pooled", "item")[(seed + k + t) % 2]
                asked = {"metric": "precomputed", "ties": ties, "average": average, "n_neighbors": k}
                expected = naive.complete(
                    distances.tolist(), y.tolist(), "regression", listed, average, ties, n_neighbors=k
                )
                rational = complete_cv(distances, y, "regression", design, exact=True, **asked)
                assert rational.exact == expected
                floating = complete_cv(distances, y, "regression", design, n_jobs=1, **asked)
                assert floating.score == pytest.approx(float(expected), rel=1e-12, abs=1e-13)
                assert abs(Fraction(floating.score) - expected) <= floating.error_bound
                compared += 1
    assert compared >= 4


@pytest.mark.parametrize("seed", range(0, N_PROBLEMS, 3))
@pytest.mark.parametrize("ties", ["index", "random"])
def test_bias_variance_and_prediction_equal_the_enumeration(seed, ties):
    distances, y = problem(seed)
    n_items = len(y)
    size = max(2, n_items // 2)
    found = complete_cv(
        distances, y, "regression", Subsample(size), metric="precomputed", ties=ties, n_neighbors=2
    )
    targets = y.tolist()
    for x in range(n_items):
        _, groups = naive.neighbor_order(distances.tolist()[x], x)
        predictions, weights = [], []
        for (training,) in naive.subsample(n_items, size).outcomes:
            if x in training:
                continue
            kept = [[j for j in group if j in training] for group in groups]
            kept = [group for group in kept if group]
            orders = (
                [[j for group in kept for j in group]]
                if ties == "index"
                else naive.random_beginnings(kept, 2)
            )
            for order in orders:
                predictions.append(naive.predict_regression(order, targets, 2))
                weights.append(Fraction(1, len(orders)))
        total = sum(weights)
        means = [
            sum(w * p for w, p in zip(weights, column, strict=True)) / total
            for column in zip(*predictions, strict=True)
        ]
        own = naive.as_outputs(targets[x])
        bias2 = sum((m - t) ** 2 for m, t in zip(means, own, strict=True))
        variance = (
            sum(
                w * sum((p - m) ** 2 for p, m in zip(prediction, means, strict=True))
                for w, prediction in zip(weights, predictions, strict=True)
            )
            / total
        )
        np.testing.assert_allclose(
            found.prediction[x], np.squeeze([float(m) for m in means]), rtol=1e-12, atol=1e-14
        )
        assert found.bias2[x] == pytest.approx(float(bias2), rel=1e-11, abs=1e-12)
        assert found.variance[x] == pytest.approx(float(variance), rel=1e-11, abs=1e-12)
        assert found.per_item[x] == pytest.approx(float(bias2 + variance), rel=1e-12, abs=1e-12)


def moments(distances, y, listed, average, ties, k):
    """For every sample the mean prediction over all training sets that test it, its bias² and variance."""
    found = []
    tests = naive.classifications(listed)
    for x in range(len(y)):
        _, groups = naive.neighbor_order(distances[x], x)
        predictions, weights = [], []
        for training, tested, weight in tests:
            if tested != x:
                continue
            kept = [[j for j in group if j in training] for group in groups]
            orders = naive.equally_likely_orders([group for group in kept if group], k, ties)
            for order in orders:
                predictions.append(naive.predict_regression(order, y, k))
                weights.append((weight if average == "pooled" else Fraction(1)) / len(orders))
        total = sum(weights)
        mean = [
            sum(w * p for w, p in zip(weights, column, strict=True)) / total
            for column in zip(*predictions, strict=True)
        ]
        bias2 = sum((m - t) ** 2 for m, t in zip(mean, naive.as_outputs(y[x]), strict=True))
        spread = [
            w * sum((p - m) ** 2 for p, m in zip(prediction, mean, strict=True))
            for w, prediction in zip(weights, predictions, strict=True)
        ]
        found.append((mean, bias2, sum(spread) / total))
    return found


@pytest.mark.parametrize("average", ["pooled", "item"])
@pytest.mark.parametrize("seed", range(30))
def test_bias_and_variance_over_folds_of_unequal_sizes(seed, average):
    """Those of the mean prediction over all training sets, not the mean of each size's."""
    distances, y = problem(seed)
    n_items = len(y)
    n_splits = next(k for k in (2, 3, 4) if n_items % k)
    k = 1 + seed // 4 % 2
    ties = ("index", "random")[seed // 2 % 2]
    listed = naive.kfold(n_items, n_splits)
    expected = moments(distances.tolist(), y.tolist(), listed, average, ties, k)
    asked = {"metric": "precomputed", "ties": ties, "average": average, "n_neighbors": k}
    floating = complete_cv(distances, y, "regression", KFold(n_splits), **asked)
    for x, (mean, bias2, variance) in enumerate(expected):
        np.testing.assert_allclose(floating.prediction[x], np.squeeze(np.array(mean, float)), atol=1e-13)
        assert floating.bias2[x] == pytest.approx(float(bias2), rel=1e-11, abs=1e-12)
        assert floating.variance[x] == pytest.approx(float(variance), rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(floating.bias2 + floating.variance, floating.per_item, rtol=1e-12)
    for part, at in (("bias2", 1), ("variance", 2)):
        rational = complete_cv(distances, y, "regression", KFold(n_splits), part=part, exact=True, **asked)
        assert list(rational.per_item_exact) == [each[at] for each in expected]
        assert getattr(floating, part) == pytest.approx(rational.per_item, abs=1e-12)
        weights = naive.item_weights(y.tolist(), listed, average)
        assert rational.exact == sum(w * each[at] for w, each in zip(weights, expected, strict=True))


@pytest.mark.parametrize("seed", range(16))
def test_bias_and_variance_over_sets_of_groups(seed):
    """There, too, kernels see one training set at a time."""
    distances, y = problem(seed)
    groups = np.random.default_rng(seed).permutation(np.arange(len(y)) % 4)
    k = 1 + seed // 4 % 2
    ties = ("index", "random")[seed // 2 % 2]
    expected = moments(
        distances.tolist(), y.tolist(), naive.leave_groups_out(groups.tolist(), 2), "pooled", ties, k
    )
    asked = {"metric": "precomputed", "ties": ties, "n_neighbors": k}
    design = LeaveGroupsOut(groups, 2)
    floating = complete_cv(distances, y, "regression", design, **asked)
    for x, (_, bias2, variance) in enumerate(expected):
        assert floating.bias2[x] == pytest.approx(float(bias2), rel=1e-11, abs=1e-12)
        assert floating.variance[x] == pytest.approx(float(variance), rel=1e-11, abs=1e-12)
    for part, at in (("bias2", 1), ("variance", 2)):
        rational = complete_cv(distances, y, "regression", design, part=part, exact=True, **asked)
        assert list(rational.per_item_exact) == [each[at] for each in expected]


def test_bias_over_unequal_folds_does_not_suffer_from_offsets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(101, 2)), rng.integers(0, 50, 101)
    plain = complete_cv(X, y, "regression", KFold(5))
    moved = complete_cv(X, y + 2.0**40, "regression", KFold(5))
    np.testing.assert_array_equal(moved.bias2, plain.bias2)
    np.testing.assert_array_equal(moved.variance, plain.variance)
    assert (plain.variance > 0).all()


def test_a_split_is_that_of_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    for k in (1, 4):
        runs = monte_carlo_cv(
            X, y, "regression", Subsample(40), n_neighbors=k, n_repeats=200, random_state=0
        )
        exact = complete_cv(X, y, "regression", Subsample(40), n_neighbors=k)
        assert abs(runs.score - exact.score) < 5 * runs.standard_error
        alone = complete_cv(X, y, "regression", LeaveOut(1), n_neighbors=k)
        predicted = neighbors.KNeighborsRegressor(k).fit(X, y).predict(None)
        np.testing.assert_allclose(alone.prediction, predicted, rtol=1e-12)
        assert alone.score == pytest.approx(np.mean((predicted - y) ** 2), rel=1e-12)


def test_offsets_cancel():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 50, 200)
    plain = complete_cv(X, y, "regression", Subsample(0.5))
    moved = complete_cv(X, y + 2.0**40, "regression", Subsample(0.5))
    assert moved.score == plain.score
    np.testing.assert_array_equal(moved.variance, plain.variance)


def test_lists_that_end_early_are_bounded():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    whole = complete_cv(X, y, "regression", Subsample(0.3), tol=0)
    for depth in (5, 12, 25):
        near = Neighbors.from_lists(*Neighbors.from_data(X).kneighbors(depth))
        short = complete_cv(near, y, "regression", Subsample(0.3))
        assert 0 < abs(short.score - whole.score) <= short.error_bound


@pytest.mark.parametrize("design", [Subsample(20), KFold(3)], ids=str)
@pytest.mark.parametrize("part", ["error", "bias2", "variance", "prediction", "bias"])
def test_the_parts_of_lists_that_end_early_are_bounded(part, design):
    """Where all near samples have the other target, the mean prediction is off as far as it can be."""
    n_items = 40
    y = np.arange(n_items) % 2
    alike = y[:, None] == y
    near = Neighbors.from_distances(np.random.default_rng(0).random((n_items, n_items)) + 9 * alike)
    whole = complete_cv(near, y, "regression", design, n_neighbors=1, part=part)
    for depth in (1, 2, 4, 10):
        short = Neighbors.from_lists(*near.kneighbors(depth))
        found = complete_cv(short, y, "regression", design, n_neighbors=1, part=part)
        assert abs(found.score - whole.score) <= found.error_bound + whole.error_bound


def test_five_means_five_plain_folds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    assert complete_cv(X, y, "regression", 5).score == complete_cv(X, y, "regression", KFold(5)).score


@pytest.mark.parametrize(
    ("y", "cv", "message"),
    [
        (np.arange(6.0), StratifiedKFold(2), "no classes to stratify by"),
        (np.zeros((6, 0)), KFold(2), r"y must have shape \(n_items,\) or \(n_items, n_outputs\)"),
        (np.zeros((6, 1, 1)), KFold(2), "y must have shape"),
        (np.arange(5.0), KFold(2), "X has 6 samples, but y has 5 targets"),
        ([0, 1, 2, 3, 4, np.nan], KFold(2), "nan"),
        ([0, 1, 2, 3, 4, 1e200], KFold(2), "must not exceed"),
    ],
)
def test_bad_targets(y, cv, message):
    with pytest.raises(ValueError, match=message):
        complete_cv(np.arange(6.0)[:, None], y, "regression", cv, n_neighbors=1)


def test_text_is_no_target():
    with pytest.raises(TypeError, match="y must hold real numbers"):
        complete_cv(np.arange(4.0)[:, None], list("abcd"), "regression", KFold(2), n_neighbors=1)


def test_other_rules_have_no_prediction():
    result = complete_cv(np.arange(6.0)[:, None], [0, 1] * 3, "nn", KFold(2))
    with pytest.raises(ValueError, match="only 'regression' has"):
        _ = result.prediction


def test_the_caller_may_change_the_targets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    result = complete_cv(X, y, "regression", Subsample(10))
    y[:] = 0
    assert (result.bias2 + result.variance).mean() == pytest.approx(result.score, rel=1e-12)
    assert result.labels.any()


def test_read_only_targets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    expected = complete_cv(X, y, "regression", KFold(5)).score
    y.flags.writeable = False
    assert complete_cv(X, y, "regression", KFold(5)).score == expected
    assert monte_carlo_cv(X, y, "regression", KFold(5), n_repeats=2, random_state=0).score > 0
