"""What complete cross-validation buys: the random runs, and seconds, that one exact run replaces.

One run of k-fold cross-validation scatters with a standard deviation s about the exact mean; so the mean of
R runs has the standard error s / sqrt(R), and R = (s / e)^2 runs are needed for the standard error e.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .._parallel import for_each, n_workers
from .._typing import Array
from ._comparison import Comparison, Line, Picture, new_figure
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
FAR = 4
"""Standard errors by which the mean of the random runs may miss the exact score."""

ROUNDING = 1e-12  # else (0.01 / 0.001)^2 is more than 100
YEAR = 365.25 * 24 * 3600
COLORS = {"exact": "#D55E00", "run": "#0072B2", "runs": "#000000"}
Seconds = Callable[["Dataset", int, int], float]


@dataclass(frozen=True)
class Task:
    """A data set and how many neighbors vote."""

    name: str
    load: str
    arguments: Mapping[str, Any]
    n_neighbors: int = 5

    @property
    def part(self) -> str:
        """How it is called in the table."""
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
    """What was measured on a data set.

    Attributes
    ----------
    shape : tuple of two ints
        Samples and features.
    score, bound : float
        Exact, and the certified bound of its error.
    mean, spread : float
        Mean and standard deviation of the random runs.
    n_runs : int
        How many they were.
    seconds_exact, seconds_run : float
        Of one complete cross-validation, and of one plain run.
    """

    shape: tuple[int, int]
    score: float
    bound: float
    mean: float
    spread: float
    n_runs: int
    seconds_exact: float
    seconds_run: float

    @property
    def needed(self) -> int:
        """Runs for the standard error 0.001."""
        return runs_needed(self.spread, STANDARD_ERROR)

    @property
    def seconds_needed(self) -> float:
        """What they take."""
        return self.needed * self.seconds_run


def runs_needed(spread: float, error: float) -> int:
    """The least number of runs whose mean has a standard error of at most `error`; at least one."""
    return max(1, math.ceil((spread / error) ** 2 * (1 - ROUNDING)))


def log_runs_needed(spread: float, error: float) -> float:
    """Decimal logarithm of that number, however large; infinite for `error` = 0."""
    if error == 0:
        return math.inf
    return max(0.0, 2 * (math.log10(spread) - math.log10(error))) if spread > 0 else 0.0


def interval(spread: float, n_runs: int) -> tuple[float, float]:
    """Between which standard deviations the true one lies, at the level 0.95, for normal runs."""
    from scipy.stats import chi2

    tail = (1 - LEVEL) / 2
    sizes = (float(chi2.ppf(share, n_runs - 1)) for share in (1 - tail, tail))
    low, high = (spread * math.sqrt((n_runs - 1) / size) for size in sizes)
    return low, high


def what_ccv_buys(quick: bool, progress: bool = False) -> Comparison:
    """Measure it; `quick` draws fewer random runs."""
    from .. import datasets

    seconds, how = _plain_run()
    found: dict[str, Found] = {}
    failures: list[str] = []

    def work(task: Task) -> None:
        try:
            data = getattr(datasets, task.load)(**task.arguments)
        except datasets.DatasetError as error:
            failures.append(f"no data for {task.name}: {' '.join(str(error).split())}")
            return
        found[task.part] = _measure(task, data, quick, seconds)

    for_each(work, TASKS, n_jobs=1, progress=progress, unit="set")  # one by one: they are timed
    pictures = (
        Picture(
            "seconds",
            "Seconds of the exact mean, of one random run, and of the random runs whose mean has a "
            f"standard error of {STANDARD_ERROR}",
            partial(draw, found),
        ),
    )
    lines = tuple(line for part, one in found.items() for line in _lines(part, one))
    return Comparison(TITLE, SOURCE, lines, _notes(how, quick), pictures if found else (), tuple(failures))


def _measure(task: Task, data: Dataset, quick: bool, seconds: Seconds) -> Found:
    from ..driver import complete_cv
    from ..montecarlo import monte_carlo_cv

    def exact() -> Any:
        return complete_cv(data.X, data.y, "knn", N_FOLDS, n_neighbors=task.n_neighbors)

    random = monte_carlo_cv(
        data.X,
        data.y,
        "knn",
        N_FOLDS,
        n_neighbors=task.n_neighbors,
        n_repeats=N_RUNS[quick],
        random_state=SEED,
    )
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
    """How one run is timed: by scikit-learn where it is installed."""
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
    """Of `monte_carlo_cv`."""
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
        Line(part, "exact accuracy in %", ours=100 * one.score, digits=4),
        Line(part, "standard deviation of one random run, points", ours=100 * one.spread, digits=3),
        Line(part, "seconds of one exact run", ours=one.seconds_exact, digits=4),
        Line(part, "seconds of one random run", ours=one.seconds_run, digits=4),
        Line(
            part,
            f"random runs for the standard error {STANDARD_ERROR}",
            ours=one.needed,
            digits=0,
            note=f"{low} to {high}, for what is known of the standard deviation from {one.n_runs} runs.",
        ),
        Line(part, "seconds of these runs", ours=one.seconds_needed, digits=3),
        Line(
            part,
            "random runs for the certified bound, log10",
            ours=log_runs,
            digits=1,
            note=f"{_power(log_runs)} runs for the standard error {one.bound:.1e}, the bound of the exact "
            f"run's error: {_power(log_years)} years.",
        ),
        Line(
            part,
            "the random runs' mean is near the exact score",
            holds=off <= FAR,
            note=f"{off:.1f} standard errors of {one.n_runs} runs; to hold, at most {FAR}.",
        ),
        Line(
            part,
            "one exact run costs less than these runs",
            holds=one.seconds_exact < one.seconds_needed,
            note=f"{ratio:,.{1 if ratio < 10 else 0}f} times less; {one.shape[0]} samples of {one.shape[1]} "
            "features.",
        ),
    ]


def _power(log: float) -> str:
    """A number given by its decimal logarithm, in scientific notation."""
    if math.isinf(log):
        return "infinitely many"
    exponent = math.floor(log)
    return f"{10 ** (log - exponent):.1f}e{exponent:+d}"


def draw(found: Mapping[str, Found]) -> Any:
    """Seconds of the exact mean, of one run and of the runs that are needed, a row for each set."""
    figure, axes = new_figure(9, 1.6 + 0.55 * len(found))
    panel = axes[0, 0]
    rows = list(range(len(found)))[::-1]
    sets = list(found.values())
    for row, one in zip(rows, sets, strict=True):
        panel.plot([one.seconds_run, one.seconds_needed], [row, row], color="0.75", lw=2, zorder=1)
        runs = f"{one.needed} run{'s' if one.needed > 1 else ''}"
        at = (one.seconds_needed, row)
        panel.annotate(runs, at, xytext=(8, 0), textcoords="offset points", va="center", fontsize="small")
    series = (
        ("exact", "s", "all splits, exactly", [one.seconds_exact for one in sets]),
        ("run", "o", "one random run", [one.seconds_run for one in sets]),
        (
            "runs",
            "D",
            f"random runs for a standard error of {STANDARD_ERROR}",
            [s.seconds_needed for s in sets],
        ),
    )
    for key, marker, label, seconds in series:
        panel.plot(seconds, rows, marker, color=COLORS[key], label=label, ms=8, zorder=2)
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


def _notes(how: str, quick: bool) -> tuple[str, ...]:
    threads = n_workers(None)
    return (
        f"Stratified {N_FOLDS}-fold cross-validation, raw features. The standard deviation s is that of "
        f"{N_RUNS[quick]} random runs (monte_carlo_cv, seed {SEED}), a run being a whole partition into "
        "folds; (s / e)^2 runs have a mean with the standard error e.",
        f"The range of the number of runs is that of s^2 by the law of chi^2 at the level {LEVEL}, for "
        "runs that are normally distributed, which they are nearly.",
        f"One random run is timed as {how}; the exact run as complete_cv from the raw data, neighbors "
        f"included. Seconds are medians of {N_CALLS[quick]} calls after one that compiles, with the "
        f"defaults of both, on {threads} processor{'s' if threads > 1 else ''}.",
        "The standard error measures the luck of splitting alone, which complete cross-validation removes; "
        "that of having drawn these samples remains with both.",
    )
