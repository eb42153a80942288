"""The reproductions of ``papers/catalog.toml``, `reproduce`, which runs them, and the cache of reports.

Each is computed once for the same code, data and libraries: the file of a report is named by a hash of
everything that determines it. That is the source of knnccv and of this package, the manifests with the
hashes of the data, the versions of the libraries, the machine (seconds depend on it), the name and the
size. A report with missing parts is not stored.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.metadata
import os
import pickle
import platform
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pooch

from knnccv.datasets import list_datasets

from ._combined import CombinedReport, write_files
from ._paper import Comparison
from ._work import for_each, n_workers, write_whole

LIST = Path(__file__).with_name("papers") / "catalog.toml"
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")
PACKAGES = ("knnccv", "knnccv_variants", "knnccv_papers")
Run = Callable[[bool, bool], Comparison]


@dataclass(frozen=True)
class Reproduction:
    """A table or figures of the literature, and the function that recomputes them.

    Attributes
    ----------
    title : str
        The title, with its source.
    run : callable
        ``run(quick, progress)`` returns a `Comparison`.
    """

    title: str
    run: Run


def reproduce(
    name: str,
    *,
    quick: bool = False,
    folder: str | Path | None = None,
    progress: bool = False,
    fresh: bool = False,
) -> Comparison | CombinedReport:
    """Recompute tables and figures of the literature.

    Parameters
    ----------
    name : str
        One of `REPRODUCTIONS`, or "all".
    quick : bool, default False
        Draw fewer random trials.
    folder : path, optional
        Also write ``NAME.md``, ``NAME.csv`` and the pictures there. For "all", write these files of every
        reproduction, and ``summary.md`` and ``report.html``.
    progress : bool, default False
        Show a progress bar; for "all", one bar of the reproductions.
    fresh : bool, default False
        Compute the report even if the cache has it for the same code, data and libraries.

    Returns
    -------
    Comparison or CombinedReport
        Printed and computed numbers, with ``to_text()``, ``to_markdown()`` and ``to_csv()``. Where data
        cannot be obtained, ``failures`` gives the reasons, and the other parts are complete.

    Raises
    ------
    ValueError
        If there is no such table.
    OSError
        If the folder cannot be written to.
    """
    if name not in (*REPRODUCTIONS, "all"):
        msg = f"there is no table {name!r}; choose from: {', '.join(REPRODUCTIONS)}, all"
        raise ValueError(msg)
    if folder is not None:  # one that cannot be made is reported before the computation
        Path(folder).mkdir(parents=True, exist_ok=True)
    report = (
        CombinedReport(_run_all(quick, fresh, progress))
        if name == "all"
        else kept_report(name, quick, fresh, progress)
    )
    if folder is not None:
        write_files(report, Path(folder), name)
    return report


def _run_all(quick: bool, fresh: bool, progress: bool) -> dict[str, Comparison]:
    """All reports by name; instead of one that fails, an empty one with the error."""
    found: dict[str, Comparison] = {}

    def run(name: str) -> None:
        try:
            found[name] = kept_report(name, quick, fresh)
        except Exception as error:  # noqa: BLE001, RUF100 - the other reports are made after any error
            failures = (f"{type(error).__name__}: {error}",)
            found[name] = Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=failures)

    for_each(run, list(REPRODUCTIONS), 1, progress, unit="reproduction")
    return found


def _run(function: str, quick: bool, progress: bool) -> Comparison:
    """Call a function of a module below, which is imported now."""
    module, _, name = function.rpartition(".")
    report: Comparison = getattr(import_module(f".{module}", __package__), name)(quick, progress)
    return report


def kept_report(name: str, quick: bool, fresh: bool, progress: bool = False) -> Comparison:
    """The stored report unless `fresh`; or the computed one, stored if the folder can be written to."""
    compute = REPRODUCTIONS[name].run
    try:
        path = kept_folder() / f"{content_key(name, quick)}.pickle"
    except RuntimeError:  # the home folder of an unknown user
        return compute(quick, progress)
    kept = None if fresh else find(path)
    if isinstance(kept, Comparison):
        return replace(kept, kept_since=datetime.date.fromtimestamp(path.stat().st_mtime).isoformat())
    report = compute(quick, progress)
    if not report.failures:
        with contextlib.suppress(OSError):
            keep(path, report)
    return report


def kept_folder() -> Path:
    """The folder ``KNNCCV_CACHE_DIR``; by default ``reproductions`` in the user's cache folder."""
    if folder := os.environ.get("KNNCCV_CACHE_DIR"):
        return Path(folder).expanduser()
    return Path(pooch.os_cache("knnccv")) / "reproductions"


def content_key(name: str, quick: bool) -> str:
    """The hash of everything that determines a report."""
    settings = sorted((key, value) for key, value in os.environ.items() if key.startswith("NUMBA_"))
    machine = platform.node(), platform.machine(), sys.version, n_workers(), settings
    there = {one.name: one.version for one in importlib.metadata.distributions() if one.name in LIBRARIES}
    digest = hashlib.sha256(repr((name, quick, machine, sorted(there.items()))).encode())
    specs = [find_spec(package) for package in PACKAGES]
    folders = [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    folders += [info.path.parent for info in list_datasets() if info.name == "wine"]  # of the manifests
    files = {path for folder in folders for path in folder.rglob("*.*")}
    for path in sorted(path for path in files if path.suffix in (".py", ".toml", ".csv", ".sha256")):
        digest.update(f"{path.parent.name}/{path.name} ".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def find(path: Path) -> Any:
    """What the file has; None if there is none or it is damaged."""
    try:
        return pickle.loads(path.read_bytes())
    except Exception:  # noqa: BLE001, RUF100 - a damaged file raises any
        return None


def keep(path: Path, answer: Any) -> None:
    """Store an answer in the file."""
    write_whole(path, pickle.dumps(answer))


REPRODUCTIONS: Mapping[str, Reproduction] = {
    name: Reproduction(told["title"], partial(_run, told["run"]))
    for name, told in tomllib.loads(LIST.read_text(encoding="utf-8")).items()
}
