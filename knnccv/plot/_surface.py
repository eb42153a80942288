"""Pictures of a surface: learning and validation curves, heat map, and scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._typing import Array
from ._canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_IN_LEGEND = 10
FIELDS = ("scores", "n_neighbors", "train_sizes", "is_loss", "variant", "measure", "best")


class Surface(Protocol):
    """The fields of a result of `knnccv.surface` that the pictures read."""

    @property
    def scores(self) -> Array: ...

    @property
    def n_neighbors(self) -> Array: ...

    @property
    def train_sizes(self) -> Array: ...

    @property
    def is_loss(self) -> bool: ...

    @property
    def variant(self) -> str: ...

    @property
    def measure(self) -> str: ...

    def best(self, train_size: int | None = None) -> Any:
        """Return the best number of neighbors and its score."""


def learning_curve(
    surface: Surface, n_neighbors: Any = None, ax: Axes | None = None, **kwargs: Any
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
        If a number of neighbors is not one of the surface.
    ImportError
        If matplotlib is missing.

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
    _check_surface(surface)
    rows = _choose("n_neighbors", n_neighbors, surface.n_neighbors)
    return _curves(
        surface,
        ("training samples", surface.train_sizes),
        (_neighbors_name(surface), surface.n_neighbors[rows]),
        surface.scores[rows],
        ax,
        kwargs,
    )


def validation_curve(
    surface: Surface, train_sizes: Any = None, ax: Axes | None = None, **kwargs: Any
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
        If a size is not one of the surface.
    ImportError
        If matplotlib is missing.

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
    _check_surface(surface)
    columns = _choose("train_sizes", train_sizes, surface.train_sizes)
    return _curves(
        surface,
        (_neighbors_name(surface), surface.n_neighbors),
        ("training samples", surface.train_sizes[columns]),
        surface.scores[:, columns].T,
        ax,
        kwargs,
    )


def surface(surface: Surface, ax: Axes | None = None, **kwargs: Any) -> Axes:
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
    _check_surface(surface)
    with canvas(ax) as axes:
        sizes, columns = np.unique(surface.train_sizes, return_index=True)
        neighbors, rows = np.unique(surface.n_neighbors, return_index=True)
        style = {"cmap": "viridis_r" if surface.is_loss else "viridis"} | kwargs
        cells = surface.scores[np.ix_(rows, columns)]
        mesh = axes.pcolormesh(_edges(sizes), _edges(neighbors), cells, **style)
        axes.figure.colorbar(mesh, ax=axes, label=_score_name(surface))
        axes.plot(
            sizes,
            surface.best().n_neighbors[columns],
            "o-",
            color="white",
            markeredgecolor="black",
            markersize=max(3, min(6, 80 / len(sizes))),
            label=f"best {_neighbors_name(surface)}",
        )
        if len(sizes) <= MAX_IN_LEGEND:
            axes.set_xticks(sizes)
        if len(neighbors) <= MAX_IN_LEGEND:
            axes.set_yticks(neighbors)
        axes.set_xlabel("training samples")
        axes.set_ylabel(_neighbors_name(surface))
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    return axes


def as_learning_curve_display(surface: Surface, n_neighbors: int | None = None) -> Any:
    """Return a row of the surface as scikit-learn's ``LearningCurveDisplay`` (extra ``[sklearn]``).

    Draw it by ``.plot(score_type="test", std_display_style=None)``: the exact mean has no spread, and
    there are no training scores (they are NaN).

    Parameters
    ----------
    surface : Surface
        The result of `knnccv.surface`.
    n_neighbors : int, optional
        One of ``surface.n_neighbors``; required if there are several.

    Returns
    -------
    sklearn.model_selection.LearningCurveDisplay
        ``train_sizes`` of shape (n_sizes,), increasing; ``test_scores`` of shape (n_sizes, 1).

    Raises
    ------
    TypeError, ValueError
        If `surface` has another type, or the number of neighbors is not one of the surface.
    ImportError
        If scikit-learn is missing.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> display = knnccv.plot.as_learning_curve_display(result, n_neighbors=5)
    >>> display.train_sizes, display.test_scores.round(3).ravel()
    (array([ 40,  80, 160]), array([0.684, 0.691, 0.692]))
    """
    _check_surface(surface)
    (row,) = _choose_one("n_neighbors", n_neighbors, surface.n_neighbors)
    order = np.argsort(surface.train_sizes, kind="stable")
    sizes = surface.train_sizes[order]
    return _display("LearningCurveDisplay", surface, surface.scores[row, order], train_sizes=sizes)


def as_validation_curve_display(surface: Surface, train_size: int | None = None) -> Any:
    """Return a column of the surface as scikit-learn's ``ValidationCurveDisplay`` (extra ``[sklearn]``).

    Draw it by ``.plot(score_type="test", std_display_style=None)``: the exact mean has no spread, and
    there are no training scores (they are NaN).

    Parameters
    ----------
    surface : Surface
        The result of `knnccv.surface`.
    train_size : int, optional
        One of ``surface.train_sizes``; required if there are several.

    Returns
    -------
    sklearn.model_selection.ValidationCurveDisplay
        ``param_range`` of shape (n_K,), increasing; ``test_scores`` of shape (n_K, 1).

    Raises
    ------
    TypeError, ValueError
        If `surface` has another type, or the size is not one of the surface.
    ImportError
        If scikit-learn is missing.
    """
    _check_surface(surface)
    (column,) = _choose_one("train_size", train_size, surface.train_sizes)
    order = np.argsort(surface.n_neighbors, kind="stable")
    name = "rank" if surface.variant == "rank" else "n_neighbors"
    along = {"param_name": name, "param_range": surface.n_neighbors[order]}
    return _display("ValidationCurveDisplay", surface, surface.scores[order, column], **along)


def _curves(
    surface: Surface,
    along: tuple[str, Array],
    lines: tuple[str, Array],
    scores: Array,
    ax: Axes | None,
    kwargs: Mapping[str, Any],
) -> Axes:
    """Row l of `scores` against the values of `along`, labeled by value l of `lines`."""
    with canvas(ax) as axes:
        import matplotlib as mpl

        given = mpl.cbook.normalize_kwargs(dict(kwargs), mpl.lines.Line2D)
        (x_name, x), (line_name, values) = along, lines
        order = np.argsort(x, kind="stable")
        named = len(values) <= MAX_IN_LEGEND
        by_value = np.argsort(values, kind="stable")
        # Evenly spaced colors distinguish few lines best; a color bar must be true to the values.
        shades = np.argsort(by_value) if named else values
        norm = mpl.colors.Normalize(shades.min(), shades.max())
        # The bright end of viridis cannot be read as a line on white.
        colors = mpl.colors.ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.88, 256)))
        for at in by_value:
            style = {"color": colors(norm(shades[at])), "label": f"{values[at]}", "marker": "."} | given
            axes.plot(x[order], scores[at][order], **style)
        axes.set_xlabel(x_name)
        axes.set_ylabel(_score_name(surface))
        if named:
            axes.legend(title=line_name)
        elif "color" not in given:
            axes.figure.colorbar(mpl.cm.ScalarMappable(norm, colors), ax=axes, label=line_name)
    return axes


def _check_surface(surface: Any) -> None:
    if not all(hasattr(surface, name) for name in FIELDS):
        msg = f"surface must be a result of knnccv.surface, got {surface!r}"
        raise TypeError(msg)


def _choose(name: str, wanted: Any, known: Array) -> Array:
    """The positions of the wanted values among the known ones; all positions for None."""
    if wanted is None:
        return np.arange(len(known))
    places = []
    for value in np.atleast_1d(wanted).tolist():
        found = np.flatnonzero(known == value)
        if not len(found):
            msg = f"{name} must be among those of the surface ({', '.join(map(str, known))}), got {value!r}"
            raise ValueError(msg)
        places.append(found[0])
    if not places:
        msg = f"{name} must hold at least one number, got {wanted!r}"
        raise ValueError(msg)
    return np.array(places)


def _choose_one(name: str, wanted: int | None, known: Array) -> Array:
    places = _choose(name, wanted, known)
    if len(places) > 1:
        msg = f"{name} must be one of those of the surface ({', '.join(map(str, known))}), got {wanted!r}"
        raise ValueError(msg)
    return places


def _display(name: str, surface: Surface, scores: Array, **along: Any) -> Any:
    """A display of scikit-learn with these exact test scores, and without training scores."""
    try:
        from sklearn import model_selection
    except ImportError as error:
        msg = f"{name} needs scikit-learn: pip install 'knnccv[sklearn]'"
        raise ImportError(msg) from error
    return getattr(model_selection, name)(
        train_scores=np.full((len(scores), 1), np.nan),
        test_scores=scores[:, None],
        score_name=_score_name(surface),
        **along,
    )


def _neighbors_name(surface: Surface) -> str:
    return "R" if surface.variant == "rank" else "K"


def _score_name(surface: Surface) -> str:
    return surface.measure or ("expected loss" if surface.is_loss else "mean score")


def _edges(values: Array) -> Array:
    """The borders of cells about increasing values, half-way between them."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])
