"""Designs of training sets as scikit-learn's splitters draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from .._labels import EncodedLabels
from .._training_set_count import magnitude
from .._typing import Array
from ..designs import Design, TrainingSets, merge_folds
from ._estimators import InexactError

MOST_PATTERNS = 1_000
"""Patterns of class counts that are taken one by one."""


@dataclass(frozen=True)
class Folds(Design):
    """Training sets of given sizes, fold by fold, as a splitter of scikit-learn makes them.

    Attributes
    ----------
    splitter : str
        What it is, for people to read.
    n_trains : tuple of tuple of int
        Per fold, and per stratum, the number of training samples.
    stratified : bool
        Whether the strata are the classes.
    balanced : bool
        Whether each fold's score is the mean of those of the classes that it tests, which only
        stratified folds know.
    """

    splitter: str
    n_trains: tuple[tuple[int, ...], ...]
    stratified: bool
    balanced: bool = False

    def __repr__(self) -> str:
        return self.splitter

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """One kind for each combination of sizes."""
        counts = labels.counts if self.stratified else [len(labels.codes)]
        return merge_folds(tuple(int(n) for n in counts), list(self.n_trains), self.stratified)

    def item_weights(self, labels: EncodedLabels, average: str) -> tuple[tuple[Fraction, ...], ...] | None:
        """Those of the mean over classes within each fold, where `balanced`."""
        if not self.balanced or average != "pooled":
            return None
        rows = []
        for kind in self.training_sets(labels):
            tested = [count - n for count, n in zip(kind.counts, kind.n_train, strict=True)]
            n_classes = sum(1 for n in tested if n)
            rows.append(
                tuple(
                    kind.probability / n_classes / count if n else Fraction(0)
                    for n, count in zip(tested, kind.counts, strict=True)
                )
            )
        return tuple(rows)

    def draw(self, labels: EncodedLabels, rng: np.random.Generator) -> tuple[Array, Array]:
        """Not here: scikit-learn draws."""
        raise NotImplementedError(_DRAW)


_DRAW = "scikit-learn draws these splits: expected_score(..., method='mc')"


@dataclass(frozen=True)
class Shares:
    """Numbers per class that add up to a total, where equal claims to the last units are settled by lot.

    Attributes
    ----------
    base : tuple of int
        What every class gets.
    tied : tuple of int
        The classes of which `extra`, any of them alike, get one more.
    extra : int
        How many of them.
    """

    base: tuple[int, ...]
    tied: tuple[int, ...] = ()
    extra: int = 0

    @classmethod
    def of(cls, counts: Array, total: int) -> Shares:
        """As scikit-learn's ``_approximate_mode``, in its own floating-point arithmetic.

        Which remainders are equal depends on their rounding; hence no Fractions here.
        """
        continuous = counts / counts.sum() * total
        floored = np.floor(continuous)
        left = int(total - floored.sum())
        remainder = continuous - floored
        base = floored.astype(int)
        for value in np.unique(remainder)[::-1]:
            if left <= 0:
                break
            tied = np.flatnonzero(remainder == value)
            if len(tied) > left:
                return cls(as_ints(base), as_ints(tied), left)
            base[tied] += 1
            left -= len(tied)
        return cls(as_ints(base))

    @property
    def n_patterns(self) -> int:
        """How many equally likely outcomes there are."""
        return math.comb(len(self.tied), self.extra)

    def patterns(self) -> Iterator[tuple[int, ...]]:
        """All of them."""
        for chosen in combinations(self.tied, self.extra):
            counts = list(self.base)
            for c in chosen:
                counts[c] += 1
            yield tuple(counts)

    def expected(self) -> list[Fraction]:
        """What every class gets in the mean."""
        share = Fraction(self.extra, len(self.tied) or 1)
        return [n + share * (c in self.tied) for c, n in enumerate(self.base)]


@dataclass(frozen=True)
class StratifiedShuffle(Design):
    """The training sets of scikit-learn's ``StratifiedShuffleSplit``.

    Attributes
    ----------
    splitter : str
        What it is, for people to read.
    train : Shares
        Training samples per class: ``train.base``, and one more for ``train.extra`` of ``train.tied``.
    n_test : int
        Number of test samples.
    balanced : bool
        Whether a split's score is the mean of those of the classes that it tests.
    """

    splitter: str
    train: Shares
    n_test: int
    balanced: bool = False

    def __repr__(self) -> str:
        return self.splitter

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """One kind where all that does not train is tested, else one for each pattern of class counts."""
        counts = as_ints(labels.counts)
        train = self.train
        if self._at_once(labels):
            lot = train.tied, train.extra
            return (TrainingSets(Fraction(1), train.base, counts, True, *lot),)
        _check_patterns(self.train)
        share = Fraction(1, self.train.n_patterns)
        return tuple(
            TrainingSets(share, pattern, counts, stratified=True) for pattern in self.train.patterns()
        )

    def _at_once(self, labels: EncodedLabels) -> bool:
        """Whether the patterns need not be told apart: a sample weighs as much as it is tested."""
        n_train = sum(self.train.base) + self.train.extra
        whole = n_train + self.n_test == len(labels.codes)
        return self.train.extra > 0 and whole and not self.balanced

    def tests(self, labels: EncodedLabels, n_train: tuple[int, ...]) -> Shares:
        """How many samples of every class are tested, given the training set's numbers."""
        return Shares.of(labels.counts - np.array(n_train), self.n_test)

    def item_weights(self, labels: EncodedLabels, average: str) -> tuple[tuple[Fraction, ...], ...] | None:
        """By the expected number of tested samples of each class, which may leave some out."""
        if self._at_once(labels):
            return None
        kinds = self.training_sets(labels)
        tests = [self.tests(labels, kind.n_train) for kind in kinds]
        counts = as_ints(labels.counts)
        if self.balanced and average == "pooled":
            shares = [
                _balanced_shares(test, kind.probability) for kind, test in zip(kinds, tests, strict=True)
            ]
            return tuple(tuple(s / n for s, n in zip(row, counts, strict=True)) for row in shares)
        tested = [
            [kind.probability * t for t in test.expected()] for kind, test in zip(kinds, tests, strict=True)
        ]
        totals = [sum(column, Fraction(0)) for column in zip(*tested, strict=True)]
        each = [Fraction(1, self.n_test)] * len(totals)
        if average != "pooled":
            parts = [n if average == "item" else 1 for n in counts]
            whole = sum(part for part, total in zip(parts, totals, strict=True) if total)
            each = [
                part / total / whole if total else Fraction(0)
                for part, total in zip(parts, totals, strict=True)
            ]
        return tuple(tuple(t * e / n for t, e, n in zip(row, each, counts, strict=True)) for row in tested)

    def draw(self, labels: EncodedLabels, rng: np.random.Generator) -> tuple[Array, Array]:
        """Not here: scikit-learn draws."""
        raise NotImplementedError(_DRAW)


def _balanced_shares(test: Shares, probability: Fraction) -> list[Fraction]:
    """Per class, what it counts when all classes with a tested sample count alike in a split."""
    _check_patterns(test)
    shares = [Fraction(0)] * len(test.base)
    for pattern in test.patterns():
        n_classes = sum(1 for n in pattern if n)
        for c, n in enumerate(pattern):
            if n:
                shares[c] += probability / test.n_patterns / n_classes
    return shares


def _check_patterns(shares: Shares) -> None:
    if shares.n_patterns > MOST_PATTERNS:
        msg = (
            f"{shares.extra} of {len(shares.tied)} classes, by lot, get one sample more: that makes "
            f"{magnitude(shares.n_patterns)} patterns of class counts, of which at most {MOST_PATTERNS} "
            "are taken one by one"
        )
        raise InexactError(msg)


def as_ints(values: Array) -> tuple[int, ...]:
    """Python integers."""
    return tuple(int(value) for value in values)
