"""Scores of all samples if all are the training set: apparent scores, and those without information."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..driver import Block, ScoringProblem, known_set_part
from ..kernel import Labels
from ..neighbors import NeighborLists, Neighbors
from ._out_of_bag import deepen


class Resubstitution(NamedTuple):
    """Scores of the samples on all samples.

    ``scores`` (n_items,) with their own labels; ``by_label`` (n_labels, n_items) with each class as the
    label, or with the mean target; ``unknown`` (n_items,) 1.0 where the lists are too short, else 0.0.
    """

    scores: Array
    by_label: Array
    unknown: Array


def resubstitution(
    problem: ScoringProblem, near: Neighbors, weights: Array, n_jobs: int | None
) -> Resubstitution:
    """Score every sample with the rule's own kernel; `weights` (n_items,) are those of the mean target.

    The sample is its own nearest neighbor, at distance 0.
    """
    n_items, average_ties = near.n_items, problem.ties == "random"
    codes, values = problem.kernel_labels()
    n_labels = len(problem.labels.classes)
    pseudo = np.concatenate([codes, np.arange(n_labels)])
    if problem.variant.target == "values":
        values = np.concatenate([values, weights[None] @ values])
    labels = Labels(pseudo, values)
    part = known_set_part(problem, n_items)
    n_nearest = problem.variant.n_nearest(**problem.parameters)
    found = np.empty((1 + n_labels, n_items))
    unknown = np.zeros(n_items)

    def at_depth(rows: Array, depth: int) -> Callable[[Array], None]:  # noqa: ARG001
        def fill(block: Array) -> None:
            lists = near.search(block, depth)
            items, ranks, lengths = _with_itself(lists, near, block)
            closed = lengths + 0
            if average_ties or not near.ordered_by_index:
                open_ends = np.where(lists.may_tie_beyond, _length_of_last(ranks, lengths), 0)
                closed = lengths - open_ends
            unknown[block] = closed < min(n_nearest, n_items)
            whole = NeighborLists(items, ranks, closed, lists.may_tie_beyond)
            for number in range(1 + n_labels):
                targets = block if number == 0 else np.full(len(block), n_items + number - 1)
                found[number, block] = part.scores(Block(whole, closed, targets, labels, average_ties))

        return fill

    alike, _ = deepen(problem, near, n_nearest, at_depth, lambda rows: unknown[rows] > 0, n_jobs)
    found = found[:, alike]
    return Resubstitution(found[0], found[1:], unknown[alike])


def _with_itself(lists: NeighborLists, near: Neighbors, block: Array) -> tuple[Array, Array, Array]:
    """Lists with the samples themselves: items, values that order them, lengths."""
    n_rows, depth = lists.items.shape
    listed = np.arange(depth) < lists.lengths[:, None]
    zero = listed & near.measured & (near.to_distance(lists.values) == 0)
    zero &= zero[:, :1]
    before = (zero & (lists.items < block[:, None])).sum(axis=1)  # equal samples, in the order of the data
    items = np.empty((n_rows, depth + 1), np.int32)
    values = np.empty((n_rows, depth + 1))
    position = np.arange(depth) + (np.arange(depth) >= before[:, None])
    np.put_along_axis(items, position, lists.items, axis=1)
    at = np.arange(n_rows)
    items[at, before] = block
    np.put_along_axis(values, position, lists.values, axis=1)
    itself = np.where(zero[:, 0], lists.values[:, 0], -np.inf)
    values[at, before] = itself
    return items, values, lists.lengths + 1


def _length_of_last(values: Array, lengths: Array) -> Array:
    """The size of the last tied group of every row."""
    at = np.arange(len(values))
    last = values[at, lengths - 1]
    inside = np.arange(values.shape[1]) < lengths[:, None]
    sizes: Array = ((values == last[:, None]) & inside).sum(axis=1)
    return sizes
