"""Files of tables: delimited text, parquet and Excel, compressed or not, read by pandas.

The format is recognized by the content, so that standard input can be read like a file. The call of pandas
that reads a file is the one that the page of a report shows. Python's csv module goes through text before:
unlike pandas it reports the line of every record, and does not fill up short records in silence.
"""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .columns import MISSING, PYTHON, Marks, looks_numeric
from .file_bounds import (
    Bound,
    RefusedFileError,
    bounded_rows,
    check_members,
    check_parquet,
    damage_reported,
    decompressed,
    is_zip,
)
from .options import need, refuse

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
"""By name, in the order of preference where a file could be split by several."""
KNOWN_ENDINGS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
"""From which pandas infers the compression."""
_NAMES = "#N/A #NA <NA> N/A NA NULL NaN None n/a nan null -1.#IND 1.#IND -1.#QNAN 1.#QNAN -NaN -nan"
OF_PANDAS = frozenset(["", *_NAMES.split()])
"""Marks of missing values to pandas; some, such as None, are names to the command."""
SUITED = {
    "text": {"delimiter", "header", "decimal", "thousands", "encoding"},
    "Excel": {"header", "sheet", "decimal", "thousands"},
    "parquet": set[str](),
}
"""The options of each format."""

_SNIFFED = 200  # rows that are split to find the delimiter
_CHUNK = 2**18  # bytes; in larger files pandas finds the types of columns part by part, unless told not to
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class Format(NamedTuple):
    """How a file is to be read, as the options of these names say; by default it is found."""

    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None

    @property
    def marks(self) -> Marks:
        """The marks of numbers; ValueError if one is not allowed."""
        marks = Marks(self.decimal or ".", self.thousands)
        for option, mark in zip(("--decimal", "--thousands"), marks, strict=True):
            wrong = f"{option} must be one character that is no digit, letter or sign, got {mark!r}"
            refuse(mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"), wrong)
        if marks.decimal == marks.thousands:
            other = "." if marks.decimal == "," else ","
            msg = (
                f"--thousands {marks.thousands} needs another --decimal, such as {other}: both are the same"
            )
            raise ValueError(msg)
        return marks

    def names(self, first: Sequence[str]) -> tuple[str, ...] | None:
        """The names of the columns, if the first record has them."""
        has_names = self.header if self.header is not None else not any(map(looks_numeric, first))
        return tuple(first) if has_names else None


@dataclass(eq=False)
class File:
    """What was read.

    Attributes
    ----------
    name : str
        The path, or "standard input".
    form : str
        "text", "Excel" or "parquet".
    frame : pandas.DataFrame
        The table as `call` reads it.
    names : tuple of str, or None
        The names of the columns as the file has them.
    call : str
        The Python that reads it, with pandas as ``pd``; empty if pandas cannot.
    record : callable
        The position of a record, for messages, and the texts of its cells.
    marks : Counter of (int, str)
        The marks of missing values by column, where the file has other ones than empty cells.
    wrong : dict of int to (int, str)
        The first cell of a column, with its record, that pandas takes for a number and is none.
    notes : list of str
        Remarks for the user.
    """

    name: str
    form: str
    frame: pd.DataFrame
    names: tuple[str, ...] | None
    call: str
    record: Callable[[int], tuple[str, list[str]]]
    marks: Counter[tuple[int, str]] = field(default_factory=Counter)
    wrong: dict[int, tuple[int, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_file(source: str, how: Format) -> File:
    """Read a file, or standard input for ``"-"``.

    Raises
    ------
    ValueError
        If the file is in no known format, or an option does not suit its format.
    OSError
        If the file cannot be read.
    ImportError
        If a package for its format is missing.
    """
    blob = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    name = "standard input" if source == "-" else source
    bound = Bound(name, len(blob))
    blob, compression = decompressed(bound, blob)
    wrong = f"{name} is an Excel file in the old .xls format; save it as .xlsx or .csv"
    refuse(blob.startswith(_OLD_EXCEL), wrong)
    is_parquet = blob.startswith(b"PAR1") and blob.endswith(b"PAR1")
    form = "parquet" if is_parquet else "Excel" if is_zip(blob) else "text"
    for option, value in how._asdict().items():
        wrong = f"--{option} is not for {form} such as {name}"
        refuse(value is not None and option not in SUITED[form], wrong)
    if form == "text":
        return _read_text(name, blob, how, compression)
    file = _read_parquet(bound, blob) if form == "parquet" else _read_excel(bound, blob, how)
    file.call = "" if compression else file.call  # pandas unpacks text only
    return file


def import_pandas(name: str, form: str, package: str = "pandas") -> Any:
    """The package pandas, if the one that it needs for a format is there too."""
    reads = "pandas reads" if package == "pandas" else f"pandas and {package} read"
    for one in (package, "pandas"):
        module = need(one, "cli", f"{name} is a file of {form}, which {reads}")
    return module


def _call(function: str, name: str, options: dict[str, Any]) -> str:
    return f"pd.{function}({name!r}{''.join(f', {key}={value!r}' for key, value in options.items())})"


def _text(value: Any) -> str:
    """A cell of a format with types; empty if it is missing."""
    return "" if value is None or value != value or str(value) in ("<NA>", "NaT") else str(value).strip()


def _check_shape(name: str, frame: pd.DataFrame, n_rows: int, n_columns: int) -> None:
    """Raise ValueError if pandas finds other records than were checked."""
    found = "{} rows of {} columns".format(*frame.shape)
    msg = f"save {name} again: pandas finds {found}, not {n_rows} of {n_columns}"
    refuse(frame.shape != (n_rows, n_columns), msg)


def _scan(
    records: Iterable[Iterable[tuple[int, str]]], how: Format, names: Any
) -> tuple[Counter[tuple[int, str]], dict[int, tuple[int, str]], dict[str, Any]]:
    """`File.marks`, `File.wrong`, and the arguments of pandas for these texts.

    With them it takes the marks, and no other cells, for missing values.
    """
    found, wrong, others = Counter[tuple[int, str]](), dict[int, tuple[int, str]](), False
    marks = how.marks
    for at, cells in enumerate(records):
        for j, cell in cells:
            if len(cell) < 5 and cell.lower() in MISSING:
                found[j, cell] += 1
            elif cell in OF_PANDAS:
                others = True
            elif marks != PYTHON and marks.misleads(cell):
                wrong.setdefault(j, (at, cell))
    options = {key: value for key in ("decimal", "thousands", "encoding") if (value := getattr(how, key))}
    options |= {} if names else {"header": None}
    ours = sorted({cell for _, cell in found})
    if others:
        options |= {"keep_default_na": False, "na_values": ours}
    elif more := [cell for cell in ours if cell not in OF_PANDAS]:
        options["na_values"] = more
    return found, wrong, options


def _read_text(name: str, blob: bytes, how: Format, compression: str) -> File:
    pandas = import_pandas(name, "delimited text")
    try:
        text = blob.decode(how.encoding or "utf-8-sig")
    except LookupError:
        msg = f"--encoding must be one that Python knows, such as latin-1 or cp1252, got {how.encoding!r}"
        raise ValueError(msg) from None
    except UnicodeDecodeError as error:
        line = blob.count(b"\n", 0, error.start) + 1
        called = "UTF-8" if how.encoding is None else how.encoding
        remedy = "; name another with --encoding, such as utf-16 or latin-1" * (how.encoding is None)
        byte = blob[error.start] if error.start < len(blob) else 0
        msg = f"{name} is not {called} text: line {line} holds the byte 0x{byte:02x}{remedy}"
        raise ValueError(msg) from None
    refuse(not text.strip(), f"{name} is empty")
    if "\0" in text:
        msg = (
            f"{name} is no text: line {text.count(chr(10), 0, text.index(chr(0))) + 1} holds the byte 0x00"
        )
        raise ValueError(msg)
    mark = _sniff(text, name) if how.delimiter is None else _delimiter(how.delimiter)
    first = next(_records(text, mark, name))[1]
    names, n_rows = how.names(first), 0

    def body() -> Iterator[tuple[int, list[str]]]:
        return itertools.islice(_records(text, mark, name, len(first)), int(names is not None), None)

    def numbered() -> Iterator[Iterable[tuple[int, str]]]:
        nonlocal n_rows
        for _, cells in body():
            n_rows += 1
            yield enumerate(cells)

    def record(at: int) -> tuple[str, list[str]]:
        line, cells = next(itertools.islice(body(), at, None))
        return f"line {line}", cells

    found, wrong, scanned = _scan(numbered(), how, names)
    options: dict[str, Any] = {} if mark == "," else {"sep": r"\s+" if mark == " " else mark}
    if compression != KNOWN_ENDINGS.get(Path(name).suffix.lower(), ""):
        options["compression"] = compression or None
    options |= scanned
    if mark != " " and f"{mark} " in text:
        options["skipinitialspace"] = True
    if len(blob) > _CHUNK:
        options["low_memory"] = False
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # the default before pandas 3.1 rounds
    with damage_reported(name, "read as text"):
        unpacked = {key: value for key, value in options.items() if key != "compression"}
        frame = pandas.read_csv(io.BytesIO(blob), **unpacked)
    _check_shape(name, frame, n_rows, len(first))
    return File(name, "text", frame, names, _call("read_csv", name, options), record, found, wrong)


def _delimiter(given: str) -> str:
    mark = DELIMITERS.get(given, "\t" if given == "\\t" else given)
    wrong = f"--delimiter must be one character or one of {', '.join(DELIMITERS)}, got {given!r}"
    refuse(len(mark) != 1 or mark in '"\r\n', wrong)
    return mark


def _records(text: str, mark: str, name: str, width: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank, and the lines on which they begin; all must have a width if given."""
    called = next((word + "s" for word, known in DELIMITERS.items() if known == mark), repr(mark))
    # StringIO ends lines as files do; str.splitlines would also end them at form feeds and the like.
    stream, skips = io.StringIO(text, newline=""), mark != " "
    reader = csv.reader(stream, delimiter=mark, skipinitialspace=skips, strict=True)
    before = 0
    try:
        for record in reader:
            cells = [cell.strip() for cell in record]
            if mark == " ":  # several spaces separate as one does
                cells = [cell for cell in cells if cell]
            if cells not in ([], [""]):
                expected = f"{width} cells expected as in the first line, got {len(cells)}"
                wrong = f"{name}, line {before + 1}: {expected} (split at {called})"
                refuse(width not in (0, len(cells)), wrong)
                yield before + 1, cells
            before = reader.line_num
    except csv.Error as error:
        msg = f"{name} cannot be split at {called}: {error}"
        raise ValueError(msg) from None


def _sniff(text: str, name: str) -> str:
    """The delimiter that splits the rows most evenly into most numbers."""
    best: tuple[float, float] = (0.0, -math.inf)
    found = broken = None
    for mark in DELIMITERS.values():
        try:
            rows = [cells for _, cells in itertools.islice(_records(text, mark, name), _SNIFFED)]
        except ValueError as error:
            broken = broken or error
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        if width < 2:
            continue
        body = [cell for cells in rows[1:] or rows for cell in cells]
        numbers = sum(looks_numeric(cell) for cell in body) / max(len(body), 1)
        # "1,5;a" is as numeric split at commas, but then the cells contain semicolons.
        left_over = sum(";" in cell or "\t" in cell for cell in body) / max(len(body), 1)
        even = count / len(rows)
        if (even * numbers, even - left_over) > best:
            best, found = (even * numbers, even - left_over), mark
    if found is None:
        msg = (
            f"{name} has one column only, whether split at commas, semicolons, tabs or spaces; "
            "if another character separates the columns, set it with --delimiter"
        )
        raise broken or ValueError(msg)
    return found


def _read_parquet(bound: Bound, blob: bytes) -> File:
    name = bound.name
    pandas = import_pandas(name, "parquet", "pyarrow")
    with damage_reported(name, "read as parquet"):
        check_parquet(bound, importlib.import_module("pyarrow.parquet").read_metadata(io.BytesIO(blob)))
        frame: pd.DataFrame = pandas.read_parquet(io.BytesIO(blob), engine="pyarrow")
    refuse(frame.empty, f"{name} is empty")
    names = tuple(map(str, frame.columns))

    def record(at: int) -> tuple[str, list[str]]:
        return f"row {at} (from 0)", [_text(frame.iat[at, j]) for j in range(len(names))]

    return File(name, "parquet", frame, names, _call("read_parquet", name, {}), record)


def _read_excel(bound: Bound, blob: bytes, how: Format) -> File:
    name = bound.name
    pandas = import_pandas(name, "Excel", "openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that openpyxl does not know
        with damage_reported(name, "read as Excel"):
            check_members(bound, blob)
            book = pandas.ExcelFile(io.BytesIO(blob), engine="openpyxl")
            sheets = book.sheet_names
            if how.sheet is not None and how.sheet not in sheets:
                msg = f"{name} has no sheet {how.sheet!r}; it has: {', '.join(map(repr, sheets))}"
                raise RefusedFileError(msg)
            sheet = how.sheet or sheets[0]
            cells = book.book[sheet]
            every_row = cells.iter_rows
            cells.iter_rows = lambda: bounded_rows(bound, every_row())  # which pandas calls
            grid = pandas.read_excel(
                book, sheet_name=sheet, header=None, dtype=object, keep_default_na=False
            )
    filled = (grid.notna() & (grid != "")).to_numpy()
    refuse(not filled.any(), f"{name}: sheet {sheet!r} is empty")
    rows, columns = filled.any(axis=1).nonzero()[0], filled.any(axis=0).nonzero()[0]
    values = grid.to_numpy()[rows][:, columns]
    first = list(map(_text, values[0]))
    names = how.names(first)
    body = values[int(names is not None) :]
    texts = ([(j, cell.strip()) for j, cell in enumerate(row) if isinstance(cell, str)] for row in body)
    found, wrong, scanned = _scan(texts, how, names)
    # pandas takes texts such as 01 for numbers otherwise
    options: dict[str, Any] = {"dtype": "object"} if how.marks == PYTHON else {}
    options |= {"sheet_name": how.sheet} if how.sheet else {}
    options |= scanned
    options |= {"skiprows": int(rows[0])} if rows[0] else {}
    if len(columns) < grid.shape[1]:
        options["usecols"] = columns.tolist()
    with damage_reported(name, "read as Excel"):
        frame = pandas.read_excel(book, **options)
    ending = ".infer_objects()"
    if frame.shape[0] > len(body):  # blank rows
        ending = '.dropna(how="all")' + ending
        frame = frame.dropna(how="all")
    _check_shape(name, frame, len(body), len(columns))
    several = f"{name} has {len(sheets)} sheets; {sheets[0]!r} is read; --sheet NAME selects another"
    notes = [several] if len(sheets) > 1 and how.sheet is None else []

    def record(at: int) -> tuple[str, list[str]]:
        return f"row {rows[at + len(values) - len(body)] + 1}", list(map(_text, body[at]))

    call = _call("read_excel", name, options) + ending
    return File(name, "Excel", frame.infer_objects(), names, call, record, found, wrong, notes)
