"""The pictures of the page: Vega-Lite specifications, written with altair from the answer's numbers.

Names that come from the data are values of the pictures and never fields of them. Colors come from the
page's style: a series has the number of its color, and the page's script gives the colors of light or dark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import reduce
from operator import and_
from textwrap import wrap
from typing import Any

import altair as alt

from .._base.formatting import rounded_up
from ._text import EMPTY, SCALED, metric_name, pair_name, setting_name, visible

Row = dict[str, Any]
Spec = dict[str, Any]
MAX_NUMBERED = 20
"""Confusion matrices of at most so many classes have a number in each cell."""
MAX_MATRIX = 60
"""Confusion matrices of more classes are not drawn: the page lists the most frequent confusions."""
NEAR, FAR = "not significantly worse", "significantly worse, or not compared"
POPULATION = "interval (luck of the data)"
ORDERS = "range over all orders of the rows"
SPLIT = "one split, ±2 SD (luck of the split)"
LABEL_LENGTH = 24
LETTER = 7
"""Width of a letter of a label in pixels."""
DIMMED = 0.08
"""Opacity of the lines that are not picked in the legend."""


def draw_pictures(answer: dict[str, Any]) -> dict[str, Spec]:
    """The pictures of an answer, by name; those that do not apply are left out."""
    charts = {
        "scores": scores_chart,
        "settings": settings_chart,
        "tuned": tuned_chart,
        "learning": learning_chart,
        "confusion": confusion_chart,
        "ties": ties_chart,
        "parts": parts_chart,
        "loo": leave_one_out_chart,
    }
    return {name: spec for name, draw in charts.items() if (spec := draw(answer)) is not None}


def scores_chart(answer: dict[str, Any]) -> Spec:
    scores = answer["scores"]
    rows = []
    for name in ("best", "default"):
        found = scores[name]
        score, std, interval = found["score"], found["split_std"], found["interval"]
        row = {"name": name, "setting": setting_name(found), "score": score}
        if interval:
            row |= {"low": interval["low"], "high": interval["high"]}
        if std is not None:
            most = math.inf if scores["is_loss"] else 1.0
            row |= {"split_low": max(score - 2 * std, 0.0), "split_high": min(score + 2 * std, most)}
        rows.append(row)
    rows += [
        {"name": visible(base["name"]), "setting": visible(base["explanation"]), "score": base["score"]}
        for base in scores["baselines"]
    ]
    return _intervals(rows, visible(scores["measure"]), POPULATION)


def ties_chart(answer: dict[str, Any]) -> Spec | None:
    ties = answer["ties"]
    if not ties or not ties.get("n_dependent") or ties["low"] == ties["high"]:
        return None
    row = {"name": "best", "setting": "order of the rows"}
    row |= {key: ties[key] for key in ("score", "low", "high")}
    return _intervals([row], visible(answer["scores"]["measure"]), ORDERS)


def settings_chart(answer: dict[str, Any]) -> Spec | None:
    settings, measure = answer["settings"], visible(answer["scores"]["measure"])
    near = {
        (each["scaling"], each["metric"], k) for each in settings["not_worse"] for k in each["n_neighbors"]
    }
    best, rows, bands, top = settings["best"], [], [], []
    for curve in settings["curves"]:
        pair = {"scaling": curve["scaling"], "metric": curve["metric"]}
        shown = {"scaling": SCALED[curve["scaling"]], "metric": metric_name(curve["metric"])}
        run = 0  # of settings that are not worse, one beside the other
        for row in _points(curve, curve["n_neighbors"]):
            is_near = (*pair.values(), row["x"]) in near
            row |= pair | shown | {"name": pair_name(**pair), "verdict": NEAR if is_near else FAR}
            rows.append(row)
            run += not is_near
            bands += [row | {"run": f"{row['name']} {run}"}] * is_near
            top += [row] * (best == best | pair | {"n_neighbors": row["x"]})
    if not rows:
        return None
    tips = _tips(name="setting", x="K", score=measure, bound="error at most", verdict="against the best")
    return _curves(
        rows, ("number of neighbors K", measure), tips,
        ("metric", "metric") if best["metric"] == "heom" else ("scaling", "metric"),
        behind=(bands, {"strokeWidth": 10, "strokeCap": "round", "opacity": 0.28}),
        above=(top[:1], {"shape": "diamond", "size": 190, "filled": True, "opacity": 1, "style": "best"}),
    )  # fmt: skip


def learning_chart(answer: dict[str, Any]) -> Spec | None:
    learning, measure = answer["learning"], visible(answer["scores"]["measure"])
    rows = [
        {**row, "name": f"K = {curve['n_neighbors']}", "how": "exact"}
        for curve in (learning or {}).get("curves", [])
        for row in _points(curve, learning["train_sizes"])
    ]
    if not rows:
        return None
    end: list[Row] = []
    last: list[Row] = []
    extrapolation = learning["extrapolation"]
    if extrapolation:
        wanted = f"K = {answer['settings']['best']['n_neighbors']}"
        ends = [row for row in rows if row["name"] == wanted] or rows
        at, score = extrapolation["train_size"], extrapolation["score"]
        last = [min(reversed(ends), key=lambda row: (-row["x"], abs(row["score"] - score)))]
        how = f"extrapolated by {extrapolation['model']}"
        end = [{**last[0], "x": at, "score": score, "bound": None, "how": how}]
    size = "size of the training sets"
    tips = _tips(name="neighbors", x=size, score=measure, bound="error at most", how="value")
    return _curves(
        rows, (size, measure), tips, ("name", "name"),
        behind=(last + end, {"strokeWidth": 2, "strokeDash": [3, 4], "style": "muted"}),
        above=(end, {"size": 120, "filled": False, "strokeWidth": 2, "opacity": 1, "style": "guess"}),
        dots=True,
    )  # fmt: skip


def leave_one_out_chart(answer: dict[str, Any]) -> Spec | None:
    loo = (answer["regression"] or {}).get("loo")
    if not loo or len(loo["n_neighbors"]) < 2:
        return None
    rows = [{"x": k, "score": mse} for k, mse in zip(loo["n_neighbors"], loo["mse"], strict=True)]
    titles = "number of neighbors K", "leave-one-out mean squared error"
    return _curves(rows, titles, _tips(x="K", score="mean squared error"))


def tuned_chart(answer: dict[str, Any]) -> Spec | None:
    tuned = answer["tuned"]
    if not tuned or len(tuned["n_neighbors"]) < 2:
        return None
    rows = [
        {"k": k, "share": share} for k, share in zip(tuned["n_neighbors"], tuned["shares"], strict=True)
    ]
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=6)
    chart = _chart(rows).mark_bar(style="color-0").encode(
        x=alt.X("k:O", title="number of neighbors K", axis=axis),
        y=alt.Y("share:Q", title="chosen", axis=alt.Axis(format="%", tickCount=5)),
        tooltip=_tips(k="K", share="share of the training sets"),
    )  # fmt: skip
    return _finished(chart, height=220)


def confusion_chart(answer: dict[str, Any]) -> Spec | None:
    classes = answer["classes"]
    if not classes or not classes["confusion"] or len(classes["labels"]) > MAX_MATRIX:
        return None
    names = [visible(label, LABEL_LENGTH) if label.strip() else EMPTY for label in classes["labels"]]
    numbered = len(names) <= MAX_NUMBERED
    rows = [
        {"true": i, "said": j, "share": share, "truth": names[i], "guess": names[j]}
        | {"text": f"{100 * share:.0f}" if share >= 0.005 else ""}
        for i, line in enumerate(classes["confusion"])
        for j, share in enumerate(line)
        if share is not None
    ]
    step = max(38, min(64, 420 // len(names))) if numbered else 16
    upright = len(names) > 4 or max(map(len, names)) * LETTER > step
    order = list(range(len(names)))
    axis = {"labelExpr": "labels[datum.value]", "labelLimit": 150, "labelOverlap": False, **BARE}
    across = alt.Axis(**axis, labelAngle=-90 if upright else 0)
    scale = alt.Scale(domain=order)
    base = _chart(rows).encode(
        x=alt.X("said:O", title="predicted", sort=order, scale=scale, axis=across),
        y=alt.Y("true:O", title="true class", sort=order, scale=scale, axis=alt.Axis(**axis)),
        tooltip=_tips(truth="true class", guess="predicted", share="expected share"),
    )
    color = alt.Color("share:Q", scale=alt.Scale(type="sqrt", domain=[0, 1]), legend=None)
    layers = [base.mark_rect().encode(color=color)]
    for style, side in (("on-low", "datum.share < turn"), ("on-high", "datum.share >= turn")):
        if numbered:
            text = base.mark_text(fontSize=13, style=style).transform_filter(side)
            layers.append(text.encode(text="text:N"))
    params = alt.param(name="labels", value=names), alt.param(name="turn", value=0.5)
    height = alt.Step(max(38, step // 2) if numbered else step)
    spec = _finished(alt.layer(*layers).add_params(*params), height, alt.Step(step))
    return spec | {"usermeta": {"min_width": step * len(names) + 190}}


def parts_chart(answer: dict[str, Any]) -> Spec | None:
    found = answer["regression"]
    if not found:
        return None
    parts = {
        "bias²": ("error of the rule", found["bias2"]),
        "variance over training sets": ("error of the rule", found["variance"]),
        "variance of the targets": ("predicting the mean", found["target_variance"]),
    }
    rows = [
        {"part": part, "row": row, "value": value, "order": at}
        for at, (part, (row, value)) in enumerate(parts.items())
    ]
    chart = _chart(rows).mark_bar(height=26).encode(
        x=alt.X("value:Q", title="squared error", axis=alt.Axis(tickCount=6)),
        y=alt.Y("row:N", title=None, sort=None, axis=alt.Axis(labelLimit=170, **BARE)),
        color=alt.Color("part:N", scale=alt.Scale(domain=list(parts)), legend=_legend(3, "square")),
        order="order:Q",
        tooltip=_tips(part="part", value="squared error"),
    )  # fmt: skip
    return _finished(chart, height=96)


BARE = {"ticks": False, "domain": False}
"""An axis of names."""
FORMATS = {"share": ".2%", "bound": ".1e"}


def _intervals(rows: list[Row], measure: str, range_name: str) -> Spec:
    """A row per score: a dot, a thick line for the interval and a thin one for the scatter."""
    rows = [{**row, "name": "\n".join(wrap(row["name"], 18)) or " "} for row in rows]
    lines: dict[str, tuple[str, dict[str, Any]]] = {
        "": (range_name, {"strokeWidth": 5, "yOffset": -9}),
        "split_": (SPLIT, {"strokeWidth": 2, "yOffset": 9, "strokeDash": [5, 3]}),
    }
    lines = {key: line for key, line in lines.items() if any(f"{key}low" in row for row in rows)}
    ends = {
        f"{key}{end}": f"{range_name if not key else 'scatter of one split'}: {end}"
        for key in lines
        for end in ("low", "high")
    }
    names = [row["name"] for row in rows]
    scale = alt.Scale(domain=[measure, *(name for name, _ in lines.values())])
    base = _chart(rows).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=170, **BARE)),
        color=alt.Color("kind:N", scale=scale, legend=_legend(1, "circle")),
        tooltip=_tips(name="score of", setting="setting", score=measure, **ends),
    )
    layers = [
        base.mark_rule(**look)
        .encode(x=alt.X(f"{key}low:Q", title=measure), x2=f"{key}high:Q")
        .transform_filter(f"isValid(datum.{key}low)")
        .transform_calculate(kind=json.dumps(name))
        for key, (name, look) in lines.items()
    ]
    axis = alt.Axis(tickCount=6, labelOverlap="greedy", labelSeparation=6)
    x = alt.X("score:Q", title=measure, scale=alt.Scale(zero=False, nice=True), axis=axis)
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(x=x)
    layers.append(dots.transform_calculate(kind=json.dumps(measure)))
    return _finished(alt.layer(*layers), height=52 * len(rows))


def _curves(
    rows: list[Row],
    titles: tuple[str, str],
    tips: list[alt.Tooltip],
    series: tuple[str, str] | tuple[()] = (),
    behind: tuple[list[Row], dict[str, Any]] = ([], {}),
    above: tuple[list[Row], dict[str, Any]] = ([], {}),
    dots: bool = False,
) -> Spec:
    """Lines of ``score`` over ``x``, with marks behind and above them, and values where the pointer is.

    `series` are the fields that have colors and dashes. A click on a name in the legend dims the others.
    """
    every = rows + [row for row in above[0] if row not in rows]
    x = alt.X("x:Q", title=titles[0], **_sizes(sorted({row["x"] for row in every})))
    y = alt.Y("score:Q", title=titles[1], scale=alt.Scale(zero=False))

    def points(values: list[Row]) -> alt.Chart:
        return _chart(values).encode(x=x, y=y)

    line = points(rows).mark_line(strokeWidth=2, style="color-0")
    look: dict[str, Any] = {}
    if series:
        scales = {name: alt.Scale(domain=list(dict.fromkeys(row[name] for row in rows))) for name in series}
        picks = [alt.selection_point(name=f"pick_{name}", fields=[name], bind="legend") for name in scales]
        opacity = alt.when(reduce(and_, picks)).then(alt.value(1)).otherwise(alt.value(DIMMED))
        color, dash = (
            channel(f"{name}:N", scale=scales[name], legend=_legend())
            for channel, name in zip((alt.Color, alt.StrokeDash), series, strict=True)
        )
        look = {"color": color}
        line = points(rows).mark_line(strokeWidth=2).add_params(*picks)
        line = line.encode(color=color, strokeDash=dash, opacity=opacity, detail="name:N")
    layers = [line]
    if behind[0]:
        under = points(behind[0]).mark_line(**behind[1])
        layers.insert(0, under.encode(**look, detail="run:N") if "run" in behind[0][0] else under)
    if dots:
        layers.append(points(rows).mark_point(filled=True, size=28).encode(**look, opacity=opacity))
    if above[0]:
        layers.append(points(above[0]).mark_point(**above[1]))
    near = alt.selection_point(name="near", nearest=True, on="pointerover", clear="pointerout", empty=False)
    shown = alt.condition(near, alt.value(1), alt.value(0))
    values = points(every).mark_point(filled=True, size=90).encode(**look, opacity=shown, tooltip=tips)
    return _finished(alt.layer(*layers, values.properties(name="points").add_params(near)), height=340)


def _points(curve: dict[str, Any], sizes: Sequence[int]) -> list[Row]:
    """The points of a curve; the error bounds are rounded up as they are shown."""
    found = zip(sizes, curve["scores"], curve["error_bound"], strict=True)
    return [
        {"x": x, "score": score, "bound": None if bound is None else rounded_up(bound)}
        for x, score, bound in found
        if score is not None
    ]


def _chart(rows: list[Row]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=rows))


def _tips(**titles: str) -> list[alt.Tooltip]:
    """Tooltips of fields, with their titles; numbers have five digits."""
    words = ("name", "setting", "verdict", "how", "part", "truth", "guess")
    return [
        alt.Tooltip(f"{name}:N", title=title)
        if name in words
        else alt.Tooltip(f"{name}:Q", title=title, format=FORMATS.get(name, ".5~g"))
        for name, title in titles.items()
    ]


def _legend(columns: int = 3, symbol: str = "stroke") -> alt.Legend:
    return alt.Legend(
        title=None, orient="top", columns=columns, labelLimit=0, symbolType=symbol, symbolOpacity=1
    )


def _finished(chart: Any, height: Any, width: Any = "container") -> Spec:
    """The specification; the user's themes and transformers of altair do not change it."""
    with alt.data_transformers.enable("default"):
        spec: Spec = chart.properties(height=height, width=width).to_dict(validate=False)
    # The version is that of the page's script, and the configuration is the page's.
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def _sizes(sizes: Sequence[int]) -> dict[str, Any]:
    """The scale and the axis of numbers of samples or neighbors, in ascending order."""
    domain = [sizes[0], max(sizes[-1], sizes[0] + 1)]
    if sizes[-1] > 20 * max(sizes[0], 1):
        steps = [step * 10**power for power in range(10) for step in (1, 2, 5)]
        values = [step for step in steps if sizes[0] <= step <= sizes[-1]]
        axis = alt.Axis(values=values, format="~s", labelOverlap="greedy")
        return {"scale": alt.Scale(nice=False, domain=domain, type="log"), "axis": axis}
    axis = alt.Axis(format="~s" if sizes[-1] >= 10_000 else "d", tickMinStep=1, labelOverlap="greedy")
    return {"scale": alt.Scale(nice=False, domain=domain, zero=False), "axis": axis}
