"""Curves as text, drawn by plotext.

Every line has a sign of its own, so that the lines can be told apart without colors.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from .options import need

SIGNS = "*o+x#@%&"
"""The signs of the lines; there are at most this many lines."""

COLORS = ("blue", "orange", "green", "red", "magenta", "cyan", "blue+", "red+")
ASCII = str.maketrans("─│┌┐└┘┬┴├┤┼", "-|+++++++++")
MOST_COLUMNS, HEIGHT = 160, 18


def load() -> Any:
    """The package plotext; ImportError if it is missing."""
    what = "the plot on the terminal needs plotext, --json and --out need nothing"
    return need("plotext", "cli", what)


def shows_colors() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def shows_frames() -> bool:
    """Return True if the encoding of standard output has the characters of frames."""
    try:
        "─┤".encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def draw(
    x: Sequence[float],
    lines: Sequence[tuple[str, Sequence[float]]],
    *,
    x_name: str,
    y_name: str,
    legend: str,
    colored: bool,
    framed: bool = True,
) -> str:
    """The lines as text, as wide as the terminal.

    Parameters
    ----------
    x : sequence of float
        The horizontal places, ascending.
    lines : sequence of at most ``len(SIGNS)`` pairs
        Label and heights of every line; heights that are not finite are left out.
    x_name, y_name, legend : str
        What the axes show, and what the labels are.
    colored : bool
        With the control characters of colors.
    framed : bool, default True
        With the characters of frames in place of ASCII.

    Raises
    ------
    ImportError
        If plotext is missing.
    """
    plotext = load()
    figure = plotext.figure
    figure.clear()
    try:
        width = min(shutil.get_terminal_size((80, 24)).columns, MOST_COLUMNS)
        figure.plot_size(max(width, 40), HEIGHT)
        figure.theme("colorless")
        figure.title(y_name)
        figure.label(x_name, "x")
        heights = [value for _, line in lines for value in line if math.isfinite(value)]
        if not heights:
            return f"{y_name}: no finite value to draw"
        figure.ruler("y", 0).lim(*_limits(heights))
        figure.ruler("x", 0).lim(*_limits(x))
        figure.ruler("x", 0).ticks(list(x), [f"{value:g}" for value in x])
        key = []
        for (label, line), sign, color in zip(lines, SIGNS, COLORS, strict=False):
            # plotext ends the process at a height that is not finite.
            shown = [(at, value) for at, value in zip(x, line, strict=True) if math.isfinite(value)]
            key.append(_colored(f"{sign} {label}", color, plotext) if colored else f"{sign} {label}")
            if shown:
                marker = plotext.marker(sign, color) if colored else sign
                signal = figure.signal(*map(list, zip(*shown, strict=True)), marker=marker)
                figure.draw(signal.lines())
        text = str(figure.build())
    finally:
        figure.clear()
    if not colored:
        text = plotext.uncolorize(text)
    rows = [row.rstrip() for row in text.splitlines() if row.strip()]
    text = "\n".join([*rows, f"{legend}:  {'   '.join(key)}"])
    return text if framed else text.translate(ASCII)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values, of a positive length."""
    low, high = min(values), max(values)
    if low < high:
        return low, high
    margin = 0.05 * abs(low) or 0.05
    return low - margin, high + margin


def _colored(text: str, color: str, plotext: Any) -> str:
    return str(plotext.colorize(text, color))
