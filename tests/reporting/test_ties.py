"""The section on ties, against direct calls."""

import json

import numpy as np
import pytest
from some_study import clouds, some_study

from knnccv import complete_cv
from knnccv.reporting._errors import _said, ties_section


def check_ties(study):
    """Compare a section with the report of the result."""
    found = ties_section(study)
    json.dumps(found, allow_nan=False)
    report = study.best.tie_report()
    assert (found["n_tied"], found["n_items"]) == (report.n_tied, report.n_items)
    assert (found["score"], found["low"], found["high"]) == (report.score, report.lowest, report.highest)
    assert found["width"] == report.highest - report.lowest
    assert found["exact_range"] == report.exact_range
    return found


def test_ties_of_both_classes():
    X, y = clouds(24, step=1.0)
    study = some_study(X, y)
    found = check_ties(study)
    assert 0 < found["n_dependent"] <= found["n_tied"]
    assert "between" in found["conclusion"]
    orders = np.random.default_rng(0)
    for _ in range(5):
        order = orders.permutation(24)
        by_row = complete_cv(X[order], y[order], "knn", study.design, n_neighbors=1, ties="index", n_jobs=1)
        assert found["low"] - 1e-12 <= by_row.score <= found["high"] + 1e-12


def test_no_ties():
    found = check_ties(some_study(*clouds(24)))
    assert (found["n_tied"], found["n_dependent"], found["width"]) == (0, 0, 0)
    assert found["conclusion"].startswith("The order of the rows decides nothing")


def test_all_rows_are_equal():
    found = check_ties(some_study(np.ones((6, 2)), [0, 1, 0, 1, 1, 1]))
    assert found["n_dependent"] == 6


def test_the_ends_of_a_narrow_range_differ_in_print():
    assert _said((0.82013, 0.82024, 0.82018), "classification") == ["82.013%", "82.024%", "82.018%"]
    ends = (2111679210.0, 2111679262.0, 2111679236.0)
    assert _said(ends, "regression") == ["2,111,679,210", "2,111,679,260", "2,111,679,240"]


def test_four_items():
    found = check_ties(some_study([[0], [1], [1], [2]], ["a", "a", "b", "b"]))
    assert found["n_dependent"] == 2  # the outer ones; the inner ones have each other


@pytest.mark.slow
def test_targets():
    X, _ = clouds(30, step=1.0)
    found = check_ties(some_study(X, np.arange(30) / 7, 3, task="regression"))
    assert found["n_dependent"] > 0
    assert found["measure"] == "mean squared error"
