"""What the pictures of a page share: legends, points that show their values, axes of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._study import SCALE_THEMSELVES
from ._text import visible

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4])
N_COLORS = 6
"""How many colors of series the page's style has."""


@dataclass(frozen=True)
class Entry:
    """A line of a legend: its text, the number of its color, and how it is drawn."""

    text: str
    color: int
    kind: str = "line"
    dash: Sequence[int] = (1, 0)
    series: str | None = None


@dataclass(frozen=True)
class Picture:
    """A specification, its legend, and its narrowest width in pixels; None: as narrow as the page."""

    spec: dict[str, Any]
    legend: list[Entry] = field(default_factory=list)
    min_width: int | None = None


def setting_name(setting: dict[str, Any]) -> str:
    """A setting in words."""
    pair = pair_name(setting["scaling"], setting["metric"])
    return f"{pair}, K\u00a0=\u00a0{setting['n_neighbors']}"


def pair_name(scaling: Any, metric: Any) -> str:
    """A scaling and a metric in words."""
    if metric in SCALE_THEMSELVES:
        return str(metric).upper()
    return f"{visible(scaling)}, {visible(metric)}"


def hover_points(base: alt.Chart, tooltip: list[Any]) -> alt.Chart:
    """Points that show, with their values, where the pointer is nearest to them."""
    import altair as alt

    near = alt.selection_point(name="near", nearest=True, on="pointerover", clear="pointerout", empty=False)
    points = base.mark_point(filled=True, size=90).encode(
        opacity=alt.condition(near, alt.value(1), alt.value(0)), tooltip=tooltip
    )
    return points.properties(name="points").add_params(near)


def finished(chart: Any) -> dict[str, Any]:
    """The specification; the user's themes and transformers of altair do not change it."""
    import altair as alt

    with alt.data_transformers.enable("default"):
        spec: dict[str, Any] = chart.to_dict()
    # The version is that of the page's script, and the configuration is the page's.
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def size_scale(sizes: Sequence[int]) -> alt.Scale:
    import altair as alt

    if sizes[-1] > 20 * max(sizes[0], 1):
        return alt.Scale(type="log", nice=False, domain=[sizes[0], sizes[-1]])
    return alt.Scale(zero=False, nice=False, domain=[sizes[0], max(sizes[-1], sizes[0] + 1)])


def size_axis(sizes: Sequence[int]) -> alt.Axis:
    import altair as alt

    steps = [step * 10**power for power in range(10) for step in (1, 2, 5)]
    if sizes[-1] > 20 * max(sizes[0], 1):
        return alt.Axis(
            values=[step for step in steps if sizes[0] <= step <= sizes[-1]],
            format="~s",
            labelOverlap="greedy",
        )
    return alt.Axis(format="~s" if sizes[-1] >= 10_000 else "d", tickMinStep=1, labelOverlap="greedy")
