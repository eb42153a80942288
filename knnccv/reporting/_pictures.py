"""The pictures of the page: Vega-Lite specifications, written with altair from the answer's numbers.

Names that come from the data are values of the pictures and never fields of them. Colors come from the page's
style: a series has the number of its color, and the page's script gives the colors of light or dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ._text import visible

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]
MAX_NUMBERED = 20
"""Confusion matrices of at most so many classes have a number in each cell."""
MAX_MATRIX = 60
"""Confusion matrices of more classes are not drawn: the page lists the most frequent confusions."""
POPULATION = "interval for the population (luck of the data)"
SPLIT = "scatter of one random split, ±2 standard deviations (luck of the split)"
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [12, 4])
N_COLORS = 6
LABEL_LENGTH = 24


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


def draw_pictures(answer: dict[str, Any]) -> dict[str, Picture]:
    """The pictures of an answer, by name; those that do not apply are left out.

    Raises
    ------
    ImportError
        If altair is missing.
    """
    drawings: dict[str, Callable[[dict[str, Any]], Picture | None]] = {
        "scores": _scores,
        "settings": _settings,
        "learning": _learning,
        "confusion": _confusion,
        "ties": _ties,
        "parts": _parts,
        "loo": _loo,
    }
    pictures = {name: draw(answer) for name, draw in drawings.items()}
    return {name: picture for name, picture in pictures.items() if picture is not None}


def _scores(answer: dict[str, Any]) -> Picture:
    scores = answer["scores"]
    rows = []
    for name in ("best", "default"):
        score = scores[name]
        row = {"name": name, "setting": setting_name(score), "score": score["score"]}
        if score["interval"]:
            row |= {"low": score["interval"]["low"], "high": score["interval"]["high"]}
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


def _ties(answer: dict[str, Any]) -> Picture | None:
    ties = answer["ties"]
    if not ties or ties.get("low") is None or ties["low"] == ties["high"]:
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
    return Picture(_spec(alt.layer(*layers).properties(height=52 * len(rows), width="container")), legend)


def _settings(answer: dict[str, Any]) -> Picture | None:
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
    rows, bands, legend = [], [], []
    for at, curve in enumerate(settings["curves"]):
        pair = (curve["scaling"], curve["metric"])
        series = f"{at:02d}"
        color = scalings.index(pair[0]) % N_COLORS
        dash = DASHES[metrics.index(pair[1]) % len(DASHES)]
        name = f"{visible(pair[0])}, {visible(pair[1])}"
        legend.append(Entry(name, color, "line", dash, series))
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
            for k, score, bound in zip(
                curve["n_neighbors"], curve["scores"], curve["error_bound"], strict=True
            )
            if score is not None
        ]
        for run, (is_near, group) in enumerate(
            groupby(points, key=lambda point, pair=pair: (*pair, point["k"]) in near)
        ):
            if is_near:
                bands += [{**point, "run": f"{series}-{run}"} for point in group]
        rows += [{**point, "verdict": _verdict((*pair, point["k"]) in near)} for point in points]
    best = settings["best"]
    top = [row for row in rows if (row["scaling"], row["metric"], row["k"]) == _triple(best)]
    ks = sorted({row["k"] for row in rows})
    x = alt.X("k:Q", title="number of neighbors K", scale=_size_scale(ks), axis=_size_axis(ks))
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
        legend.append(Entry("not worse than the best, statistically", 0, "band"))
    layers.append(base.mark_line(strokeWidth=2).encode(strokeDash=dash, detail="series:N"))
    if top:
        mark = alt.Chart(alt.InlineData(values=top[:1])).transform_filter(shown).encode(x=x, y=y)
        layers.append(mark.mark_point(shape="diamond", size=190, filled=True, opacity=1, style="best"))
        legend.append(Entry(f"the best: {setting_name(best)}", 0, "diamond"))
    layers.append(_hover(base, tooltip))
    chart = alt.layer(*layers).add_params(alt.param(name="hidden", value=[]))
    return Picture(_spec(chart.properties(height=360, width="container")), legend)


def _learning(answer: dict[str, Any]) -> Picture | None:
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
            for size, score, bound in zip(sizes, curve["scores"], curve["error_bound"], strict=True)
            if score is not None
        ]
    if not rows:
        return None
    beyond = _beyond(answer, rows)
    x_sizes = sorted({row["size"] for row in rows + beyond})
    x = alt.X(
        "size:Q", title="size of the training sets", scale=_size_scale(x_sizes), axis=_size_axis(x_sizes)
    )
    y = alt.Y("score:Q", title=measure, scale=alt.Scale(zero=False))
    series = [entry.series for entry in legend]
    color = alt.Color("series:N", scale=alt.Scale(domain=series), legend=None)
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=series, range=[list(entry.dash) for entry in legend]),
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
        _hover(
            alt.Chart(alt.InlineData(values=rows + beyond[1:])).transform_filter(shown).encode(x=x, y=y),
            tooltip,
        )
    )
    chart = alt.layer(*layers).add_params(alt.param(name="hidden", value=[]))
    return Picture(_spec(chart.properties(height=320, width="container")), legend)


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


def _confusion(answer: dict[str, Any]) -> Picture | None:
    import altair as alt

    classes = answer["classes"]
    if not classes or not classes["confusion"] or len(classes["labels"]) > MAX_MATRIX:
        return None
    names = [visible(label, LABEL_LENGTH) for label in classes["labels"]]
    numbered = len(names) <= MAX_NUMBERED
    rows = [
        {"true": i, "said": j, "share": share, "text": _cell(share), "truth": names[i], "guess": names[j]}
        for i, line in enumerate(classes["confusion"])
        for j, share in enumerate(line)
    ]
    step = max(38, min(64, 420 // len(names))) if numbered else 16
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
            axis=alt.Axis(**axis, labelAngle=-90 if len(names) > 4 else 0),
        ),
        y=alt.Y("true:O", title="true class", sort=order, axis=alt.Axis(**axis)),
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
    return Picture(_spec(chart), [], step * len(names) + 190)


def _parts(answer: dict[str, Any]) -> Picture | None:
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
        _spec(chart.properties(height=48 * len({row for row, _, _ in parts}), width="container")), legend
    )


def _loo(answer: dict[str, Any]) -> Picture | None:
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
            scale=_size_scale(loo["n_neighbors"]),
            axis=_size_axis(loo["n_neighbors"]),
        ),
        y=alt.Y("mse:Q", title="leave-one-out mean squared error", scale=alt.Scale(zero=False)),
    )
    tooltip = [
        alt.Tooltip("k:Q", title="K"),
        alt.Tooltip("mse:Q", title="mean squared error", format=".5~g"),
    ]
    chart = alt.layer(base.mark_line(strokeWidth=2, style="color-0"), _hover(base, tooltip))
    return Picture(_spec(chart.properties(height=280, width="container")))


def _hover(base: alt.Chart, tooltip: list[Any]) -> alt.Chart:
    """Points that show, with their values, where the pointer is nearest to them."""
    import altair as alt

    near = alt.selection_point(name="near", nearest=True, on="pointerover", clear="pointerout", empty=False)
    points = base.mark_point(filled=True, size=90).encode(
        opacity=alt.condition(near, alt.value(1), alt.value(0)), tooltip=tooltip
    )
    return points.properties(name="points").add_params(near)


def _spec(chart: Any) -> dict[str, Any]:
    """The specification; the user's themes and transformers of altair do not change it."""
    import altair as alt

    with alt.data_transformers.enable("default"):
        spec: dict[str, Any] = chart.to_dict()
    # The version is that of the page's script, and the configuration is the page's.
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def _size_scale(sizes: Sequence[int]) -> alt.Scale:
    import altair as alt

    if sizes[-1] > 20 * max(sizes[0], 1):
        return alt.Scale(type="log", nice=False, domain=[sizes[0], sizes[-1]])
    return alt.Scale(zero=False, nice=False, domain=[sizes[0], max(sizes[-1], sizes[0] + 1)])


def _size_axis(sizes: Sequence[int]) -> alt.Axis:
    import altair as alt

    steps = [step * 10**power for power in range(10) for step in (1, 2, 5)]
    if sizes[-1] > 20 * max(sizes[0], 1):
        return alt.Axis(
            values=[step for step in steps if sizes[0] <= step <= sizes[-1]],
            format="~s",
            labelOverlap="greedy",
        )
    return alt.Axis(format="~s" if sizes[-1] >= 10_000 else "d", tickMinStep=1, labelOverlap="greedy")


def _cell(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.005 else ""


def setting_name(setting: dict[str, Any]) -> str:
    """A setting in words."""
    return f"{visible(setting['scaling'])}, {visible(setting['metric'])}, K\u00a0=\u00a0{setting['n_neighbors']}"


def _triple(setting: dict[str, Any]) -> tuple[str, str, int]:
    return setting["scaling"], setting["metric"], setting["n_neighbors"]


def _verdict(near: bool) -> str:
    return "not worse, statistically" if near else "worse, or not compared"


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
