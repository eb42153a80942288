"""The curves of a page: scores by number of neighbors and by size of the training sets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from .._formatting import rounded_up
from ._charts import (
    DASHES,
    N_COLORS,
    Entry,
    Picture,
    Row,
    finished,
    hover_points,
    pair_name,
    setting_name,
    size_axis,
    size_scale,
)
from ._text import visible

NEAR = "not significantly worse"


def settings_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    settings, measure = answer["settings"], visible(answer["scores"]["measure"])
    if not settings["curves"]:
        return None
    scalings = _distinct(curve["scaling"] for curve in settings["curves"])
    metrics = _distinct(curve["metric"] for curve in settings["curves"])
    near = {
        (group["scaling"], group["metric"], k)
        for group in settings["not_worse"]
        for k in group["n_neighbors"]
    }
    rows: list[Row] = []
    bands: list[Row] = []
    legend: list[Entry] = []
    for at, curve in enumerate(settings["curves"]):
        pair = (curve["scaling"], curve["metric"])
        series = f"{at:02d}"
        name = pair_name(*pair)
        dashes = DASHES[metrics.index(pair[1]) % len(DASHES)]
        legend.append(Entry(name, scalings.index(pair[0]) % N_COLORS, "line", dashes, series))
        points = [
            {
                "series": series,
                "name": name,
                "scaling": pair[0],
                "metric": pair[1],
                "k": k,
                "score": score,
                "bound": bound,
            }
            for k, score, bound in zip(curve["n_neighbors"], curve["scores"], _bounds(curve), strict=True)
            if score is not None
        ]
        points = [{**point, "verdict": _verdict((*pair, point["k"]) in near)} for point in points]
        for run, (verdict, group) in enumerate(groupby(points, key=itemgetter("verdict"))):
            if verdict == NEAR:
                bands += [{**point, "run": f"{series}-{run}"} for point in group]
        rows += points
    best = settings["best"]
    top = [row for row in rows if (row["scaling"], row["metric"], row["k"]) == _triple(best)]
    ks = sorted({row["k"] for row in rows})
    x = alt.X("k:Q", title="number of neighbors K", scale=size_scale(ks), axis=size_axis(ks))
    y = alt.Y("score:Q", title=measure, scale=alt.Scale(zero=False))
    color = alt.Color("scaling:N", scale=alt.Scale(domain=scalings), legend=None)
    dash = alt.StrokeDash(
        "metric:N",
        scale=alt.Scale(domain=metrics, range=[DASHES[at % len(DASHES)] for at in range(len(metrics))]),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("name:N", title="setting"),
        alt.Tooltip("k:Q", title="K"),
        alt.Tooltip("score:Q", title=measure, format=".5~g"),
        alt.Tooltip("bound:Q", title="error at most", format=".1e"),
        alt.Tooltip("verdict:N", title="against the best"),
    ]
    shown = "indexof(hidden, datum.series) < 0"
    base = alt.Chart(alt.InlineData(values=rows)).transform_filter(shown).encode(x=x, y=y, color=color)
    layers = []
    if bands:
        band = alt.Chart(alt.InlineData(values=bands)).transform_filter(shown).encode(x=x, y=y, color=color)
        layers.append(
            band.mark_line(strokeWidth=10, opacity=0.28, strokeCap="round").encode(detail="run:N")
        )
        legend.append(Entry("not significantly worse than the best", 0, "band"))
    layers.append(base.mark_line(strokeWidth=2).encode(strokeDash=dash, detail="series:N"))
    if top:
        mark = alt.Chart(alt.InlineData(values=top[:1])).transform_filter(shown).encode(x=x, y=y)
        layers.append(mark.mark_point(shape="diamond", size=190, filled=True, opacity=1, style="best"))
        legend.append(Entry(f"the best: {setting_name(best)}", 0, "diamond"))
    layers.append(hover_points(base, tooltip))
    chart = alt.layer(*layers).add_params(alt.param(name="hidden", value=[]))
    return Picture(finished(chart.properties(height=360, width="container")), legend)


def learning_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    learning, measure = answer["learning"], visible(answer["scores"]["measure"])
    if not learning or not learning["curves"]:
        return None
    sizes = learning["train_sizes"]
    rows, legend = [], []
    for at, curve in enumerate(learning["curves"]):
        series, name = f"{at:02d}", f"K = {curve['n_neighbors']}"
        legend.append(Entry(name, at % N_COLORS, "line", DASHES[at // N_COLORS % len(DASHES)], series))
        rows += [
            {"series": series, "name": name, "size": size, "score": score, "bound": bound, "how": "exact"}
            for size, score, bound in zip(sizes, curve["scores"], _bounds(curve), strict=True)
            if score is not None
        ]
    if not rows:
        return None
    beyond = _beyond(answer, rows)
    x_sizes = sorted({row["size"] for row in rows + beyond})
    x = alt.X(
        "size:Q", title="size of the training sets", scale=size_scale(x_sizes), axis=size_axis(x_sizes)
    )
    y = alt.Y("score:Q", title=measure, scale=alt.Scale(zero=False))
    names = [entry.series for entry in legend]
    color = alt.Color("series:N", scale=alt.Scale(domain=names), legend=None)
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=names, range=[list(entry.dash) for entry in legend]),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("name:N", title="neighbors"),
        alt.Tooltip("size:Q", title="size of the training sets"),
        alt.Tooltip("score:Q", title=measure, format=".5~g"),
        alt.Tooltip("bound:Q", title="error at most", format=".1e"),
        alt.Tooltip("how:N", title="value"),
    ]
    shown = "indexof(hidden, datum.series) < 0"
    base = alt.Chart(alt.InlineData(values=rows)).transform_filter(shown).encode(x=x, y=y, color=color)
    layers = [
        base.mark_line(strokeWidth=2).encode(strokeDash=dash),
        base.mark_point(filled=True, size=28, opacity=1),
    ]
    if beyond:
        ahead = alt.Chart(alt.InlineData(values=beyond)).transform_filter(shown).encode(x=x, y=y)
        layers.append(ahead.mark_line(strokeWidth=2, strokeDash=[3, 4], style="muted"))
        end = ahead.transform_filter("datum.how != 'exact'")
        layers.append(end.mark_point(size=120, filled=False, strokeWidth=2, opacity=1, style="guess"))
        legend.append(Entry("an extrapolation, not a computed score", 0, "guess"))
    layers.append(
        hover_points(
            alt.Chart(alt.InlineData(values=rows + beyond[1:])).transform_filter(shown).encode(x=x, y=y),
            tooltip,
        )
    )
    chart = alt.layer(*layers).add_params(alt.param(name="hidden", value=[]))
    return Picture(finished(chart.properties(height=320, width="container")), legend)


def _beyond(answer: dict[str, Any], rows: list[Row]) -> list[Row]:
    """The last exact point of the curve that is extrapolated, and the extrapolated one."""
    extrapolation = answer["learning"]["extrapolation"]
    if not extrapolation or extrapolation["score"] is None:
        return []
    wanted = f"K = {answer['settings']['best']['n_neighbors']}"
    last = next((row for row in reversed(rows) if row["name"] == wanted), None)
    last = last or min(
        reversed(rows), key=lambda row: (-row["size"], abs(row["score"] - extrapolation["score"]))
    )
    end = {**last, "size": extrapolation["train_size"], "score": extrapolation["score"], "bound": None}
    return [last, {**end, "how": f"extrapolated by {extrapolation['model']}"}]


def leave_one_out_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    loo = (answer["regression"] or {}).get("loo")
    if not loo or len(loo["n_neighbors"]) < 2:
        return None
    rows = [
        {"k": k, "mse": mse}
        for k, mse in zip(loo["n_neighbors"], loo["mse"], strict=True)
        if mse is not None
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "k:Q",
            title="number of neighbors K",
            scale=size_scale(loo["n_neighbors"]),
            axis=size_axis(loo["n_neighbors"]),
        ),
        y=alt.Y("mse:Q", title="leave-one-out mean squared error", scale=alt.Scale(zero=False)),
    )
    tooltip = [
        alt.Tooltip("k:Q", title="K"),
        alt.Tooltip("mse:Q", title="mean squared error", format=".5~g"),
    ]
    chart = alt.layer(base.mark_line(strokeWidth=2, style="color-0"), hover_points(base, tooltip))
    return Picture(finished(chart.properties(height=280, width="container")))


def _triple(setting: dict[str, Any]) -> tuple[str, str, int]:
    return setting["scaling"], setting["metric"], setting["n_neighbors"]


def _verdict(near: bool) -> str:
    return NEAR if near else "significantly worse, or not compared"


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _bounds(curve: dict[str, Any]) -> list[float | None]:
    """The error bounds of a curve, rounded up as they are shown."""
    return [None if bound is None else rounded_up(bound) for bound in curve["error_bound"]]
