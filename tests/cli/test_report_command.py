"""The command report: its numbers are those of `knnccv.report`, and the files are what the options say."""

from __future__ import annotations

import importlib.util
import json
import webbrowser

import numpy as np
import pytest
from command_line import HOMES, LABEL, PLAIN, PRICES, ROWS, refused

import knnccv
from knnccv.__main__ import main
from knnccv._cli import report as report_command
from knnccv._cli.table import read_table
from knnccv.datasets import load_wine

slow = pytest.mark.slow
X = np.array([row[:2] for row in ROWS], float)
FEW = ("--n-neighbors", "1,2", "--train-size", "6")
MIXED = "x,kind,code,label\n" + "".join(
    f"{'' if x % 5 == 0 else x},{'uv'[y % 2] if y != 3 else '?'},{y},{c}\n" for x, y, c in ROWS
)
MIXED_CELLS = [[None if x % 5 == 0 else x, "uv"[y % 2] if y != 3 else None, y] for x, y, _ in ROWS]


@pytest.fixture(name="asked")
def _asked(monkeypatch):
    """The arguments of `report_on`, in place of which a report of a few words is made."""
    from knnccv import reporting

    calls = []
    words = dict.fromkeys(report_command.SECTIONS)
    words["data"] = {"conclusion": "Few rows."}
    words["scores"] = {"conclusion": "Good <b>enough</b>. " * 10}

    class Made:
        def to_dict(self):
            return words

        def save(self, path):
            path.write_text("a page", encoding="utf-8")

    def report(*args, **kwargs):
        calls.append((args, kwargs))
        return Made()

    monkeypatch.setattr(reporting, "report_on", report)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    return calls


def without_seconds(found):
    return {**found, "method": {k: v for k, v in found["method"].items() if k not in ("seconds", "code")}}


def test_the_arguments_of_report(run, write, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    path = write(PLAIN)
    status, out, err = run(
        "report", path, "--target", "label", *FEW, "--max-items", "9", "--seed", "4", "--average", "class"
    )
    assert (status, err) == (0, "")
    (given, y, _), options = asked[0]
    np.testing.assert_array_equal(given, X)
    assert y.tolist() == LABEL
    assert options == {
        "task": None,
        "train_size": 6,
        "n_neighbors": [1, 2],
        "average": "class",
        "max_items": 9,
        "n_jobs": None,
        "progress": False,
        "random_state": 4,
        "feature_names": ("x", "y"),
        "categorical": [],
        "name": "table.csv",
    }
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == "a page"
    lines = out.splitlines()
    assert lines[:2] == ["Report      report.html", "Data        Few rows."]
    assert lines[2].startswith("Scores      Good <b>enough</b>. Good")
    assert lines[3].startswith(" " * 12)
    assert 90 < max(map(len, lines)) <= 100
    for columns, widest in (("60", 60), ("20", 40)):
        monkeypatch.setenv("COLUMNS", columns)
        _, out, _ = run("report", path, "--target", "label", *FEW)
        assert widest - 10 < max(map(len, out.splitlines())) <= widest


def test_the_bundled_data(run, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = run("report", "--json", "--task", "classification", "--jobs", "1")
    assert status == 0
    assert json.loads(out)["data"] == {"conclusion": "Few rows."}
    (given, y, reading), options = asked[0]
    wine = load_wine()
    np.testing.assert_array_equal(given, wine.X)
    np.testing.assert_array_equal(y, wine.y)
    assert (options["name"], options["feature_names"]) == ("wine", wine.feature_names)
    names = {}
    exec("\n".join(reading), names)
    np.testing.assert_array_equal(names["X"], wine.X)
    np.testing.assert_array_equal(names["y"], wine.y)
    assert (options["task"], options["n_jobs"], options["train_size"]) == ("classification", 1, 0.8)
    assert list(tmp_path.iterdir()) == []
    run("report", "--json", "--out", "page.htm")
    assert [path.name for path in tmp_path.iterdir()] == ["page.htm"]


def test_mixed_tables_are_read_with_their_categories(run, write, asked):
    path = write(MIXED)
    status, _, err = run("report", path, "--target", "label", "--json", "--categorical", "code")
    assert status == 0
    missing = sum(cell is None for row in MIXED_CELLS for cell in row)
    expected = f"2 categorical columns (kind, code) and {missing} missing values: the distance is HEOM "
    expected += "(docs/guide/mixed_tables.md)"
    assert err == f"knnccv: note: {expected}\n"
    (given, _, _), options = asked[0]
    assert options["categorical"] == [1, 2]
    for row, cells in zip(given.tolist(), MIXED_CELLS, strict=True):
        x, kind, code = cells
        assert (row[0] == x) if x is not None else np.isnan(row[0])
        assert row[1:] == [kind, str(code)]
    run("report", path, "--target", "label", "--json", "--drop", "kind", "--drop", "code")
    assert asked[1][0][0].dtype == np.float64
    assert asked[1][1]["categorical"] == []


def test_parquet_and_excel(run, asked, tmp_path):
    pd = pytest.importorskip("pandas")
    for package in ("pyarrow", "openpyxl"):
        pytest.importorskip(package)
    frame = pd.DataFrame(MIXED_CELLS, columns=["x", "kind", "code"]).assign(label=LABEL)
    frame.to_parquet(tmp_path / "table.parquet")
    frame.to_excel(tmp_path / "table.xlsx", sheet_name="rows", index=False)
    run("report", tmp_path / "table.parquet", "--target", "label", "--json")
    run("report", tmp_path / "table.xlsx", "--target", "label", "--json", "--sheet", "rows")
    for (given, y, _), options in asked:
        assert y.tolist() == LABEL
        assert options["categorical"] == [1]
        assert [row[1] for row in given.tolist()] == [cells[1] for cells in MIXED_CELLS]


def test_the_codes_of_a_table_stand_for_its_categories(write):
    table = read_table(str(write(MIXED)), "label", mixed=True)
    assert [None if one is None else one.tolist() for one in table.categories] == [None, ["u", "v"], None]
    assert read_table(str(write(PLAIN)), "label").categories == (None, None)


@pytest.mark.usefixtures("asked")
def test_the_browser(run, write, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or len(opened) == 1)
    page = tmp_path / "a page.html"
    asked_for = ("report", write(PLAIN), "--target", "label", "--out", page, "--open")
    assert run(*asked_for)[2] == ""
    assert opened == [page.resolve().as_uri()]
    assert f"no browser was found; open {page} yourself" in run(*asked_for)[2]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--out", "page.pdf"), "--out must end in .html, .htm or .json, got 'page.pdf'"),
        (("--out", "page"), "--out must end in .html"),
        (("--out", "-"), "--out needs the name of a file"),
        (("--out", ""), "--out needs the name of a file"),
        (("--out", "missing-folder/page.html"), "missing-folder/page.html: No such file"),
        (("--out", "/"), "/: Is a directory"),
        (("--target", "x"), "--target describes a file"),
        (("--drop", "x"), "--drop describes a file"),
        (("--delimiter", ","), "--delimiter describes a file"),
        (("--no-header",), "--header describes a file"),
        (("--sheet", "x"), "--sheet describes a file"),
        (("--categorical", "x"), "--categorical describes a file"),
        (("--json", "--open"), "--open shows a page"),
        (("--out", "page.json", "--open"), "--open shows a page"),
        (("--train-size", "1.5"), "train_size"),
        (("--train-size", "0"), "train_size"),
        (("--train-size", "178"), "train_size"),
        (("--n-neighbors", "178"), "n_neighbors"),
        (("--max-items", "0"), "max_items"),
        (("--max-items", "-1"), "max_items"),
        (("--jobs", "0"), "must be at least 1, got 0"),
    ],
)
def test_options_that_cannot_be(run, tmp_path, monkeypatch, options, part):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    assert part in refused(run, "report", *options)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--task", "clustering"), "invalid choice"),
        (("--train-size", "x"), "a number of samples or a fraction"),
        (("--n-neighbors", "x"), "numbers of at least 1"),
        (("--standardize",), "unrecognized arguments"),
    ],
)
def test_arguments_that_cannot_be_parsed(capsys, options, part):
    with pytest.raises(SystemExit) as ended:
        main(["report", *options])
    assert ended.value.code == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        ("x,c\n1,a\n2,b\n", (), "at least 5 rows"),
        ("x,c\n1,a\n2,a\n2,a\n4,a\n5,a\n", (), "2 classes"),
        ("x,c\n1,a\n2,b\n2,a\n4,b\n5,a\n", ("--task", "regression"), "regression"),
        ("x,c\n1,a\n2,\n", (), "the target is missing"),
        ("x,c\n1,a\n2m,b\n", (), "'2m' is not a number"),
        ("x,c\n1,a\n2,b\n", ("--target", "d"), "no column 'd'"),
        ("x,c\n1,a\n2,b\n", ("--drop", "x"), "has no feature"),
        ("x,c\n?,a\n,b\n", (), "has no value at all"),
        ("", (), "is empty"),
    ],
)
def test_tables_that_cannot_be_used(run, write, text, options, part):
    target = () if "--target" in options else ("--target", "c")
    assert part in refused(run, "report", write(text), *target, "--json", *options)


def test_the_table_is_not_overwritten(run, write):
    path = write(PLAIN, name="table.html")
    said = refused(run, "report", path, "--target", "label", "--out", path)
    assert f"--out would overwrite the table {path}" in said
    assert path.read_text(encoding="utf-8") == PLAIN


def test_packages_that_are_missing(run, asked, write, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "altair" else True)
    path = write(PLAIN)
    question = ("report", path, "--target", "label")
    said = refused(run, *question, "--out", tmp_path / "page.html")
    assert "the page needs altair: pip install 'knnccv[report]'" in said
    assert asked == []
    assert run(*question, "--json")[0] == 0
    assert run(*question, "--out", tmp_path / "page.json")[0] == 0


@slow
@pytest.mark.parametrize(
    ("text", "target", "y"),
    [(PLAIN, "label", LABEL), (PRICES, "price", [row[2] for row in HOMES]), (MIXED, "label", LABEL)],
    ids=["classes", "numbers", "mixed"],
)
@pytest.mark.filterwarnings("ignore")
def test_the_numbers_are_those_of_report(run, write, text, target, y):
    path = write(text)
    status, out, _ = run("report", path, "--target", target, *FEW, "--json")
    assert status == 0
    mixed = text is MIXED
    cells = np.array(MIXED_CELLS, dtype=object) if mixed else X
    names = ["x", "kind", "code"] if mixed else ["x", "y"]
    found = knnccv.report(
        cells, np.array(y), train_size=6, n_neighbors=[1, 2], feature_names=names, name="table.csv"
    )
    assert without_seconds(json.loads(out)) == without_seconds(found.to_dict())


@slow
@pytest.mark.filterwarnings("ignore")
def test_one_bar_over_all_stages(capsys, tmp_path, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "--n-neighbors", "1,5", "--json", "--progress"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    assert "10/10" in err
    assert "scores (3/10)" in err


@slow
@pytest.mark.filterwarnings("ignore")
def test_a_page(run, tmp_path):
    for package in ("jinja2", "altair", "vl_convert"):
        pytest.importorskip(package)
    page = tmp_path / "page.html"
    page.write_text("before", encoding="utf-8")
    status, out, _ = run("report", "--n-neighbors", "1,5", "--out", page)
    assert status == 0
    assert out.startswith(f"Report      {page}\n")
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
