"""Designs of scikit-learn's splitters that knnccv's own do not cover: `StratifiedShuffle` and `ByClass`.

The score of a split may be a mean over its tested classes (balanced accuracy). It has a closed form for
fixed numbers of tested samples of every class; `ByClass` goes through these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from .._base.formatting import magnitude
from .._base.labels import EncodedLabels, labels_of
from .._base.typing import Array
from .._core.driver import InexactError
from ..designs import Design, TrainingSets, n_train_in_half

MAX_COUNTS = 200
"""The largest number of different class counts of test sets that are evaluated one by one."""
MAX_PATTERNS = 1_000
"""The largest number of patterns of class counts that are evaluated one by one."""


class SplitterDesign(Design):
    """A design of one of scikit-learn's splitters, which draws its splits itself."""

    splitter: str

    def __repr__(self) -> str:
        return self.splitter

    def draw(self, labels: EncodedLabels, rng: np.random.Generator) -> tuple[Array, Array]:
        """Raise NotImplementedError: the splitter draws."""
        msg = "scikit-learn draws these splits: expected_score(..., method='sampled')"
        raise NotImplementedError(msg)


@dataclass(frozen=True, repr=False)
class ByClass(SplitterDesign):
    """The splits of another design by their class counts, whose score is the mean over the tested classes.

    Training sets of given class counts are those of a stratified design, and the mean over the tested
    classes has a fixed denominator. If the other design is not stratified, the counts are hypergeometric.

    Attributes
    ----------
    splitter : str
        Text for messages.
    design : Design
        A design that tests all samples outside the training set.
    balanced : bool
        True: the score is a mean over classes.
    """

    splitter: str
    design: Design
    balanced: bool = True

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind for each combination of class counts."""
        counts = as_ints(labels.counts)
        shares: dict[tuple[int, ...], Fraction] = {}
        for kind in self.design.training_sets(labels):
            if kind.stratified:
                shares[kind.n_train] = kind.probability
                continue
            share_of_one = kind.probability / kind.number
            for n_train in _compositions(sum(kind.n_train), counts):
                share = share_of_one * math.prod(map(math.comb, counts, n_train))
                shares[n_train] = shares.get(n_train, Fraction(0)) + share
        return tuple(TrainingSets(share, n_train, counts, True) for n_train, share in shares.items())

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Return the weights of the mean over the tested classes of each split."""
        if average != "pooled":
            return None
        rows = []
        for kind in self.training_sets(labels):
            tested = Shares(as_ints(np.subtract(kind.counts, kind.n_train)))
            rows.append(_per_sample(tested.balanced() * kind.probability, kind.counts))
        return tuple(rows)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the same for the other design's halves.

        Raises
        ------
        ValueError
            If the half has too many combinations of class counts.
        """
        half = replace(self, design=self.design.halved(labels, rows))
        if n_class_counts(half.design, labels_of(labels, rows)) > MAX_COUNTS:
            msg = f"the test sets of a half have more than {MAX_COUNTS} combinations of class counts"
            raise ValueError(msg)
        return half


def n_class_counts(design: Design, labels: EncodedLabels) -> int:
    """The number of different class counts of the training sets of a design."""
    total = 0
    for kind in design.training_sets(labels):
        ways = np.zeros(sum(kind.n_train) + 1, object)  # by the number of training samples
        ways[0] = 1
        for count in labels.counts.tolist():
            sums = np.cumsum(ways)
            ways = sums.copy()
            ways[count + 1 :] -= sums[: -count - 1]
        total += 1 if kind.stratified else ways[-1]
    return total


def _compositions(size: int, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All numbers of training samples of every class that sum to `size`."""
    found: list[tuple[int, ...]] = [()]
    for at, count in enumerate(counts):
        rest = sum(counts[at + 1 :])
        found = [
            (*taken, n)
            for taken in found
            for n in range(max(size - sum(taken) - rest, 0), min(count, size - sum(taken)) + 1)
        ]
    return found


@dataclass(frozen=True)
class Shares:
    """Numbers of samples per class with a fixed total; equal remainders are rounded at random.

    Attributes
    ----------
    base : tuple of int
        The number of samples that every class gets.
    tied : tuple of int
        The classes that may get one more; all subsets of `extra` of them are equally likely.
    extra : int
        The number of classes that get one more.
    """

    base: tuple[int, ...]
    tied: tuple[int, ...] = ()
    extra: int = 0

    @classmethod
    def of(cls, counts: Array, total: int) -> Shares:
        """Divide `total` as scikit-learn's ``_approximate_mode`` does, in the same float arithmetic.

        Rounding decides which remainders are equal, so Fractions would give other results.
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
        """The number of equally likely outcomes."""
        return math.comb(len(self.tied), self.extra)

    def patterns(self) -> Iterator[tuple[int, ...]]:
        """Yield all outcomes; InexactError if there are too many."""
        if self.n_patterns > MAX_PATTERNS:
            msg = (
                f"{self.extra} of {len(self.tied)} classes, chosen at random, get one more sample: this "
                f"gives {magnitude(self.n_patterns)} patterns of class counts, more than the "
                f"{MAX_PATTERNS} that can be evaluated one by one"
            )
            raise InexactError(msg)
        for chosen in combinations(self.tied, self.extra):
            yield tuple(n + (c in chosen) for c, n in enumerate(self.base))

    def expected(self) -> list[Fraction]:
        """Return the expected number of samples per class."""
        share = Fraction(self.extra, len(self.tied) or 1)
        return [n + share * (c in self.tied) for c, n in enumerate(self.base)]

    def balanced(self) -> Array:
        """Return the expected weights, as Fractions, if the classes that have samples count alike."""
        weights = np.full(len(self.base), Fraction(0))
        for pattern in self.patterns():
            present = np.array(pattern) > 0
            weights[present] += Fraction(1, self.n_patterns * int(present.sum()))
        return weights


@dataclass(frozen=True, repr=False)
class StratifiedShuffle(SplitterDesign):
    """The training sets of scikit-learn's ``StratifiedShuffleSplit``.

    Attributes
    ----------
    splitter : str
        Text for messages.
    train : Shares
        Training samples per class.
    n_test : int
        Number of test samples.
    balanced : bool
        Whether the score of a split is the mean of the scores of its tested classes.
    one_by_one : bool
        Whether every pattern of class counts is a kind, for rules that cannot evaluate them together.
    """

    splitter: str
    train: Shares
    n_test: int
    balanced: bool = False
    one_by_one: bool = False

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind if all samples are used in every split, or one per pattern of class counts.

        Raises
        ------
        ValueError
            If a class has fewer samples than the training set needs, as without one of its samples.
        """
        counts = as_ints(labels.counts)
        train = self.train
        most = [n + (train.extra > 0 and c in train.tied) for c, n in enumerate(train.base)]
        if len(counts) != len(most) or any(n > count for n, count in zip(most, counts, strict=True)):
            msg = f"{self.splitter} trains {most} samples of the classes, which have {list(counts)}"
            raise ValueError(msg)
        if self._one_kind(labels):
            return (TrainingSets(Fraction(1), train.base, counts, True, train.tied, train.extra),)
        share = Fraction(1, train.n_patterns)
        return tuple(TrainingSets(share, pattern, counts, stratified=True) for pattern in train.patterns())

    def _one_kind(self, labels: EncodedLabels) -> bool:
        """Check whether all patterns can be evaluated together: every sample not in training is tested."""
        n_train = sum(self.train.base) + self.train.extra
        whole = n_train + self.n_test == len(labels.codes)
        return self.train.extra > 0 and whole and not (self.balanced or self.one_by_one)

    def halved(self, labels: EncodedLabels, rows: Array) -> Design:
        """Return the design with the same shares of training and tested samples."""
        half, n_items = labels_of(labels, rows), len(labels.codes)
        total = sum(self.train.base) + self.train.extra
        (n_train,) = n_train_in_half((total,), (n_items,), (len(rows),))
        n_test = len(rows) - n_train
        if total + self.n_test < n_items:
            n_test = min(n_test, max(1, round(Fraction(self.n_test * len(rows), n_items))))
        return replace(self, train=Shares.of(half.counts, n_train), n_test=n_test)

    def tests(self, labels: EncodedLabels, n_train: tuple[int, ...]) -> Shares:
        """Return the numbers of tested samples per class, given those of the training set."""
        return Shares.of(labels.counts - np.array(n_train), self.n_test)

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Weight every class by its expected number of tested samples; a class may have none."""
        if self._one_kind(labels):
            return None
        kinds = self.training_sets(labels)
        tests = [self.tests(labels, kind.n_train) for kind in kinds]
        counts = as_ints(labels.counts)
        if self.balanced and average == "pooled":
            shares = [test.balanced() * kind.probability for kind, test in zip(kinds, tests, strict=True)]
        else:
            parts_of = [np.array(test.expected()) for test in tests]
            tested = np.array(parts_of) * np.array([[kind.probability] for kind in kinds])
            totals = tested.sum(axis=0)
            parts = totals / self.n_test
            if average != "pooled":
                parts = np.where(totals > 0, labels.counts if average == "item" else 1, 0)
                parts = parts.astype(object) / Fraction(int(parts.sum()))
            shares = tested * (parts / np.where(totals > 0, totals, 1))
        return tuple(_per_sample(row, counts) for row in shares)


def _per_sample(shares: Iterable[Fraction], counts: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Divide the weight of every class among its samples; a class without samples has none."""
    return tuple(share / n if n else Fraction(0) for share, n in zip(shares, counts, strict=True))


def as_ints(values: Array) -> tuple[int, ...]:
    """Convert to Python integers."""
    return tuple(int(value) for value in values)
