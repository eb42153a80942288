"""What is studied: populations with rules and designs for their samples, and pairs of rules to compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from knnccv import (
    CompleteCV,
    Design,
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    Subsample,
    complete_cv,
)
from knnccv.datasets import load_wine

from .._paper import Paper
from .._work import Array

PAPER = Paper.read("coverage")
GROUP_SIZE = 5
SHARES = {"train 10 %": 0.1, "train 50 %": 0.5, "train 90 %": 0.9}
DESIGNS = tuple(dict.fromkeys(design for each in PAPER["designs_of"].values() for design in each))
Rng = np.random.Generator


class Population(NamedTuple):
    """A distribution of samples.

    Attributes
    ----------
    name : str
        In the table.
    draw : callable
        ``draw(rng, n)`` returns features (n, n_features) and labels or targets (n,), new on each call.
    kind : str
        "two" or "many" classes, "costs" (two classes, unequal losses), "regression", "errors" (regression,
        mostly with skewed errors), or "groups" (samples of a group stand together, `GROUP_SIZE` of them).
    """

    name: str
    draw: Callable[[Rng, int], tuple[Array, Array]]
    kind: str = "two"


def gaussians(
    rng: Rng, n: int, n_features: int, distance: float, share: float = 0.5, flipped: float = 0.0
) -> tuple[Array, Array]:
    """Two normal classes with this distance of the means, all covariances 1.

    `share` is that of class 1; a share `flipped` of the labels is wrong.
    """
    y = (rng.random(n) < share).astype(np.int64)
    X = _around_means(rng, y, n_features, distance)
    return X, np.where(rng.random(n) < flipped, 1 - y, y)


def _around_means(rng: Rng, y: Array, n_features: int, distance: float) -> Array:
    X: Array = rng.normal(size=(len(y), n_features)) + distance / math.sqrt(n_features) * (y[:, None] - 0.5)
    return X


def lattice(rng: Rng, n: int) -> tuple[Array, Array]:
    """Places of a 6 x 6 lattice: most distances are tied."""
    X = rng.integers(0, 6, (n, 2)).astype(float)
    return X, _labels(rng, 1.2 * (X[:, 0] - 2.5))


def _labels(rng: Rng, log_odds: Array) -> Array:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)


def spirals(rng: Rng, n: int) -> tuple[Array, Array]:
    """Two arms wound about each other one and a half times, with noise."""
    y = rng.integers(0, 2, n)
    angle = 3 * math.pi * np.sqrt(rng.random(n))
    turned = angle + math.pi * y
    X = np.column_stack([angle * np.cos(turned), angle * np.sin(turned)])
    return X + rng.normal(scale=0.5, size=(n, 2)), y


def three_classes(rng: Rng, n: int) -> tuple[Array, Array]:
    """Three normal classes at the corners of a triangle with sides 2."""
    y = rng.integers(0, 3, n)
    corner = 2 * math.pi / 3 * y
    means = 2 / math.sqrt(3) * np.column_stack([np.cos(corner), np.sin(corner)])
    return rng.normal(size=(n, 2)) + means, y


def smoothed_wine(rng: Rng, n: int) -> tuple[Array, Array]:
    """Rows of Wine, standardized and with noise of a fifth of their standard deviation."""
    X, y = _wine()
    rows = rng.integers(0, len(y), n)
    return X[rows] + rng.normal(scale=0.2, size=(n, X.shape[1])), y[rows]


@cache
def _wine() -> tuple[Array, Array]:
    data = load_wine()
    X = np.asarray(data.X, dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.asarray(data.y)


def wave(rng: Rng, n: int) -> tuple[Array, Array]:
    """A real target, a wave of the first of two features with noise."""
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + rng.normal(scale=0.4, size=n)


def sine(rng: Rng, n: int, noise: Callable[[Rng, Array], Array]) -> tuple[Array, Array]:
    """A real target, a sine of one feature x, with ``noise(rng, x)``."""
    x = rng.uniform(-2, 2, n)
    return x[:, None], np.sin(2 * x) + noise(rng, x)


def lognormal(rng: Rng, n: int) -> tuple[Array, Array]:
    """A real target whose logarithm is a line of one feature, with normal noise."""
    x = rng.uniform(-2, 2, n)
    return x[:, None], np.exp(x / 2 + rng.normal(size=n))


def grouped(rng: Rng, n: int) -> tuple[Array, Array]:
    """Groups of samples with a common place and a common effect on the labels."""
    n_groups = -(-n // GROUP_SIZE)
    centers, effects = rng.normal(size=(n_groups, 2)), rng.normal(size=n_groups)
    group = np.arange(n) // GROUP_SIZE
    X = centers[group] + rng.normal(scale=0.5, size=(n, 2))
    return X, _labels(rng, 2 * X[:, 0] + effects[group])


def _sine(name: str, noise: Callable[[Rng, Array], Array]) -> Population:
    return Population(f"sine, {name} errors", partial(sine, noise=noise), "errors")


plane = partial(gaussians, n_features=2)
rare = partial(plane, distance=2.0, share=0.1)
POPULATIONS = {
    "gaussians": Population("two Gaussians, 2-D", partial(plane, distance=2.0)),
    "gaussians-10": Population("two Gaussians, 10-D", partial(gaussians, n_features=10, distance=2.0)),
    "noise": Population("pure noise", partial(plane, distance=0.0)),
    "flipped": Population("10 % flipped labels", partial(plane, distance=4.0, flipped=0.1)),
    "imbalance": Population("10:90 imbalance", rare),
    "lattice": Population("lattice, tied distances", lattice),
    "near-perfect": Population("near-perfect, 0.98", partial(plane, distance=4.2)),
    "spirals": Population("spirals", spirals),
    "three": Population("three Gaussians, 2-D", three_classes, "many"),
    "wine": Population("smoothed Wine, 3 classes", smoothed_wine, "many"),
    "costs": Population("imbalance, costs 1 and 5", rare, "costs"),
    "regression": Population("regression", wave, "regression"),
    "errors-normal": _sine("normal", lambda rng, x: rng.normal(size=len(x))),
    "errors-exponential": _sine("exponential", lambda rng, x: rng.exponential(size=len(x))),
    "errors-t3": _sine("t(3)", lambda rng, x: rng.standard_t(3, len(x))),
    "errors-uneven": _sine("uneven", lambda rng, x: np.exp(x) * rng.normal(size=len(x))),
    "errors-lognormal": Population("lognormal target", lognormal, "errors"),
    "groups": Population("groups of 5", grouped, "groups"),
}


class Cell(NamedTuple):
    """A rule and a design, by their names in ``coverage.toml``; `key` names both in files."""

    rule: str
    design: str

    @property
    def key(self) -> str:
        """The name in files."""
        return f"{self.rule} | {self.design}"

    @property
    def told(self) -> Mapping[str, Any]:
        """The rule: variant, parameters, and K if it is a vote of neighbors without costs."""
        rule: Mapping[str, Any] = PAPER["rules"][self.rule]
        return rule

    def score(self, neighbors: Neighbors, y: Array) -> CompleteCV:
        """The exact score of a sample of the population."""
        design = design_of(self.design, len(y))
        return complete_cv(neighbors, y, self.told["variant"], design, n_jobs=1, **self.told["parameters"])

    def suits_halves(self, n: int) -> bool:
        """Whether a half of n samples trains enough of them for K votes."""
        most = max(self.told["parameters"].get(name, 1) for name in ("n_neighbors", "rank"))
        if self.design == "train 10 %":  # halves train on as many samples as all of them
            return bool(most <= 0.1 * n)
        share = 0.5 if self.design == "train 50 %" else 0.8
        return bool(most <= share * (n // 2) - 1)


def design_of(name: str, n: int) -> Design:
    """The design of this name for n samples."""
    if name in SHARES:
        return Subsample(round(SHARES[name] * n))
    if name == "groups left out":
        return LeaveGroupsOut(np.arange(n) // GROUP_SIZE)
    folds = {"leave-one-out": LeaveOut(1), "5 folds": KFold(5), "5 stratified folds": StratifiedKFold(5)}
    return folds[name]


def cells_of(population: str, n: int) -> tuple[Cell, ...]:
    """All cells of a population, without those whose halves are too small for K votes."""
    kind = POPULATIONS[population].kind
    cells = (Cell(rule, design) for rule in PAPER["rules_of"][kind] for design in PAPER["designs_of"][kind])
    return tuple(cell for cell in cells if cell.suits_halves(n))


class Scene(NamedTuple):
    """Two votes of neighbors, each on features of its own.

    ``draw(rng, n)`` returns the features of both rules, and the labels; `votes` are both K; `equal`:
    whether both rules are equally good.
    """

    name: str
    draw: Callable[[Rng, int], tuple[Array, Array, Array]]
    votes: tuple[int, int]
    equal: bool = True


def _two_sets(rng: Rng, n: int, n_features: int) -> tuple[Array, Array, Array]:
    X, y = gaussians(rng, n, n_features, 2.0)
    return X, _around_means(rng, y, n_features, 2.0), y


def _noisy_versions(rng: Rng, n: int) -> tuple[Array, Array, Array]:
    X, y = plane(rng, n, distance=2.5)
    first, second = rng.normal(scale=0.5, size=(2, *X.shape))
    return X + first, X + second, y


def _same(rng: Rng, n: int, distance: float) -> tuple[Array, Array, Array]:
    X, y = plane(rng, n, distance=distance)
    return X, X, y


SCENES = {
    "exchangeable": Scene("1-NN, exchangeable features", partial(_two_sets, n_features=2), (1, 1)),
    "noisy": Scene("5-NN, two noisy versions", _noisy_versions, (5, 5)),
    "noise": Scene("1-NN and 5-NN, labels noise", partial(_same, distance=0.0), (1, 5)),
    "five": Scene("5-NN, two sets of features", partial(_two_sets, n_features=5), (5, 5)),
    "power": Scene("1-NN and 5-NN, Gaussians", partial(_same, distance=2.0), (1, 5), equal=False),
}
