"""Tables in files: features, a column of labels, and one of groups.

Every cell is checked, because a misread value gives a wrong score that looks plausible. An unusable cell is
reported with its line in the file and its column.
"""

from __future__ import annotations

import math
import reprlib
import shlex
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._base.refusals import refuse
from .._base.typing import Array
from ._columns import (
    EXACT,
    Cells,
    Marks,
    category_note,
    is_date,
    is_missing,
    keeping,
    kind_of,
    number,
    number_note,
    readings,
    thousands_note,
    without_sign,
)
from ._facts import groups_warnings
from ._files import File, Format, read_file, text_of
from ._table import COPIES, Table

ANY = Format()
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 100
FEWEST_GROUPS = 10
"""A column of more values, some of which repeat, may name groups."""
LONG_MARK = 20
"""Letters from which on a cell is no mark of a missing value."""


class Choice(NamedTuple):
    """Which columns and rows of a file are used, and for what.

    Attributes
    ----------
    target : str or None
        The column of the labels: its name, or its number from 0, negative ones counted from the last.
    drop : sequence of str
        Columns to leave out.
    groups : str or None
        The column of the groups, which is no feature; "copies": equal rows are a group.
    categorical : sequence of str
        Columns of a mixed table that are categorical although they hold numbers.
    every_target : bool
        Refuse a row without a target; otherwise it is left out, and a note says so.
    drop_incomplete : bool
        Leave out every row that lacks a feature or its group, which a note says.
    """

    target: str | None
    drop: Sequence[str] = ()
    groups: str | None = None
    categorical: Sequence[str] = ()
    every_target: bool = False
    drop_incomplete: bool = False

    def code(self, source: str, how: Format) -> tuple[str, ...]:
        """Python that reads the same from the file; empty if it cannot be read again, such as a pipe."""
        if source == "-" or not Path(source).is_file():
            return ()
        usual = {**Choice(None)._asdict(), **ANY._asdict(), "target": self.target}
        given = {**self._asdict(), **how._asdict()}
        others = ((key, value) for key, value in given.items() if value not in (usual[key], []))
        asked = "".join(f", {key}={value!r}" for key, value in others)
        found = "X, y" + ", groups" * (self.groups is not None)
        read = f"{found} = read_table({source!r}, {self.target!r}{asked})"
        return "from knnccv.reporting import read_table", read


def table_in(
    source: str, choice: Choice, how: Format = ANY, *, mixed: bool = False, is_test: bool = False
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str
        Path of the file, or ``"-"`` for standard input.
    choice : Choice
        Which columns and rows are used.
    how : Format, optional
        How the file is to be read.
    mixed : bool, default False
        Allow missing values and categorical columns among the features.
    is_test : bool, default False
        A test set may lack columns that are left out, and have one row.

    Raises
    ------
    ValueError
        If a column does not exist, a row has too few or too many cells, a cell is missing or not a number,
        or there are fewer than two rows. The message says where.
    OSError
        If the file cannot be read.
    ImportError
        If a package for the file's format is missing.
    """
    file = read_file(source, how)
    columns, name = file.columns, file.columns.source
    must = f"--target must name the column of {name} that holds the labels"
    refuse(choice.target is None, f"{must}{columns.listing()}")
    label = columns.find(str(choice.target))
    drop = choice.drop
    if is_test and columns.names is not None:
        drop = [one for one in drop if one in columns.names]
    left_out = {index for wanted in drop for index in columns.find_all(wanted)}
    by_copies = choice.groups == COPIES and COPIES not in (columns.names or ())
    grouping = None if choice.groups is None or by_copies else columns.find(choice.groups)
    named = {index for wanted in choice.categorical for index in columns.find_all(wanted)}
    features = [i for i in range(columns.width) if i not in {label, grouping} and i not in left_out]
    beside = "the target" + " and the groups" * (grouping is not None)
    below = " below the header" * (columns.names is not None)
    is_target = f"column {columns.name(label)!r} is the target; it cannot"
    stray = min(named.difference(features), default=-1)
    refuse(label in left_out, f"{is_target} be left out with --drop")
    refuse(grouping == label, f"{is_target} also hold the --groups")
    none_left = f"of {columns.width} columns, none is left beside {beside}"
    refuse(not features, f"{name} has no feature: {none_left}")
    no_feature = f"column {columns.name(stray)!r} is not a feature; --categorical is for features"
    refuse(stray >= 0, no_feature)
    used = [*features, label, *([] if grouping is None else [grouping])]
    reader = _Reader(file, how, used)
    before = len(file.lines)
    if not choice.every_target:
        reader.leave_out([label], "--keep-missing-target refuses them")
    if choice.drop_incomplete:
        reader.leave_out([one for one in used if one != label])
    n_rows = len(reader.rows)
    below += " with a target" * (n_rows < before)
    least = 1 if is_test else 2
    refuse(n_rows < least, f"{name} must have at least {least} row{'s'[is_test:]}{below}, got {n_rows}")
    table = reader.table(features, label, grouping, named if mixed else None)
    wrong = f"{name}: column {table.groups_name!r} holds one group only; --groups needs at least 2"
    refuse(table.groups is not None and (table.groups == table.groups[0]).all(), wrong)
    note = None
    if how.header is None and columns.names is None:
        at = int(reader.rows[0])
        first = [number(text_of(column[at])) for column in file.values]
        note = columns.header_note(file.place(at), first, label, table.y)
    elif how.header is None and file.form != "parquet" and table.categorical.all():
        note = f"no feature of {name} is a number; its first line names the columns, --no-header if not"
    aside = [(i, reader.column(i).take(reader.rows)) for i in sorted(left_out - {grouping}) if not is_test]
    if by_copies:
        from ..neighbors import copies

        table = replace(table, groups=copies(table.X), groups_name=COPIES)
    return replace(
        table,
        notes=(*table.notes, note) if note else table.notes,
        set_aside=tuple((columns.name(i), cells) for i, cells in aside if not cells.are_dates()),
        code=choice.code(source, how),
        left_out=tuple(columns.name(i) for i in range(columns.width) if i not in {label, *features}),
        lines=None if file.form == "parquet" else file.lines[reader.rows],
    )


def read_table(
    path: str | PathLike[str],
    target: str | int,
    *,
    drop: Sequence[str] = (),
    groups: str | None = None,
    categorical: Sequence[str] = (),
    every_target: bool = False,
    drop_incomplete: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    missing: str | None = None,
) -> tuple[Array, ...]:
    r"""Read a file of a table as the command line does: delimited text, parquet or Excel.

    Parameters
    ----------
    path : path
        The file, which may be compressed.
    target : str or int
        The column to predict: its name, or its number from 0, negative ones counted from the last.
    drop : sequence of str, optional
        Columns to leave out.
    groups : str, optional
        The column of the groups, which is no feature; ``"copies"`` if equal rows are a group.
    categorical : sequence of str, optional
        Columns of numbers that name categories.
    every_target : bool, default False
        Refuse a row without a target; otherwise it is left out.
    drop_incomplete : bool, default False
        Leave out every row that lacks a feature or its group.
    delimiter, header, sheet, decimal, thousands, encoding, missing : optional
        As the options of ``knnccv report``. Default: what is found in the file.

    Returns
    -------
    X : ndarray of shape (n_items, n_features)
        float64, NaN where a value is missing; with categories objects, None where one is missing.
    y : ndarray of shape (n_items,)
        The target: int64 if all values are whole, float64 if all are numbers, otherwise text.
    groups : ndarray of shape (n_items,)
        With `groups` only.

    Raises
    ------
    ValueError
        If the file cannot be used; the message names the line, the column and the option that helps.
    OSError
        If it cannot be read.
    ImportError
        If a package for parquet or Excel is missing: ``pip install "knnccv[cli]"``.

    Warns
    -----
    UserWarning
        If rows are left out, or a column may be no feature.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from knnccv.reporting import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shops.csv")
    ...     _ = path.write_text("size;price;open\n1,5;3;yes\n2,5;4;no\n")
    ...     X, y = read_table(path, "open", decimal=",")
    >>> X.tolist(), y.tolist()
    ([[1.5, 3.0], [2.5, 4.0]], ['yes', 'no'])
    """
    choice = Choice(str(target), drop, groups, categorical, every_target, drop_incomplete)
    how = Format(delimiter, header, sheet, decimal, thousands, encoding, missing)
    table = table_in(str(path), choice, how, mixed=True)
    for note in (*table.notes, *groups_warnings(table)):
        warnings.warn(note, UserWarning, stacklevel=2)
    X = np.column_stack(table.columns)
    return (X, table.y) if table.groups is None else (X, table.y, table.groups)


class _Reader:
    """Turns the columns of a file into a table."""

    def __init__(self, file: File, how: Format, used: Sequence[int]) -> None:
        self.file, self.columns, self.marks, self.gaps = file, file.columns, how.marks, how.gaps
        self.rows, self.notes = np.arange(len(file.lines)), file.notes
        self.missing = how.missing and how.missing.strip()
        self.cells = {i: self.column(i) for i in used}
        known = {text for one in self.cells.values() for text in one.known} if self.missing else set()
        if usual := sorted(filter(is_missing, known)):  # --missing takes the place of the usual marks
            values = f"{', '.join(usual)} {'are values' if usual[1:] else 'is a value'}"
            self.notes += (f"{values}, as --missing names other marks; {self._marking(usual)}",)

    def _marking(self, more: Sequence[str]) -> str:
        """How to mark missing values by these marks as well as by those that are given."""
        given = [] if self.missing is None else [self.missing]
        marks = shlex.quote(",".join([*given, *more]))
        return f"--missing={marks} if {'they mark' if more[1:] else 'it marks'} a missing value"

    def leave_out(self, columns: Sequence[int], option: str = "") -> None:
        """Leave out the rows that lack a value in one of the columns, which a note says."""
        gaps: Array = np.array([self.cells[i].missing for i in columns])
        kept, lacks = ~np.any(gaps, axis=0), np.any(gaps, axis=1).tolist()
        if kept.all():
            return
        lacking = [i for i, some in zip(columns, lacks, strict=True) if some]
        marks = sorted({mark for i in lacking for mark in self.cells[i].gaps()} - {""})
        where = f"the column {self.columns.name(lacking[0])!r}"
        where = where if len(lacking) == 1 else f"one of {len(lacking)} columns"
        where += f" ({', '.join(marks)})" * bool(marks)
        left_out = f"{(~kept).sum()} of {len(kept)} rows have no value in {where} and are left out"
        first = self.file.place(int(self.rows[kept.argmin()]))
        remedies = [option] * bool(option) + keeping(*marks[:1])
        self.notes += ("; ".join([f"{left_out}, the first of them {first}", *remedies]),)
        self.rows = self.rows[kept]
        self.cells = {i: one.take(kept.nonzero()[0]) for i, one in self.cells.items()}

    def table(
        self, features: Sequence[int], label: int, grouping: int | None, named: Collection[int] | None
    ) -> Table:
        """The table; `named` are the columns declared as categorical, None if none is allowed."""
        columns, cells = self.columns, self.cells
        categorical = {i for i in features if named is not None and self._is_categorical(i, named)}
        self._check_numbers([i for i in features if i not in categorical], named is not None)
        missing = Counter[str]()
        for i in features:
            gaps, without = cells[i].gaps(), f"--drop {columns.option(i)} leaves it out"
            wrong = f"{columns.source}: column {columns.name(i)!r} has no value at all; {without}"
            refuse(len(gaps) == len(self.rows), wrong)
            missing.update(gaps)
        y = self._labels(label, "target")
        table = Table.of(
            [cells[i].named() if i in categorical else cells[i].numbers for i in features],
            [columns.name(i) for i in features],
            [i in categorical for i in features],
            y,
            source=columns.source,
            target_name=columns.name(label),
            has_header=columns.names is not None,
            groups=None if grouping is None else self._labels(grouping, "group"),
            groups_name=None if grouping is None else columns.name(grouping),
            missing=dict(missing),
        )
        told = [thousands_note(f"the target {columns.name(label)!r}", y)] if y.dtype.kind == "f" else []
        for i, values in zip(features, table.X.T, strict=True):
            told.append((category_note if i in categorical else number_note)(columns, i, values))
        return replace(table, notes=(*self.notes, *filter(None, told)))

    def column(self, index: int) -> Cells:
        values = self.file.values[index]
        if self.file.form == "text":
            return Cells.of(values, "", self.gaps, self.marks)
        if (code := getattr(getattr(values, "dtype", None), "kind", "O")) in "iuf" and self.missing is None:
            numbers = values.to_numpy(np.float64, na_value=np.nan)
            if code == "f" or not (np.abs(numbers) >= EXACT).any():
                return Cells(numbers, np.isnan(numbers))
        types = {type(value) for value in values if not is_missing(text_of(value), self.gaps)}
        typed = self.file.form == "parquet" or self.marks == Marks() or kind_of(types) == "dates"
        texts = list(map(self._text, values.astype(object) if code != "O" else values))
        return Cells.of(texts, kind_of(types) if typed else "", self.gaps, self.marks)

    def _text(self, value: object) -> str:
        """A cell as one would type it: a number with the decimal mark that texts beside it have."""
        text = text_of(value)
        return text.replace(".", self.marks.decimal) if isinstance(value, float) else text

    def _is_categorical(self, index: int, named: Collection[int]) -> bool:
        """Return True if a feature is named as categorical, has such a type, or has no number-like cell."""
        if index in named:
            return True
        name, option = self.columns.name(index), self.columns.option(index)
        wrong = f"{self.columns.source}: column {name!r} holds dates or times"
        numbers = f"write numbers, such as days since the first, leave it out with --drop {option}"
        categories = f"treat its values as categories with --categorical {option}"
        refuse(self.cells[index].are_dates(), f"{wrong}; {numbers}, or {categories}")
        return self.cells[index].are_names()

    def _check_numbers(self, features: Sequence[int], mixed: bool) -> None:
        """Raise ValueError about the first cell of these columns, row by row, that cannot be used."""
        wrong: list[tuple[int, int]] = []
        for i in features:
            cells = self.cells[i]
            suspects = np.flatnonzero(~np.isfinite(cells.numbers) & ~(mixed & cells.missing))
            wrong += [(at, i) for at in suspects[:1].tolist()]
        if wrong:
            at, index = min(wrong)
            raise ValueError(self.complaint(at, self._shown(at, index), index, mixed))

    def _shown(self, at: int, index: int) -> str:
        """A cell for messages; of a missing value its mark."""
        return text_of(self.file.values[index][int(self.rows[at])])

    def _labels(self, index: int, what: str) -> Array:
        """The column of the targets or of the groups, in which no value may be missing."""
        for at in self.cells[index].missing.nonzero()[0][:1].tolist():
            shown = f" ({mark})" if (mark := self._shown(at, index)) else ""
            remedies = ["--drop-incomplete leaves out such rows"] * (what == "group") + keeping(mark)
            needed = "; ".join([f"the {what} is missing{shown}", "every sample needs one", *remedies])
            msg = f"{self._place(at, index)}: {needed}"
            raise ValueError(msg)
        texts = self.cells[index].texts or [""]
        other = next(iter(np.isnan(self.cells[index].numbers).nonzero()[0].tolist()), None)
        if what == "target" and other is not None and all(map(readings, texts)):
            where, remedy = self._place(other, index), self._remedy(readings(texts[other]))
            shown = _SHOWN.repr(texts[other])
            msg = f"{where}: {shown} is written like a number but read as a name{remedy}"
            raise ValueError(msg)
        return self.cells[index].labels()

    def _place(self, at: int, index: int) -> str:
        column = _SHOWN.repr(self.columns.name(index))
        return f"{self.columns.source}, {self.file.place(int(self.rows[at]))}, column {column}"

    def complaint(self, at: int, cell: str, index: int, mixed: bool) -> str:
        where, option = self._place(at, index), self.columns.option(index)
        header = "--header if the first line names the columns"
        is_header = at == 0 and self.columns.names is None
        if self.cells[index].missing[at]:
            heom = "--metric heom (in Python knnccv.neighbors.hvdm.HEOM)"
            remedy = f"--drop-incomplete leaves out such rows, --drop {option} the column"
            remedy += f", and {heom} accepts tables with missing values"
            remedy = header if is_header else remedy
            return f"{where}: the value is missing{f' ({cell})' if cell else ''}; {remedy}"
        if math.isinf(number(cell)):
            return f"{where}: {cell} is not finite"
        category = f"--categorical {option}" if mixed else "--metric heom"
        hint = f"; --drop {option} if it is not a feature, {category} if it is a category"
        texts = self.cells[index].texts or []
        if not self.cells[index].has_numbers and FEWEST_GROUPS < len(set(texts)) < len(texts):
            hint += f", --groups {option} if its rows belong together"
        if self.missing and is_missing(cell):
            hint = f"; {self._marking([cell])}"
        elif alone := without_sign(cell):
            hint = f"; write numbers alone, such as {alone}"
            hint += f", {category} if it is a category" * mixed
        elif found := readings(cell):
            hint = self._remedy(found) + f", {category} if it is a category" * mixed
        elif is_header:
            hint = f"; {header}"
        elif is_date(cell):
            hint = f"; write numbers, such as days since the first, or --drop {option}"
        elif self.cells[index].has_numbers:
            marking = f"; {self._marking([cell])}" * (len(cell) < LONG_MARK)
            hint = f", but other cells of the column are numbers{marking}{hint}"
        return f"{where}: {_SHOWN.repr(cell)} is not a number{hint}"

    def _remedy(self, found: Mapping[str, Marks]) -> str:
        """How to say which number a cell means that was written with other marks."""
        if self.file.form == "parquet":
            return f"; write {' or '.join(found)}"
        meant = (f"{str(marks) or '--decimal .'} if it means {text}" for text, marks in found.items())
        return "; " + ", ".join(meant)
