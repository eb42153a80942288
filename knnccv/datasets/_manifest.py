"""Manifests (``datasets/*.toml``): addresses, hashes, columns and descriptions of the data sets."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Source:
    """One public address of a file, or of a zip archive that has it as `member`."""

    url: str
    member: str | None = None


@dataclass(frozen=True)
class Table:
    """The columns of a file of comma-separated values, and how to read them."""

    fields: tuple[str, ...]
    target: str
    omit: tuple[str, ...] = ()
    missing: str | None = None
    header: bool = False
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The manifest of a data set; ``datasets/README.md`` explains the fields."""

    name: str
    title: str
    n_items: int
    n_features: int
    n_classes: int | None
    target_names: tuple[str, ...]
    licence: str
    homepage: str
    citation: str
    description: str
    quirks: tuple[str, ...]
    path: str
    sha256: str | None
    checksums: Mapping[str, str]
    bundled: bool
    table: Table | None
    sources: tuple[Source, ...]

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
    place = raw.pop("file")
    return Manifest(
        name=name,
        n_classes=raw.pop("n_classes", None),
        target_names=tuple(raw.pop("target_names", ())),
        quirks=tuple(raw.pop("quirks", ())),
        path=place["path"],
        sha256=place.get("sha256"),
        checksums=_read_checksums(path.with_name(place["checksums"])) if "checksums" in place else {},
        bundled=place.get("bundled", False),
        table=_read_table(raw.pop("table")) if "table" in raw else None,
        sources=tuple(Source(**source) for source in raw.pop("sources", ())),
        **raw,
    )


def _read_table(raw: dict[str, Any]) -> Table:
    raw["fields"] = tuple(raw["fields"])
    raw["omit"] = tuple(raw.get("omit", ()))
    return Table(**raw)


def _read_checksums(path: Path) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in path.read_text(encoding="ascii").splitlines())
    return {name: sha256 for sha256, name in pairs}
