"""Arguments of `item_values` that are refused, each with one clear error."""

import numpy as np
import pytest

from knnccv import KFold, LeaveOut, Neighbors, StratifiedSubsample, Subsample, item_values

X = [[0.0], [1.0], [5.0], [6.0]]
Y = [0, 0, 1, 1]
REFUSED = {
    "no method": ({"method": None}, ValueError, "method must be"),
    "K not whole": ({"n_neighbors": 1.5}, TypeError, "n_neighbors must be an integer, got 1.5"),
    "K a flag": ({"n_neighbors": True}, TypeError, "n_neighbors must be an integer, got True"),
    "K negative": ({"n_neighbors": -1}, ValueError, "n_neighbors must be at least 1, got -1"),
    "depth of all samples": ({"depth": 4}, ValueError, "depth must be between 1 and 3, got 4"),
    "depth not whole": ({"depth": 2.5}, TypeError, "depth must be an integer, got 2.5"),
    "unknown metric": ({"metric": "euclid"}, ValueError, "got 'euclid'; did you mean 'euclidean'"),
    "missing value": ({"X": [[0.0], [np.nan], [5.0], [6.0]]}, ValueError, r"X\[1, 0\] is nan"),
    "no samples": ({"X": np.empty((0, 1)), "y": []}, ValueError, r"at least 2 samples .* got shape \(0"),
    "one sample": ({"X": [[0.0]], "y": [0]}, ValueError, r"at least 2 samples .* got shape \(1"),
    "labels in two columns": ({"y": [[0, 0]] * 4}, ValueError, r"y must have shape \(n_items,\)"),
    "ties a flag": ({"ties": True}, (TypeError, ValueError), "ties must be"),
    "threads": ({"n_jobs": 0.5}, TypeError, "n_jobs"),
    "tests in words": ({"X_test": [["a"]], "y_test": [0]}, (TypeError, ValueError), "X_test"),
    "tests in one row": ({"X_test": [0.0], "y_test": [0]}, ValueError, "X_test must have shape"),
    "tests without labels": (
        {"X_test": [[0.0]], "y_test": []}, ValueError, "X_test has 1 samples, but y_test has 0 labels",
    ),
    "infinite test": ({"X_test": [[np.inf]], "y_test": [0]}, ValueError, r"X_test\[0, 0\] is inf"),
    "missing value beside tests": (
        {"X": [[0.0], [np.nan], [5.0], [6.0]], "X_test": [[0.0]], "y_test": [0]},
        ValueError,
        r"X\[1, 0\] is nan",
    ),
    "tests for influence": (
        {"method": "influence", "X_test": [[0.0]], "y_test": [0]}, ValueError, "does not use X_test",
    ),
    "neighbors and tests": (
        {"X": Neighbors.from_data(X), "X_test": [[0.0]], "y_test": [0]}, TypeError, "pass their features",
    ),
    "neighbors and metric": ({"X": Neighbors.from_data(X), "metric": "manhattan"}, ValueError, "metric"),
    "K above the training set": (
        {"method": "influence", "n_neighbors": 3, "cv": Subsample(2)}, ValueError, "n_neighbors",
    ),
    "K above that of fewer samples": (
        {"method": "influence", "n_neighbors": 2, "cv": LeaveOut(2)}, ValueError, "without sample",
    ),
    "more folds than samples": (
        {"method": "influence", "cv": KFold(9)}, ValueError, "n_splits must be between 2 and 4 .* got 9",
    ),
    "too many of a class": (
        {"method": "influence", "n_neighbors": 1, "cv": StratifiedSubsample(per_class={0: 2, 1: 3})},
        ValueError,
        "class 1 has 2 samples, got 3",
    ),
    "two samples": (
        {"X": X[1:3], "y": [0, 1], "method": "influence"}, ValueError, "a class of at least two samples",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_one_clear_error(name):
    arguments, error, words = REFUSED[name]
    with pytest.raises(error, match=words) as caught:
        item_values(**{"X": X, "y": Y, **arguments})
    assert len(str(caught.value)) < 300
