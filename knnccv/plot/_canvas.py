"""What all pictures share: axes, colors, curves with bands, and the check of the results to draw."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.refusals import need
from .._base.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT_COLOR = "#b3261e"
SAMPLED_COLOR = "#8fa9cc"
CIRCLE: dict[str, Any] = {"marker": "o", "fillstyle": "none", "markersize": 7, "linestyle": "none"}
ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0, 1), "frameon": False, "fontsize": "small",
}  # fmt: skip
"""A legend above the axes."""


class Curve(NamedTuple):
    """A line to draw, and if they are given its band from `low` to `high` and its `marked` points."""

    label: str
    color: Any
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    marked: Array | None = None


def check_fields(name: str, result: Any, fields: Sequence[str], source: str) -> None:
    """Raise TypeError unless the argument `name` has the attributes of a result of `source`."""
    # The class is asked first: a property may raise an error of its own.
    missing = [field for field in fields if not (hasattr(type(result), field) or hasattr(result, field))]
    if missing:
        lacking = f"which has no {', '.join(missing)}"
        msg = f"{name} must be a result of {source}, got {reprlib.repr(result)}, {lacking}"
        raise TypeError(msg)


@contextmanager
def canvas(ax: Any) -> Iterator[Axes]:
    """The axes to draw on; for None those of a new figure, which is closed again if drawing fails.

    Raises
    ------
    TypeError
        If `ax` is not a matplotlib Axes or None.
    ImportError
        If matplotlib is missing.
    """
    Axes = need("matplotlib.axes", "plot", "knnccv.plot needs matplotlib").Axes
    if ax is not None:
        if not isinstance(ax, Axes):
            msg = f"ax must be a matplotlib Axes or None, got {ax!r}"
            raise TypeError(msg)
        yield ax
        return
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    try:
        yield ax
    except BaseException:
        plt.close(figure)
        raise


def colors_of(values: Array) -> tuple[list[Any], Any]:
    """Colors of values, such as the numbers of lines, and the mappable that gives them."""
    import matplotlib as mpl

    # The bright end of viridis cannot be read as a line on white.
    colors = mpl.colors.ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.88, 256)))
    shades = mpl.cm.ScalarMappable(mpl.colors.Normalize(values.min(), values.max()), colors)
    return list(map(tuple, shades.to_rgba(values))), shades


def draw_curves(axes: Axes, curves: Sequence[Curve], kwargs: Mapping[str, Any]) -> None:
    """Draw curves, their bands and marks; `kwargs` are the caller's for ``Axes.plot``, of every line."""
    import matplotlib as mpl

    given = mpl.cbook.normalize_kwargs(dict(kwargs), mpl.lines.Line2D)
    lines = []
    for one in curves:
        style = {"color": one.color, "label": one.label, "marker": "."} | given
        lines += axes.plot(one.x, one.y, **style)
    for one, line in zip(curves, lines, strict=True):
        color: Any = line.get_color()
        if one.low is not None and one.high is not None:
            alpha = min(0.18, 1 / len(curves))
            axes.fill_between(one.x, one.low, one.high, color=color, alpha=alpha, lw=0)
        if one.marked is not None:
            axes.plot(one.x[one.marked], one.y[one.marked], color=color, label="_marks", **CIRCLE)


def band_in_legend(label: str) -> Any:
    """A handle that names the bands."""
    from matplotlib.patches import Patch

    return Patch(color="gray", alpha=0.3, lw=0, label=label)
