"""The table type of all reproductions: printed numbers beside computed ones, as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from ._picture import Picture

WIDTH = 100
COLUMNS = ("part", "quantity", "paper", "knnccv", "lowest", "highest", "verdict", "note")
AGREE, DIFFER = ("agrees", "within 2 sigma"), ("differs", "outside 2 sigma")
HOLD, FAIL = ("holds",), ("does not hold",)

Layout = Sequence[Sequence[str]]
"""Columns of a table: the heading, the name of the value in `Line.record`, and its format."""

NUMBER = "z.{digits}f"
LAYOUT = (
    *(("", "quantity", ""), ("paper", "paper", NUMBER), ("knnccv", "knnccv", NUMBER)),
    *(("allowed", "allowed", ""), ("verdict", "verdict", "")),
)


@dataclass(frozen=True)
class Line:
    """One printed number, or one claim, and its counterpart by knnccv.

    Attributes
    ----------
    part, quantity : str
        The block of the table, and the quantity within it.
    paper, computed : float or None
        The printed and the computed number; None if there is none.
    allowed : tuple of two floats, or None
        The bounds within which `computed` agrees with `paper`. None: there is no verdict.
    holds : bool or None
        For a claim: True if it holds.
    digits : int
        Number of decimals in text.
    note : str
        An explanation, listed below the table.
    judged : str or None
        A verdict that replaces the one that follows from `allowed` or `holds`.
    more : mapping
        Values of further columns of the CSV file.
    """

    part: str
    quantity: str
    paper: float | None = None
    computed: float | None = None
    allowed: tuple[float, float] | None = None
    holds: bool | None = None
    digits: int = 2
    note: str = ""
    judged: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """One or two words."""
        if self.judged is not None:
            return self.judged
        if self.holds is not None:
            return "holds" if self.holds else "does not hold"
        if self.computed is None:
            return "not computed"
        if self.allowed is None:
            return "-"
        return "agrees" if self.allowed[0] <= self.computed <= self.allowed[1] else "differs"

    @property
    def difference(self) -> float | None:
        """Computed minus printed number."""
        return None if self.paper is None or self.computed is None else self.computed - self.paper

    def cells(self, layout: Layout = LAYOUT) -> tuple[str, ...]:
        """The row of a table; a cell without a value is empty."""
        bounds = " to ".join(f"{bound:.{self.digits}f}" for bound in self.allowed or ())
        record = {**self.record(), "allowed": bounds}
        return tuple(shown(record.get(name), spec.format(digits=self.digits)) for _, name, spec in layout)

    def record(self) -> dict[str, Any]:
        """The values of all columns of the CSV file, by the names of the columns."""
        lowest, highest = self.allowed or (None, None)
        names = ("part", "quantity", "paper", "difference", "verdict", "note")
        values = {name: getattr(self, name) for name in names}
        return {**values, "knnccv": self.computed, "lowest": lowest, "highest": highest, **self.more}


def shown(value: Any, spec: str) -> str:
    """A value as text; empty for None and NaN."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else format(value, spec)


@dataclass(frozen=True)
class Table:
    """Cells as text and Markdown show them.

    Attributes
    ----------
    title : str
        The heading; may be empty.
    header : tuple of str
        The names of the columns.
    rows : tuple of tuples of str
        The cells.
    left : tuple of int
        The columns that are aligned to the left; all others are aligned to the right.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[int, ...] = (0,)

    def format(self, style: str) -> list[str]:
        """The lines of the table in a style of tabulate, "plain" or "pipe"."""
        from tabulate import tabulate

        # Plain headers are a row, since tabulate widens the columns of headers.
        rows, header = ((self.header, *self.rows), ()) if style == "plain" else (self.rows, self.header)
        alignments = ["left" if at in self.left else "right" for at in range(len(self.header))]
        return tabulate(rows, header, style, colalign=alignments, disable_numparse=True).splitlines()


def tables_of(lines: Iterable[Line], layout: Layout = LAYOUT) -> tuple[Table, ...]:
    """A table for every part, a row for every line; texts are aligned to the left."""
    header = tuple(heading for heading, _, _ in layout)
    left = tuple(at for at, (_, name, _) in enumerate(layout) if name in ("quantity", "label", "verdict"))
    return tuple(
        Table(part, header, tuple(line.cells(layout) for line in some), left)
        for part, some in groupby(lines, key=lambda line: line.part)
    )


@dataclass(frozen=True)
class Comparison:
    """Printed and computed numbers, with verdicts, notes and pictures.

    Attributes
    ----------
    title, source : str
        The title, and where the numbers are printed.
    lines : tuple of Line
        All numbers and claims, in the order of the table; lines of a part are adjacent.
    notes : tuple of str
        Explanations of both columns, in Markdown.
    pictures : tuple of Picture
        The figures.
    failures : tuple of str
        Reasons why parts are missing.
    tables : tuple of Table
        The tables of the text. Default: a table for every part, a row for every line.
    columns : tuple of str
        The columns of the CSV file.
    kept_since : str
        The date of the computation, if the result comes from the cache.
    """

    title: str
    source: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    failures: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    columns: tuple[str, ...] = COLUMNS
    kept_since: str = ""

    def to_text(self) -> str:
        """Text for a terminal of 100 columns."""
        text = [self.title]
        for _, group in groupby(self.tables or tables_of(self.lines), key=lambda table: len(table.header)):
            # Formatted as one, so that the columns of these tables are aligned.
            tables = list(group)
            first, *rest = (row for table in tables for row in (table.header, *table.rows))
            rows = iter(Table("", first, tuple(rest), tables[0].left).format("plain"))
            for table in tables:
                text += ["", *filter(None, [table.title]), *islice(rows, 1 + len(table.rows))]
        text.append("")
        for note in self._remarks():
            text += textwrap.wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
        return "\n".join(text)

    def to_markdown(self) -> str:
        """A Markdown document without the pictures."""
        text = [f"# {self.title}"]
        for table in self.tables or tables_of(self.lines):
            heading = ["", f"## {table.title}"] if table.title else []
            text += [*heading, "", *table.format("pipe")]
        return "\n".join([*text, "", *(f"- {note}" for note in self._remarks()), ""])

    def to_csv(self) -> str:
        """One row for every line, with all digits."""
        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(line.record() for line in self.lines)
        return out.getvalue()

    def _remarks(self) -> Iterator[str]:
        yield from (f"{line.part}, {line.quantity}: {line.note}" for line in self.lines if line.note)
        yield from self.notes
        yield from (f"Not computed: {failure}" for failure in self.failures)
        yield f"Printed in: {self.source}."
        if self.kept_since:
            yield (
                f"Kept since {self.kept_since}: the same code, data and libraries (--fresh computes it "
                "again)."
            )


def missing_data(reasons: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """One sentence for every reason of missing data, with all parts that it affects.

    Parameters
    ----------
    reasons : iterable of (part, reason)
        The reason is None if the data are available.
    """
    parts: dict[str, list[str]] = {}
    for part, reason in reasons:
        if reason is not None:
            parts.setdefault(" ".join(reason.split()), []).append(part)
    return tuple(f"no data for {'; '.join(names)}: {reason}" for reason, names in parts.items())
