"""Tables of random runs: what the votes of the nearest training samples predict, by fold and class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ..driver import Rows, ScoringProblem, all_lists, first_depth, search_lists, usable_lengths
from ..kernel import compile_driver, profile_of
from ..kernel.words import BITS, WORDS, spread_bits, word_rows
from ..neighbors import NeighborLists, Neighbors
from ._planes import Planes, Runs
from ._walks import CONFUSION, COUNT_ROWS, OPEN, TIED, VOTES, Plan, count_rows

TOLERANCE = 1e-12
"""The share of runs for which the first lists may be too short, in designs of one size."""
FEW_OPEN = 0.01
"""The share of samples whose lists may be too short in some of 512 runs before all lists are deepened."""


class Ballot(NamedTuple):
    """A rule by which the K nearest training samples vote, all alike.

    ``random_ties``: a tied vote is drawn; otherwise the smallest label wins. ``any_of``: no vote, a sample
    is correct if one of the K has its class. ``plain``: the score is the share of correct predictions.
    """

    n_nearest: int
    random_ties: bool
    any_of: bool
    plain: bool


def ballot_of(problem: ScoringProblem) -> Ballot | None:
    """How the rule of a problem votes, whatever its losses; None if it does not vote."""
    parameters, variant = problem.parameters, problem.variant
    random_ties = parameters.get("vote_ties") == "random"
    has_loss = parameters.get("loss") is not None
    usual = {"vote_ties": "smallest", "loss": None}
    profile = profile_of(variant, {name: usual.get(name, value) for name, value in parameters.items()})
    if profile not in ("votes", "rank") or variant.n_nearest(**parameters) > problem.smallest_train:
        return None
    return Ballot(variant.n_nearest(**parameters), random_ties, profile == "rank", not has_loss)


@dataclass(frozen=True, eq=False)
class RunTables:
    """What a block of runs counted, by run, cell (usually the fold) and true class.

    Attributes
    ----------
    counts : int64 ndarray of shape (n_runs, n_cells, n_classes, ...)
        Correct predictions; or with predicted classes (n_classes,) below; or, by class and number of votes,
        (n_classes, K + 1).
    unknown : int64 ndarray of shape (n_runs, n_cells, n_classes)
        Predictions that the neighbor lists leave open.
    tied : int64 ndarray
        Samples that are not counted, as it matters in which order tied neighbors are.
    """

    counts: Array
    unknown: Array
    tied: Array


class RunCounter:
    """Counts the votes of all samples in blocks of runs.

    Parameters
    ----------
    what : {RIGHT, ANY, CONFUSION, VOTES}
    cells : int64 ndarray of shape (n_folds,)
        The part of the table in which each fold is counted.
    draws_ties : bool
        Whether the order of tied samples is drawn, if the problem averages over it; otherwise samples for
        which it matters are left out of the tables.
    """

    def __init__(
        self,
        problem: ScoringProblem,
        neighbors: Neighbors,
        runs: Runs,
        what: int,
        cells: Array,
        draws_ties: bool = True,
    ) -> None:
        ballot = ballot_of(problem)
        assert ballot is not None
        self.problem, self.neighbors, self.runs, self.what = problem, neighbors, runs, what
        self.ballot, self.cells, self.draws_ties = ballot, np.asarray(cells, np.int64), draws_ties
        self.n_cells, self.n_classes = int(cells.max()) + 1, len(problem.labels.classes)
        self.n_levels = neighbors.n_items.bit_length()
        self.order = np.argsort(problem.labels.codes, kind="stable")  # one part of the tables after another
        compile_driver(count_rows, COUNT_ROWS)

    def count(self, take: Callable[[int, RunTables], Any], n_jobs: int | None = None) -> None:
        """Count all runs, in threads; ``take(block, tables)`` gets the tables of each block."""
        near = self.neighbors
        depth = first_depth(self.problem, near, TOLERANCE)
        lists = all_lists(near, depth, n_jobs).cut(self.order, depth)
        shares = np.zeros(self.runs.n_blocks)

        def one(block: int) -> None:
            tables, shares[block] = self._block(block, lists)
            take(block, tables)

        one(0)
        if shares[0] > FEW_OPEN and self.runs.n_blocks > 1:
            depth = min(4 * depth, near.max_depth)
            lists = all_lists(near, depth, n_jobs).cut(self.order, depth)
        for_each(one, range(1, self.runs.n_blocks), n_jobs)

    def _block(self, block: int, lists: NeighborLists) -> tuple[RunTables, float]:
        """The tables of a block, and the share of the samples whose lists were too short."""
        near, planes, n_classes = self.neighbors, self.runs.planes(block), self.n_classes
        below = {CONFUSION: (n_classes,), VOTES: (n_classes, self.ballot.n_nearest + 1)}
        shape, by_votes = (self.n_cells, n_classes, *below.get(self.what, ())), self.what == VOTES
        sizes = [0 if by_votes else int(np.prod(shape)), self.n_cells * n_classes]
        table = np.zeros(((sizes[1] + 1) * int(np.prod(shape[2:])) if by_votes else 0, BITS), np.int32)
        counters = [*(word_rows(size * self.n_levels) for size in sizes), table]
        rows, tied, share, depth = self.order, [], 0.0, lists.items.shape[1]
        while len(rows):
            why = self._walk(rows, lists, planes, block, counters)
            tied.append(rows[why == TIED])
            if depth >= near.max_depth:
                break
            rows = rows[why == OPEN]
            share = share or len(rows) / near.n_items
            depth = min(2 * depth, near.max_depth)
            lists = search_lists(near, rows, depth, 1)
        runs = self.runs.rows(block)
        counts, unknown = (
            spread(each, s, self.n_levels)[: runs.stop - runs.start]
            for each, s in zip(counters, (shape if not by_votes else (0,), shape[:2]), strict=False)
        )
        if by_votes:
            used = table[: int(np.prod(shape)), : runs.stop - runs.start]
            counts = np.moveaxis(used.astype(np.int64).reshape(*shape, -1), -1, 0)
            _complete_votes(counts)
        return RunTables(counts, unknown, np.sort(np.concatenate(tied))), share

    def _walk(
        self, rows: Array, lists: NeighborLists, planes: Planes, block: int, counters: list[Array]
    ) -> Array:
        """Count the votes of some samples; return why they are left out, or 0."""
        average = self.problem.ties == "random"
        plan = Plan(
            planes.bits.reshape(-1, WORDS), planes.bits.shape[1], planes.folded, self.runs.spare,
            self.cells, self.n_cells, self.problem.labels.codes, self.n_classes, self.ballot.n_nearest,
            self.draws_ties, self.ballot.random_ties, (self.runs.seed + block) % 2**62,
        )  # fmt: skip
        lengths = usable_lengths(lists, self.neighbors, average)
        left_out = np.zeros(len(rows), np.int64)
        block_of = Rows(lists.items, lists.values, lengths, rows, average)
        final = bool(lists.items.shape[1] >= self.neighbors.max_depth)
        with np.errstate(over="ignore"):  # without compilation, random numbers overflow
            count_rows(block_of, self.what, final, plan, *counters, left_out)
        return left_out


def spread(counters: Array, shape: tuple[int, ...], n_levels: int) -> Array:
    """The numbers of vertical counters, int64 (512, ...)."""
    out = np.zeros((int(np.prod(shape)), BITS), np.int64)
    for at, numbers in enumerate(out):
        spread_bits(counters, at * n_levels, n_levels, numbers)
    return np.ascontiguousarray(out.T).reshape(BITS, *shape)


def _complete_votes(counts: Array) -> None:
    """Fill in the votes that are not counted: of the first of two classes, of classes not listed."""
    n_classes = counts.shape[2]
    if n_classes == 2:
        counts[:, :, :, 0] = counts[:, :, :, 1, ::-1]
        return
    own = np.arange(n_classes)
    tested = counts[:, :, own, own].sum(axis=-1)
    counts[..., 0] = tested[..., None] - counts[..., 1:].sum(axis=-1)
