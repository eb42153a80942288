"""Nested runs: inner and outer scores of every candidate, and the choice within every training set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import for_each
from .._typing import Array
from ..designs import KFold, LeaveOut, StratifiedKFold, as_design
from ..driver import Rows, ScoringProblem, all_lists, first_depth
from ..kernel.random import scramble
from ..kernel.words import word_rows
from ..neighbors import NeighborLists, Neighbors
from ..runs import Planes, Runs, check_lists_end_late, deepened, pack, spread
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
    """

    n_folds: int = 1
    stratified: bool = False
    shuffled: bool = True

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
        """The binary digits of the number of a fold; none if one sample is left out."""
        return (self.n_folds - 1).bit_length()

    def in_words(self) -> str:
        """The split in words."""
        if self.n_folds == 1:
            return "leave-one-out"
        return f"{'stratified ' if self.stratified else ''}{self.n_folds}-fold cross-validation"


class NestedRuns(NamedTuple):
    """What nested runs found; the candidates are numbers of neighbors, list by list.

    ``chosen`` (n_runs, n_folds) is the candidate of the best inner score, the first of equals; ``best`` the
    inner score, ``outer`` (n_runs, n_folds, n_candidates) the share of right answers in the test set.
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
    n_jobs: int | None,
) -> NestedRuns:
    """Score all candidates inside and outside of every training set of the runs, and choose.

    ``problem`` has the largest K. Every source of neighbors with every K is a candidate.

    Raises
    ------
    ValueError
        If given neighbor lists are too short.
    """
    depth = first_depth(problem, sources[0], TOLERANCE)
    if inner.n_folds > 1:
        depth = depth * inner.n_folds // (inner.n_folds - 1) + 1
    lists = [all_lists(near, min(depth, near.max_depth), n_jobs) for near in sources]
    codes, n_k = problem.labels.codes, len(n_neighbors)
    inside, outer = np.empty((2, runs.n_runs, runs.n_folds, len(sources) * n_k))

    planes = lru_cache(4)(runs.planes)

    @lru_cache(4)
    def split(block: int, fold: int) -> Split:
        return split_of(planes(block), runs, block, fold, inner, problem.labels)

    def one(piece: tuple[int, ...]) -> None:
        block, fold, at = piece
        rows = runs.rows(block)
        found = right_answers(sources[at], lists[at], split(block, fold), codes, n_neighbors)
        right = found[: rows.stop - rows.start]
        shares = right[:, :, :-1] / right[:, :, -1:]
        mine = rows, fold, slice(at * n_k, (at + 1) * n_k)
        inside[mine] = shares[:, :-1].swapaxes(1, 2).copy().mean(axis=2)  # as scikit-learn, digit by digit
        outer[mine] = shares[:, -1]

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
    return folds


def right_answers(
    neighbors: Neighbors, lists: NeighborLists, split: Split, codes: Array, n_neighbors: list[int]
) -> Array:
    """Right answers of every K in 512 runs, (512, n_folds + 1, n_K + 1): the last fold is the test set.

    The last column is the number of samples. Lists that are too short for some run are searched deeper.
    """
    grid, order = np.unique(n_neighbors, return_inverse=True)
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

    left = deepened(walk, neighbors, np.arange(neighbors.n_items), lists, False)
    check_lists_end_late(left, neighbors, int(grid[-1]))
    return spread(counters, shape, n_levels)[:, :, [*order, -1]]
