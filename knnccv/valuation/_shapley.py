"""KNN-Shapley values from neighbor lists: a compiled pass over blocks of tested samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import check_wanted, for_each
from .._typing import Array
from ..driver import usable_lengths
from ..kernel import inner, jit
from ..neighbors import Neighbors


@jit
def step(position, n_neighbors):
    """1 / max(position, K): what a right sample at this position is worth, less all that is behind it."""
    return 1.0 / max(position, n_neighbors)


@inner
def group_value(right, n_right, size, mean, last):
    """Expected value of one of `size` samples in random order, less all behind the group.

    Parameters
    ----------
    right : 0 or 1
        Whether the sample has the tested class; `n_right` of the group have.
    mean, last : float
        The mean of `step` over the group's positions, and its value at the last one.

    Notes
    -----
    A sample at position t is worth ``right * step(t)`` less mu * (step(t) - last), where mu is the share of
    right ones among the others of the group.
    """
    if size == 1:
        return right * last
    share = (n_right - right) / (size - 1)
    return mean * (right - share) + share * last


class Block(NamedTuple):
    """Tested samples and their neighbor lists, the nearest first."""

    items: Any
    values: Any
    lengths: Any
    targets: Any  # classes of the tested samples
    itself: Any  # the tested one among the training samples, not in its own training set; or -1


class Training(NamedTuple):
    """The training samples and the rule."""

    codes: Any  # classes (n_items,)
    class_sizes: Any
    harmonic: Any  # sums of `step` over the first positions (n_items + 1,)
    n_neighbors: Any
    average_ties: Any


class Sums(NamedTuple):
    """Sums over the tested samples."""

    listed: Any  # values (n_items,), less those of an unlisted one of the same class
    own_beyond: Any  # by the class of the tested sample: values of an unlisted sample of this class
    other_beyond: Any  # and of another one


@jit
def add_values(block, training, sums):
    """Add the values of all training samples for each tested sample, and return the sum of the bounds.

    The samples beyond a list count as one group in random order, and the values of those are added by
    class, so that the pass takes O(depth) for each tested sample.
    """
    items, values, itself, listed = block.items, block.values, block.itself, sums.listed
    codes, harmonic, n_neighbors = training.codes, training.harmonic, training.n_neighbors
    total_bound = 0.0
    for r in range(len(items)):
        c, length = block.targets[r], block.lengths[r]
        n, n_own = len(codes), training.class_sizes[c]
        if itself[r] >= 0:
            n -= 1
            n_own -= codes[itself[r]] == c
        left = n_own
        for i in range(length):
            left -= codes[items[r, i]] == c
        beyond = n - length
        behind, own, other = 0.0, 0.0, 0.0
        if beyond > 0:
            here, last = step(length, n_neighbors), step(n, n_neighbors)
            mean = (harmonic[n] - harmonic[length]) / beyond
            if left > 0:
                own = group_value(1, left, beyond, mean, last)
            if left < beyond:
                other = group_value(0, left, beyond, mean, last)
            behind = left / beyond * (here - last)
            if 0 < left < beyond:
                most = here - step(length + left, n_neighbors)
                least = step(n - left, n_neighbors) - last
                of_listed = max(most - behind, behind - least)
                nearest = step(length + 1, n_neighbors)
                farthest = nearest - step(length + 1 + left, n_neighbors)
                total_bound += max(of_listed, nearest - own, own - last, -other, other + farthest)
        sums.own_beyond[c] += own
        sums.other_beyond[c] += other
        if itself[r] >= 0:
            listed[itself[r]] -= own if codes[itself[r]] == c else other
        end = length
        while end > 0:
            start = end - 1
            n_right = 1 if codes[items[r, start]] == c else 0
            while training.average_ties and start > 0 and values[r, start - 1] == values[r, start]:
                start -= 1
                n_right += codes[items[r, start]] == c
            size, last = end - start, step(end, n_neighbors)
            mean = (harmonic[end] - harmonic[start]) / size
            for i in range(start, end):
                j = items[r, i]
                if codes[j] == c:
                    listed[j] += group_value(1, n_right, size, mean, last) - behind - own
                else:
                    listed[j] += group_value(0, n_right, size, mean, last) - behind - other
            behind += n_right / size * (step(start, n_neighbors) - last)
            end = start
    return total_bound


ROUNDING = 1e-13
STRIPES = 16
"""Sums that are made apart, so that they do not depend on the number of threads."""


def shapley_values(
    near: Neighbors,
    labels: EncodedLabels,
    targets: Array | None,
    n_neighbors: int,
    depth: int,
    ties: str,
    n_jobs: int | None,
) -> tuple[Array, float]:
    """Mean values of the training samples over the tested ones, and a bound of their errors.

    With `targets` (n_tests,), the classes of tested samples, these are the first of `near`, and the others
    train. Without, every sample is tested on all others.
    """
    average_ties = ties == "random"
    codes, _, counts = labels
    n_train, n_rows = len(codes), len(codes) if targets is None else len(targets)
    harmonic = np.append(0.0, np.cumsum(1.0 / np.maximum(np.arange(1, n_train + 1), n_neighbors)))
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
    # A sample in no list is worth the own sum of its class, and the other sums of all other classes.
    own, other = beyond[:, 0].sum(axis=0), beyond[:, 1].sum(axis=0)
    before, after = np.append(0.0, np.cumsum(other[:-1])), np.append(np.cumsum(other[:0:-1])[::-1], 0.0)
    worth = own + before + after
    means = (listed.sum(axis=0) + worth[codes]) / n_rows
    return means, float(bounds.sum()) / n_rows + ROUNDING
