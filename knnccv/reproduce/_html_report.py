"""All reproductions in one go, and one page of HTML with everything in it."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._comparison import Picture, write_answer

NUMBERS = (("agrees", "within 2 sigma"), ("differs", "outside 2 sigma"))
CLAIMS = (("holds",), ("does not hold",))
STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color:
#1f2328; } table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #d0d7de; padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td:last-child, th:last-child { text-align: left; }
img { max-width: 100%; height: auto; }
figure { margin: 1.5rem 0; }
figcaption, li { color: #57606a; }
.differs { color: #9a3412; font-weight: 600; }
nav a { margin-right: 1rem; }
"""


@dataclass(frozen=True)
class CombinedReport:
    """All answers, by name.

    Attributes
    ----------
    parts : mapping of str to Answer
        In the order in which they were computed.
    """

    parts: Mapping[str, Any]

    @property
    def failures(self) -> list[str]:
        """Those of all parts."""
        return [f"{name}: {failure}" for name, answer in self.parts.items() for failure in answer.failures]

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Those of all parts."""
        return tuple(picture for answer in self.parts.values() for picture in answer.pictures)

    def to_text(self) -> str:
        """All parts, one after the other, and what came of them."""
        return "\n\n\n".join([*(answer.to_text() for answer in self.parts.values()), self.summary()])

    def to_markdown(self) -> str:
        """All parts in one document, under what came of them."""
        return "\n".join([self.summary(), *(answer.to_markdown() for answer in self.parts.values())])

    def summary(self) -> str:
        """A table in Markdown: how many printed numbers are judged and agree, how many claims hold."""
        rows = ["| reproduction | numbers that agree | claims that hold |", "| --- | --- | --- |"]
        for name, answer in self.parts.items():
            found = Counter(
                line.get("verdict", "") for line in csv.DictReader(io.StringIO(answer.to_csv()))
            )
            counts = [[sum(found[word] for word in words) for words in pair] for pair in (NUMBERS, CLAIMS)]
            cells = [f"{good} of {good + bad}" if good + bad else "-" for good, bad in counts]
            rows.append(f"| `{name}` | {cells[0]} | {cells[1]} |")
        return "\n".join([*rows, ""])

    def to_csv(self) -> str:
        """All parts, each with its own header, under a line with its name."""
        return "\n".join(f"# {name}\n{answer.to_csv()}" for name, answer in self.parts.items())

    def to_html(self) -> str:
        """One page that needs nothing else: styles and pictures are within."""
        links = "".join(f'<a href="#{name}">{html.escape(name)}</a>' for name in self.parts)
        body = "\n".join(
            f'<section id="{name}">\n{"".join(_section(answer))}</section>'
            for name, answer in self.parts.items()
        )
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<link rel="icon" href="data:,">\n'
            f"<title>knnccv: the literature reproduced</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
            f"<h1>The literature reproduced</h1>\n<nav>{links}</nav>\n"
            f"{''.join(_html_of(self.summary()))}{body}\n</body>\n</html>\n"
        )

    def write(self, folder: Path, name: str) -> None:
        """Write the files of all parts, ``report.html`` and ``summary.md``; none have the name of all."""
        del name
        for part, answer in self.parts.items():
            write_answer(answer, folder, part)
        (folder / "summary.md").write_text(self.summary(), encoding="utf-8")
        (folder / "report.html").write_text(self.to_html(), encoding="utf-8")


def _section(answer: Any) -> Iterator[str]:
    yield from _html_of(answer.to_markdown())
    for picture in answer.pictures:
        caption = html.escape(picture.caption)
        try:
            data = base64.b64encode(picture.png()).decode()
        except ImportError as error:
            yield f"<p>No picture ({html.escape(str(error))}): {caption}</p>\n"
            continue
        yield f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
        yield f"<figcaption>{caption}</figcaption></figure>\n"


def _html_of(markdown: str) -> Iterator[str]:
    """Of the little Markdown that our documents use: headings, tables, lists, paragraphs, code."""
    lines = markdown.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = re.match(r"(#+) (.*)", line)
        if heading:
            level = len(heading.group(1)) + 1
            yield f"<h{level}>{_text(heading.group(2))}</h{level}>\n"
        elif line.startswith("|"):
            end = _end(lines, at, "|")
            yield from _table(lines[at:end])
            at = end
            continue
        elif line.startswith("- "):
            end = _end(lines, at, "- ")
            yield "<ul>" + "".join(f"<li>{_text(item[2:])}</li>" for item in lines[at:end]) + "</ul>\n"
            at = end
            continue
        elif line.strip():
            yield f"<p>{_text(line)}</p>\n"
        at += 1


def _end(lines: list[str], start: int, prefix: str) -> int:
    end = start
    while end < len(lines) and lines[end].startswith(prefix):
        end += 1
    return end


def _table(lines: list[str]) -> Iterator[str]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    yield "<table>\n<thead><tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in rows[0])
    yield "</tr></thead>\n<tbody>\n"
    for row in rows[2:]:
        cells = []
        for cell in row:
            bad = cell in ("differs", "does not hold") or cell.endswith("beyond 2σ")
            cells.append(f'<td class="differs">{_text(cell)}</td>' if bad else f"<td>{_text(cell)}</td>")
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table>\n"


def _text(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
