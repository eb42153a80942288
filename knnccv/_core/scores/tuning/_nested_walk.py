# mypy: allow-untyped-defs
"""Right answers for all numbers of neighbors, inside and outside of training sets, in 512 runs; compiled.

One walk along the neighbor list of a sample serves all K. Vertical counters hold the number of training
samples so far, and for every class of the list by how much the own class leads it. When a run has K
training samples, the signs of the leads say whether its vote is right. In runs in which the sample itself
trains, this is the vote of the others in its training set: leave-one-out, or without its inner fold.
For 16 K up to 31 and two classes about 10 ns a sample and training set; with five inner folds 20 ns, and as
long to deal them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.typing import Array
from ....kernel import ZERO, inner, jit
from ....kernel.random import random_below
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
    store,
)
from ...luck.runs import below, equals


class Split(NamedTuple):
    """One fold of 512 runs, and the inner folds of its training sets.

    ``train`` and ``test`` (n_items, 8) are the runs in which a sample trains, and is tested. ``folds``
    (n_items * n_digits, 8) are the digits of the number of its inner fold, of which `n_folds` are counted
    apart; without digits one sample after another is left out.
    """

    train: Array
    test: Array
    folds: Array
    n_digits: int
    n_folds: int


@inner
def take_bits(counters, first, n_levels, bits):
    """Subtract the bits from the vertical counter in the rows from `first` on."""
    for level in range(n_levels):
        row = first + level
        new = differ(load(counters, row), bits)
        store(counters, row, new)
        bits = both(new, bits)
        if not any_bit(bits):
            break


@inner
def n_digits_of(number):
    """The binary digits of a positive integer."""
    n_digits = 1
    while number >> n_digits:
        n_digits += 1
    return n_digits


@inner
def same_fold(split, one, other):
    """The bits of the runs in which two training samples are in the same inner fold."""
    different = no_bits()
    for d in range(split.n_digits):
        one_digit, other_digit = one * split.n_digits + d, other * split.n_digits + d
        different = either(different, differ(load(split.folds, one_digit), load(split.folds, other_digit)))
    return but_not(load(split.train, one), different)


@inner
def walk(rows, r, split, codes, grid, right, room, slots):
    """Fill the rows `right` with the runs in which the vote of each K is right; return those left open.

    The top digit of a lead is set where the own class wins: it needs a vote more than a smaller label.
    """
    own, true, n_grid, n_votes = rows.targets[r], codes[rows.targets[r]], len(grid), n_digits_of(grid[-1])
    for at in range(n_grid):
        store(right, at, no_bits())
    for d in range(2 * n_votes):
        store(room, d, no_bits())
    slots[:] = -1
    scored = either(load(split.train, own), load(split.test, own))
    left, end, first = scored, 2 * n_votes, 0
    for i in range(rows.lengths[r]):
        other = rows.items[r, i]
        code, active = codes[other], both(load(split.train, other), left)
        if split.n_digits:
            active = but_not(active, same_fold(split, own, other))
        if code == true:
            add_bits(room, n_votes, n_votes, active)
            for slot in range(2 * n_votes, end, n_votes + 1):
                add_bits(room, slot, n_votes + 1, active)
        else:
            if slots[code] < 0:  # the lead over a class without votes
                for d in range(n_votes):
                    store(room, end + d, load(room, n_votes + d))
                store(room, end + n_votes, all_bits())
                if code < true:
                    take_bits(room, end, n_votes + 1, all_bits())
                slots[code] = end
                end += n_votes + 1
            take_bits(room, slots[code], n_votes + 1, active)
        add_bits(room, ZERO, n_votes, active)
        won = active
        for slot in range(2 * n_votes, end, n_votes + 1):
            won = both(won, load(room, slot + n_votes))
        at = first
        while at < n_grid and grid[at] <= i + 1:
            now = equals(room, ZERO, n_votes, grid[at])
            store(right, at, either(load(right, at), both(now, won)))
            if at == n_grid - 1:
                left = but_not(left, now)
            at += 1
        while first < n_grid and not any_bit(both(scored, below(room, ZERO, n_votes, grid[first]))):
            first += 1
        if first == n_grid:
            break
    return left


@jit
def count_nested(rows, split, codes, grid, counters, room, slots, is_open):
    """Count the right answers of every K by inner fold, and outside, for some samples in 512 runs.

    The vertical counters are for (n_folds + 1, n_grid + 1): the last fold is the test set, the last column
    counts the samples. A row whose list is too short is left open, and not counted. ``room`` is for words:
    the right answers by column; then counters of training samples, of the own votes, and of the leads over
    the other classes; ``slots`` (n_classes,) tells where a lead is.
    """
    n_columns, n_digits = len(grid) + 1, split.n_digits
    n_levels = len(counters) // ((split.n_folds + 1) * n_columns)
    right, room = room[:n_columns], room[n_columns:]
    for r in range(len(rows.targets)):
        own = rows.targets[r]
        is_open[r] = any_bit(walk(rows, r, split, codes, grid, right, room, slots))
        if is_open[r]:
            continue
        store(right, n_columns - 1, all_bits())
        for fold in range(split.n_folds + 1):
            mask = load(split.train if fold < split.n_folds else split.test, own)
            if split.n_folds > 1 and fold < split.n_folds:
                mask = both(mask, equals(split.folds, own * n_digits, n_digits, fold))
            for at in range(n_columns):
                place = (fold * n_columns + at) * n_levels
                add_bits(counters, place, n_levels, both(load(right, at), mask))


@jit
def draw_inner(train, strata, n_folds, shuffled, folds, state):
    """Deal the training samples of 512 runs to inner folds; fill in the digits (n_items * n_digits, 8).

    As scikit-learn deals them: the strata in the order in which they appear, one sample after another to
    the next fold; which ones of a stratum is drawn, or it is the first ones for the first fold.
    """
    n_items, n_strata, one = len(strata), strata.max() + 1, np.uint64(1)
    n_digits = len(folds) // n_items
    dealt = np.empty(n_items, np.int64)
    counts, next_of = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    order = np.empty(n_strata, np.int64)
    for run in range(BITS):
        w, b = run >> 6, np.uint64(run & 63)
        counts[:] = 0
        n_seen = 0
        for i in range(n_items):
            if (train[i, w] >> b) & one:
                if counts[strata[i]] == 0:
                    order[n_seen] = strata[i]
                    n_seen += 1
                counts[strata[i]] += 1
        begin = 0
        for s in order[:n_seen]:
            end, at = begin + counts[s], begin
            for fold in range(n_folds):
                for _ in range(begin + (fold - begin) % n_folds, end, n_folds):
                    dealt[at] = fold
                    at += 1
            if shuffled:
                for i in range(begin, end - 1):
                    j = i + random_below(state, end - i)
                    dealt[i], dealt[j] = dealt[j], dealt[i]
            next_of[s] = begin
            begin = end
        for i in range(n_items):
            if (train[i, w] >> b) & one:
                fold = dealt[next_of[strata[i]]]
                next_of[strata[i]] += 1
                for d in range(n_digits):
                    folds[i * n_digits + d, w] |= np.uint64((fold >> d) & 1) << b
