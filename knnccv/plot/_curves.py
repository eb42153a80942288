"""Learning curves and validation curves of a surface, with bands for the luck of the data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from .._validation import fixed_seed
from ._canvas import canvas
from ._surface_fields import MAX_IN_LEGEND, check_surface, choose, neighbors_name, score_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CIRCLE: dict[str, Any] = {"marker": "o", "fillstyle": "none", "markersize": 7}


def learning_curve(
    surface: Any,
    n_neighbors: Any = None,
    ax: Axes | None = None,
    *,
    interval: float | None = None,
    n_halvings: int = 200,
    groups: Any = None,
    random_state: Any = 0,
    **kwargs: Any,
) -> Axes:
    """Draw the score against the size of the training set, one line per number of neighbors.

    Parameters
    ----------
    surface : Surface
        The result of `knnccv.surface`.
    n_neighbors : int or sequence of int, optional
        The values of ``surface.n_neighbors`` to draw. Default: all.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    interval : float, optional
        The confidence level of shaded bands, such as 0.95: `Surface.confidence_interval`, the luck of the
        data. Default: no bands.
    n_halvings, groups, random_state
        As for `Surface.confidence_interval`.
    **kwargs
        For ``Axes.plot``, of every line.

    Returns
    -------
    Axes
        The axes; a legend names up to ten lines, a color bar more of them.

    Raises
    ------
    TypeError
        If `surface` or `ax` has another type.
    ValueError
        If a number of neighbors is not one of the surface; with `interval` as
        `Surface.confidence_interval`.
    ImportError
        If matplotlib is missing.

    Warns
    -----
    InferenceWarning
        As `Surface.standard_error`, with `interval`.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> axes = knnccv.plot.learning_curve(result, n_neighbors=[1, 9])
    >>> [line.get_label() for line in axes.lines]
    ['1', '9']
    """
    how = {"n_halvings": n_halvings, "groups": groups, "random_state": random_state}
    return _curves(surface, ("n_neighbors", n_neighbors), ax, interval, how, kwargs)


def validation_curve(
    surface: Any,
    train_sizes: Any = None,
    ax: Axes | None = None,
    *,
    interval: float | None = None,
    n_halvings: int = 200,
    groups: Any = None,
    random_state: Any = 0,
    **kwargs: Any,
) -> Axes:
    """Draw the score against the number of neighbors, one line per size of the training set.

    Parameters
    ----------
    surface : Surface
        The result of `knnccv.surface`.
    train_sizes : int or sequence of int, optional
        The values of ``surface.train_sizes`` to draw. Default: all.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    interval : float, optional
        The confidence level of shaded bands, such as 0.95: `Surface.confidence_interval`, the luck of the
        data. Circles then mark the numbers of neighbors that are not significantly worse than the best
        (`Surface.not_worse`). Default: neither.
    n_halvings, groups, random_state
        As for `Surface.confidence_interval`.
    **kwargs
        For ``Axes.plot``, of every line.

    Returns
    -------
    Axes
        The axes; a legend names up to ten lines, a color bar more of them.

    Raises
    ------
    TypeError
        If `surface` or `ax` has another type.
    ValueError
        If a size is not one of the surface; with `interval` as
        `Surface.confidence_interval`.
    ImportError
        If matplotlib is missing.

    Warns
    -----
    InferenceWarning
        As `Surface.standard_error`, with `interval`.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> axes = knnccv.plot.validation_curve(result, train_sizes=160)
    >>> axes.get_xlabel(), axes.lines[0].get_xdata().tolist()
    ('K', [1, 5, 9])
    """
    how = {"n_halvings": n_halvings, "groups": groups, "random_state": random_state}
    return _curves(surface, ("train_sizes", train_sizes), ax, interval, how, kwargs)


def _curves(
    surface: Any,
    wanted: tuple[str, Any],
    ax: Axes | None,
    interval: float | None,
    how: dict[str, Any],
    kwargs: Mapping[str, Any],
) -> Axes:
    """A line for each wanted value of one axis of the surface, over the values of the other axis."""
    check_surface(surface, with_interval=interval is not None)
    over_sizes = wanted[0] == "n_neighbors"
    sizes = ("training samples", surface.train_sizes)
    numbers = (neighbors_name(surface), surface.n_neighbors)
    (x_name, x), (line_name, known) = (sizes, numbers) if over_sizes else (numbers, sizes)
    chosen = choose(*wanted, known)
    values = known[chosen]

    def lines_of(table: Array) -> Array:
        return table[chosen] if over_sizes else table[:, chosen].T

    scores, bands = lines_of(surface.scores), None
    if interval is not None:
        how["random_state"] = fixed_seed(how["random_state"])  # the same halves twice
        found = surface.confidence_interval(interval, **how)
        kept = None
        if not over_sizes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # given above
                kept = lines_of(surface.not_worse(interval, **how))
        bands = Bands(interval, lines_of(found.low), lines_of(found.high), kept)
    with canvas(ax) as axes:
        import matplotlib as mpl

        given = mpl.cbook.normalize_kwargs(dict(kwargs), mpl.lines.Line2D)
        order = np.argsort(x, kind="stable")
        named = len(values) <= MAX_IN_LEGEND
        by_value = np.argsort(values, kind="stable")
        # Evenly spaced colors distinguish few lines best; a color bar must be true to the values.
        shades = np.argsort(by_value) if named else values
        norm = mpl.colors.Normalize(shades.min(), shades.max())
        # The bright end of viridis cannot be read as a line on white.
        colors = mpl.colors.ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.88, 256)))
        shown = []
        for at in by_value:
            style = {"color": colors(norm(shades[at])), "label": f"{values[at]}", "marker": "."} | given
            shown += axes.plot(x[order], scores[at][order], **style)
        handles = []
        if bands is not None:
            for at, line in zip(by_value, shown, strict=True):
                bands.draw(axes, at, order, line)
            handles = bands.in_legend()
        axes.set_xlabel(x_name)
        axes.set_ylabel(score_name(surface))
        if named:
            axes.legend(title=line_name)
        elif "color" not in given:
            axes.figure.colorbar(mpl.cm.ScalarMappable(norm, colors), ax=axes, label=line_name)
        if handles:
            _add_legend_above(axes, handles)
    return axes


@dataclass(frozen=True)
class Bands:
    """Intervals of lines, all arrays of shape (n_lines, n_points), and the points to mark, if any."""

    level: float
    low: Array
    high: Array
    marked: Array | None = None

    def draw(self, axes: Axes, line: int, order: Array, drawn: Any) -> None:
        """The band of a line, its points in this order, and its marks."""
        color = drawn.get_color()
        x, y = drawn.get_xdata(), drawn.get_ydata()
        low, high = self.low[line][order], self.high[line][order]
        axes.fill_between(x, low, high, color=color, alpha=min(0.18, 1 / len(self.low)), lw=0)
        if self.marked is not None:
            kept = self.marked[line][order]
            axes.plot(x[kept], y[kept], color=color, linestyle="none", label="_marks", **CIRCLE)

    def in_legend(self) -> list[Any]:
        """Handles that name the bands and the marks."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        percent = f"{100 * self.level:g} %"
        name = f"{percent} interval (luck of the data)"
        handles: list[Any] = [Patch(color="gray", alpha=0.3, lw=0, label=name)]
        if self.marked is not None:
            name = f"not worse than the best ({percent})"
            handles.append(Line2D([], [], color="gray", linestyle="none", label=name, **CIRCLE))
        return handles


def _add_legend_above(axes: Axes, handles: list[Any]) -> None:
    """A second legend, above the axes; the first one stays."""
    from matplotlib.legend import Legend

    labels = [handle.get_label() for handle in handles]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2}
    legend = Legend(axes, handles, labels, frameon=False, fontsize="small", **place)
    axes.add_artist(legend)
    legend.set_clip_on(False)  # otherwise the layout makes no room for it
