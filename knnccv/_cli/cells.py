"""Cells of a table: missing values and numbers, and columns of cells as numbers, labels or categories."""

from __future__ import annotations

import math
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .._typing import Array

Cells = Any
"""A column: a list of str, or a float64 array with NaN for missing values."""

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


def is_missing(cell: object) -> bool:
    """Return True if the cell stands for a missing value."""
    return str(cell).lower() in MISSING


def number(cell: str) -> float | None:
    """The number in a cell; None if there is none. Python's 1_000 is not a number in a table."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in cell else value


def looks_numeric(cell: str) -> bool:
    """Return True if the cell is a number, or would be one with other marks, as a message then says."""
    return number(cell.replace(",", ".", 1)) is not None or bool(readings(cell))


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
        """The number in the cell as Python writes it; None if there is none in these marks.

        pandas also accepts groups of other than three digits, so that 1,5 would be 15.
        """
        if _number_in(self).fullmatch(cell) is None:
            return None
        return cell.replace(self.thousands or "", "").replace(self.decimal, ".")

    def misleads(self, cell: str) -> bool:
        """Return True if pandas takes the cell for a number and it is none in these marks."""
        digits = cell.replace(self.thousands or "", "").replace(self.decimal, ".")
        return number(digits) is not None and self.plain(cell) is None


PYTHON = Marks()
_DIGITS_AND_MARKS = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")


@cache
def _number_in(marks: Marks) -> re.Pattern[str]:
    """Matches a number that is written with these marks."""
    decimal, between = re.escape(marks.decimal), re.escape(marks.thousands or "")
    whole = rf"\d+|\d{{1,3}}({between}\d{{3}})+" if between else r"\d+"
    return re.compile(
        rf"[+-]?(({whole})({decimal}\d*)?|{decimal}\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII
    )


def readings(cell: str) -> dict[str, Marks]:
    """The numbers that a cell may mean, as Python writes them, each with the fewest marks that say so."""
    found: dict[str, Marks] = {}
    if _DIGITS_AND_MARKS.fullmatch(cell) is None:  # most texts
        return found
    for marks in (PYTHON, Marks(","), Marks(".", ","), Marks(",", ".")):
        text = marks.plain(cell)
        if text is not None:
            found.setdefault(text, marks)
    return found


def numbers(cells: Cells) -> Array:
    """A column as float64; NaN for a cell without a number."""
    import numpy as np

    if isinstance(cells, np.ndarray):
        return cells
    values = (number(cell) for cell in cells)
    return np.array([math.nan if value is None else value for value in values], np.float64)


def labels(cells: Cells) -> Array:
    """A column without missing values: numbers if all are, so that 1 and 1.0 are one class."""
    import numpy as np

    values = numbers(cells)
    if not np.isfinite(values).all():
        return np.array([str(cell) for cell in cells])
    if np.abs(values).max() >= EXACT:  # numbers that are names, which float64 would merge
        return np.array([f"{cell:.0f}" if isinstance(cell, float) else cell for cell in cells])
    return values.astype(np.int64) if (values == np.floor(values)).all() else values


def categorized(cells: Cells) -> tuple[Array, Array]:
    """A column of categories: float64 codes from 0, NaN if a value is missing; and the category of each."""
    import numpy as np

    known = np.array([not is_missing(cell) for cell in cells])
    out = np.full(len(known), np.nan)
    categories = np.empty(0)
    if known.any():
        kept = cells[known] if isinstance(cells, np.ndarray) else [c for c in cells if not is_missing(c)]
        categories, out[known] = np.unique(labels(kept), return_inverse=True)
    return out, categories
