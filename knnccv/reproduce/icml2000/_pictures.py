"""Picture of tables 2 and 3 of Mullin & Sukthankar (ICML 2000): means and variances of all methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._typing import Array
from .._picture import Picture, draw_both, new_figure
from ._protocol import Found

HEIGHT = 0.34
"""Inches of a method."""


def pictures(found: Sequence[Found], measure: str) -> tuple[Picture, ...]:
    """One picture of all blocks with data; none if there are none. `measure` is the name of the means."""
    caption = (
        f"{measure} and variance, times 1000: printed (squares) and computed (dots). Bars: two standard "
        "errors of a mean, and the 95 % interval of a variance."
    )
    there = [one for one in found if one.rows]
    return (Picture("means-and-variances", caption, partial(_draw, there, measure)),) if there else ()


def _draw(found: Sequence[Found], measure: str) -> Any:
    n_methods = [len(one.block.printed) for one in found]
    height = 0.6 + HEIGHT * sum(n_methods) + 0.6 * len(found)
    figure, grid = new_figure(10, height, len(found), 2)
    grid[0][0].get_gridspec().set_height_ratios(n_methods)
    for (means, variances), one in zip(grid, found, strict=True):
        printed = one.block.printed
        at = np.arange(len(printed))
        rows = [one.rows[method] for method in printed]
        draw_both(
            means,
            at,
            (
                [paper.mean for paper in printed.values()],
                [2 * math.sqrt(1000 * paper.variance / one.block.n_draws) for paper in printed.values()],
            ),
            ([1000 * row.mean for row in rows], [2000 * row.standard_error for row in rows]),
            gap=0.16,
        )
        draw_both(
            variances,
            at,
            _intervals([paper.variance for paper in printed.values()], one.block.n_draws),
            _intervals([1000 * row.variance for row in rows], len(rows[0].scores)),
            gap=0.16,
        )
        means.set_title(one.block.title, loc="left", fontsize=10)
        means.set_yticks(at, list(printed))
        variances.set_yticks(at, [""] * len(at))
        _plain_log_axis(variances)
        for axes in (means, variances):
            axes.set_ylim(len(at) - 0.5, -0.5)
            axes.grid(axis="x", alpha=0.3)
    grid[-1][0].set_xlabel(f"{measure} × 10³")
    grid[-1][1].set_xlabel("Variance of a single trial × 10³")
    grid[0][1].legend(loc="upper right", fontsize=9)
    return figure


def _intervals(variances: Sequence[float], n_draws: int) -> tuple[Array, Array]:
    """The variances, and the distances to the ends of their 95 % intervals, shape (2, n)."""
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
