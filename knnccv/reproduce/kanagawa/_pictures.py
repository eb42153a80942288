"""Figures 2 to 4 of Kanagawa (2024), drawn from computed curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._picture import BLUE, GREEN, ORANGE, new_figure

BRUTE, IDENTITY, CURVE = BLUE, ORANGE, GREEN
LEGEND_ABOVE = {"frameon": False, "fontsize": "small", "loc": "lower center", "bbox_to_anchor": (0.5, 1)}


def draw_curves(name: str, found: Mapping[str, Any]) -> Any:
    """Figures 2 and 3: errors over k, seconds over the number of samples."""
    figure, axes = new_figure(10, 4.2, 1, 2)
    left, right = axes[0]
    left.plot(found["k"], found["brute"], "o", color=BRUTE, mfc="none", ms=8, label="brute force")
    left.plot(found["k"], found["identity"], "x", color=IDENTITY, ms=6, label="identity")
    left.set_xlabel("number of neighbors k")
    left.set_ylabel("leave-one-out mean squared error")
    left.set_title(f"{name}, all features", pad=24)
    left.legend(ncols=2, **LEGEND_ABOVE)
    labels = {
        "brute": "brute force, k = 5",
        "identity": "identity, k = 5",
        "curve": "loo_curve, k = 1 to 50",
    }
    for (key, label), color, marker in zip(labels.items(), (BRUTE, IDENTITY, CURVE), "oxs", strict=True):
        right.plot(found["n"], found["seconds"][key], f"{marker}-", color=color, label=label)
    right.set_yscale("log")
    right.set_xlim(left=0)
    right.set_xlabel("number of samples n")
    right.set_ylabel("seconds (logarithmic)")
    right.set_title("computing time", pad=24)
    right.legend(ncols=3, **LEGEND_ABOVE)
    return figure


def draw_ties(studies: Mapping[str, Mapping[str, Any]]) -> Any:
    """Figure 4: errors over k where samples coincide, a panel for each data set."""
    figure, axes = new_figure(10, 4.2, 1, len(studies))
    for panel, (title, found) in zip(axes[0], studies.items(), strict=True):
        series = (
            ("brute", "brute force, order of the file", BRUTE, "o-"),
            ("identity", "identity, the same order", IDENTITY, "x--"),
            ("mean", "mean over all orders", CURVE, "-"),
        )
        for key, label, color, style in series:
            curve = np.asarray(found[key])
            best = int(np.argmin(curve[: found["tried"]]))
            label = f"{label}: best k = {best + 1}"
            panel.plot(found["k"], curve, style, color=color, ms=4, lw=1.2, label=label)
            panel.plot(best + 1, curve[best], "v", color=color, ms=10, mec="black", zorder=5)
        panel.axvline(found["tried"] + 0.5, ymax=0.6, color="0.6", lw=1, ls=":")
        panel.annotate(
            f"the paper tried\nk = 1 to {found['tried']}",
            (found["tried"] + 0.5, 0.6),
            xycoords=("data", "axes fraction"),
            xytext=(5, 0),
            textcoords="offset points",
            color="0.35",
            fontsize="small",
            va="top",
        )
        panel.set_title(title)
        panel.set_xlabel("number of neighbors k")
        panel.set_ylabel("leave-one-out mean squared error")
        panel.legend(frameon=False, loc="upper right", fontsize="small")
    return figure
