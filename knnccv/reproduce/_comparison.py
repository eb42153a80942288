"""Numbers of the literature beside knnccv's, with what may differ, a verdict each, and pictures."""

from __future__ import annotations

import csv
import io
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH = 100
CSV_HEADER = ("part", "quantity", "paper", "knnccv", "lowest", "highest", "verdict", "note")


@dataclass(frozen=True)
class Line:
    """One number, or one claim, of the literature.

    Attributes
    ----------
    part : str
        The block of the table that it stands in.
    quantity : str
        What it is.
    paper, ours : float or None
        As printed, and as found; `paper` is None where nothing is printed, `ours` where nothing was found.
    allowed : tuple of two floats, or None
        Between which bounds `ours` agrees with `paper`. None: it is set beside it without a verdict.
    holds : bool or None
        Of a claim, which has no numbers: whether it holds.
    digits : int
        Decimals that are shown.
    note : str
        What explains a difference, or tells more of a claim.
    """

    part: str
    quantity: str
    paper: float | None = None
    ours: float | None = None
    allowed: tuple[float, float] | None = None
    holds: bool | None = None
    digits: int = 2
    note: str = ""

    @property
    def verdict(self) -> str:
        """A word."""
        if self.holds is not None:
            return "holds" if self.holds else "does not hold"
        if self.ours is None:
            return "not computed"
        if self.allowed is None:
            return "-"
        return "agrees" if self.allowed[0] <= self.ours <= self.allowed[1] else "differs"

    def cells(self) -> list[str]:
        """The row of a table."""
        shown = ["" if value is None else f"{value:z.{self.digits}f}" for value in (self.paper, self.ours)]
        allowed = "" if self.allowed is None else " to ".join(f"{x:.{self.digits}f}" for x in self.allowed)
        return [self.quantity, *shown, allowed, self.verdict]


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when somebody wants to see it.

    Attributes
    ----------
    name : str
        Of its file, without ending.
    caption : str
        What it shows.
    draw : callable
        ``draw()`` → a new matplotlib Figure.
    """

    name: str
    caption: str
    draw: Callable[[], Any]

    def png(self) -> bytes:
        """The picture, drawn now.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        out = io.BytesIO()
        self.draw().savefig(out, format="png", dpi=120, metadata={"Software": None})
        return out.getvalue()


def new_figure(width: float, height: float, n_rows: int = 1, n_columns: int = 1) -> tuple[Any, Any]:
    """A matplotlib Figure that no window knows of, and its axes, (n_rows, n_columns) of them.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "pictures need matplotlib: pip install 'knnccv[plot]'"
        raise ImportError(msg) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


@dataclass(frozen=True)
class Comparison:
    """What was printed and what was found.

    Attributes
    ----------
    title, source : str
        What it is, and where it is printed.
    lines : tuple of Line
        In the order in which they are shown; those of a part together.
    notes : tuple of str
        What a reader of both columns must know.
    pictures : tuple of Picture
        To go with them.
    failures : list of str
        Why parts are missing, a line for every data set that could not be had.
    """

    title: str
    source: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    failures: tuple[str, ...] = ()

    def to_text(self) -> str:
        """For a terminal of 100 columns."""
        header = ["", "paper", "knnccv", "allowed", "verdict"]
        body = [line.cells() for line in self.lines]
        widths = column_widths([header, *body])
        text = [self.title]
        part = None
        for line, cells in zip(self.lines, body, strict=True):
            if line.part != part:
                part = line.part
                text += ["", part, padded(header, widths, (0, 4))]
            text.append(padded(cells, widths, (0, 4)))
        return "\n".join([*text, "", *wrapped(self._remarks())])

    def to_markdown(self) -> str:
        """As a Markdown document, without the pictures."""
        return "\n".join(
            [f"# {self.title}", *self._tables(), "", *(f"- {note}" for note in self._remarks()), ""]
        )

    def _tables(self) -> Iterator[str]:
        part = None
        for line in self.lines:
            if line.part != part:
                part = line.part
                yield from ("", f"## {part}", "")
                yield "| | paper | knnccv | allowed | verdict |"
                yield "| --- | ---: | ---: | ---: | --- |"
            yield f"| {' | '.join(line.cells())} |"

    def to_csv(self) -> str:
        """One line per number, with all digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_HEADER)
        for line in self.lines:
            numbers = (line.paper, line.ours, *(line.allowed or (None, None)))
            shown = ["" if number is None else number for number in numbers]
            writer.writerow([line.part, line.quantity, *shown, line.verdict, line.note])
        return out.getvalue()

    def _remarks(self) -> Iterator[str]:
        for line in self.lines:
            if line.note:
                yield f"{line.part}, {line.quantity}: {line.note}"
        yield from self.notes
        for failure in self.failures:
            yield f"Not computed: {failure}"
        yield f"Printed in: {self.source}."


def write_answer(answer: Any, folder: Path, name: str) -> None:
    """Write ``name.md``, ``name.csv`` and the pictures, ``name-PICTURE.png``.

    Warns
    -----
    UserWarning
        If matplotlib is missing, so that there are no pictures.
    """
    shown = []
    for picture in answer.pictures:
        file = f"{name}-{picture.name}.png"
        try:
            (folder / file).write_bytes(picture.png())
        except ImportError as error:
            warnings.warn(f"no pictures of {name}: {error}", UserWarning, stacklevel=3)
            break
        shown.append(f"![{picture.caption}]({file})\n")
    (folder / f"{name}.md").write_text("\n".join([answer.to_markdown(), *shown]), encoding="utf-8")
    (folder / f"{name}.csv").write_text(answer.to_csv(), encoding="utf-8")


def column_widths(grid: list[list[str]]) -> list[int]:
    """How wide the columns of a table are."""
    return [max(map(len, column)) for column in zip(*grid, strict=True)]


def padded(cells: list[str], widths: list[int], left: Sequence[int]) -> str:
    """A row of a table for a terminal, the columns in `left` flush left and the others right."""
    pairs = enumerate(zip(cells, widths, strict=True))
    shown = [cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in pairs]
    return "  ".join(shown).rstrip()


def wrapped(notes: Iterable[str]) -> list[str]:
    """Notes as the samples of a list, for a terminal of 100 columns."""
    return [
        line
        for note in notes
        for line in textwrap.wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
    ]


PAPER_COLOR = "#3b4252"
