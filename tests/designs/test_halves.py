"""Designs of halves: the same share of the samples is tested."""

from fractions import Fraction

import naive_halves
import numpy as np
import pytest

from knnccv import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample
from knnccv._labels import encode_labels, labels_of
from knnccv.designs import n_train_in_half
from knnccv.sklearn._designs import ByClass, Shares, StratifiedShuffle


@pytest.mark.parametrize("n_items", [4, 5, 7, 10, 11, 29, 30, 60, 101])
def test_one_stratum(n_items):
    half = n_items // 2
    labels, rows = encode_labels(np.arange(n_items) % 2), np.arange(half)
    for alpha in range(1, n_items):
        expected = naive_halves.train_size(n_items, alpha, half)
        assert n_train_in_half([alpha], [n_items], [half]) == (expected,)
        assert Subsample(alpha).halved(labels, rows) == Subsample(expected)
        assert LeaveOut(n_items - alpha).halved(labels, rows) == LeaveOut(half - expected)


@pytest.mark.parametrize("seed", range(200))
def test_strata_keep_their_shares(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 30, int(rng.integers(2, 6)))
    n_train = np.array([rng.integers(0, count + 1) for count in counts])
    drawn = rng.permutation(np.repeat(np.arange(len(counts)), counts))[: counts.sum() // 2]
    half = np.bincount(drawn, minlength=len(counts))
    if not 0 < n_train.sum() < counts.sum() or half.sum() < 2:
        return
    found = np.array(n_train_in_half(n_train.tolist(), counts.tolist(), half.tolist()))
    assert (found >= 0).all()
    assert (found <= half).all()
    assert found.sum() > 0
    assert found.sum() < half.sum()
    if 10 * n_train.sum() <= counts.sum():
        assert (found == np.minimum(n_train, half)).all()
        return
    wanted = [Fraction(int(h * (c - n)), int(c)) for h, c, n in zip(half, counts, n_train, strict=True)]
    assert all(abs(h - f - w) <= 1 for h, f, w in zip(half, found, wanted, strict=True))


def test_designs_of_halves():
    labels = encode_labels(np.arange(24) % 3)
    rows = np.arange(12)
    assert KFold(20).halved(labels, rows) == KFold(12)
    assert KFold(5).halved(labels, rows) == KFold(5)
    assert StratifiedKFold(6).halved(labels, rows) == StratifiedKFold(4)
    found = StratifiedSubsample(per_class={0: 4, 1: 6, 2: 8}).halved(labels, rows)
    assert found == StratifiedSubsample(per_class={0: 2, 1: 3, 2: 4})
    found = LeaveGroupsOut(np.arange(24) // 3, 2).halved(labels, rows)
    assert (len(found.sizes), found.p) == (4, 1)


def test_splitters_of_scikit_learn():
    labels = encode_labels(np.arange(24) % 3)
    rows = np.arange(12)
    strata = ByClass("four", StratifiedKFold(4)).halved(labels, rows)
    assert {kind.n_train for kind in strata.training_sets(labels_of(labels, rows))} == {(3, 3, 3)}
    shuffle = StratifiedShuffle("shuffle", Shares.of(labels.counts, 18), 6).halved(labels, rows)
    half = labels_of(labels, rows)
    assert sum(shuffle.train.base) + shuffle.train.extra == 9
    assert shuffle.n_test == 3
    assert sum(kind.probability for kind in shuffle.training_sets(half)) == 1
    part = StratifiedShuffle("part", Shares.of(labels.counts, 12), 6).halved(labels, rows)
    assert part.n_test == 3
