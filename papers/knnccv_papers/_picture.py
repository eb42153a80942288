"""Pictures of the reproductions: files, empty figures, and numbers beside each other."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
"""Colors of Okabe and Ito, which color-blind people can distinguish."""

LOOKS = (("s", "#3b4252"), ("o", "#b3261e"), ("D", "#8fa9cc"))
"""Marker and color of the first, second and third numbers of a panel."""

Values = tuple[Sequence[float] | Any, Sequence[float] | Any | None]
"""Numbers, and the lengths of their error bars or None."""


@dataclass(frozen=True)
class Picture:
    """A figure, drawn when its file is requested.

    Attributes
    ----------
    name, caption : str
        The name of its file without the ending, and its caption.
    draw : callable
        ``draw()`` returns a new matplotlib Figure. Reports are stored with it, so that pickle must know it.
    """

    name: str
    caption: str
    draw: Callable[[], Any]

    def png(self) -> bytes:
        """The PNG file."""
        out = io.BytesIO()
        self.draw().savefig(out, format="png", dpi=120, metadata={"Software": None})
        return out.getvalue()


class Panel(NamedTuple):
    """Numbers beside each other, such as printed and computed ones: a row for each name."""

    title: str
    names: Sequence[str]
    series: Mapping[str, Values]
    label: str = ""
    log: bool = False


def new_figure(width: float, height: float, n_rows: int = 1, n_columns: int = 1) -> tuple[Any, Any]:
    """A matplotlib Figure without a window, and its axes of shape (n_rows, n_columns)."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def beside(name: str, caption: str, panels: Sequence[Sequence[Panel]]) -> tuple[Picture, ...]:
    """The picture of rows of panels; none if there are none."""
    return (Picture(name, caption, partial(draw_panels, panels)),) if panels else ()


def draw_panels(panels: Sequence[Sequence[Panel]]) -> Any:
    """Gray squares, dots and diamonds with error bars; one legend for all."""
    sizes = [len(row[0].names) for row in panels]
    figure, grid = new_figure(10, 0.9 + 0.7 * len(sizes) + 0.28 * sum(sizes), len(panels), len(panels[0]))
    grid[0, 0].get_gridspec().set_height_ratios(sizes)
    for axes, panel in zip(grid.flat, (panel for row in panels for panel in row), strict=True):
        places, gaps = np.arange(len(panel.names)), np.linspace(-0.15, 0.15, len(panel.series))
        for (label, (values, bars)), (marker, color), gap in zip(
            panel.series.items(), LOOKS, gaps, strict=False
        ):
            style = {"fmt": marker, "color": color, "markersize": 5, "capsize": 2}
            axes.errorbar(values, places + gap, xerr=bars, label=label, **style)
        axes.set_title(panel.title, loc="left", fontsize=10)
        axes.set_yticks(places, panel.names, fontsize=8)
        axes.set(ylim=(len(places) - 0.5, -0.5), xlabel=panel.label)
        axes.grid(axis="x", alpha=0.3)
        if panel.log:
            _plain_log_axis(axes)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _plain_log_axis(axes: Any) -> None:
    """Ticks at 1, 2 and 5 times a power of ten, as plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
