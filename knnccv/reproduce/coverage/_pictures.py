"""The picture of the study: coverage of every cell by method, and the width of the intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._picture import EXACT_COLOR, PAPER_COLOR, SAMPLED_COLOR, draw_curves, new_figure
from ._summary import CellSummary

NAMES = ("halves", "binomial", "one run, CLT", "corrected t", "nested", "Wald")


def draw_coverage(cells: list[CellSummary]) -> Any:
    """A dot for every cell: coverage by method on the left, width by the number of samples on the right."""
    figure, ((left, right),) = new_figure(9.5, 4.4, 1, 2)
    left.axhspan(92, 99.5, color=SAMPLED_COLOR, alpha=0.25, lw=0)
    left.axhline(95, color=PAPER_COLOR, lw=1, ls="--")
    drawn = {name: shares for name in NAMES if len(shares := _shares(cells, name))}
    for place, (name, shares) in enumerate(drawn.items()):
        spread = np.linspace(-0.25, 0.25, len(shares)) if len(shares) > 1 else np.zeros(1)
        color = EXACT_COLOR if name == "halves" else PAPER_COLOR
        left.plot(place + spread, shares, "o", color=color, ms=3.5, alpha=0.7)
        left.plot([place - 0.3, place + 0.3], [shares.mean()] * 2, color=color, lw=2)
    left.set_xticks(range(len(drawn)), list(drawn), rotation=20)
    left.set_xlim(-0.5, max(len(drawn), 1) - 0.5)
    left.set(ylabel="coverage of 95 % intervals (%)", ylim=(None, 101))
    curves: list[Any] = []
    for calm, marker, label in ((True, "o", "mostly no warning"), (False, "x", "mostly a warning")):
        places = [(cell.n, cell.width) for cell in cells if cell.usually_calm == calm]
        style = {"color": EXACT_COLOR, "ms": 4, "alpha": 0.7, "label": label}
        curves += [(*zip(*places, strict=True), marker, style)] if places else []
    right.axhline(1, color=PAPER_COLOR, lw=1, ls="--")
    names = {"xlabel": "number of samples", "ylabel": "width of intervals by halves / ideal width"}
    draw_curves(right, curves, {}, **names)
    return figure


def _shares(cells: list[CellSummary], name: str) -> Any:
    """Coverage in percent of the cells that have this method and mostly no warning."""
    calm = [{"halves": cell.coverage, **cell.rivals} for cell in cells if cell.usually_calm]
    return 100 * np.array([shares[name] for shares in calm if name in shares])
