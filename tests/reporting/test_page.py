"""The page of a report: its parts, what it contains, and how it treats what the data contain."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from report_example import HOSTILE, Page, answer

from knnccv import Report

LARGEST = 5_900_000
SECTIONS = ("scores", "settings", "tuned", "learning", "classes", "items", "ties", "regression")
SHOWN = ("script", "image", "closing", "quotes", "long word", "template", "formula", "emoji")
MANY = {"n_classes": 30, "n_neighbors": 1}


def page_of(found):
    return Page(Report(found).to_html())


@pytest.mark.parametrize(
    "kind",
    [
        *({}, {"kind": "regression"}, {"kind": "mixed"}, {"kind": "hostile"}, {"n_shown": 0}),
        pytest.param(MANY, marks=pytest.mark.slow),
        pytest.param({"n_features": 300}, marks=pytest.mark.slow),
        pytest.param({"n_classes": 70, "n_neighbors": 1}, marks=pytest.mark.slow),
    ],
    ids=lambda kind: "-".join(map(str, kind.values())) or "plain",
)
def test_every_section_has_a_heading_its_conclusion_and_its_numbers(kind):
    found = answer(**kind)
    html = Report(found).to_html()
    page = Page(html)
    assert len(html.encode()) <= LARGEST
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
    found["scores"]["best"] |= {"score": 0.9774, "interval": {"low": 0.9357, "high": 0.9923, "level": 0.95}}
    found["items"]["items"][0] |= {"index": 123_456_789, "score": -3e-17}
    page = page_of(found)
    assert "accuracy, best setting 97.7%" in page.line
    assert "93.6% to 99.2%" in page.line
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
