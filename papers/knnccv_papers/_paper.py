"""A paper as data, its printed numbers beside computed ones, and what all protocols ask for.

A paper is a TOML file of the folder ``papers`` with what is printed, claimed and explained: ``title``,
``source`` and ``notes``; ``lines``, the quantities and claims of the table by a short name, each with
``part``, ``quantity``, ``note``, ``paper`` and ``digits`` where they apply; and the printed numbers and
settings that its protocol reads. Texts name computed values in braces, as in `str.format`.

`Paper` makes a `Line` of a computed number, and a `Comparison` of all lines, which is shown as text,
Markdown and CSV. `load` and `median_seconds` serve the protocols.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
import textwrap
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from knnccv import datasets
from knnccv.datasets import DatasetError

from ._picture import Panel, Picture
from ._uci import fetch_uci

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
        record = self.record()
        return tuple(_shown(record.get(name), spec.format(digits=self.digits)) for _, name, spec in layout)

    def record(self) -> dict[str, Any]:
        """The values of all columns of the CSV file and of tables, by their names."""
        lowest, highest = self.allowed or (None, None)
        bounds = " to ".join(f"{bound:.{self.digits}f}" for bound in self.allowed or ())
        made = {"knnccv": self.computed, "difference": self.difference, "verdict": self.verdict}
        return {**vars(self), **made, "lowest": lowest, "highest": highest, "allowed": bounds, **self.more}


def _shown(value: Any, spec: str) -> str:
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


def panel_of(lines: Iterable[Line], label: str, log: bool = False) -> Panel:
    """Printed numbers, with bars where computed ones agree, and the computed ones."""
    both = [line for line in lines if line.difference is not None]
    printed = [line.paper for line in both]
    ends = np.array([line.allowed or (line.paper, line.paper) for line in both]).T
    sides = {
        "printed": (printed, np.abs(ends - printed)),
        "computed": ([line.computed for line in both], None),
    }
    return Panel(both[0].part, [line.quantity for line in both], sides, label, log)


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
            told = "the same code, data and libraries (--fresh computes it again)"
            yield f"Kept since {self.kept_since}: {told}."


@dataclass(frozen=True)
class Paper:
    """The content of a file."""

    table: Mapping[str, Any]

    @classmethod
    def read(cls, name: str) -> Paper:
        """The paper of ``papers/NAME.toml``."""
        path = Path(__file__).with_name("papers") / f"{name}.toml"
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def __getitem__(self, key: str) -> Any:
        return self.table[key]

    def line(
        self,
        key: str,
        computed: float | None = None,
        paper: float | None = None,
        allowed: tuple[float, float] | None = None,
        holds: bool | None = None,
        **values: Any,
    ) -> Line:
        """The line of this name; `values` are those of its texts, and `digits` if it varies."""
        told = self["lines"][key]
        defaults = {"part": "{part}", "quantity": key, "note": ""}
        part, quantity, note = ({**defaults, **told}[name].format(**values) for name in defaults)
        paper = told.get("paper") if paper is None else paper
        holds = None if holds is None else bool(holds)
        digits = values.get("digits", told.get("digits", 2))
        return Line(part, quantity, paper, computed, allowed, holds, digits, note)

    def notes(self, **values: Any) -> list[str]:
        """The notes; `values` are those of their texts."""
        return [note.format(**values) for note in self["notes"]]

    def comparison(self, lines: Iterable[Line], notes: Iterable[str], **parts: Any) -> Comparison:
        """The lines and notes with title and source."""
        return Comparison(self["title"], self["source"], tuple(lines), tuple(notes), **parts)


def load(function: str, **arguments: Any) -> Any:
    """A data set by the function of `knnccv.datasets`, or by `fetch_uci`."""
    return (fetch_uci if function == "fetch_uci" else getattr(datasets, function))(**arguments)


class Missing:
    """Why parts of a paper could not be computed: one sentence for every reason, with all of its parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}

    @contextmanager
    def noted(self, part: str) -> Iterator[None]:
        """Go on without this part if its data cannot be obtained."""
        try:
            yield
        except DatasetError as error:
            self._parts.setdefault(" ".join(str(error).split()), []).append(part)

    def sentences(self) -> tuple[str, ...]:
        """The failures of the comparison."""
        return tuple(f"no data for {'; '.join(parts)}: {reason}" for reason, parts in self._parts.items())


def median_seconds(ask: Callable[[], Any], n_calls: int) -> float:
    """Median wall time of `n_calls` calls, after a first one that may compile."""
    ask()
    seconds = []
    for _ in range(n_calls):
        started = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
