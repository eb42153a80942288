# mypy: allow-untyped-defs
"""Votes of the nearest training samples in 512 runs at once, from bit planes; compiled.

For a tested sample, a walk along its neighbor list finds in which runs each neighbor trains: the bits in
which the codes of both differ. Votes are counted in vertical counters, and a run is done when it has K of
them. Then the class with the most votes is found by comparing counters, and the bits of the runs in which
it wins are added to the vertical counters of the table: one addition counts for 512 runs. About 2 ns a
sample and run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.typing import Array
from ....kernel import ZERO, inner, jit
from ....kernel.random import random_below, scramble
from ....kernel.words import (
    BITS,
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
from ...driver import fill_group_ends
from ._planes import equals

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
    store(masks, ZERO, tested)
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
        still = but_not(still, add_bits(copy, ZERO, n_total, both(active, still)))
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
    store(room.wins, ZERO, decided)
    numbers[:] = 0
    if plan.n_cells > 1:
        spread_bits(plan.bits, own * plan.n_digits, plan.n_digits, numbers)
    for run in range(BITS):
        is_decided = bit_at(room.wins, ZERO, run)
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
        store(wins, max(slots[true], ZERO), found)
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
        left, n_seen, i, skipped = tested, ZERO, ZERO, ZERO
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
                left = but_not(left, add_bits(total, ZERO, n_total, active))
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
