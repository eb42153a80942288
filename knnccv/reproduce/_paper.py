"""A paper as data: a TOML file of the folder ``papers`` with what is printed, claimed and explained.

A file has ``title``, ``source`` and ``notes``; ``lines``, the quantities and claims of the table by a short
name, each with ``part``, ``quantity``, ``note``, ``paper`` and ``digits`` where they apply; and the printed
numbers and settings that its protocol reads. Texts name computed values in braces, as in `str.format`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._comparison import Comparison, Line


@dataclass(frozen=True)
class Paper:
    """The content of a file."""

    table: Mapping[str, Any]

    @classmethod
    def read(cls, name: str) -> Paper:
        """The paper of ``papers/NAME.toml``."""
        path = Path(__file__).with_name("papers") / f"{name}.toml"
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def __getitem__(self, key: str) -> Any:
        return self.table[key]

    def line(
        self,
        key: str,
        computed: float | None = None,
        paper: float | None = None,
        allowed: tuple[float, float] | None = None,
        holds: bool | None = None,
        **values: Any,
    ) -> Line:
        """The line of this name; `values` are those of its texts, and `digits` if it varies."""
        told = self["lines"][key]
        defaults = {"part": "{part}", "quantity": key, "note": ""}
        part, quantity, note = ({**defaults, **told}[name].format(**values) for name in defaults)
        paper = told.get("paper") if paper is None else paper
        holds = None if holds is None else bool(holds)
        digits = values.get("digits", told.get("digits", 2))
        return Line(part, quantity, paper, computed, allowed, holds, digits, note)

    def comparison(self, lines: Iterable[Line], notes: Iterable[str], **parts: Any) -> Comparison:
        """The lines and notes with title and source."""
        return Comparison(self["title"], self["source"], tuple(lines), tuple(notes), **parts)

    def notes(self, **values: Any) -> list[str]:
        """The notes; `values` are those of their texts."""
        return [note.format(**values) for note in self["notes"]]


def load(function: str, **arguments: Any) -> tuple[Any, str | None]:
    """A data set by the function of `knnccv.datasets`; or None and why it could not be obtained."""
    from .. import datasets

    try:
        return getattr(datasets, function)(**arguments), None
    except datasets.DatasetError as error:
        return None, str(error)
