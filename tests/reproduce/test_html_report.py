"""All reproductions in one page, and answers that are kept."""

from __future__ import annotations

import base64
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from knnccv import reproduce
from knnccv.__main__ import main
from knnccv.reproduce import _cache, _catalog, _html_report
from knnccv.reproduce._comparison import Comparison, Line, Picture, new_figure, write_answer
from knnccv.reproduce._html_report import CombinedReport

VOID = {"meta", "link", "img", "br"}


def drawn():
    figure, axes = new_figure(2, 1)
    axes[0, 0].plot([0, 1])
    return figure


@pytest.fixture
def comparison():
    lines = (
        Line("Part one", "agrees", 1.0, 1.004, (0.99, 1.01), note="as it should."),
        Line("Part one", "differs", 1.0, 2.0, (0.99, 1.01)),
        Line("Part one", "found alone", None, 3.14159, digits=3),
        Line("Part two", "a claim", holds=True),
        Line("Part two", "a <wrong> claim & more", holds=False),
        Line("Part two", "missing", 5.0),
    )
    return Comparison(
        "A title",
        "somewhere",
        lines,
        notes=("`code` in a note",),
        pictures=(Picture("one", "It <is>", drawn),),
    )


@pytest.fixture(autouse=True)
def _kept_here(monkeypatch, tmp_path):
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "kept"))


def test_verdicts(comparison):
    found = [line.verdict for line in comparison.lines]
    assert found == ["agrees", "differs", "-", "holds", "does not hold", "not computed"]


def test_text_markdown_and_csv(comparison, tmp_path):
    text = comparison.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.99 to 1.01" in text
    assert "Part one, agrees: as it should." in text
    write_answer(comparison, tmp_path, "some")
    markdown = (tmp_path / "some.md").read_text(encoding="utf-8")
    assert markdown.startswith(comparison.to_markdown())
    assert "](some-one.png)" in markdown
    assert (tmp_path / "some-one.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "some.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(comparison.lines)
    assert lines[1].startswith("Part one,agrees,1.0,1.004,0.99,1.01,agrees")


class Page(HTMLParser):
    """Addresses in a page, its headings, and whether its tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.headings, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and re.fullmatch(r"h\d", self.open[-1]):
            self.headings.append(data)


def test_a_page_needs_nothing_else(comparison, tmp_path):
    book = CombinedReport({"one": comparison, "two": comparison})
    book.write(tmp_path, "all")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.headings == ["The literature reproduced", *2 * ["A title", "Part one", "Part two"]]
    outside = [address for address in page.addresses if not address.startswith(("#", "data:"))]
    assert outside == []
    pictures = [address for address in page.addresses if address.startswith("data:image")]
    assert len(pictures) == 2
    assert base64.b64decode(pictures[0].partition(",")[2]).startswith(b"\x89PNG")
    text = book.to_html()
    assert 'class="differs">differs' in text
    assert 'class="differs">does not hold' in text
    assert "a &lt;wrong&gt; claim &amp; more" in text
    assert "<code>code</code> in a note" in text
    assert "It &lt;is&gt;" in text
    assert "| `one` | 1 of 2 | 1 of 2 |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.glob("one*")) == ["one-one.png", "one.csv", "one.md"]


def test_all_are_computed_and_a_failing_one_leaves_the_others(comparison, monkeypatch, capsys, tmp_path):
    broken = Comparison("Broken", "nowhere", (), failures=("no data for it",))
    table = {
        "good": reproduce.Reproduction("Good", lambda *_: comparison),
        "broken": reproduce.Reproduction("Broken", lambda *_: broken),
    }
    monkeypatch.setattr(_catalog, "REPRODUCTIONS", table)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "A title" in out
    assert "Not computed: no data for it" in out
    assert "broken: no data for it" in err
    assert (tmp_path / "out" / "report.html").exists()


def test_an_answer_is_kept_until_what_decides_it_changes(comparison, monkeypatch, tmp_path):
    calls = []

    def run(quick, _):
        calls.append(quick)
        return comparison

    monkeypatch.setattr(_catalog, "REPRODUCTIONS", {"good": reproduce.Reproduction("Good", run)})
    reproduce.reproduce("good", folder=tmp_path / "first")
    again = reproduce.reproduce("good", folder=tmp_path / "second")
    assert calls == [False]
    assert "Kept since" in again.to_text()
    assert again.to_csv() == comparison.to_csv()
    first = (tmp_path / "first" / "good-one.png").read_bytes()
    assert (tmp_path / "second" / "good-one.png").read_bytes() == first
    assert (tmp_path / "second" / "good.md").exists()
    reproduce.reproduce("good", quick=True)
    reproduce.reproduce("good", fresh=True)
    assert main(["reproduce", "good", "--fresh"]) == 0
    assert calls == [False, True, False, False]
    monkeypatch.setattr(_cache, "LIBRARIES", ("numpy",))
    reproduce.reproduce("good")
    assert len(calls) == 5


def test_a_broken_file_of_a_kept_answer_is_computed_anew(comparison, tmp_path):
    key = _cache.content_key("x", False)
    _cache.keep(key, comparison)
    (path,) = (tmp_path / "kept").iterdir()
    stored = path.read_text(encoding="utf-8")
    assert _cache.find(key).to_csv() == comparison.to_csv()
    for text in (
        "",
        "{}",
        "[1]",
        stored[: len(stored) // 2],
        json.dumps({**json.loads(stored), "pictures": [1]}),
    ):
        path.write_text(text, encoding="utf-8")
        assert _cache.find(key) is None


def test_nothing_is_kept_of_an_answer_with_gaps(tmp_path):
    _cache.keep("key", Comparison("A title", "somewhere", (), failures=("gone",)))
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_to(comparison, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "file"))
    _cache.keep("key", comparison)
    assert _cache.find("key") is None


def test_the_markdown_of_pages():
    shown = "".join(
        _html_report._html_of("# One\n\ntext\n- a\n- b\n\n| x | y |\n| --- | --- |\n| 1 | differs |\n")
    )
    assert "<h2>One</h2>" in shown
    assert "<p>text</p>" in shown
    assert "<ul><li>a</li><li>b</li></ul>" in shown
    assert '<td>1</td><td class="differs">differs</td>' in shown


def test_an_error_in_one_part_leaves_the_others(comparison, monkeypatch, capsys, tmp_path):
    def breaks(*_):
        msg = "out of order"
        raise RuntimeError(msg)

    table = {
        "good": reproduce.Reproduction("Good", lambda *_: comparison),
        "broken": reproduce.Reproduction("Broken", breaks),
    }
    monkeypatch.setattr(_catalog, "REPRODUCTIONS", table)
    assert main(["reproduce", "all", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "A title" in out
    assert "broken: RuntimeError: out of order" in err
    with pytest.raises(RuntimeError, match="out of order"):
        reproduce.reproduce("broken")


def test_without_matplotlib_there_are_tables(comparison, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(
        _catalog, "REPRODUCTIONS", {"good": reproduce.Reproduction("Good", lambda *_: comparison)}
    )
    with pytest.warns(UserWarning, match=r"no pictures of good: .*knnccv\[plot\]"):
        reproduce.reproduce("all", folder=tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No picture (pictures need matplotlib" in page
    assert (tmp_path / "good.csv").exists()
    kept = reproduce.reproduce("good")
    assert "Kept since" in kept.to_text()
    assert kept.pictures == ()


def test_a_home_that_nobody_has(comparison, monkeypatch):
    monkeypatch.setenv("KNNCCV_CACHE_DIR", "~nobody-of-that-name/x")
    _cache.keep("key", comparison)
    assert _cache.find("key") is None
