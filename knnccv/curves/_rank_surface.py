"""The surface of rank scoring over stratified training sets: all R and all designs in one pass.

`_search.ahead` says which samples are nearer than those of the own class, `_rank_curves` what follows for
every R. Where few neighbors decide, sorted lists are read; samples for which these end too early, and
questions that need deep lists, look at all other samples, which are not sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._parallel import ExecutorLike, WorkerPool, stop_flag
from .._typing import Array
from ..driver import ScoringProblem, announce_profile, usable_lengths
from ..kernel import jit, profile_of
from ..neighbors import NeighborLists, Neighbors
from ..neighbors._engines.count_nearer import (
    LEAST_SHIFT,
    count_ahead,
    count_listed,
    set_stops,
    slack_of,
    squared_distance,
)
from ..sampling import expected_position, fixed_tail, rounding_allowance
from ._rank_curves import Strata, add_curve, strata_of

CHUNK = 128
BLOCK_BYTES = 2**23


@jit
def _add_item(  # type: ignore[no-untyped-def]
    n_stops, sizes, ahead, tied, listed, own, weights, strata, missing, floor, last_chance, one, out
):
    """Add a sample to ``out`` (n_designs, 2, R + 1), unless more of it is unknown than may be missing."""
    one[:] = 0.0
    unknown = 0.0
    for design in range(len(weights)):
        weight = weights[design, own]
        if weight > 0:
            rest = add_curve(
                n_stops,
                sizes,
                ahead,
                tied,
                listed,
                own,
                weight,
                design,
                strata,
                missing,
                floor,
                one[design, 0],
                one[design, 1],
            )
            unknown = max(unknown, rest)
    if unknown > missing and not last_chance:
        return False
    out += one
    return True


@jit
def _add_listed(  # type: ignore[no-untyped-def]
    items,
    values,
    lengths,
    rows,
    classes,
    weights,
    strata,
    average_ties,
    missing,
    floor,
    last_chance,
    out,
    stop,
):
    """Add the samples in `rows` by their lists, until ``stop[0]``; which of them were not settled."""
    n_classes = len(strata.counts)
    n_stops = 0
    most = 0
    for r in range(len(rows)):
        own = classes[rows[r]]
        n_stops = 0
        for i in range(lengths[r]):
            n_stops += classes[items[r, i]] == own
        most = max(most, n_stops)
    ahead = np.zeros((most + 1, n_classes), np.int64)
    tied = np.zeros((most + 1, n_classes), np.int64)
    sizes = np.zeros(most + 1, np.int64)
    one = np.zeros(out.shape)
    left = np.zeros(len(rows), np.bool_)
    for r in range(len(rows)):
        if stop[0]:
            break
        own = classes[rows[r]]
        ahead[:] = 0
        tied[:] = 0
        n_stops = count_listed(
            items[r], values[r], lengths[r], classes, own, average_ties, sizes, ahead, tied
        )
        listed = lengths[r] < len(classes) - 1
        left[r] = not _add_item(
            n_stops, sizes, ahead, tied, listed, own, weights, strata, missing, floor, last_chance, one, out
        )
    return left


@jit
def _add_compared(  # type: ignore[no-untyped-def]
    values,
    scale,
    slacks,
    items,
    data,
    rows,
    classes,
    members,
    starts,
    limits,
    weights,
    strata,
    average_ties,
    missing,
    floor,
    out,
    stop,
):
    """Add the samples in `rows`, whose distances to all are given, exact where there are no `slacks`.

    Ends early once ``stop[0]`` is set.
    """
    n_classes = len(strata.counts)
    most = 0
    for c in range(n_classes):
        most = max(most, starts[c + 1] - starts[c])
    stops, who, sizes = np.empty(2 * most + 1), np.empty(most, np.int64), np.zeros(most, np.int64)
    ahead = np.zeros((most + 1, n_classes), np.int64)
    tied = np.zeros((most + 1, n_classes), np.int64)
    one = np.zeros(out.shape)
    for r in range(len(rows)):
        if stop[0]:
            break
        own = classes[rows[r]]
        others = members[starts[own] : starts[own + 1]]
        others = others[others != rows[r]]
        distances = np.empty(len(others))
        for i in range(len(others)):
            if len(slacks) > 0:
                distances[i] = squared_distance(data, rows[r], others[i])
            else:
                distances[i] = values[r, others[i]]
        n_stops = set_stops(distances, others, limits[own], average_ties, stops, who, sizes)
        ahead[: n_stops + 1] = 0
        tied[: n_stops + 1] = 0
        if n_stops > 0:
            slack = slacks[r] if len(slacks) > 0 else 0.0
            count_ahead(
                values[r],
                scale,
                slack,
                items,
                data,
                rows[r],
                stops,
                who,
                n_stops,
                classes,
                own,
                average_ties,
                ahead,
                tied,
            )
        _add_item(n_stops, sizes, ahead, tied, False, own, weights, strata, missing, floor, True, one, out)


@dataclass(frozen=True)
class RankPass:
    """The curves of some samples; sent to the workers.

    ``depth`` is that of the lists, or 0 to compare with all. `members`, cut by ``starts``, are the samples
    by class, of which the nearest ``limits`` can matter.
    """

    neighbors: Neighbors
    rows: Array
    classes: Array
    members: Array
    starts: Array
    limits: Array
    weights: Array
    strata: Strata
    top: int
    average_ties: bool
    missing: float
    floor: float
    depth: int
    last_chance: bool

    def compile(self) -> None:
        """Nothing here needs to be compiled before it is called."""

    def __call__(self, rows: Array, keep_lists: bool) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk, if wanted, its share of the curves, and its samples that are left over.

        `rows` holds the number of one chunk.
        """
        chunk = self.chunk(int(rows[0]))
        out = np.zeros((len(self.weights), 2, self.top + 2))
        if self.depth == 0:
            self._compare(chunk, out)
            return None, out, chunk[:0]
        lists = self.neighbors.search(chunk, self.depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        left = _add_listed(
            lists.items,
            lists.values,
            lengths,
            chunk,
            self.classes,
            self.weights,
            self.strata,
            self.average_ties,
            self.missing,
            self.floor,
            self.last_chance,
            out,
            stop_flag(),
        )
        return lists if keep_lists else None, out, chunk[left]

    def _compare(self, chunk: Array, out: Array) -> None:
        size = max(BLOCK_BYTES // (8 * self.neighbors.n_items), 16)
        proposer = self.neighbors.proposer()
        for start in range(0, len(chunk), size):
            rows = chunk[start : start + size]
            if proposer is not None and proposer[0].shift > LEAST_SHIFT:
                search, data = proposer
                places = search.rows[rows]
                values = search.turned(places) @ search.factors.T
                items, slacks, scale = search.items, slack_of(search, places), 4.0**search.shift
            else:
                values, data = self.neighbors.values(rows), np.empty((0, 0))
                items, slacks, scale = np.arange(values.shape[1], dtype=np.int32), np.empty(0), 1.0
            _add_compared(
                values,
                scale,
                slacks,
                items,
                data,
                rows,
                self.classes,
                self.members,
                self.starts,
                self.limits,
                self.weights,
                self.strata,
                self.average_ties,
                self.missing,
                self.floor,
                out,
                stop_flag(),
            )

    def chunk(self, number: int) -> Array:
        """The rows that are summed together, whoever works on them."""
        return self.rows[number * CHUNK : (number + 1) * CHUNK]


def serves(question: ScoringProblem) -> bool:
    """Whether this is rank scoring of stratified training sets."""
    kind = question.kinds[0]
    return (
        profile_of(question.variant, question.parameters) == "rank"
        and kind.stratified
        and kind.n_extra == 0
    )


def rank_surface(
    questions: list[ScoringProblem],
    neighbors: Neighbors,
    nearest: Array,
    tol: float,
    keep: bool,
    n_jobs: int | None,
    executor: ExecutorLike | None,
    progress: bool,
) -> tuple[Array, Array]:
    """Scores and bounds (n_rows, n_columns), a question for every column, for the R in `nearest`."""
    labels = questions[0].labels
    n_items = neighbors.n_items
    n_train = np.array([question.kinds[0].n_train for question in questions])
    most = int(nearest.max())
    weights = np.array([[float(w) for w in question.item_weights[0]] for question in questions])
    work = RankPass(
        neighbors,
        np.arange(n_items),
        labels.codes,
        np.argsort(labels.codes, kind="stable"),
        np.concatenate([[0], np.cumsum(labels.counts)]),
        _limits(n_train, labels.counts, tol / 8),
        weights,
        strata_of(n_train, labels.counts.astype(np.int64), most - 1),
        most - 1,
        questions[0].ties == "random",
        tol / 2,
        max(tol, 1e-15) * 1e-8 / (most * (1 + len(labels.counts))),
        _first_depth(questions, neighbors, nearest, tol),
        last_chance=False,
    )
    found = np.zeros((len(questions), 2, most + 1))
    n_chunks = 0
    rows = neighbors.visiting_order(np.arange(n_items), max(work.depth, 1))
    while len(rows):
        settles = work.depth in (0, neighbors.max_depth)
        lasting = neighbors if executor is None else neighbors.for_workers(max(work.depth, 1))
        work = replace(work, neighbors=lasting, rows=rows, last_chance=settles)
        if executor is None and work.depth and len(rows) == n_items:
            neighbors.search_all(work.depth, n_jobs=n_jobs, progress=progress)
        chunks = np.arange(-(-len(rows) // CHUNK))
        n_chunks += len(chunks)
        cache = neighbors.room(work.depth) if keep and work.depth and len(rows) == n_items else None
        left = []
        with WorkerPool(work, n_jobs=n_jobs, executor=executor, progress=progress, unit="chunk") as workers:
            if work.average_ties:
                if len(rows) == n_items:
                    announce_profile(work, questions[0], workers.n_workers)
                workers.stand_apart()
            for number, (lists, part, over) in workers.map(chunks, 1, cache is not None):
                found += part
                left.append(over)
                if cache is not None and lists is not None:
                    cache.put(work.chunk(int(number[0])), lists)
        if cache is not None:
            neighbors.store(cache)
        rows = np.concatenate(left)
        work = replace(work, depth=0 if neighbors.sees_all else neighbors.max_depth)
    by_r = np.cumsum(found[:, :, :-1], axis=2)
    scores, bounds = np.empty((2, *nearest.shape))
    for column, question in enumerate(questions):
        size = sum(question.kinds[0].n_train)
        for row, k in enumerate(nearest[:, column]):
            walked = expected_position(n_items - 1, size, int(k)) + (n_items + n_chunks) / 2
            scores[row, column] = by_r[column, 0, k - 1]
            unknown = by_r[column, 1, k - 1] + found[column, 1, -1]
            bounds[row, column] = unknown + rounding_allowance(int(k), walked, 1.0)
    return scores, bounds


def _first_depth(questions: list[ScoringProblem], neighbors: Neighbors, nearest: Array, tol: float) -> int:
    """The depth of lists that will do for most samples, or 0 where a look at all samples costs less."""
    depth = 1
    n_available = neighbors.n_items - 1
    for question, ks in zip(questions, nearest.T, strict=True):
        tail = fixed_tail(n_available, sum(question.kinds[0].n_train), int(ks.max()))
        depth = max(depth, int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available)
    # One more position tells whether a tied group goes on beyond the list.
    depth = min(depth + 1, neighbors.max_depth)
    return 0 if neighbors.sees_all and not neighbors.serves_cheaply(depth) else depth


def _limits(n_train: Array, counts: Array, missing: float) -> Array:
    """Per class, after how many own samples none of them being in the training set is negligible."""
    limits = np.zeros(len(counts), np.int64)
    for drawn in n_train:
        for c, (n, count) in enumerate(zip(drawn.tolist(), counts.tolist(), strict=True)):
            none, i = 1.0, 0
            while n and i < count - 1 and none > missing:
                none *= max(count - 1 - i - n, 0) / (count - 1 - i)
                i += 1
            limits[c] = max(limits[c], i)
    return limits
