"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000, section 4): the experiments repeated.

A set S is drawn from a pool of samples, many times. Each time the rule is scored on S by complete
cross-validation, by five folds and by single splits in many trials, and by holdout: S is the training set,
and the rest of the pool is the test set.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import f as fisher

from knnccv import (
    Design,
    KFold,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
)

from ._paper import Comparison, Line, Missing, Paper, load, panel_of
from ._picture import beside
from ._work import Array, for_each

PAPER = Paper.read("icml2000")
GAUSSIANS: Mapping[str, Sequence[Sequence[int]]] = PAPER["gaussians"]
HOLDOUT, CCV, CV, SUBSAMPLING = "Holdout", "CCV", "CV", "Subsampling"
STRATIFIED = " (stratified)"
IN_ORDER = "CCV, ties in the order of the file"
N_FOLDS = 5
SEED = 2000
QUICK = (20, 25)
"""Number of sets S, and of trials on each, for quick tables."""

N_CALLS = 5
"""Number of calls of which the shortest time is taken, since other programs may run."""

BAYES_SAMPLES = 60_000
N_TEST = 500
"""Number of points that are generated to test on, in addition to S."""


class Printed(NamedTuple):
    """A row of a table: mean and variance times 1000, seconds per trial and per run."""

    mean: float
    variance: float
    per_trial: float = 0.0
    per_run: float = 0.0


@dataclass(frozen=True)
class Block:
    """One block of a table, as in the file."""

    title: str
    data: str  # key of the file's pools, or of `GAUSSIANS`
    n_drawn: int
    n_draws: int
    n_trials: int
    printed: Mapping[str, Printed]
    rule: str = "nn"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unprinted: Sequence[str] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods."""
        return (*self.printed, *self.unprinted)


@dataclass(frozen=True)
class Row:
    """The scores of one method, and the seconds of one trial and of the paper's number of trials.

    ``scores`` has the shape (n_draws, n_trials), with one trial if nothing is random once S is drawn.
    """

    scores: Array
    per_trial: float = 0.0
    per_run: float = 0.0

    @property
    def mean(self) -> float:
        """The mean over sets and trials."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; sets are independent, trials on one set are not."""
        return math.sqrt(float(self.scores.mean(axis=1).var(ddof=1)) / len(self.scores))

    @property
    def within(self) -> float:
        """An unbiased estimate of E[Var(trial | S)]."""
        return float(self.scores.var(axis=1, ddof=1).mean()) if self.scores.shape[1] > 1 else 0.0

    @property
    def variance(self) -> float:
        """An unbiased estimate of the variance of a single trial, Var(E[trial | S]) + E[Var(trial | S)].

        The variance of a mean of n trials is the first term and an n-th of the second.
        """
        share = 1 - 1 / int(self.scores.shape[1])
        return float(self.scores.mean(axis=1).var(ddof=1)) + share * self.within


class DrawnSet(NamedTuple):
    """One set S, the pool that it is drawn from, and the holdout score."""

    X: Array
    y: Array
    pool_X: Array
    pool_y: Array
    holdout: float


def blocks_of(table: str) -> list[Block]:
    """The blocks of a table, "table2" or "table3"."""
    blocks = []
    for told in PAPER[table]["blocks"]:
        printed = {name: Printed(*row) for name, row in told["printed"].items()}
        blocks.append(Block(**{**told, "printed": printed}))
    return blocks


def table2(quick: bool, progress: bool = False) -> Comparison:
    """Accuracy of nearest neighbors: four blocks."""
    return compare("table2", blocks_of("table2"), 0, quick, progress)


def table3(quick: bool, progress: bool = False) -> Comparison:
    """Expected loss with unequal costs."""
    return compare("table3", blocks_of("table3"), 4, quick, progress)


def compare(table: str, blocks: Sequence[Block], first: int, quick: bool, progress: bool) -> Comparison:
    """Run the blocks, of which the first has the number `first`, and compare them with the printed ones."""
    told = {**PAPER[table], "table": PAPER[table]["table"].capitalize()}
    lines: list[Line] = []
    panels, missing = [], Missing()
    sizes = [QUICK if quick else (block.n_draws, block.n_trials) for block in blocks]
    for number, (block, size) in enumerate(zip(blocks, sizes, strict=True), first):
        rows: Mapping[str, Row] = {}
        with missing.noted(block.title):
            rows = run_block(block, number, *size, progress=progress)
        lines += (numbers := list(_lines(block, rows, told["mean"])))
        if rows:
            lines += claims(block, rows)
            means, variances, *_ = (list(some) for _, some in groupby(numbers, key=lambda line: line.part))
            spreads = panel_of(variances, "Variance of a single trial × 10³", log=True)
            panels.append([panel_of(means, f"{told['measure']} × 10³"), spreads._replace(title="")])
    if table == "table2":
        lines += _synthetic_lines(blocks[0], *sizes[0])
    off, place = largest_gap(blocks)
    each = [f"{sets} sets with {trials} trials each" for sets, trials in dict.fromkeys(sizes)]
    values = {"counted": " and ".join(each), "off": off, "place": place, "n_calls": N_CALLS}
    texts = {name: PAPER[name].format(**told) for name in ("title", "source", "caption")}
    return Paper({**PAPER.table, **texts}).comparison(
        lines,
        [*PAPER.notes(**{**PAPER.table, **told, **values}), *told["notes"]],
        pictures=beside("means-and-variances", texts["caption"], panels),
        failures=missing.sentences(),
    )


def design_of(method: str, labels: Array) -> Design:
    """The design of a method: four fifths of all samples, or of each class to the nearest number."""
    if method in (CCV, IN_ORDER, SUBSAMPLING):
        return Subsample(4 * len(labels) // 5)
    if method.startswith(CV):
        return KFold(N_FOLDS) if method == CV else StratifiedKFold(N_FOLDS)
    classes, counts = np.unique(labels, return_counts=True)
    nearest = (8 * counts + 5) // 10
    return StratifiedSubsample(per_class=dict(zip(classes.tolist(), nearest.tolist(), strict=True)))


def run_block(
    block: Block, number: int, n_draws: int, n_trials: int, *, progress: bool = False
) -> dict[str, Row]:
    """The rows of a block, on `n_draws` sets S; its number seeds random numbers."""
    sets = draw_sets(block, number, n_draws)
    methods = [method for method in block.methods if method != HOLDOUT]
    scores = {method: np.empty((n_draws, 1 if method.startswith(CCV) else n_trials)) for method in methods}

    def score(draw: int) -> None:
        for at, method in enumerate(methods):
            rng = np.random.default_rng([SEED, number, draw, at])
            scores[method][draw] = _ask(block, method, sets[draw], n_trials, rng)[0]

    for_each(score, range(n_draws), progress=progress, unit="set")
    scores[HOLDOUT] = np.array([[drawn.holdout] for drawn in sets])
    return {method: Row(scores[method], *_seconds(block, method, sets[0])) for method in block.methods}


def draw_sets(block: Block, number: int, n_draws: int) -> list[DrawnSet]:
    """Sets S are the training sets of random splits of the pool; holdout is the score of the split."""
    seed = [SEED, number]
    if block.data not in GAUSSIANS:
        data = load(**PAPER["pools"][block.data])
        return _of_pool(block, data.X, data.y, seed, n_draws)
    found = []
    for draw in range(n_draws):
        rng = np.random.default_rng([*seed, draw])
        X, y = gaussians(block.data, calibrated(block.data), block.n_drawn + N_TEST, rng)
        found += _of_pool(block, X, y, [*seed, draw, 1], 1)
    return found


def _of_pool(block: Block, X: Array, y: Array, seed: Sequence[int], n_draws: int) -> list[DrawnSet]:
    design, rng, found = Subsample(block.n_drawn), np.random.default_rng(seed), []
    for _ in range(n_draws):
        rows = rng.permutation(len(y))
        drawn, rest = np.sort(rows[: block.n_drawn]), rows[block.n_drawn :]
        asked = {"test": (X[rest], y[rest]), "n_jobs": 1, **block.parameters}
        holdout = complete_cv(X[drawn], y[drawn], block.rule, design, **asked).score
        found.append(DrawnSet(X[drawn], y[drawn], X, y, holdout))
    return found


def _ask(block: Block, method: str, drawn: DrawnSet, n_trials: int, rng: Any) -> tuple[Array, float]:
    """The scores of a method on S, and the seconds of the computation."""
    asked = {"n_jobs": 1, "ties": "index" if method == IN_ORDER else "random", **block.parameters}
    if method.startswith(CCV):
        whole = complete_cv(drawn.X, drawn.y, block.rule, design_of(method, drawn.y), **asked)
        return np.array([whole.score]), whole.seconds
    X, y, design = (
        (drawn.pool_X, drawn.pool_y, Subsample(block.n_drawn))
        if method == HOLDOUT
        else (drawn.X, drawn.y, design_of(method, drawn.y))
    )
    started = time.perf_counter()
    runs = monte_carlo_cv(X, y, block.rule, design, n_runs=n_trials, random_state=rng, **asked)
    return runs.scores, time.perf_counter() - started


def _seconds(block: Block, method: str, drawn: DrawnSet) -> tuple[float, float]:
    """Seconds per trial and per run, on one thread: the shortest, since all kernels are compiled by now."""
    once = method.startswith((HOLDOUT, CCV))
    shortest = [
        min(_ask(block, method, drawn, number, np.random.default_rng(SEED))[1] for _ in range(N_CALLS))
        for number in ((1,) if once else (1, block.n_trials))
    ]
    return shortest[0], shortest[-1]


def gaussians(geometry: str, spread: float, n_points: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random points of four equally likely Gaussians with unit covariance.

    Returns
    -------
    X : float64 ndarray of shape (n_points, 3)
    y : int64 ndarray of shape (n_points,)
    """
    means = spread * np.array(GAUSSIANS[geometry])
    y = rng.integers(len(means), size=n_points)
    return means[y] + rng.standard_normal((n_points, 3)), y


def bayes_error(geometry: str, spread: float, seed: Sequence[int]) -> float:
    """The share of `BAYES_SAMPLES` random points that are nearer to the mean of another class."""
    X, y = gaussians(geometry, spread, BAYES_SAMPLES, np.random.default_rng(seed))
    means = spread * np.array(GAUSSIANS[geometry])
    # |x - m|² without |x|², which is the same for all means.
    gaps = (means**2).sum(axis=1) - 2 * X @ means.T
    return float((gaps.argmin(axis=1) != y).mean())


@cache
def calibrated(geometry: str) -> float:
    """The factor of the means that gives the printed Bayes error, by bisection on fixed random points."""
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = (low + high) / 2
        above = bayes_error(geometry, middle, [SEED]) > PAPER["bayes_error"]
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


def mean_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """The bounds of 1000 times the computed mean; they allow for rounding of the last printed digit."""
    squared = printed.variance / 1000 / n_draws + row.standard_error**2
    off = 1000 * PAPER["sigmas"] * math.sqrt(squared) + 0.05
    return printed.mean - off, printed.mean + off


def variance_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """The bounds of 1000 times the computed variance; its ratio to the printed one is F distributed."""
    ratio, tail = fisher(len(row.scores) - 1, n_draws - 1), (1 - PAPER["confidence"]) / 2
    low, high = ratio.ppf([tail, 1 - tail])
    return float((printed.variance - 0.005) * low), float((printed.variance + 0.005) * high)


def gap(trials: Row, whole: Row) -> tuple[float, float]:
    """The mean difference of trials and CCV on the same sets, and its standard error.

    Given the set, the trials are independent, and CCV is constant.
    """
    return trials.mean - whole.mean, math.sqrt(trials.within / trials.scores.size)


def largest_gap(blocks: Sequence[Block]) -> tuple[float, str]:
    """The largest difference of a printed mean and CCV's, in standard errors, and its place.

    The standard errors are those of all trials on CCV's sets. Rounding is assumed to be as favorable as
    possible. Rows without variance after rounding are left out.
    """
    gaps = []
    for block in blocks:
        for name, trials in block.printed.items():
            whole = block.printed[CCV + STRATIFIED if name.endswith(STRATIFIED) else CCV]
            if name.startswith((HOLDOUT, CCV)) or trials.variance <= whole.variance:
                continue
            within = (trials.variance - whole.variance + 0.01) / 1000
            error = 1000 * math.sqrt(within / (block.n_draws * block.n_trials))
            gaps.append(((abs(trials.mean - whole.mean) - 0.1) / error, f"{block.title}, {name}"))
    return max(gaps)


def _lines(block: Block, rows: Mapping[str, Row], name: str) -> Iterator[Line]:
    line = partial(PAPER.line, title=block.title)
    measures = ((name, "mean", 1, mean_bounds), ("variance", "variance", 2, variance_bounds))
    for what, measure, digits, bounds in measures:
        for method in block.methods:
            printed, row = block.printed.get(method), rows.get(method)
            allowed = bounds(printed, block.n_draws, row) if row and printed else None
            paper = getattr(printed, measure, None)
            found = 1000 * getattr(row, measure) if row else None
            yield line("number", found, paper, allowed, what=what, method=method, digits=digits)
    for per in ("trial", "run"):
        for method, printed in block.printed.items():
            found = 1000 * getattr(rows[method], f"per_{per}") if rows else None
            yield line("time", found, 1000 * getattr(printed, f"per_{per}"), per=per, method=method)


def claims(block: Block, rows: Mapping[str, Row]) -> Iterator[Line]:
    """The paper's claims about CCV, CV and subsampling, plain and stratified."""
    for kind in ("", STRATIFIED):
        if CCV + kind not in rows:
            continue
        line = partial(PAPER.line, title=block.title, kind=kind, n_trials=block.n_trials)
        whole, folds, single = (rows[method + kind] for method in (CCV, CV, SUBSAMPLING))
        gaps = {CV: gap(folds, whole), SUBSAMPLING: gap(single, whole)}
        listed = [
            f"{name} - CCV = {1000 * off:+.2f} ± {1000 * error:.2f}" for name, (off, error) in gaps.items()
        ]
        equal = all(abs(off) <= PAPER["claim_sigmas"] * error for off, error in gaps.values())
        yield line("bias", holds=equal, gaps=", ".join(listed))
        excess = [block.printed[one + kind].variance - block.printed[CCV + kind].variance for one in gaps]
        ordered = whole.variance <= folds.variance <= single.variance
        within: dict[str, Any] = {"folds": 1000 * folds.within, "single": 1000 * single.within}
        yield line("order", holds=ordered, excess=excess, **within)
        ratios: dict[str, Any] = {
            "folds": folds.per_run / whole.per_run,
            "single": single.per_run / whole.per_run,
        }
        yield line("cost", holds=min(ratios.values()) > 1, **ratios)


def _synthetic_lines(block: Block, *size: int) -> Iterator[Line]:
    """The effect of the choices that the paper does not describe."""
    whole = {CCV: block.printed[CCV]}
    for name in GAUSSIANS:
        row = run_block(replace(block, data=name, printed=whole), 0, *size)[CCV]
        found, spread = 1000 * row.mean, calibrated(name)
        yield PAPER.line("geometry", found, whole[CCV].mean, name=name, spread=spread)
    # The spread is fitted to this number, so agreement only shows that the fit has worked.
    again, error = bayes_error(block.data, calibrated(block.data), [SEED, 1]), PAPER["bayes_error"]
    yield PAPER.line("bayes", 1000 * again, 1000 * error)
    yield PAPER.line("spread", holds=abs(again - error) <= 0.005)
    chosen = {method: block.printed[method] for method in (CCV, SUBSAMPLING)}
    for n in PAPER["sizes"]:
        for method, row in run_block(replace(block, n_drawn=n, printed=chosen), 0, *size).items():
            yield PAPER.line("size", 1000 * row.variance, chosen[method].variance, n=n, method=method)
