"""Comparisons of two rules: scenes in which both are equally good, and one in which they are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from ...designs import Subsample
from ...inference import InferenceWarning, compare
from ...neighbors import Neighbors
from ...results import complete_cv
from ...rivals import Votes, corrected_t, five_by_two_cv, mcnemar
from ._populations import gaussians
from ._rivals import answers_of_folds, random_splits

Pair = tuple[Array, Array, Array]
"""The features of both rules, and the labels."""

SHARE = 0.9


@dataclass(frozen=True)
class Scene:
    """Two votes of neighbors, each on features of its own.

    ``draw(rng, n)`` returns a `Pair`; `votes` are both K; `equal`: whether both rules are equally good.
    """

    name: str
    draw: Callable[[np.random.Generator, int], Pair]
    votes: tuple[int, int]
    equal: bool = True


def _two_sets(n_features: int) -> Callable[[np.random.Generator, int], Pair]:
    def draw(rng: np.random.Generator, n: int) -> Pair:
        X, y = gaussians(n_features, 2.0)(rng, n)
        other = rng.normal(size=X.shape) + 2.0 / np.sqrt(n_features) * (y[:, None] - 0.5)
        return X, other, y

    return draw


def _noisy_versions(rng: np.random.Generator, n: int) -> Pair:
    X, y = gaussians(2, 2.5)(rng, n)
    first, second = rng.normal(scale=0.5, size=(2, *X.shape))
    return X + first, X + second, y


def _same(distance: float) -> Callable[[np.random.Generator, int], Pair]:
    def draw(rng: np.random.Generator, n: int) -> Pair:
        X, y = gaussians(2, distance)(rng, n)
        return X, X, y

    return draw


SCENES = {
    "exchangeable": Scene("1-NN, exchangeable features", _two_sets(2), (1, 1)),
    "noisy": Scene("5-NN, two noisy versions", _noisy_versions, (5, 5)),
    "noise": Scene("1-NN and 5-NN, labels noise", _same(0.0), (1, 5)),
    "five": Scene("5-NN, two sets of features", _two_sets(5), (5, 5)),
    "power": Scene("1-NN and 5-NN, Gaussians", _same(2.0), (1, 5), equal=False),
}


def pvalues(scene: str, rng: np.random.Generator, n: int, n_halvings: int) -> dict[str, float]:
    """The p-values of one sample by method."""
    asked = SCENES[scene]
    first, second, y = asked.draw(rng, n)
    n_train = round(SHARE * n)
    orders = [Neighbors.from_data(first)]
    orders.append(orders[0] if second is first else Neighbors.from_data(second))
    a, b = (
        complete_cv(order, y, "knn", Subsample(n_train), n_jobs=1, n_neighbors=k)
        for order, k in zip(orders, asked.votes, strict=True)
    )
    rules = [Votes(order, y, k) for order, k in zip(orders, asked.votes, strict=True)]
    folds = rng.permutation(np.arange(n) % 10)
    answers = [answers_of_folds(rule, folds) for rule in rules]
    splits = [[rule.correct(*split).mean() for rule in rules] for split in random_splits(n, n_train, rng)]
    differences = np.array([one - other for one, other in splits])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        halves = compare(a, b, n_halvings=n_halvings).pvalue
    return {
        "halves": halves,
        "McNemar, 10 folds": mcnemar(*answers).pvalue,
        "corrected t": corrected_t(differences, n_train, n - n_train).pvalue,
        "5x2 cv t": five_by_two_cv(_differences_of_halves(rules, n, rng)).pvalue,
    }


def _differences_of_halves(rules: list[Votes], n: int, rng: np.random.Generator) -> Array:
    """The differences of five runs of two folds, float64 (5, 2)."""
    differences = np.empty((5, 2))
    for run in range(5):
        folds = rng.permutation(np.arange(n) % 2)
        one, other = (answers_of_folds(rule, folds).astype(float) for rule in rules)
        differences[run] = [(one - other)[folds == fold].mean() for fold in range(2)]
    return differences
