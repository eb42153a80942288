"""Table 1 of Wilson and Martinez (1999) beside knnccv's: as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from .._comparison import Picture, column_widths, padded, wrapped
from ._paper import COLUMNS, EXACT, LARGEST_OFF, LEFT_OUT, N_FOLDS, PAPER
from ._protocol import SetResult, compute

TITLE = "Table 1 of Wilson & Martinez: generalization accuracy in %"
SOURCE = (
    "D. R. Wilson & T. R. Martinez, Combining Cross-Validation and Confidence to Measure Fitness, "
    "IJCNN'99, section 5"
)
CSV_HEADER = (
    "set",
    "n_items",
    "n_features",
    "column",
    "paper",
    "knnccv",
    "knnccv_sd",
    "difference",
    "verdict",
)


@dataclass(frozen=True)
class WilsonMartinezReport:
    """What was printed and what was found.

    Attributes
    ----------
    rows : tuple of SetResult
        One per data set.
    n_seeds : int
        How often everything was repeated.
    """

    rows: tuple[SetResult, ...]
    n_seeds: int

    @property
    def found(self) -> list[SetResult]:
        """The rows whose data were there."""
        return [row for row in self.rows if row.failure is None]

    @property
    def failures(self) -> list[str]:
        """Why rows are missing, one line each."""
        return [
            f"no data for {row.name}: {' '.join(row.failure.split())}"
            for row in self.rows
            if row.failure is not None
        ]

    def ours(self, column: str) -> Array:
        """Knnccv's accuracies of a column, by set."""
        return np.array([row.mean(column) for row in self.found])

    def printed(self, column: str, *, every: bool = False) -> Array:
        """The paper's, of the same sets or of all 31."""
        at = COLUMNS.index(column)
        names = list(PAPER) if every else [row.name for row in self.found]
        return np.array([PAPER[name][at] for name in names])

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What is drawn of it."""
        from ._pictures import of_sets

        return of_sets(self)

    def to_text(self) -> str:
        """For a terminal of 100 columns."""
        header, *body = self._grid()
        widths = column_widths([header, *body])
        lines = [TITLE, ""]
        lines += [padded(cells, widths, (0,)) for cells in (header, *body)]
        return "\n".join([*lines, "", *wrapped(self._remarks())])

    def to_markdown(self) -> str:
        """As a Markdown document."""
        header, *body = self._grid()
        rule = ["---"] + ["---:"] * (len(header) - 1)
        rows = [f"| {' | '.join(cells)} |" for cells in (header, rule, *body)]
        notes = [f"- {note}" for note in self._remarks()]
        return "\n".join([f"# {TITLE}", "", *rows, "", *notes, ""])

    def to_csv(self) -> str:
        """One line per set and column, with all digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_HEADER)
        for row in self.rows:
            for at, column in enumerate((*COLUMNS, EXACT)):
                paper = PAPER[row.name][at] if column in COLUMNS else ""
                if row.failure is not None:
                    writer.writerow([row.name, "", "", column, paper, "", "", "", "not computed"])
                    continue
                ours = row.mean(column)
                off = ours - paper if isinstance(paper, float) else ""
                spread = _blank(row.spread(column))
                writer.writerow([row.name, *row.shape, column, paper, ours, spread, off, ""])
        if self.found:
            writer.writerows(self._means())
        return out.getvalue()

    def _means(self) -> Iterator[list[object]]:
        """Lines of the means over the sets, and of what CVC gains over the others."""
        for column in COLUMNS:
            paper, ours = float(self.printed(column).mean()), float(self.ours(column).mean())
            yield ["Mean", "", "", column, paper, ours, "", ours - paper, self._verdict(column)]
        for other in ("static", "lcv"):
            paper = float(self.printed("cvc").mean() - self.printed(other).mean())
            ours = float(self.ours("cvc").mean() - self.ours(other).mean())
            verdict = "holds" if ours > 0 else "does not hold"
            yield [f"Gain of cvc over {other}", "", "", "cvc", paper, ours, "", ours - paper, verdict]

    def _off(self, column: str) -> float:
        return float(self.ours(column).mean() - self.printed(column).mean())

    def _verdict(self, column: str) -> str:
        return "agrees" if abs(self._off(column)) <= LARGEST_OFF else "differs"

    def _grid(self) -> list[list[str]]:
        header = ["", "items", *("paper: static", "LCV", "CVC"), *("knnccv: static", "LCV", "CVC", "CVC'")]
        grid = [[*header, "off"]]
        for row in self.rows:
            paper = [f"{value:.2f}" for value in PAPER[row.name]]
            if row.failure is not None:
                grid.append([row.name, "-", *paper, *("-" for _ in range(4)), "no data"])
                continue
            ours = [f"{row.mean(column):.2f}" for column in (*COLUMNS, EXACT)]
            off = row.mean("static") - PAPER[row.name][0]
            grid.append([row.name, str(row.shape[0]), *paper, *ours, f"{off:+.2f}"])
        if self.found:
            printed = [f"{self.printed(column).mean():.2f}" for column in COLUMNS]
            ours = [f"{self.ours(column).mean():.2f}" for column in (*COLUMNS, EXACT)]
            off = float(self.ours("static").mean() - self.printed("static").mean())
            grid.append(["Mean", "", *printed, *ours, f"{off:+.2f}"])
            highest = [_times_highest([of(name) for name in COLUMNS]) for of in (self.printed, self.ours)]
            grid.append(["Highest", "", *map(str, highest[0]), *map(str, highest[1]), "", ""])
        return grid

    def _remarks(self) -> Iterator[str]:
        if self.found:
            for column in COLUMNS:
                off, verdict = self._off(column), self._verdict(column)
                yield (
                    f"{_NAMES[column]}: the mean of the column {verdict}, being off the printed one by "
                    f"{off:+.2f} points; {LARGEST_OFF:g} are allowed."
                )
            yield (
                "Neither folds nor the kinds of attributes are printed, nor what breaks the many ties of "
                "the search by LCV; here the first of equally good settings is taken."
            )
        for one, other in (("cvc", "static"), ("cvc", "lcv"), (EXACT, "cvc")):
            yield from self._compared(one, other)
        yield (
            f"knnccv: means of {self.n_seeds} times {N_FOLDS} stratified folds; HVDM is fitted to the nine "
            "tenths, and so are the parameters. LCV and CVC choose them as the paper does, with HVDM's "
            "statistics of all nine tenths; CVC' leaves the sample out of them, too."
        )
        yield "off: knnccv's static column less the printed one."
        yield "Highest: how often a column is highest of static, LCV and CVC; ties count for all."
        for name, reason in LEFT_OUT.items():
            yield f"{name} is left out: {reason}. The printed means over the other sets differ for it."
        for row in self.rows:
            if row.failure is not None:
                yield f"{row.name} was not computed: its data could not be had."
        yield f"Printed in: {SOURCE}."

    def _compared(self, one: str, other: str) -> Iterator[str]:
        """A difference and its test: knnccv's, the paper's of the same sets, and that of all its sets."""
        values: list[tuple[str, Array]] = []
        if self.found:
            values.append(("knnccv", self.ours(one) - self.ours(other)))
            if one in COLUMNS:
                values.append(("the paper", self.printed(one) - self.printed(other)))
        if one in COLUMNS:
            values.append(
                (
                    "the paper on its 31 sets",
                    self.printed(one, every=True) - self.printed(other, every=True),
                )
            )
        told = [f"{whose} {signed_ranks(gaps)}" for whose, gaps in values]
        if told:
            claim = ""
            if one == "cvc" and self.found:
                word = "holds" if values[0][1].mean() > 0 else "does not hold"
                claim = f" That {_NAMES[one]} is better {word}."
            yield f"{_NAMES[one]} - {_NAMES[other]}: {'; '.join(told)}.{claim}"


_NAMES = {"static": "static", "lcv": "LCV", "cvc": "CVC", EXACT: "CVC'"}


def signed_ranks(gaps: Array) -> str:
    """The mean of paired differences, wins and losses, and Wilcoxon's one-sided confidence.

    Equal pairs are left out, as in Conover's book, which the paper follows.
    """
    from scipy.stats import wilcoxon

    gaps = np.round(gaps, 9)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    text = f"{gaps.mean():+.2f} points, {wins} up, {losses} down"
    if wins + losses == 0:
        return text
    left = gaps[gaps != 0]
    test: Any = wilcoxon(left, alternative="greater", method="approx")
    confidence = 100 * (1 - test.pvalue)
    shown = "over 99.9" if confidence > 99.9 else f"{confidence:.1f}"
    return f"{text}, Wilcoxon {shown} % one-sided"


def _times_highest(columns: list[Array]) -> list[int]:
    rounded = np.round(columns, 2)
    return [int(number) for number in (rounded == rounded.max(axis=0)).sum(axis=1)]


def _blank(value: float | None) -> float | str:
    return "" if value is None else value


N_SEEDS = {False: 10, True: 1}


def wm_table(quick: bool, progress: bool = False) -> WilsonMartinezReport:
    """Compute the table again; `quick` draws the folds once."""
    from ...datasets import uci_names
    from ._report import WilsonMartinezReport

    n_seeds = N_SEEDS[quick]
    names = sorted(uci_names(), key=list(PAPER).index)
    return WilsonMartinezReport(tuple(compute(names, n_seeds, progress=progress)), n_seeds)
