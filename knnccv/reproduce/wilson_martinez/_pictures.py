"""Pictures of Table 1 of Wilson and Martinez."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...plot._canvas import EXACT_COLOR
from .._comparison import PAPER_COLOR, Picture, new_figure


def of_sets(report: Any) -> tuple[Picture, ...]:
    """What tuning by CVC brings over static votes, set by set, printed and found."""
    if not report.found:
        return ()
    caption = (
        "Gain of RIB tuned by CVC over three plain votes, in points of accuracy, data set by data set, in "
        "the order of the gains computed now: squares as printed, dots now, with the standard deviation "
        "over the seeds."
    )
    return (Picture("gains", caption, partial(_draw_gains, report)),)


def _draw_gains(report: Any) -> Any:
    rows = report.found
    ours = report.ours("cvc") - report.ours("static")
    paper = report.printed("cvc") - report.printed("static")
    order = ours.argsort()
    figure, axes = new_figure(7.5, 0.24 * len(rows) + 1.6)
    ax = axes[0, 0]
    ax.axvline(0, color="#888888", linewidth=0.8)
    ax.axvline(float(ours.mean()), color=EXACT_COLOR, linewidth=0.8, linestyle="--")
    for place, at in enumerate(order):
        gaps = (rows[at].scores["cvc"] - rows[at].scores["static"]).mean(axis=1)
        spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else None
        ax.plot(paper[at], place, "s", color=PAPER_COLOR, markersize=4)
        ax.errorbar(ours[at], place, xerr=spread, fmt="o", color=EXACT_COLOR, markersize=5, capsize=2)
    ax.set_yticks(range(len(rows)), [rows[at].name for at in order], fontsize=8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel("CVC - static, points of accuracy")
    handles = [
        ax.plot([], [], "s", color=PAPER_COLOR)[0],
        ax.plot([], [], "o", color=EXACT_COLOR)[0],
        ax.plot([], [], "--", color=EXACT_COLOR)[0],
    ]
    ax.legend(handles, ["printed", "now", "mean now"], loc="lower right")
    return figure
