"""The random runs, and their seconds, that one complete cross-validation replaces.

One run of k-fold cross-validation has a standard deviation s about the exact mean. The mean of R runs has
the standard error s / sqrt(R), so that R = (s / e)^2 runs are needed for the standard error e.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from scipy.stats import chi2
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from knnccv import complete_cv, monte_carlo_cv
from knnccv.datasets import Dataset

from ._paper import Comparison, Line, Missing, Paper, load, median_seconds
from ._picture import Panel, beside
from ._work import for_each, n_workers

PAPER = Paper.read("what_ccv_buys")
SETS: Sequence[Mapping[str, Any]] = PAPER["sets"]
STANDARD_ERROR = PAPER["standard_error"]
N_FOLDS = 5
N_RUNS = {False: 200, True: 30}
N_CALLS = {False: 5, True: 3}
SEED = 0
ROUNDING = 1e-12  # without it, (0.01 / 0.001)^2 is more than 100
YEAR = 365.25 * 24 * 3600


@dataclass(frozen=True)
class Found:
    """The measurements on a data set."""

    shape: tuple[int, ...]
    score: float  # exact, and the certified bound of its error
    bound: float
    mean: float  # of the random runs, and their standard deviation and number
    spread: float
    n_runs: int
    seconds_exact: float  # of one complete cross-validation
    seconds_run: float  # of one plain run

    @property
    def needed(self) -> int:
        """The number of runs for the standard error 0.001."""
        return runs_needed(self.spread, STANDARD_ERROR)

    @property
    def seconds_needed(self) -> float:
        """The seconds of these runs."""
        return self.needed * self.seconds_run


def runs_needed(spread: float, error: float) -> int:
    """The least number of runs whose mean has a standard error of at most `error`."""
    return max(1, math.ceil((spread / error) ** 2 * (1 - ROUNDING)))


def log_runs_needed(spread: float, error: float) -> float:
    """The decimal logarithm of that number, of any size; infinite for `error` = 0."""
    if error == 0:
        return math.inf
    return max(0.0, 2 * (math.log10(spread) - math.log10(error))) if spread > 0 else 0.0


def interval(spread: float, n_runs: int) -> tuple[float, float]:
    """The 95 % confidence interval of the true standard deviation, for normal runs."""
    tail = (1 - PAPER["level"]) / 2
    low, high = spread * np.sqrt((n_runs - 1) / chi2.ppf([1 - tail, tail], n_runs - 1))
    return float(low), float(high)


def what_ccv_buys(quick: bool, progress: bool = False) -> Comparison:
    """Measure all data sets; `quick` draws fewer random runs."""
    found: dict[str, Found] = {}
    missing = Missing()

    def work(one: Mapping[str, Any]) -> None:
        with missing.noted(one["name"]):
            data, k = load(one["load"], **one.get("arguments", {})), one.get("n_neighbors", 5)
            found[f"{one['name']}, {k}-NN"] = _measure(data, k, quick)

    for_each(work, SETS, 1, progress=progress, unit="set")  # one by one, since they are timed
    settings = {"n_runs": N_RUNS[quick], "n_calls": N_CALLS[quick], "threads": n_workers()}
    return PAPER.comparison(
        [line for part, one in found.items() for line in lines_of(part, one)],
        PAPER.notes(method=plain_run_in_words(), **settings),
        pictures=beside("seconds", PAPER["caption"], [[_panel(found)]] if found else []),
        failures=missing.sentences(),
    )


def _measure(data: Dataset, n_neighbors: int, quick: bool) -> Found:
    exact = partial(complete_cv, data.X, data.y, "knn", N_FOLDS, n_neighbors=n_neighbors)
    answer = exact()
    random = monte_carlo_cv(
        data.X, data.y, "knn", N_FOLDS, n_neighbors=n_neighbors, n_runs=N_RUNS[quick], random_state=SEED
    )
    return Found(
        data.X.shape,
        answer.score,
        answer.error_bound,
        random.score,
        random.std,
        N_RUNS[quick],
        seconds_exact=median_seconds(exact, N_CALLS[quick]),
        seconds_run=median_seconds(partial(plain_run, data, n_neighbors), N_CALLS[quick]),
    )


def plain_run(data: Dataset, n_neighbors: int) -> None:
    """The call that is timed, one run by scikit-learn."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
    cross_val_score(KNeighborsClassifier(n_neighbors), data.X, data.y, cv=folds)


def plain_run_in_words() -> str:
    """What a note says of it."""
    folds = f"StratifiedKFold({N_FOLDS}, shuffle=True)"
    return f"scikit-learn {sklearn.__version__}'s cross_val_score of KNeighborsClassifier over {folds}"


def lines_of(part: str, one: Found) -> Iterator[Line]:
    """The measurements on a data set, and the claims about them."""
    line = partial(PAPER.line, part=part)
    yield line("exact", 100 * one.score)
    yield line("spread", 100 * one.spread)
    yield line("seconds_exact", one.seconds_exact)
    yield line("seconds_run", one.seconds_run)
    low, high = (runs_needed(spread, STANDARD_ERROR) for spread in interval(one.spread, one.n_runs))
    yield line("needed", one.needed, low=low, high=high, n=one.n_runs)
    yield line("seconds_needed", one.seconds_needed)
    runs = log_runs_needed(one.spread, one.bound)
    years = _power(runs + math.log10(one.seconds_run / YEAR))
    yield line("certified", runs, runs=_power(runs), years=years, bound=one.bound)
    off = abs(one.mean - one.score) / (one.spread / math.sqrt(one.n_runs)) if one.spread else 0.0
    yield line("near", holds=off <= PAPER["max_errors"], off=off, n=one.n_runs, most=PAPER["max_errors"])
    ratio = one.seconds_needed / one.seconds_exact
    times = f"{ratio:,.{1 if ratio < 10 else 0}f}"
    yield line("cheaper", holds=ratio > 1, ratio=times, samples=one.shape[0], features=one.shape[1])


def _power(log: float) -> str:
    """A number in scientific notation, from its decimal logarithm."""
    if math.isinf(log):
        return "infinitely many"
    exponent = math.floor(log)
    return f"{10 ** (log - exponent):.1f}e{exponent:+d}"


def _panel(found: Mapping[str, Found]) -> Panel:
    """Seconds of the exact mean, of one run and of the required runs, a row for each set."""
    sets = found.values()
    names = [f"{part}\n{one.needed} run{'s' if one.needed > 1 else ''}" for part, one in found.items()]
    seconds = {
        "random runs for a standard error of 0.001": [one.seconds_needed for one in sets],
        "all splits, exactly": [one.seconds_exact for one in sets],
        "one random run": [one.seconds_run for one in sets],
    }
    return Panel("", names, {label: (some, None) for label, some in seconds.items()}, "seconds", log=True)
