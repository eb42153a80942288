"""Intervals against their formulas, written once more, and at the ends of the range."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from knnccv import ConfidenceInterval, KFold, Subsample, complete_cv
from knnccv.inference import HalfScores, confidence_interval


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
    assert high - error.score == pytest.approx(error.score - low)


def test_one_class_and_duplicates():
    X = np.zeros((20, 1))
    assert tuple(complete_cv(X, np.zeros(20, int), "nn", KFold(5)).confidence_interval())[1] == 1
    tied = complete_cv(X, np.arange(20) % 2, "knn", KFold(5), n_neighbors=1)
    assert 0 <= tied.confidence_interval().low <= tied.score
