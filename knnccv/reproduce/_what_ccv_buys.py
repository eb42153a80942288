"""The random runs, and their seconds, that one complete cross-validation replaces.

One run of k-fold cross-validation has a standard deviation s about the exact mean. The mean of R runs has
the standard error s / sqrt(R), so that R = (s / e)^2 runs are needed for the standard error e.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .._parallel import for_each, n_workers
from .._typing import Array
from ._comparison import Comparison, Line, missing_data
from ._picture import BLUE, ORANGE, Picture, new_figure
from ._timing import median_seconds

if TYPE_CHECKING:
    from ..datasets import Dataset

TITLE = "What complete cross-validation buys, measured on this machine"
SOURCE = "no paper; all numbers are measured now"
STANDARD_ERROR = 0.001
N_FOLDS = 5
N_RUNS = {False: 200, True: 30}
N_CALLS = {False: 5, True: 3}
SEED = 0
LEVEL = 0.95
MAX_ERRORS = 4
"""Standard errors by which the mean of the random runs may differ from the exact score."""

ROUNDING = 1e-12  # without it, (0.01 / 0.001)^2 is more than 100
YEAR = 365.25 * 24 * 3600
Seconds = Callable[["Dataset", int, int], float]


@dataclass(frozen=True)
class Task:
    """A data set and the number of neighbors."""

    name: str
    load: str
    arguments: Mapping[str, Any]
    n_neighbors: int = 5

    @property
    def part(self) -> str:
        """The name in the table."""
        return f"{self.name}, {self.n_neighbors}-NN"


TASKS = (
    Task("Liver disorders", "fetch_liver_disorders", {}),
    Task("Breast cancer", "fetch_breast_cancer", {}),
    Task("Abalone, 3 classes", "fetch_abalone", {"n_classes": 3}),
    Task("ORL faces 16 x 16", "fetch_orl", {"size": (16, 16)}, n_neighbors=1),
    Task("Wine", "load_wine", {}),
    Task("Glass", "fetch_uci", {"name": "Glass"}),
    Task("Ionosphere", "fetch_uci", {"name": "Ionosphere"}),
)


@dataclass(frozen=True)
class Found:
    """The measurements on a data set."""

    shape: tuple[int, int]
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
    from scipy.stats import chi2

    tail = (1 - LEVEL) / 2
    sizes = (float(chi2.ppf(share, n_runs - 1)) for share in (1 - tail, tail))
    low, high = (spread * math.sqrt((n_runs - 1) / size) for size in sizes)
    return low, high


def what_ccv_buys(quick: bool, progress: bool = False) -> Comparison:
    """Measure all data sets; `quick` draws fewer random runs."""
    from .. import datasets

    seconds, method = _plain_run()
    found: dict[str, Found] = {}
    failures: list[tuple[str, str]] = []

    def work(task: Task) -> None:
        try:
            data = getattr(datasets, task.load)(**task.arguments)
        except datasets.DatasetError as error:
            failures.append((task.name, str(error)))
            return
        found[task.part] = _measure(task, data, quick, seconds)

    for_each(work, TASKS, n_jobs=1, progress=progress, unit="set")  # one by one, since they are timed
    pictures = (
        Picture(
            "seconds",
            "Seconds of the exact mean, of one random run, and of the random runs whose mean has a "
            f"standard error of {STANDARD_ERROR}",
            partial(draw, found),
        ),
    )
    lines = tuple(line for part, one in found.items() for line in _lines(part, one))
    notes = _notes(method, quick)
    return Comparison(TITLE, SOURCE, lines, notes, pictures if found else (), missing_data(failures))


def _measure(task: Task, data: Dataset, quick: bool, seconds: Seconds) -> Found:
    from ..montecarlo import monte_carlo_cv
    from ..results import complete_cv

    def exact() -> Any:
        return complete_cv(data.X, data.y, "knn", N_FOLDS, n_neighbors=task.n_neighbors)

    asked: dict[str, Any] = {"n_neighbors": task.n_neighbors, "n_repeats": N_RUNS[quick]}
    random = monte_carlo_cv(data.X, data.y, "knn", N_FOLDS, random_state=SEED, **asked)
    answer = exact()
    return Found(
        shape=data.X.shape,
        score=answer.score,
        bound=answer.error_bound,
        mean=random.score,
        spread=random.std,
        n_runs=N_RUNS[quick],
        seconds_exact=median_seconds(exact, N_CALLS[quick]),
        seconds_run=seconds(data, task.n_neighbors, N_CALLS[quick]),
    )


def _plain_run() -> tuple[Seconds, str]:
    """The function that times one run, by scikit-learn if it is installed, and its description."""
    try:
        import sklearn
        from sklearn.model_selection import StratifiedKFold, cross_val_score
        from sklearn.neighbors import KNeighborsClassifier
    except ImportError:
        return seconds_per_repeat, (
            "monte_carlo_cv's time for 50 runs, which share their neighbors, divided by 50 (scikit-learn "
            "is not installed)"
        )

    def run(X: Array, y: Array, n_neighbors: int) -> None:
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
        cross_val_score(KNeighborsClassifier(n_neighbors), X, y, cv=folds)

    def seconds(data: Dataset, n_neighbors: int, n_calls: int) -> float:
        return median_seconds(partial(run, data.X, data.y, n_neighbors), n_calls)

    return seconds, (
        f"scikit-learn {sklearn.__version__}'s cross_val_score of KNeighborsClassifier over "
        f"StratifiedKFold({N_FOLDS}, shuffle=True)"
    )


def seconds_per_repeat(data: Dataset, n_neighbors: int, n_calls: int) -> float:
    """The seconds of one run of `monte_carlo_cv`, of 50 runs together."""
    from ..montecarlo import monte_carlo_cv

    asked: dict[str, Any] = {"n_neighbors": n_neighbors, "n_repeats": 50, "random_state": SEED}
    return median_seconds(partial(monte_carlo_cv, data.X, data.y, "knn", N_FOLDS, **asked), n_calls) / 50


def _lines(part: str, one: Found) -> list[Line]:
    low, high = (runs_needed(spread, STANDARD_ERROR) for spread in interval(one.spread, one.n_runs))
    log_runs = log_runs_needed(one.spread, one.bound)
    log_years = log_runs + math.log10(one.seconds_run / YEAR)
    off = abs(one.mean - one.score) / (one.spread / math.sqrt(one.n_runs)) if one.spread else 0.0
    ratio = one.seconds_needed / one.seconds_exact
    return [
        Line(part, "exact accuracy in %", computed=100 * one.score, digits=4),
        Line(part, "standard deviation of one random run, points", computed=100 * one.spread, digits=3),
        Line(part, "seconds of one exact run", computed=one.seconds_exact, digits=4),
        Line(part, "seconds of one random run", computed=one.seconds_run, digits=4),
        Line(
            part,
            f"random runs for the standard error {STANDARD_ERROR}",
            computed=one.needed,
            digits=0,
            note=f"{low} to {high}, by the interval of s from {one.n_runs} runs.",
        ),
        Line(part, "seconds of these runs", computed=one.seconds_needed, digits=3),
        Line(
            part,
            "random runs for the certified bound, log10",
            computed=log_runs,
            digits=1,
            note=f"{_power(log_runs)} runs for the standard error {one.bound:.1e}, the bound of the exact "
            f"run's error: {_power(log_years)} years.",
        ),
        Line(
            part,
            "the random runs' mean is near the exact score",
            holds=off <= MAX_ERRORS,
            note=f"{off:.1f} standard errors of {one.n_runs} runs; at most {MAX_ERRORS} are allowed.",
        ),
        Line(
            part,
            "one exact run costs less than these runs",
            holds=one.seconds_exact < one.seconds_needed,
            note=f"{ratio:,.{1 if ratio < 10 else 0}f} times less; {one.shape[0]} samples with "
            f"{one.shape[1]} features.",
        ),
    ]


def _power(log: float) -> str:
    """A number in scientific notation, from its decimal logarithm."""
    if math.isinf(log):
        return "infinitely many"
    exponent = math.floor(log)
    return f"{10 ** (log - exponent):.1f}e{exponent:+d}"


def draw(found: Mapping[str, Found]) -> Any:
    """Seconds of the exact mean, of one run and of the required runs, a row for each set."""
    figure, axes = new_figure(9, 1.6 + 0.55 * len(found))
    panel = axes[0, 0]
    rows = list(range(len(found)))[::-1]
    sets = list(found.values())
    for row, one in zip(rows, sets, strict=True):
        panel.plot([one.seconds_run, one.seconds_needed], [row, row], color="0.75", lw=2, zorder=1)
        runs = f"{one.needed} run{'s' if one.needed > 1 else ''}"
        at = (one.seconds_needed, row)
        panel.annotate(runs, at, xytext=(8, 0), textcoords="offset points", va="center", fontsize="small")
    needed = [one.seconds_needed for one in sets]
    series = (
        (ORANGE, "s", "all splits, exactly", [one.seconds_exact for one in sets]),
        (BLUE, "o", "one random run", [one.seconds_run for one in sets]),
        ("black", "D", f"random runs for a standard error of {STANDARD_ERROR}", needed),
    )
    for color, marker, label, seconds in series:
        panel.plot(seconds, rows, marker, color=color, label=label, ms=8, zorder=2)
    panel.set_xscale("log")
    low, high = panel.get_xlim()
    panel.set_xlim(low, high * (high / low) ** 0.12)  # room for the last number of runs
    panel.set_ylim(-0.6, len(found) - 0.4)
    panel.set_yticks(rows, list(found))
    panel.set_xlabel("seconds (logarithmic)")
    panel.grid(axis="x", color="0.9")
    panel.set_axisbelow(True)
    panel.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize="small")
    return figure


def _notes(method: str, quick: bool) -> tuple[str, ...]:
    threads = n_workers(None)
    return (
        f"Stratified {N_FOLDS}-fold cross-validation, raw features. The standard deviation s is that of "
        f"{N_RUNS[quick]} random runs (monte_carlo_cv, seed {SEED}), a run being a whole partition into "
        "folds; (s / e)^2 runs have a mean with the standard error e.",
        f"The range of the number of runs is the {100 * LEVEL:.0f} % confidence interval of s^2 by the "
        "chi^2 distribution, for normally distributed runs; these are nearly normal.",
        f"One random run is timed as {method}; the exact run as complete_cv from the raw data, neighbors "
        f"included. Seconds are medians of {N_CALLS[quick]} calls after one that compiles, with the "
        f"defaults of both, on {threads} processor{'s' if threads > 1 else ''}.",
        "The standard error measures the randomness of splitting alone, which complete cross-validation "
        "removes; the randomness of the choice of these samples affects both.",
    )
