"""Coverage of the intervals of scorings without closed form, and levels of their comparisons.

A cell is a population, a number of samples, a pipeline with a splitter, and its scorings. The true score is
the mean over further data sets.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score, make_scorer
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier as Votes
from sklearn.neighbors import KNeighborsRegressor as Means
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knnccv import InferenceWarning, compare
from knnccv.sklearn import expected_score

from .._work import Array

Rng = np.random.Generator
SEED, TRUE = 2, 1
OF_TWO = ["accuracy", "f1", "f1_macro", "balanced_accuracy", "matthews_corrcoef"]
OF_TWO += ["roc_auc", "average_precision"]
OF_MANY: dict[str, Any] = {
    **{name: name for name in ("f1_macro", "f1_weighted", "balanced_accuracy", "matthews_corrcoef")},
    "kappa": make_scorer(cohen_kappa_score),
}
OF_VALUES = ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"]
FIELDS = ["cell", "samples", "scoring", "data sets", "true", "coverage", "too low", "too high"]
FIELDS += ["width", "variance", "warned", "coverage unwarned"]


def moons(rng: Rng, n: int) -> tuple[Array, Array]:
    """Two half circles with noise."""
    y, t = rng.integers(0, 2, n), np.pi * rng.random(n)
    X = np.c_[np.cos(t) * (1 - 2 * y) + y, np.sin(t) * (1 - 2 * y) + 0.5 * y]
    return X + rng.normal(scale=0.45, size=(n, 2)), y


def signs(rng: Rng, n: int) -> tuple[Array, Array]:
    """Whether the signs of two of four features agree; a tenth of the labels is wrong."""
    X = rng.normal(size=(n, 4))
    return X, ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.1)).astype(int)


def counts(rng: Rng, n: int) -> tuple[Array, Array]:
    """Three classes of Poisson counts, with many ties."""
    y = rng.choice(3, n, p=[0.5, 0.35, 0.15])
    return rng.poisson(np.array([[1, 2, 3], [2, 1, 3], [3, 3, 1]])[y]).astype(float), y


def shells(rng: Rng, n: int) -> tuple[Array, Array]:
    """Two spheres about each other."""
    y, X = (rng.random(n) < 0.5).astype(int), rng.normal(size=(n, 4))
    X *= (1 + 0.5 * y[:, None]) / np.linalg.norm(X, axis=1, keepdims=True)
    return X + rng.normal(scale=0.35, size=X.shape), y


def heavy(rng: Rng, n: int) -> tuple[Array, Array]:
    """Laplace features, a quarter of the samples positive."""
    y = (rng.random(n) < 0.25).astype(int)
    return rng.laplace(size=(n, 5)) + 0.8 * y[:, None], y


def words(rng: Rng, n: int) -> tuple[Array, Array]:
    """Thirty binary features, half of them noise, with many ties."""
    y = (rng.random(n) < 0.3).astype(int)
    share = np.where(np.arange(30) < 15, np.where(y == 1, 0.25, 0.12)[:, None], 0.15)
    return (rng.random((n, 30)) < share).astype(float), y


def rare(rng: Rng, n: int) -> tuple[Array, Array]:
    """Eight percent of the samples positive."""
    y = (rng.random(n) < 0.08).astype(int)
    return rng.normal(size=(n, 3)) + 1.3 * y[:, None], y


def four(rng: Rng, n: int) -> tuple[Array, Array]:
    """Four classes at the corners of a square, of 40, 30, 20 and 10 %."""
    y = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    return np.array([[0, 0], [2, 0], [0, 2], [2, 2]])[y] + rng.normal(size=(n, 2)), y


def scales(rng: Rng, n: int) -> tuple[Array, Array]:
    """Six features of very different scales, of which two tell the class."""
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 6)) + np.outer(y, [1.5, 1, 0, 0, 0, 0])
    return X * [1, 0.3, 5, 10, 0.1, 2], y


def linear(rng: Rng, n: int) -> tuple[Array, Array]:
    """A noisy half space of ten features, some 20 % positive."""
    X = rng.normal(size=(n, 10))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n) > 1.45).astype(int)


def friedman(rng: Rng, n: int) -> tuple[Array, Array]:
    """Friedman's first function of five uniform features, with noise."""
    X = rng.random((n, 5))
    value = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, value + rng.normal(size=n)


def unequal(rng: Rng, n: int) -> tuple[Array, Array]:
    """A parabola with noise that grows outward."""
    X = rng.normal(size=(n, 2))
    noise = (0.3 + 0.5 * np.abs(X[:, 0])) * rng.normal(size=n)
    return X, X[:, 0] ** 2 + X[:, 1] + noise


def two_values(rng: Rng, n: int) -> tuple[Array, Array]:
    """Two outputs of three features, with noise."""
    X = rng.normal(size=(n, 3))
    values = np.c_[X[:, 0] ** 2 + X[:, 1], np.sin(2 * X[:, 2]) + 0.5 * X[:, 0]]
    return X, values + 0.5 * rng.normal(size=(n, 2))


class Cell(NamedTuple):
    """A population, its number of samples, and what is scored."""

    draw: Callable[[Rng, int], tuple[Array, Array]]
    n: int
    rule: Any
    cv: Any
    scorings: Any


def _scaled(rule: Any) -> Any:
    return make_pipeline(StandardScaler(), rule)


FIVE, TEN = (StratifiedKFold(n_folds, shuffle=True) for n_folds in (5, 10))
PLAIN = KFold(5, shuffle=True)
CELLS = {
    "moons": Cell(moons, 60, Votes(5), FIVE, OF_TWO),
    "signs": Cell(signs, 100, Votes(5), FIVE, OF_TWO),
    "counts": Cell(counts, 150, Votes(3), FIVE, OF_MANY),
    "shells": Cell(shells, 200, Votes(7), FIVE, OF_TWO),
    "heavy tails": Cell(heavy, 200, Votes(9), TEN, OF_TWO),
    "words": Cell(words, 120, Votes(5), FIVE, OF_TWO),
    "rare class": Cell(rare, 300, Votes(3), FIVE, OF_TWO),
    "four classes": Cell(four, 250, Votes(5), FIVE, OF_MANY),
    "scaler": Cell(scales, 100, _scaled(Votes(5)), FIVE, OF_TWO),
    "weights": Cell(signs, 150, Votes(7, weights="distance"), FIVE, OF_TWO),
    "single splits": Cell(signs, 100, Votes(5), ShuffleSplit(test_size=0.25), OF_TWO),
    "Friedman": Cell(friedman, 80, Means(5), PLAIN, OF_VALUES),
    "Friedman, scaler": Cell(friedman, 150, _scaled(Means(5)), PLAIN, OF_VALUES),
    "unequal noise": Cell(unequal, 300, Means(7), PLAIN, OF_VALUES),
    "two outputs": Cell(two_values, 150, Means(5), PLAIN, OF_VALUES),
    "half space": Cell(linear, 500, Votes(15), FIVE, OF_TWO),
    "half space, large": Cell(linear, 1000, Votes(15), FIVE, OF_TWO),
    "half space, very large": Cell(linear, 2000, Votes(15), FIVE, OF_TWO),
}
PAIRS = {
    "votes": (100, Votes(5)),
    "scalers": (250, _scaled(Votes(5))),
    "weighted votes": (150, Votes(9, weights="distance")),
}
"""Equally good pipelines: of two noisy versions of the same features."""
EVERY = [*CELLS, *PAIRS]


def coverage_of(cell: Cell, n_sets: int, n_true: int) -> dict[str, dict[str, Any]]:
    """The coverage of 95 % intervals by scoring, over so many data sets; the truth from others."""
    asked: dict[str, Any] = {"cv": cell.cv, "scoring": cell.scorings, "n_jobs": 1}
    true: dict[str, list[float]] = {name: [] for name in cell.scorings}
    found: dict[str, list[Any]] = {name: [] for name in cell.scorings}
    for number in range(n_true + n_sets):
        is_true = number < n_true
        rng = np.random.default_rng([TRUE, number] if is_true else [SEED, number - n_true])
        X, y = cell.draw(rng, cell.n)
        with warnings.catch_warnings(action="ignore"):
            scores = expected_score(cell.rule, X, y, n_runs=64 if is_true else None, **asked)
        for name, score in scores.items():
            if is_true:
                true[name].append(score.score)
                continue
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", InferenceWarning)
                low, high = score.confidence_interval()
                found[name].append((low, high, float(score.standard_error()), len(caught) > 0))
    return {name: _summary(np.array(true[name]), np.array(found[name])) for name in cell.scorings}


def _summary(true: Array, found: Array) -> dict[str, Any]:
    low, high, error, warned = found.T
    mean, spread = true.mean(), true.std()
    hits = (low <= mean) & (mean <= high)
    return {
        "data sets": len(found),
        "true": mean,
        "coverage": 100 * hits.mean(),
        "too low": 100 * (high < mean).mean(),
        "too high": 100 * (low > mean).mean(),
        "width": (high - low).mean() / (2 * 1.96 * spread),
        "variance": (error**2).mean() / spread**2,
        "warned": 100 * warned.mean(),
        "coverage unwarned": 100 * hits[warned == 0].mean() if (warned == 0).any() else None,
    }


def level_of(n: int, rule: Any, n_sets: int) -> dict[str, float]:
    """How often a comparison calls two equally good pipelines different at 5 %, in percent, by scoring."""
    pvalues: dict[str, list[float]] = {name: [] for name in OF_TWO}
    for number in range(n_sets):
        rng = np.random.default_rng([SEED, number])
        y = (rng.random(n) < 0.35).astype(int)
        X = rng.normal(size=(n, 3)) + y[:, None]
        both = [X + rng.normal(scale=0.7, size=X.shape) for _ in range(2)]
        with warnings.catch_warnings(action="ignore"):
            one, two = (expected_score(rule, each, y, cv=FIVE, scoring=OF_TWO, n_jobs=1) for each in both)
            for name in OF_TWO:
                pvalues[name].append(compare(one[name], two[name]).pvalue)
    return {name: 100 * float(np.mean(np.array(each) < 0.05)) for name, each in pvalues.items()}


def study(folder: Path, names: Sequence[str], n_sets: int, n_true: int) -> None:
    """Write ``scorings.csv``, the coverage of the named cells, and ``levels.csv``, of the pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "scorings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in (name for name in names if name in CELLS):
            for scoring, row in coverage_of(CELLS[name], n_sets, n_true).items():
                rounded = {key: float(f"{of:.3g}") if of is not None else None for key, of in row.items()}
                writer.writerow({"cell": name, "samples": CELLS[name].n, "scoring": scoring, **rounded})
                file.flush()
    with (folder / "levels.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["pair", "samples", *OF_TWO])
        for name in (name for name in names if name in PAIRS):
            n, rule = PAIRS[name]
            rows.writerow([name, n, *level_of(n, rule, n_sets).values()])
