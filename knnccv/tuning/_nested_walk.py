"""Right answers for all numbers of neighbors, inside and outside of training sets, in 512 runs; compiled.

One walk along the neighbor list of a sample serves all K. Vertical counters hold the number of training
samples so far, and for every class of the list by how much the own class leads it. When a run has K
training samples, the signs of the leads say whether its vote is right. In runs in which the sample itself
trains, this is the vote of the others in its training set: leave-one-out, or without its inner fold.
For 16 K up to 31 and two classes about 10 ns a sample and training set; with five inner folds 20 ns, and as
long to deal them.
"""

from __future__ import annotations

import numpy as np

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
    store,
    word_rows,
)
from ..runs import below, equals, random_below
from ..sampled import scramble


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
def begin_lead(leads, first, n_votes, is_smaller):
    """Start the lead of the own class over one that has no vote yet; the own votes are in the first rows.

    The top digit of a lead is set where the own class wins: it needs one vote more than a smaller label.
    """
    for d in range(n_votes):
        store(leads, first + d, load(leads, d))
    store(leads, first + n_votes, all_bits())
    if is_smaller:
        take_bits(leads, first, n_votes + 1, all_bits())


@inner
def same_fold(folds, one, other, n_digits):
    """The bits of the runs in which two samples are in the same inner fold."""
    different = no_bits()
    for d in range(n_digits):
        pair = differ(load(folds, one * n_digits + d), load(folds, other * n_digits + d))
        different = either(different, pair)
    return but_not(all_bits(), different)


@inner
def walk(items, length, own, train, scored, folds, n_digits, codes, grid, right, leads, total, slots):
    """Fill the rows `right` with the runs in which the vote of each K is right; return those left open."""
    n_grid, most, true = len(grid), grid[-1], codes[own]
    n_votes = len(total)
    inside = load(train, own)
    for at in range(n_grid):
        store(right, at, no_bits())
    for d in range(n_votes):
        store(total, d, no_bits())
        store(leads, d, no_bits())
    slots[:] = -1
    left, n_slots, first = scored, 0, 0
    for i in range(length):
        other = items[i]
        active = both(load(train, other), left)
        if n_digits:
            active = but_not(active, both(inside, same_fold(folds, own, other, n_digits)))
        code = codes[other]
        if code == true:
            add_bits(leads, ZERO, n_votes, active)
            for s in range(n_slots):
                add_bits(leads, n_votes + s * (n_votes + 1), n_votes + 1, active)
        else:
            if slots[code] < 0:
                slots[code] = n_votes + n_slots * (n_votes + 1)
                begin_lead(leads, slots[code], n_votes, code < true)
                n_slots += 1
            take_bits(leads, slots[code], n_votes + 1, active)
        add_bits(total, ZERO, n_votes, active)
        won = active
        for s in range(n_slots):
            won = both(won, load(leads, n_votes + s * (n_votes + 1) + n_votes))
        at = first
        while at < n_grid and grid[at] <= i + 1:
            now = equals(total, ZERO, n_votes, grid[at])
            store(right, at, either(load(right, at), both(now, won)))
            if grid[at] == most:
                left = but_not(left, both(now, active))
            at += 1
        while first < n_grid and not any_bit(both(scored, below(total, ZERO, n_votes, grid[first]))):
            first += 1
        if first == n_grid:
            return no_bits()
    return left


@jit
def count_nested(
    items,
    lengths,
    targets,
    train,
    test,
    folds,
    n_digits,
    n_folds,
    codes,
    n_classes,
    grid,
    counters,
    n_levels,
    is_open,
):
    """Count the right answers of every K by inner fold, and outside, for some samples in 512 runs.

    ``train`` and ``test`` (n_items, 8) are the runs in which a sample trains, and is tested. ``folds``
    (n_items * n_digits, 8) are the digits of the inner folds, of which there are `n_folds`; without digits
    it is one, left one out. The vertical counters are for (n_folds + 1, n_grid + 1): the last fold is the
    test set, the last column counts the samples. A row whose list is too short is left open, not counted.
    """
    n_grid, depth = len(grid), items.shape[1]
    n_votes = 1
    while grid[-1] >> n_votes:
        n_votes += 1
    right, total = word_rows(n_grid + 1), word_rows(n_votes)
    leads = word_rows(n_votes + min(n_classes, depth + 1) * (n_votes + 1))
    slots = np.empty(n_classes, np.int64)
    for r in range(len(targets)):
        own = targets[r]
        inside, outside = load(train, own), load(test, own)
        scored = either(inside, outside)
        left = walk(
            items[r],
            lengths[r],
            own,
            train,
            scored,
            folds,
            n_digits,
            codes,
            grid,
            right,
            leads,
            total,
            slots,
        )
        is_open[r] = any_bit(left)
        if is_open[r]:
            continue
        store(right, n_grid, all_bits())
        for fold in range(n_folds + 1):
            mask = inside if fold < n_folds else outside
            if n_digits and fold < n_folds:
                mask = both(mask, equals(folds, own * n_digits, n_digits, fold))
            for at in range(n_grid + 1):
                place = (fold * (n_grid + 1) + at) * n_levels
                add_bits(counters, place, n_levels, both(load(right, at), mask))


@jit
def draw_inner(train, strata, n_strata, n_folds, n_digits, shuffled, seed):
    """Deal the training samples of 512 runs to inner folds; the digits (n_items * n_digits, 8).

    As scikit-learn deals them: the strata in the order in which they appear, one sample after another to
    the next fold; which ones of a stratum is drawn, or it is the first ones for the first fold.
    """
    n_items = len(strata)
    folds, one = word_rows(n_items * n_digits), np.uint64(1)
    state = np.empty(1, np.uint64)
    state[0] = scramble(np.uint64(seed))
    dealt = np.empty(n_items, np.int64)
    counts, next_of, order = np.empty((3, n_strata), np.int64)
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
                    if (fold >> d) & 1:
                        folds[i * n_digits + d, w] |= one << b
    return folds


@jit
def masks_of(bits, n_digits, number):
    """The runs in which the code of each sample is this number, (n_items, 8)."""
    masks = word_rows(len(bits) // n_digits)
    for i in range(len(masks)):
        store(masks, i, equals(bits, i * n_digits, n_digits, number))
    return masks
