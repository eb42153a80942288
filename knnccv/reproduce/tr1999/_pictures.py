"""Pictures of Table 1 of the technical report."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...plot._canvas import EXACT_COLOR, SAMPLED_COLOR
from .._comparison import PAPER_COLOR, Picture, new_figure


def of_trials(report: Any) -> tuple[Picture, ...]:
    """Exact scores and means of trials, printed and found."""
    if all(row.failure is not None for row in report.rows):
        return ()
    caption = (
        "Accuracy of every experiment: the exact score, and means of 1, 10 and 50 random trials with twice "
        "their standard deviation; gray squares as printed, dots in color as computed now."
    )
    return (Picture("accuracies", caption, partial(_draw_trials, report)),)


def _draw_trials(report: Any) -> Any:
    rows = [row for row in report.rows if row.failure is None]
    figure, axes = new_figure(3.0 * len(rows) + 1, 3.6, 1, len(rows))
    for row, ax in zip(rows, axes[0], strict=True):
        labels = list(row.experiment.paper)
        for at, label in enumerate(labels):
            ours = EXACT_COLOR if label == "Exact" else SAMPLED_COLOR
            pairs = ((row.experiment.paper[label], -0.13, PAPER_COLOR), (row.cells[label], 0.13, ours))
            for cell, shift, color in pairs:
                ax.errorbar(
                    at + shift,
                    cell.value,
                    yerr=cell.two_sigma,
                    fmt="s" if shift < 0 else "o",
                    color=color,
                    capsize=3,
                )
        ax.axhline(row.cells["Exact"].value, color=EXACT_COLOR, linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(labels)), labels)
        ax.set_xlim(-0.6, len(labels) - 0.4)
        ax.set_title(f"Experiment {row.experiment.number}", fontsize=10)
    axes[0, 0].set_ylabel("accuracy in %")
    handles = [
        axes[0, 0].plot([], [], "s", color=PAPER_COLOR)[0],
        axes[0, 0].plot([], [], "o", color=EXACT_COLOR)[0],
        axes[0, 0].plot([], [], "o", color=SAMPLED_COLOR)[0],
    ]
    figure.legend(handles, ["printed", "exact, now", "trials, now"], loc="outside lower center", ncols=3)
    return figure
