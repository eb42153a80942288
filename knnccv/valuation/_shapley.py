"""KNN-Shapley values from neighbor lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import for_each
from .._typing import Array
from ..driver import usable_lengths
from ..neighbors import Neighbors
from ._shapley_rows import add_beyond, add_values, harmonic_sums

ROUNDING = 1e-13
STRIPES = 16
"""Sums that are made apart, so that they do not depend on the number of threads."""


class Values(NamedTuple):
    """Mean values over the tested samples, and a bound of their errors."""

    values: Array
    error_bound: float


def shapley_values(
    near: Neighbors, labels: EncodedLabels, n_neighbors: int, depth: int, ties: str, n_jobs: int | None
) -> Values:
    """Values of the samples where every one is tested on all others."""
    average_ties = ties == "random"
    n = near.n_items
    near.search_all(min(depth, near.max_depth), n_jobs=n_jobs)
    sums = _Sums(labels, n_neighbors, average_ties)

    def add(stripe: int, rows: Array) -> None:
        lists = near.search(rows, depth)
        lengths = usable_lengths(lists, near, average_ties)
        sums.add(stripe, lists.items, lists.values, lengths, labels.codes[rows], rows)

    size = near.rows_at_once(depth)
    blocks = [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
    sums.run(add, blocks, n_jobs)
    return sums.result(n)


def shapley_values_of_tests(
    near: Neighbors, labels: EncodedLabels, targets: Array, n_neighbors: int, ties: str, n_jobs: int | None
) -> Values:
    """Values of training samples, the last of `near`, where the first ones are tested."""
    n_tests, n_train = len(targets), len(labels.codes)
    depth = near.n_items - 1
    sums = _Sums(labels, n_neighbors, ties == "random")

    def add(stripe: int, rows: Array) -> None:
        lists = near.search(rows, depth)
        train = lists.items >= n_tests  # n_train in every row
        items = (lists.items[train] - n_tests).reshape(-1, n_train)
        values = lists.values[train].reshape(-1, n_train)
        lengths, nowhere = np.full(len(rows), n_train), np.full(len(rows), -1)
        sums.add(stripe, items, values, lengths, targets[rows], nowhere)

    size = near.rows_at_once(depth)
    blocks = [np.arange(start, min(start + size, n_tests)) for start in range(0, n_tests, size)]
    sums.run(add, blocks, n_jobs)
    return sums.result(n_tests)


class _Sums:
    """Sums over tested samples in stripes, each filled by one thread in a fixed order."""

    def __init__(self, labels: EncodedLabels, n_neighbors: int, average_ties: bool) -> None:
        self._labels = labels
        self._sizes = np.bincount(labels.codes, minlength=len(labels.classes))
        self._n_neighbors = n_neighbors
        self._average_ties = average_ties
        self._harmonic = harmonic_sums(len(labels.codes), n_neighbors)
        self._listed = np.zeros((0, 0))
        self._beyond = np.zeros((0, 0, 0))
        self._bounds = np.zeros(0)

    def run(self, add: Callable[[int, Array], None], blocks: list[Array], n_jobs: int | None) -> None:
        """Call ``add(stripe, rows)`` for every block."""
        n_stripes = max(min(STRIPES, len(blocks)), 1)
        self._listed = np.zeros((n_stripes, len(self._labels.codes)))
        self._beyond = np.zeros((n_stripes, 2, len(self._sizes)))
        self._bounds = np.zeros(n_stripes)

        def fill(stripe: int) -> None:
            for rows in blocks[stripe::n_stripes]:
                add(stripe, rows)

        for_each(fill, range(n_stripes), n_jobs)

    def add(
        self, stripe: int, items: Array, values: Array, lengths: Array, targets: Array, itself: Array
    ) -> None:
        """Add a block of tested samples."""
        self._bounds[stripe] += add_values(
            items, values, lengths, targets, itself, self._labels.codes, self._sizes, self._harmonic,
            self._n_neighbors, self._average_ties, self._listed[stripe], self._beyond[stripe, 0],
            self._beyond[stripe, 1],
        )  # fmt: skip

    def result(self, n_rows: int) -> Values:
        """Means over the tested samples."""
        worth = np.empty(len(self._sizes))
        add_beyond(self._beyond[:, 0].sum(axis=0), self._beyond[:, 1].sum(axis=0), worth)
        values = (self._listed.sum(axis=0) + worth[self._labels.codes]) / n_rows
        bound = float(self._bounds.sum()) / n_rows
        return Values(values, bound + ROUNDING)
