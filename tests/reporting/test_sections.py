"""What reports leave out, cut or compute on a part, and how they read a table."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from report_check import check_report, clouds, quick_report

from knnccv import Neighbors, Report, Subsample, complete_cv, surface
from knnccv.reporting import _settings, _study, scaled
from knnccv.reporting._facts import copies_of_target
from knnccv.reporting._table import read_input


@pytest.fixture
def limit(monkeypatch):
    """``limit(module, name=value)``: another limit of a private module."""

    def change(module, **limits):
        for name, value in limits.items():
            monkeypatch.setattr(f"knnccv.reporting._{module}.{name}", value)

    return change


def notes_of(found, beginning):
    return [note for note in found["method"]["notes"] if note.startswith(beginning)]


def test_long_lists_are_cut_and_counted(limit):
    X, y = clouds(40, seed=10, step=1.0)
    whole = quick_report(X, y, n_neighbors=[1])
    everything = whole.to_dict()["items"]
    limit("errors", MOST_LISTED=6, MOST_INDICES=3)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()["items"]
    assert (found["shown"], len(found["items"]), found["of"]) == (6, 6, everything["of"])
    assert found["counts"] == everything["counts"]
    for key, indices in everything["indices"].items():
        worst = [item["index"] for item in everything["items"] if item["index"] in indices]
        assert found["indices"][key] == sorted(worst[:3])
        assert (key in found["indices_cut"]) == (len(indices) > 3)
        assert set(worst[:2]) <= {item["index"] for item in found["items"]}  # of every reason the worst
    assert found["indices_cut"]
    assert whole.indices() == sorted(set().union(*everything["indices"].values()))
    assert whole.indices("suspicious label") == everything["indices"]["suspicious"]


def test_without_influence_scores_and_neighbors_decide(limit):
    X, y = clouds(60, step=1.5)
    X += y[:, None]
    y[[3, 8]] = 1 - y[[3, 8]]
    assert quick_report(X, y, n_neighbors=[3]).to_dict()["items"]["counts"]["suspicious"] > 0
    limit("errors", INFLUENCE_LIMIT=0.0)
    found = quick_report(X, y, n_neighbors=[3]).to_dict()
    assert "was left out" in found["items"]["note"]
    check_report(X, y, found, only="items")
    limit("errors", JUDGING_LIMIT=9)  # a class of half the samples has 10 nearby
    found = quick_report(X, y, n_neighbors=[3]).to_dict()
    assert found["items"]["counts"]["suspicious"] == 0
    assert "only the 0 lowest were compared" in notes_of(found, "Of ")[0]


def test_rare_labels_are_not_suspicious_and_wrong_ones_are():
    """The plurality of 15 hardly ever says the rare class."""
    rng = np.random.default_rng(1)
    y = (np.arange(400) < 16).astype(int)
    X = rng.normal(size=(400, 5))
    X[y == 1] += [2.5, 1.25, 0, 0, 0]
    wrong = rng.choice(np.arange(16, 400), 3, replace=False)
    y[wrong] = 1
    found = quick_report(X, y, n_neighbors=[15], average="pooled").to_dict()
    assert found["classes"]["per_class"][1]["score"] < 0.25
    listed = {i for i in found["items"]["indices"]["suspicious"] if y[i]}
    assert len(listed) == 2
    assert listed < set(wrong.tolist())


def test_a_matrix_that_takes_long_is_that_of_a_part(limit):
    limit("errors", affordable_confusion=lambda *_: 25)
    X, y = clouds(30, 3)
    y[10] = 9  # alone in its class, and not in the part
    found = quick_report(X, y, n_neighbors=[1], random_state=1).to_dict()
    classes, best = found["classes"], found["scores"]["best"]
    rows = np.sort(np.random.default_rng(1).choice(30, 25, replace=False))
    assert 10 not in rows
    assert (classes["subsample"]["n_items"], classes["subsample"]["of"]) == (25, 30)
    assert "each of 4 classes" in classes["subsample"]["reason"]
    near = scaled(X[rows], best["scaling"])
    part = complete_cv(near, y[rows], "knn", Subsample(20), metric=best["metric"], n_neighbors=1)
    assert [row[:3] for row in classes["confusion"][:3]] == part.confusion(normalize="true").tolist()
    assert [row[3] for row in classes["confusion"]] == [0, 0, 0, None]
    assert classes["confusion"][3] == [None] * 4
    page = Report(found).to_html()
    assert "25 of 30 samples" in page
    assert "An empty row is a class without samples in this part" in page


def test_matrices_that_are_left_out(limit):
    X, y = clouds(24, 3)
    limit("errors", MOST_CLASSES=2)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()
    assert "of 3 classes only the largest" in found["classes"]["no_confusion"]
    assert found["classes"]["confusion"] is None
    check_report(X, y, found, only="classes")
    assert found["classes"]["confused"]
    limit("errors", affordable_confusion=lambda *_: 0)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()["classes"]
    assert (found["confusion"], found["confused"], found["subsample"]) == (None, [], None)
    assert "a pass for each of 3 classes" in found["no_confusion"]


def test_settings_are_compared_on_a_part(limit):
    X, y = clouds(40)
    y[np.setdiff1d(np.arange(40), rows := np.sort(np.random.default_rng(0).choice(40, 20, False)))[0]] = 7
    limit("study", FEWEST_COMPARED=20, COMPARING=1.0, MOST_COMPARING=1e9)
    found = quick_report(X, y, n_neighbors=[1, 17]).to_dict()
    settings = found["settings"]
    assert (settings["subsample"]["n_items"], settings["subsample"]["of"]) == (20, 40)
    assert "(on a random 20 of 40 samples)" in settings["conclusion"]
    for curve in settings["curves"]:
        near = Neighbors.from_data(scaled(X[rows], curve["scaling"]), curve["metric"])
        direct = surface(near, y[rows], [1], [16], "knn")
        assert (curve["scores"], curve["n_neighbors"]) == (direct.scores[:, 0].tolist(), [1])
    assert len(notes_of(found, "The K above 16 were not compared")) == 1
    assert (
        len(notes_of(found, "The 20 samples on which settings are compared hold 2 of the 3 classes")) == 1
    )
    assert found["tuned"]["subsample"]["n_items"] == 20
    limit("settings", search_units=lambda *_: 100.0)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()
    assert len(found["settings"]["curves"]) == 1  # the default is always offered
    assert "would take about 10.0 times as long" in found["settings"]["omitted"][0]["reason"]


def test_what_takes_too_long_is_said(limit):
    X, y = clouds(30, 3)
    limit("study", NESTED_LIMIT=0.0, MOST_COMPARING=0.0, LEARNING_WORK=1.0)
    found = quick_report(X, y, n_neighbors=[2, 3, 5]).to_dict()
    assert {tuple(curve["n_neighbors"]) for curve in found["settings"]["curves"]} == {(2,)}
    (note,) = notes_of(found, "The K above 2 were not")
    assert "with 3 classes they would take too long" in note
    assert found["tuned"] is None
    (note,) = notes_of(found, "There is no score of a setting chosen within each training set: trying 9")
    assert note.endswith("settings within each training set would take too long.")
    assert found["learning"]["train_sizes"][0] == 10
    assert len(notes_of(found, "Learning curves start at 10 training samples: smaller ones would")) == 1


def test_a_metric_that_misses_a_scaling_is_not_tried(monkeypatch):
    curve = _settings._curve

    def refusing(part, scaling, metric, *more):
        if (scaling, metric) == ("min-max", "cosine"):
            raise ValueError("no angle")
        return curve(part, scaling, metric, *more)

    monkeypatch.setattr(_settings, "_curve", refusing)
    found = quick_report(*clouds(30), n_neighbors=[1, 3]).to_dict()
    assert [one["reason"] for one in found["settings"]["omitted"]] == ["no angle"]
    check_report(*clouds(30), found, only="tuned")
    assert found["tuned"]["metrics"] == ["euclidean", "manhattan"]


class TestTable:
    def test_columns(self):
        dates = [datetime.date(2020, 1, 1 + i % 2) for i in range(5)]
        cells = [["u", 1.5], ["v", None], ["u", 2], [None, 3], ["v", 4]]
        cells = [[*row, date] for row, date in zip(cells, dates, strict=True)]
        table = read_input(cells, list("abaab"), None, None, ["x2"])
        assert table.is_mixed
        assert table.categorical.tolist() == [True, False, True]
        assert table.n_missing == 2
        np.testing.assert_array_equal(table.X[:, 0], [0, 1, 0, np.nan, 1])
        assert table.X[:, 2].tolist() == [0, 1, 0, 1, 0]
        assert [table.rows(i)[:2] for i in (0, 3)] == [["u", "1.5"], ["", "3"]]

    def test_ties_of_huge_values(self):
        X = np.random.default_rng(0).integers(0, 3, (40, 2)).astype(float)
        assert _study.tie_size(X * 2.0**1000, 0) == _study.tie_size(X, 0) > 2


class TestColumnsThatSayTheSameAsTheTarget:
    """Asked without a report, which would compute everything else for each of the tables."""

    def copies(self, X, y):
        return copies_of_target(read_input(X, y, None, None, None))

    def test_of_classes(self):
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
            }
        )
        assert self.copies(table, y) == ["text", "number", "gaps"]
        # Beyond the first thousand rows as well.
        y = np.arange(4000) % 3
        late = np.where(np.arange(4000) < 1500, np.nan, 2.0 * y)
        wrong = np.where(np.arange(4000) == 3999, 9.0, y)
        assert self.copies(np.column_stack([late, wrong]), y) == ["x0"]
        # A number of the sample says nothing about classes, even if each has one sample only.
        assert self.copies(np.arange(6.0)[:, None], list("abcdef")) == []

    def test_of_targets(self):
        rng = np.random.default_rng(0)
        y = rng.normal(size=50)
        gaps = np.where(np.arange(50) % 7, -y, np.nan)
        noisy = y + 1e-3 * rng.normal(size=50)
        X = np.column_stack([y, 3 - 1e6 * y, gaps, noisy, np.sign(y), np.ones(50)])
        assert self.copies(X, y) == ["x0", "x1", "x2"]
        assert self.copies(1e300 * X, y) == ["x0", "x1", "x2"]
        large = 1 + rng.random(50)
        assert self.copies(np.column_stack([8e307 * large, 1e-300 * large]), large) == ["x0", "x1"]

    def test_a_few_extreme_rows_make_no_multiple(self):
        """The correlation of unrelated columns is nearly 1 where both have extreme values in a row."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(2, 40))
        x[3], y[3] = -3e6, 1e6
        assert self.copies(np.column_stack([x, 0.1 * y]), y) == ["x1"]
        y = np.where(np.arange(50) % 3, 0.5, rng.lognormal(9, size=50))
        rare = np.where(np.arange(50) == 7, 1.5, 0)
        assert self.copies(np.column_stack([np.round(1.17 * y, 2), rare]), y) == ["x0"]
        assert self.copies(np.column_stack([y, 2 - rare]), rare) == ["x1"]


def test_lists_are_searched_once(monkeypatch):
    """The score and the influence read the lists that are kept; a search is what takes longest."""
    X, y = clouds(80)
    near = Neighbors.from_data(X)
    assert _study.keep_lists(near, _study.enough_depth(80, 64, 3), 1)
    assert not _study.keep_lists(near, 3, 1)
    for engine in {type(each) for each in near._engines}:
        monkeypatch.setattr(engine, "search", lambda *_: pytest.fail("searched again"))
    found = complete_cv(near, y, "knn", Subsample(64), n_neighbors=3, n_jobs=1)
    assert found.influence(n_jobs=1).total.any()
