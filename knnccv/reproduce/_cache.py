"""Cache of the reproductions on disk: each is computed once for the same code, data and libraries.

The file of a report is named by a hash of everything that determines it: the package's source, the
manifests with the hashes of the data, the versions of the libraries, the machine (seconds depend on it),
the name and the size. A report with missing parts is not stored.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import os
import pickle
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._files import written_whole
from .._parallel import n_workers
from ..datasets import manifest_folder
from ._comparison import Comparison

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
    there = {one.name: one.version for one in importlib.metadata.distributions() if one.name in LIBRARIES}
    digest = hashlib.sha256(repr((name, quick, machine, sorted(there.items()))).encode())
    sources = (Path(__file__).resolve().parents[1], Path(knnccv_variants.__file__).resolve().parent)
    files = [
        path for source in sources for ending in ("py", "toml") for path in source.rglob(f"*.{ending}")
    ]
    for path in sorted([*files, *manifest_folder().rglob("*.*")]):
        if path.is_file():
            digest.update(
                f"{path.parent.name}/{path.name} ".encode() + hashlib.sha256(path.read_bytes()).digest()
            )
    return digest.hexdigest()


def find(path: Path) -> Any:
    """What the file has; None if there is none or it is damaged."""
    try:
        return pickle.loads(path.read_bytes())
    except Exception:  # noqa: BLE001, RUF100 - a damaged file raises any
        return None


def keep(path: Path, answer: Any) -> None:
    """Store an answer in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as part:
        part.write_bytes(pickle.dumps(answer))


def kept_report(name: str, quick: bool, fresh: bool, compute: Callable[[], Comparison]) -> Comparison:
    """The stored report unless `fresh`; or the computed one, stored if the folder can be written to."""
    try:
        path = kept_folder() / f"{content_key(name, quick)}.pickle"
    except RuntimeError:  # the home folder of an unknown user
        return compute()
    kept = None if fresh else find(path)
    if isinstance(kept, Comparison):
        return replace(kept, kept_since=datetime.date.fromtimestamp(path.stat().st_mtime).isoformat())
    report = compute()
    if not report.failures:
        try:
            keep(path, report)
        except OSError:
            return report
    return report
