"""Files of all formats: one table gives one answer from text, compressed text, parquet and Excel."""

from __future__ import annotations

import bz2
import datetime
import gzip
import importlib.util
import io
import json
import lzma
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from command_line import PLAIN, QUICK, ROWS, refused, stdin

from knnccv import complete_cv
from knnccv._cli import reader
from knnccv._cli.table import read_table

X, Y = np.array([row[:2] for row in ROWS]), [row[2] for row in ROWS]
needs_parquet = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pandas", "pyarrow"))), reason="needs pandas and pyarrow"
)
needs_excel = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("pandas", "openpyxl"))), reason="needs pandas and openpyxl"
)


def zipped(**members):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return blob.getvalue()


def parquet(frame, **options):
    blob = io.BytesIO()
    frame.to_parquet(blob, engine="pyarrow", **options)
    return blob.getvalue()


def excel(**sheets):
    """A workbook of sheets, each a list of rows."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    blob = io.BytesIO()
    book.save(blob)
    return blob.getvalue()


def as_parquet(rows=ROWS):
    pandas = pytest.importorskip("pandas")
    return parquet(pandas.DataFrame(rows, columns=["x", "y", "label"]))


def as_excel(rows=ROWS):
    return excel(Data=[("x", "y", "label"), *rows])


FORMS = {
    "tsv": lambda: PLAIN.replace(",", "\t").encode(),
    "gzip": lambda: gzip.compress(PLAIN.encode()),
    "bzip2": lambda: bz2.compress(PLAIN.encode()),
    "xz": lambda: lzma.compress(PLAIN.encode()),
    "zip": lambda: zipped(table=PLAIN),
    "parquet": as_parquet,
    "Excel": as_excel,
}
MARKS = {"parquet": needs_parquet, "Excel": needs_excel}


@pytest.mark.parametrize("form", [pytest.param(name, marks=MARKS.get(name, ())) for name in FORMS])
@pytest.mark.parametrize("piped", [False, True])
def test_every_format_gives_the_same_answer(run, write, monkeypatch, form, piped):
    blob = FORMS[form]()
    path = "-" if piped else write(blob, name="table")  # the content says the format, not the name
    stdin(monkeypatch, blob)
    status, out, err = run("score", path, "--target", "label", *QUICK, "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["score"] == complete_cv(X, Y, "nn").score
    assert answer["data"] == ("standard input" if piped else str(path))
    assert answer["classes"] == {"a": 8, "b": 4}


NUMBERS = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -123456789.12345679, 2.0**53 + 2, 1e22 / 7]


@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=needs_parquet)])
def test_numbers_keep_every_bit(write, form):
    if form == "csv":
        blob = "x,c\n" + "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(NUMBERS))
    else:
        pandas = pytest.importorskip("pandas")
        blob = parquet(pandas.DataFrame({"x": NUMBERS, "c": np.arange(len(NUMBERS)) % 2}))
    table = read_table(str(write(blob)), "c")
    assert table.X[:, 0].tolist() == NUMBERS
    assert table.y.dtype == np.int64


@needs_excel
def test_numbers_in_excel_are_those_of_the_sheet(write):
    values = [0.1, 1 / 3, 1e-300, -123456789.1234568, 7]
    blob = excel(Data=[("x", "c"), *((value, i % 2) for i, value in enumerate(values))])
    assert read_table(str(write(blob)), "c").X[:, 0].tolist() == values


@needs_parquet
def test_types_of_parquet_columns(write):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "single": np.array([0.1, 0.2, 0.3], np.float32),
            "nullable": pandas.array([1, 2, 3], dtype="Int64"),
            "text": ["1.5", "2.5", "3.5"],
            "huge": [2**53, 2**53 + 1, 2**53 + 2],
        }
    )
    path = str(write(parquet(frame)))
    table = read_table(path, "huge")
    expected = np.array([frame["single"].astype(float), [1, 2, 3], [1.5, 2.5, 3.5]])
    np.testing.assert_array_equal(table.X.T, expected)
    assert table.y.tolist() == ["9007199254740992", "9007199254740993", "9007199254740994"]
    assert read_table(path, "single", drop=["text"]).y.tolist() == expected[0].tolist()


@needs_parquet
def test_an_index_of_a_parquet_file_is_no_column(write):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1, 2], "c": ["a", "b"]}, index=pandas.Index([7, 8], name="id"))
    assert read_table(str(write(parquet(frame))), "c").feature_names == ("x",)


@needs_excel
def test_a_sheet_may_begin_anywhere_and_have_blank_rows(write):
    rows = [
        (),
        (),
        (None, None, "x", None, "c"),
        (None, None, 1, None, "a"),
        (),
        (None, None, "?", None, "b"),
    ]
    with pytest.raises(ValueError, match="row 6, column 'x': the value is missing"):
        read_table(str(write(excel(Data=rows))), "c")
    table = read_table(str(write(excel(Data=[*rows[:-1], (None, None, 2.5, None, "b")]))), "c")
    assert table.X.tolist() == [[1.0], [2.5]]
    assert table.feature_names == ("x",)


@needs_excel
def test_sheets(run, write):
    path = write(excel(Data=[("x", "y", "label"), *ROWS], Other=[("u", "v"), (1, "a"), (2, "b")]))
    question = ("score", path, *QUICK, "--json")
    _, out, err = run(*question, "--target", "label")
    assert json.loads(out)["n_items"] == 12
    assert f"{path} has 2 sheets; 'Data' is read; --sheet NAME selects another" in err
    other = ("--target", "v", "--sheet", "Other", "--leave-out", "1")
    status, out, err = run(*question, *other)
    assert (status, err, json.loads(out)["n_items"]) == (0, "", 2)
    said = refused(run, *question, "--target", "v", "--sheet", "other")
    assert "has no sheet 'other'; it has: 'Data', 'Other'" in said


@needs_excel
def test_a_sheet_without_a_header(write):
    table = read_table(str(write(excel(Data=ROWS))), "-1")
    assert (table.has_header, table.feature_names, table.X.tolist()) == (False, ("0", "1"), X.tolist())


@pytest.mark.parametrize(
    ("blob", "parts"),
    [
        (gzip.compress(PLAIN.encode())[:-9], ("cannot be decompressed",)),
        (zipped(one=PLAIN, two=PLAIN), ("is a zip archive of 2 files",)),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ("old .xls format", "save it as .xlsx or .csv")),
        (gzip.compress(b""), ("is empty",)),
        pytest.param(b"PAR1 no parquet PAR1", ("cannot be read as parquet",), marks=needs_parquet),
        pytest.param(zipped(**{"xl/workbook.xml": "x"}), ("cannot be read as Excel",), marks=needs_excel),
        pytest.param(zipped(**{"a": "", "xl/x": ""}), ("cannot be read as Excel",), marks=needs_excel),
        (zipped(**{"xl/workbook.xml": "x"})[:-9], ("again: it cannot be decompressed (BadZipFile",)),
        (bz2.compress(PLAIN.encode())[:-9], ("again: it cannot be decompressed (EOFError",)),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_broken_files(run, write, blob, parts):
    path = write(blob)
    said = refused(run, "score", path, "--target", "label")
    for part in (str(path), *parts):
        assert part in said


SHEET = "xl/worksheets/sheet1.xml"


@needs_excel
@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        (SHEET, b"</row>", b"</wor>"),
        (SHEET, b'r="B2"', b'r="2"'),
        (SHEET, b'<v>0</v></c><c r="C2"', b'<v>999</v></c><c t="s" r="C2"'),
        (SHEET, b'<row r="2"', b'<row r="x"'),
        ("xl/workbook.xml", b"<sheets>", b"<sheet>"),
        ("xl/styles.xml", b"<", b""),
        ("xl/_rels/workbook.xml.rels", b"worksheets", b"elsewhere"),
    ],
)
def test_mangled_workbooks(run, write, part, old, new):
    with zipfile.ZipFile(io.BytesIO(as_excel())) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    path = write(zipped(**parts))
    said = refused(run, "score", path, "--target", "label")
    assert f"save or download {path} again: it cannot be read as Excel (" in said


def far_apart(name):
    """A workbook of two cells, `name` being the last."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"], book.active[name] = "x", 1
    blob = io.BytesIO()
    book.save(blob)
    return blob.getvalue()


def repeated(n_rows):
    pandas = pytest.importorskip("pandas")
    return parquet(pandas.DataFrame({"x": np.zeros(n_rows, np.int8), "c": 1}))


ZEROS = bytes(2**23)


@pytest.mark.parametrize(
    ("bomb", "n_bytes"),
    [
        (lambda: gzip.compress(ZEROS), "2,097,152"),
        (lambda: bz2.compress(ZEROS), "2,097,152"),
        (lambda: lzma.compress(ZEROS), "2,097,152"),
        (lambda: zipped(table=ZEROS), "2,097,152"),
        pytest.param(lambda: far_apart("ZZ50000"), "140,400,000", marks=needs_excel),
        pytest.param(lambda: gzip.compress(far_apart("ZZ50000")), "140,400,000", marks=needs_excel),
        pytest.param(
            lambda: zipped(**{"xl/workbook.xml": "", "x": ZEROS}), f"{len(ZEROS):,}", marks=needs_excel
        ),
        pytest.param(lambda: repeated(10**6), "2,000,000", marks=needs_parquet),
    ],
    ids=["gzip", "bzip2", "xz", "zip", "far apart", "far apart in gzip", "Excel", "parquet"],
)
def test_files_that_unpack_to_too_much(run, write, monkeypatch, bomb, n_bytes):
    monkeypatch.setattr(reader, "ALWAYS", 2**20)
    blob = bomb()
    path = write(blob)
    said = refused(run, "score", path, "--target", "0")
    unpacks = f"its {len(blob):,} bytes unpack to {n_bytes} or more"
    for part in (f"save {path} as CSV", unpacks, f"at most {2**20:,} are allowed"):
        assert part in said


@pytest.mark.parametrize(
    ("form", "option", "part"),
    [
        (as_parquet, ("--delimiter", ","), "--delimiter is not for parquet"),
        (as_parquet, ("--no-header",), "--header is not for parquet"),
        (as_parquet, ("--sheet", "Data"), "--sheet is not for parquet"),
        (as_excel, ("--delimiter", ","), "--delimiter is not for Excel"),
        (as_parquet, ("--decimal", ","), "--decimal is not for parquet"),
        (as_parquet, ("--thousands", ","), "--thousands is not for parquet"),
        (lambda: PLAIN, ("--sheet", "Data"), "--sheet is not for text"),
    ],
)
def test_options_for_another_format(run, write, form, option, part):
    if form is as_parquet:
        pytest.importorskip("pyarrow")
    assert part in refused(run, "score", write(form()), "--target", "label", *option)


@needs_parquet
@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([(1, 2, "a"), (3, None, "b")], "row 1 (from 0), column 'y': the value is missing"),
        ([(1, 2, "a"), (3, 4, None)], "row 1 (from 0), column 'label': the target is missing"),
        ([(1, 2, "a"), (3, np.inf, "b")], "column 'y': inf is not finite"),
        (
            [("1,000", 2, "a"), ("2", 2, "b")],
            "row 0 (from 0), column 'x': '1,000' is not a number; write 1.000 or 1000",
        ),
        ([("1", 2, "a"), ("2 m", 2, "b")], "row 1 (from 0), column 'x': '2 m' is not a number; --drop x"),
        ([(1, 2, "a")], "at least 2 rows below the header, got 1"),
        ([], "is empty"),
    ],
)
def test_parquet_files_that_cannot_be_used(run, write, rows, part):
    assert part in refused(run, "score", write(as_parquet(rows)), "--target", "label")


@needs_excel
@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([(1, 2, "a"), (3, None, "b")], "row 3, column 'y': the value is missing"),
        ([(1, 2, "a"), (3, "NA", "b")], "row 3, column 'y': the value is missing (NA)"),
        ([(1, 2, "a"), (3, True, "b")], "row 3, column 'y': 'True' is not a number"),
        ([(1, datetime.date(2020, 1, 2), "a"), (3, 4, "b")], "row 2, column 'y': '2020-01-02"),
        ([(1, 2, "a"), (3, "4,5", "b")], "'4,5' is not a number; --decimal , if it means 4.5"),
        ([(1, 2, "a")], "at least 2 rows below the header, got 1"),
    ],
)
def test_sheets_that_cannot_be_used(run, write, rows, part):
    assert part in refused(run, "score", write(as_excel(rows)), "--target", "label")


@needs_excel
def test_an_empty_sheet(run, write):
    assert "sheet 'Data' is empty" in refused(run, "score", write(excel(Data=[])), "--target", "0")


@pytest.mark.parametrize(("form", "package"), [("parquet", "pyarrow"), ("Excel", "openpyxl")])
@pytest.mark.parametrize("missing", ["pandas", None])
def test_a_missing_package_is_named(run, write, monkeypatch, form, package, missing):
    blob = b"PAR1 PAR1" if form == "parquet" else zipped(**{"xl/workbook.xml": ""})
    monkeypatch.setitem(sys.modules, missing or package, None)
    said = refused(run, "score", write(blob), "--target", "0")
    assert f"is a file of {form}, which pandas and {package} read: pip install 'knnccv[cli]'" in said


@pytest.mark.slow
def test_the_bundled_data_need_no_pandas():
    code = (
        "import sys\n"
        "sys.modules['pandas'] = None\n"
        "from knnccv.__main__ import main\n"
        "sys.exit(main(['score', '--variant', 'nn', '--repeats', '0']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
