"""The section on classes, against direct calls."""

import json

import numpy as np
import pytest
from some_study import clouds, some_study

import knnccv
from knnccv import Subsample, complete_cv
from knnccv.reporting import _errors, scaled
from knnccv.reporting._errors import classes_section


def check_classes(study):
    """Compare a section with direct calls."""
    found = classes_section(study)
    json.dumps(found, allow_nan=False)
    matrix = study.best.confusion(normalize="true")
    assert found["confusion"] == matrix.tolist()
    assert np.allclose(np.sum(found["confusion"], axis=1), 1)
    labels, counts = np.unique(study.y, return_counts=True)
    assert found["labels"] == [str(label) for label in labels.tolist()]
    assert [each["label"] for each in found["per_class"]] == found["labels"]
    assert [each["n_items"] for each in found["per_class"]] == counts.tolist()
    assert [each["score"] for each in found["per_class"]] == list(study.best.per_class().values())
    assert found["balanced_accuracy"] == study.best.balanced_accuracy
    pairs = [
        (-matrix[i, j], i, j)
        for i in range(len(labels))
        for j in range(len(labels))
        if i != j and matrix[i, j] > 1e-9
    ]
    assert [(each["label"], each["predicted"], each["share"]) for each in found["confused"]] == [
        (found["labels"][i], found["labels"][j], -share) for share, i, j in sorted(pairs)[:10]
    ]
    return found


def test_a_class_of_one_sample_is_never_recognized():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], [6, 5, 1])
    found = classes_section(some_study(X, y))
    assert found["conclusion"].startswith(
        "Class 2 (1 sample) is never recognized; 100.0% are taken for class 1"
    )


def test_two_classes():
    X, y = clouds(30)
    found = check_classes(some_study(X, y, 3))
    worst = min(found["per_class"], key=lambda each: each["score"])
    assert found["conclusion"].startswith(f"Class {worst['label']} (15 samples) is recognized worst")
    assert f"taken for class {1 - int(worst['label'])}." in found["conclusion"]


def test_a_class_of_two_and_text_labels():
    y = np.array(["<b>", "<b>", "<b>", "c d", "c d", "<b>", "<b>"])
    check_classes(some_study(np.arange(7)[:, None], y))


def test_equal_classes():
    study = some_study([[0], [1], [2], [10], [11], [12]], [0, 0, 0, 1, 1, 1], train_size=4)
    found = check_classes(study)
    assert found["confused"] == []
    assert found["conclusion"] == "All classes are recognized equally often, in 100.0% of the cases."


def test_a_matrix_that_takes_long_is_that_of_a_part(monkeypatch):
    monkeypatch.setattr(_errors, "affordable_confusion", lambda *_: 25)
    X, y = clouds(30, 3)
    y[10] = 9  # alone in its class, and not in the part
    found = knnccv.report(X, y, n_neighbors=[1, 3], random_state=1).to_dict()
    classes, best = found["classes"], found["scores"]["best"]
    rows = np.sort(np.random.default_rng(1).choice(30, 25, replace=False))
    assert 10 not in rows
    assert classes["subsample"]["n_items"] == 25
    assert classes["subsample"]["of"] == 30
    assert "each of 4 classes" in classes["subsample"]["reason"]
    part = complete_cv(
        scaled(X[rows], best["scaling"]),
        y[rows],
        "knn",
        Subsample(24 * 25 // 30),
        metric=best["metric"],
        n_neighbors=best["n_neighbors"],
    )
    assert [row[:3] for row in classes["confusion"][:3]] == part.confusion(normalize="true").tolist()
    assert [row[3] for row in classes["confusion"]] == [0, 0, 0, None]
    assert classes["confusion"][3] == [None] * 4
    report_page = knnccv.Report(found).to_html()
    assert "25 of 30 samples" in report_page
    assert "An empty row is a class without samples in this part" in report_page


def test_several_classes_without_any_right_answer():
    X, y = clouds(12, 2, step=9.0)
    X, y = np.vstack([X, np.zeros((1, 3)), np.full((1, 3), 9.0)]), np.append(y, [7, 8])
    found = check_classes(some_study(X, y, 3))
    assert found["conclusion"].startswith("2 of 4 classes are never recognized")


def test_targets_have_no_classes():
    assert classes_section(some_study([[0], [1], [2], [3]], [0.5, 1, 2, 3], task="regression")) is None


@pytest.mark.slow
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_several_classes(n_neighbors):
    X, y = clouds(40, 4, step=0.5)
    check_classes(some_study(X, y, n_neighbors))


@pytest.mark.slow
def test_many_classes_are_shown_and_more_are_not(monkeypatch):
    monkeypatch.setattr(_errors, "MOST_CLASSES", 20)
    X, y = clouds(40, 20, 4)
    check_classes(some_study(X, y))
    X, y = clouds(42, 21, 4)
    study = some_study(X, y)
    found = classes_section(study)
    assert found["confusion"] is None
    assert "21 classes" in found["no_confusion"]
    off = study.best.confusion(normalize="true")
    np.fill_diagonal(off, 0)
    assert [each["share"] for each in found["confused"]] == sorted(off.ravel().tolist())[::-1][:10]
