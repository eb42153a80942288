"""Manifests (``datasets/*.toml``): addresses, hashes, columns and descriptions of the data sets."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Source:
    """One public address of a file, or of a zip archive that has it as `member`."""

    url: str
    member: str | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """The columns of a text file, and how to read them; ``datasets/README.md`` explains the fields."""

    fields: tuple[str, ...] = ()
    target: str = ""
    omit: tuple[str, ...] = ()
    skip_lines: int = 0
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def rows(self, blob: bytes) -> Iterator[list[str]]:
        """The texts of every line."""
        for line in blob.decode().splitlines()[self.skip_lines :]:
            if line.strip():
                yield [text.strip() for text in line.split(",")]

    def numbers(self, name: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """The numbers of a column; NaN for a question mark."""
        codes = {"?": np.nan, **self.codes.get(name, {})}
        return np.array([codes[text] if text in codes else float(text) for text in texts], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The manifest of a data set; ``datasets/README.md`` explains the fields."""

    name: str
    title: str
    citation: str
    path: str
    sha256: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    bundled: bool = False
    n_items: int = 0
    n_features: int = 0
    n_classes: int | None = None
    target_names: tuple[str, ...] = ()
    licence: str = "CC BY 4.0"
    homepage: str = ""
    description: str = ""
    quirks: tuple[str, ...] = ()
    table: Table = field(default_factory=Table)
    sources: tuple[Source, ...] = ()

    def describe(self, note: str) -> str:
        """The description for users, with a note on how the data were coded."""
        parts = [self.title, self.description, note, *self.quirks]
        return "\n\n".join(part for part in parts if part)


def manifest_folder() -> Path:
    """The folder of the manifests: beside this file in an installed package, otherwise in the clone."""
    installed = _HERE / "_manifests"
    return installed if installed.is_dir() else _HERE.parents[1] / "datasets"


def manifest_names() -> list[str]:
    """The names of all data sets, sorted."""
    return sorted(path.stem for path in manifest_folder().glob("*.toml"))


@functools.cache
def load_manifest(name: str) -> Manifest:
    """Read the manifest of data set `name`."""
    path = manifest_folder() / f"{name}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"there is no data set {name!r}; choose from: {', '.join(manifest_names()) or 'none'}"
        raise ValueError(msg) from None
    raw |= {"name": name, "table": Table(**with_tuples(raw.get("table", {})))} | raw.pop("file")
    if "checksums" in raw:
        lines = path.with_name(raw["checksums"]).read_text(encoding="ascii").splitlines()
        raw["checksums"] = {name: sha256 for sha256, name in (line.split(maxsplit=1) for line in lines)}
    sources = tuple(Source(**source) for source in raw.get("sources", ()))
    return Manifest(**with_tuples(raw) | {"sources": sources})


def with_tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a table of TOML, with tuples in place of its lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
