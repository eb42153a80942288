"""The page of a report: its parts, what it contains, and how it treats what the data contain."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import report_example as example

for _needed in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_needed, reason=f"{_needed} is not installed; the extra [report] has it")

from knnccv.reporting._charts import (  # noqa: E402
    confusion_chart,
    setting_name,
    ties_chart,
)
from knnccv.reporting._page import MAX_BYTES, _number, render_page, render_summary  # noqa: E402
from knnccv.reporting._text import quoted  # noqa: E402

EMPTY = {"meta", "link", "br", "img", "input", "path", "rect", "circle"}


class Page(HTMLParser):
    """Elements, texts and scripts of a page; wrongly nested elements are an error."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.data = [], [], [], {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, tag

    def handle_data(self, text):
        tag, name = self.open[-1] if self.open else (None, None)
        if tag == "script":
            self.data[name] = self.data.get(name, "") + text
        elif tag != "style":
            self.texts.append(text)

    def headings(self):
        return [tag for tag, _ in self.elements if re.fullmatch("h[1-6]", tag)]


KINDS = {
    "three classes": {},
    "two classes": {"n_classes": 2},
    "forty classes": {"n_classes": 40},
    "hundred classes": {"n_classes": 100, "n_shown": 3},
    "300 columns": {"n_features": 300},
    "regression": {"regression": True},
    "no intervals": {"intervals": False},
    "no items": {"n_shown": 0},
    "mixed": {"mixed": True},
    "hostile": {"hostile": True},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_section_has_a_heading_its_conclusion_and_its_numbers(kind):
    answer = example.answer(**KINDS[kind])
    html = render_page(answer)
    page = Page(html)
    assert html == render_page(answer)
    assert len(html.encode()) < 6_000_000
    assert json.loads(page.data["report-data"]) == answer
    text = " ".join("".join(page.texts).split())
    for name in ("scores", "settings", "tuned", "learning", "classes", "items", "ties", "regression"):
        sections = [at for tag, at in page.elements if tag == "section" and at["id"] == name]
        assert len(sections) == (answer[name] is not None)
        if answer[name] is not None:
            assert " ".join(answer[name]["conclusion"].split()) in text
    levels = [int(tag[1]) for tag in page.headings()]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [at["id"] for _, at in page.elements if "id" in at]
    assert len(ids) == len(set(ids))
    assert not [at for tag, at in page.elements if tag == "th" and "scope" not in at]
    for tag, at in page.elements:
        if at.get("role") in ("img", "region"):
            assert at.get("aria-label") or at["aria-labelledby"] in ids, (tag, at)


def test_the_page_asks_for_nothing():
    page = Page(render_page(example.answer()))
    for _, attributes in page.elements:
        for key in ("src", "href", "action", "data"):
            assert re.match(r"#|data:,$", attributes.get(key, "#")), attributes
    (policy,) = (at["content"] for _, at in page.elements if at.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_texts_of_the_data_cannot_leave_their_place():
    answer = example.answer(hostile=True)
    page = Page(render_page(answer))
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert len(scripts) == 5
    assert not [at for _, at in page.elements if any(key.startswith("on") for key in at)]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object")]
    text = "".join(page.texts)
    for name in ("script", "image", "closing", "quotes", "long word", "template", "formula", "emoji"):
        assert example.HOSTILE[name] in text
    assert "bell␇ null␀ escape␛[31m line\nbreak tab\tend" in text
    assert "half \ufffd of a pair" in text
    assert page.data["report-data"].isascii()
    assert not set("<>&") & set(page.data["report-data"] + page.data["report-charts"])
    assert "<script>window" not in render_summary(answer)


def test_labels_within_a_sentence_are_short_and_do_not_turn_it():
    assert quoted("setosa") == "setosa"
    assert quoted(3) == "3"
    assert [quoted(name) for name in ("", "  ", "\n")] == ["(empty)", "(empty)", "\u240a"]
    assert quoted("x" * 10_000) == "x" * 39 + "…"
    assert quoted("\u202eab\u2069\x1b[31m") == "\ufffdab\ufffd\u241b[31m"
    assert quoted("שלום") == "\u2068שלום\u2069"


def test_notes_of_sections_are_shown():
    answer = example.answer()
    answer["classes"].update(confusion=None, no_confusion="it would take a day")
    answer["items"].update(note="The influence was left out.", indices_cut=["suspicious"])
    answer["classes"]["per_class"][0]["label"] = ""
    page = Page(render_page(answer))
    text = " ".join("".join(page.texts).split())
    assert "No confusion matrix: it would take a day." in text
    assert "The influence was left out." in text
    assert "The export holds the worst 100,000 samples of each reason." in text
    assert "samples whose score depends on the order" in text
    assert "influence is the score of all samples minus the score of the others without it" in text
    assert "(empty)" in text
    assert "\u202e" not in "".join(Page(render_page(example.answer(hostile=True))).texts)


def test_numbers_in_the_cards_are_those_of_the_sentences():
    answer = example.answer()
    answer["scores"]["best"].update(score=0.9774, interval={"low": 0.9357, "high": 0.9923, "level": 0.95})
    text = " ".join(" ".join(Page(render_page(answer)).texts).split())
    assert "accuracy, best setting 97.7%" in text
    assert "93.6% to 99.2%" in text


def test_settings_of_a_regression_are_exact_to_a_share():
    answer = example.answer(regression=True)
    curve = answer["settings"]["curves"][0]
    curve["scores"][0], curve["error_bound"][0] = 5e9, 1.5e5
    assert "no number is off by more than 0.003% of it" in render_page(answer)
    curve["scores"][0] = 0.0
    assert "every number is exact to 1.5e+05" in render_page(answer)
    assert "every number is exact to 2e-14" in render_page(example.answer())


def test_targets_are_numbers_of_the_table():
    answer = example.answer(regression=True)
    for item in answer["items"]["items"]:
        item.update(label="705958.0", target=705958.0, prediction=25.5, index=123_456_789)
    text = " ".join(" ".join(Page(render_page(answer)).texts).split())
    assert text.split("123456789")[1].split()[:2] == ["705,958", "25.5"]


def test_long_labels_of_a_matrix_are_upright():
    def angle(labels):
        answer = example.answer()
        answer["classes"]["labels"] = labels
        return re.search(r'"labelAngle": (-?[0-9]+)', json.dumps(confusion_chart(answer)))[1]

    assert angle(["none", "mild", "bad"]) == "0"
    assert angle(["Müller syndrome", "mild", "none"]) == "-90"


def test_a_share_of_0_is_shown_as_0():
    answer = example.answer()
    answer["items"]["items"][0].update(index=123_456_789, score=-3e-17)
    text = " ".join("".join(Page(render_page(answer)).texts).split())
    assert "123456789" in text
    assert "3e" not in text.split("123456789")[1].split("show")[0]


def test_pictures_hold_no_name_of_the_data_as_a_field():
    page = Page(render_page(example.answer(hostile=True)))
    charts = json.loads(page.data["report-charts"])

    def fields(node):
        if isinstance(node, dict):
            if isinstance(node.get("field"), str):
                yield node["field"]
            for value in node.values():
                yield from fields(value)
        elif isinstance(node, list):
            for value in node:
                yield from fields(value)

    assert set(charts) == {"scores", "settings", "tuned", "learning", "confusion", "ties"}
    assert all(re.fullmatch("[a-z_]+", name) for chart in charts.values() for name in fields(chart))
    assert len(json.dumps(charts["confusion"])) < 60_000


@pytest.mark.slow
def test_rows_that_would_make_the_page_too_large_are_left_out_and_counted():
    answer = example.answer(n_features=300, n_shown=500)
    html = render_page(answer)
    page = Page(html)
    shown = json.loads(page.data["report-data"])["items"]
    assert len(html.encode()) <= MAX_BYTES < 6_000_000
    assert 0 < len(shown["items"]) == shown["shown"] < shown["of"] == 500
    assert shown["items"] == answer["items"]["items"][: shown["shown"]]
    assert (
        f"The table shows {shown['shown']} of 500 samples: the others would make this page too large"
        in html
    )
    assert answer["items"]["shown"] == 500


def test_the_summary_has_the_conclusions_alone():
    answer = example.answer(regression=True)
    page = Page(render_summary(answer))
    text = "".join(page.texts)
    for name in ("data", "scores", "settings", "learning", "items", "ties", "regression"):
        assert answer[name]["conclusion"] in text
    assert {tag for tag, _ in page.elements} == {"div", "p", "strong", "bdi", "ul", "li", "code"}


def test_differences_by_rounding_are_not_drawn_as_ties():
    answer = example.answer()
    assert ties_chart(answer) is not None
    answer["ties"]["n_dependent"] = 0
    assert ties_chart(answer) is None


def test_distances_of_mixed_tables_have_no_scaling_in_their_name():
    assert setting_name({"scaling": "raw", "metric": "heom", "n_neighbors": 3}) == "HEOM, K\u00a0=\u00a03"
    found = setting_name({"scaling": "raw", "metric": "cosine", "n_neighbors": 3})
    assert found == "raw, cosine, K\u00a0=\u00a03"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-4873805.4, "−4,873,805"), (2111679236.4, "2,111,679,236"), (-0.25, "−0.2500"), (1234, "1,234")],
)
def test_large_numbers_are_no_powers_of_ten(value, text):
    assert _number(value) == text
