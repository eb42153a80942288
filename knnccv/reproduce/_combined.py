"""Files of reproductions, and all of them as one report: an HTML page, by jinja2 and markdown-it-py."""

from __future__ import annotations

import base64
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .._files import written_whole
from ._paper import AGREE, DIFFER, FAIL, HOLD, Comparison, Table
from ._picture import Picture


@dataclass(frozen=True)
class CombinedReport:
    """The reports of all reproductions.

    Attributes
    ----------
    parts : mapping of str to Comparison
        By name, in the order of computation.
    """

    parts: Mapping[str, Comparison]

    @property
    def failures(self) -> list[str]:
        """The failures of all parts."""
        return [f"{name}: {failure}" for name, report in self.parts.items() for failure in report.failures]

    def to_text(self) -> str:
        """The text of all parts, and the summary."""
        return "\n\n\n".join([*(report.to_text() for report in self.parts.values()), self.summary()])

    def to_markdown(self) -> str:
        """The summary and all parts in one document."""
        return "\n".join([self.summary(), *(report.to_markdown() for report in self.parts.values())])

    def summary(self) -> str:
        """A Markdown table: the numbers that agree and the claims that hold, among those with a verdict."""
        rows = []
        for name, report in self.parts.items():
            found = Counter(line.verdict for line in report.lines)
            good = [sum(found[word] for word in words) for words in (AGREE, HOLD)]
            bad = [sum(found[word] for word in words) for words in (DIFFER, FAIL)]
            pairs = zip(good, bad, strict=True)
            rows.append(
                (f"`{name}`", *(f"{one} of {one + other}" if one + other else "-" for one, other in pairs))
            )
        header = ("reproduction", "numbers that agree", "claims that hold")
        return "\n".join([*Table("", header, tuple(rows), left=(0, 1, 2)).format("pipe"), ""])

    def to_csv(self) -> str:
        """The CSV files of all parts, each below a line with its name."""
        return "\n".join(f"# {name}\n{report.to_csv()}" for name, report in self.parts.items())

    def to_html(self) -> str:
        """One page that needs no other file (extra ``[report]``)."""
        return render_page(self.parts, self.summary())


def write_files(report: Comparison | CombinedReport, folder: Path, name: str) -> None:
    """Write ``name.md``, ``name.csv`` and the pictures, ``name-PICTURE.png``.

    Of all reproductions, write the files of all parts, ``summary.md`` and ``report.html``.

    Warns
    -----
    UserWarning
        If matplotlib is missing, so that there are no pictures.
    """
    if isinstance(report, CombinedReport):
        for part, one in report.parts.items():
            write_files(one, folder, part)
        _write(folder / "summary.md", report.summary())
        _write(folder / "report.html", report.to_html())
        return
    links = []
    for picture in report.pictures:
        file = f"{name}-{picture.name}.png"
        try:
            _write(folder / file, picture.png())
        except ImportError as error:
            warnings.warn(f"no pictures of {name}: {error}", UserWarning, stacklevel=3)
            break
        links.append(f"![{picture.caption}]({file})\n")
    _write(folder / f"{name}.md", "\n".join([report.to_markdown(), *links]))
    _write(folder / f"{name}.csv", report.to_csv())


def _write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with written_whole(path) as part:
        part.write_bytes(content if isinstance(content, bytes) else content.encode())


def require_libraries() -> None:
    """Raise ImportError, with the install command, if the extra ``[report]`` is missing."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
    except ImportError as error:
        msg = f'report.html needs jinja2 and markdown-it-py: pip install "knnccv[report]" ({error})'
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
