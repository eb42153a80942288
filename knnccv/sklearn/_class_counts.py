"""Splits of all samples, given the numbers of tested samples of every class: for means over the classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

from .._labels import EncodedLabels, labels_of
from .._typing import Array
from ..designs import Design, TrainingSets
from ._designs import _SplitterDesign

MAX_COUNTS = 200
"""The largest number of different class counts of test sets that are evaluated one by one."""


@dataclass(frozen=True, repr=False)
class ByClassCounts(_SplitterDesign):
    """The splits of another design, whose score is the mean of the scores of the classes that are tested.

    Given the numbers of tested samples of every class, which are hypergeometric, training sets are those of
    a stratified design, and the mean over the tested classes has a fixed denominator.

    Attributes
    ----------
    splitter : str
        Text for messages.
    design : Design
        A design that is not stratified and tests all samples outside the training set.
    balanced : bool
        True: the score is a mean over classes.
    """

    splitter: str
    design: Design
    balanced: bool = True

    def training_sets(self, labels: EncodedLabels) -> tuple[TrainingSets, ...]:
        """Return one kind for each combination of class counts."""
        counts = tuple(int(count) for count in labels.counts)
        shares: dict[tuple[int, ...], Fraction] = {}
        for kind in self.design.training_sets(labels):
            number = kind.number
            for n_train in _compositions(sum(kind.n_train), counts):
                ways = math.prod(math.comb(n, k) for n, k in zip(counts, n_train, strict=True))
                share = kind.probability * Fraction(ways, number)
                shares[n_train] = shares.get(n_train, Fraction(0)) + share
        return tuple(
            TrainingSets(share, n_train, counts, stratified=True) for n_train, share in shares.items()
        )

    def item_weights(self, labels: EncodedLabels, average: Any) -> tuple[tuple[Fraction, ...], ...] | None:
        """Return the weights of the mean over the tested classes of each split."""
        if average != "pooled":
            return None
        rows = []
        for kind in self.training_sets(labels):
            tested = [count > n for count, n in zip(kind.counts, kind.n_train, strict=True)]
            each = kind.probability / sum(tested)
            rows.append(
                tuple(
                    each / count if is_tested else Fraction(0)
                    for count, is_tested in zip(kind.counts, tested, strict=True)
                )
            )
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
    """The number of different class counts of the training sets of a design that is not stratified."""
    total = 0
    for kind in design.training_sets(labels):
        size = sum(kind.n_train)
        ways = [1] + [0] * size  # by the number of training samples
        for count in labels.counts.tolist():
            sums = list(accumulate(ways))
            ways = sums[: count + 1] + [
                more - less for more, less in zip(sums[count + 1 :], sums, strict=False)
            ]
        total += ways[size]
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
