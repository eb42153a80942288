"""Intervals that others report, for a cell of votes whose samples are not grouped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._typing import Array
from ...neighbors import Neighbors
from ...rivals import Votes, binomial, corrected_t, fold_clt, nested_cv
from ._cells import SHARES, Cell

N_SPLITS = 15
N_REPEATS = 30
"""Repetitions of nested cross-validation, with 10 folds."""


def rival_intervals(
    cell: Cell, neighbors: Neighbors, y: Array, score: float, rng: np.random.Generator, nested: bool
) -> dict[str, list[float]]:
    """The ends of 95 % intervals by method.

    One run of folds and random splits train on the share of the design; leave-one-out has the binomial
    interval and, if `nested`, that of nested cross-validation, whose target is the whole training size.
    """
    n_votes = cell.n_votes
    if not n_votes or cell.design not in (*SHARES, "leave-one-out"):
        return {}
    n = len(y)
    ends = {"binomial": binomial(score, n)}
    votes = Votes(neighbors, y, n_votes)
    if cell.design in SHARES:
        n_train = round(SHARES[cell.design] * n)
        folds = rng.permutation(np.arange(n) % round(1 / (1 - SHARES[cell.design])))
        ends["one run, CLT"] = fold_clt(folds, answers_of_folds(votes, folds))
        splits = np.array([votes.correct(*split).mean() for split in random_splits(n, n_train, rng)])
        ends["corrected t"] = corrected_t(splits, n_train, n - n_train)
    elif nested:
        ends["nested"] = nested_cv(
            neighbors, y, n_votes, n_repeats=N_REPEATS, random_state=rng.integers(2**31)
        )
    return {name: list(interval) for name, interval in ends.items()}


def answers_of_folds(votes: Votes, folds: Array) -> Array:
    """Whether each sample is classified correctly when its fold is tested: bool (n_items,)."""
    correct = np.zeros(len(folds), bool)
    for fold in np.unique(folds):
        tested = np.flatnonzero(folds == fold)
        correct[tested] = votes.correct(folds != fold, tested)
    return correct


def random_splits(n: int, n_train: int, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Training samples, bool (n,), and test samples of `N_SPLITS` random splits."""
    for _ in range(N_SPLITS):
        order = rng.permutation(n)
        training = np.zeros(n, bool)
        training[order[:n_train]] = True
        yield training, order[n_train:]
