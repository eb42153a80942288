"""Nested runs: inner and outer scores of every candidate, and the choice within every training set."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...._base.labels import EncodedLabels
from ...._base.parallel import for_each
from ...._base.typing import Array
from ....designs import KFold, LeaveOut, StratifiedKFold, as_design
from ....kernel.random import scramble
from ....kernel.words import BITS, word_rows
from ....neighbors import NeighborLists, Neighbors
from ...driver import Rows, ScoringProblem, first_depth
from ...luck.runs import Planes, Runs, check_lists_end_late, deepened, item_shares, pack, unpack_table
from ._nested_walk import Split, count_nested, draw_inner

TOLERANCE = 1e-12
"""The share of runs for which the first lists may be too short."""


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
        if type(design) not in (KFold, StratifiedKFold):
            msg = f"inner must be 'loo', a number of folds, KFold(k) or StratifiedKFold(k), got {inner!r}"
            raise ValueError(msg)
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


class NestedRuns(NamedTuple):
    """What nested runs found; the candidates are numbers of neighbors, list by list.

    ``chosen`` (n_runs, n_folds) is the candidate of the best inner score, the first of equals; ``best`` the
    inner score, ``outer`` (n_runs, n_folds, n_candidates) the part of the score of the run that comes from
    the test set: its right answers, by their weights.
    """

    chosen: Array
    best: Array
    outer: Array


def nested_runs(
    problem: ScoringProblem,
    sources: list[Neighbors],
    n_neighbors: list[int],
    inner: Inner,
    runs: Runs,
    by_class: bool,
    n_jobs: int | None,
) -> NestedRuns:
    """Score all candidates inside and outside of every training set of the runs, and choose.

    ``problem`` has the largest K. Every source of neighbors with every K is a candidate. Inner scores are
    means over the classes of a fold if `by_class`.

    Raises
    ------
    ValueError
        If given neighbor lists are too short.
    """
    depth = first_depth(problem, sources[0], TOLERANCE)
    if inner.n_folds > 1:
        depth = depth * inner.n_folds // (inner.n_folds - 1) + 1
    depth = min(depth, *(near.max_depth for near in sources))
    lists = [near.refitted or near.all_lists(depth, n_jobs) for near in sources]
    codes, n_k = problem.labels.codes, len(n_neighbors)
    part_of = codes if by_class else np.zeros_like(codes)
    parts = [np.flatnonzero(part_of == part) for part in range(part_of.max() + 1)]
    weights = item_shares(problem, runs.n_folds)[:, : len(parts), None]  # without classes all are equal
    kinds = np.broadcast_to(runs.kinds, (runs.n_runs, runs.n_folds))
    inside, outer = np.empty((2, runs.n_runs, runs.n_folds, len(sources) * n_k))

    planes = lru_cache(4)(runs.planes)

    @lru_cache(4)
    def split(block: int, fold: int) -> Split:
        return split_of(planes(block), runs, block, fold, inner, problem.labels)

    def counted(near: Neighbors, given: NeighborLists, some: Split) -> Array:
        found = [right_answers(near, given, rows, some, codes, n_neighbors) for rows in parts]
        return np.stack(found, axis=1)

    def one(piece: tuple[int, ...]) -> None:
        block, fold, at = piece
        rows, near, some = runs.rows(block), lists[at], split(block, fold)
        if isinstance(near, NeighborLists):
            found = counted(sources[at], near, some)[: rows.stop - rows.start]
        else:  # distances that are fitted to labels, for every training set anew
            if inner.groups is None:
                msg = (
                    "pass cv=LeaveGroupsOut(groups) with the groups of HVDM.neighbors(groups=...): its "
                    "distances are fitted anew for every training set of groups"
                )
                raise ValueError(msg)
            tested = inner.groups[(runs.folds(block) == 0).argmax(axis=1)]
            anew = enumerate(map(near, tested.tolist()))
            each = (counted(other, other.all_lists(depth), some)[run].copy() for run, other in anew)
            found = np.stack(list(each))
        mine = rows, fold, slice(at * n_k, (at + 1) * n_k)
        with np.errstate(invalid="ignore"):
            shares = np.nanmean(found[:, :, :-1, :-1] / found[:, :, :-1, -1:], axis=1)
        inside[mine] = shares.swapaxes(1, 2).copy().mean(axis=2)  # as scikit-learn, digit by digit
        outer[mine] = (found[:, :, -1, :-1] * weights[kinds[rows, fold]]).sum(axis=1)

    pieces = list(np.ndindex(runs.n_blocks, runs.n_folds, len(sources)))
    one(pieces[0])  # compiles
    for_each(one, pieces[1:], n_jobs)
    return NestedRuns(inside.argmax(axis=2), inside.max(axis=2), outer)


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
