# mypy: allow-untyped-defs
"""The surface from a profile of the data: one pass for all K and all training sizes.

`VoteProfile` serves votes and ranks, `PairProfile` squared errors, shares of votes and Brier scores. The
same profiles, of halves of the samples, are in `_half_surface`.

The latter are sums over samples, and pairs of samples, among the K nearest, over K or K^2. A sample is
among the K nearest with a probability that depends on its position, and a pair of samples with one that
depends on the farther of the two (`kernel.sampling.inclusion_law`). So their profile has two numbers for
every position i, which hold for all K and all training sizes: the sum of the terms of the samples there,
and of their pairs with nearer samples. In a tied group, averaged over all orders, all samples have the mean
of the group, and so have all pairs in it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...._base.parallel import WorkerPool, stop_flag
from ...._base.typing import Array
from ....designs import Design
from ....kernel import jit, profile_of
from ....kernel.sampling import Inclusion, expected_position, fixed_tail, inclusion_law, rounding_allowance
from ....kernel.voting import pass_wrong
from ....neighbors import NeighborLists, Neighbors
from ...driver import Jobs, ScoringProblem, Watch, one_of_alike, usable_lengths
from ._profile import MAX_NEIGHBORS, Listed, ProfileSpec, pascal_scales, weigh_profile

ERROR, SHARE, BRIER = range(3)


class PairSpec(NamedTuple):
    """What is summed over samples and pairs.

    ``kind``
        ERROR: squared errors of the mean of `targets`. SHARE: the true class's share of the votes. BRIER:
        half the Brier score of the shares.
    ``classes``, ``targets``
        int64 (n_items,) and float64 (n_items, n_outputs); the latter are read for ERROR only.
    """

    kind: int
    classes: Array
    targets: Array
    depth: int

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the profile."""
        return 2, self.depth

    def inside(self, n_rows: int, _average_ties: bool) -> Array:
        """Nothing: `add_tied` adds everything."""
        return np.zeros((n_rows, 0), bool)

    def add_tied(self, listed: Listed, average_ties: bool, _inside: Array, out: Array) -> None:
        """Add the rows; tied groups are listed to their end."""
        add_pair_profile(listed, self, average_ties, out, stop_flag())

    def add_all(self, listed: Listed, inside: Array, out: Array) -> None:
        """Add nothing."""


@jit
def add_pair_profile(listed, spec, average_ties, out, stop):
    """Add the rows' weighted terms to ``out``; O(depth * outputs).

    Parameters
    ----------
    listed : Listed
        Samples with equal values are tied, if `average_ties`. A group that goes on beyond the depth of the
        profile must be listed to its end.
    spec : PairSpec
    average_ties : bool
    out : float64 (2, depth)
        Terms of samples, and of pairs, at every position.
    stop : bool (1,)
        Once set, the pass ends early.
    """
    items, values, lengths, rows = listed.items, listed.values, listed.lengths, listed.rows
    kind, classes, targets = spec.kind, spec.classes, spec.targets
    depth = out.shape[1]
    n_outputs = targets.shape[1]
    nearer, group = np.zeros(n_outputs), np.zeros(n_outputs)
    n_classes = classes.max() + 1
    wrong_nearer, wrong_group = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for r in range(len(rows)):
        if stop[0]:
            return
        x, weight = rows[r], listed.weights[r]
        nearer[:] = 0.0
        wrong_nearer[:] = 0
        n_nearer = 0
        start = 0
        while start < min(lengths[r], depth):
            end = start + 1
            while average_ties and end < lengths[r] and values[r, end] == values[r, start]:
                end += 1
            size = end - start
            single = across = within = 0.0  # sums over samples, pairs with nearer ones, pairs in the group
            if kind == ERROR:
                group[:] = 0.0
                for i in range(start, end):
                    for o in range(n_outputs):
                        gap = targets[items[r, i], o] - targets[x, o]
                        single += gap * gap
                        within += 2 * gap * group[o]
                        group[o] += gap
                for o in range(n_outputs):
                    across += 2 * group[o] * nearer[o]
                    nearer[o] += group[o]
            else:
                n_wrong, same_nearer, same_within = pass_wrong(
                    items[r], classes, start, end, classes[x], wrong_nearer, wrong_group
                )
                single = size - n_wrong if kind == SHARE else n_wrong
                # With w wrong votes the score sums 1 + [same class] over ordered pairs of them.
                across = n_wrong * n_nearer + same_nearer
                within = n_wrong * (n_wrong - 1) // 2 + same_within
                n_nearer += n_wrong
            for i in range(start, min(end, depth)):
                out[0, i] += weight * single / size
                if kind != SHARE:
                    out[1, i] += weight * across / size
                    if size > 1:
                        out[1, i] += weight * within * (i - start) * 2 / (size * (size - 1))
            start = end


CHUNK = 128
KINDS = {"error": ERROR, "share": SHARE, "brier": BRIER}


@dataclass(frozen=True)
class SurfaceGrid:
    """Rows are values of the parameter `axis` (None if the rule has none), columns designs and sizes."""

    axis: str | None
    values: tuple[int, ...]
    designs: tuple[Design, ...]
    sizes: tuple[int, ...]

    @property
    def smallest(self) -> Design:
        """The design with the smallest training sets."""
        return self.designs[self.sizes.index(min(self.sizes))]

    def setting(self, value: int) -> dict[str, int]:
        """The parameter with this value, as keyword arguments."""
        return {self.axis: value} if self.axis else {}

    @functools.cached_property
    def nearest(self) -> Array:
        """The number of nearest training samples that decide, shape (n_rows, n_columns)."""
        return np.array([[min(value, size) for size in self.sizes] for value in self.values])

    @property
    def symbol(self) -> dict[str, str]:
        """The parameter of the rows as a letter, for texts; empty if there is none."""
        return {self.axis: "R" if self.axis == "rank" else "K"} if self.axis else {}


class Profile(ABC):
    """A profile of ``n_available + 1`` samples, for the K and the training sizes of a grid.

    Attributes
    ----------
    depth : int
        The number of neighbors that can matter.
    spec : ProfileSpec or PairSpec
        What is summed.
    """

    depth: int
    spec: Any

    def __init__(
        self, problem: ScoringProblem, grid: SurfaceGrid, n_available: int, max_depth: int, tol: float
    ) -> None:
        self.grid, self.n_available = grid, n_available
        self._plan(problem, max_depth, tol)

    @abstractmethod
    def _plan(self, problem: ScoringProblem, max_depth: int, tol: float) -> None:
        """Set the depth that suffices for `tol`, and what is summed."""

    @abstractmethod
    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells, both (n_rows, n_columns).

        ``ended`` (depth + 1,) is the weight of the lists of each length. If K exceeds a training size, the
        score is that of the largest K that does not.
        """

    def of_all(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The same, for the only profile that is made: nothing is kept for others."""
        return self.scores_and_tails(profile, ended)

    def of_lists(self, lists: NeighborLists, rows: Array, weights: Array, average_ties: bool) -> Array:
        """The profile of rows of one class after the other, from lists that are long enough."""
        listed = Listed(lists.items, lists.values, lists.lengths, rows, weights)
        inside = self.spec.inside(len(rows), average_ties)
        profile = np.zeros(self.spec.shape)
        self.spec.add_tied(listed, average_ties, inside, profile)
        self.spec.add_all(listed, inside, profile)
        return profile


class VoteProfile(Profile):
    """The profile of votes and ranks."""

    def _plan(self, problem: ScoringProblem, max_depth: int, tol: float) -> None:
        grid, n_available = self.grid, self.n_available
        first = smallest_k(grid, n_available, tol, max_depth)
        self.depth, max_k = len(first) - 2, int(grid.nearest.max())
        self.spec = ProfileSpec(
            max_k,
            len(problem.labels.classes),
            profile_of(problem.variant, problem.parameters) == "rank",
            np.unique(grid.nearest),
            problem.kernel_labels().classes,
            first,
            *pascal_scales(self.depth, max_k),
        )

    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells."""
        scores, tails = np.empty((2, *self.grid.nearest.shape))
        of_k, unknown = np.empty((2, self.spec.max_k + 1))
        for column, size in enumerate(self.grid.sizes):
            weigh_profile(profile, self.spec.first, ended, self.n_available, size, of_k, unknown)
            rows = self.grid.nearest[:, column]
            scores[:, column], tails[:, column] = of_k[rows], unknown[rows]
        return scores, tails


class PairProfile(Profile):
    """The profile of squared errors, shares of votes and Brier scores.

    ``tails`` (n_rows, n_columns, depth + 1) are the undecided shares of lists of each length.
    """

    def _plan(self, problem: ScoringProblem, max_depth: int, tol: float) -> None:
        grid, n_available = self.grid, self.n_available
        kind = KINDS[profile_of(problem.variant, problem.parameters)]
        tails = [
            fixed_tail(n_available, grid.sizes[at[1]], int(k)) for at, k in np.ndenumerate(grid.nearest)
        ]
        enough = max(int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available for tail in tails)
        self.depth = min(max(enough, 1), max_depth)
        self.tails = np.array([tail[: self.depth + 1] for tail in tails]).reshape(*grid.nearest.shape, -1)
        codes = problem.kernel_labels().classes
        targets = problem.values if kind == ERROR else np.zeros((len(codes), 0))
        targets = np.ascontiguousarray(targets, dtype=float)
        self.spec = PairSpec(kind, codes, targets, self.depth)

    def law(self, at: tuple[int, ...]) -> tuple[Array, Array, float]:
        """What the rows of the profile are multiplied by in a cell, and what their sum is divided by."""
        k = int(self.grid.nearest[at])
        law: Inclusion = inclusion_law(self.n_available, self.grid.sizes[at[1]], k)
        scale = k if self.spec.kind == SHARE else k * k / (2 if self.spec.kind == BRIER else 1)
        return law.single[: self.depth], law.with_nearer[: self.depth], scale

    @functools.cached_property
    def laws(self) -> Array:
        """Those of all cells, divided, (n_rows, n_columns, 2, depth)."""
        laws = np.empty((*self.grid.nearest.shape, 2, self.depth))
        for at in np.ndindex(self.grid.nearest.shape):
            single, with_nearer, scale = self.law(at)
            laws[at][0], laws[at][1] = (1 / scale) * single, (1 / scale) * with_nearer
        return laws

    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells."""
        return (self.laws * profile).sum(axis=(2, 3)), (self.tails * ended).sum(axis=2)

    def of_all(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells, one law after the other."""
        scores, tails = np.empty((2, *self.grid.nearest.shape))
        for at in np.ndindex(scores.shape):
            single, with_nearer, scale = self.law(at)
            scores[at] = float(profile[0] @ single + profile[1] @ with_nearer) / scale
            tails[at] = float(ended @ self.tails[at])
        return scores, tails


def profile_kind(problem: ScoringProblem, grid: SurfaceGrid) -> type[Profile] | None:
    """The profile that serves the cells of a surface, or None."""
    found = profile_of(problem.variant, problem.parameters)
    if problem.training_sets[0].stratified:
        return None
    if found in ("votes", "rank") and max(grid.values) <= MAX_NEIGHBORS:
        return VoteProfile
    return PairProfile if found in KINDS else None


@dataclass(frozen=True)
class ProfilePass:
    """What a worker needs to add up the profile of one chunk of samples.

    Attributes
    ----------
    rows : int64 ndarray of shape (n_rows,)
        The samples, in the order in which they are cut into chunks.
    depth : int
        Depth of the lists.
    average_ties : bool
        Whether the tie rule is the mean over all orders.
    weights : float64 ndarray of shape (n_items,)
        Those of the samples.
    spec : ProfileSpec or PairSpec
        That of the profile.
    """

    neighbors: Neighbors
    rows: Array
    depth: int
    average_ties: bool
    weights: Array
    spec: Any

    def compile(self) -> None:
        """Do nothing: functions are compiled when they are called."""

    def chunk(self, number: Array) -> Array:
        """The rows of a chunk, whose number is in an array."""
        start = int(number[0]) * CHUNK
        return self.rows[start : start + CHUNK]

    def __call__(self, rows: Array, keep_lists: bool) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk if requested, its share of the profile, and the lengths of its lists.

        The number of the chunk is in `rows`.
        """
        chunk = self.chunk(rows)
        kept, lengths = NeighborLists.empty(len(chunk), self.depth), np.zeros(len(chunk), np.int64)
        profile, inside = np.zeros(self.spec.shape), self.spec.inside(len(chunk), self.average_ties)
        depth, waiting = self.depth, np.arange(len(chunk))
        while len(waiting):
            size = self.neighbors.rows_at_once(depth)
            left = [waiting[:0]]
            for start in range(0, len(waiting), size):
                block = waiting[start : start + size]
                lists = self.neighbors.search(chunk[block], depth)
                if depth == self.depth:
                    kept.put(block, lists)
                lists.lengths = usable_lengths(lists, self.neighbors, self.average_ties)
                # A tied group that goes on beyond the list is searched to its end.
                short = (lists.lengths < self.depth) & lists.may_tie_beyond & self.average_ties
                done = np.flatnonzero(~short | (depth == self.neighbors.max_depth))
                at, lists = block[done], lists.cut(done, depth)
                within = inside[at]
                self.spec.add_tied(self._listed(lists, chunk[at]), self.average_ties, within, profile)
                inside[at], lengths[at] = within, np.minimum(lists.lengths, self.depth)
                left.append(np.delete(block, done))
            waiting = np.concatenate(left)
            depth = min(2 * depth, self.neighbors.max_depth)
        listed = self._listed(kept, chunk)._replace(lengths=lengths)
        self.spec.add_all(listed, inside, profile)
        return kept if keep_lists else None, profile, lengths

    def _listed(self, lists: NeighborLists, rows: Array) -> Listed:
        return Listed(lists.items, lists.values, lists.lengths, rows, self.weights[rows])


def profile_surface(
    profile: Profile, problem: ScoringProblem, neighbors: Neighbors, *, keep: bool, jobs: Jobs
) -> tuple[Array, Array]:
    """Scores and bounds, shape (n_rows, n_columns).

    One sample of each set of alike ones is passed over. Lists of some samples are not kept.
    """
    grid, codes, depth = profile.grid, problem.labels.codes, profile.depth
    if jobs.executor is None:
        neighbors.search_all(depth, n_jobs=jobs.n_jobs, progress=jobs.progress)
    rows, copies = one_of_alike(problem, neighbors)
    weights = np.array([float(weight) for weight in problem.item_weights[0]])[codes] * copies
    # Sums are taken in this order.
    near = neighbors.visiting_order(rows, depth)
    if isinstance(profile, VoteProfile):
        near = near[np.argsort(codes[near], kind="stable")]
    work = ProfilePass(neighbors, near, depth, problem.ties == "random", weights, profile.spec)
    sums, ended, n_chunks = np.zeros(profile.spec.shape), np.zeros(depth + 1), -(-len(near) // CHUNK)
    cache = neighbors.room(depth) if keep and len(rows) == neighbors.n_items else None
    if jobs.executor is not None:
        work = replace(work, neighbors=neighbors.for_workers(depth))
    with WorkerPool(
        work, n_jobs=jobs.n_jobs, executor=jobs.executor, progress=jobs.progress, unit="chunk"
    ) as workers:
        if work.average_ties:
            alone = np.zeros(1, np.int64)  # the number of the only chunk
            watch = Watch(problem, neighbors, lambda row: replace(work, rows=row)(alone, False))
            watch(near, neighbors.max_depth, workers)
            workers.stand_apart()
        for number, (lists, share, lengths) in workers.map(np.arange(n_chunks), 1, cache is not None):
            chunk = work.chunk(number)
            if cache is not None and lists is not None:
                cache.put(chunk, lists)
            sums += share
            np.add.at(ended, lengths, weights[chunk])
    if cache is not None:
        neighbors.store(cache)
    scores, tails = profile.of_all(sums, ended)
    bounds = problem.largest * tails
    for (row, column), k in np.ndenumerate(grid.nearest):
        walked = expected_position(profile.n_available, grid.sizes[column], int(k))
        walked += (depth + n_chunks) / 8
        bounds[row, column] += rounding_allowance(int(k), walked, problem.largest)
    return scores, bounds


def smallest_k(grid: SurfaceGrid, n_available: int, tol: float, max_depth: int) -> Array:
    """At i the smallest K that needs position i for `tol`; one more than the largest K if none does."""
    nearest = np.unique(grid.nearest)
    max_k = int(nearest[-1])
    stops = np.zeros(max_k + 1, np.int64)
    for k in nearest:
        # The smaller the training sets, the farther their K-th nearest sample.
        size = min(size for size in grid.sizes if size >= k)
        tail = fixed_tail(n_available, size, int(k))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available
        stops[k] = min(max(enough, int(k)), max_depth)
    stops = np.maximum.accumulate(stops)
    return np.searchsorted(stops, np.arange(stops[-1] + 2), side="left")
