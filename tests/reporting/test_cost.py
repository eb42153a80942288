"""What is computed depends on sizes, and is affordable where it was measured to be."""

import numpy as np
import pytest

import knnccv
from knnccv.reporting import _errors, _study
from knnccv.reporting._study import (
    CONFUSION_LIMIT,
    INFLUENCE_LIMIT,
    affordable_confusion,
    affordable_neighbors,
    affordable_rows,
    confusion_units,
    effort,
    influence_units,
)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_neighbors", [1, 5, 15])
def test_the_influence_of_a_hundred_thousand_items(n_classes, n_neighbors):
    assert influence_units(100_000, n_classes, n_neighbors, 1.0) <= INFLUENCE_LIMIT


def test_many_neighbors_and_several_classes_are_refused():
    assert influence_units(100_000, 3, 50, 1.0) > INFLUENCE_LIMIT
    assert influence_units(5_000, 3, 25, 40.0) > INFLUENCE_LIMIT
    assert influence_units(100_000, 2, 25, 1.0) <= INFLUENCE_LIMIT


def test_confusion():
    assert confusion_units(10**6, 2, 50, 100.0) == 0
    assert confusion_units(100_000, 3, 15, 1.0) <= CONFUSION_LIMIT
    assert confusion_units(400, 200, 1, 1.0) <= CONFUSION_LIMIT
    assert confusion_units(100_000, 10, 15, 1.0) > CONFUSION_LIMIT


def test_the_confusion_matrix_of_a_part():
    assert affordable_confusion(1_000, 3, CONFUSION_LIMIT) == 1_000
    units = confusion_units(100_000, 10, 31, 1.0)
    rows = affordable_confusion(100_000, 10, units)
    assert 1_000 < rows < 100_000
    assert confusion_units(rows, 10, 31, 1.0) < CONFUSION_LIMIT
    assert affordable_confusion(1_000, 3, 1e9) == 200
    assert affordable_confusion(100, 3, 1e9) == 100
    assert affordable_confusion(5_000, 1_000, confusion_units(5_000, 1_000, 1, 1.0)) == 0
    assert 600 <= affordable_confusion(1_200, 300, confusion_units(1_200, 300, 1, 1.0)) < 1_200


@pytest.mark.parametrize("n_items", [5, 1_000, 3_000, 6_200, 20_000, 100_000])
@pytest.mark.parametrize("n_classes", [2, 3, 28])
@pytest.mark.parametrize("ties", [1.0, 50.0])
def test_sizes_fit_the_data(n_items, n_classes, ties):
    """A part is never larger than the data, and never nearly all of them."""
    found = effort(n_items, ties, n_classes, 9, 31)
    for part in (found.n_settings, found.learning):
        assert part == n_items or 1_000 <= part <= 0.8 * n_items
    assert 10 <= found.n_halvings <= 200
    assert 10 <= found.n_comparisons <= 200
    assert found.n_runs == 0 or found.n_runs >= 50


def test_neighbors_that_can_be_compared():
    wanted = [*range(1, 16), 21, 31]
    assert affordable_neighbors(wanted, 1_200, 300, 9) == wanted[:15]
    assert affordable_neighbors(wanted, 100_000, 10, 9) == wanted
    assert affordable_neighbors([31], 1_200, 300, 9) == [31]


def test_neighbors_that_are_not_compared_are_named(monkeypatch):
    monkeypatch.setattr(_study, "MOST_COMPARING", 0.0)
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = knnccv.report(X, np.arange(30) % 3, n_neighbors=[2, 3, 5]).to_dict()
    assert {tuple(curve["n_neighbors"]) for curve in found["settings"]["curves"]} == {(2,)}
    (note,) = [note for note in found["method"]["notes"] if note.startswith("The K above 2 were not")]
    assert "with 3 classes they would take too long" in note


def test_a_confusion_matrix_that_is_left_out_says_why(monkeypatch):
    monkeypatch.setattr(_errors, "affordable_confusion", lambda *_: 0)
    X = np.random.default_rng(0).normal(size=(30, 2))
    report = knnccv.report(X, np.arange(30) % 3, n_neighbors=[1])
    classes = report.to_dict()["classes"]
    assert (classes["confusion"], classes["confused"], classes["subsample"]) == (None, [], None)
    assert "a pass for each of 3 classes" in classes["no_confusion"]
    assert classes["no_confusion"] in report.to_html()
    assert all(each["score"] is not None for each in classes["per_class"])


def test_rows_of_a_report():
    assert affordable_rows(100_000, 20, mixed=False, ties=1.0) == (100_000, "")
    rows, reason = affordable_rows(100_000, 20, mixed=True, ties=1.0)
    assert 50_000 < rows < 100_000
    assert "HEOM" in reason
    rows, reason = affordable_rows(100_000, 20, mixed=False, ties=1_000.0)
    assert 2_000 <= rows < 100_000
    assert "equally far" in reason


def test_learning_curves_that_start_late_say_so(monkeypatch):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    words = "Learning curves start at 6 training samples: smaller ones would take too long."
    assert words not in knnccv.report(X, y, n_neighbors=[1]).to_dict()["method"]["notes"]
    monkeypatch.setattr(_study, "LEARNING_WORK", 1.0)
    found = knnccv.report(X, y, n_neighbors=[1]).to_dict()
    assert found["learning"]["train_sizes"][0] == 6
    assert words in found["method"]["notes"]
