"""Expected scores against many runs of scikit-learn's own splitters, scored by a naive classifier."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier

from knnccv.sklearn import expected_score

RUNS = 2000


def data(seed, n_classes=3, n_items=36):
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_items, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    y[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
    X = rng.integers(0, 6, (n_items, 2)) + y[:, None]
    groups = rng.choice(7, n_items, p=np.arange(1, 8) / 28)
    groups[:7] = range(7)
    return X.astype(float), y, groups


def predict(D, y, train, test, k):
    """Predict by the k nearest, ties in the order of `train`; tied votes go to the smallest label."""
    near = train[np.argsort(D[np.ix_(test, train)], axis=1, kind="stable")[:, :k]]
    votes = (y[near][:, :, None] == np.arange(y.max() + 1)).sum(axis=1)
    return votes.argmax(axis=1)


def accuracy(true, predicted):
    return (true == predicted).mean()


def balanced(true, predicted):
    return np.mean([(predicted[true == c] == c).mean() for c in np.unique(true)])


SCORES = {"accuracy": accuracy, "balanced_accuracy": balanced}


def simulated(cv, per_run, X, y, groups, k, scorings):
    """The mean score and its standard error, by scoring; all of the same runs."""
    D = np.abs(X[:, None] - X).sum(axis=2)
    runs = [(y[test], predict(D, y, train, test, k)) for train, test in cv.split(X, y, groups)]
    found = {}
    for name in scorings:
        means = np.reshape([SCORES[name](*run) for run in runs], (-1, per_run)).mean(axis=1)
        found[name] = means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    return found


CASES = {
    "KFold": (RepeatedKFold(n_splits=5, n_repeats=RUNS, random_state=1), 5),
    "StratifiedKFold": (RepeatedStratifiedKFold(n_splits=4, n_repeats=RUNS, random_state=2), 4),
    "ShuffleSplit": (ShuffleSplit(5 * RUNS, test_size=0.3, train_size=0.6, random_state=3), 1),
    "StratifiedShuffleSplit": (StratifiedShuffleSplit(2 * RUNS, test_size=0.4, random_state=4), 1),
    "StratifiedShuffleSplit, some left out": (
        StratifiedShuffleSplit(2 * RUNS, train_size=13, test_size=7, random_state=5),
        1,
    ),
    "GroupShuffleSplit": (GroupShuffleSplit(2 * RUNS, test_size=2, train_size=3, random_state=6), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_many_runs_scatter_about_the_expected_score(name, k):
    cv, per_run = CASES[name]
    X, y, groups = data(len(name))
    used = groups if name.startswith("Group") else None
    stratified = name.startswith(("Stratified", "Group"))
    estimator = KNeighborsClassifier(k, metric="manhattan")
    runs = simulated(cv, per_run, X, y, used, k, SCORES if stratified else ["accuracy"])
    for scoring, (mean, error) in runs.items():
        found = expected_score(estimator, X, y, cv=cv, groups=used, scoring=scoring)
        assert error < 0.003
        assert abs(found.score - mean) < 4 * error


@pytest.mark.slow
def test_equal_classes_whose_numbers_are_drawn():
    """Four classes of 5, 8 samples train and 6 are tested: both numbers per class are random."""
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(4), 5)
    X = rng.integers(0, 5, (20, 2)) + y[:, None] / 2
    cv = StratifiedShuffleSplit(2 * RUNS, train_size=10, test_size=6, random_state=9)
    for name, (mean, error) in simulated(cv, 1, X, y, None, 1, SCORES).items():
        found = expected_score(KNeighborsClassifier(1, metric="manhattan"), X, y, cv=cv, scoring=name)
        assert error < 0.003
        assert abs(found.score - mean) < 4 * error


@pytest.mark.slow
def test_shuffled_groups_of_unequal_sizes():
    X, y, groups = data(11)
    D = np.abs(X[:, None] - X).sum(axis=2)
    folds, pooled = [], []
    for seed in range(RUNS):
        cv = GroupKFold(3, shuffle=True, random_state=seed)
        right = [y[test] == predict(D, y, train, test, 3) for train, test in cv.split(X, y, groups)]
        folds.append(np.mean([one.mean() for one in right]))
        pooled.append(np.concatenate(right).mean())
    estimator = KNeighborsClassifier(3, metric="manhattan")
    for average, runs in (("folds", folds), ("pooled", pooled)):
        found = expected_score(
            estimator, X, y, cv=GroupKFold(3, shuffle=True), groups=groups, average=average
        )
        assert abs(found.score - np.mean(runs)) < 4 * np.std(runs) / np.sqrt(RUNS)
    apart = np.subtract(folds, pooled)  # so that the test can tell one from the other
    assert abs(apart.mean()) > 8 * apart.std() / np.sqrt(RUNS)


@pytest.mark.parametrize("cv", [CASES["KFold"][0], CASES["ShuffleSplit"][0]])
def test_the_naive_classifier_is_scikit_learns(cv):
    """Includes duplicates with other labels: brute force takes the first in `train` of tied samples."""
    X, y, _ = data(3)
    splits = [split for split, _ in zip(cv.split(X, y), range(60), strict=False)]
    D = np.abs(X[:, None] - X).sum(axis=2)
    estimator = KNeighborsClassifier(1, metric="manhattan", algorithm="brute")
    mine = [accuracy(y[test], predict(D, y, train, test, 1)) for train, test in splits]
    assert cross_val_score(estimator, X, y, cv=splits).tolist() == mine
