"""The luck of the data of a surface: exact scores of halves in all of its cells."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...._base.labels import labels_of
from ...._base.typing import Array
from ....neighbors import NeighborLists, Neighbors, SupervisedDistanceWarning
from ...driver import ScoringProblem, first_depth
from ...luck.halves import (
    TOLERANCE,
    Half,
    HalfScorer,
    HalvesRequest,
    Owner,
    Sums,
    check_request,
    depth_for_halves,
    floors_of,
    halves_with_warnings,
    halvings_of,
    has_floors,
    score_halves,
    score_in_halves,
    target_of,
)
from ...luck.inference import (
    HalfScores,
    Halvings,
    unit_deviations,
)
from ..results import CompleteCV, complete_cv
from ._profile_surface import Profile, SurfaceGrid, profile_kind


@dataclass(frozen=True, eq=False)
class HalfSurface(HalfScores):
    """Exact scores of random pairs of disjoint halves, for all cells of a surface.

    Attributes
    ----------
    scores : ndarray of shape (n_halvings, 2, n_K, n_sizes)
        Read-only. NaN for cells whose rule or design does not suit the halves, or for which the neighbor
        lists end too early: more than 0.01 of a half's weight is undecided.
    train_sizes : ndarray of shape (n_sizes,)
        The mean training size of the halves. Read-only.
    n_units : int
        The number of samples, or of groups if halves of groups were drawn.
    of_groups : bool
        Whether halves of groups were drawn.
    n_answers : ndarray of shape (n_sizes,)
        The effective number of weighted answers, as in `HalfScores`. Read-only.
    resolution : float
        The accuracy of the scores. A standard error below it counts as 0.
    warnings : tuple of str
        Conditions under which intervals were found to be unreliable.
    """

    @property
    def train_sizes(self) -> Array:
        """The mean training size of the halves in every column."""
        sizes: Array = self.train_size
        return sizes

    @property
    def known(self) -> Array:
        """The cells with scores, bool (n_K, n_sizes)."""
        found: Array = np.logical_not(np.isnan(self.scores).any(axis=(0, 1)))
        return found

    def cell(self, row: int, column: int) -> HalfScores:
        """The scores of one cell."""
        scores = np.ascontiguousarray(self.scores[:, :, row, column])
        return HalfScores(
            scores,
            self.n_units,
            self.of_groups,
            float(self.train_sizes[column]),
            n_answers=float(self.n_answers[column]),
            resolution=self.resolution,
            growth=float(self.growth[row, column]) if np.ndim(self.growth) else self.growth,
            floors=self.floors[row, column] if self.floors.size else self.floors,
        )


@dataclass(frozen=True)
class ProfileScorer(HalfScorer):
    """Scores the halves of one size, all cells at once, by their profiles."""

    profile: Profile
    average_ties: bool
    enough: int
    shape: tuple[int, ...]
    by_class = True

    def sums(self, lists: NeighborLists, rows: Array, weights: Array, owner: Owner) -> Sums:
        """The sums over the rows of one half."""
        depth = self.profile.depth
        short = (lists.lengths < depth) & (not owner.last)
        if short.any():
            going = np.flatnonzero(~short)
            lists, rows, weights = lists.cut(going, lists.items.shape[1]), rows[going], weights[:, going]
        found, tails = np.zeros((2, *self.shape))
        if len(rows):
            profile = self.profile.of_lists(lists, rows, weights[0], self.average_ties)
            ended = np.bincount(np.minimum(lists.lengths, depth), weights[0], depth + 1)
            found, tails = self.profile.scores_and_tails(profile, ended)
        return Sums(found[None], tails[None], short)


@dataclass(frozen=True)
class SurfaceEvaluation:
    """The problem of a surface, its cells and the neighbors; computes what a `Surface` does not store."""

    problem: ScoringProblem
    grid: SurfaceGrid
    neighbors: Neighbors
    n_jobs: int | None

    def half_scores(self, surface: Any, request: HalvesRequest) -> HalfSurface:
        """Score random halves in all cells, on the same halves."""
        self.neighbors.check_unchanged()
        halvings = halvings_of(self.problem, request)
        kind = None if self.problem.pool else profile_kind(self.problem, self.grid)
        found = self._by_cells(halvings) if kind is None else self._by_profiles(kind, halvings)
        if np.isnan(found[0]).any(axis=(0, 1)).all():
            msg = (
                "a standard error needs scores of halves of the samples, but the rule suits them in no "
                f"cell: {self.grid.axis}={min(self.grid.values)} or more, halves train on at most "
                f"{max(found[1]):g} samples"
            )
            raise ValueError(msg)
        parameters = [self.problem.parameters | self.grid.setting(value) for value in self.grid.values]
        nearest = np.array([[self.problem.variant.n_nearest(**each)] for each in parameters])
        halves = halves_with_warnings(
            self.problem, self.neighbors, halvings, found, surface.scores, nearest
        )
        of_cells = HalfSurface(**vars(halves) | {"n_answers": self._n_answers()})
        if not has_floors(self.problem):
            return of_cells
        floors = np.zeros((*of_cells.known.shape, len(self.problem.labels.classes), 3))
        for row, column in np.argwhere(of_cells.known).tolist():
            result = self.result(row, column, self.problem.parameters)
            floors[row, column] = floors_of(self.cell(row, column), result, request.groups)
        return replace(of_cells, floors=floors)

    def cell(self, row: int, column: int) -> ScoringProblem:
        """The problem of one cell."""
        parameters = self.problem.parameters | self.grid.setting(self.grid.values[row])
        problem = self.problem.over(self.grid.designs[column], self.problem.labels)
        return replace(problem, parameters=parameters)

    def result(self, row: int, column: int, parameters: dict[str, Any], **options: Any) -> CompleteCV:
        """The result of one cell; `parameters` are those that all cells share."""
        problem, grid = self.problem, self.grid
        y, test = problem.asked_again()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SupervisedDistanceWarning)  # given by `surface`
            return complete_cv(
                self.neighbors,
                y,
                problem.variant,
                grid.designs[column],
                ties=problem.ties,
                average=problem.average,
                n_jobs=self.n_jobs,
                test=test,
                **options,
                **parameters | grid.setting(grid.values[row]),
            )

    def deviations(self, row: int, column: int, groups: Any) -> Array:
        """Those of `HalfScores` for one cell, from its score for all samples."""
        found = self.result(row, column, self.problem.parameters)
        request = check_request(self.problem, 2, groups, 0)
        return unit_deviations(found.per_item, found.weights, request.groups)

    def target(self) -> str:
        """What the scores estimate, in words."""
        words = target_of(replace(self.problem, parameters=self.problem.parameters | self.grid.symbol))
        return f"{words.split(', trained on')[0]}, for each number of neighbors and each training size"

    def _n_answers(self) -> Array:
        """1 / (sum of the squared weights of the samples) of every column."""
        counts = self.problem.labels.counts.tolist()
        found = []
        for column in range(len(self.grid.designs)):
            by_class = zip(*self.cell(0, column).item_weights, strict=True)
            squares = [n * sum(weights) ** 2 for n, weights in zip(counts, by_class, strict=True)]
            found.append(1 / float(sum(squares)))
        return np.array(found)

    def _by_profiles(self, kind: type[Profile], halvings: Halvings) -> tuple[Array, Array, Array]:
        """All cells of a half from its profile: what is equal for several halves is computed once."""
        problem, neighbors = self.problem, self.neighbors
        known: dict[int, tuple[ProfileScorer, Array, Array]] = {}
        halves, unsuited = [], []
        for halving, half in np.ndindex(len(halvings.half_of), 2):
            rows = halvings.rows(halving, half)
            n = len(rows)
            if n not in known:
                grid = grid_in_half(problem, self.grid, rows)
                profile = kind(problem, grid, n - 1, min(n - 1, neighbors.max_depth), TOLERANCE)
                scorer = ProfileScorer(profile, problem.ties == "random", profile.depth, grid.nearest.shape)
                known[n] = scorer, np.array(grid.sizes), self._unsuited(grid, rows)
            scorer, sizes, nowhere = known[n]
            halves.append(Half(halving, half, scorer, self._weights(rows), sizes))
            unsuited.append(nowhere)
        wanted = max(each.profile.depth * neighbors.n_items / n for n, (each, *_) in known.items())
        depth = depth_for_halves(wanted, neighbors)
        found, undecided = score_in_halves(problem, neighbors, halvings, halves, depth, self.n_jobs)
        found[:, :, np.any(unsuited, axis=0)] = np.nan
        return found, np.mean([half.train_size for half in halves], axis=0), undecided

    def _weights(self, rows: Array) -> Array:
        """The weight of a sample of every class in the score of a half, (1, n_classes)."""
        problem, labels = self.problem, labels_of(self.problem.labels, rows)
        reduced = problem.over(self.grid.designs[0].halved(problem.labels, rows), labels)
        return np.array([[float(weight) for weight in reduced.item_weights[0]]])

    def _unsuited(self, grid: SurfaceGrid, rows: Array) -> Array:
        """Cells whose parameters the training sets of a half do not suit, bool (n_rows, n_columns)."""
        problem, labels = self.problem, labels_of(self.problem.labels, rows)
        found = np.zeros(grid.nearest.shape, bool)
        for column, design in enumerate(grid.designs):
            (kind,) = design.training_sets(labels)
            for row, value in enumerate(grid.values):
                try:
                    problem.variant.check(problem.task(kind), **problem.parameters | grid.setting(value))
                except ValueError:
                    found[row, column] = True
        return found

    def _by_cells(self, halvings: Halvings) -> tuple[Array, Array, Array]:
        """Every cell separately; the neighbors keep their lists if there is room."""
        cells = np.argwhere(np.ones(self.grid.nearest.shape, bool))
        deepest = max(first_depth(self.cell(*cell), self.neighbors, TOLERANCE) for cell in cells)
        depth = depth_for_halves(2 * deepest, self.neighbors)
        if self.neighbors.room(depth) is not None:
            self.neighbors.all_lists(depth, self.n_jobs)
        found = np.full((*halvings.half_of.shape[:1], 2, *self.grid.nearest.shape), np.nan)
        sizes = np.full(self.grid.nearest.shape[1], np.nan)
        undecided = np.zeros(self.grid.nearest.shape)
        for row, column in cells:
            try:
                problem = self.cell(row, column)
                scores, sizes[column], undecided[row, column] = score_halves(
                    problem, self.neighbors, halvings, self.n_jobs
                )
            except ValueError:
                if np.isnan(found).all() and (row, column) == tuple(cells[-1]):
                    raise
                continue
            found[:, :, row, column] = scores
        return found, sizes, undecided


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
