# mypy: allow-untyped-defs
"""The surface of rank-R accuracy over stratified training sets: all R and all designs in one pass.

The samples that are nearer than those of the tested class are counted, and `_rank_curves` computes the
scores for every R. If few neighbors decide, sorted lists are read. Samples whose lists end too early,
and problems that need deep lists, are compared with all other samples, which are not sorted.

Rank-R accuracy depends on one number per class and *stop*: how many samples of that class are nearer than
the stop, which is a sample of the tested sample's class. A binary search puts every other sample between
two stops, so that neither deep lists nor sorted rows are needed.

If matrix products in single precision propose the distances (`matrix_product`), a sample is placed by its
proposal unless rounding could move it past a stop; then it is measured again. The counts and the ties are
those of the exact distances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._parallel import stop_flag
from .._typing import Array
from ..driver import Jobs, ScoringProblem, usable_lengths
from ..kernel import FALSE, TRUE, ZERO, inner, jit, profile_of
from ..neighbors import NeighborLists, Neighbors
from ..sampling import expected_position, fixed_tail, rounding_allowance
from ._profile_surface import ChunkPass, run_chunks
from ._rank_curves import RankSpec, Stops, add_curve, strata_of


class Compared(NamedTuple):
    """The distances of some tested samples to all others.

    ``values``
        float32 or float64 (n_rows, n_items): distances, exact or proposed, and then divided by ``scale``.
    ``scale``
        Their unit.
    ``slacks``
        float64 (n_rows,): the largest errors of proposed values; empty if they are exact.
    ``items``
        int32 (n_items,): the samples that the distances belong to.
    ``data``
        float32 or float64 (n_items, n_features): data to measure again; not used without slacks.
    """

    values: Array
    scale: float
    slacks: Array
    items: Array
    data: Array


class Bounds(NamedTuple):
    """Where the stops of one sample are: distances, followed by infinity, and samples (any,)."""

    values: Array
    who: Array


@inner
def squared_distance(data, one, other):
    """Squared euclidean distance of one pair, summed as the searches do."""
    total = 0.0
    for f in range(data.shape[1]):
        difference = np.float64(data[one, f]) - data[other, f]
        total += difference * difference
    return total


@jit
def _place(stops, half, value):
    """Number of stops below `value`, of 2 * `half` - 1; without branches, which could not be predicted."""
    place = 0
    while half > 0:
        place += half * (stops[place + half - 1] < value)
        half //= 2
    return place


@inner
def set_stops(values, members, limit, average_ties, bounds, sizes):
    """Fill in the bounds of a tested sample, the nearest first; return their number.

    With `average_ties`, tied samples share one stop, and ``sizes`` has their number.

    Parameters
    ----------
    values : float64 (n_own,)
        Distances of the other samples of the tested sample's class, `members` (ascending).
    limit : int
        Number of nearest samples of the class that matter.
    bounds : Bounds
    sizes : int64 (any,)
        Filled with group sizes.
    """
    stops, who = bounds
    order = np.argsort(values, kind="mergesort")
    n_stops = 0
    for i in range(len(order)):
        here = values[order[i]]
        if average_ties and n_stops > 0 and stops[n_stops - 1] == here:
            sizes[n_stops - 1] += 1
            continue
        if i >= limit:
            break
        stops[n_stops] = here
        who[n_stops] = members[order[i]]
        sizes[n_stops] = 1
        n_stops += 1
    stops[n_stops : 2 * n_stops + 1] = np.inf  # as `_place` needs them
    return n_stops


@inner
def count_ahead(compared, r, row, bounds, n_stops, own_class, spec, counts):
    """Add the samples of class c between stops b - 1 and b to ``ahead[b, c]``, and ties to ``tied[b, c]``.

    Without average ties, a sample that ties a stop is ahead of it if its index is smaller.

    Parameters
    ----------
    compared : Compared
        Of which row `r` is that of the tested sample `row`.
    bounds : Bounds
    spec : RankSpec
    counts : Stops
    """
    values, scale, slacks, items, data = compared
    stops, who = bounds
    classes, average_ties = spec.classes, spec.average_ties
    ahead, tied = counts.ahead, counts.tied
    slack = slacks[r] * scale if len(slacks) > 0 else 0.0
    last = stops[n_stops - 1]
    half = 1
    while 2 * half - 1 < n_stops:
        half *= 2
    for i in range(values.shape[1]):
        value = values[r, i] * scale
        if value - slack > last:
            continue
        item = items[i]
        c = classes[item]
        if c == own_class:
            continue
        b = _place(stops, half, value)
        if slack > 0 and (
            (b < n_stops and stops[b] - value <= slack) or (b > 0 and value - stops[b - 1] <= slack)
        ):
            value = squared_distance(data, row, item)
            b = _place(stops, half, value)
        if b < n_stops and stops[b] == value:
            if average_ties:
                tied[b, c] += 1
                continue
            while b < n_stops and stops[b] == value and who[b] < item:
                b += 1
        if b < n_stops:
            ahead[b, c] += 1


@inner
def count_listed(items, values, length, own_class, spec, counts):
    """Count as `count_ahead` in a sorted list; return the number of stops.

    The row after the last stop counts the samples beyond it.
    """
    classes, average_ties = spec.classes, spec.average_ties
    sizes, ahead, tied = counts
    n_stops = 0
    start = 0
    while start < length:
        end = start + 1
        while average_ties and end < length and values[end] == values[start]:
            end += 1
        n_own = 0
        for i in range(start, end):
            n_own += classes[items[i]] == own_class
        for i in range(start, end):
            c = classes[items[i]]
            if c != own_class and n_own > 0:
                tied[n_stops, c] += 1
            elif c != own_class:
                ahead[n_stops, c] += 1
        if n_own > 0:
            sizes[n_stops] = n_own
            n_stops += 1
        start = end
    return n_stops


BLOCK_BYTES = 2**23
# Distances of data divided by a smaller power of two may underflow before they are compared.
LEAST_SHIFT = -400


class Members(NamedTuple):
    """The samples by class: ``items``, cut by ``starts``; the nearest ``limits`` of a class can matter."""

    items: Array
    starts: Array
    limits: Array


@inner
def _new_stops(n, n_classes):
    return Stops(
        np.zeros(n + 1, np.int64),
        np.zeros((n + 1, n_classes), np.int64),
        np.zeros((n + 1, n_classes), np.int64),
    )


@inner
def _add_item(n_stops, stops, listed, own_class, spec, last_chance, one, out):
    """Add a sample to ``out`` (n_designs, 2, R + 1) and return True, unless too much is unknown."""
    one[:] = 0.0
    unknown = 0.0
    for design in range(len(spec.weights)):
        weight = spec.weights[design, own_class]
        if weight > 0:
            rest = add_curve(
                n_stops,
                stops.sizes,
                stops.ahead,
                stops.tied,
                listed,
                own_class,
                weight,
                design,
                spec.strata,
                spec.missing,
                spec.floor,
                one[design, 0],
                one[design, 1],
            )
            unknown = max(unknown, rest)
    if unknown > spec.missing and not last_chance:
        return False
    out += one
    return True


@jit
def _add_listed(items, values, lengths, rows, spec, last_chance, out, stop):
    """Add the samples in `rows` by their lists, until ``stop[0]``; return a mask of those not added."""
    classes = spec.classes
    most_stops = ZERO
    for r in range(len(rows)):
        own_class = classes[rows[r]]
        n_stops = 0
        for i in range(lengths[r]):
            n_stops += classes[items[r, i]] == own_class
        most_stops = max(most_stops, n_stops)
    stops = _new_stops(most_stops, len(spec.strata.counts))
    one = np.zeros(out.shape)
    left = np.zeros(len(rows), np.bool_)
    for r in range(len(rows)):
        if stop[0]:
            break
        own_class = classes[rows[r]]
        stops.ahead[:] = 0
        stops.tied[:] = 0
        n_stops = count_listed(items[r], values[r], lengths[r], own_class, spec, stops)
        listed = lengths[r] < len(classes) - 1
        left[r] = not _add_item(n_stops, stops, listed, own_class, spec, last_chance, one, out)
    return left


@jit
def _add_compared(compared, rows, members, spec, out, stop):
    """Add the samples in `rows`, whose distances to all are given. Ends early once ``stop[0]`` is set."""
    n_classes = len(spec.strata.counts)
    largest = 0
    for c in range(n_classes):
        largest = max(largest, members.starts[c + 1] - members.starts[c])
    bounds = Bounds(np.empty(2 * largest + 1), np.empty(largest, np.int64))
    stops = _new_stops(largest, n_classes)
    one = np.zeros(out.shape)
    for r in range(len(rows)):
        if stop[0]:
            break
        own_class = spec.classes[rows[r]]
        others = members.items[members.starts[own_class] : members.starts[own_class + 1]]
        others = others[others != rows[r]]
        distances = np.empty(len(others))
        for i in range(len(others)):
            if len(compared.slacks) > 0:
                distances[i] = squared_distance(compared.data, rows[r], others[i])
            else:
                distances[i] = compared.values[r, others[i]]
        limit = members.limits[own_class]
        n_stops = set_stops(distances, others, limit, spec.average_ties, bounds, stops.sizes)
        stops.ahead[: n_stops + 1] = 0
        stops.tied[: n_stops + 1] = 0
        if n_stops > 0:
            count_ahead(compared, r, rows[r], bounds, n_stops, own_class, spec, stops)
        _add_item(n_stops, stops, FALSE, own_class, spec, TRUE, one, out)


@dataclass(frozen=True)
class RankPass(ChunkPass):
    """The pass over chunks that makes the curves; the remarks are the samples that are left over.

    With `last_chance` no sample is left over. A ``depth`` of 0 compares with all samples.
    """

    spec: RankSpec
    members: Members
    top: int
    last_chance: bool = False

    def add_up(self, chunk: Array) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk, its share of the curves, and its samples that are left over."""
        out = np.zeros((len(self.spec.weights), 2, self.top + 2))
        if self.depth == 0:
            self._compare(chunk, out)
            return None, out, chunk[:0]
        lists = self.neighbors.search(chunk, self.depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        left = _add_listed(
            lists.items, lists.values, lengths, chunk, self.spec, self.last_chance, out, stop_flag()
        )
        return lists, out, chunk[left]

    def _compare(self, chunk: Array, out: Array) -> None:
        size = max(BLOCK_BYTES // (8 * self.neighbors.n_items), 16)
        proposer = self.neighbors.proposer()
        for start in range(0, len(chunk), size):
            rows = chunk[start : start + size]
            if proposer is not None and proposer[0].shift > LEAST_SHIFT:
                search, data = proposer
                places = search.rows[rows]
                values = search.right_factors(places) @ search.factors.T
                scale = 4.0**search.shift
                compared = Compared(values, scale, search.slack(places), search.items, data)
            else:
                values = self.neighbors.values(rows)
                items = np.arange(values.shape[1], dtype=np.int32)
                compared = Compared(values, 1.0, np.empty(0), items, np.empty((0, 0)))
            _add_compared(compared, rows, self.members, self.spec, out, stop_flag())


def serves(problem: ScoringProblem) -> bool:
    """Return True if this is rank-R accuracy over stratified training sets."""
    kind = problem.training_sets[0]
    return (
        problem.pool is None
        and profile_of(problem.variant, problem.parameters) == "rank"
        and kind.stratified
        and kind.n_extra == 0
    )


def rank_surface(
    problems: list[ScoringProblem],
    neighbors: Neighbors,
    nearest: Array,
    tol: float,
    *,
    keep: bool,
    jobs: Jobs,
) -> tuple[Array, Array]:
    """Scores and bounds (n_rows, n_columns) for the R in `nearest`, with a problem for every column."""
    labels = problems[0].labels
    n_items = neighbors.n_items
    n_train = np.array([problem.training_sets[0].n_train for problem in problems])
    max_rank = int(nearest.max())
    average_ties = problems[0].ties == "random"
    spec = RankSpec(
        labels.codes,
        np.array([[float(w) for w in problem.item_weights[0]] for problem in problems]),
        strata_of(n_train, labels.counts.astype(np.int64), max_rank - 1),
        average_ties,
        tol / 2,
        max(tol, 1e-15) * 1e-8 / (max_rank * (1 + len(labels.counts))),
    )
    depth = _first_depth(problems, neighbors, nearest, tol)
    rows = neighbors.visiting_order(np.arange(n_items), max(depth, 1))
    work = RankPass(
        neighbors,
        rows,
        depth,
        average_ties,
        spec,
        Members(
            np.argsort(labels.codes, kind="stable"),
            np.concatenate([[0], np.cumsum(labels.counts)]),
            _limits(n_train, labels.counts, tol / 8),
        ),
        max_rank - 1,
    )
    found = np.zeros((len(problems), 2, max_rank + 1))
    n_chunks = 0
    while len(work.rows):
        work = replace(work, last_chance=work.depth in (0, neighbors.max_depth))
        first = len(work.rows) == n_items
        if jobs.executor is None and work.depth and first:
            neighbors.search_all(work.depth, n_jobs=jobs.n_jobs, progress=jobs.progress)
        n_chunks += work.n_chunks
        left: list[Array] = []

        def collect(_: Array, share: Array, over: Array, left: list[Array] = left) -> None:
            np.add(found, share, out=found)
            left.append(over)

        run_chunks(work, problems[0], jobs, collect, keep=keep and first, announce=first)
        work = replace(
            work, rows=np.concatenate(left), depth=0 if neighbors.sees_all else neighbors.max_depth
        )
    by_r = np.cumsum(found[:, :, :-1], axis=2)
    scores, bounds = np.empty((2, *nearest.shape))
    for column, problem in enumerate(problems):
        size = sum(problem.training_sets[0].n_train)
        for row, k in enumerate(nearest[:, column]):
            walked = expected_position(n_items - 1, size, int(k)) + (n_items + n_chunks) / 2
            scores[row, column] = by_r[column, 0, k - 1]
            unknown = by_r[column, 1, k - 1] + found[column, 1, -1]
            bounds[row, column] = unknown + rounding_allowance(int(k), walked, 1.0)
    return scores, bounds


def _first_depth(problems: list[ScoringProblem], neighbors: Neighbors, nearest: Array, tol: float) -> int:
    """The depth of lists that suffices for most samples, or 0 if comparing all samples costs less."""
    depth = 1
    n_available = neighbors.n_items - 1
    for problem, ks in zip(problems, nearest.T, strict=True):
        tail = fixed_tail(n_available, sum(problem.training_sets[0].n_train), int(ks.max()))
        depth = max(depth, int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available)
    # One more position shows whether a tied group continues beyond the list.
    depth = min(depth + 1, neighbors.max_depth)
    return 0 if neighbors.sees_all and not neighbors.serves_cheaply(depth) else depth


def _limits(n_train: Array, counts: Array, missing: float) -> Array:
    """Per class, the number of its nearest samples of which one is almost surely in the training set."""
    limits = np.zeros(len(counts), np.int64)
    for drawn in n_train:
        for c, (n, count) in enumerate(zip(drawn.tolist(), counts.tolist(), strict=True)):
            p_none, i = 1.0, 0
            while n and i < count - 1 and p_none > missing:
                p_none *= max(count - 1 - i - n, 0) / (count - 1 - i)
                i += 1
            limits[c] = max(limits[c], i)
    return limits
