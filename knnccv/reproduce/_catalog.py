"""The reproductions of ``papers/catalog.toml``, `reproduce`, which runs them, and the cache of reports.

Each is computed once for the same code, data and libraries: the file of a report is named by a hash of
everything that determines it. That is the package's source, the manifests with the hashes of the data, the
versions of the libraries, the machine (seconds depend on it), the name and the size. A report with missing
parts is not stored. The list itself needs no NumPy.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._combined import CombinedReport
    from ._paper import Comparison

LIST = Path(__file__).with_name("papers") / "catalog.toml"
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")
Run = Callable[[bool, bool], "Comparison"]


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
        reproduction, and ``summary.md`` and ``report.html`` (extra ``[report]``).
    progress : bool, default False
        Show a progress bar (needs tqdm) if the computation takes long; for "all", one bar of the
        reproductions.
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
    ImportError
        If ``report.html`` is requested and the extra ``[report]`` is missing.
    """
    if name not in (*REPRODUCTIONS, "all"):
        msg = f"there is no table {name!r}; choose from: {', '.join(REPRODUCTIONS)}, all"
        raise ValueError(msg)
    from ._combined import CombinedReport, require_libraries, write_files

    if folder is not None:  # a folder or library that is missing is reported before the computation
        Path(folder).mkdir(parents=True, exist_ok=True)
        if name == "all":
            require_libraries()
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
    from .._parallel import for_each
    from ._paper import Comparison

    found: dict[str, Comparison] = {}

    def run(name: str) -> None:
        try:
            found[name] = kept_report(name, quick, fresh)
        except Exception as error:  # noqa: BLE001, RUF100 - the other reports are made after any error
            failures = (f"{type(error).__name__}: {error}",)
            found[name] = Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=failures)

    for_each(run, list(REPRODUCTIONS), n_jobs=1, progress=progress, unit="reproduction")
    return found


def _run(function: str, quick: bool, progress: bool) -> Comparison:
    """Call a function of a module below, which is imported now."""
    module, _, name = function.rpartition(".")
    report: Comparison = getattr(import_module(f".{module}", __package__), name)(quick, progress)
    return report


def kept_report(name: str, quick: bool, fresh: bool, progress: bool = False) -> Comparison:
    """The stored report unless `fresh`; or the computed one, stored if the folder can be written to."""
    from ._paper import Comparison

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
    import pooch

    return Path(pooch.os_cache("knnccv")) / "reproductions"


def content_key(name: str, quick: bool) -> str:
    """The hash of everything that determines a report."""
    import knnccv_variants

    from .._parallel import n_workers
    from ..datasets import manifest_folder

    settings = sorted((key, value) for key, value in os.environ.items() if key.startswith("NUMBA_"))
    machine = platform.node(), platform.machine(), sys.version, n_workers(None), settings
    there = {one.name: one.version for one in importlib.metadata.distributions() if one.name in LIBRARIES}
    digest = hashlib.sha256(repr((name, quick, machine, sorted(there.items()))).encode())
    sources = (Path(__file__).resolve().parents[1], Path(knnccv_variants.__file__).resolve().parent)
    files = [path for source in sources for path in source.rglob("*.*") if path.suffix in (".py", ".toml")]
    for path in sorted({*files, *manifest_folder().rglob("*.*")}):
        if path.is_file():
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
    from .._files import written_whole

    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as part:
        part.write_bytes(pickle.dumps(answer))


REPRODUCTIONS: Mapping[str, Reproduction] = {
    name: Reproduction(told["title"], partial(_run, told["run"]))
    for name, told in tomllib.loads(LIST.read_text(encoding="utf-8")).items()
}
