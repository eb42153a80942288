"""Comparisons on the same halves."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from knnccv import (
    InferenceWarning,
    KFold,
    LeaveGroupsOut,
    StratifiedKFold,
    Subsample,
    compare,
    compare_all,
    complete_cv,
)
from knnccv.inference import Comparison


def samples(n_items=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % 2
    X = rng.normal(size=(n_items, 4))
    X[:, 0] += 1.5 * y
    return X, y


def results(n_items=120, design=None):
    X, y = samples(n_items)
    design = design or KFold(5)
    return (
        complete_cv(X, y, "nn", design),
        complete_cv(X, y, "knn", design, n_neighbors=5),
        complete_cv(X[:, 2:], y, "nn", design),
    )


def test_a_comparison_is_that_of_the_same_halves():
    one, five, _ = results()
    found = compare(one, five, n_halvings=30)
    halves = one.half_scores(30).scores - five.half_scores(30).scores
    error = math.sqrt(np.mean((halves[:, 0] - halves[:, 1]) ** 2) / 4)
    freedom = 1 / (1 / 119 + 1 / 30)
    assert found.difference == one.score - five.score
    assert found.standard_error == pytest.approx(error)
    t = stats.t(freedom)
    assert found.pvalue == pytest.approx(2 * t.sf(abs(found.difference) / error))
    margin = t.ppf(0.95) * error
    assert tuple(found.confidence_interval(0.9)) == pytest.approx(
        (found.difference - margin, found.difference + margin)
    )
    assert found.half_difference == pytest.approx(halves.mean())


def test_probabilities_sum_to_one_and_name_the_better():
    one, _, noise = results()
    found = compare(one, noise, n_halvings=30)
    first, equivalent, second = found.probability(0.02)
    assert first + equivalent + second == pytest.approx(1)
    assert first > 0.9 > second
    t = stats.t(found.degrees_of_freedom)
    assert first == pytest.approx(t.sf((0.02 - found.difference) / found.standard_error))
    assert compare(noise, one, n_halvings=30).probability(0.02) == pytest.approx(
        (second, equivalent, first)
    )
    loss = [[0, 1], [1, 0]]
    X, y = samples()
    costs = [complete_cv(each, y, "nn", KFold(5), loss=loss) for each in (X, X[:, 2:])]
    assert compare(*costs, n_halvings=30).probability(0.02).first == pytest.approx(first)


def test_a_result_and_itself():
    one, *_ = results()
    found = compare(one, one, n_halvings=10)
    assert (found.difference, found.standard_error, found.pvalue) == (0, 0, 1)
    assert tuple(found.confidence_interval()) == (0, 0)
    assert found.probability() == (0, 1, 0)


def test_a_difference_that_halves_do_not_show_is_not_judged():
    same = Comparison(0.1, 0.0, 20.0, ("a", "b"), (0.6, 0.5), "accuracy", False, 0.1)
    assert math.isnan(same.pvalue)
    assert all(math.isnan(end) for end in same.confidence_interval())
    X, y = samples()
    folds = [complete_cv(X, y, "knn", KFold(k), n_neighbors=3) for k in (80, 120)]
    with pytest.warns(InferenceWarning, match="halves of both results score the same"):
        found = compare(*folds, n_halvings=5)
    assert math.isnan(found.pvalue)
    with pytest.warns(InferenceWarning, match="halves of both results score the same"):
        table = compare_all(dict(zip("ab", folds, strict=True)), n_halvings=5)
    assert table.not_worse() == table.names


def test_the_same_rule_by_two_names_is_not_different():
    X, y = samples(60)
    for design in (KFold(7), Subsample(40), StratifiedKFold(4)):
        one, other = (
            complete_cv(X, y, *rule, **parameters)
            for rule, parameters in ((("nn", design), {}), (("knn", design), {"n_neighbors": 1}))
        )
        found = compare(one, other, n_halvings=10)
        assert found.pvalue == 1
        assert found.probability(0.0) == (0, 1, 0)
        assert len(compare_all({"a": one, "b": other}, n_halvings=10).not_worse()) == 2


def test_random_state_draws_the_same_halves_for_both():
    one, *_ = results()
    for seed in (None, np.random.default_rng(3), 7):
        assert compare(one, one, n_halvings=5, random_state=seed).standard_error == 0


def test_all_pairs_with_holm():
    given = dict(zip(("one", "five", "noise"), results(), strict=True))
    found = compare_all(given, n_halvings=30)
    assert found.names[2] == "noise"
    assert list(found.scores) == sorted(found.scores, reverse=True)
    raw = found.pvalues[np.triu_indices(3, 1)]
    by_hand = {}
    running = 0.0
    for rank, at in enumerate(np.argsort(raw)):
        running = max(running, (3 - rank) * raw[at])
        by_hand[at] = min(1.0, running)
    assert found.adjusted[np.triu_indices(3, 1)] == pytest.approx([by_hand[at] for at in range(3)])
    assert np.array_equal(found.adjusted, found.adjusted.T)
    assert found.pairs["one", "noise"].pvalue == found.pvalues[found.names.index("one"), 2]
    assert found.not_worse()[0] == found.names[0]
    assert "noise" not in found.not_worse()
    frame = found.to_frame()
    assert len(frame) == 3
    assert list(frame.columns) == ["first", "second", "difference", "standard_error", "pvalue", "adjusted"]
    assert "not worse than the best" in repr(found)
    assert found.cliques() == [tuple(name for name in found.names if name != "noise")]


def test_what_cannot_be_compared():
    one, five, _ = results()
    X, y = samples()
    other = complete_cv(X[:100], y[:100], "nn", KFold(5))
    with pytest.raises(ValueError, match="same samples, got 120 and 100 samples"):
        compare(one, other)
    with pytest.raises(ValueError, match="same samples, but their labels differ"):
        compare(one, complete_cv(X, y[::-1], "nn", KFold(5)))
    with pytest.raises(ValueError, match="one kind of design, got KFold and StratifiedKFold"):
        compare(one, complete_cv(X, y, "nn", StratifiedKFold(5)))
    with pytest.raises(ValueError, match="one kind, got accuracy and expected loss"):
        compare(one, complete_cv(X, y, "nn", KFold(5), loss=[[0, 1], [1, 0]]))
    skewed = np.arange(120) % 3 == 0
    kinds = [complete_cv(X, skewed, "nn", KFold(5), average=average) for average in ("class", "pooled")]
    with pytest.raises(ValueError, match="balanced accuracy and accuracy"):
        compare(*kinds)
    with pytest.raises(ValueError, match="needs the data"):
        compare(one, pickle.loads(pickle.dumps(five)))
    with pytest.raises(TypeError, match="compare takes results"):
        compare(one, 0.8)
    with pytest.raises(TypeError, match="compare_all takes results"):
        compare_all([one, 0.8])
    with pytest.raises(ValueError, match="at least two results, got 1"):
        compare_all([one])
    with pytest.raises(TypeError, match="names of results must be strings"):
        compare_all({1: one, 2: five})
    for wrong in (None, one, "results"):
        with pytest.raises(TypeError, match="compare_all takes a sequence of results"):
            compare_all(wrong)
    with pytest.raises(TypeError, match="names must be a sequence of names"):
        compare_all([one, five], names="ab")
    groups = np.arange(120) // 4
    grouped = [complete_cv(X, y, "nn", LeaveGroupsOut(each)) for each in (groups, np.arange(120) // 6)]
    with pytest.raises(ValueError, match="scored on the same halves"):
        compare(*grouped, n_halvings=5)
    costs = [complete_cv(X, y, "nn", KFold(5), loss=[[0, c], [c, 0]]) for c in (1, 5)]
    with pytest.raises(ValueError, match="losses or outputs differ"):
        compare(*costs)
    parts = [complete_cv(X, X[:, 0], "regression", KFold(5), n_neighbors=k, part="bias") for k in (1, 3)]
    with pytest.raises(ValueError, match="if one score is better than another"):
        compare(*parts)
    with pytest.raises(ValueError, match="names must be distinct"):
        compare_all([one, one])
    with pytest.raises(ValueError, match="one name for each of the 2 results, got 1"):
        compare_all([one, five], names=["a"])
    with pytest.raises(ValueError, match="leave names out"):
        compare_all({"a": one, "b": five}, names=["a", "b"])
    for rope in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="rope must be"):
            compare(one, five, n_halvings=4).probability(rope)
    with pytest.raises(TypeError, match="rope must be"):
        compare(one, five, n_halvings=4).probability("small")


def test_two_training_sizes_can_be_compared():
    X, y = samples()
    small, large = (complete_cv(X, y, "nn", Subsample(size)) for size in (60, 100))
    found = compare(large, small, n_halvings=20)
    assert found.difference == large.score - small.score
    assert found.names == ("nn over Subsample(train_size=100)", "nn over Subsample(train_size=60)")


def test_warnings_of_both_results_are_given_once():
    X, y = samples(40)
    rules = [complete_cv(X, y, "knn", KFold(5), n_neighbors=k) for k in (5, 7)]
    with pytest.warns(InferenceWarning) as caught:
        compare(*rules, n_halvings=5)
    assert len(caught) == 2
