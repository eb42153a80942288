"""The luck of the data of a surface: scores of halves in all of its cells, exact ones or those of runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...._base.compat import read_scorer
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
    MOST_UNDEFINED,
    HalfScores,
    Halvings,
    differences_over_runs,
    scores_over_runs,
    unit_deviations,
)
from ...luck.runs import MOST, draw_by, runs_of_halves, single_splits, train_sizes
from ...luck.scorings import Scale, TableScorer, is_near_floor, rare_class, scale_of, table_scorer
from ..results import CompleteCV, complete_cv, score_tables
from ._profile_surface import Profile, SurfaceGrid, profile_kind


@dataclass(frozen=True, eq=False)
class HalfSurface(HalfScores):
    """Scores of random pairs of disjoint halves, for all cells of a surface.

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
        found: Array = np.isnan(self.scores).mean(axis=(0, 1)) <= MOST_UNDEFINED
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
            floors=self.floors[row, column] if self.floors.ndim > 2 else self.floors,
            runs=self.runs[..., row, column] if len(self.runs) else self.runs,
            noise=float(self.noise[row, column]) if np.ndim(self.noise) else self.noise,
            scale=self.scale,
            floor=self.floor,
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
    scoring: Any = None

    def half_scores(self, surface: Any, request: HalvesRequest) -> HalfSurface:
        """Score random halves in all cells, on the same halves."""
        self.neighbors.check_unchanged()
        halvings = halvings_of(self.problem, request)
        kind = None if self.problem.pool else profile_kind(self.problem, self.grid)
        runs = np.empty((0, 0, 2))
        if self.scoring is not None:
            runs, sizes = self._by_runs(halvings, request.rng)
            found = scores_over_runs(runs), sizes, np.zeros(runs.shape[3:])
        else:
            found = self._by_cells(halvings) if kind is None else self._by_profiles(kind, halvings)
        if (np.isnan(found[0]).mean(axis=(0, 1)) > MOST_UNDEFINED).all():
            msg = (
                "a standard error needs scores of halves of the samples, but the rule suits them in no "
                f"cell: {self.grid.axis}={min(self.grid.values)} or more, halves train on at most "
                f"{max(found[1]):g} samples"
            )
            if self.scoring is not None:
                msg = f"take more samples, or stratified=True: {msg}, or {self.scoring!r} is undefined"
            raise ValueError(msg)
        parameters = [self.problem.parameters | self.grid.setting(value) for value in self.grid.values]
        nearest = np.array([[self.problem.variant.n_nearest(**each)] for each in parameters])
        halves = halves_with_warnings(
            self.problem, self.neighbors, halvings, found, surface.scores, nearest
        )
        of_cells = HalfSurface(**vars(halves) | {"n_answers": self._n_answers()})
        if self.scoring is not None:
            return self._bounded(of_cells, surface, runs)
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
        with warnings.catch_warnings():  # which `surface` gives once
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            warnings.filterwarnings("ignore", "give longer neighbor lists")
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
        if self.scoring is not None:
            words = f"{self.scoring}{words[words.index(' in the population') :]}"
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

    def scale(self) -> Scale:
        """How the scoring is bounded."""
        from sklearn import metrics

        labels = self.problem.labels
        made = read_scorer(metrics.get_scorer(self.scoring))
        return scale_of(made, labels, table_scorer(self.scoring, labels.classes))

    def _bounded(self, halves: HalfSurface, surface: Any, runs: Array) -> HalfSurface:
        """Halves of a scoring with its runs and bounds, and warnings."""
        scale = self.scale()
        n_answers = np.full(len(self.grid.sizes), scale.n_answers)
        found = scale.of(halves, runs=runs, noise=np.square(surface.std_error), n_answers=n_answers)
        near, texts = is_near_floor(found, surface.scores), rare_class(self.problem.labels)
        if near.any():
            texts.append(
                f"in {near.sum()} of {near.size} cells: halves of the samples score so near to a "
                f"constant answer, {scale.floor:.4g}, that the interval is uncertain"
            )
        return cast(HalfSurface, replace(found, warnings=(*found.warnings, *texts)))

    def _by_runs(self, halvings: Halvings, rng: np.random.Generator) -> tuple[Array, Array]:
        """The scores of halves in random runs, (n_runs, n_halvings, 2, n_K, n_sizes), and training sizes.

        All K of a column have the same runs. Columns may have fewer runs than others: NaN.
        """
        if self.problem.pool is not None:
            msg = (
                "take knnccv.sklearn.expected_score(..., test=...) for intervals of one cell: a surface of "
                f"a scoring with a test set has no standard errors, got scoring={self.scoring!r}"
            )
            raise ValueError(msg)
        labels, (n_rows, n_columns) = self.problem.labels, self.grid.nearest.shape
        scorer = cast(TableScorer, table_scorer(self.scoring, labels.classes))
        found = np.full((MOST, len(halvings.half_of), 2, n_rows, n_columns), np.nan)
        sizes, most = np.empty(n_columns), 0
        for column, design in enumerate(self.grid.designs):
            nearest = self.grid.nearest[:, column]

            def score(folds: Array, n_before: int, column: int = column, nearest: Array = nearest) -> Array:
                scores, least = np.full((n_rows, len(folds)), np.nan), train_sizes(folds).min()
                near, runs = self.neighbors, single_splits(folds, n_before)
                for row in np.flatnonzero(nearest <= least).tolist():
                    problem = self.cell(row, column)
                    scores[row] = score_tables(problem, near, runs, scorer, None, self.n_jobs)[0]
                return scores

            runs, of_halves = runs_of_halves(draw_by(design, labels), halvings, score, rng)
            most = max(most, runs.shape[1])
            found[: runs.shape[1], ..., column] = np.moveaxis(runs, 0, -1)
            sizes[column] = of_halves.mean()
        undefined = np.isnan(differences_over_runs(found)[0]).mean(axis=0) > MOST_UNDEFINED
        found[..., undefined] = np.nan
        return found[:most], sizes

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
