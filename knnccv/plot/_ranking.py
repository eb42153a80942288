"""Several results on a line, with bars over those that do not differ significantly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from ._canvas import EXACT_COLOR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIELDS = ("names", "scores", "measure", "is_loss", "cliques")
BAR = 0.45
"""Height of a bar and the space below it; that of a name is 1."""


def critical_difference(
    comparisons: Any, ax: Axes | None = None, confidence_level: float = 0.95, **kwargs: Any
) -> Axes:
    """Draw the scores of several results on a line, with bars over those that do not differ significantly.

    The better results are on the right. A bar covers neighboring results of which no two differ
    significantly after Holm's correction (`Comparisons.cliques`). A name without a bar differs from all
    others.

    Parameters
    ----------
    comparisons : Comparisons
        The result of `knnccv.compare_all`.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    confidence_level : float, default 0.95
        In (0, 1).
    **kwargs
        For ``Axes.plot``, which draws the bars.

    Returns
    -------
    Axes
        The axes. Each name is followed by its score.

    Raises
    ------
    TypeError
        If `comparisons` or `ax` has another type.
    ValueError
        If the level is not in (0, 1).
    ImportError
        If matplotlib is missing.

    Notes
    -----
    After J. Demšar, "Statistical Comparisons of Classifiers over Multiple Data Sets", Journal of Machine
    Learning Research 7, 2006, figure 1. There the line has mean ranks over several data sets, and all
    differences one critical value. Here it has the exact scores on one data set, and every pair its own
    test.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv import KFold, compare_all, complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> rules = {f"K={k}": complete_cv(wine.X, wine.y, cv=KFold(5), n_neighbors=k) for k in (1, 5, 15)}
    >>> axes = knnccv.plot.critical_difference(compare_all(rules))
    >>> axes.get_xlabel()
    'accuracy, better to the right'
    """
    if not all(hasattr(comparisons, name) for name in FIELDS):
        msg = f"comparisons must be a result of knnccv.compare_all, got {comparisons!r}"
        raise TypeError(msg)
    cliques = comparisons.cliques(confidence_level)
    names, scores = comparisons.names, np.asarray(comparisons.scores)
    n = len(names)
    with canvas(ax) as axes:
        bottom = BAR * (len(cliques) + 1)
        height = bottom + (n + 1) // 2
        if ax is None:
            figure: Any = axes.figure
            figure.set_size_inches(7.0, 1.1 + 0.28 * height)
        low, high = _limits(scores)
        margin = 0.12 * (high - low)
        left, right = low - margin, high + margin
        if comparisons.is_loss:
            low, high, left, right = high, low, right, left
        axes.set_xlim(left, right)
        axes.set_ylim(height, 0)
        for at, (name, score) in enumerate(zip(names, scores, strict=True)):
            better = at < n // 2
            y = bottom + (at if better else n - 1 - at) + 0.5
            axes.plot([score, score, right if better else left], [0, y, y], color="0.35", lw=0.9)
            axes.plot([score], [0], "o", color="0.15", markersize=4, clip_on=False)
            axes.annotate(
                f"{name}  {score:#.4g}",
                (1 if better else 0, y),
                xycoords=axes.get_yaxis_transform(),
                xytext=(4 if better else -4, 0),
                textcoords="offset points",
                ha="left" if better else "right",
                va="center",
                annotation_clip=False,
            )
        style: dict[str, Any] = {"color": EXACT_COLOR, "linewidth": 4, "solid_capstyle": "round"}
        place = dict(zip(names, scores, strict=True))
        for at, clique in enumerate(cliques):
            ends = [place[clique[0]], place[clique[-1]]]
            axes.plot(ends, [BAR * (at + 0.8)] * 2, **style | kwargs)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(f"{comparisons.measure}, better to the right")
        axes.spines[["left", "right", "bottom"]].set_visible(False)
        axes.set_yticks([])
        bars = "bars: no significant difference" if cliques else "all differences are significant"
        axes.set_title(
            f"{bars} ({100 * confidence_level:g} %, Holm)", y=0, pad=-16, va="top", fontsize="small"
        )
    return axes


def _limits(scores: Array) -> tuple[float, float]:
    """The smallest and the largest score; an interval about equal ones."""
    low, high = float(scores.min()), float(scores.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
