# mypy: allow-untyped-defs
"""Nested runs: the inner and outer scores of every candidate in every training set.

One walk along the neighbor list of a sample serves all K. Vertical counters hold the number of training
samples so far, and for every class of the list by how much the own class leads it. When a run has K
training samples, the signs of the leads say whether its vote is right. In runs in which the sample itself
trains, this is the vote of the others in its training set: leave-one-out, or without its inner fold.
For 16 K up to 31 and two classes about 10 ns a sample and training set; with five inner folds 20 ns, and as
long to deal them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...._base.labels import EncodedLabels
from ...._base.parallel import for_each
from ...._base.typing import Array
from ...._base.validation import check
from ....designs import KFold, LeaveOut, StratifiedKFold, as_design
from ....kernel import inner, jit
from ....kernel.sampling import random_below, scramble
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
    store,
    word_rows,
)
from ....neighbors import NeighborLists, Neighbors
from ...driver import Rows, ScoringProblem
from ...luck.runs import (
    NEITHER,
    Planes,
    RescaledSearch,
    Runs,
    below,
    check_lists_end_late,
    deepened,
    depth_of_runs,
    equals,
    item_shares,
    pack,
    unpack,
    unpack_table,
)


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
        add_bits(room, 0, n_votes, active)
        won = active
        for slot in range(2 * n_votes, end, n_votes + 1):
            won = both(won, load(room, slot + n_votes))
        at = first
        while at < n_grid and grid[at] <= i + 1:
            now = equals(room, 0, n_votes, grid[at])
            store(right, at, either(load(right, at), both(now, won)))
            if at == n_grid - 1:
                left = but_not(left, now)
            at += 1
        while first < n_grid and not any_bit(both(scored, below(room, 0, n_votes, grid[first]))):
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


LISTED = 2**23
"""Runs times samples times neighbors that are listed at once, if columns are scaled within the folds."""


@dataclass(frozen=True)
class Inner:
    """How a training set is split to choose within it.

    Attributes
    ----------
    n_folds : int
        The number of folds; 1 leaves one sample out after another.
    stratified, shuffled : bool
        As scikit-learn's StratifiedKFold or KFold deal the samples, with or without ``shuffle=True``.
    groups : int64 ndarray of shape (n_items,), optional
        With a single fold, leaves out these groups, one after another, instead of samples.
    """

    n_folds: int = 1
    stratified: bool = False
    shuffled: bool = True
    groups: Array | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, inner: Any) -> Inner:
        """Read the argument `inner`.

        Raises
        ------
        TypeError, ValueError
            If it is not one of these.
        """
        if isinstance(inner, Inner):
            return inner
        if (isinstance(inner, str) and inner == "loo") or inner == LeaveOut(1):
            return cls()
        design = None if isinstance(inner, str) else as_design(inner)
        must = "inner_cv must be 'loo', a number of folds, KFold(k) or StratifiedKFold(k)"
        check(type(design) in (KFold, StratifiedKFold), must, inner)
        assert isinstance(design, KFold | StratifiedKFold)
        return cls(design.n_splits, design.stratifies)

    @property
    def n_digits(self) -> int:
        """The binary digits of the number of a fold, or a group; none if one sample is left out."""
        return int(self.n_folds - 1 if self.groups is None else self.groups.max()).bit_length()

    def in_words(self) -> str:
        """The split in words."""
        if self.n_folds == 1:
            return "leave-one-out" if self.groups is None else "leave-one-group-out"
        return f"{'stratified ' if self.stratified else ''}{self.n_folds}-fold cross-validation"


class NestedScores(NamedTuple):
    """Scores of all candidates, (n_runs, n_folds, n_candidates): numbers of neighbors, source by source.

    ``inside`` has the inner scores, ``outside`` the part of the score of the run that comes from the test
    set: its right answers, by their weights.
    """

    inside: Array
    outside: Array


def nested_scores(
    problem: ScoringProblem,
    sources: Sequence[Neighbors | RescaledSearch],
    n_neighbors: list[int],
    inner: Inner,
    runs: Runs,
    by_class: bool,
    n_jobs: int | None,
    weights: Array | None = None,
) -> NestedScores:
    """Score all candidates inside and outside of every training set of the runs.

    ``problem`` has the largest K. Every source of neighbors with every K is a candidate. Inner scores are
    means over the classes of a fold if `by_class`. The weights (n_kinds, n_parts) of a right answer, by the
    kinds of the runs and its class, are those of the problem if none are given.

    Raises
    ------
    ValueError
        If given neighbor lists are too short.
    """
    listed = [near for near in sources if isinstance(near, Neighbors)]
    depth = depth_of_runs(problem, listed[0], runs.least_train) if listed else 0
    if inner.n_folds > 1:
        depth = depth * inner.n_folds // (inner.n_folds - 1) + 1
    depth = min([depth, *(near.max_depth for near in listed)])
    lists = [
        (near.refitted or near.all_lists(depth, n_jobs)) if isinstance(near, Neighbors) else None
        for near in sources
    ]
    codes, n_k = problem.labels.codes, len(n_neighbors)
    part_of = codes if by_class else np.zeros_like(codes)
    parts = [np.flatnonzero(part_of == part) for part in range(part_of.max() + 1)]
    if weights is None:
        weights = item_shares(problem, runs.n_folds)[:, : len(parts)]  # without classes all are equal
    kinds = np.broadcast_to(runs.kinds, (runs.n_runs, runs.n_folds))
    inside, outside = np.empty((2, runs.n_runs, runs.n_folds, len(sources) * n_k))

    planes = lru_cache(4)(runs.planes)

    @lru_cache(4)
    def split(block: int, fold: int) -> Split:
        return split_of(planes(block), runs, block, fold, inner, problem.labels)

    def counted(near: Neighbors, given: NeighborLists, some: Split) -> Array:
        found = [right_answers(near, given, rows, some, codes, n_neighbors) for rows in parts]
        return np.stack(found, axis=1)

    def one(piece: tuple[int, ...]) -> None:
        block, fold, at = piece
        rows, source, near, some = runs.rows(block), sources[at], lists[at], split(block, fold)
        n_runs = rows.stop - rows.start
        if isinstance(source, RescaledSearch):
            found = rescaled_answers(source, some, n_runs, codes, part_of, n_neighbors)
        elif isinstance(near, NeighborLists):
            found = counted(source, near, some)[:n_runs]
        else:  # distances that are fitted to labels, for every training set anew
            if inner.groups is None:
                msg = (
                    "pass cv=LeaveGroupsOut(groups) with the groups of HVDM.neighbors(groups=...): its "
                    "distances are fitted anew for every training set of groups"
                )
                raise ValueError(msg)
            assert near is not None
            tested = inner.groups[(runs.folds(block) == 0).argmax(axis=1)]
            anew = enumerate(map(near, tested.tolist()))
            each = (counted(other, other.all_lists(depth), some)[run].copy() for run, other in anew)
            found = np.stack(list(each))
        mine = rows, fold, slice(at * n_k, (at + 1) * n_k)
        with np.errstate(invalid="ignore"):
            shares = np.nanmean(found[:, :, :-1, :-1] / found[:, :, :-1, -1:], axis=1)
        inside[mine] = shares.swapaxes(1, 2).copy().mean(axis=2)  # as scikit-learn, digit by digit
        outside[mine] = (found[:, :, -1, :-1] * weights[kinds[rows, fold], :, None]).sum(axis=1)

    pieces = list(np.ndindex(runs.n_blocks, runs.n_folds, len(sources)))
    one(pieces[0])  # compiles
    for_each(one, pieces[1:], n_jobs)
    return NestedScores(inside, outside)


@jit
def add_right(nearest, cells, codes, parts, grid, right):
    """Add the right answers of every K to right (n_runs, n_parts, n_cells, n_K + 1); the last counts all.

    Of every run the cells (n_runs, n_items) of those that answer are not negative; `parts` (n_items,).
    """
    votes, n_grid = np.empty(codes.max() + 1, np.int64), len(grid)
    for r, i in np.ndindex(cells.shape):
        if cells[r, i] < 0:
            continue
        counts = right[r, parts[i], cells[r, i]]
        counts[n_grid] += 1
        votes[:], winner, at = 0, codes[nearest[r, i, 0]], 0
        for place in range(grid[-1]):
            code = codes[nearest[r, i, place]]
            votes[code] += 1
            if votes[code] > votes[winner] or (votes[code] == votes[winner] and code < winner):
                winner = code
            if grid[at] == place + 1:
                counts[at] += winner == codes[i]
                at += 1


def rescaled_answers(
    search: RescaledSearch, split: Split, n_runs: int, codes: Array, parts: Array, ks: list[int]
) -> Array:
    """Right answers of every K, (n_runs, n_parts, n_folds + 1, n_K + 1), as `right_answers` by `parts`.

    Columns are scaled within the inner folds; and within the training set for the test set.
    """
    grid, order = np.unique(ks, return_inverse=True)
    right = np.zeros((n_runs, parts.max() + 1, split.n_folds + 1, len(grid) + 1), np.int64)
    inside = codes_inside(split, n_runs)
    test = unpack(split.test[:, None])[:n_runs] > 0
    outside = np.where(test, 0, np.where(inside >= 0, -1, NEITHER))
    cells = np.where(inside >= 0, inside if split.n_folds > 1 else 0, -1)
    step = max(1, LISTED // (len(codes) * int(grid[-1])))
    for start in range(0, n_runs, step):
        some = slice(start, start + step)
        for folds, answering in ((inside, cells), (outside, np.where(test, split.n_folds, -1))):
            nearest, _ = search.nearest(folds[some], int(grid[-1]), n_jobs=1)
            add_right(nearest, answering[some], codes, parts, grid, right[some])
    return right[..., [*order, -1]]


def split_of(
    planes: Planes, runs: Runs, block: int, fold: int, inner: Inner, labels: EncodedLabels
) -> Split:
    """One fold of the runs of a block, with its inner folds; in runs beyond the last, no sample trains."""
    rows = runs.rows(block)
    wanted = pack(np.ones((rows.stop - rows.start, 1), np.int32), False).bits[0, 0]
    test = has_code(planes, fold if planes.folded else 1) & wanted
    train = (~test if planes.folded else has_code(planes, 0)) & wanted
    # Two numbers seed the planes themselves, and zeros at the end would change nothing.
    mixed = np.random.SeedSequence([runs.seed, block, fold + 1]).generate_state(1, np.uint64)[0]
    folds = inner_folds(inner, train, labels, int(mixed >> np.uint64(1)))
    return Split(train, test, folds, inner.n_digits, inner.n_folds)


def codes_inside(split: Split, n_runs: int) -> Array:
    """The fold, group or place that leaves out each training sample, (n_runs, n_items); else `NEITHER`."""
    train = unpack(split.train[:, None])[:n_runs] > 0
    if split.n_digits:
        numbers = unpack(split.folds.reshape(len(split.train), -1, WORDS))[:n_runs]
    else:
        numbers = train.cumsum(axis=1, dtype=np.int32) - 1
    return np.where(train, numbers, NEITHER)


def virtual_runs(runs: Runs, block: int, inner: Inner, labels: EncodedLabels) -> Array:
    """The inner fold of every training sample of every fold of a block, int32 (n_runs, n_folds, n_items).

    `NEITHER`: it does not train. The inner folds of a training set are those that `tuned_score` has.
    """
    planes, rows = runs.planes(block), runs.rows(block)
    splits = [split_of(planes, runs, block, fold, inner, labels) for fold in range(runs.n_folds)]
    return np.stack([codes_inside(split, rows.stop - rows.start) for split in splits], axis=1)


def has_code(planes: Planes, code: int) -> Array:
    """The runs in which every sample has this code, uint64 (n_items, 8)."""
    digits = planes.bits.swapaxes(0, 1)
    agreeing = [digit if (code >> d) & 1 else ~digit for d, digit in enumerate(digits)]
    masks: Array = np.bitwise_and.reduce(agreeing, axis=0)
    return masks


def inner_folds(inner: Inner, train: Array, labels: EncodedLabels, seed: int) -> Array:
    """The digits of the inner folds of the training samples."""
    strata = labels.codes if inner.stratified else np.zeros_like(labels.codes)
    folds = word_rows(len(strata) * inner.n_digits)
    if inner.n_folds > 1:
        with np.errstate(over="ignore"):  # without compilation, random numbers overflow
            state = scramble(np.array([seed], np.uint64))
            draw_inner(train, strata, inner.n_folds, inner.shuffled, folds, state)
    elif inner.groups is not None:
        digits = inner.groups[:, None] >> np.arange(inner.n_digits) & 1
        folds[:] = -digits.reshape(-1, 1).astype(np.uint64)
    return folds


def right_answers(
    neighbors: Neighbors, lists: NeighborLists, asked: Array, split: Split, codes: Array, ks: list[int]
) -> Array:
    """Right answers of every K in 512 runs, (512, n_folds + 1, n_K + 1): the last fold is the test set.

    Only some samples are `asked`; the last column is their number. Lists that are too short for some run
    are searched deeper.
    """
    grid, order = np.unique(ks, return_inverse=True)
    shape = split.n_folds + 1, len(grid) + 1
    n_levels = neighbors.n_items.bit_length()
    counters = word_rows(shape[0] * shape[1] * n_levels)
    slots, n_digits = np.empty(codes.max() + 1, np.int64), int(grid[-1]).bit_length()

    def walk(rows: Rows, final: bool) -> Array:  # noqa: ARG001
        is_open = np.zeros(len(rows.targets), bool)
        n_leads = min(len(slots), rows.items.shape[1])
        room = word_rows(shape[1] + 2 * n_digits + n_leads * (n_digits + 1))
        count_nested(rows, split, codes, grid, counters, room, slots, is_open)
        return is_open

    left = deepened(walk, neighbors, asked, lists.cut(asked, lists.items.shape[1]), False)
    check_lists_end_late(left, neighbors, int(grid[-1]))
    return unpack_table(counters, BITS, shape)[:, :, [*order, -1]]
