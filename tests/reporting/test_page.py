"""The page of a report, and its sections."""

from __future__ import annotations

import gzip
import json
import re
from importlib.resources import files
from itertools import pairwise

import altair
import numpy as np
import pytest
from report_check import check_report, clouds, quick_report
from report_example import HOSTILE, Page, answer

from knnccv import Neighbors, Report, Subsample, complete_cv, surface
from knnccv.reporting import _settings, _study, scaled
from knnccv.reporting._table import read_input

LARGEST = 1_500_000
SECTIONS = ("scores", "settings", "tuned", "learning", "classes", "items", "ties", "regression")
SHOWN = ("script", "image", "closing", "quotes", "long word", "template", "formula", "emoji")
MANY = {"n_classes": 30, "n_neighbors": 1}


def page_of(found):
    return Page(Report(found).to_html())


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.slow] * (kind != {"kind": "mixed"}))
        for kind in (
            *({"kind": kind} for kind in ("mixed", "regression", "hostile")),
            *({}, {"n_shown": 0}, MANY, {"n_features": 300}, {"n_classes": 70, "n_neighbors": 1}),
        )
    ],
    ids=lambda kind: "-".join(map(str, kind.values())) or "plain",
)
def test_every_section_has_a_heading_its_conclusion_and_its_numbers(kind):
    found = answer(**kind)
    html = Report(found).to_html()
    page = Page(html)
    assert len(html.encode()) <= LARGEST
    if kind.get("kind") == "hostile":  # whose cells are so long that not all rows have room
        found["items"]["items"] = found["items"]["items"][:6]
        found["items"]["shown"] = 6
    assert json.loads(page.data["report-data"]) == found
    text = " ".join(page.text.split())
    for name in SECTIONS:
        sections = [at for tag, at in page.elements if tag == "section" and at["id"] == name]
        assert len(sections) == (found[name] is not None)
        if found[name] is not None:
            assert " ".join(found[name]["conclusion"].split()) in text
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [at["id"] for _, at in page.elements if "id" in at]
    assert len(ids) == len(set(ids))
    assert not [at for tag, at in page.elements if tag == "th" and "scope" not in at]
    for tag, at in page.elements:
        if at.get("role") in ("img", "region"):
            assert at.get("aria-label") or at["aria-labelledby"] in ids, (tag, at)


@pytest.mark.slow
def test_the_page_is_always_the_same_and_asks_for_nothing():
    html = Report(answer()).to_html()
    assert html == Report(answer()).to_html()
    page = Page(html)
    for _, attributes in page.elements:
        for key in ("src", "href", "action", "data"):
            assert re.match(r"#|data:,$", attributes.get(key, "#")), attributes
    (policy,) = (at["content"] for _, at in page.elements if at.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_script_of_the_pictures_is_as_new_as_altair():
    folder = files("knnccv.reporting") / "templates"
    script = gzip.decompress((folder / "vega.js.gz").read_bytes()).decode()
    named = re.match(r"/\* vega [\d.]+, vega-lite (\d+)\.(\d+), vega-embed [\d.]+;", script)
    major, minor, _ = altair.SCHEMA_VERSION.removeprefix("v").split(".")
    assert (int(named[1]), int(named[2])) >= (int(major), int(minor)), "python .ci/vega.py makes it again"
    assert "window.vegaEmbed=" in script
    assert not re.search("</script|<!--", script)
    licenses = (folder / "vega-licenses.txt").read_text(encoding="utf-8")
    assert all(f"\n{name}, " in licenses for name in ("vega", "vega-embed", "d3-array"))


def fields(node):
    """The names of the fields of a picture."""
    if isinstance(node, dict):
        if isinstance(node.get("field"), str):
            yield node["field"]
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from fields(value)


def test_texts_of_the_data_cannot_leave_their_place():
    found = answer("hostile")
    page = page_of(found)
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 5
    assert not [at for _, at in page.elements if any(key.startswith("on") for key in at)]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object")]
    assert all(HOSTILE[name] in page.text for name in SHOWN)
    assert "bell␇ null␀ escape␛[31m line\nbreak tab\tend" in page.text
    assert "half \ufffd of a pair" in page.text
    assert "\u202e" not in page.text
    assert page.data["report-data"].isascii()
    assert not set("<>&") & set(page.data["report-data"] + page.data["report-charts"])
    assert "<script>window" not in Report(found)._repr_html_()
    # Pictures have no name of the data as a field.
    charts = json.loads(page.data["report-charts"])
    assert set(charts) == {"scores", "settings", "tuned", "learning", "confusion", "ties"}
    assert all(re.fullmatch("[a-z_]+", name) for chart in charts.values() for name in fields(chart))
    assert len(json.dumps(charts["confusion"])) < 60_000


def test_pictures_show_the_numbers():
    found = answer()
    found["scores"]["best"] |= {
        "score": 0.9774,
        "interval": {"low": 0.9357, "high": 0.9923, "confidence_level": 0.95},
    }
    found["items"]["items"][0] |= {"index": 123_456_789, "score": -3e-17}
    page = page_of(found)
    assert "accuracy, best setting 97.7%" in page.line
    assert "93.6–99.2%" in page.line
    assert "3e" not in page.line.split("123456789")[1].split("show")[0]  # a share of 0 reads as 0
    charts = json.loads(page.data["report-charts"])
    for curve in found["settings"]["curves"]:
        for score in curve["scores"]:
            assert str(score) in json.dumps(charts["settings"])
    assert str(found["ties"]["high"]) in json.dumps(charts["ties"])
    assert '"labelAngle": 0' in json.dumps(charts["confusion"])
    found["classes"]["labels"] = ["Müller syndrome", "mild", "none"]
    found["ties"]["n_dependent"] = 0
    charts = json.loads(page_of(found).data["report-charts"])
    assert '"labelAngle": -90' in json.dumps(charts["confusion"])
    assert "ties" not in charts  # differences by rounding are no ties


@pytest.mark.slow
def test_numbers_of_a_regression():
    found = answer("regression")
    curve = found["settings"]["curves"][0]
    curve["scores"][0], curve["error_bound"][0] = 5e9, 1.5e5
    for item, target, prediction in zip(
        found["items"]["items"], (705958.0, -4873805.4, 2111679236.4), (25.5, -0.25, 1234.0), strict=False
    ):
        item |= {"label": str(target), "target": target, "prediction": prediction, "index": 123_456_789}
    page = page_of(found)
    assert "no number is off by more than 0.003% of it" in page.line
    rows = page.line.split("123456789")[1:]
    assert [row.split()[:2] for row in rows] == [
        ["705,958", "25.5"],
        ["−4,873,805", "−0.2500"],
        ["2,111,679,236", "1234"],
    ]
    curve["scores"][0] = 0.0
    assert "every number is exact to 1.5e+05" in page_of(found).line


@pytest.mark.slow
def test_rows_that_would_make_the_page_too_large_are_left_out_and_counted():
    found = answer(n_features=300, n_shown=1500)
    html = Report(found).to_html()
    shown = json.loads(Page(html).data["report-data"])["items"]
    assert len(html.encode()) <= LARGEST
    assert 0 < len(shown["items"]) == shown["shown"] < shown["of"] == 1500
    assert shown["items"] == found["items"]["items"][: shown["shown"]]
    assert (
        f"The table shows {shown['shown']} of 1,500 samples: the others would make this page too large"
        in html
    )


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


@pytest.mark.slow
def test_without_influence_scores_and_neighbors_decide(limit):
    X, y = clouds(60, step=1.5)
    X += y[:, None]
    y[[3, 8]] = 1 - y[[3, 8]]
    assert quick_report(X, y, n_neighbors=[3]).to_dict()["items"]["counts"]["suspicious"] > 0
    limit("study", INFLUENCE_LIMIT=0.0)
    found = quick_report(X, y, n_neighbors=[3]).to_dict()
    assert "was left out" in found["items"]["note"]
    check_report(X, y, found, only="items")
    limit("study", JUDGING_LIMIT=9)  # a class of half the samples has 10 nearby
    found = quick_report(X, y, n_neighbors=[3]).to_dict()
    assert found["items"]["counts"]["suspicious"] == 0
    assert "only the 0 lowest were compared" in notes_of(found, "Of ")[0]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_matrix_that_takes_long_is_that_of_a_part(limit):
    limit("study", affordable_confusion=lambda *_: 25)
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
    limit("study", affordable_confusion=lambda *_: 0)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()["classes"]
    assert (found["confusion"], found["confused"], found["subsample"]) == (None, [], None)
    assert "a pass for each of 3 classes" in found["no_confusion"]


@pytest.mark.slow
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
    limit("study", search_units=lambda *_: 100.0)
    found = quick_report(X, y, n_neighbors=[1]).to_dict()
    assert len(found["settings"]["curves"]) == 1  # the default is always offered
    assert "would take about 10.0 times as long" in found["settings"]["omitted"][0]["reason"]


def test_the_default_setting_by_a_second_distance_is_scored_on_a_part(limit):
    X, y = clouds(40)
    X = np.column_stack([X, 1000 * np.random.default_rng(1).normal(size=40)])  # decides raw distances
    limit("study", FEWEST_COMPARED=20, COMPARING=1.0)
    limit("scores", SECOND_SEARCH=0.0)
    report = quick_report(X, y, n_neighbors=[1, 3])
    found = report.to_dict()["scores"]
    best, k = found["best"], found["best"]["n_neighbors"]
    assert best["scaling"] is not None
    rows = np.sort(np.random.default_rng(0).choice(40, 20, False))
    of_all, of_part = (
        complete_cv(
            Neighbors.from_data(scaled(X[some], best["scaling"]), best["metric"]),
            *(y[some], "knn", Subsample(0.8)),
            n_neighbors=k,
        )
        for some in (slice(None), rows)
    )
    assert best["score"] == of_all.score
    default = complete_cv(X[rows], y[rows], "knn", Subsample(16), n_neighbors=5)
    assert found["default"]["score"] == default.score
    assert found["difference"]["score"] == of_part.score - default.score
    assert "(on a random 20 of 40 samples), and always answering" in found["conclusion"]
    assert "The scores of the default setting, and its comparison with the best," in report.to_html()


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


def test_a_metric_that_misses_a_scaling_is_tried_with_the_others(monkeypatch):
    curve = _settings._curve

    def refusing(part, scaling, metric, *more):
        if (scaling, metric) == ("minmax", "cosine"):
            raise ValueError("no angle")
        return curve(part, scaling, metric, *more)

    monkeypatch.setattr(_settings, "_curve", refusing)
    found = quick_report(*clouds(30), n_neighbors=[1, 3]).to_dict()
    assert [one["reason"] for one in found["settings"]["omitted"]] == ["no angle"]
    check_report(*clouds(30), found, only="tuned")
    assert found["tuned"]["n_settings"] == 8 * 2


def test_lists_are_searched_once(monkeypatch):
    """The score and the influence read the lists that are kept; a search is what takes longest."""
    X, y = clouds(80)
    near = Neighbors.from_data(X)
    study = _study.Study(read_input(X, y, None, None).with_task(None), 64, n_jobs=1, random_state=0)
    study.keep_lists(near, study.depth_of_halves(3))
    for engine in {type(each) for each in near._engines}:
        monkeypatch.setattr(engine, "search", lambda *_: pytest.fail("searched again"))
    study.keep_lists(near, 3)
    found = complete_cv(near, y, "knn", Subsample(64), n_neighbors=3, n_jobs=1)
    assert found.influence(n_jobs=1).per_item.any()
