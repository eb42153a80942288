"""The tables that commands read: features, labels, categories, and the code that reads them again."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import os
import threading
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from command_line import (
    LABEL,
    PLAIN,
    ROWS,
    Refused,
    X,
    csv,
    elsewhere,
    excel,
    knnccv,
    numbers,
    parquet,
    run,
    table,
    write,
    zipped,
)

from knnccv import complete_cv

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


def sheets(frame=FRAME, **options):
    """A workbook with the table in its second sheet."""
    rows = [list(row) for row in frame.itertuples(index=False)]
    return excel(first=frame.head(3), second=rows if options else frame)


def test_delimiters_headers_encodings_and_line_ends():
    """Plain text in many forms is one table; options only where there is no other way."""
    forms = [(PLAIN.replace(",", mark), "") for mark in (",", ";", "\t", " ", ", ", "   ")]
    names = [("|", "'|'"), (";", "semicolon"), ("\t", "tab"), ("\t", "'\\t'"), (" ", "space")]
    forms += [(PLAIN.replace(",", mark), f"--delimiter {name}") for mark, name in names]
    forms += [(content.split("\n", 1)[1], options) for content, options in forms]
    for newline, encoding in itertools.product(("\n", "\r\n", "\r"), ("utf-8", "utf-8-sig", "utf-16")):
        content = (PLAIN.replace("\n", newline) + newline).encode(encoding)
        forms.append((content, f"--encoding {encoding}" * (encoding == "utf-16")))
    for content, options in forms:
        read = table(content, f"--target -1 {options}")
        np.testing.assert_array_equal(read.X, X)
        assert read.y.tolist() == LABEL
        assert read.names in (("x", "y"), ("0", "1")), (content, options)
    assert read.names == ("x", "y")
    read = table('"größe","a, b",c\n"n ""1""", 1.5 ,"x, y"\n\nn2,-2e1,"z\nz"\n', "--target c --drop größe")
    assert (read.X.tolist(), read.y.tolist(), read.names) == ([[1.5], [-20.0]], ["x, y", "z\nz"], ("a, b",))
    assert table(b"x,c\n1,a\n2,\xff\n", "--target c").y.tolist() == ["a", "ÿ"]


def test_every_format_gives_the_same_answer():
    expected = complete_cv(X, LABEL, "nn").score
    for blob in (
        PLAIN.replace(",", "\t").encode(),
        gzip.compress(PLAIN.encode()),
        bz2.compress(PLAIN.encode()),
        lzma.compress(PLAIN.encode()),
        zipped(table=PLAIN),
        parquet(ROWS),
        excel(Data=[("x", "y", "label"), *ROWS]),
    ):
        options = "--target label --variant nn --repeats 0"
        for answer in (numbers(f"score t.csv {options}", blob), numbers(f"score - {options}", piped=blob)):
            assert (answer["score"], answer["classes"]) == (expected, {"a": 8, "b": 4})


def test_numbers_keep_every_bit():
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -123456789.12345679, 2.0**53 + 2, 1e22 / 7]
    coded = [i % 2 for i in range(len(values))]
    in_sheets = [0.1, 1 / 3, 1e-300, -123456789.1234568, 7]
    for blob, expected in (
        (csv("x c", map(repr, values), coded), values),
        (parquet(pd.DataFrame({"x": values, "c": coded})), values),
        (excel(Data=[("x", "c"), *zip(in_sheets, coded, strict=False)]), in_sheets),
    ):
        read = table(blob, "--target c")
        assert read.X[:, 0].tolist() == expected
        assert read.y.dtype == np.int64


@pytest.mark.slow
def test_files_that_unpack_to_too_much():
    zeros = bytes(2**23)
    far = excel(Data=[("x",), *[()] * 49_998, (*[None] * 701, 1)])
    for blob, n_bytes in (
        (gzip.compress(zeros), "2,097,152"),
        (bz2.compress(zeros), "2,097,152"),
        (lzma.compress(zeros), "2,097,152"),
        (zipped(table=zeros), "2,097,152"),
        (zipped(**{"xl/workbook.xml": "", "x": zeros}), "8,388,608"),
        (parquet(pd.DataFrame({"x": np.zeros(10**6, np.int8), "c": 1})), "2,000,000"),
        (far, "140,400,000"),
        (gzip.compress(far), "140,400,000"),
    ):
        unpacks = f"its {len(blob):,} bytes unpack to {n_bytes} or more"
        with mock.patch("knnccv.reporting._files.ALWAYS", 2**20), pytest.raises(Refused) as refused:
            knnccv("score t.csv --target 0", blob)
        for part in ("save t.csv as CSV", unpacks, f"at most {2**20:,} are allowed"):
            assert part in str(refused.value)


def plain(cells):
    return [[None if cell != cell else cell for cell in row] for row in cells.tolist()]


def check_same(read, frame=None, target="label"):
    """The code on the page reads what the command did; so does pandas, with categories as text."""
    features, y = read.again
    assert plain(features) == plain(read.X)
    assert y.tolist() == read.y.tolist()
    if frame is None:
        return
    assert frame.pop(target).tolist() == y.tolist()
    assert frame.shape == features.shape
    for j, cells in enumerate(features.T):
        column = frame.iloc[:, j]
        if j in read.categorical:
            shown = [None if value != value else str(value) for value in column.tolist()]
            assert shown == cells.tolist()
        else:
            np.testing.assert_array_equal(column.to_numpy(float), cells.astype(float))


NAMED_NONE = MIXED.replace({"kind": {"red": "None"}})
NONE_LABELS = FRAME.replace({"label": {"u": "None"}})
SPACED = text(FRAME.assign(label="an u, " + FRAME["label"])).replace(b",", b", ")
CALLS = [
    ("t.csv", text(), ""),
    ("it's.CSV.GZ", gzip.compress(text()), ""),
    ("t.csv.zip", zipped(table=text()), ""),
    ("t.dat", bz2.compress(text()), "compression='bz2'"),
    ("t.gz", text(), "compression=None"),
    ("t.csv", text(sep=";"), "sep=';'"),
    ("t.tsv", text(sep="\t"), "sep='\\t'"),
    ("t.txt", text(sep=" ").replace(b" ", b"  "), "sep='\\\\s+'"),
    ("t.csv", b"\xef\xbb\xbf" + text(), ""),
    ("t.csv", text().replace(b"\n", b"\r\n\r\n"), ""),
    ("t.csv", SPACED, "skipinitialspace=True"),
    ("t.csv", text(MIXED), "na_values=['?']"),
    ("t.csv", text(NAMED_NONE), "keep_default_na=False, na_values=['', '?']"),
    ("t.csv", text(NONE_LABELS), "keep_default_na=False, na_values=[]"),
    ("t.parquet", parquet(FRAME), ""),
]
"""The name of a file, its content, and the arguments by which pandas reads it."""


def by_pandas(name, content, given):
    with elsewhere():
        write(content, name)
        form = {"parquet": "parquet", "xlsx": "excel"}.get(name.rpartition(".")[2], "csv")
        return eval(f"pd.read_{form}({name!r}, {given})", {"pd": pd})


def test_the_code_reads_the_file_as_pandas_does():
    for name, content, given in CALLS:
        read = table(content, "--target label", name)
        assert read.code == (
            "from knnccv.reporting import read_table",
            f"X, y = read_table({name!r}, 'label')",
        )
        check_same(read, by_pandas(name, content, given))
    options = "--sheet second --drop flag --categorical b --target label"
    read = table(sheets(MIXED), options, "t.xlsx")
    given = "drop=['flag'], categorical=['b'], sheet='second'"
    assert read.code[1] == f"X, y = read_table('t.xlsx', 'label', {given})"
    given = "dtype='object', sheet_name='second', na_values=['?']"
    check_same(read, by_pandas("t.xlsx", sheets(MIXED), given).drop(columns="flag"))
    read = table(sheets(header=False), "--sheet second --drop 1 --target 3", "t.xlsx")
    given = "dtype='object', sheet_name='second', header=None"
    check_same(read, by_pandas("t.xlsx", sheets(header=False), given).drop(columns=1), 3)
    read = table(text(header=False), "--target -1 --drop 0 --no-header")
    assert read.code[1] == "X, y = read_table('t.csv', '-1', drop=['0'], header=False)"
    check_same(read)
    check_same(table(text().replace(b"a,b,c,label", b"a,b,,a"), "--target 3"))  # which pandas renames
    check_same(table(text(MIXED[["label", "c", "kind", "a"]], header=False), "--target 0"))


def test_marks_of_numbers_are_those_of_pandas():
    """Mark of decimals, mark between thousands, and the arguments of pandas."""
    amounts = [0, -1.5, 999.25, 1000, -1234567.125, 1e-05, 12345678, 3]
    for decimal, thousands, given in (
        (".", ",", "thousands=','"),
        (",", ".", "decimal=',', thousands='.'"),
        (",", "", "decimal=','"),
        (",", " ", "decimal=',', thousands=' '"),
        (".", "'", 'thousands="\'"'),
    ):
        marks = str.maketrans({",": thousands, ".": decimal})
        shown = [f"{value:,}" if abs(value) > 1 else repr(value) for value in amounts]
        rows = [
            f'"{one.translate(marks)}";"{f"{int(value):,}".translate(marks)}";{"uv"[i % 2]}'
            for i, (one, value) in enumerate(zip(shown, amounts, strict=True))
        ]
        content = "\n".join(["a;b;c", *rows])
        options = f"--decimal {decimal} " * (decimal != ".")
        options += f'--thousands "{thousands}"' * bool(thousands)
        read = table(content, f"--target c {options}")
        assert read.X.tolist() == [[value, int(value)] for value in amounts]
        check_same(read, by_pandas("t.csv", content, f"sep=';', {given}"), "c")
        read = table(content, f"--target b --drop c {options}")
        assert read.y.tolist() == list(map(int, amounts))
        check_same(read)
    texts = FRAME.assign(b=[f"{value},5" for value in range(N)])
    read = table(sheets(texts), "--target label --sheet second --decimal ,", "t.xlsx")
    assert read.X[:, 1].tolist() == [value + 0.5 for value in range(N)]
    plain = table(sheets(texts), "--target label --sheet second --drop b", "t.xlsx")
    np.testing.assert_array_equal(read.X[:, [0, 2]], plain.X)  # numbers of the sheet have no marks
    check_same(read)


def test_the_code_reads_every_bit_decimals_and_large_numbers():
    for target, other in (("price", "label"), ("label", "price")):
        read = table(parquet(DECIMALS), f"--target {target} --drop {other}", "t.parquet")
        frame = DECIMALS.drop(columns=other)
        check_same(read, frame.astype(dict.fromkeys({"b", "price"} & {*frame}, float)), target)
    large = [2**60 + i % 3 for i in range(N)]
    content = text(FRAME.assign(b=large))
    assert table(content, "--target label").again[0][:, 1].tolist() == list(map(float, large))
    assert table(content, "--target b --drop label").again[1].tolist() == list(map(str, large))
    longer = [10 ** (16 + i % 3) + i % 2 * 8 for i in range(N)]
    check_same(table(text(FRAME.assign(b=longer)), "--target b --drop label"))


def test_there_is_no_code_where_a_file_cannot_be_read_again():
    assert table(PLAIN, "--target label", "-", piped=PLAIN).code == ()
    assert table(PLAIN, "--target label", "standard input").code != ()

    def pipe(name):
        os.mkfifo(name)
        threading.Thread(target=lambda: Path(name).write_text(PLAIN)).start()

    if hasattr(os, "mkfifo"):
        assert table(pipe, "--target label", "pipe").code == ()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_prints_the_score(capsys):
    for name, content, options in (
        ("dir a/t.csv", text(MIXED), "--target flag --max-items 15"),
        ("t.parquet", parquet(DECIMALS.drop(columns="label")), "--target price"),
        (
            "t.csv",  # 1, b: four numbers as categories; 2, c: numbers
            text(MIXED[["label", "b", "c", "a", "kind"]], header=False),
            "--target 0 --categorical 1 --n-neighbors 3",
        ),
        ("t.xlsx", sheets(MIXED), "--target label --sheet second"),
    ):
        with elsewhere() as folder:
            (folder / "dir a").mkdir()
            write(content, name)
            found = json.loads(run(f"report '{name}' --n-neighbors 1,3 {options} --json").out)
            assert found["name"] == name.rpartition("/")[2]
            exec(found["method"]["code"], {})
        assert float(capsys.readouterr().out.split()[0]) == found["scores"]["best"]["score"], name
    found = numbers("report - --target label --n-neighbors 1", piped=PLAIN)
    assert found["name"] == "standard input"
    with pytest.raises(NameError):
        exec(found["method"]["code"], {})


GAPS = [("Oceania", 1.0, "a", "N")] + [
    (("NA", "Asia")[i % 2], -999.0 if i % 5 == 1 else i / 2, "ab"[i % 3 == 0], "k.A." if i == 4 else "S")
    for i in range(12)
]
NAMES = ["continent", "x", "label", "side"]


@pytest.mark.parametrize(
    "form", [text, parquet, lambda frame: excel(rows=frame)], ids=["csv", "parquet", "xlsx"]
)
@pytest.mark.parametrize(
    ("marks", "options"),
    [
        ({"NA"}, ""),
        (set(), "--missing="),
        ({-999.0, "k.A."}, "--missing=-999,K.A."),
        ({"NA", -999.0, "k.A."}, "--missing=NA,k.A.,-999.0"),
    ],
)
def test_what_counts_as_missing(form, marks, options):
    """In every format, with the code that reads the same; whole rows are left out on request."""
    blob = form(pd.DataFrame(GAPS, columns=NAMES))
    expected = [[None if cell in marks else cell for cell in row] for row in GAPS]
    name = "t.parquet" if form is parquet else "t.xlsx" if form is not text else "t.csv"
    for dropped, kept in (
        ("", expected),
        ("--drop-incomplete", [row for row in expected if None not in row]),
    ):
        read = table(blob, f"--target label {options} {dropped}", name)
        found = plain(read.X)
        assert found == [[row[0], row[1], row[3]] for row in kept]
        assert read.y.tolist() == [row[2] for row in kept]
        check_same(read)
        assert all(str(mark).removesuffix(".0") in read.notes for mark in marks)
    assert "rows have no value in" in read.notes or not marks
