"""Columns of a table: found by name, read as numbers, labels or categories; notes on suspicious ones.

Notes point out possible mistakes that change the score without an error: row numbers or names of the
samples among the features, or a header that was taken for a sample.
"""

from __future__ import annotations

import datetime
import difflib
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._base.refusals import refuse
from .._base.typing import Array

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null"})
"""Marks of missing values, in lower case. "none" is not one of them: it may be a category."""

EXACT = 2**53
"""Larger whole numbers stay text, since they may be names that float64 would merge."""

_TIME = r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[ap]m)?( ?(z|utc|[+-]\d\d:?\d\d))?"
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_PART = r"(0?[1-9]|[12]\d|3[01])"  # a month or a day
_DAY = "|".join(
    [
        rf"\d{{4}}(?P<mark>[-/]){_PART}(?P=mark){_PART}",  # 2020-01-31
        rf"{_PART}(?P<sign>[-/.]){_PART}(?P=sign)\d{{4}}",  # 31.01.2020, 1/31/2020
        rf"{_PART}/{_PART}/\d\d",  # 1/31/20
        rf"{_PART}[- .]*{_MONTH}[- .,]*\d\d(\d\d)?",  # 31-Jan-20
        rf"{_MONTH}[ .]*{_PART}, *\d{{4}}",  # January 31, 2020
    ]
)
_DATE = re.compile(rf"({_DAY})([t ] ?{_TIME})?|\d{{1,2}}:\d\d:\d\d([.,]\d+)?", re.IGNORECASE | re.ASCII)
"""Dates and times that cannot be taken for anything else; so not 1-2, 1.2, 2020, 2020-1 and 12:30."""


def is_date(cell: str) -> bool:
    """Return True if the cell is a date, a date with a time, or a time with seconds."""
    return _DATE.fullmatch(cell) is not None


def marks_of_gaps(listed: str | None) -> frozenset[Any]:
    """Marks of missing values in a list with commas between, in lower case, and the numbers among them."""
    if listed is None:
        return MISSING
    marks = [mark.strip().lower() for mark in listed.split(",")]
    return frozenset(["", *marks, *(value for value in map(number, marks) if not math.isnan(value))])


def is_missing(cell: str, marks: Collection[Any] = MISSING) -> bool:
    """Return True if the cell stands for a missing value."""
    return cell.lower() in marks or (marks is not MISSING and number(cell) in marks)


def number(cell: str) -> float:
    """The number in a cell; NaN if there is none. Python's 1_000 is not a number in a table."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def finite_numbers(cells: Sequence[str]) -> Array | None:
    """The same of all cells; None if one holds no number, or an infinite one."""
    with suppress(ValueError):
        values = np.fromiter(map(float, cells), np.float64, len(cells))
        if np.isfinite(values).all() and "_" not in "".join(cells):
            return values
    return None


def looks_numeric(cell: str) -> bool:
    """Return True if the cell is a number, or would be one with other marks, as a message then says."""
    return not math.isnan(number(cell.replace(",", ".", 1))) or bool(readings(cell))


_SIGN = "[%\u2030$\u20ac\u00a3\u00a5]"
_SIGNED = re.compile(rf"(?P<sign>[+-]?){_SIGN}? ?(?P<number>[+-]?[\d.,]*\d[.,]?) ?{_SIGN}?", re.ASCII)
_FORTRAN = re.compile(r"([+-]?\d*\.\d*|[+-]?\d+(?=[dD][+-]))[dD]([+-]?\d+)", re.ASCII)


def without_sign(cell: str) -> str:
    """The number in a cell such as 3.7%, $ 1.20 or 1.0D-01, to be written alone; empty if it is no such."""
    if found := _FORTRAN.fullmatch(cell):
        return f"{found[1]}e{found[2]}"
    found = _SIGNED.fullmatch(cell)
    text = found["sign"] + found["number"] if found else ""
    return text if text != cell and readings(text) else ""


def keeping(mark: str = "") -> list[str]:
    """How to keep the cells of a mark of missing values that is one without an option."""
    return [f"--missing '' if {mark} is a value"] if mark and is_missing(mark) else []


class Marks(NamedTuple):
    """How numbers are written: the decimal mark, and the mark between thousands if there is one."""

    decimal: str = "."
    thousands: str | None = None

    def __str__(self) -> str:
        """The options that set the marks; empty for those of Python."""
        decimal = f"--decimal {shlex.quote(self.decimal)}" if self.decimal != "." else ""
        thousands = f"--thousands {shlex.quote(self.thousands)}" if self.thousands else ""
        return f"{decimal} {thousands}".strip()

    def plain(self, cell: str) -> str | None:
        """The number in the cell as Python writes it; None if there is none in these marks."""
        if _number_in(self).fullmatch(cell) is None:
            return None
        return cell.replace(self.thousands or "", "").replace(self.decimal, ".")

    def misleads(self, cell: str) -> bool:
        """Return True if the cell is a number but for the places of these marks."""
        value = number(cell.replace(self.thousands or "", "").replace(self.decimal, "."))
        return math.isfinite(value) and self.plain(cell) is None


_DIGITS_AND_MARKS = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")


@cache
def _number_in(marks: Marks) -> re.Pattern[str]:
    """Matches a number that is written with these marks."""
    decimal, between = re.escape(marks.decimal), re.escape(marks.thousands or "")
    whole = rf"\d+|\d{{1,3}}({between}\d{{3}})+" if between else r"\d+"
    number = rf"[+-]?(({whole})({decimal}\d*)?|{decimal}\d+)(e[+-]?\d+)?"
    return re.compile(number, re.IGNORECASE | re.ASCII)


def readings(cell: str) -> dict[str, Marks]:
    """The numbers that a cell may mean, as Python writes them, each with the fewest marks that say so."""
    found: dict[str, Marks] = {}
    if _DIGITS_AND_MARKS.fullmatch(cell) is None:  # most texts
        return found
    for marks in (Marks(), Marks(","), Marks(".", ","), Marks(",", ".")):
        text = marks.plain(cell)
        if text is not None:
            found.setdefault(text, marks)
    return found


class Cells(NamedTuple):
    """The cells of a column.

    Attributes
    ----------
    numbers : float64 ndarray of shape (n_items,)
        NaN where a cell holds no number.
    missing : bool ndarray of shape (n_items,)
        Where the value is missing.
    texts : list of str, or None
        The cells; None if the file has numbers.
    kind : str
        As of `kind_of` in formats that have types; other columns are judged by their cells.
    """

    numbers: Array
    missing: Array
    texts: list[str] | None = None
    kind: str = ""

    @classmethod
    def of(cls, texts: list[str], kind: str, gaps: Collection[Any], marks: Marks) -> Cells:
        """A column of texts, some of which mark missing values; numbers have these marks."""
        if marks == Marks() and (values := finite_numbers(texts)) is not None:  # of most columns
            missing = np.isin(values, [mark for mark in gaps if isinstance(mark, float)])
            return cls(np.where(missing, np.nan, values), missing, texts, kind)
        plain = texts if marks == Marks() else [marks.plain(text) or text for text in texts]
        pairs = list(zip(texts, plain, strict=True))
        missing = np.array([text.lower() in gaps or is_missing(own, gaps) for text, own in pairs], np.bool_)
        if marks != Marks():
            misled = np.array(list(map(marks.misleads, texts)), np.bool_)
            texts = [text if gap else own for (text, own), gap in zip(pairs, missing, strict=True)]
        numbers = np.array(list(map(number, texts)), np.float64)
        numbers[missing if marks == Marks() else missing | misled] = np.nan
        return cls(numbers, missing, texts, kind)

    def take(self, rows: Array) -> Cells:
        """Those of some rows."""
        texts = None if self.texts is None else [self.texts[row] for row in rows.tolist()]
        return Cells(self.numbers[rows], self.missing[rows], texts, self.kind)

    @property
    def has_numbers(self) -> bool:
        """Whether some cell is a number, so that they are neither names nor dates."""
        return bool(np.isfinite(self.numbers).any())

    @property
    def known(self) -> list[str]:
        """The texts without the marks of missing values."""
        return list(itertools.compress(self.texts or (), ~self.missing))

    def gaps(self) -> list[str]:
        """The marks of the missing values; empty texts where there is none."""
        return [self.texts[at] if self.texts else "" for at in self.missing.nonzero()[0].tolist()]

    def are_dates(self) -> bool:
        """Return True if they have the type, or all look like dates or times."""
        if self.kind == "dates" or self.has_numbers:
            return self.kind == "dates"
        return bool(self.known) and all(map(is_date, self.known))

    def are_names(self) -> bool:
        """Return True if they are texts, none of which looks like a number."""
        if self.kind == "text" or self.has_numbers or not self.known:
            return self.kind == "text"
        return not any(looks_numeric(cell) or without_sign(cell) for cell in set(self.known))

    def codes(self) -> Array:
        """The numbers; of names those of the different ones. NaN where a value is missing."""
        if self.texts is None or self.are_exact():
            return self.numbers
        code = {text: at for at, text in enumerate(sorted(set(self.texts)))}
        return np.where(self.missing, np.nan, [code[text] for text in self.texts])

    def are_exact(self) -> bool:
        """Return True if all known values are numbers that float64 does not merge."""
        known = self.numbers[~self.missing]
        return bool(np.isfinite(known).all() and np.abs(known).max(initial=0) < EXACT)

    def labels(self) -> Array:
        """The known values: numbers if all are, so that 1 and 1.0 are one class."""
        known = self.numbers[~self.missing]
        if self.are_exact():
            return known.astype(np.int64) if (known == np.floor(known)).all() else known + 0.0  # no -0.0
        # Texts, or numbers that are names, which float64 would merge.
        texts = self.texts or [f"{one:.0f}" if one % 1 == 0 else str(one) for one in self.numbers.tolist()]
        return np.array(texts)[~self.missing]

    def named(self) -> Array:
        """The values as texts, equal numbers as equal ones; None where a value is missing."""
        names = np.full(len(self.missing), None)
        names[~self.missing] = self.labels().astype(str)
        return names


def kind_of(types: Collection[type]) -> str:
    """The kind of a column of Python objects: "text", "dates", or "" for numbers and for several kinds."""
    if types and all(issubclass(one, str | bool) for one in types):
        return "text"
    dates = datetime.date | datetime.time | datetime.timedelta
    return "dates" if types and all(issubclass(one, dates) for one in types) else ""


_SHOWN = 20  # columns that an error lists
_FEWEST = 5  # rows; in a smaller table a feature may count the rows by chance
_MANY_SINGLE = 10  # values that occur once, and more than ...
_SINGLE_SHARE = 0.2  # ... this share of the known ones: names of the samples, as for IdentifierWarning
_KEY = re.compile(r"(?i:(.*[\W_])?(id|index|idx|row|no|nr|number)\.?|#)|.*[a-z]I[dD]")
"""Names of columns that identify rows: id, patient_id, PassengerId, row, no., #, …"""


@dataclass(frozen=True)
class Columns:
    """The columns of a file, found by name or by number."""

    source: str
    width: int
    names: tuple[str, ...] | None

    def name(self, index: int) -> str:
        """The column for messages: its name, or its number if it has none."""
        return (self.names[index] if self.names else "") or str(index)

    @property
    def first_row(self) -> int:
        """The number of the record with the first sample."""
        return 0 if self.names is None else 1

    def option(self, index: int) -> str:
        """The argument of ``--drop`` for this column: its name for a shell, or its number if safer."""
        name = self.name(index)
        if self.names and (self.names.count(name) != 1 or name.startswith("-") or len(name) > 100):
            return str(index)
        return shlex.quote(name)

    def find(self, wanted: str) -> int:
        """The number of the column that `wanted` names or numbers; ValueError if there is none."""
        at = [i for i, name in enumerate(self.names or ()) if name == wanted]
        wrong = f"{self.source} has several columns {wanted!r}; give one of their numbers, {at}"
        refuse(len(at) > 1, wrong)
        if at:
            return at[0]
        try:
            index = int(wanted)
        except ValueError:
            msg = f"{self.source} has no column {wanted!r}{self.listing(wanted)}"
            raise ValueError(msg) from None
        wrong = f"{self.source} has no column {index}{self.listing()}"
        refuse(not -self.width <= index < self.width, wrong)
        return index % self.width

    def find_all(self, wanted: str) -> list[int]:
        """The numbers of the columns in a list with commas between, or of the one of this name."""
        parts = [wanted] if wanted in (self.names or ()) else wanted.split(",")
        return [self.find(part if len(parts) == 1 else part.strip()) for part in parts]

    def listing(self, wanted: str | None = None) -> str:
        """The columns that exist, for the end of a message."""
        if self.names is None:
            hint = "" if wanted is None else "; --header if the first line names the columns"
            return f": its columns have no names, only numbers from 0 to {self.width - 1}{hint}"
        shown = [name or "(unnamed)" for name in self.names[:_SHOWN]]
        more = f" and {self.width - _SHOWN} more" if self.width > _SHOWN else ""
        listed = f"; it has: {', '.join(shown)}{more}, numbered from 0"
        closest = difflib.get_close_matches(wanted or "", self.names, n=1)
        return listed + (f"; did you mean {closest[0]!r}?" if closest else "")

    def header_note(self, place: str, first: Sequence[float], target: int, y: Array) -> str | None:
        """A note on a first line that was taken as a sample but may be a header; the columns have no names.

        Parameters
        ----------
        place : str
            The position of the first record.
        first : sequence of float
            The numbers in that record; NaN for a cell that holds none.
        target : int
            The number of the column of the labels.
        y : ndarray of shape (n_items,)
            The labels.

        Returns
        -------
        str or None
            A note if the line holds column numbers from 0 or 1, or the only label that occurs once.
        """
        numbers = [value for value in first if not math.isnan(value)]
        first_label = y.tolist()[0]
        single = [label for label, count in Counter(y.tolist()).items() if count == 1]
        counted = bool(numbers) and numbers[0] in (0, 1) and set(np.diff(numbers)) == {1}
        if len(numbers) > 2 and counted:
            looks = f"but looks like a header ({_beginning(numbers[:3])})"
        elif len(y) >= _FEWEST and single == [first_label]:
            looks = f"the only one with {str(first_label)!r} in column {self.name(target)!r}"
        else:
            return None
        remedy = "--header if it names the columns, --no-header if not"
        return f"{place} of {self.source} is taken as a sample, {looks}; {remedy}"


def number_note(columns: Columns, index: int, values: Array) -> str | None:
    """A note on a column of numbers that may not be a feature; NaN for missing values."""
    name = columns.names[index] if columns.names else str(index)
    which = f"column {name!r}" if name else f"column {index} of {columns.source} has no name and"
    option, is_long = columns.option(index), len(values) >= _FEWEST
    if is_long and values[0] == np.floor(values[0]) and (np.diff(values) == 1).all():
        counted = f"counts the rows ({_beginning(values[:3])})"
        return f"{which} {counted}; it is used as a feature; --drop {option} leaves it out"
    if not name:
        return f"{which} is taken as a feature; if it numbers the rows, leave it out with --drop {option}"
    is_key = is_long and (values == np.floor(values)).all() and len(np.unique(values)) == len(values)
    if columns.names and _KEY.fullmatch(name) and is_key:
        different = "has a different number in every row and is used as a feature"
        return f"{which} {different}; if it identifies the rows, leave it out with --drop {option}"
    return thousands_note(which, values)


def thousands_note(which: str, values: Array) -> str | None:
    """A note on points that may stand between thousands, as in 849 and 3.213."""
    known = np.abs(values[~np.isnan(values)])
    is_whole = known == np.floor(known)
    whole, parts = known[is_whole], known[~is_whole]
    if len(parts) < _FEWEST or not len(whole) or known.max() >= 1000 or parts.min() < 1:
        return None
    if np.median(whole) < 100 or (np.round(parts, 3) != parts).any() or (np.round(parts, 2) == parts).all():
        return None
    meant = f"{parts[0]:.3f} means {1000 * parts[0]:.0f}"
    return f"{which} has {whole[0]:.0f} beside {parts[0]:.3f}; --decimal , --thousands . if {meant}"


def category_note(columns: Columns, index: int, codes: Array) -> str | None:
    """A note on a categorical column that may identify the samples; `codes` has NaN for missing values."""
    which = f"column {columns.name(index)!r}"
    known = codes[~np.isnan(codes)]
    n_single = int((np.bincount(known.astype(np.int64)) == 1).sum())
    is_key = n_single == len(known) >= _FEWEST
    if not is_key and (n_single < _MANY_SINGLE or n_single <= _SINGLE_SHARE * len(known)):
        return None
    single = f"is categorical, but {n_single} of its {len(known)} values occur only once"
    remedy = f"if it identifies the rows, leave it out with --drop {columns.option(index)}"
    return f"{which} {single}; {remedy}"


def _beginning(numbers: Any) -> str:
    return ", ".join(f"{value:.0f}" for value in numbers) + ", …"
