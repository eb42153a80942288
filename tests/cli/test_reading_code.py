"""The code on the page of a report reads the file as the command did, or does not read it at all."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import sys
import threading
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from command_line import LABEL, PLAIN, PRICES, refused, stdin

from knnccv._cli.reader import Format
from knnccv._cli.table import read_table
from knnccv.reporting._facts import GIVEN

pd = pytest.importorskip("pandas")
N = 24
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.integers(0, 5, N), "c": RNG.normal(size=N)})
FRAME["label"] = RNG.choice(["u", "v", "w"], N)
MIXED = FRAME.assign(kind=RNG.choice(["red", "blue", "?"], N), flag=RNG.random(N) < 0.5)
MIXED.loc[::5, "a"] = np.nan
DECIMALS = FRAME.assign(
    b=[Decimal(f"{value:.3f}") for value in RNG.normal(size=N)],
    price=[Decimal(f"{value:.3f}") for value in RNG.normal(size=N)],
)


def text(frame=FRAME, **options):
    return frame.to_csv(index=False, **options).encode()


def zipped(content):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        archive.writestr("table.csv", content)
    return blob.getvalue()


def parquet(frame=FRAME):
    pytest.importorskip("pyarrow")
    return frame.to_parquet()


def excel(frame=FRAME, **options):
    pytest.importorskip("openpyxl")
    blob = io.BytesIO()
    with pd.ExcelWriter(blob, engine="openpyxl") as book:
        frame.head(3).to_excel(book, sheet_name="first", index=False)
        frame.to_excel(book, sheet_name="second", index=False, **options)
    return blob.getvalue()


def read(file, target, **options):
    """The table of the command, the lines, and what they read: X as numbers or codes, and y."""
    table = read_table(str(file), target, mixed=True, **options)
    lines = table.code
    if not lines:
        return table, "", None, None
    names = {"pd": pd}
    exec("\n".join(lines), names)
    return table, lines[0], names["X"], names["y"]


def check_same(table, X, y):
    assert X.shape == table.X.shape
    for j, categories in enumerate(table.categories):
        column = X.iloc[:, j]
        if categories is None:
            assert column.dtype.kind in "iuf"
            np.testing.assert_array_equal(column.to_numpy(float), table.X[:, j])
            continue
        expected = [None if code != code else str(categories[int(code)]) for code in table.X[:, j]]
        assert [None if value != value else str(value) for value in column.tolist()] == expected
    assert y.tolist() == table.y.tolist()


@pytest.mark.parametrize(
    ("name", "content", "call"),
    [
        ("t.csv", text, "pd.read_csv('t.csv')"),
        ("it's.CSV.GZ", lambda: gzip.compress(text()), 'pd.read_csv("it\'s.CSV.GZ")'),
        ("t.csv.zip", lambda: zipped(text()), "pd.read_csv('t.csv.zip')"),
        ("t.dat", lambda: bz2.compress(text()), "pd.read_csv('t.dat', compression='bz2')"),
        ("t.gz", text, "pd.read_csv('t.gz', compression=None)"),
        ("t.csv", lambda: text(sep=";"), "pd.read_csv('t.csv', sep=';')"),
        ("t.tsv", lambda: text(sep="\t"), "pd.read_csv('t.tsv', sep='\\t')"),
        ("t.txt", lambda: text(sep=" ").replace(b" ", b"  "), "pd.read_csv('t.txt', sep='\\\\s+')"),
        ("t.csv", lambda: b"\xef\xbb\xbf" + text(), "pd.read_csv('t.csv')"),
        ("t.csv", lambda: text().replace(b"\n", b"\r\n\r\n"), "pd.read_csv('t.csv')"),
        (
            "t.csv",
            lambda: text(FRAME.assign(label="an u, " + FRAME["label"])).replace(b",", b", "),
            "pd.read_csv('t.csv', skipinitialspace=True)",
        ),
        ("t.csv", lambda: text(MIXED), "pd.read_csv('t.csv', na_values=['?'])"),
        (
            "t.csv",
            lambda: text(MIXED.replace({"kind": {"red": "None"}})),
            "pd.read_csv('t.csv', keep_default_na=False, na_values=['', '?'])",
        ),
        (
            "t.csv",
            lambda: text(FRAME.replace({"label": {"u": "None"}})),
            "pd.read_csv('t.csv', keep_default_na=False, na_values=[])",
        ),
        ("t.parquet", parquet, "pd.read_parquet('t.parquet')"),
    ],
)
def test_reads_the_file(write, tmp_path, monkeypatch, name, content, call):
    monkeypatch.chdir(tmp_path)
    write(content(), name=name)
    table, line, X, y = read(name, "label")
    assert line == f"data = {call}"
    check_same(table, X, y)


def test_reads_a_sheet(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(excel(MIXED), name="t.xlsx")
    table, line, X, y = read(
        "t.xlsx", "label", how=Format(sheet="second"), drop=["flag"], categorical=["b"]
    )
    given = "dtype='object', sheet_name='second', na_values=['?']"
    assert line == f"data = pd.read_excel('t.xlsx', {given}).infer_objects()"
    check_same(table, X, y)
    write(excel(header=False), name="t.xlsx")
    table, line, X, y = read("t.xlsx", "3", how=Format(sheet="second"), drop=["1"])
    given = "dtype='object', sheet_name='second', header=None"
    assert line == f"data = pd.read_excel('t.xlsx', {given}).infer_objects()"
    check_same(table, X, y)
    assert X.columns.tolist() == [0, 2]


AMOUNTS = [0, -1.5, 999.25, 1000, -1234567.125, 1e-05, 12345678, 3]
"""Numbers that marks change, in the notations below."""


def written(decimal, thousands):
    """A table with these numbers, as whole numbers in `b` and without marks in `c`; the target is `a`."""
    marks = str.maketrans({",": thousands, ".": decimal})
    shown = [f"{value:,}" if abs(value) > 1 else repr(value) for value in AMOUNTS]
    cells = [
        (one.translate(marks), f"{int(value):,}".translate(marks))
        for one, value in zip(shown, AMOUNTS, strict=True)
    ]
    return "a;b;c\n" + "".join(f'"{a}";"{b}";{"uv"[i % 2]}\n' for i, (a, b) in enumerate(cells))


@pytest.mark.parametrize(
    ("decimal", "thousands", "options"),
    [
        (".", ",", "thousands=','"),
        (",", ".", "decimal=',', thousands='.'"),
        (",", "", "decimal=','"),
        (",", " ", "decimal=',', thousands=' '"),
        (".", "'", 'thousands="\'"'),
    ],
)
def test_marks_of_numbers_are_those_of_pandas(write, decimal, thousands, options):
    path = write(written(decimal, thousands))
    how = Format(decimal=decimal if decimal != "." else None, thousands=thousands or None)
    table, line, X, y = read(path, "c", how=how)
    assert table.X.tolist() == [[value, int(value)] for value in AMOUNTS]
    assert line == f"data = pd.read_csv({str(path)!r}, sep=';', {options})"
    check_same(table, X, y)
    table, _, X, y = read(path, "b", how=how, drop=["c"])
    assert table.y.tolist() == list(map(int, AMOUNTS))
    check_same(table, X, y)


def test_marks_of_numbers_in_a_sheet(write):
    texts = FRAME.assign(b=[f"{value},5" for value in range(N)])
    path = write(excel(texts), name="t.xlsx")
    table, line, X, y = read(path, "label", how=Format(sheet="second", decimal=","))
    given = "sheet_name='second', decimal=','"
    assert line == f"data = pd.read_excel({str(path)!r}, {given}).infer_objects()"
    assert table.X[:, 1].tolist() == [value + 0.5 for value in range(N)]
    plain = read_table(str(path), "label", Format(sheet="second"), drop=["b"])
    np.testing.assert_array_equal(table.X[:, [0, 2]], plain.X)  # numbers of the sheet have no marks
    check_same(table, X, y)


def test_columns_by_number(write):
    path = write(text(header=False))
    table, line, X, y = read(path, "-1", drop=["0"])
    assert line == f"data = pd.read_csv({str(path)!r}, header=None)"
    check_same(table, X, y)
    path = write(text().replace(b"a,b,c,label", b"a,b,,a"))  # which pandas renames
    check_same(*[read(path, "3")[at] for at in (0, 2, 3)])


def test_labels_that_are_numbers_are_positions(write):
    path = write(text(MIXED[["label", "c", "kind", "a"]], header=False))
    table, _, X, y = read(path, "0")
    check_same(table, X, y)
    assert X.columns.tolist() == [0, 1, 2]


def test_every_bit(write, monkeypatch):
    numbers = (RNG.normal(size=400) * 1e-7).tolist()
    path = write("x,y\n" + "".join(f"{x!r},{i % 2}\n" for i, x in enumerate(numbers)))
    table, _, X, y = read(path, "y")
    check_same(table, X, y)
    assert X["x"].tolist() == numbers

    read_csv, asked = pd.read_csv, []

    def rounding(file, float_precision=None):
        """As of versions of pandas whose default rounds."""
        asked.append(float_precision)
        return read_csv(file) if float_precision == "round_trip" else read_csv(file).round(9)

    monkeypatch.setattr(pd, "read_csv", rounding)
    monkeypatch.setattr(pd, "__version__", "3.0.2")
    table, line, X, y = read(path, "y")
    assert line == f"data = pd.read_csv({str(path)!r}, float_precision='round_trip')"
    assert asked == ["round_trip"] * 2
    check_same(table, X, y)


def test_decimals_and_large_numbers(write):
    path = write(parquet(DECIMALS), name="t.parquet")
    for target in ("price", "label"):
        drop = sorted({"price", "label"} - {target})
        table, _, X, y = read(path, target, drop=drop)
        check_same(table, X, y)
    large = [2**60 + i % 3 for i in range(N)]
    path = write(text(FRAME.assign(b=large)))
    assert read(path, "label")[2]["b"].tolist() == list(map(float, large))
    table, _, _, y = read(path, "b", drop=["label"])
    assert (y.tolist(), table.y.tolist()) == (large, list(map(str, large)))  # in the same order
    path = write(text(FRAME.assign(b=[10 ** (16 + i % 3) + i % 2 * 8 for i in range(N)])))
    table, _, _, y = read(path, "b", drop=["label"])
    assert np.unique(y, return_inverse=True)[1].tolist() == (
        np.unique(table.y, return_inverse=True)[1].tolist()
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", lambda: text(FRAME.assign(label=["u "[: 1 + i % 2] for i in range(N)], b=LABEL * 2))),
        ("t.parquet", lambda: parquet(MIXED)),  # ? is a text in a format with types
        ("t.parquet.gz", lambda: gzip.compress(parquet())),
        ("t.csv", lambda: text(FRAME.assign(b=["x", "x "] * (N // 2)))),
    ],
)
def test_the_file_is_not_read_where_pandas_reads_other_values(write, name, content):
    path = write(content(), name=name)
    table = read_table(str(path), "label", mixed=True)
    assert table.code == ()


def test_standard_input_and_pipes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stdin(monkeypatch, PLAIN)
    table = read_table("-", "label")
    (tmp_path / "-").write_text(PLAIN)
    (tmp_path / "standard input").write_text(PLAIN)
    assert table.code == ()
    assert read_table("standard input", "label").code != ()
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        writer = threading.Thread(target=lambda: Path("pipe").write_text(PLAIN))
        writer.start()
        assert read_table("pipe", "label").code == ()
        writer.join()


def test_without_pandas(run, write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    said = refused(run, "score", write(PLAIN), "--target", "label")
    assert "is a file of delimited text, which pandas reads: pip install 'knnccv[cli]'" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("dir a/t.csv", text, ("--target", "label")),
        ("t.csv", lambda: text(header=False), ("--target", "3", "--drop", "1")),
        ("t.csv", lambda: text(sep=";"), ("--target", "-1")),
        ("t.csv.gz", lambda: gzip.compress(text()), ("--target", "label", "--drop", "a")),
        ("t.tsv", lambda: text(sep="\t"), ("--target", "label", "--categorical", "b")),
        ("t.parquet", parquet, ("--target", "label")),
        ("t.parquet", lambda: parquet(DECIMALS), ("--target", "label")),
        ("t.parquet", lambda: parquet(DECIMALS.drop(columns="label")), ("--target", "price")),
        ("t.xlsx", excel, ("--target", "label", "--sheet", "second")),
        ("t.csv", lambda: text(MIXED), ("--target", "label", "--categorical", "b")),
        ("t.csv", lambda: text(MIXED), ("--target", "flag", "--max-items", "15")),
        (
            "t.csv",  # 1, b: four numbers as categories; 2, c: numbers
            lambda: text(MIXED[["label", "b", "c", "a", "kind"]], header=False),
            ("--target", "0", "--categorical", "1", "--n-neighbors", "3"),
        ),
        ("t.xlsx", lambda: excel(MIXED), ("--target", "label", "--sheet", "second")),
        ("t.csv", lambda: PRICES.encode(), ("--target", "price")),
    ],
)
def test_the_code_prints_the_score(run, capsys, write, tmp_path, monkeypatch, name, content, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir a").mkdir()
    write(content(), name=name)
    status, out, _ = run("report", name, *options, "--n-neighbors", "1,3", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["name"] == name.rpartition("/")[2]
    assert GIVEN not in found["method"]["code"]
    exec(found["method"]["code"], {})
    assert float(capsys.readouterr().out.split()[0]) == found["scores"]["best"]["score"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_for_standard_input(run, monkeypatch):
    stdin(monkeypatch, PLAIN)
    status, out, _ = run("report", "-", "--target", "label", "--n-neighbors", "1", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["name"] == "standard input"
    assert GIVEN in found["method"]["code"]
