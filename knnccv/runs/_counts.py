"""Tables of random runs: what the votes of the nearest training samples predict, by fold and class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._parallel import for_each, stop_flag
from .._typing import Array
from ..driver import Rows, ScoringProblem, all_lists, first_depth, search_lists, usable_lengths
from ..kernel import compile_driver, profile_of
from ..kernel.words import BITS, WORDS, spread_bits, word_rows
from ..neighbors import NeighborLists, Neighbors
from ._planes import Planes, Runs
from ._walks import ANY, CONFUSION, COUNT_ROWS, RIGHT, VOTES, Plan, count_rows

TOLERANCE = 1e-12
"""The share of runs for which the first lists may be too short, in designs of one size."""
FEW_OPEN = 0.01
"""The share of samples whose lists may be too short in some of 512 runs before all lists are deepened."""


class Ballot(NamedTuple):
    """A rule by which the K nearest training samples vote, all alike.

    ``random_ties``: a tied vote is drawn; otherwise the smallest label wins. ``any_of``: no vote, a sample is
    correct if one of the K has its class.
    """

    n_nearest: int
    random_ties: bool
    any_of: bool


def ballot_of(problem: ScoringProblem) -> Ballot | None:
    """How the rule of a problem votes, whatever its losses; None if it does not vote."""
    parameters = dict(problem.parameters)
    random_ties = parameters.get("vote_ties") == "random"
    plain = {**parameters, **({"vote_ties": "smallest"} if random_ties else {})}
    profile = profile_of(problem.variant, {**plain, **({"loss": None} if "loss" in plain else {})})
    if profile not in ("votes", "rank"):
        return None
    return Ballot(problem.variant.n_nearest(**parameters), random_ties, profile == "rank")


@dataclass(frozen=True)
class RunTables:
    """What a block of runs counted, by run, cell (usually the fold) and true class.

    Attributes
    ----------
    counts : int64 ndarray of shape (n_runs, n_cells, n_classes, ...)
        Correct predictions; or with predicted classes (n_classes,) below; or, by class and number of votes,
        (n_classes, K + 1).
    unknown : int64 ndarray of shape (n_runs, n_cells, n_classes)
        Predictions that the neighbor lists leave open.
    """

    counts: Array
    unknown: Array


def count_runs(
    problem: ScoringProblem,
    neighbors: Neighbors,
    runs: Runs,
    what: int,
    cells: Array,
    take: Callable[[int, RunTables], Any],
    n_jobs: int | None = None,
    rows: Array | None = None,
) -> None:
    """Count the runs block by block, in threads; ``take(block, tables)`` gets the tables of each.

    Parameters
    ----------
    what : {RIGHT, ANY, CONFUSION, VOTES}
    cells : int64 ndarray of shape (n_folds,)
        The part of the table in which each fold is counted.
    rows : int64 ndarray, optional
        The tested samples to count, ascending; default: all.
    """
    ballot = ballot_of(problem)
    assert ballot is not None
    compile_driver(count_rows, COUNT_ROWS)
    rows = np.arange(neighbors.n_items) if rows is None else rows
    n_cells, n_classes = int(cells.max()) + 1, len(problem.labels.classes)
    below = {CONFUSION: (n_classes,), VOTES: (n_classes, ballot.n_nearest + 1)}.get(what, ())
    shape = (n_cells, n_classes, *below)
    n_levels = int(neighbors.n_items).bit_length()
    lists = all_lists(neighbors, first_depth(problem, neighbors, TOLERANCE), n_jobs)

    def walk(some: Array, found: NeighborLists, planes: Planes, block: int, counters: Any) -> Array:
        n_digits = planes.bits.shape[1]
        plan = Plan(
            planes.bits.reshape(-1, WORDS), n_digits, planes.folded, runs.spare, cells, n_cells,
            problem.labels.codes, n_classes, ballot.n_nearest, ballot.random_ties, block,
        )  # fmt: skip
        average = problem.ties == "random"
        lengths = usable_lengths(found, neighbors, average)
        is_open = np.zeros(len(some), bool)
        final = found.items.shape[1] >= neighbors.max_depth
        with np.errstate(over="ignore"):
            count_rows(
                Rows(found.items, found.values, lengths, some, average), what, final, plan, *counters,
                n_levels, is_open,
            )  # fmt: skip
        return some[is_open & (not final)]

    def count(block: int) -> float:
        planes, size = runs.blocks[block], int(np.prod(shape))
        counters = word_rows(size * n_levels), word_rows(n_cells * n_classes * n_levels)
        depth = lists.items.shape[1]
        left = walk(rows, lists.cut(rows, depth), planes, block, counters)
        share = len(left) / len(rows)
        while len(left):
            depth = min(2 * depth, neighbors.max_depth)
            left = walk(left, search_lists(neighbors, left, depth, 1), planes, block, counters)
        n_runs = min(BITS, runs.n_runs - block * BITS)
        tables = RunTables(
            spread(counters[0], shape, n_levels)[:n_runs],
            spread(counters[1], shape[:2], n_levels)[:n_runs],
        )
        if what == VOTES:
            complete_votes(tables.counts)
        take(block, tables)
        return share

    if count(0) > FEW_OPEN and len(runs.blocks) > 1:
        lists = all_lists(neighbors, min(4 * lists.items.shape[1], neighbors.max_depth), n_jobs)
    for_each(count, range(1, len(runs.blocks)), n_jobs)


def complete_votes(counts: Array) -> None:
    """Fill in the votes that the walk does not count: of the first of two classes, of classes not listed."""
    n_classes = counts.shape[2]
    if n_classes == 2:
        counts[:, :, :, 0] = counts[:, :, :, 1, ::-1]
        return
    own = np.arange(n_classes)
    tested = counts[:, :, own, own].sum(axis=-1)
    counts[..., 0] = tested[..., None] - counts[..., 1:].sum(axis=-1)


def spread(counters: Array, shape: tuple[int, ...], n_levels: int) -> Array:
    """The numbers of vertical counters, int64 (512, ...)."""
    out = np.zeros((int(np.prod(shape)), BITS), np.int64)
    for at, numbers in enumerate(out):
        spread_bits(counters, at * n_levels, n_levels, numbers)
    return np.ascontiguousarray(out.T).reshape(BITS, *shape)
