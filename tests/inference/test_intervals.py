"""Intervals and comparisons against their formulas, written once more, and at the ends of the range."""

import copy
import math
import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics, model_selection, neighbors

from knnccv import (
    ConfidenceInterval,
    InferenceWarning,
    KFold,
    LeaveOut,
    StratifiedKFold,
    Subsample,
    compare,
    compare_all,
    complete_cv,
    predictions_on,
    surface,
)
from knnccv._core.luck.inference import Comparison, HalfScores, confidence_interval
from knnccv.sklearn import expected_score


def halves(scores, n_units=50, **more):
    return HalfScores(np.array(scores, float), n_units, more.pop("of_groups", False), 20.0, **more)


def of(score, given, level=0.95, limits=(0.0, 1.0)):
    return confidence_interval(score, given, level, limits, "x")


def wilson(share, n, z):
    """The two roots of (p - share)^2 = z^2 p (1 - p) / n."""
    return np.sort(np.roots([1 + z * z / n, -(2 * share + z * z / n), share**2]).real)


def test_wilson_with_the_effective_number():
    for share in (0.5, 0.79, 0.97):
        given = halves([[share - 0.1, share], [share + 0.02, share - 0.08], [share, share + 0.01]])
        variance = (0.1**2 + 0.1**2 + 0.01**2) / 3 / 4
        freedom = 1 / (1 / 49 + 1 / 3)
        n_eff = share * (1 - share) / variance
        if 50 * (1 - share) < 10:
            n_eff = min(max(n_eff, 10), 100)
        assert given.variance == pytest.approx(variance, rel=1e-12)
        assert given.degrees_of_freedom == pytest.approx(freedom, rel=1e-12)
        for level in (0.5, 0.95, 0.999):
            found = of(share, given, level)
            z = stats.t(freedom).ppf((1 + level) / 2)
            assert tuple(found) == pytest.approx(tuple(wilson(share, n_eff, z)), abs=1e-9)
            assert found.n_eff == pytest.approx(n_eff)
            assert (found.method, found.confidence_level) == ("wilson", level)


def test_scores_of_other_ranges():
    """A bounded range is that of shares, stretched; scores without a range have a Wald interval."""
    given = halves([[2.0, 2.4], [2.1, 2.2]])
    inside = halves(np.array([[2.0, 2.4], [2.1, 2.2]]) / 4 - 0.25)
    low, high = of(2.2, given, limits=(1.0, 5.0))
    assert (low, high) == pytest.approx(tuple(1 + 4 * end for end in of(0.3, inside)))
    given = halves([[2.0, 3.0], [2.5, 2.0]])
    error = math.sqrt((1 + 0.25) / 2 / 4)
    t = stats.t(given.degrees_of_freedom).ppf(0.975)
    found = of(2.3, given, limits=None)
    assert tuple(found) == pytest.approx((2.3 - t * error, 2.3 + t * error))
    assert found.method == "wald"
    assert math.isnan(found.n_eff)
    assert tuple(of(3.0, halves([[3.0, 3.0]] * 5), limits=(3.0, 3.0))) == (3.0, 3.0)


def test_the_ends_of_the_range():
    t = stats.t(1 / (1 / 49 + 1 / 200)).ppf(0.975)
    for share in (0.0, 1.0):
        found = of(share, halves([[share, share]] * 200))
        assert found.n_eff == 50
        assert share in (found.low, found.high)
        assert found.high - found.low == pytest.approx(1 - 1 / (1 + t**2 / 50))
        assert 0 <= found.low <= found.high <= 1
    for score in (1.0, 1.0 - 1e-15, 1.0 + 1e-15):  # a scatter below the resolution counts as none
        found = of(score, halves([[1.0, 1.0 - 1e-15]] * 5, 60, resolution=1e-6))
        assert found.n_eff == 60
        assert found.high == pytest.approx(1)
        assert found.high <= 1


def test_bounds_of_the_effective_number():
    """Near the ends of the range; weights and groups move them."""
    assert of(0.9, halves([[0.9, 0.9000001]] * 5)).n_eff == 100
    assert of(0.999, halves([[0.5, 0.9]] * 5)).n_eff == 10
    assert of(0.5, halves([[0.5, 0.501]] * 5)).n_eff == pytest.approx(0.25 / (0.001**2 / 4))
    assert of(0.5, halves([[0.0, 1.0]] * 5)).n_eff == pytest.approx(1)
    assert of(0.9, halves([[0.9, 0.9000001]] * 5, n_answers=20.0)).n_eff == 40
    groups = {"n_units": 10, "of_groups": True, "n_answers": 200.0}
    assert of(0.99, halves([[0.99, 0.9900001]] * 5, **groups)).n_eff == 400
    assert of(0.99, halves([[0.99, 0.99]] * 5, **groups)).n_eff == 10


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


def test_squared_errors_have_the_interval_of_hall():
    X, signal, noise = noisy(60)
    groups = np.arange(60) // 3
    for part in ("error", "variance"):
        result = complete_cv(X, signal + noise, "regression", Subsample(48), n_neighbors=3, part=part)
        by_group = result.per_item.reshape(20, 3).sum(axis=1)
        for how, items in (({}, result.per_item), ({"groups": groups}, by_group)):
            error = float(result.standard_error(n_halvings=50, **how))
            for level in (0.5, 0.999):
                found = result.confidence_interval(level, n_halvings=50, **how)
                assert tuple(found) == pytest.approx(hall(result.score, items, error, 50, level), rel=1e-9)
                assert found.method == "hall"
                assert math.isnan(found.n_eff)
                assert found.high - result.score > result.score - found.low > 0


def test_squared_errors_of_scikit_learn_have_the_same_interval():
    """As those of surfaces have, see `test_half_surface`."""
    X, signal, noise = noisy(50)
    y = np.column_stack([signal + noise, X[:, 0] - noise])
    exact = complete_cv(X, y, "regression", Subsample(40))
    found, of_halves = exact.confidence_interval(n_halvings=20), exact.half_scores(20)
    assert of_halves.growth == of_halves.scores.mean() / exact.score > 1.01
    error = np.sqrt(np.mean(np.diff(of_halves.scores) ** 2)) / 2 / of_halves.growth
    assert exact.standard_error(n_halvings=20) == pytest.approx(error, rel=1e-9)
    cv, scoring = model_selection.ShuffleSplit(test_size=10), "neg_mean_squared_error"
    asked = expected_score(neighbors.KNeighborsRegressor(), X, y, cv=cv, scoring=scoring)
    negative = asked.confidence_interval(n_halvings=20)
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
    y = np.exp(1.5 * noise)
    wild, other = (complete_cv(X, y, "regression", KFold(5), n_neighbors=k) for k in (5, 2))
    grid = surface(X, y, variant="regression", n_neighbors=[5], train_sizes=[40])
    asks = (
        wild.confidence_interval,
        wild.standard_error,
        partial(compare, wild, other),
        grid.confidence_interval,
    )
    for ask in asks:
        with pytest.warns(InferenceWarning, match="such as its logarithm: the standard deviation of"):
            ask(n_halvings=20)


def samples(n_items=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % 2
    X = rng.normal(size=(n_items, 4))
    X[:, 0] += 1.5 * y
    return X, y


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


def test_intervals_stay_in_the_range_of_the_score():
    X, y = samples(60)
    cost = complete_cv(X, y, "nn", KFold(5), loss=[[0, 2], [6, 0]])
    found = cost.confidence_interval(n_halvings=20)
    assert 0 <= found.low < cost.score < found.high <= 6
    assert found.method == "wilson"
    X = np.repeat([0, 1], 25)[:, None] + np.linspace(0, 0.1, 50)[:, None]
    found = complete_cv(X, np.repeat([0, 1], 25), "nn", KFold(10)).confidence_interval()
    assert found.high == 1
    assert found.low == pytest.approx(0.93, abs=0.02)
    X = np.arange(20.0)[:, None]
    still = complete_cv(X, np.ones(20), "regression", KFold(5), n_neighbors=1)
    assert tuple(still.confidence_interval()) == (0, 0)
    X = np.zeros((20, 1))
    assert tuple(complete_cv(X, np.zeros(20, int), "nn", KFold(5)).confidence_interval())[1] == 1
    tied = complete_cv(X, np.arange(20) % 2, "knn", KFold(5), n_neighbors=1)
    assert 0 <= tied.confidence_interval().low <= tied.score


def floored(result, weights, costs, of_halves, limits):
    """Wilson's interval; the better end at least that of each class, as if only answers for it varied.

    ``costs`` are those of the worst answers of the classes, negative for scores of right answers.
    """
    halves, variance = len(of_halves.scores), of_halves.variance
    z = stats.t(1 / (1 / (len(result.per_item) - 1) + 1 / halves)).ppf(0.975)

    def ends(low, high, least, variance):
        share, scale = (result.score - low) / (high - low), abs(high - low)
        n_eff = max(share * (1 - share) * scale**2 / variance, least)
        return sorted(low + (high - low) * wilson(share, n_eff, z))

    low, high = ends(*limits, 0, variance)
    codes = np.unique(result.labels, return_inverse=True)[1]
    for c, (weight, cost) in enumerate(zip(weights, costs, strict=True)):
        mine, own = np.sum(codes == c), weight * result.per_item[codes == c].mean()
        worst, best = (result.score - own + weight * end for end in ((cost, 0) if cost > 0 else (0, 1)))
        more, less = ((x - worst) / (best - worst) for x in (result.score, of_halves.mean))
        shrunk = np.clip(more * (1 - more) / max(less * (1 - less), 1e-300), 1, 3)
        end = ends(worst, best, mine / 2, variance * shrunk)
        low, high = (min(low, end[0]), high) if cost > 0 else (low, max(high, end[1]))
    return low, high


def rare(n_items=100, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(["a", "b"]), [4 * n_items // 5, n_items // 5])
    X = rng.normal(size=(n_items, 5))
    X[y == "b", 0] += 2
    return X, y


CLASS, PRIORS = {"average": "class"}, {"average": {"a": 0.4, "b": 0.6}}
FLOORS = {
    "class": (CLASS, (0.5, 0.5), (-1, -1), (0, 1)),
    "priors": (PRIORS, (0.4, 0.6), (-1, -1), (0, 1)),
    "costs": (CLASS | {"loss": [[0, 1], [3, 0]]}, (0.5, 0.5), (1, 3), (0, 3)),
}
"""The average, the weights of the classes, the costs of their worst answers, and the range."""


@pytest.mark.parametrize("kind", FLOORS)
def test_scores_that_count_a_rare_class_more_have_a_floor_for_each_class(kind):
    """The better end of the interval, against the formula written once more."""
    asked, weights, costs, limits = FLOORS[kind]
    X, y = rare()
    result = complete_cv(X, y, "knn", StratifiedKFold(5), **asked)
    found, of_halves = result.confidence_interval(n_halvings=20), result.half_scores(20)
    assert tuple(found) == pytest.approx(floored(result, weights, costs, of_halves, limits), rel=1e-9)
    plain = of(result.score, replace(of_halves, floors=np.empty((0, 3))), limits=limits)
    assert plain.low >= found.low
    assert plain.high <= found.high
    assert tuple(plain) != tuple(found)


def test_floors_count_groups_where_groups_are_the_units():
    X, y = rare()
    result, groups = complete_cv(X, y, "knn", StratifiedKFold(5), **CLASS), np.arange(100) // 5
    assert result.half_scores(4).floors[:, 2].tolist() == [80, 20]
    assert result.half_scores(4, groups=groups).floors[:, 2].tolist() == [16, 4]


def test_balanced_accuracy_of_scikit_learn_has_the_same_floors():
    X, y = rare()
    cv, rule = model_selection.StratifiedKFold(5, shuffle=True), neighbors.KNeighborsClassifier()
    negative = metrics.make_scorer(metrics.recall_score, average="macro", greater_is_better=False)
    result = complete_cv(X, y, "knn", StratifiedKFold(5), **CLASS)
    for scoring, sign in (("balanced_accuracy", 1), (negative, -1)):
        asked = expected_score(rule, X, y, cv=cv, scoring=scoring)
        halves, found = asked.half_scores(20), asked.confidence_interval(n_halvings=20)
        halves = replace(halves, scores=sign * halves.scores)
        wanted = floored(result, *FLOORS["class"][1:3], halves, (0, 1))
        assert sorted(sign * end for end in found) == pytest.approx(wanted, rel=1e-9)


def results():
    """One neighbor, five, and one among columns of noise."""
    X, y = samples()
    one = complete_cv(X, y, "nn", KFold(5))
    return one, complete_cv(X, y, "knn", KFold(5), n_neighbors=5), complete_cv(X[:, 2:], y, "nn", KFold(5))


def test_a_comparison_is_that_of_the_same_halves():
    one, five, _ = results()
    found = compare(one, five, n_halvings=30)
    gap = one.half_scores(30).scores - five.half_scores(30).scores
    error = math.sqrt(np.mean((gap[:, 0] - gap[:, 1]) ** 2) / 4)
    t = stats.t(1 / (1 / 119 + 1 / 30))
    assert found.difference == one.score - five.score
    assert found.standard_error() == pytest.approx(error)
    assert found.pvalue == pytest.approx(2 * t.sf(abs(found.difference) / error))
    ends = found.difference - t.ppf(0.95) * error, found.difference + t.ppf(0.95) * error
    assert tuple(found.confidence_interval(0.9)) == pytest.approx(ends)
    assert found.half_difference == pytest.approx(gap.mean())


def test_probabilities_sum_to_one_and_name_the_better():
    one, _, noise = results()
    found = compare(one, noise, n_halvings=30)
    first, equivalent, second = found.probability(0.02)
    assert first + equivalent + second == pytest.approx(1)
    assert first > 0.9 > second
    t = stats.t(found.degrees_of_freedom)
    assert first == pytest.approx(t.sf((0.02 - found.difference) / found.standard_error()))
    swapped = compare(noise, one, n_halvings=30)
    assert swapped.probability(0.02) == pytest.approx((second, equivalent, first))
    X, y = samples()
    costs = [complete_cv(each, y, "nn", KFold(5), loss=[[0, 1], [1, 0]]) for each in (X, X[:, 2:])]
    assert compare(*costs, n_halvings=30).probability(0.02).first == pytest.approx(first)


def test_results_that_do_not_differ():
    """A result and itself, for every way to seed, and one rule by two names."""
    one, *_ = results()
    for seed in (None, np.random.default_rng(3), 7):
        found = compare(one, one, n_halvings=10, random_state=seed)
        assert (found.difference, found.standard_error(), found.pvalue) == (0, 0, 1)
        assert tuple(found.confidence_interval()) == (0, 0)
        assert found.probability() == (0, 1, 0)
    X, y = samples(60)
    for design in (KFold(7), Subsample(40), StratifiedKFold(4)):
        one, other = complete_cv(X, y, "nn", design), complete_cv(X, y, "knn", design, n_neighbors=1)
        found = compare(one, other, n_halvings=10)
        assert found.pvalue == 1
        assert found.probability(0.0) == (0, 1, 0)
        assert len(compare_all({"a": one, "b": other}, n_halvings=10).not_worse()) == 2


def test_a_difference_that_halves_do_not_show_is_not_judged():
    same = Comparison(0.1, 0.0, 20.0, ("a", "b"), (0.6, 0.5), "accuracy", False, 0.1)
    assert math.isnan(same.pvalue)
    assert all(math.isnan(end) for end in same.confidence_interval())
    X, y = samples()
    folds = [complete_cv(X, y, "knn", KFold(k), n_neighbors=3) for k in (80, 120)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        assert math.isnan(compare(*folds, n_halvings=5).pvalue)
        table = compare_all(dict(zip("ab", folds, strict=True)), n_halvings=5)
    assert table.not_worse() == table.names


PREDICTED = {
    "accuracy": ("knn", {}, None),
    "balanced": ("knn", {"average": "class"}, None),
    "loss": ("knn", {"loss": [[0, 1], [5, 0]]}, [[0, 1], [5, 0]]),
    "squared": ("regression", {}, "squared"),
    "outputs": ("regression", {}, "squared"),
}


@pytest.mark.parametrize("kind", PREDICTED)
def test_predictions_on_all_splits_score_what_the_exact_result_says(kind):
    """The same rule by scikit-learn on every split; and constant predictions, with the variance by hand."""
    rule, more, loss = PREDICTED[kind]
    X, _ = samples(9, seed=3)
    y = {"squared": X[:, 1], "outputs": X[:, :2]}.get(kind, np.array(list("bbabaabaa")))
    peer = (
        neighbors.KNeighborsRegressor(3, algorithm="kd_tree")
        if loss == "squared"
        else neighbors.KNeighborsClassifier(3, algorithm="kd_tree")
    )
    if kind == "loss":  # the vote that costs least is not scikit-learn's
        peer, more = neighbors.KNeighborsClassifier(1), more | {"n_neighbors": 1}
    result = complete_cv(X, y, rule, LeaveOut(2), ties="index", **({"n_neighbors": 3} | more))
    splits = list(model_selection.LeavePOut(2).split(X))
    found = predictions_on(splits, [peer.fit(X[a], y[a]).predict(X[b]) for a, b in splits], y, loss=loss)
    np.testing.assert_allclose(found.per_item, result.per_item, rtol=1e-12, atol=1e-12)
    if kind != "balanced":
        assert found.split_scores.mean() == pytest.approx(result.score)
    same = compare(result, found)
    assert (same.difference, same.pvalue) == (pytest.approx(0, abs=1e-14), 1)
    assert same.scores == pytest.approx((result.score,) * 2)

    fixed = [np.broadcast_to(y[2], (3, *y.shape[1:]))] * 3
    other = predictions_on(model_selection.KFold(3).split(X), fixed, y, loss=loss, name="fixed")
    first, second = compare(result, other), compare(other, result)
    gap = result.per_item - other.per_item
    mean = result.weights @ gap
    variance = 2 * 9 / 8 * (result.weights**2 @ (gap - mean) ** 2) + other.std_error**2
    assert first.difference == -second.difference == pytest.approx(mean)
    assert first.standard_error() == second.standard_error() == pytest.approx(math.sqrt(variance))
    assert first.names == second.names[::-1]
    assert first.names[1] == "fixed"
    assert first.pvalue == pytest.approx(2 * stats.t(8).sf(abs(mean) / math.sqrt(variance)))
    groups = np.arange(9) // 2
    sums = np.bincount(groups, result.weights * (gap - mean))
    by_group = compare(result, other, groups=groups)
    assert by_group.standard_error() == pytest.approx(
        math.sqrt(2 * 5 / 4 * (sums**2).sum() + other.std_error**2)
    )
    assert by_group.degrees_of_freedom == 4


def test_samples_that_no_split_tests_are_left_out_of_both_scores():
    X, y = samples(20)
    result = complete_cv(X, y, "nn", KFold(5))
    splits = [(None, np.arange(12)), (None, [3, 2])]
    given = [y[:12], 1 - y[[3, 2]]]
    other = predictions_on(splits, given, y)
    assert other.n_tested.tolist() == [1, 1, 2, 2] + [1] * 8 + [0] * 8
    with pytest.warns(InferenceWarning, match="those of 12 samples only"):
        found = compare(result, other)
    whole = [(np.arange(20) < 8, np.arange(8, 20)), (np.arange(8, 20), np.arange(8))]
    with pytest.warns(InferenceWarning, match="10 samples of other and 16 of nn"):
        compare(result, predictions_on(whole, [y[8:], y[:8]], y))
    assert found.scores == pytest.approx((result.per_item[:12].mean(), 11 / 12))
    two = predictions_on([(None, [0, 1]), (None, [2, 3])], [y[:2], 1 - y[2:4]], y)
    assert two.std_error == pytest.approx(math.sqrt((0.5 - 1 / 6) / 2))
    pool = complete_cv(X, y, "nn", Subsample(10), test=(X[:7], y[:7]))
    assert compare(pool, predictions_on([(None, range(7))], [y[:7]], y[:7])).scores[1] == 1


def test_all_pairs_with_holm():
    given = dict(zip(("one", "five", "noise"), results(), strict=True))
    found = compare_all(given, n_halvings=30)
    assert found.names[2] == "noise"
    assert list(found.scores) == sorted(found.scores, reverse=True)
    pairs = np.triu_indices(3, 1)
    raw, by_hand, running = found.pvalues[pairs], np.empty(3), 0.0
    for rank, at in enumerate(np.argsort(raw)):
        running = max(running, (3 - rank) * raw[at])
        by_hand[at] = min(1.0, running)
    assert found.adjusted[pairs] == pytest.approx(by_hand)
    assert np.array_equal(found.adjusted, found.adjusted.T)
    assert found.pairs["one", "noise"].pvalue == found.pvalues[found.names.index("one"), 2]
    assert found.not_worse()[0] == found.names[0]
    assert "noise" not in found.not_worse()
    frame = found.to_frame()
    assert len(frame) == 3
    assert list(frame.columns) == ["first", "second", "difference", "standard_error", "pvalue", "adjusted"]
    assert f"not_worse=[{', '.join(found.not_worse())}]" in repr(found)
    assert found.cliques() == [tuple(name for name in found.names if name != "noise")]


def test_warnings_of_both_results_are_given_once():
    X, y = samples(40)
    rules = [complete_cv(X, y, "knn", KFold(5), n_neighbors=k) for k in (5, 7)]
    with pytest.warns(InferenceWarning) as caught:
        compare(*rules, n_halvings=5)
    assert len(caught) == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_intervals_of_exponential_errors_cover_nine_in_ten():
    n_neighbors, inside, of_wald, truth = 5, [], [], []
    cases = [noisy(60, seed) for seed in range(300)]
    for X, signal, _ in cases:  # the noise has variance 1
        exact = complete_cv(X, signal, "regression", KFold(5), n_neighbors=n_neighbors).score
        truth.append(exact + 1 + 1 / n_neighbors)
    target = np.mean(truth)
    for X, signal, noise in cases:
        result = complete_cv(X, signal + noise, "regression", KFold(5), n_neighbors=n_neighbors)
        low, high = result.confidence_interval(n_halvings=40)
        error = result.standard_error(n_halvings=40)
        inside.append(low <= target <= high)
        margin = stats.t(error.degrees_of_freedom).ppf(0.975) * error
        of_wald.append(abs(result.score - target) <= margin)
    assert np.mean(of_wald) < 0.87
    assert np.mean(inside) > 0.92


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
def test_intervals_of_balanced_accuracy_cover_nineteen_in_twenty():
    """A class of a fifth of 60 samples: 85 % of the data sets without the floor, all misses too low."""
    results = [complete_cv(*rare(60, seed), "knn", StratifiedKFold(5), **CLASS) for seed in range(400)]
    truth = np.mean([result.score for result in results])
    ends = np.array([result.confidence_interval(n_halvings=40) for result in results[:150]])
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) > 0.94
