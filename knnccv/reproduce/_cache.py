"""Cache of the reproductions on disk: each is computed once for the same code, data and libraries.

The file of a report is named by a hash of everything that determines it: the package's source, the
manifests with the hashes of the data, the versions of the libraries, the machine (seconds depend on it),
the name and the size. A report with missing parts is not stored.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import operator
import os
import platform
import sys
import uuid
from pathlib import Path
from typing import Any

from .._parallel import n_workers
from ..datasets import manifest_folder
from ._comparison import Comparison, Line, Table
from ._picture import Picture

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def kept_folder() -> Path:
    """The folder ``KNNCCV_CACHE_DIR``; by default ``reproductions`` in the user's cache folder."""
    folder = os.environ.get("KNNCCV_CACHE_DIR")
    if folder:
        return Path(folder).expanduser()
    import pooch

    return Path(pooch.os_cache("knnccv")) / "reproductions"


def content_key(name: str, quick: bool) -> str:
    """The hash of everything that determines a report."""
    import knnccv_variants

    settings = sorted((key, value) for key, value in os.environ.items() if key.startswith("NUMBA_"))
    machine = platform.node(), platform.machine(), sys.version, n_workers(None), settings
    digest = hashlib.sha256(repr((name, quick, machine)).encode())
    package = Path(__file__).resolve().parents[1]
    variants = Path(knnccv_variants.__file__).resolve().parent
    files = [*package.rglob("*.py"), *variants.rglob("*.py"), *manifest_folder().rglob("*.*")]
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


def find(key: str) -> Comparison | None:
    """The report stored under the key; None if there is none or its file is damaged."""
    try:
        stored = _with_tuples(json.loads((kept_folder() / f"{key}.json").read_text(encoding="utf-8")))
        report = stored["report"]
        restored = {
            "lines": tuple(Line(**line) for line in report["lines"]),
            "tables": tuple(Table(**table) for table in report["tables"]),
            "pictures": tuple(
                Picture(name, caption, _cannot_draw, base64.b64decode(png))
                for name, caption, png in stored["pictures"]
            ),
        }
        return Comparison(**{**report, **restored, "kept_since": stored["date"]})
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, binascii.Error):
        return None


def keep(key: str, report: Comparison) -> None:
    """Store a report; do nothing if the folder cannot be written to."""
    if report.failures:
        return
    try:
        pictures = [
            (picture.name, picture.caption, base64.b64encode(picture.png()).decode())
            for picture in report.pictures
        ]
    except ImportError:  # matplotlib is missing, which is part of the key
        pictures = []
    stored = {
        "date": datetime.date.today().isoformat(),
        "report": dataclasses.asdict(dataclasses.replace(report, pictures=())),
        "pictures": pictures,
    }
    text = json.dumps(stored, default=operator.methodcaller("item"))  # NumPy's numbers
    try:
        folder = kept_folder()
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{key}.{uuid.uuid4().hex}.part"
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(folder / f"{key}.json")
        finally:
            part.unlink(missing_ok=True)
    except (OSError, RuntimeError):  # the home folder of an unknown user is a RuntimeError
        return


def _with_tuples(value: Any) -> Any:
    """Tuples in place of the lists of JSON."""
    if isinstance(value, dict):
        return {key: _with_tuples(one) for key, one in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _cannot_draw() -> Any:
    msg = "a picture from the cache has a file but cannot be drawn again"
    raise RuntimeError(msg)
