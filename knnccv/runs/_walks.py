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
from numba import types

from .._typing import Array
from ..driver import ROWS, fill_group_ends
from ..kernel import ZERO, inner, jit
from ..kernel.words import (
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
from ..sampled import scramble
from ._planes import equals, random_below

RIGHT, ANY, CONFUSION, VOTES = 0, 1, 2, 3
"""What is counted by cell and true class: correct votes; a correct neighbor; predictions by class; numbers
of votes by class."""
TESTED = np.int64(1)
OPEN, TIED = 1, 2
"""Why a row is left out: its list is too short, or it matters in which order tied samples are."""


class Plan(NamedTuple):
    """What runs draw and how they vote.

    ``bits`` (n_items * n_digits, 8) are the digits of the codes. ``cells`` (n_folds,) say in which part of
    the table a fold is counted. A code of `spare` is never tested. ``draws_ties``: which of tied samples
    vote, where it matters, is drawn; otherwise such a row is left out. ``draws_votes``: tied votes are
    drawn.
    """

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


_WORDS = types.Array(types.uint64, 2, "C")
_INTEGERS = types.Array(types.int64, 1, "C")
PLAN = types.NamedTuple(
    [
        _WORDS, types.int64, types.boolean, types.int64, _INTEGERS, types.int64, _INTEGERS, types.int64,
        types.int64, types.boolean, types.boolean, types.int64,
    ],
    Plan,
)  # fmt: skip


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
        store(masks, ZERO, tested)
        return tested
    tested = all_bits()
    if plan.spare >= 0:
        tested = but_not(tested, equals(plan.bits, first, n_digits, plan.spare))
    if n_cells == 1:
        store(masks, ZERO, tested)
        return tested
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
def crossing_runs(plan, own, items, start, end, total, n_total, left, copy):
    """The bits of the runs in which it matters which of some tied samples vote."""
    crossing, mixed = no_bits(), False
    for i in range(start + 1, end):
        mixed |= plan.codes[items[i]] != plan.codes[items[start]]
    if not mixed:
        return crossing
    for d in range(n_total):
        store(copy, d, load(total, d))
    still = left
    for i in range(start, end):
        active = both(trains(plan, own, items[i]), left)
        crossing = either(crossing, but_not(active, still))
        still = but_not(still, add_bits(copy, ZERO, n_total, both(active, still)))
    return crossing


@inner
def draw_tied(plan, own, items, start, end, total, n_total, room, votes, slots, n_digits, state):
    """Draw which of the tied samples vote, in the runs of the first row of `room`, one by one."""
    for i in range(start, end):
        store(room, 1 + i - start, both(trains(plan, own, items[i]), load(room, ZERO)))
    for run in range(BITS):
        if not bit_at(room, ZERO, run):
            continue
        left, missing = 0, 1 << n_total
        for d in range(n_total):
            missing -= bit_at(total, d, run) << d
        for i in range(start, end):
            left += bit_at(room, 1 + i - start, run)
        for i in range(start, end):
            if not bit_at(room, 1 + i - start, run):
                continue
            if random_below(state, left) < missing:
                missing -= 1
                carry, level = np.uint64(1) << np.uint64(run & 63), slots[plan.codes[items[i]]] * n_digits
                while carry:
                    word = votes[level, run >> 6]
                    votes[level, run >> 6] = word ^ carry
                    carry &= word
                    level += 1
            left -= 1


@inner
def draw_winners(wins, votes, n_slots, tied, n_digits, state):
    """Draw the winner among the classes of most votes, in the runs of the row `tied` of `wins`."""
    for run in range(BITS):
        if not bit_at(wins, tied, run):
            continue
        most, number, chosen = -1, 0, 0
        for s in range(n_slots):
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
        for s in range(n_slots):
            wins[s, run >> 6] &= ~one
        wins[chosen, run >> 6] |= one


@inner
def find_winners(plan, votes, slots, seen, n_seen, n_digits, wins, best, state):
    """Fill the rows `wins` with the runs in which each listed class wins; ties go to the smallest label."""
    tied = no_bits()
    for at in range(n_seen):
        slot = slots[seen[at]]
        greater, equal = no_bits(), all_bits()
        if at == 0:
            greater, equal = equal, greater
        for d in range(n_digits - 1 if at else -1, -1, -1):
            a, b = load(votes, slot * n_digits + d), load(best, d)
            greater = either(greater, both(equal, but_not(a, b)))
            equal = but_not(equal, differ(a, b))
        for earlier in range(at):
            other = slots[seen[earlier]]
            store(wins, other, but_not(load(wins, other), greater))
        store(wins, slot, greater)
        for d in range(n_digits):
            a, b = load(votes, slot * n_digits + d), load(best, d)
            store(best, d, either(both(a, greater), but_not(b, greater)))
        tied = either(but_not(tied, greater), equal)
    if plan.draws_votes and any_bit(tied):
        store(wins, n_seen, tied)
        draw_winners(wins, votes, n_seen, n_seen, n_digits, state)


@inner
def count_in_cells(plan, at, size, bits, masks, counters, n_levels):
    """Count the runs of the bits at a place of the table, in the cell of the fold that tests the sample."""
    for cell in range(plan.n_cells):
        add_bits(counters, (cell * size + at) * n_levels, n_levels, both(bits, load(masks, cell)))


@inner
def find_places(plan, own, decided, room, numbers, places):
    """Fill in the first row of the `table` of votes (see `count_rows`) for a sample in every run."""
    n_rows = plan.n_classes * (plan.n_nearest + 1)
    store(room, ZERO, decided)
    numbers[:] = 0
    if plan.n_cells > 1:
        spread_bits(plan.bits, own * plan.n_digits, plan.n_digits, numbers)
    first, size = plan.codes[own] * n_rows, plan.n_classes * n_rows
    if any_bit(but_not(all_bits(), decided)):
        for run in range(BITS):
            is_decided = bit_at(room, ZERO, run)
            places[run] = plan.cells[numbers[run]] * size + first if is_decided else plan.n_cells * size
    else:
        for run in range(BITS):
            places[run] = plan.cells[numbers[run]] * size + first


@inner
def count_votes(plan, true, votes, slots, seen, n_seen, n_digits, numbers, places, table):
    """Count the runs by the votes of every class; of two classes for the second, of others if listed.

    The counters of votes are read out: to count the runs of every number and class by masks takes longer.
    """
    n_classes, n_numbers = plan.n_classes, plan.n_nearest + 1
    always = 1 if n_classes == 2 else true
    for at in range(-1, n_seen):
        code = always if at < 0 else seen[at]
        if slots[code] < 0 if at < 0 else (n_classes > 2 or code == 1):
            numbers[:] = code * n_numbers
            if at >= 0:
                spread_bits(votes, slots[code] * n_digits, n_digits, numbers)
            for run in range(BITS):
                table[places[run] + numbers[run], run] += np.int32(1)


@inner
def count_winners(plan, what, true, decided, wins, slots, seen, n_seen, masks, counters, n_levels):
    """Count the runs by the predicted class, or those in which it is the true one."""
    n_classes = plan.n_classes
    for at in range(n_seen):
        code = seen[at]
        won = both(load(wins, slots[code]), decided)
        if what == CONFUSION:
            cell = true * n_classes + code
            count_in_cells(plan, cell, n_classes * n_classes, won, masks, counters, n_levels)
        elif code == true:
            count_in_cells(plan, true, n_classes, won, masks, counters, n_levels)


@inner
def list_classes(codes, items, start, end, slots, seen, n_seen, votes, n_digits):
    """Give every class of some neighbors a counter; return the number of classes with one."""
    for i in range(start, end):
        code = codes[items[i]]
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


@jit
def count_rows(rows, what, final, plan, counters, unknown, table, left_out):
    """Count the votes of a block of tested samples in the vertical counters of a table.

    The votes of classes are counted in a plain `table` (n_rows, 512) instead; the rows after the last cell
    are of no use.

    The place of a sample in the table is (fold's cell, true class), then the predicted class, or class and
    number of votes. A row is `left_out` as `OPEN`, and not counted, if its list ends before all runs are
    done; if it is `final`, the runs that are not done are counted in `unknown`, by cell and true class. Or
    it is left out as `TIED`.
    """
    k, n_classes, codes = plan.n_nearest, plan.n_classes, plan.codes
    n_levels = len(unknown) // (plan.n_cells * n_classes)
    numbers, places = np.empty((2, BITS), np.int64)
    n_total, n_digits = 0, 1
    while (1 << n_total) < k:
        n_total += 1
    while (1 << n_digits) <= k:
        n_digits += 1
    depth = rows.items.shape[1]
    n_slots = min(n_classes, depth)
    total, best = word_rows(n_digits), word_rows(n_digits)
    votes, wins = word_rows(n_slots * n_digits), word_rows(n_slots + 1)
    masks, room = word_rows(plan.n_cells), word_rows(depth + 1 if rows.average_ties else 1)
    slots, seen = np.full(n_classes, -1), np.empty(n_slots, np.int64)
    group_end, state = np.arange(1, depth + 1), np.empty(1, np.uint64)
    for r in range(len(rows.targets)):
        own = rows.targets[r]
        true, items, length = codes[own], rows.items[r], rows.lengths[r]
        state[0] = scramble(np.uint64(plan.seed) ^ scramble(np.uint64(own + 1)))
        tested = is_tested(plan, own, masks)
        if not any_bit(tested):
            continue
        if rows.average_ties:
            fill_group_ends(rows.values[r], length, group_end)
        for d in range(n_total):
            store(total, d, all_bits() if (((1 << n_total) - k) >> d) & 1 else no_bits())
        left, n_seen, i, skipped = tested, ZERO, ZERO, ZERO
        while i < length and any_bit(left):
            end = group_end[i]
            n_seen = list_classes(codes, items, i, end, slots, seen, n_seen, votes, n_digits)
            if end > i + 1:
                crossing = crossing_runs(plan, own, items, i, end, total, n_total, left, best)
                if any_bit(crossing):
                    if not plan.draws_ties:
                        skipped = TIED
                        break
                    store(room, ZERO, crossing)
                    draw_tied(plan, own, items, i, end, total, n_total, room, votes, slots, n_digits, state)
                    left = but_not(left, crossing)
            for j in range(i, end):
                active = both(trains(plan, own, items[j]), left)
                add_bits(votes, slots[codes[items[j]]] * n_digits, n_digits, active)
                left = but_not(left, add_bits(total, ZERO, n_total, active))
            i = end
        if skipped == 0 and any_bit(left):
            skipped = OPEN
        left_out[r] = skipped
        if skipped == 0 or (final and skipped == OPEN):
            for cell in range(plan.n_cells if skipped == OPEN else 0):
                at = (cell * n_classes + true) * n_levels
                add_bits(unknown, at, n_levels, both(left, load(masks, cell)))
            decided = but_not(tested, left)
            if what == VOTES:
                find_places(plan, own, decided, room, numbers, places)
                count_votes(plan, true, votes, slots, seen, n_seen, n_digits, numbers, places, table)
            elif what == ANY:
                found = no_bits()
                for d in range(n_digits if slots[true] >= 0 else 0):
                    found = either(found, load(votes, slots[true] * n_digits + d))
                count_in_cells(plan, true, n_classes, both(found, decided), masks, counters, n_levels)
            else:
                find_winners(plan, votes, slots, seen, n_seen, n_digits, wins, best, state)
                count_winners(
                    plan, what, true, decided, wins, slots, seen, n_seen, masks, counters, n_levels
                )
        for at in range(n_seen):
            slots[seen[at]] = -1


COUNT_ROWS = types.void(
    ROWS, types.int64, types.boolean, PLAN, _WORDS, _WORDS, types.Array(types.int32, 2, "C"), _INTEGERS
)
