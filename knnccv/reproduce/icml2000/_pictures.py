"""What is drawn of tables 2 and 3 of Mullin & Sukthankar (ICML 2000)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._typing import Array
from .._comparison import Picture, new_figure
from ._protocol import Found

STYLES: dict[str, dict[str, str]] = {
    "paper": {"marker": "D", "mfc": "white", "color": "#d55e00"},
    "knnccv": {"marker": "o", "color": "#0072b2"},
}
HEIGHT = 0.34
"""Inches of a method."""


def pictures(found: Sequence[Found], what: str) -> tuple[Picture, ...]:
    """One picture of all blocks whose data were there; none if there are none.

    Parameters
    ----------
    found : sequence of Found
        The blocks.
    what : str
        What the means are.
    """
    caption = (
        f"{what} and variance, times 1000: printed (open diamonds) and found (dots). Bars: two standard "
        "errors of a mean, and the 95 % interval of a variance."
    )
    there = [one for one in found if one.rows]
    return (Picture("means-and-variances", caption, lambda: _draw(there, what)),) if there else ()


def _draw(found: Sequence[Found], what: str) -> Any:
    n_methods = [len(one.block.printed) for one in found]
    height = 0.6 + HEIGHT * sum(n_methods) + 0.6 * len(found)
    figure, grid = new_figure(10, height, len(found), 2)
    grid[0][0].get_gridspec().set_height_ratios(n_methods)
    for (means, variances), one in zip(grid, found, strict=True):
        methods = list(one.block.printed)
        at = np.arange(len(methods))
        for shift, (label, numbers) in zip((-0.16, 0.16), _numbers(one).items(), strict=True):
            style = {"ls": "", "capsize": 2, "label": label, **STYLES[label]}
            centers, errors, values, bars = numbers
            means.errorbar(centers, at + shift, xerr=2 * errors, **style)
            variances.errorbar(values, at + shift, xerr=bars, **style)
        means.set_title(one.block.title, loc="left", fontsize=10)
        means.set_yticks(at, methods)
        variances.set_yticks(at, [""] * len(at))
        _plain_log_axis(variances)
        for axes in (means, variances):
            axes.set_ylim(len(at) - 0.5, -0.5)
            axes.grid(axis="x", alpha=0.3)
    grid[-1][0].set_xlabel(f"{what} × 10³")
    grid[-1][1].set_xlabel("Variance of a single trial × 10³")
    grid[0][1].legend(loc="upper right", fontsize=9)
    return figure


def _numbers(found: Found) -> dict[str, tuple[Array, Array, Array, Array]]:
    """By side: means, their standard errors, variances, and how far their intervals reach, all × 10³."""
    block = found.block
    paper = list(block.printed.values())
    ours = [found.rows[method] for method in block.printed]
    return {
        "paper": (
            np.array([row.mean for row in paper]),
            np.array([math.sqrt(1000 * row.variance / block.n_draws) for row in paper]),
            *_spread([row.variance for row in paper], block.n_draws),
        ),
        "knnccv": (
            1000 * np.array([row.mean for row in ours]),
            1000 * np.array([row.standard_error for row in ours]),
            *_spread([1000 * row.variance for row in ours], len(ours[0].scores)),
        ),
    }


def _spread(variances: Sequence[float], n_draws: int) -> tuple[Array, Array]:
    """The variances, and how far below and above them their 95 % intervals end, shape (2, n)."""
    from scipy.stats import chi2

    values = np.array(variances)
    ends = (n_draws - 1) / chi2.ppf([[0.975], [0.025]], n_draws - 1)
    return values, np.abs(values * ends - values)


def _plain_log_axis(axes: Any) -> None:
    """Ticks at 1, 2 and 5 times a power of ten, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
