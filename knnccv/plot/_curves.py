"""Axes and curves with bands, which all pictures share; learning and validation curves, and heat maps."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.refusals import need
from .._base.typing import Array
from .._base.validation import check, fixed_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_IN_LEGEND = 10
FIELDS = ("scores", "n_neighbors", "train_sizes", "is_loss", "symbol", "measure", "best")
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
        check(isinstance(ax, Axes), "ax must be a matplotlib Axes or None", ax, TypeError)
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


def surface(surface: Any, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw a heat map of the score over training size and number of neighbors, the best number marked.

    Cells extend half-way to the next value, so that the axes are true to scale. Brighter is better, also
    for losses.

    Parameters
    ----------
    surface : Surface
        The result of `knnccv.surface`.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    **kwargs
        For ``Axes.pcolormesh``.

    Returns
    -------
    Axes
        The axes, with a color bar beside them; `Surface.best` of every training size is marked.

    Raises
    ------
    TypeError
        If `surface` or `ax` has another type.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> axes = knnccv.plot.surface(result)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('training samples', 'K')
    """
    check_fields("surface", surface, FIELDS, "knnccv.surface")
    with canvas(ax) as axes:
        sizes, columns = np.unique(surface.train_sizes, return_index=True)
        neighbors, rows = np.unique(surface.n_neighbors, return_index=True)
        style = {"cmap": "viridis_r" if surface.is_loss else "viridis"} | kwargs
        cells = surface.scores[np.ix_(rows, columns)]
        mesh = axes.pcolormesh(_edges(sizes), _edges(neighbors), cells, **style)
        axes.figure.colorbar(mesh, ax=axes, label=_score_name(surface))
        look: Any = {"color": "white", "markeredgecolor": "black", "label": f"best {surface.symbol}"}
        size = max(3, min(6, 80 / len(sizes)))
        axes.plot(sizes, surface.best().n_neighbors[columns], "o-", markersize=size, **look)
        if len(sizes) <= MAX_IN_LEGEND:
            axes.set_xticks(sizes)
        if len(neighbors) <= MAX_IN_LEGEND:
            axes.set_yticks(neighbors)
        axes.set(xlabel="training samples", ylabel=surface.symbol)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    return axes


def _curves(
    surface: Any,
    wanted: tuple[str, Any],
    ax: Axes | None,
    interval: float | None,
    how: dict[str, Any],
    kwargs: Mapping[str, Any],
) -> Axes:
    """A line for each wanted value of one axis of the surface, over the values of the other axis."""
    needed = FIELDS if interval is None else (*FIELDS, "confidence_interval", "not_worse")
    check_fields("surface", surface, needed, "knnccv.surface")
    over_sizes = wanted[0] == "n_neighbors"
    sizes = ("training samples", surface.train_sizes)
    numbers = (surface.symbol, surface.n_neighbors)
    (x_name, x), (line_name, known) = (sizes, numbers) if over_sizes else (numbers, sizes)
    chosen = _choose(*wanted, known)
    chosen, order = chosen[np.argsort(known[chosen], kind="stable")], np.argsort(x, kind="stable")
    tables = [surface.scores]
    if interval is not None:
        how["random_state"] = fixed_seed(how["random_state"])  # the same halves twice
        found = surface.confidence_interval(interval, **how)
        tables += [found.low, found.high]
        if not over_sizes:
            with warnings.catch_warnings(action="ignore"):  # given above
                tables.append(surface.not_worse(interval, **how))
    lines = [(table if over_sizes else table.T)[np.ix_(chosen, order)] for table in tables]
    with canvas(ax) as axes:
        named = len(chosen) <= MAX_IN_LEGEND
        # Evenly spaced colors distinguish few lines best; a color bar must be true to the values.
        values = np.arange(len(chosen)) if named else known[chosen]
        colors, shades = colors_of(values)
        parts = zip(known[chosen], colors, *lines, strict=True)
        curves = [Curve(str(value), color, x[order], *rows) for value, color, *rows in parts]
        draw_curves(axes, curves, kwargs)
        axes.set(xlabel=x_name, ylabel=_score_name(surface))
        if named:
            axes.legend(title=line_name)
        elif {"color", "c"}.isdisjoint(kwargs):
            axes.figure.colorbar(shades, ax=axes, label=line_name)
        if interval is not None:
            _explain(axes, f"{100 * interval:g} %", marked=not over_sizes)
    return axes


def _explain(axes: Axes, percent: str, marked: bool) -> None:
    """Name bands and marks in a second legend, above the axes; the first one stays."""
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    handles = [band_in_legend(f"{percent} interval (luck of the data)")]
    if marked:
        handles.append(Line2D([], [], color="gray", label=f"not worse than the best ({percent})", **CIRCLE))
    labels = [handle.get_label() for handle in handles]
    legend = Legend(axes, handles, labels, ncols=2, **ABOVE)
    axes.add_artist(legend)
    legend.set_clip_on(False)  # otherwise the layout makes no room for it


def _choose(name: str, wanted: Any, known: Array) -> Array:
    """The positions of the wanted values among the known ones; all positions for None."""
    if wanted is None:
        return np.arange(len(known))
    places = []
    for value in np.atleast_1d(wanted).tolist():
        found = np.flatnonzero(known == value)
        must = f"{name} must be among those of the surface ({', '.join(map(str, known))})"
        check(len(found), must, value)
        places.append(found[0])
    check(places, f"{name} must hold at least one number", wanted)
    return np.array(places)


def _score_name(surface: Any) -> str:
    return surface.measure or ("expected loss" if surface.is_loss else "mean score")


def _edges(values: Array) -> Array:
    """The borders of cells about increasing values, half-way between them."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])
