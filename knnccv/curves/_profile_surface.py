"""The surface from the profile of the data: one pass for all K and all training sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._parallel import stop_flag
from .._typing import Array
from ..driver import ScoringProblem, usable_lengths
from ..kernel import profile_of
from ..neighbors import NeighborLists, Neighbors
from ..sampling import expected_position, fixed_tail, rounding_allowance
from ._chunks import ChunkPass, Execution, sum_profiles, weigh_rows
from ._grid import SurfaceGrid
from ._profile import MAX_NEIGHBORS, ProfileSpec, add_profile, pascal_scales, weigh_profile


def has_profile(problem: ScoringProblem, grid: SurfaceGrid) -> bool:
    """Return True if this pass serves the rule, its parameters and the design."""
    return (
        profile_of(problem.variant, problem.parameters) in ("votes", "rank")
        and not problem.training_sets[0].stratified
        and max(grid.values) <= MAX_NEIGHBORS
    )


@dataclass(frozen=True)
class ProfilePass(ChunkPass):
    """The pass over chunks that makes the profile; the remarks are the lengths of the lists.

    ``weights`` (n_items,) are those of the samples.
    """

    weights: Array
    spec: ProfileSpec
    nearest: Array

    def add_up(self, chunk: Array) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk, its share of the profile, and the lengths of its lists."""
        size = self.neighbors.rows_at_once(self.depth)
        blocks = [chunk[start : start + size] for start in range(0, len(chunk), size)]
        parts = [self.neighbors.search(block, self.depth) for block in blocks]
        lists = _joined(parts)
        known = np.concatenate([usable_lengths(part, self.neighbors, self.average_ties) for part in parts])
        profile = np.zeros((2, self.depth + 1, self.spec.max_k + 1))
        lengths = np.minimum(known, self.depth)
        votes = self.average_ties and not self.spec.ranked and self.spec.n_classes > 2
        inside = np.zeros((len(chunk), self.depth + 1 if votes else 0), bool)
        if self.average_ties:
            cut = (known < self.depth) & lists.may_tie_beyond
            lengths[cut], inside[cut] = self._add_deeper_ties(chunk[cut], inside.shape[1], profile)
            self._add_ties(lists, np.where(cut, 0, known), chunk, inside, profile)
        owns = self.spec.classes[chunk]
        add_profile(lists.items, lengths, owns, self.weights[chunk], inside, self.spec, profile)
        return lists, profile, lengths

    def _add_deeper_ties(self, rows: Array, width: int, profile: Array) -> tuple[Array, Array]:
        """Add tied groups beyond the depth, from lists that show their end.

        Returns the lengths, and the positions inside of groups, if `width` is not 0.
        """
        lengths = np.zeros(len(rows), np.int64)
        inside = np.zeros((len(rows), width), bool)
        depth = self.depth
        waiting = np.arange(len(rows))
        while len(waiting):
            depth = min(2 * depth, self.neighbors.max_depth)
            size = self.neighbors.rows_at_once(depth)
            left = []
            for start in range(0, len(waiting), size):
                block = waiting[start : start + size]
                lists = self.neighbors.search(rows[block], depth)
                known = usable_lengths(lists, self.neighbors, average_ties=True)
                done = (known >= self.depth) | ~lists.may_tie_beyond | (depth == self.neighbors.max_depth)
                cut = np.zeros((int(done.sum()), width), bool)
                self._add_ties(
                    lists.cut(np.flatnonzero(done), depth), known[done], rows[block[done]], cut, profile
                )
                inside[block[done]] = cut
                lengths[block[done]] = np.minimum(known[done], self.depth)
                left.append(block[~done])
            waiting = np.concatenate(left)
        return lengths, inside

    def _add_ties(
        self, lists: NeighborLists, known: Array, rows: Array, inside: Array, profile: Array
    ) -> None:
        from ..voting import ANY_RIGHT, PLURALITY
        from ._profile_ties import add_ties

        owns = self.spec.classes[rows]
        rule = ANY_RIGHT if self.spec.ranked else PLURALITY
        add_ties(
            lists.items,
            lists.values,
            known,
            owns,
            self.weights[rows],
            self.spec,
            self.nearest,
            rule,
            inside,
            profile,
            stop_flag(),
        )


def _joined(parts: Sequence[NeighborLists]) -> NeighborLists:
    names = ("items", "values", "lengths", "may_tie_beyond")
    return NeighborLists(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def profile_surface(
    problem: ScoringProblem, neighbors: Neighbors, grid: SurfaceGrid, tol: float, how: Execution
) -> tuple[Array, Array]:
    """Scores and bounds, shape (n_rows, n_columns)."""
    codes = problem.labels.codes
    n_available = neighbors.n_items - 1
    first = smallest_k(grid, n_available, tol, neighbors.max_depth)
    depth = len(first) - 2
    max_k = int(grid.nearest.max())
    spec = ProfileSpec(
        max_k,
        len(problem.labels.classes),
        problem.variant.name == "rank",
        codes,
        first,
        *pascal_scales(depth, max_k),
    )
    rows, weights, how = weigh_rows(problem, neighbors, depth, how)
    # Sums are taken in this order, in which samples of one class are adjacent.
    near = neighbors.visiting_order(rows, depth)
    rows = near[np.argsort(codes[near], kind="stable")]
    work = ProfilePass(
        neighbors, rows, depth, problem.ties == "random", weights, spec, np.unique(grid.nearest)
    )
    profile, ended = sum_profiles(work, (2, depth + 1, max_k + 1), weights, problem, how)
    scores, bounds = np.empty((2, *grid.nearest.shape))
    by_k, tails = np.empty((2, max_k + 1))
    for column, size in enumerate(grid.sizes):
        weigh_profile(profile, first, ended, n_available, size, by_k, tails)
        for row, k in enumerate(grid.nearest[:, column]):
            walked = expected_position(n_available, size, int(k)) + (depth + work.n_chunks) / 8
            scores[row, column] = by_k[k]
            bounds[row, column] = tails[k] + rounding_allowance(int(k), walked, 1.0)
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
