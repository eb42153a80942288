"""Scores of all cells of a surface for every half of the samples, from the profiles of the halves.

A half has a profile of its own: the pass over its samples, within lists from which all other samples are
left out. It serves all K and all training sizes, so that a half costs about as much as a surface of half as
many samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from .._labels import labels_of
from .._parallel import for_each, stop_flag
from .._typing import Array
from ..driver import ScoringProblem, usable_lengths, weights_of
from ..halves import TOLERANCE, depth_for_halves, search_block, within_half
from ..inference import Halvings
from ..kernel import profile_of
from ..neighbors import NeighborLists, Neighbors
from ..sampling import Inclusion, fixed_tail, inclusion_law
from ..voting import ANY_RIGHT, PLURALITY
from ._grid import SurfaceGrid
from ._pair_profile import BRIER, ERROR, SHARE, add_pair_profile
from ._pair_surface import KINDS, sums_over_pairs
from ._profile import ProfileSpec, add_profile, pascal_scales, weigh_profile
from ._profile_surface import has_profile, smallest_k
from ._profile_ties import add_ties

BLOCK = 2**19
"""List entries of a block of rows."""
AT_ONCE = 8
"""Halves of a task."""


class HalfProfile(ABC):
    """The profile of a half, for halves of one size.

    Attributes
    ----------
    depth : int
        The number of neighbors within the half that can matter.
    """

    depth: int

    @abstractmethod
    def add_up(self, lists: NeighborLists, rows: Array, weights: Array) -> Array:
        """The weighted profile of rows, those of a class adjacent."""

    @abstractmethod
    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """Its scores and undecided shares, both (n_rows, n_columns).

        ``ended`` (depth + 1,) is the weight of the lists of each length. If K exceeds a training size, the
        score is that of the largest K that does not.
        """

    def ended(self, lists: NeighborLists, weights: Array) -> Array:
        """The weight of the lists of each length."""
        return np.bincount(np.minimum(lists.lengths, self.depth), weights, self.depth + 1)


@dataclass(frozen=True)
class VoteProfile(HalfProfile):
    """The profile of votes and ranks (`_profile`)."""

    depth: int
    grid: SurfaceGrid
    spec: ProfileSpec
    average_ties: bool
    n_available: int

    @classmethod
    def of(
        cls, problem: ScoringProblem, grid: SurfaceGrid, n_available: int, max_depth: int
    ) -> VoteProfile:
        """The profile for halves of ``n_available + 1`` samples, with the training sizes of `grid`."""
        first = smallest_k(grid, n_available, TOLERANCE, max_depth)
        depth, max_k = len(first) - 2, int(grid.nearest.max())
        spec = ProfileSpec(
            max_k,
            len(problem.labels.classes),
            problem.variant.name == "rank",
            problem.labels.codes,
            first,
            *pascal_scales(depth, max_k),
        )
        return cls(depth, grid, spec, problem.ties == "random", n_available)

    def add_up(self, lists: NeighborLists, rows: Array, weights: Array) -> Array:
        """The weighted profile of rows, those of a class adjacent."""
        spec = self.spec
        profile = np.zeros((2, self.depth + 1, spec.max_k + 1))
        votes = self.average_ties and not spec.ranked and spec.n_classes > 2
        inside = np.zeros((len(rows), self.depth + 1 if votes else 0), bool)
        owns = spec.classes[rows]
        if self.average_ties:
            rule = ANY_RIGHT if spec.ranked else PLURALITY
            ks = np.unique(self.grid.nearest)
            of_lists = lists.items, lists.values, lists.lengths
            add_ties(*of_lists, owns, weights, spec, ks, rule, inside, profile, stop_flag())
        lengths = np.minimum(lists.lengths, self.depth)
        add_profile(lists.items, lengths, owns, weights, inside, spec, profile)
        return profile

    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells."""
        scores, tails = np.empty((2, *self.grid.nearest.shape))
        of_k, unknown = np.empty((2, self.spec.max_k + 1))
        for column, size in enumerate(self.grid.sizes):
            weigh_profile(profile, self.spec.first, ended, self.n_available, size, of_k, unknown)
            rows = self.grid.nearest[:, column]
            scores[:, column], tails[:, column] = of_k[rows], unknown[rows]
        return scores, tails


@dataclass(frozen=True)
class PairProfile(HalfProfile):
    """The profile of squared errors, shares of votes and Brier scores (`_pair_profile`).

    ``laws`` (n_rows, n_columns, 2, depth) weigh it; ``tails`` (n_rows, n_columns, depth + 1) are the
    undecided shares of lists of each length.
    """

    depth: int
    kind: int
    classes: Array
    targets: Array
    average_ties: bool
    laws: Array
    tails: Array

    @classmethod
    def of(
        cls, problem: ScoringProblem, grid: SurfaceGrid, n_available: int, max_depth: int
    ) -> PairProfile:
        """The profile for halves of ``n_available + 1`` samples, with the training sizes of `grid`."""
        kind = KINDS[profile_of(problem.variant, problem.parameters)]
        cells = [(at, int(k), grid.sizes[at[1]]) for at, k in np.ndenumerate(grid.nearest)]
        every = [fixed_tail(n_available, size, k) for _, k, size in cells]
        depth = min(max(1, *(int(np.argmax(tail <= TOLERANCE / 2)) for tail in every)), max_depth)
        tails = np.array([tail[: depth + 1] for tail in every]).reshape(*grid.nearest.shape, depth + 1)
        laws = np.empty((*grid.nearest.shape, 2, depth))
        for at, k, size in cells:
            law: Inclusion = inclusion_law(n_available, size, k)
            scale = 1 / k if kind == SHARE else (2 if kind == BRIER else 1) / (k * k)
            laws[at][0], laws[at][1] = scale * law.single[:depth], scale * law.with_nearer[:depth]
        targets = problem.values if kind == ERROR else np.zeros((len(problem.labels.codes), 0))
        targets = np.ascontiguousarray(targets, dtype=float)
        return cls(depth, kind, problem.labels.codes, targets, problem.ties == "random", laws, tails)

    def add_up(self, lists: NeighborLists, rows: Array, weights: Array) -> Array:
        """The weighted profile of rows."""
        profile = np.zeros((2, self.depth))
        of_lists = lists.items, lists.values, lists.lengths
        what = self.kind, self.classes, self.targets, self.average_ties
        add_pair_profile(*of_lists, rows, weights, *what, profile, stop_flag())
        return profile

    def scores_and_tails(self, profile: Array, ended: Array) -> tuple[Array, Array]:
        """The scores and the undecided shares of all cells."""
        return (self.laws * profile).sum(axis=(2, 3)), (self.tails * ended).sum(axis=2)


def profile_kind(
    problem: ScoringProblem, grid: SurfaceGrid
) -> type[VoteProfile] | type[PairProfile] | None:
    """The profile that serves the cells of a surface, or None."""
    if has_profile(problem, grid):
        return VoteProfile
    return PairProfile if sums_over_pairs(problem) else None


def score_halves_by_profiles(
    kind: type[VoteProfile] | type[PairProfile],
    problem: ScoringProblem,
    grid: SurfaceGrid,
    neighbors: Neighbors,
    halvings: Halvings,
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """The exact scores of every half, (n_halvings, 2, n_rows, n_columns), and the largest undecided shares.

    The latter are of shape (n_rows, n_columns).

    The result does not depend on the threads: every half adds its blocks of rows in their order.
    """
    halves = [(halving, half) for halving in range(len(halvings.half_of)) for half in (0, 1)]
    rows_of = [halvings.rows(*each) for each in halves]
    profiles = {}
    for rows in {len(rows): rows for rows in rows_of}.values():
        n_available = len(rows) - 1
        max_depth = min(n_available, neighbors.max_depth)
        profiles[len(rows)] = kind.of(problem, grid_in_half(problem, grid, rows), n_available, max_depth)
    weights = [_weights(problem, grid, rows) for rows in rows_of]
    wanted = max(profile.depth * neighbors.n_items / n for n, profile in profiles.items())
    depth = depth_for_halves(wanted, neighbors)
    neighbors.search_all(depth, n_jobs=n_jobs)
    rows = neighbors.visiting_order(np.arange(neighbors.n_items), depth)
    codes = problem.labels.codes
    size = max(BLOCK // depth, 1)
    scores, undecided = np.zeros((2, len(halves), *grid.nearest.shape))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        waiting = dict.fromkeys(range(len(halves)), block[np.argsort(codes[block], kind="stable")])
        deep = depth
        while waiting:
            known = np.unique(np.concatenate(list(waiting.values()))) if deep > depth else np.sort(block)
            lists = search_block(neighbors, known, deep, n_jobs)
            lengths = usable_lengths(lists, neighbors, problem.ties == "random")
            last = deep >= neighbors.max_depth
            left: dict[int, Array] = {}

            def work(
                piece: list[int],
                known: Array = known,
                lists: NeighborLists = lists,
                lengths: Array = lengths,
                last: bool = last,
                waiting: dict[int, Array] = waiting,
                left: dict[int, Array] = left,
            ) -> None:
                for at in piece:
                    half_of, half = halvings.half_of[halves[at][0]], halves[at][1]
                    mine = waiting[at][half_of[waiting[at]] == half]
                    profile = profiles[len(rows_of[at])]
                    kept = within_half(
                        lists, lengths, np.searchsorted(known, mine), half_of, half, profile.depth
                    )
                    if not last and (short := kept.lengths < profile.depth).any():
                        left[at] = mine[short]
                        going = np.flatnonzero(~short)
                        kept, mine = kept.cut(going, kept.items.shape[1]), mine[going]
                    if len(mine):
                        each = weights[at][codes[mine]]
                        found = profile.add_up(kept, mine, each)
                        more, unknown = profile.scores_and_tails(found, profile.ended(kept, each))
                        scores[at] += more
                        undecided[at] += unknown

            indices = sorted(waiting)
            for_each(work, [indices[at : at + AT_ONCE] for at in range(0, len(indices), AT_ONCE)], n_jobs)
            waiting, deep = left, min(2 * deep, neighbors.max_depth)
    return scores.reshape(-1, 2, *grid.nearest.shape), undecided.max(axis=0)


def grid_in_half(problem: ScoringProblem, grid: SurfaceGrid, rows: Array) -> SurfaceGrid:
    """The grid with the designs and training sizes of a half; ValueError if a design does not suit it."""
    labels = labels_of(problem.labels, rows)
    try:
        designs = tuple(design.halved(problem.labels, rows) for design in grid.designs)
        sizes = tuple(sum(kind.n_train) for design in designs for kind in design.training_sets(labels))
    except ValueError as error:
        msg = (
            f"a standard error needs scores of halves of the samples, but one of {len(rows)} does not suit "
            f"the training sizes: {error}"
        )
        raise ValueError(msg) from error
    return replace(grid, designs=designs, sizes=sizes)


def _weights(problem: ScoringProblem, grid: SurfaceGrid, rows: Array) -> Array:
    """The weight of a sample of every class in the score of a half."""
    labels = labels_of(problem.labels, rows)
    kinds = grid.designs[0].halved(problem.labels, rows).training_sets(labels)
    return np.array([float(weight) for weight in weights_of(kinds, labels, problem.average)[0]])
