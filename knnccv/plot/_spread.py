"""Pictures of random runs beside their exact mean, and of the scores that orders of tied samples allow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ._canvas import EXACT_COLOR, SAMPLED_COLOR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_NAMED_SAMPLES = 40
WIDE = 6.5
"""Inches of axes above which a legend of four entries fits in one row."""

TIE_REPORT = ("n_tied", "lowest", "highest", "exact_range", "per_item_lowest", "per_item_highest")


def tie_report(report: Any, ax: Axes | None = None, *, most: int = 40, **kwargs: Any) -> Axes:
    """Draw the scores that the orders of tied samples allow, for each sample and in total.

    The samples whose score depends on that order are drawn, the widest range first.

    Parameters
    ----------
    report : TieReport
        The result of ``CompleteCV.tie_report()``.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.
    most : int, default 40
        The largest number of samples to draw.
    **kwargs
        For ``Axes.vlines``, which draws the ranges of the samples.

    Returns
    -------
    Axes
        The axes; up to 40 samples are labeled by their row.

    Raises
    ------
    TypeError
        If `report` lacks an attribute of a tie report, or `most` or `ax` has another type.
    ValueError
        If `most` is below 1.
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> report = knnccv.complete_cv(wine.X.round(), wine.y, "nn").tie_report()
    >>> axes = knnccv.plot.tie_report(report)
    >>> axes.get_xlabel()
    'sample, the widest range first'
    """
    missing = [name for name in TIE_REPORT if not hasattr(report, name)]
    if missing:
        msg = f"report must be a result of tie_report(); {report!r} has no {', '.join(missing)}"
        raise TypeError(msg)
    most = check_integer("most", most, 1)
    low, high = np.asarray(report.per_item_lowest), np.asarray(report.per_item_highest)
    width = np.nan_to_num(high - low)
    n_ranges = int(np.count_nonzero(width > 0))
    samples = np.argsort(-width, kind="stable")[: min(n_ranges, most)]
    places = np.arange(len(samples))
    with canvas(ax) as axes:
        axes.axhspan(
            report.lowest, report.highest, color=EXACT_COLOR, alpha=0.2, lw=0, label="all samples: range"
        )
        axes.axhline(report.score, color=EXACT_COLOR, label="all samples: score")
        if len(samples):
            thick = 5.0 if len(samples) <= MAX_NAMED_SAMPLES else 1.5
            style: dict[str, Any] = {"colors": SAMPLED_COLOR, "linewidth": thick, "label": "sample: range"}
            axes.vlines(places, low[samples], high[samples], **style | kwargs)
            scores = np.asarray(report.per_item)[samples]
            axes.plot(places, scores, "o", color="black", markersize=0.7 * thick, label="sample: score")
        if len(samples) <= MAX_NAMED_SAMPLES:
            axes.set_xticks(places, [str(sample) for sample in samples])
            if len(samples) > 12:
                axes.tick_params(axis="x", rotation=90, labelsize="x-small")
        axes.set_xlabel(_samples_name(len(samples), n_ranges))
        axes.set_ylabel(getattr(report, "measure", "score"))
        lowest, highest, score = _distinct(report.lowest, report.highest, report.score)
        n_columns = 4 if axes.get_window_extent().width / axes.figure.dpi >= WIDE else 2
        doubt = "" if report.exact_range else " (not exact)"
        axes.set_title(
            f"score {score}, by the order of ties {lowest} to {highest}{doubt}\n"
            f"{report.n_tied} of {report.n_items} samples tie different labels; it matters to {n_ranges}",
            fontsize="medium",
            pad=25 if n_columns == 4 else 39,
        )
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=n_columns,
            frameon=False,
            fontsize="small",
            columnspacing=1.2,
            handlelength=1.5,
        )
    return axes


def luck(random: Any, exact: Any, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw the distribution of random runs of a design around their exact mean.

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
        style: dict[str, Any] = {
            "fmt": "|",
            "color": "black",
            "markersize": 9,
            "elinewidth": 1.4,
            "capsize": 3,
        }
        height = axes.get_xaxis_transform()
        axes.errorbar(mean, 0.94, xerr=error or None, label=shown, transform=height, **style)
        axes.axvline(value, color=EXACT_COLOR, label=f"exact mean over all runs: {value:.4f}", zorder=1.5)
        axes.set_xlabel(f"{getattr(random, 'measure', 'score')} of one random run")
        axes.set_ylabel("density" if drawn.get("density") else "runs")
        if axes.get_yscale() == "linear" and not drawn.get("density"):
            axes.locator_params(axis="y", integer=True)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")
    return axes


def _samples_name(n_drawn: int, n_ranges: int) -> str:
    if n_ranges == 0:
        return "no sample's score depends on the order of ties"
    if n_drawn < n_ranges:
        return f"sample, the {n_drawn} with the widest range of {n_ranges}"
    return "sample, the widest range first"


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


def _distinct(*values: float) -> list[str]:
    """The values with the least number of digits, at least three, that distinguishes them."""
    for digits in range(3, 13):
        shown = [f"{value:.{digits}f}" for value in values]
        if len(set(shown)) == len(set(values)):
            break
    return shown
