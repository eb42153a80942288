"""Tables of the literature, computed again and set beside what was printed.

A table is data: its experiments, each with the printed numbers and the question that it asks of knnccv.
Nothing that is shown as knnccv's is stored anywhere; it is computed when asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ._comparison import Picture

from .tr1999._paper import TABLES
from .tr1999._protocol import _run_table

"""How many sets of the largest S-n are drawn: in full, and quickly."""
"""Of how many calls a time is the median."""


class Report(Protocol):
    """Both tables side by side."""

    @property
    def failures(self) -> Sequence[str]:
        """Why parts are missing, one line for every data set that could not be had."""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """What is drawn of it."""

    def to_text(self) -> str:
        """For a terminal."""

    def to_markdown(self) -> str:
        """As a document."""

    def to_csv(self) -> str:
        """With all digits."""


@dataclass(frozen=True)
class Reproduction:
    """What can be computed again.

    Attributes
    ----------
    title : str
        What it is.
    run : callable
        ``run(quick, progress)`` → `Report`.
    """

    title: str
    run: Callable[[bool, bool], Report]


def reproduce(
    name: str,
    *,
    quick: bool = False,
    folder: str | Path | None = None,
    progress: bool = False,
    fresh: bool = False,
) -> Report:
    """Compute tables and figures of the literature again.

    Parameters
    ----------
    name : str
        One of `REPRODUCTIONS`, or "all".
    quick : bool, default False
        Draw fewer random trials.
    progress : bool, default False
        Show a progress bar (needs tqdm) where it takes long.
    fresh : bool, default False
        Compute it even if it was computed before with the same code, data and libraries, and kept.
    folder : path, optional
        Also write ``NAME.md``, ``NAME.csv`` and its pictures there; for "all" those of every one, and
        ``report.html`` with everything in it.

    Returns
    -------
    Answer
        Both tables side by side, with ``to_text()``, ``to_markdown()`` and ``to_csv()``. Where data
        could not be had, its ``failures`` say why, and the other experiments are there.

    Raises
    ------
    ValueError
        If there is no such table.
    OSError
        If the folder cannot be written to.
    """
    if name not in (*REPRODUCTIONS, "all"):
        msg = f"there is no table {name!r}; there are: {', '.join(REPRODUCTIONS)}, all"
        raise ValueError(msg)
    if folder is not None:  # rather now than after the work
        Path(folder).mkdir(parents=True, exist_ok=True)
    from ._comparison import write_answer
    from ._html_report import CombinedReport

    if name == "all":
        book = CombinedReport(
            {one: _run_or_report_failure(one, quick, progress, fresh) for one in REPRODUCTIONS}
        )
        if folder is not None:
            book.write(Path(folder), name)
        return book
    answer = _kept_or_run(name, quick, progress, fresh)
    if folder is not None:
        write_answer(answer, Path(folder), name)
    return answer


def _run_or_report_failure(name: str, quick: bool, progress: bool, fresh: bool) -> Report:
    """An answer, or one that tells why there is none: the others are not lost for it."""
    from ._comparison import Comparison

    try:
        return _kept_or_run(name, quick, progress, fresh)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever it is, the others are worth having
        failure = f"{type(error).__name__}: {error}"
        return Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=(failure,))


def _kept_or_run(name: str, quick: bool, progress: bool, fresh: bool) -> Report:
    from . import _cache

    key = _cache.content_key(name, quick)
    kept = None if fresh else _cache.find(key)
    if kept is not None:
        return kept
    answer = REPRODUCTIONS[name].run(quick, progress)
    _cache.keep(key, answer)
    return answer


def _run_wilson_martinez(quick: bool, progress: bool) -> Report:
    from .wilson_martinez._report import wm_table

    return wm_table(quick, progress)


def _run_icml_table2(quick: bool, progress: bool) -> Report:
    from .icml2000._report import table2

    return table2(quick, progress)


def _run_icml_table3(quick: bool, progress: bool) -> Report:
    from .icml2000._report import table3

    return table3(quick, progress)


def _run_kanagawa(quick: bool, progress: bool) -> Report:
    from .kanagawa._report import kanagawa

    return kanagawa(quick, progress)


def _run_what_ccv_buys(quick: bool, progress: bool) -> Report:
    from ._what_ccv_buys import what_ccv_buys

    return what_ccv_buys(quick, progress)


def _run_esl(quick: bool, progress: bool) -> Report:
    from .esl._report import esl_cv

    return esl_cv(quick, progress)


REPRODUCTIONS: Mapping[str, Reproduction] = {
    **{
        name: Reproduction(table.title, functools.partial(_run_table, table))
        for name, table in TABLES.items()
    },
    "icml-table2": Reproduction(
        "Table 2 of Mullin & Sukthankar (ICML 2000): accuracies, their variances and times",
        _run_icml_table2,
    ),
    "icml-table3": Reproduction(
        "Table 3 of Mullin & Sukthankar (ICML 2000): expected loss with unequal costs",
        _run_icml_table3,
    ),
    "wm-table1": Reproduction(
        "Table 1 of Wilson & Martinez: static votes, LCV and CVC on 30 data sets", _run_wilson_martinez
    ),
    "kanagawa-figures": Reproduction(
        "Figures 2 to 4 of Kanagawa: leave-one-out by an identity", _run_kanagawa
    ),
    "what-ccv-buys": Reproduction(
        "Random runs, and seconds, that one complete cross-validation replaces", _run_what_ccv_buys
    ),
    "esl-cv": Reproduction(
        "The Elements of Statistical Learning: screening, K by cross-validation, decision maps", _run_esl
    ),
}
