"""List of the reproductions, and `reproduce`, which runs them; a new reproduction is entered here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """All reports by name, with one bar over all of them."""
    if not progress:
        return {name: _run_or_report_failure(name, quick, False, fresh) for name in REPRODUCTIONS}
    from .._parallel import progress_bar

    found = {}
    with progress_bar(len(REPRODUCTIONS), "reproduction") as bar:
        for name in REPRODUCTIONS:
            bar.set_description(name)
            found[name] = _run_or_report_failure(name, quick, False, fresh)
            bar.update()
        bar.set_description("")
    return found


def _run_or_report_failure(name: str, quick: bool, progress: bool, fresh: bool) -> Comparison:
    """The report, or an empty one with the error as its failure, so that the other reports are not lost."""
    from ._comparison import Comparison

    try:
        return _kept_or_run(name, quick, progress, fresh)
    except Exception as error:  # noqa: BLE001, RUF100 - the other reports are made after any error
        failure = f"{type(error).__name__}: {error}"
        return Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=(failure,))


def _kept_or_run(name: str, quick: bool, progress: bool, fresh: bool) -> Comparison:
    from . import _cache

    key = _cache.content_key(name, quick)
    kept = None if fresh else _cache.find(key)
    if kept is not None:
        return kept
    report = REPRODUCTIONS[name].run(quick, progress)
    _cache.keep(key, report)
    return report


def _run_later(module: str, function: str) -> Run:
    """The function of a module below, imported when it is called: the list itself needs no NumPy."""

    def run(quick: bool, progress: bool) -> Comparison:
        report: Comparison = getattr(import_module(f".{module}", __package__), function)(quick, progress)
        return report

    return run


REPRODUCTIONS: Mapping[str, Reproduction] = {
    "tr-table1": Reproduction(
        "Table 1 of Mullin & Sukthankar's technical report", _run_later("tr1999._report", "tr_table1")
    ),
    "icml-table2": Reproduction(
        "Table 2 of Mullin & Sukthankar (ICML 2000): accuracies, their variances and times",
        _run_later("icml2000._report", "table2"),
    ),
    "icml-table3": Reproduction(
        "Table 3 of Mullin & Sukthankar (ICML 2000): expected loss with unequal costs",
        _run_later("icml2000._report", "table3"),
    ),
    "wm-table1": Reproduction(
        "Table 1 of Wilson & Martinez: static votes, LCV and CVC on 30 data sets",
        _run_later("wilson_martinez._report", "wm_table"),
    ),
    "kanagawa-figures": Reproduction(
        "Figures 2 to 4 of Kanagawa: leave-one-out by an identity",
        _run_later("kanagawa._report", "kanagawa"),
    ),
    "what-ccv-buys": Reproduction(
        "Random runs, and seconds, that one complete cross-validation replaces",
        _run_later("_what_ccv_buys", "what_ccv_buys"),
    ),
    "esl-cv": Reproduction(
        "The Elements of Statistical Learning: screening, K by cross-validation, decision maps",
        _run_later("esl._report", "esl_cv"),
    ),
    "coverage": Reproduction(
        "Coverage of 95 % intervals and levels of tests, by simulation",
        _run_later("coverage._report", "coverage"),
    ),
}
