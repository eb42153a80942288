"""Tables of random runs: what the votes of the nearest training samples predict, by fold and class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...._base.parallel import for_each
from ...._base.typing import Array
from ....kernel import profile_of
from ....kernel.words import BITS, WORDS, word_rows
from ....neighbors import NeighborLists, Neighbors
from ...driver import Rows, ScoringProblem, first_depth, usable_lengths
from ._planes import Runs, unpack
from ._walks import CONFUSION, OPEN, TIED, VOTES, Plan, count_rows, room_for

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
    usual = {"vote_ties": "smallest", "loss": None}
    profile = profile_of(variant, {name: usual.get(name, value) for name, value in parameters.items()})
    if profile not in ("votes", "rank") or variant.n_nearest(**parameters) > problem.smallest_train:
        return None
    return Ballot(variant.n_nearest(**parameters), random_ties, profile == "rank", problem.loss is None)


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


@dataclass(frozen=True, eq=False)
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

    problem: ScoringProblem
    neighbors: Neighbors
    runs: Runs
    what: int
    cells: Array
    draws_ties: bool = True

    def count(self, take: Callable[[int, RunTables], Any], n_jobs: int | None = None) -> None:
        """Count all runs, in threads; ``take(block, tables)`` gets the tables of each block."""
        near, order = self.neighbors, np.argsort(self.problem.labels.codes, kind="stable")
        depth = first_depth(self.problem, near, TOLERANCE)
        lists = near.all_lists(depth, n_jobs).cut(order, depth)
        shares = np.zeros(self.runs.n_blocks)

        def one(block: int) -> None:
            tables, shares[block] = self._block(block, order, lists)
            take(block, tables)

        one(0)
        if shares[0] > FEW_OPEN and self.runs.n_blocks > 1:
            depth = min(4 * depth, near.max_depth)
            lists = near.all_lists(depth, n_jobs).cut(order, depth)
        for_each(one, range(1, self.runs.n_blocks), n_jobs)

    def _block(self, block: int, order: Array, lists: NeighborLists) -> tuple[RunTables, float]:
        """The tables of a block, and the share of the samples whose lists were too short.

        Samples of one class follow each other, so that one part of the tables after another is used.
        """
        planes, ballot, n_levels = self.runs.planes(block), ballot_of(self.problem), len(order).bit_length()
        assert ballot is not None
        n_cells, n_classes = int(self.cells.max()) + 1, len(self.problem.labels.classes)
        below = {CONFUSION: (n_classes,), VOTES: (n_classes, ballot.n_nearest + 1)}
        shape, by_votes = (n_cells, n_classes, *below.get(self.what, ())), self.what == VOTES
        size, n_known = int(np.prod(shape)), n_cells * n_classes
        votes = np.zeros((size + size // n_known, BITS), np.int32) if by_votes else None
        counters = word_rows(0 if by_votes else size * n_levels), word_rows(n_known * n_levels)
        plan = Plan(
            what=self.what,
            bits=planes.bits.reshape(-1, WORDS),
            n_digits=planes.bits.shape[1],
            folded=planes.folded,
            spare=self.runs.spare,
            cells=self.cells,
            n_cells=n_cells,
            codes=self.problem.kernel_labels().classes,
            n_classes=n_classes,
            n_nearest=ballot.n_nearest,
            draws_ties=self.draws_ties,
            draws_votes=ballot.random_ties,
            seed=(self.runs.seed + block) % 2**62,
        )
        tied, shares = [], []

        def walk(rows: Rows, final: bool) -> Array:
            left_out = np.zeros(len(rows.targets), np.int64)
            room = room_for(plan, rows.items.shape[1], rows.average_ties)
            with np.errstate(over="ignore"):  # without compilation, random numbers overflow
                count_rows(rows, final, plan, *counters, votes, room, left_out)
            is_open: Array = left_out == OPEN
            tied.append(rows.targets[left_out == TIED])
            shares.append(0.0 if final else float(is_open.mean()))
            return is_open

        deepened(walk, self.neighbors, order, lists, self.problem.ties == "random")
        runs = self.runs.rows(block)
        n_runs = runs.stop - runs.start
        unknown = unpack_table(counters[1], n_runs, shape[:2])
        if votes is not None:
            counts = votes[:size, :n_runs].T.astype(np.int64, order="C").reshape(n_runs, *shape)
            _complete_votes(counts)
        else:
            counts = unpack_table(counters[0], n_runs, shape)
        return RunTables(counts, unknown, np.sort(np.concatenate(tied))), shares[0]


def deepened(
    ask: Callable[[Rows, bool], Array],
    neighbors: Neighbors,
    rows: Array,
    lists: NeighborLists,
    average_ties: bool,
    n_jobs: int | None = 1,
) -> Array:
    """Ask about samples, again with lists of twice the depth about open ones; those that stay open.

    ``ask(rows, final)`` returns a mask of the open ones; `final` says that there are no longer lists.
    """
    while True:
        depth = lists.items.shape[1]
        final, lengths = depth >= neighbors.max_depth, usable_lengths(lists, neighbors, average_ties)
        rows = rows[ask(Rows(lists.items, lists.values, lengths, rows, average_ties), final)]
        if final or not len(rows):
            return rows
        lists = neighbors.lists(rows, min(2 * depth, neighbors.max_depth), n_jobs)


def check_lists_end_late(rows: Array, neighbors: Neighbors, n_nearest: int) -> None:
    """Raise ValueError if the lists of some rows, the longest there are, end too early."""
    if len(rows):
        msg = (
            f"give longer neighbor lists: those of {len(rows)} samples, such as sample {rows[0]}, end "
            f"before {n_nearest} training samples; they have {neighbors.max_depth} neighbors"
        )
        raise ValueError(msg)


def unpack_table(counters: Array, n_runs: int, shape: tuple[int, ...]) -> Array:
    """The numbers of vertical counters, int64 (n_runs, *shape)."""
    numbers = unpack(counters.reshape(int(np.prod(shape)), -1, WORDS))
    return numbers[:n_runs].astype(np.int64).reshape(n_runs, *shape)


def _complete_votes(counts: Array) -> None:
    """Fill in the votes that are not counted: of the first of two classes, of classes not listed."""
    n_classes = counts.shape[2]
    if n_classes == 2:
        counts[:, :, :, 0] = counts[:, :, :, 1, ::-1]
        return
    own = np.arange(n_classes)
    tested = counts[:, :, own, own].sum(axis=-1)
    counts[..., 0] = tested[..., None] - counts[..., 1:].sum(axis=-1)
