"""Files of tables: delimited text, parquet and Excel, compressed or not, read by pandas.

The format is recognized by the content, so that standard input can be read like a file. The call of pandas
that reads a file is the one that the page of a report shows. Python's csv module goes through text before:
unlike pandas it reports the line of every record, and does not fill up short records in silence. Files are
unpacked within bounds, since a small one may fill the memory, and what damaged ones raise is one error.
"""

from __future__ import annotations

import bz2
import codecs
import copy
import csv
import gzip
import importlib
import io
import itertools
import lzma
import re
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import Array
from .columns import Columns, Marks, is_missing, keeping, looks_numeric, marks_of_gaps, without_sign
from .options import Refusal, need, refuse

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
    "text": {"delimiter", "header", "decimal", "thousands", "encoding", "missing"},
    "Excel": {"header", "sheet", "decimal", "thousands", "missing"},
    "parquet": {"missing"},
}
"""The options of each format."""

RATIO = 100
"""Tables of numbers unpack to 3 to 30 times their size, and decompression bombs to 1000 times."""
ALWAYS = 2**28
"""Bytes that any file may unpack to."""

PACKED: Any = (
    (rb"\x1f\x8b", gzip.open, "gzip"),
    (rb"BZh[1-9]1AY&SY", bz2.open, "bz2"),
    (rb"\xfd7zXZ\x00", lzma.open, "xz"),
)
"""How compressed files begin, what unpacks them, and the compression in the words of pandas."""

_BYTES_OF_CELL = 4  # an empty cell within the extent of a sheet takes more than that in memory
_MOST_ROWS = 2**20  # of a sheet, by the format
_AT_ONCE = 2**20

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


@dataclass(eq=False)
class File:
    """What was read.

    Attributes
    ----------
    columns : Columns
        Their names as the file has them.
    form : str
        "text", "Excel" or "parquet".
    frame : pandas.DataFrame
        The table as `call` reads it.
    call : str
        The Python that reads it, with pandas as ``pd``; empty if pandas cannot.
    record : callable
        The position of a record, for messages, and the texts of its cells.
    scan : Scan
        What its texts say.
    notes : list of str
        Remarks for the user.
    lines : int ndarray, or None
        The line, or the row of the sheet, on which each record begins, from 1; None of parquet.
    """

    columns: Columns
    form: str
    frame: pd.DataFrame
    call: str
    record: Callable[[int], tuple[str, list[str]]]
    scan: Scan
    notes: list[str] = field(default_factory=list)
    lines: Array | None = None

    def with_values(self, columns: Sequence[int], option: str = "") -> File:
        """The file without the records that lack a value in one of the columns, which a note says."""
        found = self.frame.iloc[:, list(columns)].isna().to_numpy()
        gaps: Array = np.any(found, axis=1)
        if not gaps.any():
            return self
        kept, scan = (~gaps).nonzero()[0], copy.copy(self.scan)
        lacking = [columns[at] for at in np.any(found, axis=0).nonzero()[0]]
        marks = sorted({mark for at, j, mark in scan.gaps if mark and j in lacking and gaps[at]})
        place = (np.cumsum(~gaps) - 1).tolist()
        scan.gaps = [(place[at], j, mark) for at, j, mark in scan.gaps if not gaps[at]]
        labels, first = [self.frame.columns[one] for one in lacking], self.record(int(gaps.argmax()))[0]
        where = f"the column {self.columns.name(lacking[0])!r}"
        where = where if len(lacking) == 1 else f"one of {len(lacking)} columns"
        where += f" ({', '.join(marks)})" * bool(marks)
        left_out = f"{gaps.sum()} of {len(gaps)} rows have no value in {where} and are left out"
        remedies = [option] * bool(option) + keeping(*marks[:1])
        return replace(
            self,
            frame=self.frame.iloc[kept],
            call=self.call and f"{self.call}.dropna(subset={labels!r})",
            record=lambda at: self.record(int(kept[at])),
            scan=scan,
            lines=None if self.lines is None else self.lines[kept],
            notes=[
                *self.notes,
                "; ".join([f"{left_out}, the first of them {first}", *remedies]),
            ],
        )


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
    file = _read_parquet(bound, blob, how) if form == "parquet" else _read_excel(bound, blob, how)
    file.call = "" if compression else file.call  # pandas unpacks text only
    return file


def import_pandas(name: str, form: str, package: str = "pandas") -> Any:
    """The package pandas, if the one that it needs for a format is there too."""
    extra, reads = "cli", f"pandas and {package} read"
    if package == "pandas":
        extra, reads = "pandas", "pandas reads"
    for one in (package, "pandas"):
        module = need(one, extra, f"{name} is a file of {form}, which {reads}")
    return module


def _call(function: str, name: str, options: dict[str, Any]) -> str:
    return f"pd.{function}({name!r}{''.join(f', {key}={value!r}' for key, value in options.items())})"


def _text(value: Any) -> str:
    """A cell of a format with types; empty if it is missing."""
    text = str(value).strip()
    return text if isinstance(value, str) or text not in ("None", "nan", "<NA>", "NaT") else ""


def _check_shape(columns: Columns, frame: pd.DataFrame, n_rows: int) -> None:
    """Raise ValueError if pandas finds other records than were checked."""
    found, checked = frame.shape, (n_rows, columns.width)
    msg = f"save {columns.source} again: pandas finds rows and columns {found}, not {checked}"
    refuse(found != checked, msg)


class Scan:
    """What the texts of a file say.

    Attributes
    ----------
    n_rows : int
        The number of samples.
    gaps : list of (int, int, str)
        The record, the column and the mark of every missing value.
    wrong : dict of int to (int, str)
        The first cell of a column, with its record, that pandas takes for a number and is none.
    options : dict
        The arguments by which pandas takes the marks, and no other cells, for missing values.
    """

    def __init__(self, records: Iterable[Iterable[tuple[int, str]]], how: Format, columns: Columns) -> None:
        self.n_rows, self.gaps, self.wrong = 0, list[tuple[int, int, str]](), dict[int, tuple[int, str]]()
        misleads, others = how.marks.misleads if how.marks != Marks() else None, False
        marks, given = how.gaps, how.missing is not None
        for self.n_rows, cells in enumerate(records, 1):
            for j, cell in cells:
                if (len(cell) < 5 and cell.lower() in marks) or (given and is_missing(cell, marks)):
                    self.gaps.append((self.n_rows - 1, j, cell))
                elif cell in OF_PANDAS:
                    others = True
                elif misleads and misleads(cell):
                    self.wrong.setdefault(j, (self.n_rows - 1, cell))
        named = {key: getattr(how, key) for key in ("decimal", "thousands", "encoding")}
        self.options: dict[str, Any] = {key: value for key, value in named.items() if value}
        self.options |= {} if columns.names else {"header": None}
        ours = sorted({cell for *_, cell in self.gaps})
        if others:
            self.options |= {"keep_default_na": False, "na_values": ours}
        elif more := [cell for cell in ours if cell not in OF_PANDAS]:
            self.options["na_values"] = more


def _read_text(name: str, blob: bytes, how: Format, compression: str) -> File:
    pandas, notes, given = import_pandas(name, "delimited text"), [], how.encoding
    if given is None and (found := _encoding(blob)):
        how = how._replace(encoding=found)
        notes = [f"{name} is not UTF-8 and is read as {found}; --encoding names another"]
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

    def body() -> Iterator[tuple[int, list[str]]]:
        return itertools.islice(_records(text, mark, name, len(first)), columns.first_row, None)

    def record(at: int) -> tuple[str, list[str]]:
        line, cells = next(itertools.islice(body(), at, None))
        return f"line {line}", cells

    lines = list[int]()

    def cells_of_body() -> Iterator[Iterable[tuple[int, str]]]:
        for line, cells in body():
            lines.append(line)
            yield enumerate(cells)

    scanned = Scan(cells_of_body(), how, columns)
    options: dict[str, Any] = {} if mark == "," else {"sep": r"\s+" if mark == " " else mark}
    if compression != KNOWN_ENDINGS.get(Path(name).suffix.lower(), ""):
        options["compression"] = compression or None
    options |= scanned.options
    if mark != " " and f"{mark} " in text:
        options["skipinitialspace"] = True
    if len(blob) > _CHUNK:
        options["low_memory"] = False
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # the default before pandas 3.1 rounds
    with damage_reported(name, "read as text"):
        unpacked = {key: value for key, value in options.items() if key != "compression"}
        frame = pandas.read_csv(io.BytesIO(blob), **unpacked)
    _check_shape(columns, frame, scanned.n_rows)
    call = _call("read_csv", name, options)
    return File(columns, "text", frame, call, record, scanned, notes, np.array(lines))


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
            cells = [cell.strip() for cell in record]
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


def _read_parquet(bound: Bound, blob: bytes, how: Format) -> File:
    name = bound.name
    pandas = import_pandas(name, "parquet", "pyarrow")
    with damage_reported(name, "read as parquet"):
        check_parquet(bound, importlib.import_module("pyarrow.parquet").read_metadata(io.BytesIO(blob)))
        frame: pd.DataFrame = pandas.read_parquet(io.BytesIO(blob), engine="pyarrow")
    refuse(frame.empty, f"{name} is empty")
    names = tuple(map(str, frame.columns))

    def record(at: int) -> tuple[str, list[str]]:
        return f"row {at} (from 0)", [_text(frame.iat[at, j]) for j in range(len(names))]

    columns = Columns(name, len(names), names)
    scan, call, known = Scan((), Format(), columns), _call("read_parquet", name, {}), frame
    of_text = [column for _, column in frame.items() if getattr(column.dtype, "kind", "O") == "O"]
    texts = {cell for column in of_text for cell in column if isinstance(cell, str)}
    marks: list[Any] = sorted(text for text in texts if is_missing(text.strip(), how.gaps))
    if marks := marks + [mark for mark in how.gaps if isinstance(mark, float)]:
        is_mark = frame.isin(marks)
        call, known = f"{call}.pipe(lambda data: data.mask(data.isin({marks})))", frame.mask(is_mark)
        scan.gaps = [(at, j, _text(frame.iat[at, j])) for at, j in np.argwhere(is_mark.to_numpy()).tolist()]
    return File(columns, "parquet", known, call, record, scan)


def _read_excel(bound: Bound, blob: bytes, how: Format) -> File:
    name = bound.name
    pandas = import_pandas(name, "Excel", "openpyxl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that openpyxl does not know
        with damage_reported(name, "read as Excel"):
            check_members(bound, blob)
            book = pandas.ExcelFile(io.BytesIO(blob), engine="openpyxl")
            sheets = book.sheet_names
            sheet = sheets[0] if how.sheet is None else how.sheet
            wrong_sheet = f"{name} has no sheet {sheet!r}; it has: {', '.join(map(repr, sheets))}"
            refuse(sheet not in sheets, wrong_sheet)
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
    named = how.columns(name, first)
    body = values[named.first_row :]

    def is_read(cell: Any) -> bool:  # a mark may be a number, such as -999
        return isinstance(cell, str) or (how.missing is not None and is_missing(_text(cell), how.gaps))

    texts = ([(j, _text(cell)) for j, cell in enumerate(row) if is_read(cell)] for row in body)
    scanned = Scan(texts, how, named)
    # pandas takes texts such as 01 for numbers otherwise
    options: dict[str, Any] = {"dtype": "object"} if how.marks == Marks() else {}
    options |= {"sheet_name": how.sheet} if how.sheet else {}
    options |= scanned.options
    options |= {"skiprows": int(rows[0])} if rows[0] else {}
    if len(columns) < grid.shape[1]:
        options["usecols"] = columns.tolist()
    with damage_reported(name, "read as Excel"):
        frame = pandas.read_excel(book, **options)
    ending = ".infer_objects()"
    if frame.shape[0] > len(body):  # blank rows
        ending = '.dropna(how="all")' + ending
        frame = frame.dropna(how="all")
    _check_shape(named, frame, scanned.n_rows)
    several = f"{name} has {len(sheets)} sheets; {sheets[0]!r} is read; --sheet NAME selects another"
    notes = [several] if len(sheets) > 1 and how.sheet is None else []

    def record(at: int) -> tuple[str, list[str]]:
        return f"row {rows[at + named.first_row] + 1}", list(map(_text, body[at]))

    call = _call("read_excel", name, options) + ending
    lines, frame = rows[named.first_row :] + 1, frame.infer_objects()
    return File(named, "Excel", frame, call, record, scanned, notes, lines)


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


def decompressed(bound: Bound, blob: bytes) -> tuple[bytes, str]:
    """The content of a file compressed by gzip, bzip2 or xz, or alone in a zip archive; others as is.

    And the compression, in the words of pandas.

    Raises
    ------
    Refusal
        If it is damaged, too large, or an archive of several files.
    """
    packed = io.BytesIO(blob)
    with damage_reported(bound.name, "decompressed"):
        for beginning, unpack, name in PACKED:
            if re.match(beginning, blob):
                return _read_within(bound, unpack(packed)), name
        if is_zip(blob):
            with zipfile.ZipFile(packed) as archive:
                members = [member for member in archive.namelist() if not member.endswith("/")]
                if any(member.startswith("xl/") for member in members):  # Excel
                    return blob, ""
                wrong = f"{bound.name} is a zip archive of {len(members)} files; it must hold one table"
                refuse(len(members) != 1, wrong)
                return _read_within(bound, archive.open(members[0])), "zip"
    return blob, ""


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


def check_parquet(bound: Bound, metadata: Any) -> None:
    """Raise Refusal if the pages are too large, or the rows and columns too many."""
    pages = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    bound.check(pages)
    rows, columns = metadata.num_rows, metadata.num_columns
    bound.check(rows * columns, f" ({rows:,} rows of {columns:,} columns)")  # any value is a byte or more


def check_members(bound: Bound, blob: bytes) -> None:
    """Raise Refusal if the files in a zip archive are too large; zipfile reads no more of them."""
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        bound.check(sum(member.file_size for member in archive.infolist()))


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
