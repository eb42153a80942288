# mypy: allow-untyped-defs
"""The exact scores of a pool, and of the pool without each candidate, in one pass.

`PoolLists` has the nearest candidates of every sample; they are searched again when few are left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from .._base.labels import EncodedLabels
from .._base.parallel import for_each
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import Block, ScoringProblem, usable_lengths
from .._core.driver.influence import ReducedKind, reduced_kind
from ..designs import GroupTrainingSets, TrainingSets
from ..kernel import jit
from ..neighbors import NeighborLists, Neighbors, within

SPARE = 4
"""Lists are this many times as long as needed, so that they serve until the pool is that much smaller."""
BLOCK = 2048


def candidates_of(lists: NeighborLists, rows: Array, kept: Array, most: int) -> NeighborLists:
    """The lists of the rows without samples that are not kept, down to `most` of them and their ties."""
    return within(lists, rows, kept[None], np.zeros(len(rows), np.int64), np.ones(len(rows), bool), most)


class PoolLists:
    """The nearest candidates of every sample; the pool only shrinks.

    Each list is a beginning of the sample's order of the pool, and ends before a tied group that may go on.

    Parameters
    ----------
    neighbors : Neighbors
    average_ties : bool
    n_jobs : int, optional

    Attributes
    ----------
    ends : bool ndarray of shape (n_items,)
        Whether no deeper lists exist.
    """

    def __init__(self, neighbors: Neighbors, average_ties: bool, n_jobs: int | None) -> None:
        self._neighbors = neighbors
        self._average_ties = average_ties
        self._n_jobs = n_jobs
        self._lists = NeighborLists.empty(neighbors.n_items, 0)
        self.ends = np.zeros(neighbors.n_items, bool)

    def of(self, rows: Array, kept: Array, most: int) -> NeighborLists:
        """The candidates of the rows: at most `most`, except that a tied group is whole."""
        found = candidates_of(self._lists, rows, kept, most)
        width = max(int(found.lengths.max(initial=0)), 1)
        items, values = (np.ascontiguousarray(each[:, :width]) for each in (found.items, found.values))
        return replace(found, items=items, values=values)

    def deepen(self, rows: Array, pool: Array, wanted: int) -> None:
        """Search the rows again, for about the `wanted` nearest candidates of the pool.

        Parameters
        ----------
        rows : int64 ndarray of shape (n_rows,)
        pool : bool ndarray of shape (n_items,)
            The samples of the pool; later pools must be parts of it.
        wanted : int
            At least 1.
        """
        n_items, n_pool = len(pool), int(pool.sum())
        want = min(wanted, n_pool)
        depth = ceil(1.1 * want * n_items / n_pool) + 8 if n_pool < n_items else want + 1
        near, stored = self._neighbors, self._lists
        depth = min(depth, near.max_depth)
        width = min(depth, n_pool)
        more = width - stored.items.shape[1]
        if more > 0:
            stored.items = np.pad(stored.items, ((0, 0), (0, more)))
            stored.values = np.pad(stored.values, ((0, 0), (0, more)))
        near.prepare(depth)
        if len(rows) == n_items:
            near.search_all(depth, n_jobs=self._n_jobs)

        def fill(block: Array) -> None:
            lists = near.search(block, depth)
            lists.lengths = usable_lengths(lists, near, self._average_ties)
            found = candidates_of(lists, np.arange(len(block)), pool, depth)
            stored.lengths[block] = found.lengths
            stored.items[block, :width] = found.items[:, :width]
            stored.values[block, :width] = found.values[:, :width]

        size = near.rows_at_once(depth)
        for_each(fill, [rows[start : start + size] for start in range(0, len(rows), size)], self._n_jobs)
        self.ends[rows] = depth >= near.max_depth


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
        msg = f"condense draws single samples from the pool, got cv={problem.design!r}"
        check(not isinstance(kind, GroupTrainingSets), msg)
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
            problem.variant.check(replace(problem.task(kind), held_out=held_out), **problem.parameters)
    return kinds


def try_kinds(problem: ScoringProblem, counts: Array) -> tuple[TrainingSets, ...] | None:
    """`kinds_within`, or None if the design cannot draw training sets from such a pool."""
    try:
        return kinds_within(problem, counts)
    except ValueError:
        return None


class Laws(NamedTuple):
    """How training sets are drawn from a pool, for tested samples in the pool or outside it.

    Each kind has its probability as its weight. Of a pool without a sample, ``owners`` (n_items,) are 0 for
    the samples that it may be.
    """

    inside: tuple[ReducedKind, ...]
    outside: tuple[ReducedKind, ...]
    owners: Array


def laws_of(
    problem: ScoringProblem, kinds: tuple[TrainingSets, ...], owners: Array, removed: int | None = None
) -> Laws:
    """The laws of these kinds; `removed` is the class of a missing sample, -1 for any, None if none is."""

    def law(kind: TrainingSets, held_out: int) -> ReducedKind:
        missing = -1 if removed is not None and not kind.stratified else removed
        weights = np.full((1, len(problem.labels.classes)), float(kind.probability))
        return reduced_kind(problem, replace(problem.task(kind), held_out=held_out), missing, weights)

    inside, outside = (tuple(law(kind, held_out) for kind in kinds) for held_out in (1, 0))
    return Laws(inside, outside, owners)


class PoolScore(NamedTuple):
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


@jit
def add_changes(items, lengths, changes, weights, totals):
    """Add the weighted changes of rows, in their order, to those of the listed samples."""
    for r in range(len(lengths)):
        for i in range(lengths[r]):
            totals[items[r, i]] += weights[r] * changes[r, i]


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
        labels, n_items = problem.labels, neighbors.n_items
        by_class = len(labels.classes) * labels.counts[labels.codes]
        self._weights = 1.0 / (by_class if problem.average == "class" else np.full(n_items, n_items))
        self._pool = np.ones(len(self._codes), bool)

    def shrink_to(self, kept: Array) -> None:
        """Declare that all later pools are parts of this one, a bool array of shape (n_items,)."""
        self._pool = kept

    def nearest(self, kept: Array, n: int) -> Array:
        """The n nearest listed candidates of every sample, int32 (n_items, n); -1 where there are fewer."""
        lists = self._lists.of(np.arange(len(kept)), kept, n)
        width = min(n, lists.items.shape[1])
        near = np.full((len(kept), n), -1, np.int32)
        known = np.arange(width) < lists.lengths[:, None]
        near[:, :width] = np.where(known, lists.items[:, :width], -1)
        return near

    def score(self, kept: Array) -> PoolScore | None:
        """Score a pool, a bool array of shape (n_items,); None if it has no training sets of the design."""
        problem, codes = self._problem, self._codes
        n_items = len(codes)
        counts = np.bincount(codes[kept], minlength=len(problem.labels.classes))
        kinds = try_kinds(problem, counts)
        if kinds is None:
            return None
        whole = laws_of(problem, kinds, np.full(n_items, -1))
        parts = tuple(self._parts(kept, counts, stratified=any(kind.stratified for kind in kinds)))
        table, totals = np.zeros((2 + 2 * len(parts), n_items)), np.zeros(n_items)
        rows = np.arange(n_items)
        needed = most = max(2, *(law.first_depth(self._tol) for law in whole.inside))
        wanted = 0
        while len(rows):
            again = []
            for some, (lists, changes, found) in self._blocks(kept, (whole, *parts), rows, most):
                done = found[1] <= self._tol / 2
                done |= self._lists.ends[some] & (lists.lengths < most)
                again.append(some[~done])
                at = some[done]
                table[:, at] = found[:, done]
                add_changes(
                    lists.items[done], lists.lengths[done], changes[done], self._weights[at], totals
                )
            rows = np.concatenate(again)
            most, wanted = self._next_depth(rows, kept, needed, most, wanted)
        weights, (per_item, tails) = self._weights, table[:2]
        without = np.full(n_items, np.nan)
        for part, base, alone in zip(parts, table[2::2], table[3::2], strict=True):
            at = np.flatnonzero(kept & (part.owners == 0))
            without[at] = (weights @ base) + totals[at] + weights[at] * (alone[at] - base[at])
        bound = float(weights @ tails) * problem.largest
        return PoolScore(float(weights @ per_item), per_item, without, bound)

    def _next_depth(self, rows: Array, kept: Array, needed: int, most: int, wanted: int) -> tuple[int, int]:
        """Read more of the lists of these rows, or search deeper ones for those that have no more."""
        if not len(rows):
            return most, wanted
        lists = self._lists.of(rows, kept, 2**31)
        short = rows[(lists.lengths < most) & ~self._lists.ends[rows]]
        if len(short):
            known = self._lists.of(short, self._pool, 2**31).lengths
            wanted = max(SPARE * needed, 2 * int(known.max()), 2 * wanted)
            self._lists.deepen(short, self._pool, wanted)
            return most, wanted
        return 2 * most, wanted

    def _parts(self, kept: Array, counts: Array, *, stratified: bool) -> Iterable[Laws]:
        """The laws without a sample: once, or for each class if the design is stratified."""
        problem, codes = self._problem, self._codes
        for c in range(len(counts)) if stratified else [int(codes[kept].max())]:
            fewer = counts.copy()
            fewer[c] -= 1
            kinds = try_kinds(problem, fewer)
            if kinds is not None:
                owners = np.where(codes == c, 0, -1) if stratified else np.zeros(len(codes), np.int64)
                yield laws_of(problem, kinds, owners, c if stratified else -1)

    def _blocks(
        self, kept: Array, laws: tuple[Laws, ...], rows: Array, most: int
    ) -> Iterable[tuple[Array, tuple[NeighborLists, Array, Array]]]:
        """Blocks of the rows, and the results of each."""
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        found: list[Any] = [None] * len(blocks)

        def fill(place: int) -> None:
            found[place] = self._score_block(kept, laws, blocks[place], most)

        for_each(fill, range(len(blocks)), self._n_jobs)
        return zip(blocks, found, strict=True)

    def _score_block(
        self, kept: Array, laws: tuple[Laws, ...], rows: Array, most: int
    ) -> tuple[NeighborLists, Array, Array]:
        """Lists, changes without each of their samples, and a table (2 + 2 n_parts, n_rows).

        The table has the scores and the tails, and for each part the scores without an unlisted candidate
        and those without the tested sample.
        """
        whole, *parts = laws
        lists = self._lists.of(rows, kept, most)
        block = Block(lists, lists.lengths, rows, self._labels, self._average_ties)
        changes, table = np.zeros(lists.items.shape), np.zeros((2 + 2 * len(parts), len(rows)))
        scores, tails = table[:2]
        for is_in in (False, True):
            at = np.flatnonzero(kept[rows] == is_in)
            if not len(at):
                continue
            some = block.cut(at)
            for law in whole.inside if is_in else whole.outside:
                scores[at] += law.weights[0, 0] * law.part.scores(some)
                tails[at] = np.maximum(tails[at], law.tails(some, shorter=False))
            for part, bases, own in zip(parts, table[2::2], table[3::2], strict=True):
                for law in part.inside if is_in else part.outside:
                    base, change = law.changes(some, part.owners)
                    bases[at] += law.weights[0, 0] * base
                    changes[at] += change
                    tails[at] = np.maximum(tails[at], law.tails(some, shorter=True))
                if is_in:
                    mine = at[part.owners[some.rows] == 0]
                    for law in part.outside:
                        own[mine] += law.weights[0, 0] * law.part.scores(block.cut(mine))
        return lists, changes, table
