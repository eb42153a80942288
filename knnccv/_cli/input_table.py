"""Tables of delimited text as the command line takes them: features, a column of labels, one of groups.

Every cell is checked, because a value that is misread gives a score that looks right. What cannot be
used is reported with its line in the file and its column.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .table_columns import Columns, column_notes, header_note

if TYPE_CHECKING:
    from .._typing import Array

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
"""By name, in the order of preference where a file could be split by several."""

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null"})
"""How missing values are written, in small letters."""

_SNIFFED = 200  # rows that tell the delimiter


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read and checked.

    Attributes
    ----------
    source : str
        Where it came from.
    X : float64 ndarray of shape (n_items, n_features)
        The features, all finite.
    y : ndarray of shape (n_items,)
        The target: int64 where every value is whole, float64 where every one is a number, else text.
    feature_names : tuple of str, of length n_features
        The names of the columns, or their numbers where the file has no header.
    target_name : str
        That of the target.
    has_header : bool
        Whether the first row named the columns.
    groups : ndarray of shape (n_items,), or None
        The group of every sample: numbers where all are, else text; None if no column was asked for.
    groups_name : str or None
        The name of their column.
    notes : tuple of str
        What the user should know.
    """

    source: str
    X: Array
    y: Array
    feature_names: tuple[str, ...]
    target_name: str
    has_header: bool
    groups: Array | None = None
    groups_name: str | None = None
    notes: tuple[str, ...] = ()


class _Row(NamedTuple):
    """One record and the line on which it begins, counted from 1."""

    line: int
    cells: list[str]


def read_table(
    source: str,
    target: str | None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    drop: Sequence[str] = (),
    groups: str | None = None,
) -> Table:
    """Read a table of delimited text.

    Parameters
    ----------
    source : str
        Path of the file, or ``"-"`` for standard input. UTF-8, with or without a byte order mark.
    target : str or None
        The column of the labels: its name, or its number from 0, negative ones counted from the last.
    delimiter : str, optional
        One character, or "comma", "semicolon", "tab", "space". Default: the one of these four that
        splits the rows most evenly into most numbers.
    header : bool, optional
        Whether the first row names the columns. Default: it does if none of its cells is a number.
    drop : sequence of str
        Columns to leave out.
    groups : str, optional
        The column of the groups, which is no feature either.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If a column is not there, a row has too few or too many cells, a cell is missing or no number,
        or there are fewer than two rows. The message says where.
    OSError
        If the file cannot be read.
    """
    name, text = _read_text(source)
    if not text.strip():
        msg = f"{name} is empty"
        raise ValueError(msg)
    mark = _sniff(text, name) if delimiter is None else _delimiter(delimiter)
    try:
        rows = _split(text, mark)
    except csv.Error as error:
        msg = f"{name} cannot be split at {_called(mark)}: {error}"
        raise ValueError(msg) from None
    columns, rows = _take_header(rows, name, header)
    if target is None:
        msg = f"--target must say which column of {name} holds the labels{columns.listing()}"
        raise ValueError(msg)
    label = columns.find(target)
    left_out = {columns.find(wanted) for wanted in drop}
    if label in left_out:
        msg = f"column {columns.name(label)!r} is the target; it cannot be left out by --drop"
        raise ValueError(msg)
    grouping = None if groups is None else columns.find(groups)
    if grouping == label:
        msg = f"column {columns.name(label)!r} is the target; it cannot hold the --groups, too"
        raise ValueError(msg)
    features = [i for i in range(columns.width) if i not in {label, grouping} and i not in left_out]
    if not features:
        beside = "the target" if grouping is None else "the target and the groups"
        msg = f"{name} has no feature: of {columns.width} columns, none is left beside {beside}"
        raise ValueError(msg)
    _check_shape(rows, columns, mark)
    table = _convert(rows, columns, features, label, grouping)
    if table.groups is not None and (table.groups == table.groups[0]).all():
        msg = f"{name}: column {table.groups_name!r} holds one group only; --groups needs at least 2"
        raise ValueError(msg)
    if header is None and columns.names is None:
        first = [_number(cell) for cell in rows[0].cells]
        note = header_note(columns, rows[0].line, first, label, table.y)
        return replace(table, notes=(*table.notes, note)) if note else table
    return table


def _read_text(source: str) -> tuple[str, str]:
    if source == "-":
        name, blob = "standard input", sys.stdin.buffer.read()
    else:
        name, blob = source, Path(source).read_bytes()
    try:
        return name, blob.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = blob.count(b"\n", 0, error.start) + 1
        msg = f"{name} is no text in UTF-8: line {line} holds the byte 0x{blob[error.start]:02x}"
        raise ValueError(msg) from None


def _delimiter(given: str) -> str:
    mark = DELIMITERS.get(given, "\t" if given == "\\t" else given)
    if len(mark) != 1 or mark in '"\r\n':
        msg = f"--delimiter must be one character or one of {', '.join(DELIMITERS)}, got {given!r}"
        raise ValueError(msg)
    return mark


def _called(mark: str) -> str:
    return next((name + "s" for name, known in DELIMITERS.items() if known == mark), repr(mark))


def _split(text: str, mark: str, limit: float = math.inf) -> list[_Row]:
    """The records that are not blank, `limit` at most."""
    # StringIO ends lines as files do; str.splitlines would also end them at form feeds and the like.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=mark != " ", strict=True
    )
    rows: list[_Row] = []
    before = 0
    for record in reader:
        cells = [cell.strip() for cell in record]
        if mark == " ":  # several are as good as one
            cells = [cell for cell in cells if cell]
        if cells not in ([], [""]):
            rows.append(_Row(before + 1, cells))
        before = reader.line_num
        if len(rows) >= limit:
            break
    return rows


def _sniff(text: str, source: str) -> str:
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
        numbers = sum(_looks_numeric(cell) for cell in body) / max(len(body), 1)
        # "1,5;a" is as numeric split at commas; what else could split it is left over then.
        left_over = sum(";" in cell or "\t" in cell for cell in body) / max(len(body), 1)
        even = count / len(rows)
        if (even * numbers, even - left_over) > best:
            best, found = (even * numbers, even - left_over), mark
    if found is None:
        msg = broken or (
            f"{source} has one column only, whether split at commas, semicolons, tabs or spaces; "
            "if another character separates the columns, give it by --delimiter"
        )
        raise ValueError(msg)
    return found


def _take_header(rows: list[_Row], source: str, header: bool | None) -> tuple[Columns, list[_Row]]:
    first = rows[0].cells
    if header is None:
        header = not any(_looks_numeric(cell) for cell in first)
    if not header:
        return Columns(source, len(first), None), rows
    return Columns(source, len(first), tuple(first)), rows[1:]


def _check_shape(rows: list[_Row], columns: Columns, mark: str) -> None:
    if len(rows) < 2:
        below = "" if columns.names is None else " below the header"
        msg = f"{columns.source} must have at least 2 rows{below}, got {len(rows)}"
        raise ValueError(msg)
    for row in rows:
        if len(row.cells) != columns.width:
            msg = (
                f"{columns.source}, line {row.line}: {columns.width} cells expected as in the first "
                f"line, got {len(row.cells)} (split at {_called(mark)})"
            )
            raise ValueError(msg)


def _convert(
    rows: list[_Row], columns: Columns, features: list[int], label: int, grouping: int | None
) -> Table:
    import numpy as np

    X = np.empty((len(rows), len(features)))
    for at, row in enumerate(rows):
        for j, i in enumerate(features):
            value = _number(row.cells[i])
            if value is None or not math.isfinite(value):
                raise ValueError(_complaint(row, i, columns, is_first=at == 0))
            X[at, j] = value
    return Table(
        columns.source,
        X,
        _named(rows, columns, label, "target"),
        tuple(columns.name(i) for i in features),
        columns.name(label),
        columns.names is not None,
        None if grouping is None else _named(rows, columns, grouping, "group"),
        None if grouping is None else columns.name(grouping),
        column_notes(columns, features, X),
    )


def _named(rows: list[_Row], columns: Columns, index: int, what: str) -> Array:
    """The column of the targets or the groups, which every sample needs."""
    for row in rows:
        cell = row.cells[index]
        if cell.lower() in MISSING:
            shown = f" ({cell})" if cell else ""
            msg = f"{_place(row, index, columns)}: the {what} is missing{shown}; every sample needs one"
            raise ValueError(msg)
    values: Array = _labels([row.cells[index] for row in rows])
    return values


def _labels(cells: list[str]) -> Any:
    """Numbers where all are: 1 and 1.0 are one class then, and 10 comes after 9."""
    import numpy as np

    numbers = [_number(cell) for cell in cells]
    if any(number is None or not math.isfinite(number) for number in numbers):
        return np.array(cells)
    values = np.array(numbers, dtype=np.float64)
    if np.abs(values).max() >= 2**53:  # numbers as names, which doubles would merge
        return np.array(cells)
    return values.astype(np.int64) if (values == np.floor(values)).all() else values


def _number(cell: str) -> float | None:
    """What the cell says; None where it is missing or no number. Python's 1_000 is none in a table."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in cell else value


def _looks_numeric(cell: str) -> bool:
    """Whether it is a number, or one with a decimal comma, which is then what to complain about."""
    return _number(cell.replace(",", ".", 1)) is not None


def _place(row: _Row, index: int, columns: Columns) -> str:
    return f"{columns.source}, line {row.line}, column {columns.name(index)!r}"


def _complaint(row: _Row, index: int, columns: Columns, *, is_first: bool = False) -> str:
    cell = row.cells[index]
    where = _place(row, index, columns)
    is_header = is_first and columns.names is None
    if cell.lower() in MISSING:
        shown = f" ({cell})" if cell else ""
        remedy = (
            "--header if the first line names the columns"
            if is_header
            else f"--drop {columns.option(index)} leaves the column out, "
            "and knnccv.hvdm.HEOM measures tables with missing values in Python"
        )
        return f"{where}: the value is missing{shown}; {remedy}"
    if _number(cell) is not None:
        return f"{where}: {cell} is not finite"
    hint = f"; --drop {columns.option(index)} if it is no feature"
    if _looks_numeric(cell):
        hint = "; write a decimal point instead of the comma"
    elif is_header:
        hint = "; --header if the first line names the columns"
    return f"{where}: {cell!r} is no number{hint}"
