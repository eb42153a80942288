"""The exact scores of a pool, and of the pool without each candidate, in one pass; and the search.

A `Law` is one kind of the training sets that are drawn from the pool, with the kernels that score samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types

from .._labels import EncodedLabels
from .._parallel import for_each
from .._typing import Array
from ..designs import GroupTrainingSets, TrainingSets
from ..driver import Block, ScoringProblem
from ..influence import RemovalKernels, removal_kernels
from ..kernel import Task, compile_driver, jit
from ..neighbors import NeighborLists, Neighbors
from ._condense_lists import SPARE, PoolLists


def kinds_within(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...]:
    """The kinds of training sets that the design draws from a pool with these numbers of samples per class.

    Raises
    ------
    ValueError
        If it cannot: every class, or the pool, must have a sample that is not drawn.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    kinds = problem.design.training_sets(EncodedLabels(codes, problem.labels.classes, counts))
    for kind in kinds:
        if isinstance(kind, GroupTrainingSets):
            msg = f"condense draws single samples from the pool, got cv={problem.design!r}"
            raise ValueError(msg)
        for stratum, (count, n_train) in enumerate(zip(kind.counts, kind.n_train, strict=True)):
            most = n_train + (kind.n_extra > 0 and stratum in kind.extra)
            if count and most >= count:
                name = problem.labels.classes.tolist()[stratum]
                whole = f"class {name!r}" if kind.stratified else "the pool"
                msg = (
                    f"{problem.design!r} draws all {count} samples of {whole}; each of them is tested with "
                    "training sets of the others, so at least one must be left"
                )
                raise ValueError(msg)
        for held_out in (0, 1):
            problem.variant.check(_task(problem, kind, held_out), **problem.parameters)
    return kinds


def try_kinds(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...] | None:
    """`kinds_within`, or None if the design cannot draw training sets from such a pool."""
    try:
        return kinds_within(problem, counts)
    except ValueError:
        return None


def _task(problem: ScoringProblem, kind: TrainingSets, held_out: int) -> Task:
    return Task(
        kind.n_train,
        kind.counts,
        kind.stratified,
        held_out=held_out,
        n_classes=len(problem.labels.classes),
        extra=kind.extra,
        n_extra=kind.n_extra,
    )


@dataclass(frozen=True)
class Law:
    """One kind of training sets drawn from a pool, for tested samples in the pool, or outside it.

    Attributes
    ----------
    probability : float
        The share of this kind.
    kernels : RemovalKernels
        The kernels of the rule for these training sets, with or without a listed sample.
    """

    probability: float
    kernels: RemovalKernels

    def scores(self, block: Block) -> Array:
        """Expected score of every row, shape (n_rows,)."""
        return self.kernels.part.scores(block)

    def changes(self, block: Block, owners: Array) -> tuple[Array, Array]:
        """The score of every row without a candidate beyond its list, and its change without a listed one.

        `owners` (n_items,) are 0 for the samples whose removal counts. Shapes (n_rows,), (n_rows, depth).
        """
        changes, bases = np.zeros(block.lists.items.shape), np.zeros(len(block.rows))
        removal = self.kernels.removal(0, 0, np.ones((1, self.kernels.task.n_classes)))
        removal.add(block, owners, changes, bases[None], np.zeros(len(bases), np.int64))
        return bases, changes

    def tails(self, block: Block, *, shorter: bool) -> Array:
        """The probability that the listed candidates do not decide, shape (n_rows,).

        With `shorter`, that they do not if one of them is removed.
        """
        lists, lengths, rows, labels, *_ = block
        return self.kernels.tails(lists, lengths, rows, labels, shorter=shorter)


def laws_of(
    problem: ScoringProblem, kinds: tuple[TrainingSets, ...], held_out: int, removed: int | None = None
) -> tuple[Law, ...]:
    """The laws of all kinds, for a tested sample in the pool (`held_out` 1) or not (0).

    `removed` is the class of a sample that is missing in the counts of the kinds, None if none is.
    """
    laws = []
    for kind in kinds:
        missing = -1 if removed is not None and not kind.stratified else removed
        kernels = removal_kernels(problem, _task(problem, kind, held_out), missing)
        laws.append(Law(float(kind.probability), kernels))
    return tuple(laws)


BLOCK = 2048


@dataclass(frozen=True)
class PoolScore:
    """The score of a pool of candidates.

    Attributes
    ----------
    score : float
        The weighted mean of the samples' scores.
    per_item : float64 ndarray of shape (n_items,)
        The expected score of every sample, in the pool or not.
    without : float64 ndarray of shape (n_items,)
        The score of the pool without each of its samples; NaN for the other samples, and for those without
        which the design has no training sets.
    error_bound : float
        Bound of the error of the scores from lists that end too early.
    """

    score: float
    per_item: Array
    without: Array
    error_bound: float


class _Part(NamedTuple):
    """The laws of a pool without one of its samples, whose ``owners`` are 0, for rows in it or not."""

    inside: tuple[Law, ...]
    outside: tuple[Law, ...]
    owners: Array


class _Pool(NamedTuple):
    """A pool ``kept`` (n_items,), its laws, and the parts without one of its samples."""

    kept: Array
    inside: tuple[Law, ...]
    outside: tuple[Law, ...]
    parts: tuple[_Part, ...]


@jit
def add_changes(items, lengths, changes, weights, totals):
    """Add the weighted changes of rows, in their order, to those of the listed samples."""
    for r in range(len(lengths)):
        for i in range(lengths[r]):
            totals[items[r, i]] += weights[r] * changes[r, i]


ADD_CHANGES = types.void(
    types.Array(types.int32, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 1, "C"),
)


class PoolScorer:
    """Scores pools of candidates that shrink.

    Parameters
    ----------
    problem : ScoringProblem
    neighbors : Neighbors
    tol : float
        The largest share of a sample's score that its list may leave undecided, if deeper lists exist.
    n_jobs : int, optional
    """

    def __init__(
        self, problem: ScoringProblem, neighbors: Neighbors, tol: float, n_jobs: int | None
    ) -> None:
        self._problem = problem
        self._labels = problem.kernel_labels()
        self._codes = problem.labels.codes
        self._average_ties = problem.ties == "random"
        self._lists = PoolLists(neighbors, self._average_ties, n_jobs)
        self._tol = tol
        self._n_jobs = n_jobs
        self._weights = item_weights(problem)
        self._pool = np.ones(len(self._codes), bool)

    def shrink_to(self, kept: Array) -> None:
        """Declare that all later pools are parts of this one, a bool array of shape (n_items,)."""
        self._pool = kept

    def allows(self, kept: Array) -> bool:
        """Return True if the design can draw training sets from the pool."""
        codes, n_classes = self._codes[kept], len(self._problem.labels.classes)
        return try_kinds(self._problem, np.bincount(codes, minlength=n_classes)) is not None

    def nearest(self, kept: Array, n: int) -> Array:
        """The n nearest listed candidates of every sample, int32 (n_items, n); -1 where there are fewer."""
        lists = self._lists.of(np.arange(len(kept)), kept, n)
        width = min(n, lists.items.shape[1])
        near = np.full((len(kept), n), -1, np.int32)
        known = np.arange(width) < lists.lengths[:, None]
        near[:, :width] = np.where(known, lists.items[:, :width], -1)
        return near

    def score(self, kept: Array) -> PoolScore:
        """Score a pool, a bool array of shape (n_items,).

        Raises
        ------
        ValueError
            If the design cannot draw training sets from it.
        """
        problem, codes = self._problem, self._codes
        n_items, n_classes = len(codes), len(problem.labels.classes)
        counts = np.bincount(codes[kept], minlength=n_classes)
        kinds = kinds_within(problem, counts)
        inside, outside = laws_of(problem, kinds, 1), laws_of(problem, kinds, 0)
        parts = tuple(self._parts(kept, counts, stratified=any(kind.stratified for kind in kinds)))
        pool = _Pool(kept, inside, outside, parts)
        per_item, tails = np.empty(n_items), np.empty(n_items)
        bases, own = np.zeros((2, len(parts), n_items))
        totals = np.zeros(n_items)
        rows = np.arange(n_items)
        needed = most = max(2, *(law.kernels.first_depth(self._tol) for law in inside))
        wanted = 0
        while len(rows):
            again = []
            for some, found in self._blocks(pool, rows, most):
                lists, scores, part_bases, changes, part_own, tail = found
                done = tail <= self._tol / 2
                done |= self._lists.ends(some) & (lists.lengths < most)
                again.append(some[~done])
                at = some[done]
                per_item[at], tails[at] = scores[done], tail[done]
                bases[:, at], own[:, at] = part_bases[:, done], part_own[:, done]
                add = compile_driver(add_changes, ADD_CHANGES)
                add(lists.items[done], lists.lengths[done], changes[done], self._weights[at], totals)
            rows = np.concatenate(again)
            most, wanted = self._next_depth(rows, kept, needed, most, wanted)
        weights = self._weights
        without = np.full(n_items, np.nan)
        for part, base, alone in zip(parts, bases, own, strict=True):
            at = np.flatnonzero(kept & (part.owners == 0))
            without[at] = (weights @ base) + totals[at] + weights[at] * (alone[at] - base[at])
        bound = float(weights @ tails) * problem.largest
        return PoolScore(float(weights @ per_item), per_item, without, bound)

    def _next_depth(self, rows: Array, kept: Array, needed: int, most: int, wanted: int) -> tuple[int, int]:
        """Read more of the lists of these rows, or search deeper ones for those that have no more."""
        if not len(rows):
            return most, wanted
        lists = self._lists.of(rows, kept, 2**31)
        short = rows[(lists.lengths < most) & ~self._lists.ends(rows)]
        if len(short):
            known = self._lists.of(short, self._pool, 2**31).lengths
            wanted = max(SPARE * needed, 2 * int(known.max()), 2 * wanted)
            self._lists.deepen(short, self._pool, wanted)
            return most, wanted
        return 2 * most, wanted

    def _parts(self, kept: Array, counts: Array, *, stratified: bool) -> Iterable[_Part]:
        """The pool without a sample: once, or for each class if the design is stratified."""
        problem, codes = self._problem, self._codes
        for c in range(len(counts)) if stratified else [int(codes[kept].max())]:
            fewer = counts.copy()
            fewer[c] -= 1
            kinds = try_kinds(problem, fewer)
            if kinds is None:
                continue
            removed = c if stratified else -1
            owners = codes - c if stratified else np.zeros(len(codes), np.int64)
            inside, outside = (laws_of(problem, kinds, held_out, removed) for held_out in (1, 0))
            yield _Part(inside, outside, np.where(owners == 0, 0, -1))

    def _blocks(self, pool: _Pool, rows: Array, most: int) -> Iterable[tuple[Array, Any]]:
        """Blocks of the rows, and the results of each."""
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        found: list[Any] = [None] * len(blocks)

        def fill(place: int) -> None:
            found[place] = self._score_block(pool, blocks[place], most)

        for_each(fill, range(len(blocks)), self._n_jobs)
        return zip(blocks, found, strict=True)

    def _score_block(
        self, pool: _Pool, rows: Array, most: int
    ) -> tuple[NeighborLists, Array, Array, Array, Array, Array]:
        """Lists, scores, scores without an unlisted candidate, changes, scores without itself, tails."""
        kept, inside, outside, parts = pool
        lists = self._lists.of(rows, kept, most)
        whole = Block(lists, lists.lengths, rows, self._labels, self._average_ties)
        scores, tails = np.zeros((2, len(rows)))
        changes = np.zeros(lists.items.shape)
        bases, own = np.zeros((2, len(parts), len(rows)))
        for is_in in (False, True):
            at = np.flatnonzero(kept[rows] == is_in)
            if not len(at):
                continue
            some = whole.cut(at)
            for law in inside if is_in else outside:
                scores[at] += law.probability * law.scores(some)
                tails[at] = np.maximum(tails[at], law.tails(some, shorter=False))
            for p, part in enumerate(parts):
                for law in part.inside if is_in else part.outside:
                    base, change = law.changes(some, part.owners)
                    bases[p, at] += law.probability * base
                    changes[at] += law.probability * change
                    tails[at] = np.maximum(tails[at], law.tails(some, shorter=True))
                if not is_in:
                    continue
                mine = at[part.owners[some.rows] == 0]
                for law in part.outside:
                    own[p, mine] += law.probability * law.scores(whole.cut(mine))
        return lists, scores, bases, changes, own, tails


def item_weights(problem: ScoringProblem) -> Array:
    """The weight of every sample in the score, float64 (n_items,)."""
    labels = problem.labels
    if problem.average == "class":
        weights: Array = 1.0 / (len(labels.classes) * labels.counts[labels.codes])
        return weights
    return np.full(len(labels.codes), 1.0 / len(labels.codes))


SAME = 1e-10
"""Scores that differ by less are equal, since rounding and the ends of lists change them."""
APART = 3
"""No sample of a batch is among that many nearest candidates of another one."""


@dataclass(frozen=True)
class Limits:
    """When the search ends: `tol` below the best score, `n_prototypes`, and `min_per_class` samples."""

    tol: float
    n_prototypes: int
    min_per_class: int


@dataclass(frozen=True)
class Path:
    """What the search did.

    ``removed`` (n_removed,) are the samples in the order of their removal, ``n_kept`` and ``scores``
    (n_steps,) the pools after each batch, the first of all samples. ``last`` is the score of the last pool.
    """

    removed: Array
    n_kept: Array
    scores: Array
    last: PoolScore


@jit
def choose_batch(by_value, gains, near, codes, room, codes_room, budget, size, batch):
    """Fill `batch` with the first samples that may be removed together, and return their number.

    ``by_value`` are samples, the least valuable first; ``near`` (n_items, any) the nearest candidates of
    each, -1 for none. At most `room` samples go, and at most ``codes_room[c]`` of class c. Their gains may
    not sum to less than ``-budget``.
    """
    n_items = len(codes)
    chosen = np.zeros(n_items, np.bool_)
    shut = np.zeros(n_items, np.bool_)
    left = codes_room.copy()
    n_chosen = 0
    total = 0.0
    for j in by_value:
        if n_chosen == min(size, room):
            break
        if left[codes[j]] < 1 or (n_chosen > 0 and shut[j]):
            continue
        apart = True
        for i in near[j]:
            if i >= 0 and chosen[i]:
                apart = False
        if not apart:
            continue
        if total + gains[j] < -budget:
            break
        total += gains[j]
        chosen[j] = True
        left[codes[j]] -= 1
        batch[n_chosen] = j
        n_chosen += 1
        for i in near[j]:
            if i >= 0:
                shut[i] = True
    return n_chosen


_INTEGERS, _FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
CHOOSE_BATCH = types.int64(
    _INTEGERS, _FLOATS, types.Array(types.int32, 2, "C"), _INTEGERS, types.int64, _INTEGERS, types.float64,
    types.int64, _INTEGERS,
)  # fmt: skip


def remove_while_score_holds(
    scorer: PoolScorer, codes: Array, sign: float, limits: Limits, batch_share: float
) -> Path:
    """Remove samples from the pool of all samples.

    Parameters
    ----------
    scorer : PoolScorer
    codes : int64 ndarray of shape (n_items,)
        Classes.
    sign : float
        1 if a larger score is better, -1 if a smaller one is.
    limits : Limits
    batch_share : float
        The largest share of the pool that is removed at once.
    """
    kept = np.ones(len(codes), bool)
    now = scorer.score(kept)
    removed: list[Array] = []
    n_kept, scores = [len(codes)], [now.score]
    best = sign * now.score
    size = most = max(1, int(batch_share * len(codes)))
    batch = np.empty(len(codes), np.int64)
    while True:
        gains = sign * (now.without - now.score)
        allowed = np.flatnonzero(kept & ~np.isnan(gains))
        by_value = allowed[np.argsort(-np.round(gains[allowed] / SAME), kind="stable")]
        left = np.bincount(codes[kept]) - limits.min_per_class
        room = int(kept.sum()) - limits.n_prototypes
        budget = sign * now.score - best + limits.tol + SAME
        near = scorer.nearest(kept, APART)
        choose = compile_driver(choose_batch, CHOOSE_BATCH)
        n = choose(by_value, gains, near, codes, room, left, budget, size, batch)
        if n == 0:
            break
        chosen = batch[:n].copy()
        kept[chosen] = False
        trial = scorer.score(kept) if scorer.allows(kept) else None
        if trial is None or sign * trial.score < best - limits.tol - SAME:
            kept[chosen] = True
            if n == 1:
                break
            size = max(1, n // 2)
            continue
        removed.append(chosen)
        now = trial
        best = max(best, sign * now.score)
        n_kept.append(int(kept.sum()))
        scores.append(now.score)
        scorer.shrink_to(kept.copy())
        most = max(1, int(batch_share * n_kept[-1]))
        size = min(2 * size, most)
    order = np.concatenate(removed) if removed else np.empty(0, np.int64)
    return Path(order, np.array(n_kept), np.array(scores), now)
