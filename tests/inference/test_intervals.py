"""Intervals against their formulas, written once more, and at the ends of the range."""

import copy
import math
import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from knnccv import ConfidenceInterval, InferenceWarning, KFold, Subsample, compare, complete_cv, surface
from knnccv.inference import HalfScores, confidence_interval
from knnccv.sklearn import expected_score


def halves(scores, n_units=50):
    return HalfScores(np.array(scores, float), n_units, False, 20.0)


def of(score, given, level=0.95, limits=(0.0, 1.0)):
    return confidence_interval(score, given, level, limits, "x")


def wilson(share, n, z):
    """The two roots of (p - share)^2 = z^2 p (1 - p) / n."""
    return np.sort(np.roots([1 + z * z / n, -(2 * share + z * z / n), share**2]).real)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("share", [0.5, 0.79, 0.97])
def test_wilson_with_the_effective_number(level, share):
    given = halves([[share - 0.1, share], [share + 0.02, share - 0.08], [share, share + 0.01]])
    variance = (0.1**2 + 0.1**2 + 0.01**2) / 3 / 4
    freedom = 1 / (1 / 49 + 1 / 3)
    n_eff = share * (1 - share) / variance
    if 50 * (1 - share) < 10:
        n_eff = min(max(n_eff, 10), 100)
    found = of(share, given, level)
    assert given.variance == pytest.approx(variance, rel=1e-12)
    assert given.degrees_of_freedom == pytest.approx(freedom, rel=1e-12)
    z = stats.t(freedom).ppf((1 + level) / 2)
    assert tuple(found) == pytest.approx(tuple(wilson(share, n_eff, z)), abs=1e-9)
    assert found.n_eff == pytest.approx(n_eff)
    assert (found.method, found.confidence_level) == ("wilson", level)


def test_scores_of_another_range_are_rescaled():
    given = halves([[2.0, 2.4], [2.1, 2.2]])
    inside = halves(np.array([[2.0, 2.4], [2.1, 2.2]]) / 4 - 0.25)
    low, high = of(2.2, given, limits=(1.0, 5.0))
    assert (low, high) == pytest.approx(tuple(1 + 4 * end for end in of(0.3, inside)))


def test_wald_for_scores_without_a_range():
    given = halves([[2.0, 3.0], [2.5, 2.0]])
    error = math.sqrt((1 + 0.25) / 2 / 4)
    t = stats.t(given.degrees_of_freedom).ppf(0.975)
    found = of(2.3, given, limits=None)
    assert tuple(found) == pytest.approx((2.3 - t * error, 2.3 + t * error))
    assert found.method == "wald"
    assert math.isnan(found.n_eff)


def hall(score, items, error, n_halvings, level=0.95):
    """The real roots of Hall's cubic, with degrees of freedom from the kurtosis of the items."""
    n, skew = len(items), stats.skew(items) / math.sqrt(len(items))
    freedom = min(2 * n / (stats.kurtosis(items, fisher=False) - 1), n - 1)
    z = stats.t(1 / (1 / freedom + 1 / n_halvings)).ppf((1 + level) / 2)
    ends = []
    for t in (z, -z):
        roots = np.roots([skew**2 / 27, skew / 3, 1, skew / 6 - t])
        ends.append(score - error * roots[np.abs(roots.imag).argmin()].real)
    return ends


def noisy(n_items, seed=0, noise="standard_exponential"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_items, 1))
    return X, np.sin(2 * X[:, 0]), getattr(rng, noise)(n_items)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("part", ["error", "variance"])
def test_squared_errors_have_the_interval_of_hall(part, level):
    X, signal, noise = noisy(60)
    groups = np.arange(60) // 3
    result = complete_cv(X, signal + noise, "regression", Subsample(48), n_neighbors=3, part=part)
    for how, items in (
        ({}, result.per_item),
        ({"groups": groups}, result.per_item.reshape(20, 3).sum(axis=1)),
    ):
        found = result.confidence_interval(level, n_halvings=50, **how)
        error = float(result.standard_error(n_halvings=50, **how))
        assert tuple(found) == pytest.approx(hall(result.score, items, error, 50, level), rel=1e-9)
        assert found.method == "hall"
        assert math.isnan(found.n_eff)
        assert found.high - result.score > result.score - found.low > 0


def test_squared_errors_of_surfaces_and_of_scikit_learn_have_the_same_interval():
    from sklearn import model_selection, neighbors

    X, signal, noise = noisy(50)
    y = np.column_stack([signal + noise, X[:, 0] - noise])
    found = complete_cv(X, y, "regression", Subsample(40)).confidence_interval(n_halvings=20)
    grid = surface(X, y, variant="regression", n_neighbors=[2, 5], train_sizes=[40])
    cells = grid.confidence_interval(n_halvings=20)
    assert (cells.low[1, 0], cells.high[1, 0]) == pytest.approx(tuple(found), rel=1e-6)
    assert cells.method == "hall"
    negative = expected_score(
        neighbors.KNeighborsRegressor(),
        X,
        y,
        cv=model_selection.ShuffleSplit(test_size=10),
        scoring="neg_mean_squared_error",
    ).confidence_interval(n_halvings=20)
    mean = (-negative.high * 2, -negative.low * 2)  # scikit-learn takes the mean over the outputs
    assert mean == pytest.approx(tuple(found), rel=1e-6)
    assert negative.method == "hall"


def test_an_interval_of_hall_contains_the_score_and_stays_in_the_range():
    given = halves([[1.0, 9.0], [2.0, 8.0]], 20)
    skewed = replace(given, deviations=np.array([19.0] + [-1.0] * 19))
    for level in (0.01, 0.5, 0.9999):
        low, high = of(5.0, skewed, level, (0.0, math.inf))
        assert 0 <= low <= 5.0 <= high
        mirrored = replace(skewed, deviations=-skewed.deviations)
        assert tuple(of(-5.0, mirrored, level, (-math.inf, 0.0))) == pytest.approx((-high, -low))
    unknown = of(50.0, given, limits=(0.0, math.inf))
    assert tuple(unknown) == pytest.approx(tuple(of(50.0, given, limits=None)))
    still = replace(skewed, scores=np.ones((5, 2)))
    assert tuple(of(1.0, still, limits=(0.0, math.inf))) == (1.0, 1.0)


def test_a_warning_where_the_errors_of_single_samples_are_very_unequal():
    X, signal, noise = noisy(60, noise="standard_normal")
    calm = complete_cv(X, signal + noise, "regression", KFold(5))
    calm.confidence_interval(n_halvings=20)  # a warning would be an error
    wild, other = (
        complete_cv(X, np.exp(1.5 * noise), "regression", KFold(5), n_neighbors=k) for k in (5, 2)
    )
    grid = surface(X, np.exp(1.5 * noise), variant="regression", n_neighbors=[5], train_sizes=[40])
    for call in (
        wild.confidence_interval,
        wild.standard_error,
        partial(compare, wild, other),
        grid.confidence_interval,
    ):
        with pytest.warns(InferenceWarning, match="such as its logarithm: the standard deviation of"):
            call(n_halvings=20)


@pytest.mark.slow
def test_intervals_of_exponential_errors_cover_nine_in_ten():
    n_sets, n_neighbors, inside, of_wald, truth = 300, 5, [], [], []
    cases = [noisy(60, seed) for seed in range(n_sets)]
    for X, signal, _ in cases:  # the noise has variance 1
        exact = complete_cv(X, signal, "regression", KFold(5), n_neighbors=n_neighbors).score
        truth.append(exact + 1 + 1 / n_neighbors)
    target = np.mean(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        for X, signal, noise in cases:
            result = complete_cv(X, signal + noise, "regression", KFold(5), n_neighbors=n_neighbors)
            low, high = result.confidence_interval(n_halvings=40)
            error = result.standard_error(n_halvings=40)
            inside.append(low <= target <= high)
            of_wald.append(
                abs(result.score - target) <= stats.t(error.degrees_of_freedom).ppf(0.975) * error
            )
    assert np.mean(of_wald) < 0.87
    assert np.mean(inside) > 0.92


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_of_the_range(share):
    found = of(share, halves([[share, share]] * 200))
    assert found.n_eff == 50
    assert share in (found.low, found.high)
    width = found.high - found.low
    assert width == pytest.approx(1 - 1 / (1 + stats.t(found_freedom()).ppf(0.975) ** 2 / 50))
    assert 0 <= found.low <= found.high <= 1
    assert 0.06 < width < 0.09


def found_freedom():
    return 1 / (1 / 49 + 1 / 200)


def test_a_loss_that_is_constant_has_no_width():
    assert tuple(of(3.0, halves([[3.0, 3.0]] * 5), limits=(3.0, 3.0))) == (3.0, 3.0)


def test_the_effective_number_is_bounded_near_the_ends_of_the_range():
    assert of(0.9, halves([[0.9, 0.9000001]] * 5)).n_eff == 100
    assert of(0.999, halves([[0.5, 0.9]] * 5)).n_eff == 10
    assert of(0.5, halves([[0.5, 0.501]] * 5)).n_eff == pytest.approx(0.25 / (0.001**2 / 4))
    assert of(0.5, halves([[0.0, 1.0]] * 5)).n_eff == pytest.approx(1)


def test_weights_and_groups_bound_the_effective_number():
    few = HalfScores(np.array([[0.9, 0.9000001]] * 5), 50, False, 20.0, n_answers=20.0)
    assert of(0.9, few).n_eff == 40
    groups = HalfScores(np.array([[0.99, 0.9900001]] * 5), 10, True, 20.0, n_answers=200.0)
    assert of(0.99, groups).n_eff == 400
    nothing = HalfScores(np.array([[0.99, 0.99]] * 5), 10, True, 20.0, n_answers=200.0)
    assert of(0.99, nothing).n_eff == 10


def test_a_scatter_below_the_resolution_counts_as_none():
    noise = HalfScores(np.array([[1.0, 1.0 - 1e-15]] * 5), 60, False, 20.0, resolution=1e-6)
    for score in (1.0, 1.0 - 1e-15, 1.0 + 1e-15):
        found = of(score, noise)
        assert found.n_eff == 60
        assert found.high == pytest.approx(1)
        assert found.high <= 1


def samples(n_items, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % 2
    return rng.normal(size=(n_items, 2)) + 1.5 * y[:, None], y


def test_the_interval_of_a_result_is_a_pair_with_words():
    X, y = samples(80)
    result = complete_cv(X, y, "nn", KFold(5))
    found = result.confidence_interval(0.9, n_halvings=30)
    low, high = found
    assert 0 <= low < result.score < high <= 1
    assert (found.low, found.high) == (low, high)
    assert "population" in found.target
    assert found.half_train_size == 32
    assert "90 %" in str(found)
    for again in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert again == found
        assert again.target == found.target
        assert isinstance(again, ConfidenceInterval)


def test_the_width_falls_as_one_over_the_root():
    widths = []
    for n_items in (100, 400):
        each = [
            np.diff(complete_cv(*samples(n_items, seed), "nn", Subsample(0.8)).confidence_interval())[0]
            for seed in range(6)
        ]
        widths.append(np.mean(each))
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.3)


def test_all_right():
    X = np.r_[np.zeros(25), np.ones(25)][:, None] + np.linspace(0, 0.1, 50)[:, None]
    found = complete_cv(X, np.repeat([0, 1], 25), "nn", KFold(10)).confidence_interval()
    assert found.high == 1
    assert found.low == pytest.approx(0.93, abs=0.02)


def test_a_loss_and_a_regression():
    X, y = samples(60)
    loss = [[0, 2], [6, 0]]
    cost = complete_cv(X, y, "nn", KFold(5), loss=loss)
    found = cost.confidence_interval(n_halvings=20)
    assert 0 <= found.low < cost.score < found.high <= 6
    assert found.method == "wilson"
    error = complete_cv(X, X[:, 0] - 2 * y, "regression", KFold(5), n_neighbors=2)
    low, high = error.confidence_interval(n_halvings=20)
    assert 0 <= low < error.score < high


def test_one_class_and_duplicates():
    X = np.zeros((20, 1))
    assert tuple(complete_cv(X, np.zeros(20, int), "nn", KFold(5)).confidence_interval())[1] == 1
    tied = complete_cv(X, np.arange(20) % 2, "knn", KFold(5), n_neighbors=1)
    assert 0 <= tied.confidence_interval().low <= tied.score
