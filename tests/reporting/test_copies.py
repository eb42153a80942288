"""Columns that say the same as the target."""

import numpy as np
import pandas as pd
import pytest

import knnccv
from knnccv.reporting._facts import copies_of_target
from knnccv.reporting._table import read_input

RNG = np.random.default_rng(0)


def copies(X, y, task=None, **options):
    return copies_of_target(read_input(X, y, task, None, options.get("categorical")))


def test_of_classes():
    y = np.array(["b", "a", "c"] * 20)
    table = pd.DataFrame(
        {
            "text": np.array(["yes", "no", "?"] * 20),
            "number": [7.0, -1.0, 0.5] * 20,
            "gaps": [None, 1.0, 2.0] * 2 + [5.0, 1.0, 2.0] * 18,
            "mostly missing": [7.0, -1.0, 0.5] * 5 + [None] * 45,
            "two classes alike": [1, 1, 2] * 20,
            "two values of a class": [1, 2, 3] * 10 + [4, 2, 3] * 10,
            "one error": [1, 2, 3] * 19 + [1, 2, 1],
            "one value": 3,
            "other": RNG.normal(size=60),
        }
    )
    assert copies(table, y) == ["text", "number", "gaps"]


def test_of_a_regression():
    y = RNG.normal(size=50)
    gaps = np.where(np.arange(50) % 7, -y, np.nan)
    X = np.column_stack([y, 3 - 1e6 * y, gaps, y + 1e-3 * RNG.normal(size=50), np.sign(y), np.ones(50)])
    assert copies(X, y) == ["x0", "x1", "x2"]
    assert copies(1e300 * X, y) == ["x0", "x1", "x2"]


def test_a_few_extreme_rows_make_no_multiple():
    """The correlation of unrelated columns is nearly 1 where both have their extreme values in a row."""
    x, y = RNG.normal(size=(2, 40))
    x[3], y[3] = -3e6, 1e6
    assert copies(np.column_stack([x, 0.1 * y]), y) == ["x1"]
    x[7], y[7] = 6e6, -2e6
    assert copies(np.column_stack([x, np.round(0.1 * y, 4)]), y) == ["x1"]


def test_a_multiple_of_a_target_with_one_frequent_value():
    y = np.where(np.arange(50) % 3, 0.5, RNG.lognormal(9, size=50))
    rare = np.where(np.arange(50) == 7, 1.5, 0)
    assert copies(np.column_stack([np.round(1.17 * y, 2), rare]), y) == ["x0"]
    assert copies(np.column_stack([y, 2 - rare]), rare) == ["x1"]


def test_sums_beyond_float64():
    y = 1 + RNG.random(50)
    assert copies(np.column_stack([8e307 * y, 1e-300 * y]), y) == ["x0", "x1"]


def test_missing_at_the_beginning():
    y = np.arange(4000) % 3
    late = np.where(np.arange(4000) < 1500, np.nan, 2.0 * y)
    wrong = np.where(np.arange(4000) == 3999, 9.0, y)
    assert copies(np.column_stack([late, wrong]), y) == ["x0"]


def test_all_values_differ():
    """A number of the sample says nothing about classes, even if each has one sample only."""
    assert copies(np.arange(6.0)[:, None], list("abcdef")) == []


@pytest.mark.parametrize(
    ("task", "target"), [("classification", [0, 1] * 10), ("regression", RNG.random(20))]
)
def test_the_page_says_so(task, target):
    X = np.column_stack([RNG.normal(size=20), target])
    options = {"task": task, "n_neighbors": [1], "feature_names": ["width", "<b>copy"]}
    found = knnccv.report(X, target, **options).to_dict()["data"]
    assert found["copies_of_target"] == ["<b>copy"]
    assert found["conclusion"].endswith(
        "The column <b>copy says the same as the target; if it is made from it, leave it out."
    )
    honest = knnccv.report(X[:, :1], target, task=task, n_neighbors=[1]).to_dict()["data"]
    assert honest["copies_of_target"] == []
    assert "same as the target" not in honest["conclusion"]


def test_several_are_named_up_to_five():
    X = np.column_stack([[0, 1] * 10] * 7)
    conclusion = knnccv.report(X, [0, 1] * 10, n_neighbors=[1]).to_dict()["data"]["conclusion"]
    assert "The columns x0, x1, x2, x3, x4, … say the same as the target" in conclusion
