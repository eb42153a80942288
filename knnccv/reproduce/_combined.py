"""Files of reproductions, and all reproductions as one report."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
            counts = [
                [sum(found[word] for word in words) for words in pair]
                for pair in ((AGREE, DIFFER), (HOLD, FAIL))
            ]
            cells = [f"{good} of {good + bad}" if good + bad else "-" for good, bad in counts]
            rows.append((f"`{name}`", *cells))
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
        (folder / "summary.md").write_text(self.summary(), encoding="utf-8")
        (folder / "report.html").write_text(self.to_html(), encoding="utf-8")


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
            (folder / file).write_bytes(picture.png())
        except ImportError as error:
            warnings.warn(f"no pictures of {name}: {error}", UserWarning, stacklevel=3)
            break
        links.append(f"![{picture.caption}]({file})\n")
    (folder / f"{name}.md").write_text("\n".join([report.to_markdown(), *links]), encoding="utf-8")
    (folder / f"{name}.csv").write_text(report.to_csv(), encoding="utf-8")
