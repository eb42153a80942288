"""The page of a report: one HTML file that asks for nothing else, by jinja2."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from ._pictures import MAX_MATRIX, MAX_NUMBERED, draw_pictures, setting_name, split_range
from ._text import embedded_json, visible

MAX_BYTES = 5_000_000
"""The page stays below 6 MB: the numbers in it may take so many bytes."""
CONFUSIONS = 30
"""How many of the most frequent confusions are listed."""
LONG = 40
"""Texts with more characters are cut at the end of their cell until they are focused."""


def require_libraries() -> None:
    """Raise ImportError, with the install command, if the extra ``[report]`` is missing."""
    try:
        import altair  # noqa: F401
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        msg = f"the report's page needs altair, jinja2 and vl-convert-python: pip install 'knnccv[report]' ({error})"
        raise ImportError(msg) from error


def render_page(answer: dict[str, Any]) -> str:
    """The page of an answer, the dictionary that `Report.to_dict` returns.

    The numbers are in the page as JSON, in the element with the id ``report-data``. Texts of the data are
    shown as text whatever they contain. The page's policy forbids all addresses and all other scripts.

    Raises
    ------
    ImportError
        If the extra ``[report]`` is missing.
    """
    require_libraries()
    pictures = draw_pictures(answer)
    scripts = [_bundle(), _template("charts.js"), _template("table.js")]
    shown = _shortened(answer)
    return _render(
        "page.html.j2",
        answer=shown,
        n_left_out=len(answer["items"]["items"]) - len(shown["items"]["items"]),
        pictures=pictures,
        confusions=_confusions(answer["classes"]),
        settings_table=_settings_table(answer["settings"]["curves"]),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        style=_template("style.css"),
        data_json=embedded_json(shown),
        specs=embedded_json({name: picture.spec for name, picture in pictures.items()}),
        max_numbered=MAX_NUMBERED,
        max_matrix=MAX_MATRIX,
    )


def render_summary(answer: dict[str, Any]) -> str:
    """The conclusions of an answer, as a piece of HTML for notebooks.

    Raises
    ------
    ImportError
        If jinja2 is missing.
    """
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        msg = f"the report needs jinja2: pip install 'knnccv[report]' ({error})"
        raise ImportError(msg) from error
    return _render("summary.html.j2", answer=answer)


def _render(name: str, **values: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("knnccv.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else visible(value),
    )
    environment.filters |= {"number": _number, "percent": _percent, "name": setting_name}
    environment.globals |= {"split_range": split_range, "LONG": LONG, "zip": zip}
    return environment.get_template(name).render(**values)


def _number(value: float | None) -> str:
    """Four significant digits; a dash for a number that is missing."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.4f}" if 0.1 <= abs(value) <= 1 else f"{value:.4g}"
    if "e" in text and 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _confusions(classes: dict[str, Any] | None) -> list[tuple[str, str, float]]:
    """The most frequent confusions: true class, predicted class, expected share."""
    if not classes:
        return []
    labels = classes["labels"]
    found = [
        (share, i, j)
        for i, row in enumerate(classes["confusion"])
        for j, share in enumerate(row)
        if i != j and share > 0
    ]
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [(labels[i], labels[j], share) for share, i, j in found[:CONFUSIONS]]


def _settings_table(curves: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of scores per number of neighbors, a column per curve, and the largest error."""
    columns = [dict(zip(curve["n_neighbors"], curve["scores"], strict=True)) for curve in curves]
    bounds = [bound for curve in curves for bound in curve["error_bound"] if bound is not None]
    rows = [(k, [column.get(k) for column in columns]) for k in sorted(set().union(*columns))]
    return {"rows": rows, "bound": max(bounds, default=None)}


def _shortened(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, without the rows of its last items if the page would become too large."""
    items = answer["items"]["items"]
    excess = len(embedded_json(answer)) - MAX_BYTES
    kept = len(items)
    while excess > 0 and kept:
        kept -= 1
        excess -= len(embedded_json(items[kept]))
    if kept == len(items):
        return answer
    return {**answer, "items": {**answer["items"], "items": items[:kept], "shown": kept}}


@cache
def _bundle() -> str:
    """The script that draws: vega, vega-lite and vega-embed."""
    import vl_convert

    script = str(vl_convert.javascript_bundle())
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def _template(name: str) -> str:
    return files("knnccv.reporting").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The script's name in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
