"""Pictures of the two tables of accuracies: the technical report's, and Wilson and Martinez's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ._comparison import Picture, new_figure
from ._plot_canvas import EXACT_COLOUR, SAMPLED_COLOUR

if TYPE_CHECKING:
    from ._report import Report
    from ._wm_report import WilsonMartinezReport

PAPER_COLOUR = "#3b4252"


def of_trials(report: Report) -> tuple[Picture, ...]:
    """Exact scores and means of trials, printed and found."""
    if all(row.failure is not None for row in report.rows):
        return ()
    caption = (
        "Accuracy of every experiment: the exact score, and means of 1, 10 and 50 random trials with twice "
        "their standard deviation; grey squares as printed, dots in colour as computed now."
    )
    return (Picture("accuracies", caption, partial(_draw_trials, report)),)


def _draw_trials(report: Report) -> Any:
    rows = [row for row in report.rows if row.failure is None]
    figure, axes = new_figure(3.0 * len(rows) + 1, 3.6, 1, len(rows))
    for row, ax in zip(rows, axes[0], strict=True):
        labels = list(row.experiment.paper)
        for at, label in enumerate(labels):
            ours = EXACT_COLOUR if label == "Exact" else SAMPLED_COLOUR
            pairs = ((row.experiment.paper[label], -0.13, PAPER_COLOUR), (row.cells[label], 0.13, ours))
            for cell, shift, colour in pairs:
                ax.errorbar(
                    at + shift,
                    cell.value,
                    yerr=cell.two_sigma,
                    fmt="s" if shift < 0 else "o",
                    color=colour,
                    capsize=3,
                )
        ax.axhline(row.cells["Exact"].value, color=EXACT_COLOUR, linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(labels)), labels)
        ax.set_xlim(-0.6, len(labels) - 0.4)
        ax.set_title(f"Experiment {row.experiment.number}", fontsize=10)
    axes[0, 0].set_ylabel("accuracy in %")
    handles = [
        axes[0, 0].plot([], [], "s", color=PAPER_COLOUR)[0],
        axes[0, 0].plot([], [], "o", color=EXACT_COLOUR)[0],
        axes[0, 0].plot([], [], "o", color=SAMPLED_COLOUR)[0],
    ]
    figure.legend(handles, ["printed", "exact, now", "trials, now"], loc="outside lower center", ncols=3)
    return figure


def of_sets(report: WilsonMartinezReport) -> tuple[Picture, ...]:
    """What tuning by CVC brings over static votes, set by set, printed and found."""
    if not report.found:
        return ()
    caption = (
        "Gain of RIB tuned by CVC over three plain votes, in points of accuracy, data set by data set, in "
        "the order of the gains computed now: squares as printed, dots now, with the standard deviation "
        "over the seeds."
    )
    return (Picture("gains", caption, partial(_draw_gains, report)),)


def _draw_gains(report: WilsonMartinezReport) -> Any:
    rows = report.found
    ours = report.ours("cvc") - report.ours("static")
    paper = report.printed("cvc") - report.printed("static")
    order = ours.argsort()
    figure, axes = new_figure(7.5, 0.24 * len(rows) + 1.6)
    ax = axes[0, 0]
    ax.axvline(0, color="#888888", linewidth=0.8)
    ax.axvline(float(ours.mean()), color=EXACT_COLOUR, linewidth=0.8, linestyle="--")
    for place, at in enumerate(order):
        gaps = (rows[at].scores["cvc"] - rows[at].scores["static"]).mean(axis=1)
        spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else None
        ax.plot(paper[at], place, "s", color=PAPER_COLOUR, markersize=4)
        ax.errorbar(ours[at], place, xerr=spread, fmt="o", color=EXACT_COLOUR, markersize=5, capsize=2)
    ax.set_yticks(range(len(rows)), [rows[at].name for at in order], fontsize=8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel("CVC - static, points of accuracy")
    handles = [
        ax.plot([], [], "s", color=PAPER_COLOUR)[0],
        ax.plot([], [], "o", color=EXACT_COLOUR)[0],
        ax.plot([], [], "--", color=EXACT_COLOUR)[0],
    ]
    ax.legend(handles, ["printed", "now", "mean now"], loc="lower right")
    return figure
