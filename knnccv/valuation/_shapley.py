"""KNN-Shapley values from neighbor lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import check_wanted, for_each
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
    near.search_all(min(depth, near.max_depth), n_jobs=n_jobs)
    sums = _Sums(near, near.n_items, depth, labels, n_neighbors, average_ties)

    def add(stripe: int, rows: Array) -> None:
        lists = near.search(rows, depth)
        lengths = usable_lengths(lists, near, average_ties)
        sums.add(stripe, lists.items, lists.values, lengths, labels.codes[rows], rows)

    return sums.over_rows(add, n_jobs)


def shapley_values_of_tests(
    near: Neighbors, labels: EncodedLabels, targets: Array, n_neighbors: int, ties: str, n_jobs: int | None
) -> Values:
    """Values of training samples, the last of `near`, where the first ones are tested."""
    n_tests, n_train = len(targets), len(labels.codes)
    depth = near.n_items - 1
    sums = _Sums(near, n_tests, depth, labels, n_neighbors, ties == "random")

    def add(stripe: int, rows: Array) -> None:
        lists = near.search(rows, depth)
        train = lists.items >= n_tests  # n_train in every row
        items = (lists.items[train] - n_tests).reshape(-1, n_train)
        values = lists.values[train].reshape(-1, n_train)
        lengths, nowhere = np.full(len(rows), n_train), np.full(len(rows), -1)
        sums.add(stripe, items, values, lengths, targets[rows], nowhere)

    return sums.over_rows(add, n_jobs)


class _Sums:
    """Sums over tested samples in stripes, each filled by one thread in a fixed order."""

    def __init__(
        self,
        near: Neighbors,
        n_rows: int,
        depth: int,
        labels: EncodedLabels,
        n_neighbors: int,
        average_ties: bool,
    ) -> None:
        size = near.rows_at_once(depth)
        self._blocks = [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
        n_stripes = min(STRIPES, len(self._blocks))
        self._n_rows = n_rows
        self._labels = labels
        self._n_neighbors = n_neighbors
        self._average_ties = average_ties
        self._harmonic = harmonic_sums(len(labels.codes), n_neighbors)
        self._listed = np.zeros((n_stripes, len(labels.codes)))
        self._beyond = np.zeros((n_stripes, 2, len(labels.classes)))
        self._bounds = np.zeros(n_stripes)

    def over_rows(self, add: Callable[[int, Array], None], n_jobs: int | None) -> Values:
        """Call ``add(stripe, rows)`` for every block, and take the means over the tested samples."""
        n_stripes = len(self._bounds)

        def fill(stripe: int) -> None:
            for rows in self._blocks[stripe::n_stripes]:
                check_wanted()
                add(stripe, rows)

        for_each(fill, range(n_stripes), n_jobs)
        worth = np.empty(len(self._labels.classes))
        add_beyond(self._beyond[:, 0].sum(axis=0), self._beyond[:, 1].sum(axis=0), worth)
        values = (self._listed.sum(axis=0) + worth[self._labels.codes]) / self._n_rows
        return Values(values, float(self._bounds.sum()) / self._n_rows + ROUNDING)

    def add(
        self, stripe: int, items: Array, values: Array, lengths: Array, targets: Array, itself: Array
    ) -> None:
        """Add a block of tested samples."""
        codes, _, counts = self._labels
        own_beyond, other_beyond = self._beyond[stripe]
        self._bounds[stripe] += add_values(
            items, values, lengths, targets, itself, codes, counts, self._harmonic, self._n_neighbors,
            self._average_ties, self._listed[stripe], own_beyond, other_beyond,
        )  # fmt: skip
