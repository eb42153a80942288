"""Reproductions kept on the disk: computed once for the same code, data and libraries.

What is kept is what was shown, text, tables and pictures, under a hash of all that decides it: the
package's source, the manifests with the hashes of the data, the versions of the libraries, the machine
(seconds are its), the name and the size. Nothing is kept of a reproduction of which a part is missing.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._parallel import n_workers
from ..datasets import manifest_folder
from ._comparison import Picture

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def kept_folder() -> Path:
    """Return the folder ``KNNCCV_CACHE_DIR``, or else ``reproductions`` in the user's cache folder."""
    folder = os.environ.get("KNNCCV_CACHE_DIR")
    if folder:
        return Path(folder).expanduser()
    import pooch

    return Path(pooch.os_cache("knnccv")) / "reproductions"


def content_key(name: str, quick: bool) -> str:
    """The hash of all that decides what a reproduction shows."""
    import knnccv_variants

    settings = sorted((key, value) for key, value in os.environ.items() if key.startswith("NUMBA_"))
    machine = platform.node(), platform.machine(), sys.version, n_workers(None), settings
    digest = hashlib.sha256(repr((name, quick, machine)).encode())
    here = Path(__file__).resolve().parents[1]
    variants = Path(knnccv_variants.__file__).resolve().parent
    files = [*here.rglob("*.py"), *variants.rglob("*.py"), *manifest_folder().rglob("*.*")]
    for path in sorted(files):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.parent.name}/{path.name} {content}\n".encode())
    for library in LIBRARIES:
        try:
            version = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            version = "none"
        digest.update(f"{library} {version}".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class CachedReport:
    """What an earlier run has shown, with the interface of an `Report`.

    Attributes
    ----------
    text, markdown, csv : str
        As shown then.
    drawn : tuple of (name, caption, png)
        Its pictures.
    """

    text: str
    markdown: str
    csv: str
    drawn: tuple[tuple[str, str, bytes], ...]

    @property
    def failures(self) -> list[str]:
        """None: only whole answers are kept."""
        return []

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """As drawn then."""
        return tuple(DrawnPicture(name, caption, _not_drawn, png) for name, caption, png in self.drawn)

    def to_text(self) -> str:
        """For a terminal."""
        return self.text

    def to_markdown(self) -> str:
        """As a document."""
        return self.markdown

    def to_csv(self) -> str:
        """With all digits."""
        return self.csv


def _not_drawn() -> Any:
    msg = "a kept picture is drawn already"
    raise RuntimeError(msg)


@dataclass(frozen=True)
class DrawnPicture(Picture):
    """A picture of which the file is there."""

    content: bytes = b""

    def png(self) -> bytes:
        """The picture's file."""
        return self.content


def find(key: str) -> CachedReport | None:
    """What was kept under the key, if it is there and whole."""
    try:
        stored = json.loads((kept_folder() / f"{key}.json").read_text(encoding="utf-8"))
        drawn = tuple((name, caption, base64.b64decode(png)) for name, caption, png in stored["pictures"])
        when = (
            f"- Kept since {stored['date']}: the same code, data and libraries (--fresh computes it again)."
        )
        return CachedReport(
            f"{stored['text']}\n{when}", f"{stored['markdown']}{when}\n", stored["csv"], drawn
        )
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, binascii.Error):
        return None


def keep(key: str, answer: Any) -> None:
    """Keep an answer for later; where nothing can be written nothing is kept."""
    if answer.failures:
        return
    try:
        drawn = [
            (picture.name, picture.caption, base64.b64encode(picture.png()).decode())
            for picture in answer.pictures
        ]
    except ImportError:  # without matplotlib, whose absence is part of the key
        drawn = []
    stored = {
        "date": datetime.date.today().isoformat(),
        "text": answer.to_text(),
        "markdown": answer.to_markdown(),
        "csv": answer.to_csv(),
        "pictures": drawn,
    }
    try:
        folder = kept_folder()
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{key}.{uuid.uuid4().hex}.part"
        try:
            part.write_text(json.dumps(stored), encoding="utf-8")
            part.replace(folder / f"{key}.json")
        finally:
            part.unlink(missing_ok=True)
    except (OSError, RuntimeError):  # a home folder that nobody has is a RuntimeError
        return
