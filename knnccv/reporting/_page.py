"""The page of a report: one HTML file that asks for nothing else, by jinja2."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

from .._base.refusals import need
from ._errors import MOST_INDICES, most_confused
from ._text import (
    EMPTY,
    at_most,
    embedded_json,
    interval_text,
    pair_name,
    score_text,
    setting_name,
    visible,
)

MAX_BYTES = 1_500_000
"""The size that a page may have; rows of the last items are left out of a larger one."""
LONG = 40
"""Texts with more characters are cut at the end of their cell until they are focused."""


def need_page(*packages: str) -> None:
    """Raise ImportError, with the install command, if one of the packages of a page is missing."""
    for package in packages or ("altair", "jinja2"):
        need(package, "report", "a page (not the numbers, .json) needs altair and jinja2")


def render_page(answer: dict[str, Any]) -> str:
    """The page of an answer, the dictionary that `Report.to_dict` returns.

    The numbers are in the page as JSON, in the element with the id ``report-data``. Texts of the data are
    shown as text whatever they contain. The page's policy forbids all addresses and all other scripts.

    Raises
    ------
    ImportError
        If the extra ``[report]`` is missing.
    """
    need_page()
    from ._charts import MAX_MATRIX, MAX_NUMBERED, draw_pictures

    pictures = draw_pictures(answer)
    scripts = [_template(name).decode() for name in ("charts.js", "table.js")]
    packed = _template("vega.js.gz")
    values = {
        "pictures": pictures,
        "confusions": _confusions(answer["classes"] or {}),
        "settings_tables": [
            (part["measure"], _settings_table(part["curves"], answer["task"]))
            for part in (answer["settings"], answer["settings"]["other"])
            if part
        ],
        "scripts": scripts,
        "packed": base64.b64encode(packed).decode(),
        "hashes": [_hash(script) for script in (gzip.decompress(packed).decode(), *scripts)],
        "style": _template("style.css").decode(),
        "specs": embedded_json(pictures),
        "max_numbered": MAX_NUMBERED,
        "max_matrix": MAX_MATRIX,
        "most_indices": MOST_INDICES,
    }
    items = answer["items"]["items"]
    kept = len(items)
    while True:
        shown = answer | {"items": answer["items"] | {"items": items[:kept], "shown": kept}}
        values |= {"n_left_out": len(items) - kept, "data_json": embedded_json(shown)}
        html = _render("page.html.j2", answer=shown, **values)
        excess = len(html.encode()) - MAX_BYTES
        if excess <= 0 or not kept:
            return html
        while excess > 0 and kept:
            kept -= 1
            excess -= len(embedded_json(items[kept]))


def render_summary(answer: dict[str, Any]) -> str:
    """The conclusions of an answer, as a piece of HTML for notebooks.

    Raises
    ------
    ImportError
        If jinja2 is missing.
    """
    need_page("jinja2")
    return _render("summary.html.j2", answer=answer)


@cache
def _environment(task: str) -> Any:
    """The templates, which are compiled once, and their filters."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("knnccv.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if hasattr(value, "__html__") else visible(value),
    )
    environment.filters |= {
        "number": _number,
        "sentence": _sentence,
        "name": setting_name,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f}%",
        "bound": lambda value: "–" if value is None else at_most(value),
        "pvalue": lambda value: f"{value:.2g}".replace("e-0", "e-"),
        "score": lambda value: score_text(value, task),
        "interval": lambda value: interval_text(value["low"], value["high"], task),
    }
    environment.globals |= {"LONG": LONG, "EMPTY": EMPTY, "zip": zip, "pair_name": pair_name}
    return environment


def _render(name: str, **values: Any) -> str:
    return str(_environment(values["answer"]["task"]).get_template(name).render(**values))


def _sentence(text: str) -> Any:
    """A sentence in which no setting ("K = 15"), power of ten or option is broken at the end of a line."""
    from markupsafe import Markup, escape

    whole = re.compile(r"K = \d+|\d[\d.]*e[-+]\d+|(?<![\w-])--[a-z][a-z-]*(?:=-?\d+)?")
    return Markup(whole.sub(r'<span class="whole">\g<0></span>', str(escape(visible(text)))))


def _number(value: float | None, digits: int = 4) -> str:
    """So many significant digits; a dash for a number that is missing."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.{digits}f}" if 0.1 <= abs(value) <= 1 else f"{value:.{digits}g}"
    if "e+" in text and abs(value) < 1e12:
        text = f"{value:,.0f}"
    text = text.replace("e-0", "e-")
    return text.replace("-", "−", 1) if text.startswith("-") else text


def _confusions(classes: dict[str, Any]) -> list[dict[str, Any]]:
    """The most frequent confusions; without a matrix those that the section names."""
    if not classes.get("confusion"):
        return list(classes.get("confused", []))
    return most_confused(classes["labels"], classes["confusion"], least=0.0)


def _settings_table(curves: list[dict[str, Any]], task: str) -> dict[str, Any]:
    """A row of scores per number of neighbors, a column per curve, and how exact the scores are.

    Squared errors can differ by powers of ten, so that the largest error is given as a share of the score,
    unless a score is 0.
    """
    points = [
        (k, at, score, bound)
        for at, curve in enumerate(curves)
        for k, score, bound in zip(curve["n_neighbors"], curve["scores"], curve["error_bound"], strict=True)
    ]
    table: dict[int, list[float | None]] = {k: [None] * len(curves) for k, *_ in sorted(points)}
    for k, at, score, _ in points:
        table[k][at] = score
    known = [(score, bound) for *_, score, bound in points if bound is not None]
    is_share = task == "regression" and all(score for score, _ in known)
    bound = max((bound / score if is_share else bound for score, bound in known), default=None)
    return {"rows": list(table.items()), "bound": bound, "is_share": is_share}


@cache
def _template(name: str) -> bytes:
    return files("knnccv.reporting").joinpath("templates", name).read_bytes()


def _hash(script: str) -> str:
    """The script's name in a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
