"""Blocks of simulated data sets, each with a file, so that an interrupted study goes on where it was."""

from __future__ import annotations

import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit
from tqdm.auto import tqdm

from knnccv import InferenceWarning, Neighbors, Subsample, compare, complete_cv

from .. import _catalog
from .._work import Array, n_workers
from ..rivals import Votes, binomial, corrected_t, five_by_two_cv, fold_clt, mcnemar, nested_cv
from ._populations import POPULATIONS, SCENES, SHARES, Cell, cells_of

SEED = 20
N_SPLITS = 15
N_REPEATS = 30
"""Repetitions of nested cross-validation, with 10 folds."""

TRAINED = 0.9
"""The share of training samples of a test."""

Record = dict[str, list[Any]]


@dataclass(frozen=True)
class Block:
    """Some samples of a population or of a scene.

    Attributes
    ----------
    kind : {"intervals", "scores", "tests"}
        What is computed: intervals; exact scores alone, for the true mean; tests of a scene.
    name : str
        The population or the scene.
    n : int
        The number of samples in a data set.
    first, size : int
        The data sets, by the numbers that seed them.
    n_halvings : int
        Of intervals and tests.
    cells : tuple of str, optional
        Keys of the cells; all if empty.
    nested : bool
        Whether nested cross-validation, which takes long, is among the rivals.
    """

    kind: str
    name: str
    n: int
    first: int
    size: int
    n_halvings: int = 200
    cells: tuple[str, ...] = ()
    nested: bool = False

    @property
    def file(self) -> str:
        """The name of its file."""
        told = f"{zlib.crc32(repr(self).encode()):08x}"
        return f"{self.kind}-{self.name}-{self.n}-{self.first}-{told}.pickle"

    def run(self) -> Record:
        """The results of all data sets, by the key of the cell or by method."""
        found: Record = defaultdict(list)
        for at in range(self.first, self.first + self.size):
            for key, value in self._pvalues(at) if self.kind == "tests" else self._scores(at):
                found[key].append(value)
        return dict(found)

    def rng(self, at: int) -> np.random.Generator:
        """The generator of random numbers for a data set."""
        return np.random.default_rng((SEED, zlib.crc32(f"{self.kind} {self.name}".encode()), self.n, at))

    def _pvalues(self, at: int) -> Iterable[tuple[str, float]]:
        return pvalues(self.name, self.rng(at), self.n, self.n_halvings).items()

    def _scores(self, at: int) -> Iterator[tuple[str, Any]]:
        """The score of every cell, or what `_interval` gives; nothing if all labels are equal."""
        rng = self.rng(at)
        X, y = POPULATIONS[self.name].draw(rng, self.n)
        if np.unique(y).size == 1:
            return
        neighbors = Neighbors.from_data(X)
        for cell in cells_of(self.name, self.n):
            if not self.cells or cell.key in self.cells:
                if self.kind == "scores":
                    yield cell.key, cell.score(neighbors, y).score
                else:
                    yield cell.key, self._interval(cell, neighbors, y, rng, at)

    def _interval(
        self, cell: Cell, neighbors: Neighbors, y: Array, rng: np.random.Generator, at: int
    ) -> list[Any]:
        """Score, low, high, variance, whether it warned, and the rivals' ends."""
        result = cell.score(neighbors, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            low, high = result.confidence_interval(0.95, n_halvings=self.n_halvings, random_state=at)
            halves = result.half_scores(self.n_halvings, random_state=at)
        warned = any(issubclass(one.category, InferenceWarning) for one in caught)
        others, kind = {}, POPULATIONS[self.name].kind
        if kind == "two":
            others = rival_intervals(cell, neighbors, y, result.score, rng, self.nested)
        elif kind in ("regression", "errors"):
            reach = stdtrit(halves.degrees_of_freedom, 0.975) * np.sqrt(halves.variance)
            others = {"Wald": [result.score - reach, result.score + reach]}
        return [result.score, low, high, halves.variance, warned, others]


def rival_intervals(
    cell: Cell, neighbors: Neighbors, y: Array, score: float, rng: np.random.Generator, nested: bool
) -> dict[str, list[float]]:
    """The ends of 95 % intervals by method.

    One run of folds and random splits train on the share of the design, from a half on; leave-one-out has,
    if `nested`, the interval of nested cross-validation, whose target is the whole training size.
    """
    n_votes = cell.told.get("n_votes")
    if not n_votes or cell.design not in (*SHARES, "leave-one-out"):
        return {}
    n = len(y)
    ends = {"binomial": binomial(score, n)}
    if (share := SHARES.get(cell.design, 0.0)) >= 0.5:
        votes = Votes(neighbors, y, n_votes)
        n_train = round(share * n)
        folds = rng.permutation(np.arange(n) % round(1 / (1 - share)))
        ends["one run, CLT"] = fold_clt(folds, answers_of_folds(votes, folds))
        splits = np.array([votes.correct(*split).mean() for split in random_splits(n, n_train, rng)])
        ends["corrected t"] = corrected_t(splits, n_train, n - n_train)
    elif nested and not share:
        seed = rng.integers(2**31)
        ends["nested"] = nested_cv(neighbors, y, n_votes, n_runs=N_REPEATS, random_state=seed)
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


def pvalues(scene: str, rng: np.random.Generator, n: int, n_halvings: int) -> dict[str, float]:
    """The p-values of one sample by method."""
    asked = SCENES[scene]
    *features, y = asked.draw(rng, n)
    n_train = round(TRAINED * n)
    orders = {id(X): Neighbors.from_data(X) for X in features}  # one where both rules have the same
    pairs = [(orders[id(X)], y, k) for X, k in zip(features, asked.votes, strict=True)]
    a, b = (
        complete_cv(order, y, "knn", Subsample(n_train), n_jobs=1, n_neighbors=k) for order, y, k in pairs
    )
    rules = [Votes(*pair) for pair in pairs]
    folds = rng.permutation(np.arange(n) % 10)
    answers = [answers_of_folds(rule, folds) for rule in rules]
    splits = [[rule.correct(*split).mean() for rule in rules] for split in random_splits(n, n_train, rng)]
    differences = np.array([one - other for one, other in splits])
    halves = np.empty((5, 2))
    for run in range(5):
        half = rng.permutation(np.arange(n) % 2)
        one, other = (answers_of_folds(rule, half).astype(float) for rule in rules)
        halves[run] = [(one - other)[half == which].mean() for which in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        pvalue = compare(a, b, n_halvings=n_halvings).pvalue
    return {
        "halves": pvalue,
        "McNemar, 10 folds": mcnemar(*answers).pvalue,
        "corrected t": corrected_t(differences, n_train, n - n_train).pvalue,
        "5x2 cv t": five_by_two_cv(halves).pvalue,
    }


def run_block(block: Block, folder: Path | None) -> Record:
    """The results of a block, from its file if there is one; otherwise computed and stored."""
    if folder is None:
        return block.run()
    kept: Record | None = _catalog.find(folder / block.file)
    if kept is None:
        kept = block.run()
        _catalog.keep(folder / block.file, kept)
    return kept


def run_all(
    blocks: Iterable[Block], folder: Path | None, n_jobs: int | None = None, progress: bool = False
) -> dict[Block, Record]:
    """All blocks, in processes if there are several workers and a folder; in the order of the blocks."""
    asked = list(blocks)
    workers = max(1, min(n_jobs or n_workers(), len(asked))) if folder else 1
    run = partial(run_block, folder=folder)
    with ExitStack() as stack:
        found: Iterable[Record] = map(run, asked)
        if workers > 1:
            pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
            found = stack.enter_context(pool).map(run, asked)
        bar = tqdm(found, total=len(asked), unit="block", disable=not progress)
        return dict(zip(asked, bar, strict=True))
