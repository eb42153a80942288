"""Designs: sizes, counts, scikit-learn's folds, random runs."""

import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from problems import one_of_each
from scipy.stats import hypergeom

from knnccv import KFold, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample
from knnccv._formatting import magnitude
from knnccv._labels import encode_labels
from knnccv.sampling import fixed_tail, position_law


def coded(counts, seed=0):
    y = np.repeat(np.arange(len(counts)), counts)
    return encode_labels(np.random.default_rng(seed).permutation(y))


@pytest.mark.parametrize(
    ("design", "counts", "expected"),
    [
        (Subsample(7), (10, 4), 7),
        (Subsample(0.5), (10, 5), 7),
        (Subsample(np.int64(3)), (10, 5), 3),
        (Subsample(np.float32(0.5)), (10, 5), 7),
        (LeaveOut(), (10, 5), 14),
        (LeaveOut(5), (10, 5), 10),
        (StratifiedSubsample(0.8), (10, 5, 9), (8, 4, 7)),
        (StratifiedSubsample(per_class=3), (10, 5, 3), (3, 3, 3)),
        (StratifiedSubsample(per_class={0: 1, 1: 0, 2: 9}), (10, 5, 9), (1, 0, 9)),
        (KFold(3), (10, 5), 10),
    ],
)
def test_training_sizes(design, counts, expected):
    labels = coded(counts)
    (kind,) = design.training_sets(labels)
    assert kind.n_train == (expected if isinstance(expected, tuple) else (expected,))
    assert kind.probability == 1
    assert kind.number == design.n_train_sets(labels)


def test_numbers_of_training_sets_are_exact_integers():
    labels = coded((250, 95))
    assert Subsample(172).n_train_sets(labels) == math.comb(345, 172)
    by_class = StratifiedSubsample(per_class={0: 100, 1: 5}).n_train_sets(labels)
    assert by_class == math.comb(250, 100) * math.comb(95, 5)
    assert KFold(4).n_train_sets(labels) == math.comb(345, 87) + math.comb(345, 86)
    assert LeaveOut(3).n_train_sets(labels) == math.comb(345, 3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_folds_are_scikit_learns(seed, k):
    selection = pytest.importorskip("sklearn.model_selection")
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, int(rng.integers(21, 40)))
    y[:21] = np.tile([2, 0, 1], 7)
    labels = encode_labels(y)
    shuffled = {"shuffle": True, "random_state": seed}
    for design, splitter, strata in [
        (KFold(k), selection.KFold(k, **shuffled), np.zeros(len(y), int)),
        (StratifiedKFold(k), selection.StratifiedKFold(k, **shuffled), labels.codes),
    ]:
        theirs = [tuple(np.bincount(strata[train]).tolist()) for train, _ in splitter.split(y, y)]
        for kind in design.training_sets(labels):
            assert kind.probability == Fraction(theirs.count(kind.n_train), k)
        fold, kinds = design.draw(labels, np.random.default_rng(seed))
        ours = [tuple(np.bincount(strata[fold != i]).tolist()) for i in range(k)]
        assert ours == theirs
        assert [design.training_sets(labels)[kind].n_train for kind in kinds] == ours


def test_a_class_smaller_than_k_is_missing_from_some_folds():
    labels = encode_labels([0] * 9 + [1] * 2)
    kinds = StratifiedKFold(4).training_sets(labels)
    listed = naive.stratified_allocation([0] * 9 + [1] * 2, 4)
    assert {kind.n_train for kind in kinds} == {(9 - a, 2 - b) for a, b in listed}


@pytest.mark.parametrize(
    "design",
    [
        *[Subsample(5), LeaveOut(2), StratifiedSubsample(per_class={0: 2, 1: 1}), KFold(3)],
        *[StratifiedKFold(2), KFold(8), *one_of_each(np.arange(8) // 3)],
    ],
)
def test_runs_are_uniform(design):
    """Every sample is tested as often as the design says, within five standard errors."""
    labels = coded((5, 3))
    n_runs = 4000
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
        return
    share = np.array([float(s) for s in kinds[0].tested_share(2)])[labels.codes]
    error = np.sqrt(share * (1 - share) / n_runs)
    assert (np.abs(tested / n_runs - share) <= 5 * error).all()


@pytest.mark.parametrize(
    ("m", "n_train", "k"), [(1, 1, 1), (9, 4, 1), (9, 4, 4), (9, 9, 3), (30, 2, 2), (60, 31, 7)]
)
def test_law_of_the_kth_position(m, n_train, k):
    expected = [
        Fraction(math.comb(i - 1, k - 1) * math.comb(m - i, n_train - k), math.comb(m, n_train))
        if m - i >= n_train - k
        else 0
        for i in range(1, m + 1)
    ]
    assert list(position_law(m, n_train, k, Fraction)) == expected
    np.testing.assert_allclose(position_law(m, n_train, k), [float(p) for p in expected], rtol=1e-14)


@pytest.mark.parametrize(
    ("m", "n_train", "k"), [(99, 50, 1), (9999, 8000, 5), (99_999, 1000, 50), (10**6, 10**5, 15)]
)
def test_tails(m, n_train, k):
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


def test_depths_of_the_table_in_the_mathematics():
    """Depths for a bound of 1e-12 at N = 1e5."""
    for share, k, depth in [(0.99, 1, 6), (0.9, 5, 20), (0.8, 15, 46), (0.5, 50, 196)]:
        tail = fixed_tail(99_999, int(share * 1e5), k)
        assert abs(int(np.argmax(tail <= 1e-12)) - depth) <= 1


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (999_999, "999999"),
        (10**6, "1.0e+6"),
        (123_456_789, "1.2e+8"),
        (math.comb(345, 172), "3.1e+102"),
    ],
)
def test_magnitudes(number, text):
    assert magnitude(number) == text


def test_magnitudes_of_numbers_that_python_refuses_to_print():
    assert magnitude(10**20_000) == "1.0e+20000"
    assert magnitude(10**20_000 - 1) == "1.0e+20000"
    assert magnitude(994 * 10**20_000) == "9.9e+20002"
