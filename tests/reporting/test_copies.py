"""Columns that say the same as the target."""

import numpy as np
import pandas as pd
import pytest

import knnccv
from knnccv.reporting._copies import copies_of_target
from knnccv.reporting._input import read_input

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
