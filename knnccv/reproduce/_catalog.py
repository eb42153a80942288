"""List of the reproductions, and `reproduce`, which runs them; a new reproduction is entered here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._combined import CombinedReport
    from ._comparison import Comparison

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
    if name == "all":
        combined = CombinedReport(_run_all(quick, progress, fresh))
        if folder is not None:
            combined.write(folder)
        return combined
    report = _kept_or_run(name, quick, progress, fresh)
    if folder is not None:
        write_files(report, folder, name)
    return report


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


def _run(module: str, function: str, quick: bool, progress: bool) -> Comparison:
    """Call the function of a module below, imported now: the list itself needs no NumPy."""
    report: Comparison = getattr(import_module(f".{module}", __package__), function)(quick, progress)
    return report


REPRODUCTIONS: Mapping[str, Reproduction] = {
    name: Reproduction(title, partial(_run, module, function))
    for name, module, function, title in (
        ("tr-table1", "_tr1999", "table1", "Table 1 of Mullin & Sukthankar's technical report"),
        (
            *("icml-table2", "_icml2000", "table2"),
            "Table 2 of Mullin & Sukthankar (ICML 2000): accuracies, their variances and times",
        ),
        (
            *("icml-table3", "_icml2000", "table3"),
            "Table 3 of Mullin & Sukthankar (ICML 2000): expected loss with unequal costs",
        ),
        (
            *("wm-table1", "_wilson_martinez", "table1"),
            "Table 1 of Wilson & Martinez: static votes, LCV and CVC on 30 data sets",
        ),
        (
            *("kanagawa-figures", "_kanagawa", "figures"),
            "Figures 2 to 4 of Kanagawa: leave-one-out by an identity",
        ),
        (
            *("what-ccv-buys", "_what_ccv_buys", "what_ccv_buys"),
            "Random runs, and seconds, that one complete cross-validation replaces",
        ),
        (
            *("esl-cv", "_esl", "simulations"),
            "The Elements of Statistical Learning: screening, K by cross-validation, decision maps",
        ),
        (
            *("coverage", "coverage._report", "coverage"),
            "Coverage of 95 % intervals and levels of tests, by simulation",
        ),
    )
}
