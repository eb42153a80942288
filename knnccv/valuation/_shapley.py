"""KNN-Shapley values from neighbor lists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import check_wanted, for_each
from .._typing import Array
from ..driver import usable_lengths
from ..neighbors import Neighbors
from ._shapley_rows import Block, Sums, Training, add_beyond, add_values, fill_harmonic

ROUNDING = 1e-13
STRIPES = 16
"""Sums that are made apart, so that they do not depend on the number of threads."""


class Values(NamedTuple):
    """Mean values over the tested samples, and a bound of their errors."""

    values: Array
    error_bound: float


def shapley_values(
    near: Neighbors,
    labels: EncodedLabels,
    targets: Array | None,
    n_neighbors: int,
    depth: int,
    ties: str,
    n_jobs: int | None,
) -> Values:
    """Values of the training samples.

    With `targets` (n_tests,), the classes of tested samples, these are the first of `near`, and the others
    train. Without, every sample is tested on all others.
    """
    average_ties = ties == "random"
    codes, _, counts = labels
    n_train, n_rows = len(codes), len(codes) if targets is None else len(targets)
    harmonic = np.empty(n_train + 1)
    fill_harmonic(harmonic, n_neighbors)
    training = Training(codes, counts, harmonic, n_neighbors, average_ties)
    if targets is None:
        near.search_all(depth, n_jobs=n_jobs)
    size = near.rows_at_once(depth)
    blocks = [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    n_stripes = min(STRIPES, len(blocks))
    listed, beyond = np.zeros((n_stripes, n_train)), np.zeros((n_stripes, 2, len(counts)))
    bounds = np.zeros(n_stripes)

    def block_of(rows: Array) -> Block:
        lists = near.search(rows, depth)
        if targets is None:
            lengths = usable_lengths(lists, near, average_ties)
            return Block(lists.items, lists.values, lengths, codes[rows], rows)
        train = lists.items >= n_rows  # n_train in every row
        items = (lists.items[train] - n_rows).reshape(-1, n_train)
        values = lists.values[train].reshape(-1, n_train)
        return Block(items, values, np.full(len(rows), n_train), targets[rows], np.full(len(rows), -1))

    def fill(stripe: int) -> None:
        sums = Sums(listed[stripe], beyond[stripe, 0], beyond[stripe, 1])
        for rows in blocks[stripe::n_stripes]:
            check_wanted()
            bounds[stripe] += add_values(block_of(rows), training, sums)

    for_each(fill, range(n_stripes), n_jobs)
    worth = np.empty(len(counts))
    add_beyond(beyond[:, 0].sum(axis=0), beyond[:, 1].sum(axis=0), worth)
    means = (listed.sum(axis=0) + worth[codes]) / n_rows
    return Values(means, float(bounds.sum()) / n_rows + ROUNDING)
