"""Nested runs: inner and outer scores of every candidate, and the choice within every training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._labels import EncodedLabels
from .._parallel import for_each
from .._typing import Array
from .._validation import check_integer
from ..designs import KFold, LeaveOut, StratifiedKFold, as_design
from ..driver import ScoringProblem, all_lists, first_depth, search_lists, usable_lengths
from ..kernel.words import BITS, WORDS, spread_bits, word_rows
from ..neighbors import NeighborLists, Neighbors
from ..runs import Planes, Runs, pack
from ._nested_walk import count_nested, draw_inner, masks_of

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

    def check(self, problem: ScoringProblem, n_neighbors: int) -> None:
        """Raise ValueError if a training set has too few samples for these folds, or for this K."""
        least = problem.smallest_train
        check_integer("inner", self.n_folds, 1, least, "the size of the smallest training set")
        held_out = 1 if self.n_folds == 1 else -(-least // self.n_folds)
        size = least - held_out
        limit = "the size of the smallest training set without the samples left out of it"
        check_integer("n_neighbors", n_neighbors, 1, size, limit)

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
    labels = problem.labels
    depth = first_depth(problem, sources[0], TOLERANCE)
    if inner.n_folds > 1:
        depth = depth * inner.n_folds // (inner.n_folds - 1) + 1
    lists = [all_lists(near, min(depth, near.max_depth), n_jobs) for near in sources]
    shape = runs.n_runs, runs.n_folds
    found = NestedRuns(
        np.empty(shape, np.int64), np.empty(shape), np.empty((*shape, len(sources) * len(n_neighbors)))
    )

    def one(block: int) -> None:
        planes, rows = runs.planes(block), runs.rows(block)
        n_runs = rows.stop - rows.start
        wanted = pack(np.ones((n_runs, 1), np.int32), False).bits[0, 0]
        for fold in range(runs.n_folds):
            train, test = split_masks(planes, fold)
            train &= wanted
            test &= wanted
            folds = inner_folds(inner, train, labels, inner_seed(runs, block, fold))
            counts = [
                right_answers(near, of_all, train, test, folds, inner, labels, n_neighbors)[:n_runs]
                for near, of_all in zip(sources, lists, strict=True)
            ]
            shares = np.concatenate([right[..., :-1] / right[..., -1:] for right in counts], axis=2)
            inside = shares[:, :-1].swapaxes(1, 2).copy().mean(axis=2)  # as scikit-learn, digit by digit
            chosen = inside.argmax(axis=1)
            found.chosen[rows, fold] = chosen
            found.best[rows, fold] = inside[np.arange(n_runs), chosen]
            found.outer[rows, fold] = shares[:, -1]

    with np.errstate(over="ignore"):  # without compilation, random numbers overflow
        one(0)  # compiles
        for_each(one, range(1, runs.n_blocks), n_jobs)
    return found


def inner_seed(runs: Runs, block: int, fold: int) -> int:
    """The seed of the inner folds of a block; that of its runs ends with two numbers."""
    mixed = np.random.SeedSequence([runs.seed, block, fold + 1]).generate_state(1, np.uint64)[0]
    return int(mixed >> np.uint64(1))


def split_masks(planes: Planes, fold: int) -> tuple[Array, Array]:
    """The runs in which every sample trains, and in which it is tested, for one fold."""
    n_digits = planes.bits.shape[1]
    bits = planes.bits.reshape(-1, WORDS)
    if not planes.folded:
        return masks_of(bits, n_digits, 0), masks_of(bits, n_digits, 1)
    test = masks_of(bits, n_digits, fold)
    train: Array = np.invert(test, out=word_rows(len(test)))
    return train, test


def inner_folds(inner: Inner, train: Array, labels: EncodedLabels, seed: int) -> Array:
    """The digits of the inner folds of the training samples."""
    strata = labels.codes if inner.stratified else np.zeros_like(labels.codes)
    if inner.n_folds == 1:
        folds: Array = word_rows(0)
    else:
        n_strata, n_folds = len(labels.classes), inner.n_folds
        folds = draw_inner(train, strata, n_strata, n_folds, inner.n_digits, inner.shuffled, seed)
    return folds


def right_answers(
    neighbors: Neighbors,
    lists: NeighborLists,
    train: Array,
    test: Array,
    folds: Array,
    inner: Inner,
    labels: EncodedLabels,
    n_neighbors: list[int],
) -> Array:
    """Right answers of every K in 512 runs, (512, n_folds + 1, n_K + 1): the last fold is the test set.

    The last column is the number of samples. Lists that are too short for some run are searched deeper.
    """
    grid, order = np.unique(n_neighbors, return_inverse=True)
    shape = inner.n_folds + 1, len(grid) + 1
    n_levels = neighbors.n_items.bit_length()
    counters = word_rows(shape[0] * shape[1] * n_levels)
    rows, some = np.arange(neighbors.n_items), lists
    while True:
        is_open = np.zeros(len(rows), bool)
        count_nested(
            some.items, usable_lengths(some, neighbors, False), rows, train, test, folds, inner.n_digits,
            inner.n_folds, labels.codes, len(labels.classes), grid, counters, n_levels, is_open,
        )  # fmt: skip
        rows, depth = rows[is_open], some.items.shape[1]
        if not len(rows):
            break
        if depth >= neighbors.max_depth:
            msg = (
                f"give longer neighbor lists: those of {len(rows)} samples, such as sample {rows[0]}, end "
                f"before {grid[-1]} training samples; they have {depth} neighbors"
            )
            raise ValueError(msg)
        some = search_lists(neighbors, rows, min(2 * depth, neighbors.max_depth), 1)
    out = np.zeros((shape[0] * shape[1], BITS), np.int64)
    for at, numbers in enumerate(out):
        spread_bits(counters, at * n_levels, n_levels, numbers)
    return out.T.reshape(BITS, *shape)[:, :, [*order, -1]]
