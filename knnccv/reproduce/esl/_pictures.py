"""Pictures of the simulations in "The Elements of Statistical Learning"."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._picture import BLUE, ORANGE, new_figure
from . import _protocol as data
from ._protocol import Planar, Screening

BLACK, GRAY = "#000000", "#999999"
PALE = ("#D6E9F5", "#FBE3D0")
CLASSES = ((BLUE, "o"), (ORANGE, "^"))


def screening(found: Screening) -> Any:
    """Histograms of errors, above, and of correlations, below."""
    figure, axes = new_figure(7.5, 6.4, 2, 1)
    errors, shares = axes[0, 0], axes[1, 0]
    edges = np.arange(-1.25, 100, 2.5)
    ways = (
        ("screened beforehand (wrong)", BLUE, found.wrong, found.wrong_correlations),
        ("screened in every fold (right)", ORANGE, found.right, found.right_correlations),
    )
    for label, color, error, correlation in ways:
        style = {"color": color, "alpha": 0.6, "edgecolor": "white", "linewidth": 0.5}
        errors.hist(error, edges, label=f"{label}, mean {error.mean():.1f} %", **style)
        shares.hist(
            correlation.ravel(),
            np.arange(-1, 1.01, 0.05),
            weights=np.full(correlation.size, 100 / correlation.size),
            label=f"{label}, mean {round(correlation.mean(), 2) + 0.0:.2f}",
            **style,
        )
    errors.hist(
        found.stratified,
        edges,
        histtype="step",
        color=BLACK,
        linewidth=1.2,
        label=f"the same, stratified folds, mean {found.stratified.mean():.1f} %",
    )
    errors.axvline(50, color=BLACK, linestyle="--", linewidth=1, label="true error, 50 %")
    shares.axvline(0, color=BLACK, linestyle="--", linewidth=1, label="true correlation, 0")
    errors.set(xlabel="cross-validated error of a simulation (%)", ylabel="simulations", xlim=(-1.25, 80))
    shares.set(
        xlabel="correlation of a chosen predictor with the labels of 10 samples",
        ylabel="predictors (%)",
        xlim=(-1, 1),
    )
    for axis in (errors, shares):
        axis.set_ylim(0, 1.55 * axis.get_ylim()[1])
        axis.legend(loc="upper right", framealpha=1, edgecolor="none", fontsize=9)
    return figure


def curves(plane: Planar) -> Any:
    """Errors by the number of neighbors."""
    figure, axes = new_figure(7.5, 4.6)
    axis = axes[0, 0]
    for i, curve in enumerate(plane.curves):
        axis.plot(
            data.NUMBERS,
            curve,
            color=GRAY,
            linewidth=0.9,
            label=f"CV, {len(plane.curves)} single runs and their minima" if i == 0 else None,
        )
        least = int(curve.argmin())
        axis.plot(data.NUMBERS[least], curve[least], marker="x", color=GRAY, markersize=8)
    for label, color, marker, curve in (
        ("CV, exact mean over all partitions", BLUE, "o", plane.expected),
        ("new samples", ORANGE, "s", plane.new),
    ):
        least = int(curve.argmin())
        text = f"{label}; least at K = {data.NUMBERS[least]}"
        axis.plot(data.NUMBERS, curve, color=color, linewidth=2, marker=marker, markersize=3, label=text)
        axis.plot(data.NUMBERS[least], curve[least], marker=marker, color=color, markersize=10)
    axis.axhline(plane.bayes, color=BLACK, linestyle="--", linewidth=1, label="Bayes error")
    top = max(float(plane.curves.max()), float(plane.expected.max()), float(plane.new.max()))
    axis.set(
        xlabel="number of neighbors K", ylabel="error (%)", ylim=(None, top + 0.45 * (top - plane.bayes))
    )
    axis.legend(loc="upper right", frameon=False, fontsize=9)
    return figure


def maps(plane: Planar) -> Any:
    """The plane, colored by the vote of the neighbors, with the samples and the Bayes rule's boundary."""
    from matplotlib.colors import ListedColormap

    figure, axes = new_figure(9, 5, 1, len(data.SHOWN))
    low, high = plane.X.min(axis=0) - 0.3, plane.X.max(axis=0) + 0.3
    x, y = (np.linspace(low[i], high[i], 300) for i in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    votes = data.predictions(plane.X, plane.y, grid)
    share = plane.distribution.second_share(grid).reshape(len(y), len(x))
    for axis, number in zip(axes[0], data.SHOWN, strict=True):
        at = int(np.searchsorted(data.NUMBERS, number))
        regions = votes[at].reshape(len(y), len(x))
        axis.pcolormesh(x, y, regions, cmap=ListedColormap(PALE), vmin=0, vmax=1, rasterized=True)
        axis.contour(x, y, regions, [0.5], colors=BLACK, linewidths=0.8)
        axis.contour(x, y, share, [0.5], colors=GRAY, linestyles="--", linewidths=1.5)
        for label, (color, marker) in enumerate(CLASSES):
            axis.scatter(
                *plane.X[plane.y == label].T,
                s=18,
                facecolors="none",
                edgecolors=color,
                marker=marker,
                linewidths=1,
            )
        axis.set(
            title=f"{number}-NN: {plane.training[at]:.1f} % wrong of the samples shown,\n"
            f"{plane.new[at]:.1f} % of new ones (Bayes: {plane.bayes:.1f} %)",
            xlabel="first coordinate",
            ylabel="second coordinate",
            aspect="equal",
        )
        axis.title.set_fontsize(10)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    points: dict[str, Any] = {"linestyle": "none", "fillstyle": "none"}
    return [
        *(
            Line2D([], [], color=color, marker=marker, label=f"class {label}", **points)
            for label, (color, marker) in enumerate(CLASSES)
        ),
        Line2D([], [], color=BLACK, linewidth=0.8, label="boundary of the votes"),
        Line2D([], [], color=GRAY, linewidth=1.5, linestyle="--", label="boundary of the Bayes rule"),
    ]
