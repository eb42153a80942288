"""Table 1 of Wilson and Martinez (1999): static votes, and RIB tuned by LCV and by CVC.

Ten folds: HVDM is fitted to nine tenths, the neighbors of every sample are found there, and the parameters
are chosen; they classify the remaining tenth. The paper's statistics include the sample that is left out
while the parameters are chosen. A further column shows the effect on CVC of leaving it out there as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from knnccv.neighbors.hvdm import IdentifierWarning
from knnccv.rib import RIBClassifier

from ._paper import Comparison, Line, Missing, Paper, Table
from ._picture import Panel, beside
from ._uci import fetch_uci, uci_names
from ._work import Array, for_each

PAPER = Paper.read("wilson_martinez")
ACCURACIES: Mapping[str, Sequence[float]] = PAPER["accuracies"]
NAMES: Mapping[str, str] = PAPER["names"]
PRINTED, EXACT = ("static", "lcv", "cvc"), "cvc_exact"
N_SEEDS = {False: 10, True: 1}
N_FOLDS = 10
MAX_K = 30
PATIENCE = 10
"""Number of iterations without improvement after which the search for the parameters stops."""

Columns = Mapping[str, Array]
"""Accuracies in %: of shape (n_sets,), or of a set (n_seeds, n_folds), by column."""


def table1(quick: bool, progress: bool = False) -> Comparison:
    """Recompute the table; `quick` draws the folds once. Threads compute several folds at a time."""
    found: dict[str, tuple[tuple[int, ...], dict[str, Array]]] = {}
    missing, tasks = Missing(), []
    names = sorted(uci_names(), key=list(ACCURACIES).index)
    for name in names:
        with missing.noted(name):
            sets = [fetch_uci(name, random_state=seed) for seed in range(N_SEEDS[quick])]
            right = {column: np.zeros((N_SEEDS[quick], N_FOLDS)) for column in NAMES}
            found[name] = sets[0].X.shape, right
            for seed, data in enumerate(sets):
                for fold, pair in enumerate(folds(data.y, seed)):
                    tasks.append(partial(_one_fold, data, *pair, [seed, fold], right))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # the papers use such columns
        for_each(lambda task: task(), tasks, progress=progress, unit="fold")
    lines = [line for name in names for line in _set_lines(name, *found.get(name, ((), {})))]
    printed = printed_columns(found)
    computed = {c: np.array([right[c].mean() for _, right in found.values()]) for c in NAMES}
    gains = np.array([(right["cvc"] - right["static"]).mean(axis=1) for _, right in found.values()])
    notes = PAPER.notes(n_seeds=N_SEEDS[quick], n_folds=N_FOLDS)
    return PAPER.comparison(
        [*lines, *(_mean_lines(printed, computed) if found else ())],
        [*_tests(printed, computed), *notes],
        pictures=beside(
            "gains", PAPER["caption"], [[_panel(list(found), printed, gains)]] if found else []
        ),
        failures=missing.sentences(),
        tables=(_table(lines, printed, computed),),
        columns=tuple(PAPER["columns"]),
    )


def folds(y: Array, seed: int) -> list[tuple[Array, Array]]:
    """The training and test samples of ten random stratified folds."""
    rng, fold = np.random.default_rng(seed), np.empty(len(y), np.int64)
    classes, first, counts = np.unique(y, return_index=True, return_counts=True)
    order = np.argsort(first)
    dealt = np.repeat(classes[order], counts[order])  # as scikit-learn's StratifiedKFold does
    for label in classes:
        sizes = [np.count_nonzero(dealt[one::N_FOLDS] == label) for one in range(N_FOLDS)]
        fold[y == label] = rng.permutation(np.repeat(np.arange(N_FOLDS), sizes))
    return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in range(N_FOLDS)]


def classifiers(nominal: Sequence[bool], place: Sequence[int]) -> dict[str, RIBClassifier]:
    """The classifier of every column; `place`, seed and fold, seeds the searches."""
    made = partial(RIBClassifier, nominal=nominal, max_k=MAX_K, patience=PATIENCE, n_jobs=1)
    tuned = (("lcv", "lcv", "fixed"), ("cvc", "cvc", "fixed"), (EXACT, "cvc", "exact"))
    return {
        "static": made(search=None, kernel="majority", leave_one_out="fixed"),
        **{
            column: made(fitness=fitness, leave_one_out=leaving, random_state=np.random.default_rng(place))
            for column, fitness, leaving in tuned
        },
    }


def _one_fold(data: Any, train: Array, test: Array, place: Sequence[int], right: dict[str, Array]) -> None:
    """Accuracies in % of all columns, stored at `place`: seed and fold."""
    for column, classifier in classifiers(data.nominal, place).items():
        predicted = classifier.fit(data.X[train], data.y[train]).predict(data.X[test])
        right[column][tuple(place)] = 100 * (predicted == data.y[test]).mean()


def printed_columns(names: Iterable[str]) -> Columns:
    """The paper's columns for these data sets."""
    rows = np.array([ACCURACIES[name] for name in names]).reshape(-1, len(PRINTED))
    return dict(zip(PRINTED, rows.T, strict=True))


def _set_lines(name: str, shape: Sequence[int], right: Columns) -> Iterator[Line]:
    """A line for every column; seeds and folds have equal weights, as the paper's ten trials."""
    paper = dict(zip(PRINTED, ACCURACIES[name], strict=True))
    for column in NAMES:
        more: dict[str, Any] = {"set": name, "column": column}
        if not right:
            yield Line(name, column, paper.get(column), more=more)
            continue
        each = right[column].mean(axis=1)
        spread = float(each.std(ddof=1)) if len(each) > 1 else None
        more |= {"n_items": shape[0], "n_features": shape[1], "knnccv_sd": spread}
        yield Line(name, column, paper.get(column), float(right[column].mean()), judged="", more=more)


def _mean_lines(printed: Columns, computed: Columns) -> Iterator[Line]:
    """The means over the sets, and the gain of CVC over the other columns, with tests."""
    most = PAPER["max_difference"]
    for column in PRINTED:
        paper, found = (float(side[column].mean()) for side in (printed, computed))
        more = {"column": column, "off": found - paper, "most": most}
        yield _line("mean", found, paper, (paper - most, paper + most), **more)
    for other in ("static", "lcv"):
        gain, found = (float(side["cvc"].mean() - side[other].mean()) for side in (printed, computed))
        yield _line("gain", found, gain, holds=found > 0, other=other)


def _line(key: str, *numbers: Any, **values: Any) -> Line:
    """A line of the means, in which the columns ``set`` and ``column`` are part and quantity."""
    line = PAPER.line(key, *numbers, **values)
    return replace(line, more={"set": line.part, "column": line.quantity})


def _table(lines: Sequence[Line], printed: Columns, computed: Columns) -> Table:
    """A row for every set, and the means below them."""
    grid = []
    for name, some in groupby(lines, key=lambda line: line.part):
        columns = list(some)
        paper = [f"{line.paper:.2f}" for line in columns if line.paper is not None]
        found = ["-" if line.computed is None else f"{line.computed:.2f}" for line in columns]
        off = "no data" if columns[0].difference is None else f"{columns[0].difference:+.2f}"
        grid.append((name, str(columns[0].more.get("n_items", "-")), *paper, *found, off))
    if len(computed["static"]):
        off = f"{computed['static'].mean() - printed['static'].mean():+.2f}"
        means = [f"{column.mean():.2f}" for side in (printed, computed) for column in side.values()]
        grid.append(("Mean", "", *means, off))
        grid.append(("Highest", "", *times_highest(printed), *times_highest(computed), "", ""))
    return Table("", tuple(PAPER["header"]), tuple(grid))


def times_highest(side: Columns) -> list[str]:
    """For static, LCV and CVC, the number of sets where the column is highest."""
    rounded = np.round([side[name] for name in PRINTED], 2)
    return [str(number) for number in (rounded == rounded.max(axis=0)).sum(axis=1)]


def signed_ranks(gaps: Array) -> str:
    """The mean of paired differences, wins and losses, and Wilcoxon's one-sided confidence.

    Equal pairs are left out, as in Conover's book, which the paper follows.
    """
    gaps = np.round(gaps, 9)
    wins, losses = int((gaps > 0).sum()), int((gaps < 0).sum())
    text = f"{gaps.mean():+.2f} points, {wins} up, {losses} down"
    if wins + losses == 0:
        return text
    test: Any = wilcoxon(gaps[gaps != 0], alternative="greater", method="approx")
    confidence = 100 * (1 - test.pvalue)
    shown = "over 99.9" if confidence > 99.9 else f"{confidence:.1f}"
    return f"{text}, Wilcoxon {shown} % one-sided"


def _tests(printed: Columns, computed: Columns) -> Iterator[str]:
    """Differences of two columns and their tests: knnccv's, the paper's on the same and on all its sets."""
    every = printed_columns(ACCURACIES)
    for one, other in (("cvc", "static"), ("cvc", "lcv"), (EXACT, "cvc")):
        sides = {"knnccv": computed, "the paper": printed, "the paper on its 31 sets": every}
        gaps = {side: values[one] - values[other] for side, values in sides.items() if one in values}
        tests = "; ".join(f"{side} {signed_ranks(gap)}" for side, gap in gaps.items() if len(gap))
        yield f"{NAMES[one]} - {NAMES[other]}: {tests}."


def _panel(names: Sequence[str], printed: Columns, gains: Array) -> Panel:
    """The gain of CVC over static votes, set by set; `gains` has the shape (n_sets, n_seeds)."""
    order = gains.mean(axis=1).argsort()[::-1]
    bars = gains.std(axis=1, ddof=1)[order] if gains.shape[1] > 1 else None
    paper = (printed["cvc"] - printed["static"])[order], None
    sides = {"printed": paper, "computed": (gains.mean(axis=1)[order], bars)}
    return Panel("", [names[at] for at in order], sides, "CVC - static, points of accuracy")
