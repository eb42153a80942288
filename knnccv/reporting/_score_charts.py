"""The pictures of scores of a page: intervals, confusion matrices, and the parts of an error."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from ._charts import Entry, Picture, Row, finished, setting_name
from ._text import EMPTY, visible

MAX_NUMBERED = 20
"""Confusion matrices of at most so many classes have a number in each cell."""
MAX_MATRIX = 60
"""Confusion matrices of more classes are not drawn: the page lists the most frequent confusions."""
POPULATION = "interval for the population (luck of the data)"
SPLIT = "scatter of one random split, ±2 standard deviations (luck of the split)"
LABEL_LENGTH = 24
LETTER = 7
"""Width of a letter of a label in pixels."""


def scores_chart(answer: dict[str, Any]) -> Picture:
    scores = answer["scores"]
    rows = []
    for name in ("best", "default"):
        score = scores[name]
        row = {"name": name, "setting": setting_name(score), "score": score["score"]}
        if score["interval"]:
            row |= {end: score["interval"][end] for end in ("low", "high")}
        if score["split_std"] is not None:
            row |= dict(
                zip(("split_low", "split_high"), split_range(score, scores["is_loss"]), strict=True)
            )
        rows.append(row)
    rows += [
        {"name": visible(base["name"]), "setting": visible(base["explanation"]), "score": base["score"]}
        for base in scores["baselines"]
    ]
    return _intervals(rows, visible(scores["measure"]))


def split_range(score: dict[str, Any], is_loss: bool) -> tuple[float, float]:
    """Two standard deviations of one split around the score, within the range that scores have."""
    low, high = score["score"] - 2 * score["split_std"], score["score"] + 2 * score["split_std"]
    return max(low, 0.0), high if is_loss else min(high, 1.0)


def ties_chart(answer: dict[str, Any]) -> Picture | None:
    ties = answer["ties"]
    if not ties or not ties.get("n_dependent") or ties["low"] == ties["high"]:
        return None
    rows = [
        {
            "name": "best",
            "setting": "order of the rows",
            **{key: ties[key] for key in ("score", "low", "high")},
        }
    ]
    return _intervals(rows, visible(answer["scores"]["measure"]), "range over all orders of the rows")


def _intervals(rows: list[Row], measure: str, range_name: str = POPULATION) -> Picture:
    """A row per score: a dot, a thick line for the interval and a thin one for the scatter."""
    import altair as alt

    rows = [{**row, "name": "\n".join(wrap(row["name"], 18)) or " "} for row in rows]
    names = [row["name"] for row in rows]
    tooltip = [alt.Tooltip("name:N", title="score of"), alt.Tooltip("setting:N", title="setting")]
    tooltip += [alt.Tooltip("score:Q", title=measure, format=".4~g")]
    has_range = any("low" in row for row in rows)
    has_split = any("split_low" in row for row in rows)
    if has_range:
        tooltip += [
            alt.Tooltip(f"{end}:Q", title=f"{range_name}: {end}", format=".4~g") for end in ("low", "high")
        ]
    if has_split:
        tooltip += [
            alt.Tooltip(f"split_{end}:Q", title=f"scatter of one split: {end}", format=".4~g")
            for end in ("low", "high")
        ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=170, ticks=False, domain=False)),
        tooltip=tooltip,
    )
    x = alt.X("score:Q", title=measure, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=6))
    layers, legend = [], [Entry(measure, 0, "dot")]
    if has_range:
        line = base.mark_rule(strokeWidth=5, yOffset=-9, style="color-1")
        layers.append(
            line.encode(x=alt.X("low:Q", title=measure), x2="high:Q").transform_filter("isValid(datum.low)")
        )
        legend.append(Entry(range_name, 1, "bar"))
    if has_split:
        line = base.mark_rule(strokeWidth=2, yOffset=9, style="color-2", strokeDash=[5, 3])
        layers.append(
            line.encode(x=alt.X("split_low:Q"), x2="split_high:Q").transform_filter(
                "isValid(datum.split_low)"
            )
        )
        legend.append(Entry(SPLIT, 2, "line", (5, 3)))
    layers.append(base.mark_point(filled=True, size=110, opacity=1, style="color-0").encode(x=x))
    return Picture(
        finished(alt.layer(*layers).properties(height=52 * len(rows), width="container")), legend
    )


def confusion_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    classes = answer["classes"]
    if not classes or not classes["confusion"] or len(classes["labels"]) > MAX_MATRIX:
        return None
    names = [visible(label, LABEL_LENGTH) if label.strip() else EMPTY for label in classes["labels"]]
    numbered = len(names) <= MAX_NUMBERED
    rows = [
        {"true": i, "said": j, "share": share, "text": _cell(share), "truth": names[i], "guess": names[j]}
        for i, line in enumerate(classes["confusion"])
        for j, share in enumerate(line)
        if share is not None
    ]
    step = max(38, min(64, 420 // len(names))) if numbered else 16
    upright = len(names) > 4 or max(map(len, names)) * LETTER > step
    order = list(range(len(names)))
    axis = {
        "labelExpr": "labels[datum.value]",
        "labelLimit": 150,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
    }
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "said:O",
            title="predicted",
            sort=order,
            scale=alt.Scale(domain=order),
            axis=alt.Axis(**axis, labelAngle=-90 if upright else 0),
        ),
        y=alt.Y(
            "true:O",
            title="true class",
            sort=order,
            scale=alt.Scale(domain=order),
            axis=alt.Axis(**axis),
        ),
        tooltip=[
            alt.Tooltip("truth:N", title="true class"),
            alt.Tooltip("guess:N", title="predicted"),
            alt.Tooltip("share:Q", title="expected share", format=".2%"),
        ],
    )
    layers = [
        base.mark_rect().encode(
            color=alt.Color("share:Q", scale=alt.Scale(type="sqrt", domain=[0, 1]), legend=None)
        ),
    ]
    if numbered:
        layers += [
            base.mark_text(fontSize=13, style=style).transform_filter(side).encode(text="text:N")
            for style, side in (("on-low", "datum.share < turn"), ("on-high", "datum.share >= turn"))
        ]
    chart = alt.layer(*layers).add_params(
        alt.param(name="labels", value=names), alt.param(name="turn", value=0.5)
    )
    chart = chart.properties(
        width=alt.Step(step), height=alt.Step(max(38, step // 2) if numbered else step)
    )
    return Picture(finished(chart), [], step * len(names) + 190)


def _cell(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.005 else ""


def tuned_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    tuned = answer["tuned"]
    if not tuned or len(tuned["n_neighbors"]) < 2:
        return None
    rows = [
        {"k": k, "share": share} for k, share in zip(tuned["n_neighbors"], tuned["shares"], strict=True)
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(style="color-0")
        .encode(
            x=alt.X("k:O", title="number of neighbors K", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="chosen", axis=alt.Axis(format="%", tickCount=5)),
            tooltip=[
                alt.Tooltip("k:O", title="K"),
                alt.Tooltip("share:Q", title="share of the training sets", format=".1%"),
            ],
        )
    )
    return Picture(finished(chart.properties(height=220, width="container")))


def parts_chart(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    regression = answer["regression"]
    if not regression:
        return None
    parts = [
        ("error of the rule", "bias²", regression["bias2"]),
        ("error of the rule", "variance over training sets", regression["variance"]),
        ("predicting the mean", "variance of the targets", regression["target_variance"]),
    ]
    parts = [part for part in parts if part[2] is not None]
    if not parts:
        return None
    names = [part for _, part, _ in parts]
    rows = [
        {"row": row, "part": part, "value": value, "order": at}
        for at, (row, part, value) in enumerate(parts)
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=26)
        .encode(
            x=alt.X("value:Q", title="squared error", axis=alt.Axis(tickCount=6)),
            y=alt.Y(
                "row:N", title=None, sort=None, axis=alt.Axis(labelLimit=170, ticks=False, domain=False)
            ),
            color=alt.Color("part:N", scale=alt.Scale(domain=names), legend=None),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="part"),
                alt.Tooltip("value:Q", title="squared error", format=".5~g"),
            ],
        )
    )
    legend = [Entry(name, at, "bar") for at, name in enumerate(names)]
    return Picture(
        finished(chart.properties(height=48 * len({row for row, _, _ in parts}), width="container")), legend
    )
