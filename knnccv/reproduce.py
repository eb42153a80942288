"""Tables of the literature, computed again and set beside what was printed.

A table is data: its experiments, each with the printed numbers and the question that it asks of knnccv.
Nothing that is shown as knnccv's is stored anywhere; it is computed when asked for.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ._comparison import Picture
    from ._report import Report
    from .datasets import Dataset

SETS = {False: 20, True: 5}
"""How many sets of the largest S-n are drawn: in full, and quickly."""

CALLS = {False: 5, True: 3}
"""Of how many calls a time is the median."""

SEED = 0


@dataclass(frozen=True)
class Cell:
    """One number of a table: accuracy in %, twice its standard deviation if it has one, and its time."""

    value: float
    two_sigma: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One row of a table, and what it asks.

    Attributes
    ----------
    number : int
        As the paper counts.
    title : str
        What it is, for people.
    data : tuple of str and mapping
        Function of `knnccv.datasets` and its arguments.
    variant : str
        The rule.
    design : tuple of str and mapping
        Class of `knnccv.designs` and its arguments.
    paper : mapping of str to Cell
        What is printed. "Exact" is the exact score; "S-n" the mean of n random trials.
    ties : str
        As for `complete_cv`. With "random" a note tells what "index" would give.
    parameters : mapping
        The variant's parameters.
    """

    number: int
    title: str
    data: tuple[str, Mapping[str, Any]]
    variant: str
    design: tuple[str, Mapping[str, Any]]
    paper: Mapping[str, Cell]
    ties: str = "index"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PaperTable:
    """A table of the literature.

    Attributes
    ----------
    title, source : str
        What it is, and where it is printed.
    digit : float
        Half a unit of the last printed digit: what rounding alone can make of a difference.
    experiments : tuple of Experiment
        Its rows.
    notes : tuple of str
        What a reader of both columns must know.
    """

    title: str
    source: str
    digit: float
    experiments: tuple[Experiment, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """What knnccv found for an experiment; no cells where its data could not be had."""

    experiment: Experiment
    cells: Mapping[str, Cell] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: str | None = None


def _printed(exact: tuple[float, float], **trials: tuple[float, float, float]) -> dict[str, Cell]:
    cells = {"Exact": Cell(exact[0], seconds=exact[1])}
    cells.update({name.replace("_", "-"): Cell(*values) for name, values in trials.items()})
    return cells


_LIVER: tuple[str, Mapping[str, Any]] = ("fetch_liver_disorders", {})
_FACES: tuple[str, Mapping[str, Any]] = ("fetch_orl", {"size": (16, 16)})
_HALF: tuple[str, Mapping[str, Any]] = ("Subsample", {"train_size": 172})
_THREE: tuple[str, Mapping[str, Any]] = ("StratifiedSubsample", {"per_class": 3})

TABLES: Mapping[str, PaperTable] = {
    "tr-table1": PaperTable(
        title="Table 1 of Mullin & Sukthankar's technical report",
        source="M. Mullin & R. Sukthankar, Complete Cross-Validation for Nearest Neighbor Classifiers, "
        "technical report, section 3",
        digit=0.05,
        experiments=(
            Experiment(
                1,
                "liver-disorders, 172 training items, nearest neighbour",
                _LIVER,
                "nn",
                _HALF,
                _printed(
                    (60.7, 8.2),
                    S_1=(61.1, 6.3, 1.2),
                    S_10=(60.6, 2.0, 11.8),
                    S_50=(60.6, 0.7, 59.3),
                ),
                ties="random",
            ),
            Experiment(
                2,
                "liver-disorders, 172 training items, one of the 5 nearest is right",
                _LIVER,
                "rank",
                _HALF,
                _printed(
                    (96.3, 24.3),
                    S_1=(96.4, 3.4, 1.2),
                    S_10=(96.2, 1.1, 12.5),
                    S_50=(96.5, 0.4, 62.2),
                ),
                parameters={"rank": 5},
            ),
            Experiment(
                3,
                "ORL faces 16 x 16, 3 training items per class, nearest neighbour",
                _FACES,
                "nn",
                _THREE,
                _printed(
                    (88.8, 115.3),
                    S_1=(89.2, 3.9, 25.5),
                    S_10=(88.9, 0.8, 248.6),
                    S_50=(88.8, 0.8, 1248.2),
                ),
            ),
            Experiment(
                4,
                "ORL faces 16 x 16, 3 training items per class, one of the 3 nearest is right",
                _FACES,
                "rank",
                _THREE,
                _printed(
                    (94.0, 153.9),
                    S_1=(93.5, 3.3, 25.0),
                    S_10=(94.2, 1.1, 246.6),
                    S_50=(93.9, 0.7, 1262.1),
                ),
                parameters={"rank": 3},
            ),
        ),
        notes=(
            "The paper does not say how the images of experiments 3 and 4 were reduced to 16 x 16; here "
            "every pixel is the mean of the area that it covers.",
            "The paper's times are those of a Pentium II at 300 MHz with arbitrary-precision arithmetic; "
            "its trials were computed one by one.",
        ),
    ),
}


class Answer(Protocol):
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
        ``run(quick, progress)`` → `Answer`.
    """

    title: str
    run: Callable[[bool, bool], Answer]


def reproduce(
    name: str,
    *,
    quick: bool = False,
    folder: str | Path | None = None,
    progress: bool = False,
    fresh: bool = False,
) -> Answer:
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
    from ._book import Book
    from ._comparison import write_answer

    if name == "all":
        book = Book({one: _whatever_comes(one, quick, progress, fresh) for one in REPRODUCTIONS})
        if folder is not None:
            book.write(Path(folder), name)
        return book
    answer = _kept_or_run(name, quick, progress, fresh)
    if folder is not None:
        write_answer(answer, Path(folder), name)
    return answer


def _whatever_comes(name: str, quick: bool, progress: bool, fresh: bool) -> Answer:
    """An answer, or one that tells why there is none: the others are not lost for it."""
    from ._comparison import Comparison

    try:
        return _kept_or_run(name, quick, progress, fresh)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever it is, the others are worth having
        failure = f"{type(error).__name__}: {error}"
        return Comparison(REPRODUCTIONS[name].title, "not computed", (), failures=(failure,))


def _kept_or_run(name: str, quick: bool, progress: bool, fresh: bool) -> Answer:
    from . import _kept

    key = _kept.content_key(name, quick)
    kept = None if fresh else _kept.find(key)
    if kept is not None:
        return kept
    answer = REPRODUCTIONS[name].run(quick, progress)
    _kept.keep(key, answer)
    return answer


def _run_table(table: PaperTable, quick: bool, progress: bool) -> Report:  # noqa: ARG001
    from ._pool import n_workers
    from ._report import Report
    from .datasets import DatasetError

    loaded: dict[str, Dataset | DatasetError] = {}
    rows = []
    for experiment in table.experiments:
        key = repr(experiment.data)
        if key not in loaded:
            try:
                loaded[key] = _load(experiment)
            except DatasetError as error:
                loaded[key] = error
        data = loaded[key]
        if isinstance(data, DatasetError):
            rows.append(Row(experiment, failure=str(data)))
        else:
            rows.append(_run(experiment, data, quick))
    return Report(table, tuple(rows), (*_how_computed(table, quick, n_workers(None)), *table.notes))


def _run_wilson_martinez(quick: bool, progress: bool) -> Answer:
    from ._wm_table import wm_table

    return wm_table(quick, progress)


def _run_icml_table2(quick: bool, progress: bool) -> Answer:
    from ._icml_report import table2

    return table2(quick, progress)


def _run_icml_table3(quick: bool, progress: bool) -> Answer:
    from ._icml_report import table3

    return table3(quick, progress)


def _run_kanagawa(quick: bool, progress: bool) -> Answer:
    from ._kanagawa import kanagawa

    return kanagawa(quick, progress)


def _run_what_ccv_buys(quick: bool, progress: bool) -> Answer:
    from ._what_ccv_buys import what_ccv_buys

    return what_ccv_buys(quick, progress)


def _run_esl(quick: bool, progress: bool) -> Answer:
    from ._esl_cv import esl_cv

    return esl_cv(quick, progress)


def _load(experiment: Experiment) -> Dataset:
    from . import datasets

    function, arguments = experiment.data
    data: Dataset = getattr(datasets, function)(**arguments)
    return data


def _run(experiment: Experiment, data: Dataset, quick: bool) -> Row:
    from . import designs
    from .driver import complete_cv
    from .montecarlo import monte_carlo_cv

    maker, arguments = experiment.design
    asked: dict[str, Any] = {
        "variant": experiment.variant,
        "cv": getattr(designs, maker)(**arguments),
        **experiment.parameters,
    }

    def exact(ties: str = experiment.ties) -> Any:
        return complete_cv(data.X, data.y, ties=ties, **asked)

    def trials(number: int) -> Any:
        return monte_carlo_cv(
            data.X, data.y, ties=experiment.ties, n_repeats=number, random_state=SEED, **asked
        )

    sizes = {label: int(label[2:]) for label in experiment.paper if label.startswith("S-")}
    scores = trials(max(sizes.values()) * SETS[quick]).scores
    cells = {"Exact": Cell(100 * exact().score, seconds=_median_time(exact, quick))}
    for label, number in sizes.items():
        means = scores[: len(scores) // number * number].reshape(-1, number).mean(axis=1)
        seconds = _median_time(functools.partial(trials, number), quick)
        cells[label] = Cell(100 * float(means.mean()), 200 * float(means.std(ddof=1)), seconds)
    notes: tuple[str, ...] = ()
    if experiment.ties == "random":
        in_order = 100 * exact("index").score
        notes = (
            f"Experiment {experiment.number}: equally near items are averaged over all their orders; "
            f"taken in the order of the file, the exact accuracy is {in_order:.4f}.",
        )
    return Row(experiment, cells, notes)


def _median_time(ask: Callable[[], Any], quick: bool) -> float:
    """Of calls that need no compilation: something like it was asked before."""
    return float(statistics.median(ask().seconds for _ in range(CALLS[quick])))


def _how_computed(table: PaperTable, quick: bool, threads: int) -> tuple[str, str]:
    largest = max(
        int(label[2:]) for row in table.experiments for label in row.paper if label.startswith("S-")
    )
    drawn = largest * SETS[quick]
    return (
        f"The columns S-n group the same {drawn} random trials into independent sets of n: their mean, and "
        "± twice the standard deviation of a set's mean.",
        f"knnccv's times are medians of {CALLS[quick]} calls on this machine with up to "
        f"{threads} thread{'s' if threads > 1 else ''}, distances included, compilation not; the "
        "n trials of an S-n share one neighbour order.",
    )


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
