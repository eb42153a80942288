"""Table 1 of the technical report beside knnccv's numbers: verdicts, notes and the picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from .._comparison import Comparison, Line, Table, missing_data
from .._picture import EXACT_COLOR, SAMPLED_COLOR, Picture, draw_both, new_figure
from ._paper import DIGIT, NOTES, SOURCE, TITLE, Cell, Row
from ._protocol import describe, run_experiments

COLUMNS = (
    *("experiment", "quantity", "paper", "paper_2sigma", "paper_seconds"),
    *("knnccv", "knnccv_2sigma", "knnccv_seconds", "difference", "verdict"),
)
SHOWN_AFTER = {"differs": "", "within 2 sigma": " in 2σ", "outside 2 sigma": " beyond 2σ"}
"""The text after the difference if the table shows a verdict."""


def tr_table1(quick: bool, progress: bool = False) -> Comparison:  # noqa: ARG001 (it is short)
    """Recompute the table; `quick` draws fewer random trials."""
    return compare(run_experiments(quick), (*describe(quick), *NOTES))


def compare(rows: Sequence[Row], notes: Iterable[str]) -> Comparison:
    """The printed numbers of the experiments beside those of the rows."""
    lines = tuple(
        _line(row.experiment.number, label, paper, row.cells.get(label))
        for row in rows
        for label, paper in row.experiment.paper.items()
    )
    found = [line for line in lines if line.computed is not None]
    caption = (
        "Accuracy of every experiment: the exact score, and means of 1, 10 and 50 random trials with "
        "twice their standard deviation; gray squares as printed, dots in color as computed now."
    )
    return Comparison(
        TITLE,
        SOURCE,
        lines,
        (*_notes(rows, lines), *notes),
        (Picture("accuracies", caption, partial(_draw, found)),) if found else (),
        missing_data((f"experiment {row.experiment.number}", row.failure) for row in rows),
        (_table(lines),),
        COLUMNS,
    )


def _line(number: int, label: str, paper: Cell, found: Cell | None) -> Line:
    more: dict[str, Any] = {"experiment": number}
    for side, cell in (("paper", paper), ("knnccv", found)):
        if cell is not None:
            more |= {f"{side}_2sigma": cell.two_sigma, f"{side}_seconds": cell.seconds}
    computed = None if found is None else found.value
    return Line(
        f"Experiment {number}",
        label,
        paper.value,
        computed,
        judged=None if computed is None else _judge(computed - paper.value, paper.two_sigma),
        more=more,
    )


def _judge(difference: float, two_sigma: float | None) -> str:
    """The verdict: the difference is explained by rounding, by the paper's 2σ, or by neither."""
    if abs(difference) <= DIGIT + 1e-9:
        return "agrees"
    if two_sigma is None:
        return "differs"
    return "within 2 sigma" if abs(difference) <= two_sigma else "outside 2 sigma"


def _table(lines: Sequence[Line]) -> Table:
    """Three rows for every experiment, and two columns for every number."""
    rows: list[tuple[str, ...]] = []
    for number, group in groupby(lines, key=lambda line: line.more["experiment"]):
        columns = list(group)
        labels = [line.quantity for line in columns]
        verdicts = [_shown_verdict(line) for line in columns]
        rows += [
            (),
            (str(number), "paper", *(cell for line in columns for cell in _cells(line, "paper", 1))),
            ("", "knnccv", *(cell for line in columns for cell in _cells(line, "knnccv", 2))),
            ("", "verdict", *(cell for verdict in verdicts for cell in (verdict, ""))),
        ]
    header = ("#", "", *(cell for label in labels for cell in (label, "time")))
    return Table("", header, tuple(rows), left=(0, 1))


def _cells(line: Line, side: str, digits: int) -> tuple[str, str]:
    value = line.record()[side]
    if value is None:
        return "-", ""
    spread, seconds = line.more[f"{side}_2sigma"], line.more[f"{side}_seconds"]
    shown = f"{value:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
    return shown, "" if seconds is None else _time(seconds)


def _time(seconds: float) -> str:
    """Tenths as printed, or two significant digits if the tenths would be 0."""
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}" if seconds >= 1e-4 else f"{seconds:.0e}"


def _shown_verdict(line: Line) -> str:
    if line.difference is None:
        return "no data"
    if line.verdict == "agrees":
        return "agrees"
    return f"{line.difference:+.2f}{SHOWN_AFTER[line.verdict]}"


def _notes(rows: Sequence[Row], lines: Sequence[Line]) -> Iterator[str]:
    for row in rows:
        yield f"Experiment {row.experiment.number}: {row.experiment.title}."
    yield (
        f"Verdicts: 'agrees' where the printed number differs by at most {DIGIT:g}, which is its "
        "rounding. Otherwise the difference, knnccv - paper, and for random trials whether it is within "
        "the paper's 2σ."
    )
    for line in lines:
        if line.verdict in ("differs", "outside 2 sigma"):
            reason = "rounding" if line.verdict == "differs" else "its 2σ"
            yield (
                f"{line.part}, {line.quantity}: knnccv {line.computed:.2f} differs from the printed "
                f"{line.paper:.1f} by {line.difference:+.2f}, more than {reason} explains."
            )
    for row in rows:
        yield from row.notes


def _draw(lines: Sequence[Line]) -> Any:
    """A panel for every experiment: the exact score, and means of trials."""
    parts = [(part, list(group)) for part, group in groupby(lines, key=lambda line: line.part)]
    figure, axes = new_figure(3.0 * len(parts) + 1, 3.6, 1, len(parts))
    for (part, group), ax in zip(parts, axes[0], strict=True):
        for at, line in enumerate(group):
            exact = line.quantity == "Exact"
            printed, computed = (
                (line.record()[side], line.more[f"{side}_2sigma"]) for side in ("paper", "knnccv")
            )
            label = "exact, now" if exact else "trials, now"
            color = EXACT_COLOR if exact else SAMPLED_COLOR
            draw_both(ax, at, printed, computed, label=label, color=color, upright=True)
            if exact:
                ax.axhline(line.computed, color=EXACT_COLOR, linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(group)), [line.quantity for line in group])
        ax.set_xlim(-0.6, len(group) - 0.4)
        ax.set_title(part, fontsize=10)
    axes[0, 0].set_ylabel("accuracy in %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3)
    return figure
