"""The experiments of Table 1 of the technical report, repeated."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._parallel import n_workers
from ._paper import EXPERIMENTS, Cell, Experiment, Row

if TYPE_CHECKING:
    from ...datasets import Dataset

N_SETS = {False: 20, True: 5}
"""Number of independent sets of the largest S-n, in full and quickly."""

N_CALLS = {False: 5, True: 3}
"""Number of calls of which a time is the median."""

SEED = 0


def run_experiments(quick: bool) -> tuple[Row, ...]:
    """The rows of the table; experiments on the same data load them once."""
    from ...datasets import DatasetError

    loaded: dict[str, Dataset | DatasetError] = {}
    rows = []
    for experiment in EXPERIMENTS:
        key = repr(experiment.data)
        if key not in loaded:
            try:
                loaded[key] = _load(experiment)
            except DatasetError as error:
                loaded[key] = error
        data = loaded[key]
        failed = isinstance(data, DatasetError)
        rows.append(Row(experiment, failure=str(data)) if failed else _run(experiment, data, quick))
    return tuple(rows)


def describe(quick: bool) -> tuple[str, ...]:
    """The notes on how knnccv's numbers are computed."""
    drawn = max(max(experiment.n_trials.values()) for experiment in EXPERIMENTS) * N_SETS[quick]
    threads = n_workers(None)
    return (
        f"The columns S-n group the same {drawn} random trials into independent sets of n: their mean, "
        "and ± twice the standard deviation of a set's mean.",
        f"knnccv's times are medians of {N_CALLS[quick]} calls on this machine with up to {threads} "
        f"thread{'s' if threads > 1 else ''}, distances included, compilation not; the n trials of an S-n "
        "share one neighbor order.",
    )


def _load(experiment: Experiment) -> Dataset:
    from ... import datasets

    function, arguments = experiment.data
    data: Dataset = getattr(datasets, function)(**arguments)
    return data


def _run(experiment: Experiment, data: Any, quick: bool) -> Row:
    from ... import designs
    from ...montecarlo import monte_carlo_cv
    from ...results import complete_cv

    design, arguments = experiment.design
    asked: dict[str, Any] = {
        "variant": experiment.variant,
        "cv": getattr(designs, design)(**arguments),
        **experiment.parameters,
    }

    def exact(ties: str = experiment.ties) -> Any:
        return complete_cv(data.X, data.y, ties=ties, **asked)

    def trials(number: int) -> Any:
        return monte_carlo_cv(
            data.X, data.y, ties=experiment.ties, n_repeats=number, random_state=SEED, **asked
        )

    def seconds(ask: Callable[[], Any]) -> float:
        # No call compiles: a similar one was made before.
        return float(statistics.median(ask().seconds for _ in range(N_CALLS[quick])))

    scores = trials(max(experiment.n_trials.values()) * N_SETS[quick]).scores
    cells = {"Exact": Cell(100 * exact().score, seconds=seconds(exact))}
    for label, number in experiment.n_trials.items():
        means = scores[: len(scores) // number * number].reshape(-1, number).mean(axis=1)
        spread = 200 * float(means.std(ddof=1))
        cells[label] = Cell(100 * float(means.mean()), spread, seconds(functools.partial(trials, number)))
    notes: tuple[str, ...] = ()
    if experiment.ties == "random":
        notes = (
            f"Experiment {experiment.number}: tied samples are averaged over all their orders; in the "
            f"order of the file, the exact accuracy is {100 * exact('index').score:.4f}.",
        )
    return Row(experiment, cells, notes)
