"""A table of the literature beside knnccv's: as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from .._comparison import Picture, column_widths, padded, wrapped
from ._paper import Cell, PaperTable, Row

CSV_HEADER = (
    "experiment",
    "quantity",
    "paper",
    "paper_2sigma",
    "paper_seconds",
    "knnccv",
    "knnccv_2sigma",
    "knnccv_seconds",
    "difference",
    "verdict",
)


@dataclass(frozen=True)
class TableReport:
    """What was printed and what was found.

    Attributes
    ----------
    table : PaperTable
        What was printed.
    rows : tuple of Row
        What was found, one per experiment.
    notes : tuple of str
        What the reader must know.
    """

    table: PaperTable
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def failures(self) -> list[str]:
        """Why experiments are missing, one line for every data set that could not be had."""
        missing: dict[str, list[int]] = {}
        for row in self.rows:
            if row.failure is not None:
                missing.setdefault(row.failure, []).append(row.experiment.number)
        return [
            f"no data for experiment{'s' if len(numbers) > 1 else ''} "
            f"{' and '.join(map(str, numbers))}: {' '.join(failure.split())}"
            for failure, numbers in missing.items()
        ]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What is drawn of it."""
        from ._pictures import of_trials

        return of_trials(self)

    def to_text(self) -> str:
        """For a terminal of 100 columns."""
        header, *body = self._grid()
        widths = column_widths([header, *body])
        lines = [self._title(), ""]
        for i, cells in enumerate((header, *body)):
            if i and cells[0]:
                lines.append("")
            lines.append(padded(cells, widths, (0, 1)))
        return "\n".join([*lines, "", *wrapped(self._remarks())])

    def to_markdown(self) -> str:
        """As a Markdown document."""
        header, *body = self._grid()
        rule = ["---"] * 2 + ["---:"] * (len(header) - 2)
        rows = [f"| {' | '.join(cells)} |" for cells in (header, rule, *body)]
        notes = [f"- {note}" for note in self._remarks()]
        return "\n".join([f"# {self.table.title}", "", self._title(), "", *rows, "", *notes, ""])

    def to_csv(self) -> str:
        """One line per cell of the table, with all digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_HEADER)
        for row in self.rows:
            for label, paper in row.experiment.paper.items():
                ours = row.cells.get(label)
                found = ("", "", "", "") if ours is None else (*_plain(ours), ours.value - paper.value)
                verdict = self._judge(paper, ours)[0]
                writer.writerow([row.experiment.number, label, *_plain(paper), *found, verdict])
        return out.getvalue()

    def _title(self) -> str:
        return f"{self.table.title}: accuracy in %, ± 2σ of the estimate, and seconds"

    def _grid(self) -> list[list[str]]:
        labels = list(self.rows[0].experiment.paper)
        grid = [["#", "", *(part for label in labels for part in (label, "time"))]]
        for row in self.rows:
            paper = [row.experiment.paper[label] for label in labels]
            ours = [row.cells.get(label) for label in labels]
            verdicts = [self._judge(*pair)[1] for pair in zip(paper, ours, strict=True)]
            printed = [part for cell in paper for part in _shown(cell, 1)]
            found = [part for cell in ours for part in (_shown(cell, 2) if cell else ("-", ""))]
            grid += [
                [str(row.experiment.number), "paper", *printed],
                ["", "knnccv", *found],
                ["", "verdict", *(part for verdict in verdicts for part in (verdict, ""))],
            ]
        return grid

    def _judge(self, paper: Cell, ours: Cell | None) -> tuple[str, str]:
        """Whether a cell agrees: in a word, and as the table shows it."""
        if ours is None:
            return "not computed", "no data"
        difference = ours.value - paper.value
        if abs(difference) <= self.table.digit + 1e-9:
            return "agrees", "agrees"
        if paper.two_sigma is None:
            return "differs", f"{difference:+.2f}"
        if abs(difference) <= paper.two_sigma:
            return "within 2 sigma", f"{difference:+.2f} in 2σ"
        return "outside 2 sigma", f"{difference:+.2f} beyond 2σ"

    def _remarks(self) -> Iterator[str]:
        for row in self.rows:
            experiment = row.experiment
            yield f"Experiment {experiment.number}: {experiment.title}."
        yield (
            f"Verdicts: 'agrees' where the printed number differs by at most {self.table.digit:g}, which "
            "is its rounding; else the difference, knnccv - paper, and for random trials whether it is "
            "within the paper's 2σ."
        )
        for row in self.rows:
            if row.failure is not None:
                yield f"Experiment {row.experiment.number} was not computed: its data could not be had."
            for label, paper in row.experiment.paper.items():
                ours = row.cells.get(label)
                verdict, _ = self._judge(paper, ours)
                if ours is not None and verdict in ("differs", "outside 2 sigma"):
                    yield (
                        f"Experiment {row.experiment.number}, {label}: knnccv {ours.value:.2f} differs "
                        f"from the printed {paper.value:.1f} by {ours.value - paper.value:+.2f}, more than "
                        f"{'rounding' if paper.two_sigma is None else 'its 2σ'} explains."
                    )
            yield from row.notes
        yield from self.notes
        yield f"Printed in: {self.table.source}."


def _plain(cell: Cell) -> tuple[float | str, float | str, float | str]:
    """The numbers of a cell; empty where it has none."""
    return (
        cell.value,
        "" if cell.two_sigma is None else cell.two_sigma,
        "" if cell.seconds is None else cell.seconds,
    )


def _shown(cell: Cell, digits: int) -> tuple[str, str]:
    spread = "" if cell.two_sigma is None else f" ± {cell.two_sigma:.{digits}f}"
    return f"{cell.value:.{digits}f}{spread}", "" if cell.seconds is None else _time(cell.seconds)


def _time(seconds: float) -> str:
    """Tenths as printed, or two significant digits where there would be none left."""
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}" if seconds >= 1e-4 else f"{seconds:.0e}"
