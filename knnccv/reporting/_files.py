"""Files of tables: delimited text, parquet and Excel, compressed or not.

The format is recognized by the content, so that standard input can be read like a file. Text is split by
Python's csv module, which reports the line of every record and does not fill up short ones in silence.
Files are unpacked within bounds, since a small one may fill the memory; what damaged ones raise is one
error.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import itertools
import lzma
import re
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .._base.refusals import Refusal, need, refuse
from .._base.typing import Array
from ._columns import Columns, Marks, looks_numeric, marks_of_gaps, without_sign

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
"""By name, in the order of preference where a file could be split by several."""
SUITED = {
    "text": {"delimiter", "header", "decimal", "thousands", "encoding", "missing"},
    "Excel": {"header", "sheet", "decimal", "thousands", "missing"},
    "parquet": {"missing"},
}
"""The options of each format."""

RATIO = 100
"""Tables of numbers unpack to 3 to 30 times their size, and decompression bombs to 1000 times."""
ALWAYS = 2**28
"""Bytes that any file may unpack to."""

PACKED: Any = ((rb"\x1f\x8b", gzip.open), (rb"BZh[1-9]1AY&SY", bz2.open), (rb"\xfd7zXZ\x00", lzma.open))
"""How compressed files begin, and what unpacks them."""

_BYTES_OF_CELL = 4  # an empty cell within the extent of a sheet takes more than that in memory
_MOST_ROWS = 2**20  # of a sheet, by the format
_AT_ONCE = 2**20

_SNIFFED = 200  # rows that are split to find the delimiter
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class Format(NamedTuple):
    """How a file is to be read, as the options of these names say; by default it is found."""

    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: str | None = None

    @property
    def gaps(self) -> frozenset[Any]:
        """The marks of missing values."""
        return marks_of_gaps(self.missing)

    @property
    def marks(self) -> Marks:
        """The marks of numbers; ValueError if one is not allowed."""
        marks = Marks(self.decimal or ".", self.thousands)
        given = [mark for mark in marks if mark is not None]
        bad = any(len(mark) != 1 or mark.isalnum() or mark in "+-" for mark in given)
        must = "--decimal (default: a point) and --thousands must be different characters"
        must += " that are no digit, letter or sign"
        refuse(bad or given[1:] == given[:1], f"{must}, got {' and '.join(map(repr, given))}")
        return marks

    def columns(self, name: str, first: Sequence[str]) -> Columns:
        """The columns of a file, whose first record may have their names."""
        has_names = self.header if self.header is not None else not any(map(looks_numeric, first))
        return Columns(name, len(first), tuple(first) if has_names else None)


class File(NamedTuple):
    """What was read.

    Attributes
    ----------
    columns : Columns
        Their names as the file has them.
    form : str
        "text", "Excel" or "parquet".
    values : sequence of length n_columns
        The values of every column: texts, or what a format with types has.
    lines : int ndarray of shape (n_items,)
        The line, or the row of the sheet, on which each record begins, from 1; of parquet the row, from 0.
    notes : tuple of str
        Remarks for the user.
    """

    columns: Columns
    form: str
    values: Sequence[Any]
    lines: Array
    notes: tuple[str, ...] = ()

    def place(self, at: int) -> str:
        """Where a record is, for messages."""
        word = "line" if self.form == "text" else "row"
        return f"{word} {self.lines[at]}" + " (from 0)" * (self.form == "parquet")


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
    blob = decompressed(bound, blob)
    wrong = f"{name} is an Excel file in the old .xls format; save it as .xlsx or .csv"
    refuse(blob.startswith(_OLD_EXCEL), wrong)
    is_parquet = blob.startswith(b"PAR1") and blob.endswith(b"PAR1")
    form = "parquet" if is_parquet else "Excel" if is_zip(blob) else "text"
    for option, value in how._asdict().items():
        wrong = f"--{option} is not for {form} such as {name}"
        refuse(value is not None and option not in SUITED[form], wrong)
    read = {"text": _read_text, "parquet": _read_parquet, "Excel": _read_excel}[form]
    return read(bound, blob, how)


def text_of(value: Any) -> str:
    """A cell of a format with types; empty if it is missing."""
    text = str(value).strip()
    return text if isinstance(value, str) or text not in ("None", "nan", "<NA>", "NaT") else ""


def _read_text(bound: Bound, blob: bytes, how: Format) -> File:
    name, given = bound.name, how.encoding
    notes: tuple[str, ...] = ()
    if given is None and (found := _encoding(blob)):
        how = how._replace(encoding=found)
        notes = (f"{name} is not UTF-8 and is read as {found}; --encoding names another",)
    try:
        text = blob.decode(how.encoding or "utf-8-sig")
    except LookupError:
        msg = f"--encoding must be one that Python knows, such as latin-1 or cp1252, got {how.encoding!r}"
        raise ValueError(msg) from None
    except UnicodeDecodeError as error:
        line = blob.count(b"\n", 0, error.start) + 1
        byte = f"the byte 0x{blob[error.start : error.start + 1].hex()}"
        remedy = "; name another with --encoding, such as utf-16 or latin-1" * (how.encoding is None)
        if given:
            other = f", or give --encoding {found}" if (found := _encoding(blob)) else ""
            remedy = f"; leave out --encoding{other}"
        msg = f"{name} is not {how.encoding or 'UTF-8'} text: line {line} holds {byte}{remedy}"
        raise ValueError(msg) from None
    refuse(not text.strip(), f"{name} is empty")
    line = text.count("\n", 0, text.find("\0")) + 1
    refuse("\0" in text, f"{name} is no text: line {line} holds the byte 0x00")
    names = "the names of its @attribute lines, with commas between, in place of all up to @data"
    is_arff = re.match(r"(\s*(%.*)?\n)*\s*@relation\b", text, re.IGNORECASE)
    refuse(is_arff, f"{name} is an ARFF file: write {names}")
    if for_excel := re.match(r'"?sep=.?"?(?=\s*\n)', text, re.IGNORECASE):
        refuse(True, f"{name}: delete its first line, {for_excel[0]}, which speaks to Excel alone")
    mark = _sniff(text, name) if how.delimiter is None else _delimiter(how.delimiter)
    first = next(_records(text, mark, name))[1]
    columns = how.columns(name, first)

    records = list(itertools.islice(_records(text, mark, name, len(first)), columns.first_row, None))
    values = list(zip(*(cells for _, cells in records), strict=True)) or [()] * len(first)
    return File(columns, "text", values, np.array([line for line, _ in records], np.int64), notes)


def _encoding(blob: bytes) -> str:
    """UTF-16 if a file begins so, the Windows code page cp1252 if it is no UTF-8; empty if neither."""
    if blob.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        blob.decode("utf-8")
    except UnicodeDecodeError:
        with suppress(UnicodeDecodeError):
            if not re.search(r"[\x00-\x08]", blob.decode("cp1252")):
                return "cp1252"
    return ""


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
    before = n_read = 0
    try:
        for record in reader:
            cells = list(map(str.strip, record))
            if mark == " ":  # several spaces separate as one does
                cells = [cell for cell in cells if cell]
            if cells not in ([], [""]):
                if width not in (0, len(cells)):
                    expected = f"{width} cells expected as in the first line, got {len(cells)}"
                    remedy = _remedy(text, cells, is_second=n_read == 1, more=len(cells) - width)
                    refuse(width, f"{name}, line {before + 1}: {expected} (split at {called}){remedy}")
                n_read += 1
                yield before + 1, cells
            before = reader.line_num
    except csv.Error as error:
        msg = f"{name} cannot be split at {called}: {error}"
        raise ValueError(msg) from None


def _remedy(text: str, cells: Sequence[str], *, is_second: bool, more: int) -> str:
    """What to do about a record of another width than the first, for the end of a message."""
    if cells[0].startswith("#") or text.lstrip().startswith("#"):
        return "; delete the lines that begin with #, which are comments"
    if is_second and more == 1:
        named = "put a name for them first in the first line, or write.csv(..., row.names = FALSE) in R"
        return f"; if the rows begin with their names, {named}"
    return ""


def _sniff(text: str, name: str) -> str:
    """The delimiter that splits the rows most evenly into most numbers."""
    found: dict[str, tuple[float, float]] = {}
    broken = None
    for mark in DELIMITERS.values():
        try:
            rows = [cells for _, cells in itertools.islice(_records(text, mark, name), _SNIFFED)]
        except ValueError as error:
            broken = broken or error
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        body = [cell for cells in rows[1:] or rows for cell in cells]
        numbers = sum(looks_numeric(cell) or bool(without_sign(cell)) for cell in body) / max(len(body), 1)
        # "1,5;a" is as numeric split at commas, but then the cells contain semicolons.
        left_over = sum(";" in cell or "\t" in cell for cell in body) / max(len(body), 1)
        even = count / len(rows)
        if width > 1:
            found[mark] = even * numbers, even - left_over
    if not found:
        split = "whether split at commas, semicolons, tabs or spaces"
        remedy = "if another character separates the columns, set it with --delimiter"
        raise broken or ValueError(f"{name} has one column only, {split}; {remedy}")
    return max(found, key=lambda mark: found[mark])


def _read_parquet(bound: Bound, blob: bytes, how: Format) -> File:  # noqa: ARG001
    name = bound.name
    reads = f"{name} is a file of parquet, which pandas and pyarrow read"
    _, pandas, parquet = (need(one, "cli", reads) for one in ("pyarrow", "pandas", "pyarrow.parquet"))
    with damage_reported(name, "read as parquet"):
        metadata = parquet.read_metadata(io.BytesIO(blob))
        bound.check(sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)))
        rows, columns = metadata.num_rows, metadata.num_columns
        # Any value is a byte or more.
        bound.check(rows * columns, f" ({rows:,} rows of {columns:,} columns)")
        frame = pandas.read_parquet(io.BytesIO(blob), engine="pyarrow")
    refuse(frame.empty, f"{name} is empty")
    named = Columns(name, frame.shape[1], tuple(map(str, frame.columns)))
    return File(named, "parquet", [one for _, one in frame.items()], np.arange(len(frame)))


def _read_excel(bound: Bound, blob: bytes, how: Format) -> File:
    name = bound.name
    openpyxl = need("openpyxl", "cli", f"{name} is a file of Excel, which openpyxl reads")
    with warnings.catch_warnings(), damage_reported(name, "read as Excel"):
        warnings.simplefilter("ignore")  # of styles and extensions that openpyxl does not know
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:  # zipfile reads no more than it states
            bound.check(sum(member.file_size for member in archive.infolist()))
        book = openpyxl.load_workbook(io.BytesIO(blob), read_only=True, data_only=True, keep_links=False)
        sheets = {one.title: one for one in book.worksheets}
        sheet = book.worksheets[0].title if how.sheet is None else how.sheet
        wrong = f"{name} has no sheet {sheet!r}; it has: {', '.join(map(repr, sheets))}"
        refuse(sheet not in sheets, wrong)
        sheets[sheet].reset_dimensions()  # which files may state wrongly
        grid = [[_value(cell) for cell in row] for row in bounded_rows(bound, sheets[sheet].iter_rows())]
    held = sorted({j for row in grid for j, cell in enumerate(row) if cell not in (None, "")})
    refuse(not held, f"{name}: sheet {sheet!r} is empty")
    filled = [(at, row) for at, row in enumerate(grid, 1) if any(cell not in (None, "") for cell in row)]
    rows = [[row[j] if j < len(row) else None for j in held] for _, row in filled]
    columns = how.columns(name, list(map(text_of, rows[0])))
    several = f"{name} has {len(sheets)} sheets; {sheet!r} is read; --sheet NAME selects another"
    notes = (several,) if len(sheets) > 1 and how.sheet is None else ()
    body, lines = rows[columns.first_row :], np.array([at for at, _ in filled], np.int64)
    values = list(zip(*body, strict=True)) or [()] * len(held)
    return File(columns, "Excel", values, lines[columns.first_row :], notes)


def _value(cell: Any) -> Any:
    """The value of a cell of a sheet: None of an error, and a whole number as such."""
    value = None if cell.data_type == "e" else cell.value
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Bound(NamedTuple):
    """The name and size of a file, which bound what it may unpack to."""

    name: str
    size: int

    def check(self, n_bytes: int, shape: str = "") -> None:
        """Raise Refusal if so many bytes are too many; `shape` says what takes them."""
        most = max(ALWAYS, RATIO * self.size)
        unpacked = f"its {self.size:,} bytes unpack to {n_bytes:,} or more{shape}"
        msg = f"save {self.name} as CSV without compression: {unpacked}; at most {most:,} are allowed"
        refuse(n_bytes > most, msg)


@contextmanager
def damage_reported(name: str, what: str) -> Iterator[None]:
    """Turn whatever a damaged file raises into one clear error."""
    try:
        yield
    except (Refusal, MemoryError):
        raise
    except Exception as error:
        # zipfile, zlib, XML parsers and the packages on top of them raise a dozen unrelated types.
        said = " ".join(str(error).split())[:200]
        msg = f"save or download {name} again: it cannot be {what} ({type(error).__name__}: {said})"
        raise Refusal(msg) from error


def decompressed(bound: Bound, blob: bytes) -> bytes:
    """The content of a file compressed by gzip, bzip2 or xz, or alone in a zip archive; others as is.

    Raises
    ------
    Refusal
        If it is damaged, too large, or an archive of several files.
    """
    packed = io.BytesIO(blob)
    with damage_reported(bound.name, "decompressed"):
        for beginning, unpack in PACKED:
            if re.match(beginning, blob):
                return _read_within(bound, unpack(packed))
        if is_zip(blob):
            with zipfile.ZipFile(packed) as archive:
                members = [member for member in archive.namelist() if not member.endswith("/")]
                if any(member.startswith("xl/") for member in members):  # Excel
                    return blob
                wrong = f"{bound.name} is a zip archive of {len(members)} files; it must hold one table"
                refuse(len(members) != 1, wrong)
                return _read_within(bound, archive.open(members[0]))
    return blob


def is_zip(blob: bytes) -> bool:
    """Return True if a file is a zip archive, even if it is damaged."""
    return blob.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08"))


def _read_within(bound: Bound, stream: IO[bytes] | gzip.GzipFile) -> bytes:
    # In parts, since the stream may declare any size, and a large read reserves its memory at once.
    content = bytearray()
    with stream:
        while part := stream.read(_AT_ONCE):
            content += part
            bound.check(len(content))
    return bytes(content)


def bounded_rows(bound: Bound, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """The rows of a sheet up to their last value; Refusal if the values are far apart.

    All cells between them are made, so that a file of two cells can fill the memory.
    """
    width = area = touched = 0
    for n_rows, row in enumerate(rows, 1):
        filled = next((i for i in range(len(row), 0, -1) if row[i - 1].value is not None), 0)
        if filled:
            width = max(width, filled)
            area = n_rows * width
        touched += len(row)
        cells = max(touched, area)
        shape = f" ({cells:,} cells, most of them empty; delete those far from the table)"
        bound.check(_BYTES_OF_CELL * cells, shape)
        beyond = f"save {bound.name} again: it has rows beyond {_MOST_ROWS:,}, the last one of a sheet"
        refuse(n_rows > _MOST_ROWS, beyond)
        yield row[:filled]
