"""Files of reproductions, and all of them as one report: an HTML page, by jinja2 and markdown-it-py."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jinja2 import Environment, PackageLoader
from markdown_it import MarkdownIt
from markupsafe import Markup

from ._paper import AGREE, DIFFER, FAIL, HOLD, Comparison, Table
from ._picture import Picture
from ._work import write_whole


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
        """One page that needs no other file."""
        return render_page(self.parts, self.summary())


def write_files(report: Comparison | CombinedReport, folder: Path, name: str) -> None:
    """Write ``name.md``, ``name.csv`` and the pictures, ``name-PICTURE.png``.

    Of all reproductions, write the files of all parts, ``summary.md`` and ``report.html``.
    """
    if isinstance(report, CombinedReport):
        for part, one in report.parts.items():
            write_files(one, folder, part)
        write_whole(folder / "summary.md", report.summary().encode())
        write_whole(folder / "report.html", report.to_html().encode())
        return
    links = []
    for picture in report.pictures:
        file = f"{name}-{picture.name}.png"
        write_whole(folder / file, picture.png())
        links.append(f"![{picture.caption}]({file})\n")
    write_whole(folder / f"{name}.md", "\n".join([report.to_markdown(), *links]).encode())
    write_whole(folder / f"{name}.csv", report.to_csv().encode())


def render_page(reports: Mapping[str, Comparison], summary: str) -> str:
    """One page that needs no other file: styles and pictures are included."""
    environment = Environment(
        loader=PackageLoader("knnccv_papers"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["markdown"] = lambda text: Markup(to_html(text))
    environment.filters["embedded"] = _embedded
    return environment.get_template("report.html.j2").render(reports=reports, summary=summary)


def to_html(markdown: str) -> str:
    """HTML of a Markdown document, with headings a level lower and adverse verdicts marked."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for token, following in pairwise(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1:]) + 1}"
        elif token.type == "td_open" and following.content in (*DIFFER, *FAIL):
            token.attrJoin("class", "differs")
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


def _embedded(picture: Picture) -> str:
    """The picture as a data address."""
    return f"data:image/png;base64,{base64.b64encode(picture.png()).decode()}"
