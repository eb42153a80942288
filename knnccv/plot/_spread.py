"""Pictures of what an exact mean is a mean of: orders of ties, and random runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ._canvas import EXACT_COLOR, SAMPLED_COLOR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_NAMED_ITEMS = 40
TIE_REPORT = (
    "n_items",
    "n_tied",
    "score",
    "lowest",
    "highest",
    "exact_range",
    "per_item",
    "per_item_lowest",
    "per_item_highest",
)


def tie_report(report: Any, ax: Axes | None = None, *, most: int = 40, **kwargs: Any) -> Axes:
    """What the order of equally similar samples can do to the score, sample by sample and in all.

    Drawn are the samples whose score depends on that order, the widest range first.

    Parameters
    ----------
    report : TieReport
        What ``CompleteCV.tie_report()`` gives.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    most : int, default 40
        How many samples to draw at most.
    **kwargs
        For ``Axes.vlines``, which draws the ranges of the samples.

    Returns
    -------
    Axes
        Up to 40 samples are named by their row.

    Raises
    ------
    TypeError
        If `report` lacks an attribute of a tie report, or `most` or `ax` is something else.
    ValueError
        If `most` is below 1.
    ImportError
        If matplotlib is missing.
    """
    missing = [name for name in TIE_REPORT if not hasattr(report, name)]
    if missing:
        msg = f"report must be what tie_report() of a result gives; {report!r} has no {', '.join(missing)}"
        raise TypeError(msg)
    most = check_integer("most", most, 1)
    low, high = np.asarray(report.per_item_lowest), np.asarray(report.per_item_highest)
    width = np.nan_to_num(high - low)
    n_ranges = int(np.count_nonzero(width > 0))
    items = np.argsort(-width, kind="stable")[: min(n_ranges, most)]
    places = np.arange(len(items))
    with canvas(ax) as axes:
        axes.axhspan(
            report.lowest, report.highest, color=EXACT_COLOR, alpha=0.2, lw=0, label="all samples: range"
        )
        axes.axhline(report.score, color=EXACT_COLOR, label="all samples: score")
        if len(items):
            thick = 5.0 if len(items) <= MOST_NAMED_ITEMS else 1.5
            style: dict[str, Any] = {"colors": SAMPLED_COLOR, "linewidth": thick, "label": "item: range"}
            axes.vlines(places, low[items], high[items], **style | kwargs)
            scores = np.asarray(report.per_item)[items]
            axes.plot(places, scores, "o", color="black", markersize=0.7 * thick, label="item: score")
        if len(items) <= MOST_NAMED_ITEMS:
            axes.set_xticks(places, [str(item) for item in items])
            if len(items) > 12:
                axes.tick_params(axis="x", rotation=90, labelsize="x-small")
        axes.set_xlabel(_which_items(len(items), n_ranges))
        axes.set_ylabel(getattr(report, "measure", "score"))
        least, highest, score = _apart(report.lowest, report.highest, report.score)
        doubt = "" if report.exact_range else " (not exact)"
        axes.set_title(
            f"score {score}, by the order of ties {least} to {highest}{doubt}\n"
            f"{report.n_tied} of {report.n_items} samples tie different labels; it matters to {n_ranges}",
            fontsize="medium",
            pad=22,
        )
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=4,
            frameon=False,
            fontsize="small",
            columnspacing=1.2,
            handlelength=1.5,
        )
    return axes


def luck(random: Any, exact: Any, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """How random runs of a design scatter about their exact mean.

    Parameters
    ----------
    random : MonteCarloCV or array_like of shape (n_repeats,)
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
        With the histogram of the runs, their mean and its standard error (of two runs or more) above it,
        and the exact value as a line.

    Raises
    ------
    TypeError
        If `exact` is no number, or `ax` no Axes.
    ValueError
        If the scores are not a list of finite numbers, or the exact value is not finite.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> design = knnccv.Subsample(0.5)
    >>> few = knnccv.monte_carlo_cv(wine.X, wine.y, "nn", design, n_repeats=50, random_state=0)
    >>> axes = knnccv.plot.luck(few, knnccv.complete_cv(wine.X, wine.y, "nn", design))
    >>> axes.get_xlabel()
    'accuracy of one random run'
    """
    scores = np.asarray(getattr(random, "scores", random), dtype=float)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        msg = f"random must be a MonteCarloCV, or finite scores of shape (n_repeats,), got {random!r}"
        raise ValueError(msg)
    value = float(exact)
    if not math.isfinite(value):
        msg = f"exact must be finite, got {value}"
        raise ValueError(msg)
    with canvas(ax) as axes:
        style = {
            "color": SAMPLED_COLOR,
            "label": f"{len(scores)} random run{'s' * (len(scores) > 1)}",
        } | kwargs
        if "bins" not in style:
            style["bins"] = _bins(scores)
        axes.hist(scores, **style)
        mean = float(scores.mean())
        if len(scores) > 1:
            error = float(scores.std(ddof=1)) / math.sqrt(len(scores))
            shown = f"their mean ± standard error: {mean:.4f} ± {error:.4f}"
        else:
            error, shown = 0.0, f"its score: {mean:.4f}"
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, bottom + (top - bottom) * 1.12)
        axes.errorbar(
            mean,
            0.94,
            xerr=error or None,
            fmt="o",
            color="black",
            capsize=4,
            label=shown,
            transform=axes.get_xaxis_transform(),
        )
        axes.axvline(value, color=EXACT_COLOR, label=f"exact mean over all runs: {value:.4f}", zorder=1.5)
        axes.set_xlabel(f"{getattr(random, 'measure', 'score')} of one random run")
        axes.set_ylabel("density" if style.get("density") else "runs")
        if axes.get_yscale() == "linear" and not style.get("density"):
            axes.locator_params(axis="y", integer=True)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")
    return axes


def _which_items(n_drawn: int, n_ranges: int) -> str:
    if n_ranges == 0:
        return "no item's score depends on the order of ties"
    if n_drawn < n_ranges:
        return f"item, the {n_drawn} of the widest range out of {n_ranges}"
    return "item, the widest range first"


def _bins(scores: Array) -> Array:
    """Borders of bins that hold equally many of the values that scores can take.

    A score is a multiple of one over the number of tests; bins of another width would hold now one, now
    two of these, and show a comb where there is none.
    """
    gaps = np.diff(np.unique(scores.round(12)))
    if not len(gaps):
        return np.array([scores[0] - 0.005, scores[0] + 0.005])
    step = float(gaps.min())
    wide = float(np.diff(np.histogram_bin_edges(scores, "auto")[:2])[0])
    width = max(1, round(wide / step)) * step
    start = float(scores.min()) - step / 2
    return start + width * np.arange(math.ceil((float(scores.max()) - start) / width) + 1)


def _apart(*values: float) -> list[str]:
    """The values with as many digits, three at least, as tell them from each other."""
    for digits in range(3, 13):
        shown = [f"{value:.{digits}f}" for value in values]
        if len(set(shown)) == len(set(values)):
            break
    return shown
