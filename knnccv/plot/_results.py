"""Pictures of results: CMC curves, random runs, results on a line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Array
from .._base.validation import check, check_integer
from ._curves import (
    ABOVE,
    EXACT_COLOR,
    SAMPLED_COLOR,
    Curve,
    band_in_legend,
    canvas,
    check_fields,
    colors_of,
    draw_curves,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BAR = 0.45
"""Height of a bar over results and the space below it; that of a name is 1."""


def luck(random: Any, exact: Any, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw the distribution of random runs of a design around their exact mean.

    Parameters
    ----------
    random : ScoredRuns or array_like of shape (n_runs,)
        The random runs, or their scores.
    exact : CompleteCV or float
        The exact mean over all training sets of the design.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    **kwargs
        For ``Axes.hist``.

    Returns
    -------
    Axes
        The axes, with the histogram of the runs, above it their mean and, for at least two runs, its
        standard error, and the exact value as a line.

    Raises
    ------
    TypeError
        If `exact` is not a number, or `ax` not an Axes.
    ValueError
        If the scores are not a one-dimensional array of finite numbers, or the exact value is not finite.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> design = knnccv.Subsample(0.5)
    >>> few = knnccv.monte_carlo_cv(wine.X, wine.y, "nn", design, n_runs=50, random_state=0)
    >>> axes = knnccv.plot.luck(few, knnccv.complete_cv(wine.X, wine.y, "nn", design))
    >>> axes.get_xlabel()
    'accuracy of one random run'
    """
    scores = np.asarray(getattr(random, "scores", random), dtype=float)
    must = "random must be ScoredRuns, or finite scores of shape (n_runs,)"
    check(scores.ndim == 1 and len(scores) and np.isfinite(scores).all(), must, random)
    value = float(exact)
    check(math.isfinite(value), f"exact must be finite, got {value}")
    with canvas(ax) as axes:
        label = f"{len(scores)} random run{'s' * (len(scores) > 1)}"
        drawn = {"color": SAMPLED_COLOR, "label": label} | kwargs
        if "bins" not in drawn:
            drawn["bins"] = _bins(scores)
        axes.hist(scores, **drawn)
        mean = float(scores.mean())
        if len(scores) > 1:
            error = float(scores.std(ddof=1)) / math.sqrt(len(scores))
            shown = f"their mean ± standard error: {mean:.4f} ± {error:.4f}"
        else:
            error, shown = 0.0, f"its score: {mean:.4f}"
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, bottom + (top - bottom) * 1.12)
        style: dict[str, Any] = {"color": "black", "markersize": 9, "elinewidth": 1.4, "capsize": 3}
        height = axes.get_xaxis_transform()
        axes.errorbar(mean, 0.94, xerr=error or None, fmt="|", label=shown, transform=height, **style)
        axes.axvline(value, color=EXACT_COLOR, label=f"exact mean over all runs: {value:.4f}", zorder=1.5)
        axes.set_xlabel(f"{getattr(random, 'measure', 'score')} of one random run")
        axes.set_ylabel("density" if drawn.get("density") else "runs")
        if axes.get_yscale() == "linear" and not drawn.get("density"):
            axes.locator_params(axis="y", integer=True)
        axes.legend(**ABOVE)
    return axes


def _bins(scores: Array) -> Array:
    """Borders of bins that contain equal numbers of possible scores.

    A score is a multiple of one over the number of tests. In bins of another width the number of multiples
    would vary, and the histogram would show a comb that is not in the data.
    """
    gaps = np.diff(np.unique(scores.round(12)))
    if not len(gaps):
        return np.array([scores[0] - 0.005, scores[0] + 0.005])
    step = float(gaps.min())
    wide = float(np.diff(np.histogram_bin_edges(scores, "auto")[:2])[0])
    width = max(1, round(wide / step)) * step
    start = float(scores.min()) - step / 2
    return start + width * np.arange(math.ceil((float(scores.max()) - start) / width) + 1)


def cmc(
    results: Any,
    ax: Axes | None = None,
    *,
    trials: Any = None,
    mean_of: int | None = None,
    max_rank: int | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw cumulative match characteristics (CMC): the share of queries found by each rank.

    Parameters
    ----------
    results : Retrieval, or mapping of str to Retrieval
        The results of `knnccv.retrieval.expected_retrieval`; a mapping names their curves in a legend.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    trials : SampledRetrieval, or mapping of str to SampledRetrieval, optional
        The results of `knnccv.retrieval.sampled_retrieval`, under the names of `results`, for bands of
        plus and minus one standard deviation around the exact curves. Results without trials have no
        band.
    mean_of : int, optional
        The bands are those of the mean of this many random galleries, such as 10. They need no `trials` if
        galleries are drawn anew for every query (`Retrieval.cmc_std`). Default: 1 with `trials`, no bands
        otherwise.
    max_rank : int, optional
        The last rank to draw. Default: all.
    **kwargs
        For ``Axes.plot``, of every curve.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    TypeError
        If a result, `trials` or `ax` has another type.
    KeyError
        If "cmc" is not among the scores of a result.
    ValueError
        If `results` is empty; `trials` names a result that is not there, or has fewer ranks; a number is
        below 1; or bands are wanted that need `trials`.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import knnccv
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> ids = np.arange(40) % 8
    >>> distances = np.random.default_rng(0).random((40, 40)) + 0.5 * (ids[:, None] != ids)
    >>> result = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), max_rank=8)
    >>> axes = knnccv.plot.cmc(result, mean_of=10)
    >>> axes.get_xlabel(), len(axes.lines[0].get_xdata())
    ('rank', 8)
    """
    named = isinstance(results, Mapping)
    curves: dict[str, Any] = {str(name): one for name, one in results.items()} if named else {"": results}
    check(curves, "results must have at least one result")
    source = "expected_retrieval, or a mapping of names to such results, such as {'ours': r, 'theirs': s}"
    for one in curves.values():
        check_fields("results", one, ("scores", "cmc", "cmc_std", "rank"), source)
    sampled = _trials(trials, curves, named)
    if mean_of is not None:
        mean_of = check_integer("mean_of", mean_of, 1)
    last = None if max_rank is None else check_integer("max_rank", max_rank, 1)
    widths = {name: _width(name, one, sampled.get(name), mean_of) for name, one in curves.items()}
    with canvas(ax) as axes:
        from matplotlib.ticker import MaxNLocator

        colors, _ = colors_of(np.arange(len(curves))) if len(curves) > 1 else ([EXACT_COLOR], None)
        lines = []
        for color, (name, one) in zip(colors, curves.items(), strict=True):
            curve, width = np.asarray(one.cmc)[:last], widths[name]
            band = () if width is None else np.clip([curve - width[:last], curve + width[:last]], 0, 1)
            lines.append(Curve(name or "expected CMC", color, np.arange(1, len(curve) + 1), curve, *band))
        draw_curves(axes, lines, kwargs)
        counted = {one.rank for one in curves.values()}
        axes.set_xlabel("rank (identities)" if counted == {"identity"} else "rank")
        axes.set_ylabel("share of queries found (CMC)")
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        handles: list[Any] = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        banded = any(width is not None for width in widths.values())
        if banded:
            mean = (mean_of or 1) > 1
            of = f"the mean of {mean_of} random galleries" if mean else "one random gallery"
            handles.append(band_in_legend(f"± standard deviation of {of}"))
        if named or banded:
            axes.legend(handles=handles, loc="lower right", frameon=False, fontsize="small")
    return axes


def _trials(trials: Any, curves: Mapping[str, Any], named: bool) -> dict[str, Any]:
    """Trials by the name of their result."""
    if trials is None:
        return {}
    must = "trials must be a mapping with the names of the results"
    check(isinstance(trials, Mapping) or not named, must, trials, TypeError)
    found = {str(name): one for name, one in trials.items()} if named else {"": trials}
    for name, one in found.items():
        check(name in curves, f"trials must have the names of results ({', '.join(curves)})", name)
        check_fields("trials", one, ("trials", "std"), "sampled_retrieval")
    return found


def _width(name: str, result: Any, runs: Any, mean_of: int | None) -> Array | None:
    """Half the width of a band at every rank, or None."""
    if runs is None:
        return None if mean_of is None else np.asarray(result.cmc_std(mean_of))
    deviation = np.asarray(runs.std("cmc")) / np.sqrt(mean_of or 1)
    of = f" of {name!r}" if name else ""
    msg = f"trials{of} have {len(deviation)} ranks, the result has {len(result.cmc)}"
    check(len(deviation) >= len(result.cmc), msg)
    return np.asarray(deviation[: len(result.cmc)])


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
    fields = ("names", "scores", "measure", "is_loss", "cliques")
    check_fields("comparisons", comparisons, fields, "knnccv.compare_all")
    cliques = comparisons.cliques(confidence_level)
    names, scores = comparisons.names, np.asarray(comparisons.scores)
    n = len(names)
    with canvas(ax) as axes:
        bottom = BAR * (len(cliques) + 1)
        height = bottom + (n + 1) // 2
        if ax is None:
            figure: Any = axes.figure
            figure.set_size_inches(7.0, 1.1 + 0.28 * height)
        low, high = float(scores.min()), float(scores.max())
        margin = 0.12 * (high - low) or 0.62  # about equal scores
        left, right = low - margin, high + margin
        if comparisons.is_loss:
            left, right = right, left
        axes.set(xlim=(left, right), ylim=(height, 0), yticks=[])
        for at, (name, score) in enumerate(zip(names, scores, strict=True)):
            better = at < n // 2
            y = bottom + (at if better else n - 1 - at) + 0.5
            axes.plot([score, score, right if better else left], [0, y, y], color="0.35", lw=0.9)
            axes.plot([score], [0], "o", color="0.15", markersize=4, clip_on=False)
            end, side, off = (1, "left", 4) if better else (0, "right", -4)
            place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
            place |= {"xytext": (off, 0), "ha": side, "va": "center", "annotation_clip": False}
            axes.annotate(f"{name}  {score:#.4g}", (end, y), **place)
        style: dict[str, Any] = {"color": EXACT_COLOR, "linewidth": 4, "solid_capstyle": "round"}
        score_of = dict(zip(names, scores, strict=True))
        for at, clique in enumerate(cliques):
            ends = [score_of[clique[0]], score_of[clique[-1]]]
            axes.plot(ends, [BAR * (at + 0.8)] * 2, **style | kwargs)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(f"{comparisons.measure}, better to the right")
        axes.spines[["left", "right", "bottom"]].set_visible(False)
        bars = "bars: no significant difference" if cliques else "all differences are significant"
        title = f"{bars} ({100 * confidence_level:g} %, Holm)"
        axes.set_title(title, y=0, pad=-16, va="top", fontsize="small")
    return axes
