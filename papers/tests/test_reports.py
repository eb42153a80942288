"""The files and the page of all reproductions, the cache of reports, and what goes wrong."""

from __future__ import annotations

import base64
import csv
import inspect
import io
import pickle
import re
import runpy
from importlib import import_module
from pathlib import Path

import mirror as local
import pytest
from report_example import Page

from knnccv.datasets import DatasetError
from knnccv_papers import _catalog, _combined, _paper, _picture, _what_ccv_buys, _wilson_martinez
from knnccv_papers.__main__ import main

Comparison, Line, reproduce = _paper.Comparison, _paper.Line, _catalog.reproduce
PNG = b"\x89PNG"
differing = runpy.run_path(str(Path(__file__).with_name("compare.py")))["differing"]


def drawn():
    figure, axes = _picture.new_figure(2, 1)
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
    pictures = (_picture.Picture("one", "It <is>", drawn),)
    return Comparison("A title", "somewhere", lines, notes=("`code` in a note",), pictures=pictures)


@pytest.fixture
def offer(monkeypatch):
    """``offer(name=run)``: these reproductions, and no others."""

    def replace_catalog(**runs):
        for name in list(_catalog.REPRODUCTIONS):
            monkeypatch.delitem(_catalog.REPRODUCTIONS, name)
        for name, run in runs.items():
            monkeypatch.setitem(_catalog.REPRODUCTIONS, name, _catalog.Reproduction(name.title(), run))

    return replace_catalog


def test_a_page_needs_nothing_else(comparison, tmp_path):
    _combined.write_files(_combined.CombinedReport({"one": comparison, "two": comparison}), tmp_path, "all")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    addresses = [at[key] for _, at in page.elements for key in ("src", "href") if key in at]
    pictures = [address for address in addresses if address.startswith("data:image")]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert len(pictures) == 2
    assert base64.b64decode(pictures[0].partition(",")[2]).startswith(PNG)
    for words in ("differs", "does not hold", "outside 2 sigma"):
        assert bool(re.search(f'class="differs"[^>]*>{words}<', html)) == (words != "outside 2 sigma")
    for words in ("a <wrong> claim & more", "code in a note", "It <is>", "The literature reproduced"):
        assert words in page.text
    assert [tag for tag, _ in page.elements if tag in ("h1", "h2", "h3")] == ["h1", *2 * ["h2", "h3", "h3"]]
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| `one` +\| 2 of 3 +\| 1 of 2 +\|", summary)
    assert sorted(path.name for path in tmp_path.glob("one*")) == ["one-one.png", "one.csv", "one.md"]
    markdown = (tmp_path / "one.md").read_text(encoding="utf-8")
    assert markdown.startswith(comparison.to_markdown())
    assert "](one-one.png)" in markdown
    assert (tmp_path / "one.csv").read_text(encoding="utf-8") == comparison.to_csv()


def test_parts_that_fail_leave_the_others(comparison, capsys, tmp_path, offer):
    def breaks(*_):
        raise RuntimeError("out of order")

    gone = Comparison("Gone", "nowhere", (), failures=("no data for it",))
    offer(good=lambda *_: comparison, gone=lambda *_: gone, broken=breaks)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert "A title" in out
    assert "Not computed: no data for it" in out
    assert "gone: no data for it" in err
    assert "broken: RuntimeError: out of order" in err
    assert (tmp_path / "out" / "report.html").exists()
    with pytest.raises(RuntimeError, match="out of order"):
        reproduce("broken")


def test_an_answer_is_kept_until_what_decides_it_changes(comparison, monkeypatch, tmp_path, offer):
    calls = []
    offer(good=lambda quick, _: calls.append(quick) or comparison)
    reproduce("good", folder=tmp_path / "first")
    again = reproduce("good", folder=tmp_path / "second")
    assert calls == [False]
    assert "Kept since" in again.to_text()
    assert (again.lines, again.to_csv()) == (comparison.lines, comparison.to_csv())
    assert again.to_markdown().startswith(comparison.to_markdown().rstrip())
    first = (tmp_path / "first" / "good-one.png").read_bytes()
    assert (tmp_path / "second" / "good-one.png").read_bytes() == first == comparison.pictures[0].png()
    reproduce("good", quick=True)
    reproduce("good", fresh=True)
    assert main(["reproduce", "good", "--fresh"]) == 0
    assert calls == [False, True, False, False]
    monkeypatch.setattr(_catalog, "LIBRARIES", ("numpy",))
    reproduce("good")
    assert len(calls) == 5


def test_what_cannot_be_kept_is_computed(comparison, monkeypatch, tmp_path, offer):
    offer(x=lambda *_: Comparison("A title", "somewhere", (), failures=("gone",)))
    reproduce("x", quick=True)
    assert not (tmp_path / "kept").exists()
    offer(x=lambda *_: comparison)
    reproduce("x")
    (path,) = (tmp_path / "kept").iterdir()
    stored = path.read_bytes()
    for content in (b"", b"{}", stored[: len(stored) // 2], pickle.dumps([1]), pickle.dumps(None)):
        path.write_bytes(content)
        assert reproduce("x") is comparison
        assert path.read_bytes() == stored
    for folder in (path, "~nobody-of-that-name/x"):
        monkeypatch.setenv("KNNCCV_CACHE_DIR", str(folder))
        assert reproduce("x") is comparison


def test_every_line_of_a_file_of_a_paper_is_made():
    for name in ("esl", "icml2000", "kanagawa", "what_ccv_buys", "wilson_martinez"):
        source = inspect.getsource(import_module(f"knnccv_papers._{name}"))
        keys = _paper.Paper.read(name)["lines"]
        assert len(keys) > 1
        assert [key for key in keys if f'"{key}"' not in source] == []


def test_data_that_cannot_be_obtained_are_listed_by_reason():
    missing = _paper.Missing()
    with missing.noted("found"):
        assert _paper.load("load_wine").X.shape == (178, 13)
    with missing.noted("one"):
        _paper.load("fetch_abalone", n_classes=3)
    for part, reason in (("two", "gone\n  away"), ("three", "gone away")):
        with missing.noted(part):
            raise DatasetError(reason)
    (sentence, other) = missing.sentences()
    assert sentence.startswith("no data for one: ")
    assert "abalone" in sentence.lower()
    assert other == "no data for two; three: gone away"


LOST = {
    "tr-table1": ("orl", "no data for experiment 3; experiment 4: ORL", 8, "60.69"),
    "what-ccv-buys": ("glass", "no data for Glass", 0, "Wine, 5-NN"),
    "wm-table1": ("zoo", "no data for Zoo", 4, "Iris"),
}
NAMES = [name for name in _catalog.REPRODUCTIONS if name != "coverage"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LOST)
def test_a_failing_download_leaves_the_other_parts(name, data_folder, capsys, monkeypatch, tmp_path):
    lost, words, n_lost, kept = LOST[name]
    sets = [one for one in _what_ccv_buys.SETS if one["name"] in ("Wine", "Glass")]
    monkeypatch.setattr(_what_ccv_buys, "SETS", sets)
    few = {name: _wilson_martinez.ACCURACIES[name] for name in ("Iris", "Zoo")}
    monkeypatch.setattr(_wilson_martinez, "ACCURACIES", few)
    monkeypatch.setattr(_wilson_martinez, "uci_names", lambda: list(few))
    healthy = local.folder(data_folder)

    def without(handler):
        return handler.send_error(404) if lost in handler.path else healthy(handler)

    with local.serve(without) as server:
        monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
        assert main(["reproduce", name, "--quick", "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert f"Not computed: {words}" in out
    assert re.search(rf"^knnccv_papers: error: {words}.*404", err, re.MULTILINE)
    assert kept in out
    text = (tmp_path / "out" / f"{name}.csv").read_text(encoding="utf-8")
    verdicts = [line["verdict"] for line in csv.DictReader(io.StringIO(text))]
    assert verdicts.count("not computed") == n_lost


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_reproduction(name, quick):
    report, folder, _ = quick(name)
    assert not report.failures
    assert differing(folder / f"{name}.csv")[1] == []
    text = report.to_text().replace("does not hold", "holds")  # of seconds, beside other work
    assert max(map(len, text.splitlines())) <= 100
    pictures = {f"{name}-{picture.name}.png" for picture in report.pictures}
    assert {path.name for path in folder.iterdir()} == {f"{name}.md", f"{name}.csv", *pictures}
    assert all((folder / picture).read_bytes().startswith(PNG) for picture in pictures)
    markdown = (folder / f"{name}.md").read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_one_bar_over_all(offer, capsys, monkeypatch):
    bars = []

    def run(_, progress):
        bars.append(progress)
        return Comparison("A title", "a source", ())

    offer(one=run, two=run)
    for options, shown in ((["--progress"], True), ([], False)):
        assert main(["reproduce", "all", *options]) == 0
        out, err = capsys.readouterr()
        assert ("2/2" in err, "2/2" in out) == (shown, False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)  # by default there is a bar on a terminal
    assert main(["reproduce", "all"]) == 0
    assert "2/2" in capsys.readouterr().err
    assert bars == [False] * 2  # kept answers are not computed again
