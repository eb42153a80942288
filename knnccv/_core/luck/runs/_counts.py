# mypy: allow-untyped-defs
"""Votes of the nearest training samples in 512 runs at once, from bit planes, and their tables.

For a tested sample, a walk along its neighbor list finds in which runs each neighbor trains: the bits in
which the codes of both differ. Votes are counted in vertical counters, and a run is done when it has K of
them. Then the class with the most votes is found by comparing counters, and the bits of the runs in which
it wins are added to the vertical counters of the table: one addition counts for 512 runs. About 2 ns a
sample and run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...._base.parallel import for_each
from ...._base.typing import Array
from ....kernel import inner, jit, profile_of
from ....kernel.sampling import fixed_tail, random_below, scramble
from ....kernel.words import (
    BITS,
    WORDS,
    add_bits,
    all_bits,
    any_bit,
    both,
    but_not,
    differ,
    either,
    load,
    no_bits,
    spread_bits,
    store,
    word_rows,
)
from ....neighbors import NeighborLists, Neighbors
from ...driver import Rows, ScoringProblem, fill_group_ends, first_depth, usable_lengths
from ._planes import Runs, equals, unpack

RIGHT, ANY, CONFUSION, VOTES = 0, 1, 2, 3
"""What is counted by cell and true class: correct votes; a correct neighbor; predictions by class; numbers
of votes by class."""
TESTED = np.int64(1)
OPEN, TIED = 1, 2
"""Why a row is left out: its list is too short, or it matters in which order tied samples are."""


class Plan(NamedTuple):
    """What runs draw, how they vote, and ``what`` is counted.

    ``bits`` (n_items * n_digits, 8) are the digits of the codes. ``cells`` (n_folds,) say in which part of
    the table a fold is counted. A code of `spare` is never tested. ``draws_ties``: which of tied samples
    vote, where it matters, is drawn; otherwise such a row is left out. ``draws_votes``: tied votes are
    drawn.
    """

    what: int
    bits: Array
    n_digits: int
    folded: bool
    spare: int
    cells: Array
    n_cells: int
    codes: Array
    n_classes: int
    n_nearest: int
    draws_ties: bool
    draws_votes: bool
    seed: int


class Room(NamedTuple):
    """What a walk needs besides: rows of words, then integers.

    Vertical counters of the training samples and of the ``votes`` of every class that has a slot, the most
    votes, and the runs in which a class ``wins``; ``masks`` are the tested runs by cell, ``training`` the
    runs in which tied samples train. ``seen`` are the classes with a slot, ascending; ``slots``
    (n_classes,) is -1 for the others. ``places`` and ``numbers`` are (512,).
    """

    total: Array
    most: Array
    votes: Array
    wins: Array
    masks: Array
    training: Array
    slots: Array
    seen: Array
    group_end: Array
    places: Array
    numbers: Array
    state: Array


def room_for(plan: Plan, depth: int, average_ties: bool) -> Room:
    """Room for walks along lists of a depth."""
    n_digits, n_slots = plan.n_nearest.bit_length(), min(plan.n_classes, depth)
    sizes = n_digits, n_digits, n_slots * n_digits, n_slots + 1, plan.n_cells, 1 + depth * average_ties
    integers = np.full(plan.n_classes, -1), np.empty(n_slots, np.int64), np.arange(1, depth + 1)
    numbers = np.empty(BITS, np.int64), np.empty(BITS, np.int64), np.empty(1, np.uint64)
    return Room._make([*(word_rows(size) for size in sizes), *integers, *numbers])


@inner
def trains(plan, own, other):
    """The bits of the runs in which the other sample trains where the sample `own` is tested."""
    n_digits = plan.n_digits
    found = no_bits()
    for d in range(n_digits):
        digit = load(plan.bits, other * n_digits + d)
        if plan.folded:
            digit = differ(digit, load(plan.bits, own * n_digits + d))
        found = either(found, digit)
    return found if plan.folded else but_not(all_bits(), found)


@inner
def is_tested(plan, own, masks):
    """The bits of the runs that test a sample; those of every cell of the table fill the rows `masks`."""
    n_digits, n_cells = plan.n_digits, plan.n_cells
    first = own * n_digits
    if not plan.folded:
        tested = equals(plan.bits, first, n_digits, TESTED)
    else:
        tested = all_bits()
        if plan.spare >= 0:
            tested = but_not(tested, equals(plan.bits, first, n_digits, plan.spare))
    store(masks, 0, tested)
    if n_cells > 1:
        for cell in range(n_cells):
            store(masks, cell, no_bits())
        for fold in range(len(plan.cells)):
            cell = plan.cells[fold]
            store(masks, cell, either(load(masks, cell), equals(plan.bits, first, n_digits, fold)))
    return tested


@inner
def bit_at(rows, r, run):
    """One bit of a row, 0 or 1."""
    return np.int64((rows[r, run >> 6] >> np.uint64(run & 63)) & np.uint64(1))


@inner
def crossing_runs(total, copy, training, n_tied, n_total, left):
    """The bits of the runs in which it matters which of some tied samples vote."""
    crossing, still = no_bits(), left
    for d in range(n_total):
        store(copy, d, load(total, d))
    for i in range(n_tied):
        active = load(training, i)
        crossing = either(crossing, but_not(active, still))
        still = but_not(still, add_bits(copy, 0, n_total, both(active, still)))
    return crossing


@inner
def draw_tied(codes, items, total, n_total, training, votes, slots, state):
    """Draw which of the tied items vote, in the runs of the row after theirs in `training`, one by one."""
    n_tied, n_digits = len(items), len(total)
    for run in range(BITS):
        if not bit_at(training, n_tied, run):
            continue
        left, missing = 0, 1 << n_total
        for d in range(n_total):
            missing -= bit_at(total, d, run) << d
        for i in range(n_tied):
            left += bit_at(training, i, run)
        for i in range(n_tied):
            if not bit_at(training, i, run):
                continue
            if random_below(state, left) < missing:
                missing -= 1
                carry, level = np.uint64(1) << np.uint64(run & 63), slots[codes[items[i]]] * n_digits
                while carry:
                    word = votes[level, run >> 6]
                    votes[level, run >> 6] = word ^ carry
                    carry &= word
                    level += 1
            left -= 1


@inner
def find_winners(votes, most, slots, seen, n_seen, wins):
    """Fill in the runs that each class wins, of tied classes the smallest; return the runs with ties."""
    tied, n_digits = no_bits(), len(most)
    for d in range(n_digits):
        store(most, d, no_bits())
    for at in range(n_seen):
        slot = slots[seen[at]]
        greater, equal = no_bits(), all_bits()
        for d in range(n_digits - 1, -1, -1):
            a, b = load(votes, slot * n_digits + d), load(most, d)
            greater = either(greater, both(equal, but_not(a, b)))
            equal = but_not(equal, differ(a, b))
        for earlier in range(at):
            other = slots[seen[earlier]]
            store(wins, other, but_not(load(wins, other), greater))
        store(wins, slot, greater)
        for d in range(n_digits):
            a, b = load(votes, slot * n_digits + d), load(most, d)
            store(most, d, either(both(a, greater), but_not(b, greater)))
        tied = either(but_not(tied, greater), equal)
    return tied


@inner
def draw_winners(votes, n_digits, n_seen, wins, state):
    """Draw the winner among the classes of most votes, in the runs of the last row of `wins`."""
    for run in range(BITS):
        if not bit_at(wins, n_seen, run):
            continue
        most, number, chosen = -1, 0, 0
        for s in range(n_seen):
            found = 0
            for d in range(n_digits):
                found |= bit_at(votes, s * n_digits + d, run) << d
            if found > most:
                most, number = found, 0
            if found == most:
                number += 1
                if random_below(state, number) == 0:
                    chosen = s
        one = np.uint64(1) << np.uint64(run & 63)
        for s in range(n_seen):
            wins[s, run >> 6] &= ~one
        wins[chosen, run >> 6] |= one


@inner
def count_in_cells(counters, place, n_cells, n_levels, bits, masks):
    """Count the runs of the bits at a place of the table, in the cell of the fold that tests the sample."""
    size = len(counters) // (n_cells * n_levels)
    for cell in range(n_cells):
        add_bits(counters, (cell * size + place) * n_levels, n_levels, both(bits, load(masks, cell)))


@inner
def count_votes(plan, own, decided, room, n_seen, table):
    """Count the runs by the votes of every class; of two classes for the second, of others if listed.

    The counters of votes are read out: to count the runs of every number and class by masks takes longer.
    """
    n_classes, n_numbers, n_digits = plan.n_classes, plan.n_nearest + 1, len(room.most)
    numbers, places, true = room.numbers, room.places, plan.codes[own]
    size = n_classes * n_classes * n_numbers
    store(room.wins, 0, decided)
    numbers[:] = 0
    if plan.n_cells > 1:
        spread_bits(plan.bits, own * plan.n_digits, plan.n_digits, numbers)
    for run in range(BITS):
        is_decided = bit_at(room.wins, 0, run)
        cell = plan.cells[numbers[run]] if is_decided else plan.n_cells
        places[run] = cell * size + (true * n_classes * n_numbers if is_decided else 0)
    always = 1 if n_classes == 2 else true
    for at in range(-1, n_seen):
        code = always if at < 0 else room.seen[at]
        if room.slots[code] < 0 if at < 0 else (n_classes > 2 or code == 1):
            numbers[:] = code * n_numbers
            if at >= 0:
                spread_bits(room.votes, room.slots[code] * n_digits, n_digits, numbers)
            for run in range(BITS):
                table[places[run] + numbers[run], run] += np.int32(1)


@inner
def list_classes(codes, items, slots, seen, n_seen, votes, n_digits):
    """Give every class of some neighbors a slot; return the number of classes with one."""
    for item in items:
        code = codes[item]
        if slots[code] < 0:
            slots[code] = n_seen
            for d in range(n_digits):
                store(votes, n_seen * n_digits + d, no_bits())
            at = n_seen
            while at > 0 and seen[at - 1] > code:
                seen[at] = seen[at - 1]
                at -= 1
            seen[at] = code
            n_seen += 1
    return n_seen


@inner
def count_winners(plan, own, decided, room, n_seen, counted, n_levels):
    """Count the `decided` runs in which a class wins, or in which one of the K has the sample's class."""
    votes, wins, slots, n_digits, true = room.votes, room.wins, room.slots, len(room.most), plan.codes[own]
    if plan.what == ANY:
        found = no_bits()
        for d in range(n_digits if slots[true] >= 0 else 0):
            found = either(found, load(votes, slots[true] * n_digits + d))
        store(wins, max(slots[true], 0), found)
    else:
        tied = find_winners(votes, room.most, slots, room.seen, n_seen, wins)
        if plan.draws_votes and any_bit(tied):
            store(wins, n_seen, tied)
            draw_winners(votes, n_digits, n_seen, wins, room.state)
    for at in range(n_seen):
        code, place = room.seen[at], true
        if plan.what == CONFUSION:
            place = true * plan.n_classes + code
        elif code != true:
            continue
        won = both(load(wins, slots[code]), decided)
        count_in_cells(counted, place, plan.n_cells, n_levels, won, room.masks)


@jit
def count_rows(rows, final, plan, counted, unknown, votes_table, room, left_out):
    """Count the votes of a block of tested samples in the vertical counters of a table, ``counted``.

    With a plain ``votes_table`` (n_rows, 512), the votes of classes are counted there instead; its rows
    after the last cell are of no use. Without it, None, code for it is not compiled.

    The place of a sample in the table is (fold's cell, true class), then the predicted class, or class and
    number of votes.

    A row is `left_out` as `OPEN`, and not counted, if its list ends before all runs are done; if it is
    `final`, the runs that are not done are counted as unknown, by cell and true class. Or it is left out as
    `TIED`.
    """
    k, codes, n_cells, n_digits = plan.n_nearest, plan.codes, plan.n_cells, len(room.most)
    n_levels, n_total = len(unknown) // (n_cells * plan.n_classes), 0
    while (1 << n_total) < k:
        n_total += 1
    total, votes, masks, training = room.total, room.votes, room.masks, room.training
    slots, seen, group_end = room.slots, room.seen, room.group_end
    for r in range(len(rows.targets)):
        own, items, length = rows.targets[r], rows.items[r], rows.lengths[r]
        room.state[0] = scramble(np.uint64(plan.seed) ^ scramble(np.uint64(own + 1)))
        tested = is_tested(plan, own, masks)
        if not any_bit(tested):
            continue
        if rows.average_ties:
            fill_group_ends(rows.values[r], length, group_end)
        for d in range(n_total):
            store(total, d, all_bits() if (((1 << n_total) - k) >> d) & 1 else no_bits())
        left, n_seen, i, skipped = tested, 0, 0, 0
        while i < length and any_bit(left):
            end, mixed = group_end[i], False
            n_seen = list_classes(codes, items[i:end], slots, seen, n_seen, votes, n_digits)
            for j in range(i, end):
                store(training, j - i, both(trains(plan, own, items[j]), left))
                mixed |= codes[items[j]] != codes[items[i]]
            if mixed:
                crossing = crossing_runs(total, room.most, training, end - i, n_total, left)
                if any_bit(crossing):
                    if not plan.draws_ties:
                        skipped = TIED
                        break
                    store(training, end - i, crossing)
                    draw_tied(codes, items[i:end], total, n_total, training, votes, slots, room.state)
                    left = but_not(left, crossing)
            for j in range(i, end):
                active = both(load(training, j - i), left)
                add_bits(votes, slots[codes[items[j]]] * n_digits, n_digits, active)
                left = but_not(left, add_bits(total, 0, n_total, active))
            i = end
        if skipped == 0 and any_bit(left):
            skipped = OPEN
        left_out[r] = skipped
        if skipped == 0 or (final and skipped == OPEN):
            if skipped == OPEN:
                count_in_cells(unknown, codes[own], n_cells, n_levels, left, masks)
            decided = but_not(tested, left)
            if votes_table is None:
                count_winners(plan, own, decided, room, n_seen, counted, n_levels)
            else:
                count_votes(plan, own, decided, room, n_seen, votes_table)
        for at in range(n_seen):
            slots[seen[at]] = -1


TOLERANCE = 1e-12
"""The share of runs for which the first lists may be too short, in designs of one size."""
RARELY, STEP = 1e-6, 16
"""The same share in runs that are given by their folds; their depths are multiples of a step, so that runs
of about one size share lists."""
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
        depth = depth_of_runs(self.problem, near, self.runs.least_train)
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


def depth_of_runs(problem: ScoringProblem, neighbors: Neighbors, least_train: int) -> int:
    """The depth of the first lists of runs with a smallest training set of this size; 0: the design's.

    It suffices for all but a share `RARELY` of the runs, whose lists are deepened.
    """
    if not least_train:
        return first_depth(problem, neighbors, TOLERANCE)
    kinds = problem.training_sets
    tails = [fixed_tail(one.n_available, least_train, problem.nearest(one)) for one in kinds]
    depth = max(int(np.argmax(tail <= RARELY / 2)) for tail in tails)
    return min(-(-depth // STEP) * STEP + (problem.ties == "random"), neighbors.max_depth)


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
