"""Answers of `knnccv.report` for small tables, and what a page made of them shows."""

from __future__ import annotations

import copy
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
from report_check import quick_report

HOSTILE = {
    "script": "<script>window.__executed = 1</script>",
    "image": '"><img src=x onerror="window.__executed=1">',
    "closing": "</script><script>window.__executed=1</script><!--",
    "quotes": 'it\'s a "quoted" `name` with [brackets], dots.in.it and \\backslashes\\',
    "right-to-left": "שלום עולם \u202eabc",
    "long word": "x" * 10_000,
    "long text": "many words " * 900,
    "controls": "bell\x07 null\x00 escape\x1b[31m line\nbreak tab\tend",
    "surrogate": "half \ud83d of a pair",
    "separators": "line\u2028paragraph\u2029end",
    "emoji": "🍷👩‍🔬 grüße 漢字",
    "template": "{{ 7 * 7 }} {% raw %} ${1+1}",
    "formula": "=cmd|' /C calc'!A0",
}


@cache
def _found(kind, n_classes, n_features, n_neighbors):
    """The numbers of a report on a table of overlapping classes, with ties and equal rows."""
    evil = np.array(list(HOSTILE.values()), dtype=object)
    if kind == "hostile":
        n_classes = n_features = len(evil)
    rng = np.random.default_rng(4)
    y = np.arange(max(36, 3 * n_classes)) % n_classes
    X = np.round(rng.normal(size=(len(y), n_features)) + np.minimum(y, 6)[:, None])
    X[[1, 2]] = X[0]
    names = [f"column {j}" for j in range(n_features)]
    labels = np.array([f"class {c}" for c in range(n_classes)], dtype=object)[y]
    if kind == "regression":
        labels = X[:, 0] + np.round(rng.normal(size=len(y)), 1)
    if kind == "mixed":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "hostile":
        X = np.column_stack([np.broadcast_to(evil, X.shape), X[:, :1]])
        names, labels = [*evil, "a number"], evil[y]
    options = {"feature_names": names, "name": evil[0] if kind == "hostile" else "example", "n_jobs": 1}
    return quick_report(X, labels, n_neighbors=range(1, n_neighbors + 1), **options).to_dict()


def answer(kind="plain", n_classes=3, n_features=4, n_shown=None, intervals=True, n_neighbors=4):
    """An answer: "plain", "mixed" (gaps), "hostile" (texts of `HOSTILE` everywhere) or a "regression".

    `n_shown` is the number of samples to look at; without intervals their reason is given.
    """
    found = copy.deepcopy(_found(kind, n_classes, n_features, n_neighbors))
    items = found["items"]
    if n_shown is not None:
        items["items"] = (items["items"] * 1500)[:n_shown]
        items |= {"shown": n_shown, "of": n_shown}
    if not intervals:
        for name in ("best", "default"):
            found["scores"][name] |= {"interval": None, "no_interval": "halves cannot be drawn"}
    return found


EMPTY = {"meta", "link", "br", "img", "input", "path", "rect", "circle"}


class Page(HTMLParser):
    """Elements, texts and scripts of a page; wrongly nested elements are an error."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.data = [], [], [], {}
        self.feed(html)
        self.close()
        assert self.open == []
        self.text = "".join(self.texts)
        self.line = " ".join(" ".join(self.texts).split())

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


def words(text):
    """A text without its numbers, which other tests compare with the library."""
    return re.sub(r"[-−+]?\d(?:[\d,.]*\d)?(?:e[-+]\d+)?%?", "#", text)


def page_words(html, known=""):
    """The lines of a page without their numbers, each once, but for lines that are `known`."""
    text = "\n".join(Page(re.sub('<span class="whole">(.*?)</span>', r"\1", html)).texts)
    lines = [" ".join(words(line).split()) for line in text.splitlines()]
    return _new([line for line in lines if line.strip("# –")], known)


def said(*table, known="", **options):
    """The conclusions and the notes of a report, without their numbers, but for lines that are `known`."""
    found = quick_report(*table, **{"n_jobs": 1, "n_neighbors": [1, 3], **options})
    return _new([*words(repr(found)).splitlines(), *map(words, found.to_dict()["method"]["notes"])], known)


def _new(lines, known):
    return "\n".join(line for line in dict.fromkeys(lines) if line not in known.splitlines())
