"""The rivals: published worked examples, and direct computations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors
from knnccv_papers import rivals
from knnccv_papers.rivals import binomial, corrected_t, five_by_two_cv, fold_clt, mcnemar, wang_lindsay

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


def test_intervals_of_one_run_by_hand():
    rng = np.random.default_rng(0)
    folds, scores = np.repeat(list("abcd"), 5), rng.integers(0, 2, 20)
    parts = [scores[folds == name] for name in "abcd"]
    within = sum(sum((x - part.mean()) ** 2 for x in part) / 4 for part in parts) / 4
    shuffled = rng.permutation(20)
    for variance, spread in (("all-pairs", scores.var()), ("within-fold", within)):
        found = fold_clt(folds, scores, variance=variance)
        assert found.standard_error == pytest.approx(math.sqrt(spread / 20), rel=1e-12)
        assert found.estimate == pytest.approx(scores.mean(), rel=1e-15)
        low, high = found
        assert (high - low) / 2 == pytest.approx(Z * found.standard_error, rel=1e-12)
        again = fold_clt(folds[shuffled], scores[shuffled] == 1, variance=variance)
        assert again.standard_error == pytest.approx(found.standard_error, rel=1e-12)


def test_corrected_t_by_hand():
    """With n_test / n_train = 0 it is the t test of the mean; else its error grows by the factor."""
    scores = np.array([0.81, 0.77, 0.85, 0.8, 0.79, 0.83])
    plain = ttest_1samp(scores, 0)
    tiny = corrected_t(scores, n_train=1e18, n_test=1)
    assert tiny.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert tiny.pvalue == pytest.approx(plain.pvalue, rel=1e-6)
    assert tuple(tiny) == pytest.approx(tuple(plain.confidence_interval(0.95)), rel=1e-9)
    found = corrected_t(scores, n_train=90, n_test=10, confidence_level=0.9)
    assert found.standard_error / tiny.standard_error == pytest.approx(math.sqrt(1 + 6 / 9), rel=1e-9)
    assert (found.df, found.confidence_level) == (5, 0.9)


def test_binomial_intervals_of_the_literature():
    """Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20 and 1 of 29."""
    printed = {
        (81, 263): ((0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148): ((0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20): ((0.0, 0.1611), (0.0, 0.1684)),
        (1, 29): ((0.0061, 0.1718), (0.0009, 0.1776)),
    }
    for (count, n), expected in printed.items():
        for method, ends in zip(("wilson", "exact"), expected, strict=True):
            found = tuple(binomial(count / n, n, method=method))
            assert found == pytest.approx(ends, abs=6e-5)
    assert tuple(binomial(1 + 2**-52, 50)) == tuple(binomial(1.0, 50))  # a share that is rounded up


def test_all_halvings_give_the_unbiased_variance():
    """On every sample of size 4 with replacement of a population of three: mean of estimates = variance."""
    population = [Fraction(0), Fraction(1), Fraction(5)]
    halvings = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    estimates, conservative, means = [], [], []
    for sample in itertools.product(population, repeat=4):
        # The score of a half is a U-statistic of order 2, the product of both values.
        halves = [[sample[i] * sample[j] for i, j in halving] for halving in halvings]
        found = wang_lindsay([[float(x) for x in pair] for pair in halves], every_halving=True)
        estimates.append(found.variance)
        conservative.append(found.conservative)
        means.append(float(sum(map(sum, halves)) / 6))
    assert np.mean(estimates) == pytest.approx(np.var(means), rel=1e-12)
    half = np.var([float(a * b) for a, b in itertools.product(population, repeat=2)])
    assert np.mean(conservative) == pytest.approx(half / 2, rel=1e-12)


def test_a_random_sample_of_halvings():
    """Over all samples of two halvings, with replacement, the mean is that of all halvings."""
    table = np.array([[0.3, 0.7], [0.5, 0.9], [0.1, 0.4]])
    pairs = [wang_lindsay(table[list(rows)]).variance for rows in itertools.product(range(3), repeat=2)]
    assert np.mean(pairs) == pytest.approx(wang_lindsay(table, every_halving=True).variance, rel=1e-12)


def test_mcnemar_by_counting():
    """The table of Edwards' correction with 30 and 12, and the binomial sum of 9 and 2."""
    a, b = [1] * 30 + [0] * 12 + [1] * 8, [0] * 30 + [1] * 12 + [1] * 8
    found = mcnemar(a, b, method="chi2")
    assert found.statistic == pytest.approx((18 - 1) ** 2 / 42, rel=1e-15)
    assert found.pvalue == pytest.approx(math.erfc(math.sqrt(found.statistic / 2)), rel=1e-12)
    statistic, pvalue = mcnemar([True] * 9 + [False] * 2, [False] * 9 + [True] * 2)
    assert statistic == 9
    assert pvalue == pytest.approx(2 * sum(math.comb(11, i) for i in range(3)) / 2**11, rel=1e-12)
    for method in ("exact", "chi2"):
        assert mcnemar([1, 0], [1, 0], method=method).pvalue == 1
        assert mcnemar([1, 0], [0, 1], method=method).pvalue == 1


def test_five_by_two_by_hand():
    d = [[0.05, 0.03], [0.02, 0.04], [0.06, 0.01], [0.03, 0.03], [0.0, 0.05]]
    spread = sum((x - (x + y) / 2) ** 2 + (y - (x + y) / 2) ** 2 for x, y in d)
    t, F = five_by_two_cv(d), five_by_two_cv(d, method="F")
    assert t.statistic == pytest.approx(0.05 / math.sqrt(spread / 5), rel=1e-12)
    assert F.statistic == pytest.approx(sum(x * x for pair in d for x in pair) / (2 * spread), rel=1e-12)
    # Printed quantiles: t with 5 degrees of freedom 2.571, F with 10 and 5 4.74.
    size = 2.5706 * math.sqrt(spread / 5)
    assert five_by_two_cv([[size, size - 0.02], *d[1:]]).pvalue == pytest.approx(0.05, abs=1e-4)
    scale = [[1 + 0.1 * y, 1 - 0.1 * y] for y in range(1, 6)]
    found = five_by_two_cv(scale, method="F")
    assert (found.statistic > 4.735) == (found.pvalue < 0.05)


def test_scores_without_spread():
    assert five_by_two_cv(np.zeros((5, 2))).pvalue == 1
    assert five_by_two_cv(np.ones((5, 2)), method="F").pvalue == 0
    assert corrected_t([0.1, 0.1, 0.1], 9, 1).pvalue == 0
    none = corrected_t([0, 0], 9, 1)
    assert (none.pvalue, none.low, none.high) == (1, 0, 0)
    assert math.isnan(none.statistic)
    X = np.concatenate([np.arange(20.0), 1000 + np.arange(20.0)])[:, None]
    found = rivals.nested_cv(X, np.repeat([0, 1], 20), 1, n_folds=4, n_runs=2)
    assert (found.estimate, found.low, found.high) == (1, 1, 1)


class Nearest:
    """1-NN, as a classifier of scikit-learn's interface."""

    def fit(self, X, y):
        self.X, self.y = X, y

    def predict(self, X):
        gaps = ((X[:, None] - self.X[None]) ** 2).sum(axis=2)
        return self.y[gaps.argmin(axis=1)]


def directly(X, y, n_folds, n_runs, seed):
    """Algorithm 1 for 1-NN, one training set for each pair of outer and inner fold."""
    rng = np.random.default_rng(seed)
    n = len(y)

    def draw():
        order, size = rng.permutation(n), n // n_folds
        return [order[i * size : (i + 1) * size] for i in range(n_folds)]

    def errors(without, tested):
        keep = np.setdiff1d(np.arange(n), np.concatenate(without))
        model = Nearest()
        model.fit(X[keep], y[keep])
        return (model.predict(X[tested]) != y[tested]).astype(float)

    a, b, inner = [], [], []
    for _ in range(n_runs):
        folds = draw()
        for j, outer in enumerate(folds):
            found = [errors([outer, fold], fold) for k, fold in enumerate(folds) if k != j]
            out = errors([outer], outer)
            a.append((np.mean(found) - out.mean()) ** 2)
            b.append(out.var(ddof=1) / len(out))
            inner.extend(np.concatenate(found))
    plain = [np.mean([errors([fold], fold) for fold in draw()]) for _ in range(-(-n_runs // 5))]
    mse = max(np.mean(a) - np.mean(b), 0)
    deviation, n_inner = np.std(inner, ddof=1), n * (n_folds - 1) // n_folds
    inflation = np.clip(np.sqrt(mse) / (deviation / np.sqrt(n_inner)), 1, np.sqrt(n_folds))
    bias = (1 + ((n_folds - 2) / n_folds) ** 1.5) * (np.mean(inner) - np.mean(plain))
    return 1 - (np.mean(inner) - bias), inflation * deviation / np.sqrt(n), inflation


@pytest.mark.parametrize(("n", "n_folds"), [(40, 5), (43, 4)])
def test_nested_cross_validation_directly(n, n_folds):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    y[X[:, 0] > 0.3] = 1
    expected, error, inflation = directly(X, y, n_folds, 6, 1)
    for data, rule in ((X, 1), (Neighbors.from_data(X), 1), (X, Nearest())):
        found = rivals.nested_cv(data, y, rule, n_folds=n_folds, n_runs=6, random_state=1)
        assert found.estimate == pytest.approx(expected, rel=1e-12)
        assert found.standard_error == pytest.approx(error, rel=1e-12)
        assert found.inflation == pytest.approx(inflation, rel=1e-12)
        low, high = found
        assert (high - low) / 2 == pytest.approx(Z * error, rel=1e-9)


def test_votes_equal_a_classifier():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), np.array(list("bac"))[rng.integers(0, 3, 60)]
    options = {"n_folds": 5, "n_runs": 3}
    votes = rivals.nested_cv(X, y, 7, **options)
    fitted = rivals.nested_cv(X, y, KNeighborsClassifier(7), **options)
    assert votes == fitted
