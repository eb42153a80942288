"""Designs: sizes, counts, scikit-learn's folds, random runs, halves, and laws of positions."""

import math
from fractions import Fraction

import naive
import naive_splits
import numpy as np
import pytest
from problems import one_of_each
from scipy.stats import hypergeom
from seeds import seeds
from sklearn import model_selection

from knnccv import (
    KFold,
    LeaveOut,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
)
from knnccv._core.driver import validate_problem
from knnccv.designs import n_train_in_half
from knnccv.kernel.sampling import fixed_tail, position_law


def encoded(y):
    return validate_problem(y, len(y), "nn", LeaveOut(1), None, "pooled", {}).labels


def coded(counts, seed=0):
    y = np.repeat(np.arange(len(counts)), counts)
    return encoded(np.random.default_rng(seed).permutation(y))


def test_folds_are_scikit_learns():
    for seed in seeds(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, int(rng.integers(21, 40)))
        y[:21] = np.tile([2, 0, 1], 7)
        labels, k = encoded(y), int(rng.choice([2, 3, 4, 7]))
        shuffled = {"shuffle": True, "random_state": seed}
        for design, splitter, strata in [
            (KFold(k), model_selection.KFold(k, **shuffled), np.zeros(len(y), int)),
            (StratifiedKFold(k), model_selection.StratifiedKFold(k, **shuffled), labels.codes),
        ]:
            theirs = [tuple(np.bincount(strata[train]).tolist()) for train, _ in splitter.split(y, y)]
            for kind in design.training_sets(labels):
                assert kind.probability == Fraction(theirs.count(kind.n_train), k), (seed, design)
            fold, kinds = design.draw(labels, np.random.default_rng(seed))
            ours = [tuple(np.bincount(strata[fold != i]).tolist()) for i in range(k)]
            assert ours == theirs, (seed, design)
            assert [design.training_sets(labels)[kind].n_train for kind in kinds] == ours, (seed, design)


def test_a_class_smaller_than_k_is_missing_from_some_folds():
    labels = encoded([0] * 9 + [1] * 2)
    kinds = StratifiedKFold(4).training_sets(labels)
    listed = naive.stratified_allocation([0] * 9 + [1] * 2, 4)
    assert {kind.n_train for kind in kinds} == {(9 - a, 2 - b) for a, b in listed}


def test_runs_are_uniform():
    """Every sample is tested as often as the design says, within five standard errors."""
    labels, n_runs = coded((5, 3)), 300
    by_class = StratifiedSubsample(per_class={0: 2, 1: 1})
    several = [Subsample(5), LeaveOut(2), by_class, KFold(3), StratifiedKFold(2), KFold(8)]
    for design in [*several, *one_of_each(np.arange(8) // 3)]:
        tested = np.zeros(8)
        for run in range(n_runs):
            fold, kinds = design.draw(labels, np.random.default_rng(run))
            assert fold.max() == len(kinds) - 1
            tested += fold >= 0
        every = design.every_split(labels)
        if every is not None:
            fold, kinds = every
            assert sorted(set(fold.tolist())) == list(range(len(kinds)))
            assert len(kinds) == design.n_train_sets(labels)
        kinds = design.training_sets(labels)
        if isinstance(design, (KFold, StratifiedKFold)):
            assert (tested == n_runs).all()
        else:
            share = np.array([float(s) for s in kinds[0].tested_share(2)])[labels.codes]
            error = np.sqrt(share * (1 - share) / n_runs)
            assert (np.abs(tested / n_runs - share) <= 5 * error).all(), design


LAWS = [(1, 1, 1), (9, 4, 1), (9, 4, 4), (9, 9, 3), (30, 2, 2), (60, 31, 7)]
TAILS = [(99, 50, 1), (9999, 8000, 5), (99_999, 1000, 50), (10**6, 10**5, 15)]


def test_laws_and_tails_of_the_kth_position():
    for m, n_train, k in LAWS:
        expected = [
            Fraction(math.comb(i - 1, k - 1) * math.comb(m - i, n_train - k), math.comb(m, n_train))
            if m - i >= n_train - k
            else 0
            for i in range(1, m + 1)
        ]
        assert list(position_law(m, n_train, k, Fraction)) == expected
        np.testing.assert_allclose(position_law(m, n_train, k), [float(p) for p in expected], rtol=1e-14)
    for m, n_train, k in TAILS:
        tail = fixed_tail(m, n_train, k)
        depths = np.linspace(0, m, 40).astype(int)
        expected = hypergeom.cdf(k - 1, m, n_train, depths)
        seen = expected > 1e-13
        np.testing.assert_allclose(tail[depths][seen], expected[seen], rtol=1e-8)
        assert tail[0] == pytest.approx(1.0, rel=1e-12)
        assert tail[-1] == 0
        assert (np.diff(tail) <= 0).all()


def test_the_law_keeps_its_accuracy_where_its_start_underflows():
    """P(the first 300 samples are all chosen) is 1e-600; the law must not be all zeros."""
    law = position_law(100_000, 1_000, 300)
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    assert (law * np.arange(1, 100_001)).sum() == pytest.approx(300 * 100_001 / 1_001, rel=1e-10)


def test_halves_of_one_stratum():
    for n_items in (4, 5, 7, 10, 11, 29, 30, 60, 101):
        half = n_items // 2
        labels, rows = encoded(np.arange(n_items) % 2), np.arange(half)
        for alpha in range(1, n_items):
            expected = naive_splits.train_size(n_items, alpha, half)
            assert n_train_in_half([alpha], [n_items], [half]) == (expected,)
            assert Subsample(alpha).halved(labels, rows) == Subsample(expected)
            assert LeaveOut(n_items - alpha).halved(labels, rows) == LeaveOut(half - expected)


def test_strata_of_halves_keep_their_shares():
    for seed in seeds(200):
        rng = np.random.default_rng(seed)
        counts = rng.integers(1, 30, int(rng.integers(2, 6)))
        n_train = np.array([rng.integers(0, count + 1) for count in counts])
        drawn = rng.permutation(np.repeat(np.arange(len(counts)), counts))[: counts.sum() // 2]
        half = np.bincount(drawn, minlength=len(counts))
        if not 0 < n_train.sum() < counts.sum() or half.sum() < 2:
            continue
        found = np.array(n_train_in_half(n_train.tolist(), counts.tolist(), half.tolist()))
        assert (found >= 0).all(), seed
        assert (found <= half).all(), seed
        assert 0 < found.sum() < half.sum(), seed
        if 10 * n_train.sum() <= counts.sum():
            kept = np.minimum(n_train, half)
            assert (found == kept).all() if kept.any() else found[half.argmax()] == 1, seed
        else:
            wanted = half * (counts - n_train) / counts
            assert (np.abs(half - found - wanted) <= 1 + 1e-9).all(), seed


def test_rebalanced_leave_one_out_is_drawn_and_has_halves():
    rng, design = np.random.default_rng(0), RebalancedLeaveOneOut()
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], [15, 10, 5])
    ours = complete_cv(X, y, "knn", design, n_neighbors=3)
    runs = monte_carlo_cv(X, y, "knn", design, n_runs=4000, random_state=0, n_neighbors=3)
    assert abs(runs.score - ours.score) < 4 * runs.std_error
    fold, kinds = design.draw(encoded(y), np.random.default_rng(0))
    assert sorted(y[fold == 0]) == ["a", "b", "c"]
    assert kinds.tolist() == [0]
    found = complete_cv(rng.normal(size=(60, 2)), np.arange(60) % 2, "knn", design, n_neighbors=3)
    assert 0.02 < found.standard_error(50) < 0.2  # halves use the same design
