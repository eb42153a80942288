"""The experiments of Table 1 of the technical report, computed again."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ._report import TableReport

from ._paper import Cell, Experiment, PaperTable, Row

SETS = {False: 20, True: 5}

CALLS = {False: 5, True: 3}

SEED = 0


def _run_table(table: PaperTable, quick: bool, progress: bool) -> TableReport:  # noqa: ARG001
    from ..._parallel import n_workers
    from ...datasets import DatasetError
    from ._report import TableReport

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
    return TableReport(table, tuple(rows), (*_how_computed(table, quick, n_workers(None)), *table.notes))


def _load(experiment: Experiment) -> Dataset:
    from ... import datasets

    function, arguments = experiment.data
    data: Dataset = getattr(datasets, function)(**arguments)
    return data


def _run(experiment: Experiment, data: Dataset, quick: bool) -> Row:
    from ... import designs
    from ...driver import complete_cv
    from ...montecarlo import monte_carlo_cv

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
            f"Experiment {experiment.number}: equally near samples are averaged over all their orders; "
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
        "n trials of an S-n share one neighbor order.",
    )
