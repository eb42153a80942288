"""Pictures of the reproductions: files, empty figures, and printed beside computed numbers."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..plot._canvas import EXACT_COLOR as EXACT_COLOR
from ..plot._canvas import SAMPLED_COLOR as SAMPLED_COLOR

PAPER_COLOR = "#3b4252"
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
"""Colors of Okabe and Ito, which color-blind people can distinguish."""

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
        ``draw()`` returns a new matplotlib Figure.
    content : bytes
        The PNG file if the picture comes from the cache; empty otherwise.
    """

    name: str
    caption: str
    draw: Callable[[], Any]
    content: bytes = b""

    def png(self) -> bytes:
        """The PNG file.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        if self.content:
            return self.content
        out = io.BytesIO()
        self.draw().savefig(out, format="png", dpi=120, metadata={"Software": None})
        return out.getvalue()


def new_figure(width: float, height: float, n_rows: int = 1, n_columns: int = 1) -> tuple[Any, Any]:
    """A matplotlib Figure without a window, and its axes of shape (n_rows, n_columns).

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


def draw_both(
    axes: Any,
    places: Any,
    printed: Values,
    computed: Values,
    *,
    label: str = "computed",
    color: str = EXACT_COLOR,
    gap: float = 0.13,
    upright: bool = False,
) -> None:
    """Draw printed numbers as gray squares and computed ones as dots, with error bars.

    The pairs stand at `places` on the other axis, `gap` below and above it; with `upright` the numbers are
    heights. `label` and `color` are those of the computed numbers.
    """
    sides = (("printed", "s", PAPER_COLOR, -gap, printed), (label, "o", color, gap, computed))
    for name, marker, shade, shift, (values, bars) in sides:
        points = (places + shift, values) if upright else (values, places + shift)
        bar = {"yerr" if upright else "xerr": bars}
        axes.errorbar(*points, **bar, fmt=marker, color=shade, markersize=5, capsize=2, label=name)
