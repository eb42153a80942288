"""Surfaces of squared errors, shares of votes and Brier scores: one pass for all K and training sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._parallel import stop_flag
from .._typing import Array
from ..driver import ScoringProblem, usable_lengths
from ..kernel import profile_of
from ..neighbors import NeighborLists, Neighbors
from ..sampling import Inclusion, expected_position, fixed_tail, inclusion_law, rounding_allowance
from ._chunks import ChunkPass, Execution, sum_profiles, weigh_rows
from ._grid import SurfaceGrid
from ._pair_profile import BRIER, ERROR, SHARE, add_pair_profile

KINDS = {"error": ERROR, "share": SHARE, "brier": BRIER}


def sums_over_pairs(problem: ScoringProblem) -> bool:
    """Return True if this pass serves the rule, its parameters and the design."""
    found = profile_of(problem.variant, problem.parameters)
    return found in KINDS and not problem.training_sets[0].stratified


@dataclass(frozen=True)
class PairPass(ChunkPass):
    """The pass over chunks that makes the profile; the remarks are the lengths of the lists.

    ``weights`` (n_items,) are those of the samples.
    """

    weights: Array
    kind: int
    classes: Array
    targets: Array

    def add_up(self, chunk: Array) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk, its share of the profile, and the lengths of its lists."""
        kept = NeighborLists.empty(len(chunk), self.depth)
        profile = np.zeros((2, self.depth))
        lengths = np.zeros(len(chunk), np.int64)
        depth, waiting = self.depth, np.arange(len(chunk))
        while len(waiting):
            size = self.neighbors.rows_at_once(depth)
            left = [waiting[:0]]
            for start in range(0, len(waiting), size):
                block = waiting[start : start + size]
                lists = self.neighbors.search(chunk[block], depth)
                if depth == self.depth:
                    kept.put(block, lists)
                known = usable_lengths(lists, self.neighbors, self.average_ties)
                # A tied group that goes on beyond the list is searched to its end.
                short = (known < self.depth) & lists.may_tie_beyond & self.average_ties
                done = np.flatnonzero(~short | (depth == self.neighbors.max_depth))
                self._add(lists.cut(done, depth), known[done], chunk[block[done]], profile)
                lengths[block[done]] = np.minimum(known[done], self.depth)
                left.append(np.delete(block, done))
            waiting = np.concatenate(left)
            depth = min(2 * depth, self.neighbors.max_depth)
        return kept, profile, lengths

    def _add(self, lists: NeighborLists, known: Array, rows: Array, profile: Array) -> None:
        add_pair_profile(
            lists.items,
            lists.values,
            known,
            rows,
            self.weights[rows],
            self.kind,
            self.classes,
            self.targets,
            self.average_ties,
            profile,
            stop_flag(),
        )


def pair_surface(
    problem: ScoringProblem, neighbors: Neighbors, grid: SurfaceGrid, tol: float, how: Execution
) -> tuple[Array, Array]:
    """Scores and bounds, shape (n_rows, n_columns)."""
    n_available = neighbors.n_items - 1
    kind = KINDS[profile_of(problem.variant, problem.parameters)]
    tails = {
        (int(k), size): fixed_tail(n_available, size, int(k))
        for column, size in enumerate(grid.sizes)
        for k in grid.nearest[:, column]
    }
    enough = max(int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available for tail in tails.values())
    depth = min(max(enough, 1), neighbors.max_depth)
    rows, weights, how = weigh_rows(problem, neighbors, depth, how)
    targets = problem.values if kind == ERROR else np.zeros((neighbors.n_items, 0))
    work = PairPass(
        neighbors,
        neighbors.visiting_order(rows, depth),
        depth,
        problem.ties == "random",
        weights,
        kind,
        problem.labels.codes,
        np.ascontiguousarray(targets, dtype=float),
    )
    profile, ended = sum_profiles(work, (2, depth), weights, problem, how)
    scores, bounds = np.empty((2, *grid.nearest.shape))
    for (row, column), k in np.ndenumerate(grid.nearest):
        k, size = int(k), grid.sizes[column]
        law: Inclusion = inclusion_law(n_available, size, k)
        total = float(profile[0] @ law.single[:depth] + profile[1] @ law.with_nearer[:depth])
        scores[row, column] = total / k if kind == SHARE else total * (2 if kind == BRIER else 1) / (k * k)
        walked = expected_position(n_available, size, k) + (depth + work.n_chunks) / 8
        unknown = float(ended @ tails[k, size][: depth + 1])
        bounds[row, column] = problem.largest * unknown + rounding_allowance(k, walked, problem.largest)
    return scores, bounds
