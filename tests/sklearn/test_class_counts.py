"""Balanced accuracy of folds whose class counts vary, against the list of all splits."""

import itertools
from fractions import Fraction

import naive
import numpy as np
import pytest
from exact_bridge import expected_score

from knnccv import Subsample
from knnccv._labels import encode_labels
from knnccv.sklearn._designs import n_class_counts

pytest.importorskip("sklearn")
from sklearn.model_selection import KFold, LeavePOut, RepeatedKFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier


def balanced_mean(distances, y, k, tested_sizes, ties):
    """The mean over all test sets of these sizes of the mean recall of the classes that are tested."""
    n_items = len(y)
    total = Fraction(0)
    for size in tested_sizes:
        sums = []
        for test in itertools.combinations(range(n_items), size):
            by_class = {}
            for x in test:
                _, groups = naive.neighbor_order(distances[x], x)
                inside = [[j for j in group if j not in test] for group in groups]
                inside = [group for group in inside if group]
                right = naive.expected_over_ties("knn", inside, y, x, {"n_neighbors": k}, ties)
                by_class.setdefault(y[x], []).append(Fraction(right))
            recalls = [sum(each) / len(each) for each in by_class.values()]
            sums.append(sum(recalls) / len(recalls))
        total += sum(sums) / len(sums) / len(tested_sizes)
    return total


@pytest.mark.parametrize("seed", range(24))
def test_equals_the_list_of_all_test_sets(seed):
    rng = np.random.default_rng(seed)
    n_items, n_classes = int(rng.integers(6, 9)), int(rng.integers(2, 4))
    X = rng.integers(0, 5, (n_items, 1)).astype(float) if seed % 2 else rng.normal(size=(n_items, 2))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_items - n_classes)])
    k = 1 + seed % 3
    splitter, sizes, ties = [
        (KFold(3, shuffle=True), [len(part) for part in np.array_split(np.arange(n_items), 3)], "index"),
        (LeavePOut(2), [2], "index"),
        (ShuffleSplit(5, test_size=3), [3], "random"),
        (RepeatedKFold(n_splits=2), [len(part) for part in np.array_split(np.arange(n_items), 2)], "index"),
    ][seed % 4]
    found = expected_score(KNeighborsClassifier(k), X, y, cv=splitter, scoring="balanced_accuracy")
    assert found.exact
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=-1).tolist()
    expected = balanced_mean(distances, y.tolist(), k, sizes, ties)
    assert abs(Fraction(found.score) - expected) <= found.error_bound


def test_intervals_of_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    found = expected_score(
        KNeighborsClassifier(3), X, y, cv=KFold(5, shuffle=True), scoring="balanced_accuracy"
    )
    assert 0.01 < found.standard_error(20) < 0.3


def test_too_many_class_counts_are_refused():
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 5
    for cv, part in (
        (KFold(4, shuffle=True), "at most 200 combinations"),
        (ShuffleSplit(train_size=5, test_size=5), "some samples neither train nor are tested"),
    ):
        with pytest.raises(ValueError, match=part):
            expected_score(
                KNeighborsClassifier(1), X, y, cv=cv, scoring="balanced_accuracy", method="exact"
            )


@pytest.mark.parametrize("seed", range(20))
def test_number_of_class_counts_equals_that_of_a_list(seed):
    rng = np.random.default_rng(seed)
    labels = encode_labels(rng.integers(0, 4, rng.integers(2, 20)))
    n_train = int(rng.integers(1, len(labels.codes)))
    listed = {
        counts
        for counts in itertools.product(*(range(n + 1) for n in labels.counts))
        if sum(counts) == n_train
    }
    assert n_class_counts(Subsample(n_train), labels) == len(listed)


def test_many_samples_are_refused_at_once():
    labels = encode_labels(np.arange(300_000) % 3)  # a sum over all pairs of numbers would take an hour
    n_train = (200_000, 240_000)
    found = [n_class_counts(Subsample(n), labels) for n in n_train]
    most = 100_000
    for n, number in zip(n_train, found, strict=True):
        least = n - 2 * most  # samples of the first class; the rest is shared by the two others
        assert number == sum(2 * most - (n - first) + 1 for first in range(least, most + 1))
