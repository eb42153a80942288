"""Pictures of a surface: heat map, and scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ._canvas import canvas
from ._surface_fields import MAX_IN_LEGEND, check_surface, choose, neighbors_name, score_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    check_surface(surface)
    with canvas(ax) as axes:
        sizes, columns = np.unique(surface.train_sizes, return_index=True)
        neighbors, rows = np.unique(surface.n_neighbors, return_index=True)
        style = {"cmap": "viridis_r" if surface.is_loss else "viridis"} | kwargs
        cells = surface.scores[np.ix_(rows, columns)]
        mesh = axes.pcolormesh(_edges(sizes), _edges(neighbors), cells, **style)
        axes.figure.colorbar(mesh, ax=axes, label=score_name(surface))
        axes.plot(
            sizes,
            surface.best().n_neighbors[columns],
            "o-",
            color="white",
            markeredgecolor="black",
            markersize=max(3, min(6, 80 / len(sizes))),
            label=f"best {neighbors_name(surface)}",
        )
        if len(sizes) <= MAX_IN_LEGEND:
            axes.set_xticks(sizes)
        if len(neighbors) <= MAX_IN_LEGEND:
            axes.set_yticks(neighbors)
        axes.set_xlabel("training samples")
        axes.set_ylabel(neighbors_name(surface))
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    return axes


def as_learning_curve_display(surface: Any, n_neighbors: int | None = None) -> Any:
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
    check_surface(surface)
    (row,) = _choose_one("n_neighbors", n_neighbors, surface.n_neighbors)
    order = np.argsort(surface.train_sizes, kind="stable")
    sizes = surface.train_sizes[order]
    return _display("LearningCurveDisplay", surface, surface.scores[row, order], train_sizes=sizes)


def as_validation_curve_display(surface: Any, train_size: int | None = None) -> Any:
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

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[80])
    >>> knnccv.plot.as_validation_curve_display(result).param_range.tolist()
    [1, 5, 9]
    """
    check_surface(surface)
    (column,) = _choose_one("train_size", train_size, surface.train_sizes)
    order = np.argsort(surface.n_neighbors, kind="stable")
    name = "rank" if surface.variant == "rank" else "n_neighbors"
    along = {"param_name": name, "param_range": surface.n_neighbors[order]}
    return _display("ValidationCurveDisplay", surface, surface.scores[order, column], **along)


def _choose_one(name: str, wanted: int | None, known: Array) -> Array:
    places = choose(name, wanted, known)
    if len(places) > 1:
        msg = f"{name} must be one of those of the surface ({', '.join(map(str, known))}), got {wanted!r}"
        raise ValueError(msg)
    return places


def _display(name: str, surface: Any, scores: Array, **along: Any) -> Any:
    """A display of scikit-learn with these exact test scores, and without training scores."""
    try:
        from sklearn import model_selection
    except ImportError as error:
        msg = f"{name} needs scikit-learn: pip install 'knnccv[sklearn]'"
        raise ImportError(msg) from error
    return getattr(model_selection, name)(
        train_scores=np.full((len(scores), 1), np.nan),
        test_scores=scores[:, None],
        score_name=score_name(surface),
        **along,
    )


def _edges(values: Array) -> Array:
    """The borders of cells about increasing values, half-way between them."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])
