"""The table type of all reproductions: printed numbers beside computed ones, as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from ._picture import Picture

WIDTH = 100
HEADER = ("", "paper", "knnccv", "allowed", "verdict")
COLUMNS = ("part", "quantity", "paper", "knnccv", "lowest", "highest", "verdict", "note")
AGREE, DIFFER = ("agrees", "within 2 sigma"), ("differs", "outside 2 sigma")
HOLD, FAIL = ("holds",), ("does not hold",)


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

    def cells(self) -> tuple[str, ...]:
        """The row of a table with the header `HEADER`."""
        numbers = (self.paper, self.computed)
        shown = ["" if value is None else f"{value:z.{self.digits}f}" for value in numbers]
        allowed = "" if self.allowed is None else " to ".join(f"{x:.{self.digits}f}" for x in self.allowed)
        return (self.quantity, *shown, allowed, self.verdict)

    def record(self) -> dict[str, Any]:
        """The values of all columns of the CSV file, by the names of the columns."""
        lowest, highest = self.allowed or (None, None)
        names = ("part", "quantity", "paper", "difference", "verdict", "note")
        values = {name: getattr(self, name) for name in names}
        return {**values, "knnccv": self.computed, "lowest": lowest, "highest": highest, **self.more}


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
        An empty row separates groups in text; Markdown leaves it out.
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

        rows = [row for row in self.rows if row or style == "plain"]
        alignments = ["left" if at in self.left else "right" for at in range(len(self.header))]
        shown: dict[str, Any] = {"tablefmt": style, "colalign": alignments, "disable_numparse": True}
        if style == "plain":  # as a row, since tabulate widens the columns of headers
            return tabulate([self.header, *rows], **shown).splitlines()
        return tabulate(rows, self.header, **shown).splitlines()


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
        The layout, of equally many columns each. Default: a table for every part, a row for every line.
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
        tables = self._tables()
        text = [self.title]
        if tables:
            # Formatted as one, so that the columns of all tables are aligned.
            joined = [row for table in tables for row in (table.header, *table.rows)]
            lines = iter(Table("", joined[0], tuple(joined[1:]), tables[0].left).format("plain"))
            for table in tables:
                heading = [table.title] if table.title else []
                text += ["", *heading, *islice(lines, 1 + len(table.rows))]
        wrapped = (
            textwrap.wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
            for note in self._remarks()
        )
        return "\n".join([*text, "", *(line for note in wrapped for line in note)])

    def to_markdown(self) -> str:
        """A Markdown document without the pictures."""
        text = [f"# {self.title}"]
        for table in self._tables():
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

    def _tables(self) -> tuple[Table, ...]:
        return self.tables or tuple(
            Table(part, HEADER, tuple(line.cells() for line in lines), left=(0, 4))
            for part, lines in groupby(self.lines, key=lambda line: line.part)
        )

    def _remarks(self) -> Iterator[str]:
        for line in self.lines:
            if line.note:
                yield f"{line.part}, {line.quantity}: {line.note}"
        yield from self.notes
        for failure in self.failures:
            yield f"Not computed: {failure}"
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
