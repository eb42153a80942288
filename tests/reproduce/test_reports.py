"""The table type, the files and the page of all reproductions, and the cache of reports."""

from __future__ import annotations

import base64
import pickle
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from knnccv import reproduce
from knnccv.__main__ import main
from knnccv._cli import commands
from knnccv.reproduce import _catalog
from knnccv.reproduce._combined import CombinedReport, to_html, write_files
from knnccv.reproduce._paper import Comparison, Line, Table
from knnccv.reproduce._picture import Panel, Picture, beside, new_figure

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
        Line("Part two", "judged elsewhere", 5.0, 6.0, judged="within 2 sigma", more={"seconds": 2.5}),
    )
    return Comparison(
        "A title",
        "somewhere",
        lines,
        notes=("`code` in a note",),
        pictures=(Picture("one", "It <is>", drawn),),
    )


@pytest.fixture
def offer(monkeypatch):
    """``offer(name=run)``: these reproductions, and no others."""

    def replace_catalog(**runs):
        table = {name: reproduce.Reproduction(name.title(), run) for name, run in runs.items()}
        for module in (_catalog, commands):
            monkeypatch.setattr(module, "REPRODUCTIONS", table)

    return replace_catalog


def test_verdicts(comparison):
    found = [line.verdict for line in comparison.lines]
    assert found == ["agrees", "differs", "-", "holds", "does not hold", "not computed", "within 2 sigma"]


def test_text_markdown_and_csv(comparison, tmp_path):
    text = comparison.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.99 to 1.01" in text
    assert "Part one, agrees: as it should." in text
    write_files(comparison, tmp_path, "some")
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
    combined = CombinedReport({"one": comparison, "two": comparison})
    write_files(combined, tmp_path, "all")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert page.headings == ["The literature reproduced", *2 * ["A title", "Part one", "Part two"]]
    outside = [address for address in page.addresses if not address.startswith(("#", "data:"))]
    assert outside == []
    pictures = [address for address in page.addresses if address.startswith("data:image")]
    assert len(pictures) == 2
    assert base64.b64decode(pictures[0].partition(",")[2]).startswith(b"\x89PNG")
    text = combined.to_html()
    assert re.search('class="differs"[^>]*>differs<', text)
    assert re.search('class="differs"[^>]*>does not hold<', text)
    assert "a &lt;wrong&gt; claim &amp; more" in text
    assert "<code>code</code> in a note" in text
    assert "It &lt;is&gt;" in text
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| `one` +\| 2 of 3 +\| 1 of 2 +\|", summary)
    assert sorted(path.name for path in tmp_path.glob("one*")) == ["one-one.png", "one.csv", "one.md"]


def test_all_are_computed_and_a_failing_one_leaves_the_others(comparison, capsys, tmp_path, offer):
    broken = Comparison("Broken", "nowhere", (), failures=("no data for it",))
    offer(good=lambda *_: comparison, broken=lambda *_: broken)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "A title" in out
    assert "Not computed: no data for it" in out
    assert "broken: no data for it" in err
    assert (tmp_path / "out" / "report.html").exists()


def test_an_answer_is_kept_until_what_decides_it_changes(comparison, monkeypatch, tmp_path, offer):
    calls = []

    def run(quick, _):
        calls.append(quick)
        return comparison

    offer(good=run)
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
    monkeypatch.setattr(_catalog, "LIBRARIES", ("numpy",))
    reproduce.reproduce("good")
    assert len(calls) == 5


def test_a_broken_file_of_a_kept_answer_is_computed_anew(comparison, tmp_path, offer):
    def ask(compute=lambda *_: pytest.fail("computed again")):
        offer(x=compute)
        return reproduce.reproduce("x")

    ask(lambda *_: comparison)
    (path,) = (tmp_path / "kept").iterdir()
    stored = path.read_bytes()
    found = ask()
    assert found.to_csv() == comparison.to_csv()
    assert found.lines == comparison.lines
    assert found.to_markdown().startswith(comparison.to_markdown().rstrip())
    assert found.pictures[0].png() == comparison.pictures[0].png()
    for content in (b"", b"{}", stored[: len(stored) // 2], pickle.dumps([1]), pickle.dumps(None)):
        path.write_bytes(content)
        assert ask(lambda *_: comparison) is comparison
        assert path.read_bytes() == stored


def test_nothing_is_kept_of_an_answer_with_gaps(tmp_path, offer):
    offer(x=lambda *_: Comparison("A title", "somewhere", (), failures=("gone",)))
    reproduce.reproduce("x", quick=True)
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_to(comparison, monkeypatch, tmp_path, offer):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path / "file"))
    offer(x=lambda *_: comparison)
    assert reproduce.reproduce("x", quick=True) is comparison


def test_the_markdown_of_pages():
    shown = to_html(
        "# One\n\ntext <b>\n- a\n- `b`\n\n"
        "| x | y | z |\n| --- | ---: | --- |\n| 1 | differs | outside 2 sigma |\n"
    ).replace("\n", "")
    assert "<h2>One</h2>" in shown
    assert "<p>text &lt;b&gt;</p>" in shown
    assert "<ul><li>a</li><li><code>b</code></li></ul>" in shown
    assert '<td>1</td><td style="text-align:right" class="differs">differs</td>' in shown
    assert '<td class="differs">outside 2 sigma</td>' in shown


@pytest.mark.parametrize("library", ["jinja2", "markdown_it"])
def test_without_the_extra_a_page_is_refused_before_the_work(library, monkeypatch, capsys, tmp_path, offer):
    calls = []
    offer(good=lambda *_: calls.append(1))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"report.html needs .* pip install 'knnccv\[report\]'"):
        reproduce.reproduce("all", folder=tmp_path)
    assert calls == []
    assert main(["reproduce", "all", "--out", str(tmp_path)]) == 2
    assert "pip install 'knnccv[report]'" in capsys.readouterr().err


def test_without_the_extra_there_are_text_and_files(comparison, monkeypatch, capsys, tmp_path, offer):
    for library in ("jinja2", "markdown_it"):
        monkeypatch.setitem(sys.modules, library, None)
    offer(good=lambda *_: comparison)
    assert main(["reproduce", "all"]) == 0
    assert "A title" in capsys.readouterr().out
    reproduce.reproduce("good", folder=tmp_path)
    assert (tmp_path / "good.md").exists()


def test_the_text_of_a_table():
    table = Table("", ("#", "name", "long header"), (("1", "a", "1.5"), ("", "bc", "-10.25")), left=(0, 1))
    assert table.format("plain") == [
        "#  name  long header",
        "1  a             1.5",
        "   bc         -10.25",
    ]
    assert len(table.format("pipe")) == 4


def test_further_columns_of_a_csv_file():
    lines = (Line("p", "q", 1.0, 1.5, more={"seconds": 2.0}), Line("p", "r"))
    columns = ("quantity", "difference", "seconds", "verdict")
    text = Comparison("T", "s", lines, columns=columns).to_csv()
    assert text == "quantity,difference,seconds,verdict\nq,0.5,2.0,-\nr,,,not computed\n"


def test_printed_and_computed_numbers_are_drawn_beside_each_other():
    sides = {"printed": ([1, 2], None), "computed": ([3, 4], [0.5, 0.25])}
    panel = Panel("A title", ["a", "b"], sides, "points")
    (picture,) = beside("name", "caption", [[panel, panel._replace(log=True)]])
    axes, logarithmic = picture.draw().axes
    assert logarithmic.get_xscale() == "log"
    assert axes.get_title(loc="left") == "A title"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    printed, computed = (container.lines[0].get_xydata() for container in axes.containers)
    np.testing.assert_allclose(printed, [[1, -0.15], [2, 0.85]])
    np.testing.assert_allclose(computed, [[3, 0.15], [4, 1.15]])
    (bars,) = axes.containers[1].lines[2]
    np.testing.assert_allclose(np.array(bars.get_segments())[:, :, 0], [[2.5, 3.5], [3.75, 4.25]])
    assert beside("name", "caption", []) == ()


def test_an_error_in_one_part_leaves_the_others(comparison, capsys, tmp_path, offer):
    def breaks(*_):
        msg = "out of order"
        raise RuntimeError(msg)

    offer(good=lambda *_: comparison, broken=breaks)
    assert main(["reproduce", "all", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "A title" in out
    assert "broken: RuntimeError: out of order" in err
    with pytest.raises(RuntimeError, match="out of order"):
        reproduce.reproduce("broken")


def test_without_matplotlib_there_are_tables(comparison, monkeypatch, tmp_path, offer):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    offer(good=lambda *_: comparison)
    with pytest.warns(UserWarning, match=r"no pictures of good: .*knnccv\[plot\]"):
        reproduce.reproduce("all", folder=tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No picture (pictures need matplotlib" in page
    assert (tmp_path / "good.csv").exists()
    kept = reproduce.reproduce("good")
    assert "Kept since" in kept.to_text()
    with pytest.raises(ImportError, match=r"knnccv\[plot\]"):
        kept.pictures[0].png()


def test_a_home_that_nobody_has(comparison, monkeypatch, offer):
    monkeypatch.setenv("KNNCCV_CACHE_DIR", "~nobody-of-that-name/x")
    offer(x=lambda *_: comparison)
    assert reproduce.reproduce("x") is comparison
