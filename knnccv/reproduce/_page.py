"""The report page: all reproductions in one HTML file, by jinja2 and markdown-it-py."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ._comparison import DIFFER, FAIL, Comparison
from ._picture import Picture


def require_libraries() -> None:
    """Raise ImportError, with the install command, if the extra ``[report]`` is missing."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
    except ImportError as error:
        msg = f"report.html needs jinja2 and markdown-it-py: pip install 'knnccv[report]' ({error})"
        raise ImportError(msg) from error


def render_page(reports: Mapping[str, Comparison], summary: str) -> str:
    """One page that needs no other file: styles and pictures are included.

    Raises
    ------
    ImportError
        If the extra ``[report]`` is missing.
    """
    require_libraries()
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("knnccv.reproduce"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["markdown"] = lambda text: Markup(to_html(text))
    environment.filters["embedded"] = _embedded
    return environment.get_template("report.html.j2").render(reports=reports, summary=summary)


def to_html(markdown: str) -> str:
    """HTML of a Markdown document, with headings a level lower and adverse verdicts marked."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for token, following in pairwise(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1:]) + 1}"
        elif token.type == "td_open" and following.content in (*DIFFER, *FAIL):
            token.attrJoin("class", "differs")
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


def _embedded(picture: Picture) -> tuple[str, Any]:
    """The picture as a data address, or an empty string and the error."""
    try:
        return f"data:image/png;base64,{base64.b64encode(picture.png()).decode()}", None
    except ImportError as error:
        return "", error
