"""Files of reproductions, and all reproductions as one report."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._files import written_whole
from ._comparison import AGREE, DIFFER, FAIL, HOLD, Comparison, Table
from ._page import render_page
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

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures of all parts."""
        return tuple(picture for report in self.parts.values() for picture in report.pictures)

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
            pairs = [[sum(found[word] for word in words) for words in (AGREE, DIFFER)]]
            pairs += [[sum(found[word] for word in words) for words in (HOLD, FAIL)]]
            rows.append(
                (f"`{name}`", *(f"{good} of {good + bad}" if good + bad else "-" for good, bad in pairs))
            )
        header = ("reproduction", "numbers that agree", "claims that hold")
        return "\n".join([*Table("", header, tuple(rows), left=(0, 1, 2)).format("pipe"), ""])

    def to_csv(self) -> str:
        """The CSV files of all parts, each below a line with its name."""
        return "\n".join(f"# {name}\n{report.to_csv()}" for name, report in self.parts.items())

    def to_html(self) -> str:
        """One page that needs no other file (extra ``[report]``)."""
        return render_page(self.parts, self.summary())

    def write(self, folder: Path) -> None:
        """Write the files of all parts, ``summary.md`` and ``report.html``."""
        for name, report in self.parts.items():
            write_files(report, folder, name)
        _write(folder / "summary.md", self.summary())
        _write(folder / "report.html", self.to_html())


def write_files(report: Comparison, folder: Path, name: str) -> None:
    """Write ``name.md``, ``name.csv`` and the pictures, ``name-PICTURE.png``.

    Warns
    -----
    UserWarning
        If matplotlib is missing, so that there are no pictures.
    """
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
