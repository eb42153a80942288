"""Files that the command line reads: delimited text, parquet and Excel, compressed or not.

The format is recognized by the content, so that standard input can be read like a file. Python's csv
module splits text: unlike pandas it reports the line of every record and does not fill up short records.
pandas reads parquet and Excel (extra ``[cli]``).
"""

from __future__ import annotations

import csv
import datetime
import importlib
import io
import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .cells import PYTHON, Cells, Marks, looks_numeric
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
from .file_format import FileFormat
from .table_columns import Columns

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
"""By name, in the order of preference where a file could be split by several."""

TEXT, DATES = "text", "dates"
"""Kinds of columns in formats that have types. Other columns are judged by their cells."""

_SNIFFED = 200  # rows that are split to find the delimiter
_EXACT = 2**53  # larger whole numbers stay text, since they may be names that float64 would merge
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class Row(NamedTuple):
    """One record, and the line or row on which it begins."""

    line: int
    cells: list[str]


@dataclass(frozen=True, eq=False)
class Rows:
    """Records of text or of a sheet, as long as they are in the file.

    Attributes
    ----------
    columns : Columns
        The columns, as the first record or the header has them.
    rows : list of Row
        The records below the header.
    mark : str
        The delimiter; empty for a sheet, whose rows are all of one length.
    kinds : mapping of int to str
        Kinds of columns that the file itself declares, by their numbers.
    notes : tuple of str
        Remarks for the user.
    compression : str
        How the file is compressed: "gzip", "bz2", "xz", "zip", or empty.
    """

    columns: Columns
    rows: list[Row]
    mark: str = ""
    kinds: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    compression: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, at: int) -> str:
        """The position of a record, for messages."""
        return f"{'line' if self.mark else 'row'} {self.rows[at].line}"

    def first(self) -> list[str]:
        """The cells of the first record."""
        return self.rows[0].cells

    def by_column(self) -> list[Cells]:
        """The cells of every column; ValueError if the records differ in length."""
        for at, row in enumerate(self.rows):
            if len(row.cells) != self.columns.width:
                msg = (
                    f"{self.columns.source}, {self.place(at)}: {self.columns.width} cells expected as in "
                    f"the first line, got {len(row.cells)} (split at {_called(self.mark)})"
                )
                raise ValueError(msg)
        return [list(cells) for cells in zip(*(row.cells for row in self.rows), strict=True)]


@dataclass(frozen=True, eq=False)
class TypedColumns:
    """Columns of a format that has names and types; attributes as for `Rows`."""

    columns: Columns
    cells: list[Cells]
    kinds: Mapping[int, str]
    notes: tuple[str, ...] = ()
    compression: str = ""

    def __len__(self) -> int:
        return len(self.cells[0])

    def place(self, at: int) -> str:
        """The position of a record, for messages."""
        return f"row {at} (from 0)"

    def first(self) -> list[str]:
        """The cells of the first record."""
        return [str(cells[0]) for cells in self.cells]

    def by_column(self) -> list[Cells]:
        """The cells of every column."""
        return self.cells


def read_records(source: str, how: FileFormat) -> Rows | TypedColumns:
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
    form = _format_of(name, blob)
    unsuited = {
        "--delimiter": how.delimiter is not None and form != "text",
        "--header/--no-header": how.header is not None and form == "parquet",
        "--sheet": how.sheet is not None and form != "Excel",
        "--decimal": how.decimal is not None and form == "parquet",
        "--thousands": how.thousands is not None and form == "parquet",
    }
    for option, is_unsuited in unsuited.items():
        if is_unsuited:
            msg = f"{option} is not for {form} such as {name}"
            raise ValueError(msg)
    if form == "parquet":
        return replace(_read_parquet(bound, blob), compression=compression)
    if form == "Excel":
        return replace(_read_excel(bound, blob, how), compression=compression)
    return replace(_read_text(name, blob, how), compression=compression)


def _format_of(name: str, blob: bytes) -> str:
    if blob.startswith(b"PAR1") and blob.endswith(b"PAR1"):
        return "parquet"
    if is_zip(blob):
        return "Excel"
    if blob.startswith(_OLD_EXCEL):
        msg = f"{name} is an Excel file in the old .xls format; save it as .xlsx or .csv"
        raise ValueError(msg)
    return "text"


def _read_text(name: str, blob: bytes, how: FileFormat) -> Rows:
    try:
        text = blob.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = blob.count(b"\n", 0, error.start) + 1
        msg = f"{name} is not UTF-8 text: line {line} holds the byte 0x{blob[error.start]:02x}"
        raise ValueError(msg) from None
    if not text.strip():
        msg = f"{name} is empty"
        raise ValueError(msg)
    mark = _sniff(text, name) if how.delimiter is None else _delimiter(how.delimiter)
    try:
        rows = _split(text, mark)
    except csv.Error as error:
        msg = f"{name} cannot be split at {_called(mark)}: {error}"
        raise ValueError(msg) from None
    columns, below = _take_header(rows, name, how.header)
    return Rows(columns, below, mark)


def _delimiter(given: str) -> str:
    mark = DELIMITERS.get(given, "\t" if given == "\\t" else given)
    if len(mark) != 1 or mark in '"\r\n':
        msg = f"--delimiter must be one character or one of {', '.join(DELIMITERS)}, got {given!r}"
        raise ValueError(msg)
    return mark


def _called(mark: str) -> str:
    return next((name + "s" for name, known in DELIMITERS.items() if known == mark), repr(mark))


def _split(text: str, mark: str, limit: float = math.inf) -> list[Row]:
    """The records that are not blank, at most `limit` of them."""
    # StringIO ends lines as files do; str.splitlines would also end them at form feeds and the like.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=mark != " ", strict=True
    )
    rows: list[Row] = []
    before = 0
    for record in reader:
        cells = [cell.strip() for cell in record]
        if mark == " ":  # several spaces separate as one does
            cells = [cell for cell in cells if cell]
        if cells not in ([], [""]):
            rows.append(Row(before + 1, cells))
        before = reader.line_num
        if len(rows) >= limit:
            break
    return rows


def _sniff(text: str, source: str) -> str:
    """The delimiter that splits the rows most evenly into most numbers."""
    best: tuple[float, float] = (0.0, -math.inf)
    found = None
    broken = None
    for mark in DELIMITERS.values():
        try:
            rows = _split(text, mark, _SNIFFED)
        except csv.Error as error:
            broken = broken or f"{source} cannot be split at {_called(mark)}: {error}"
            continue
        width, count = Counter(len(row.cells) for row in rows).most_common(1)[0]
        if width < 2:
            continue
        body = [cell for row in rows[1:] or rows for cell in row.cells]
        numbers = sum(looks_numeric(cell) for cell in body) / max(len(body), 1)
        # "1,5;a" is as numeric split at commas, but then the cells contain semicolons.
        left_over = sum(";" in cell or "\t" in cell for cell in body) / max(len(body), 1)
        even = count / len(rows)
        if (even * numbers, even - left_over) > best:
            best, found = (even * numbers, even - left_over), mark
    if found is None:
        msg = broken or (
            f"{source} has one column only, whether split at commas, semicolons, tabs or spaces; "
            "if another character separates the columns, set it with --delimiter"
        )
        raise ValueError(msg)
    return found


def _take_header(rows: list[Row], source: str, header: bool | None) -> tuple[Columns, list[Row]]:
    first = rows[0].cells
    if header is None:
        header = not any(looks_numeric(cell) for cell in first)
    if not header:
        return Columns(source, len(first), None), rows
    return Columns(source, len(first), tuple(first)), rows[1:]


def _import_pandas(name: str, form: str, package: str) -> Any:
    try:
        importlib.import_module(package)
        return importlib.import_module("pandas")
    except ImportError as error:
        msg = f"{name} is a file of {form}, which pandas and {package} read: pip install 'knnccv[cli]'"
        raise ImportError(msg) from error


def _read_parquet(bound: Bound, blob: bytes) -> TypedColumns:
    name = bound.name
    pandas = _import_pandas(name, "parquet", "pyarrow")
    with damage_reported(name, "read as parquet"):
        check_parquet(bound, importlib.import_module("pyarrow.parquet").read_metadata(io.BytesIO(blob)))
        frame: pd.DataFrame = pandas.read_parquet(io.BytesIO(blob), engine="pyarrow")
    if frame.empty:
        msg = f"{name} is empty"
        raise ValueError(msg)
    columns = [_typed(frame.iloc[:, i]) for i in range(frame.shape[1])]
    kinds = {i: kind for i, (_, kind) in enumerate(columns) if kind}
    names = tuple(map(str, frame.columns))
    return TypedColumns(Columns(name, len(names), names), [cells for cells, _ in columns], kinds)


def _typed(series: pd.Series[Any]) -> tuple[Cells, str]:
    """The cells of a column, and its kind: float64 with NaN for a column of numbers, otherwise text."""
    import numpy as np

    code = getattr(series.dtype, "kind", "O")
    if code in "iuf":
        numbers = series.to_numpy(np.float64, na_value=np.nan)
        if code == "f" or not (np.abs(numbers) >= _EXACT).any():
            return numbers, ""
    missing = series.isna().to_numpy()
    values = series.astype(object).to_numpy()
    texts = ["" if gap else str(value).strip() for value, gap in zip(values, missing, strict=True)]
    if code in "mM":
        return texts, DATES
    is_category = hasattr(series.dtype, "categories")
    return texts, TEXT if is_category else _kind(values[~missing])


def _kind(values: Iterable[object]) -> str:
    """The kind of a column of Python objects; empty where they are of several kinds, or numbers."""
    types = tuple({type(value) for value in values})
    if types and all(issubclass(one, str | bool) for one in types):
        return TEXT
    dates = datetime.date | datetime.time | datetime.timedelta
    return DATES if types and all(issubclass(one, dates) for one in types) else ""


def _read_excel(bound: Bound, blob: bytes, how: FileFormat) -> Rows:
    name, marks = bound.name, how.marks
    pandas = _import_pandas(name, "Excel", "openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that openpyxl does not know
        with damage_reported(name, "read as Excel"):
            check_members(bound, blob)
            book = pandas.ExcelFile(io.BytesIO(blob), engine="openpyxl")
            chosen = _sheet(name, book.sheet_names, how.sheet)
            cells = book.book[chosen]
            every_row = cells.iter_rows
            cells.iter_rows = lambda: bounded_rows(bound, every_row())  # which pandas calls
            # Every cell as it is: which row is the header is decided as for text.
            frame = book.parse(chosen, header=None, dtype=object, keep_default_na=False)
    missing = (frame.isna() | (frame == "")).to_numpy()
    if missing.all():
        msg = f"{name}: sheet {chosen!r} is empty"
        raise ValueError(msg)
    full = ~missing.all(axis=1)
    values = frame.to_numpy()[full][:, ~missing.all(axis=0)]
    missing = missing[full][:, ~missing.all(axis=0)]
    texts = [
        ["" if gap else _as_typed(value, marks) for value, gap in zip(*row, strict=True)]
        for row in zip(values, missing, strict=True)
    ]
    rows = [Row(int(at) + 1, cells) for at, cells in zip(full.nonzero()[0], texts, strict=True)]
    columns, below = _take_header(rows, name, how.header)
    start = len(rows) - len(below)
    kinds = {i: _kind(values[start:, i][~missing[start:, i]]) for i in range(columns.width)}
    if marks != PYTHON:  # texts may be numbers, as in text files
        kinds = {i: kind for i, kind in kinds.items() if kind != TEXT}
    several = len(book.sheet_names) > 1 and how.sheet is None
    note = f"{name} has {len(book.sheet_names)} sheets; {chosen!r} is read; --sheet NAME selects another"
    return Rows(columns, below, "", kinds, (note,) if several else ())


def _as_typed(value: object, marks: Marks) -> str:
    """A cell of a sheet as one would type it: a number with the decimal mark that its texts have."""
    text = str(value).strip()
    return text.replace(".", marks.decimal) if isinstance(value, float) else text


def _sheet(name: str, sheets: Sequence[str], wanted: str | None) -> str:
    if wanted is None:
        return sheets[0]
    if wanted not in sheets:
        msg = f"{name} has no sheet {wanted!r}; it has: {', '.join(map(repr, sheets))}"
        raise RefusedFileError(msg)
    return wanted
