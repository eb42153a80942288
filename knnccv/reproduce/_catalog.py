"""The reproductions of ``papers/catalog.toml``, and `reproduce`, which runs them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._combined import CombinedReport
    from ._comparison import Comparison

LIST = Path(__file__).with_name("papers") / "catalog.toml"
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
    from . import _page
    from ._combined import CombinedReport, write_files

    if folder is not None:  # a folder or library that is missing is reported before the computation
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if name == "all":
            _page.require_libraries()
    if name != "all":
        report = _kept_or_run(name, quick, progress, fresh)
        if folder is not None:
            write_files(report, folder, name)
        return report
    combined = CombinedReport(_run_all(quick, progress, fresh))
    if folder is not None:
        combined.write(folder)
    return combined


def _run_all(quick: bool, progress: bool, fresh: bool) -> dict[str, Comparison]:
    """All reports by name; instead of one that fails, an empty one with the error."""
    from .._parallel import for_each
    from ._comparison import Comparison

    found: dict[str, Comparison] = {}

    def run(name: str) -> None:
        try:
            found[name] = _kept_or_run(name, quick, False, fresh)
        except Exception as error:  # noqa: BLE001, RUF100 - the other reports are made after any error
            failures = (f"{type(error).__name__}: {error}",)
            found[name] = Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=failures)

    for_each(run, list(REPRODUCTIONS), n_jobs=1, progress=progress, unit="reproduction")
    return found


def _kept_or_run(name: str, quick: bool, progress: bool, fresh: bool) -> Comparison:
    from . import _cache

    return _cache.kept_report(name, quick, fresh, partial(REPRODUCTIONS[name].run, quick, progress))


def _run(function: str, quick: bool, progress: bool) -> Comparison:
    """Call a function of a module below, imported now: the list itself needs no NumPy."""
    module, _, name = function.rpartition(".")
    report: Comparison = getattr(import_module(f".{module}", __package__), name)(quick, progress)
    return report


REPRODUCTIONS: Mapping[str, Reproduction] = {
    name: Reproduction(told["title"], partial(_run, told["run"]))
    for name, told in tomllib.loads(LIST.read_text(encoding="utf-8")).items()
}
