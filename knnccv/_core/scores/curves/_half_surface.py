"""The luck of the data of a surface: scores of its halves, standard errors, intervals and comparisons."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ...._base.labels import labels_of
from ...._base.typing import Array
from ....neighbors import NeighborLists, Neighbors, SupervisedDistanceWarning
from ...driver import ScoringProblem, all_lists, first_depth
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
    Described,
    HalfScores,
    Halvings,
    InferenceWarning,
    KeptHalves,
    check_level,
    confidence_interval,
    has_one_bound,
    unequal_errors,
    unit_deviations,
)
from ..results import CompleteCV, complete_cv
from ._profile_surface import Profile, SurfaceGrid, profile_kind

ROUNDING = 8
"""Units in the last place of the largest score by which equal scores may differ."""


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
    by_class = True

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """That of the surface."""
        return self.profile.grid.nearest.shape

    @property
    def enough(self) -> int:  # type: ignore[override]
        """The depth of the profile."""
        return self.profile.depth

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

    def halves_request(
        self, _surface: Any, n_halvings: Any, groups: Any, random_state: Any
    ) -> HalvesRequest:
        """The checked arguments of `half_scores`."""
        return check_request(self.problem, n_halvings, groups, random_state)

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
                scorer = ProfileScorer(profile, problem.ties == "random")
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
            all_lists(self.neighbors, depth, self.n_jobs)
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


class _Bounds(NamedTuple):
    low: Array
    high: Array


class SurfaceInterval(Described, _Bounds):
    """Confidence intervals of all cells of a surface, the pair ``(low, high)`` of arrays (n_K, n_sizes).

    Attributes
    ----------
    low, high : ndarray of shape (n_K, n_sizes)
        Their ends; NaN where the rule does not suit halves of the samples.
    confidence_level : float
        The share of data sets for which such an interval should contain the target of its cell.
    method : str
        As that of `ConfidenceInterval`.
    n_eff : ndarray of shape (n_K, n_sizes)
        The number of independent answers that would be as uncertain; NaN unless the method is "wilson".
    half_score : ndarray of shape (n_K, n_sizes)
        The mean score of the halves.
    half_train_size : ndarray of shape (n_sizes,)
        Their mean training size.
    target : str
        What the intervals are for, in words.
    """

    confidence_level: float
    method: str
    n_eff: Array
    half_score: Array
    half_train_size: Array
    target: str


class DifferenceToBest(NamedTuple):
    """The differences of all K to the best K of each training size, and their standard errors.

    ``difference`` and ``standard_error`` (n_K, n_sizes): score minus score of the best, and the standard
    deviation of this difference over samples of the population; both are 0 at the best. ``n_neighbors``
    (n_sizes,): the best.
    """

    difference: Array
    standard_error: Array
    n_neighbors: Array


class HalvedSurface(KeptHalves):
    """Standard errors, intervals and comparisons of the cells of a surface.

    All cells share the same halves of the samples, those of `complete_cv` for the same seed.
    """

    scores: Array
    n_neighbors: Array
    train_sizes: Array
    truncation_bound: Array
    is_loss: bool
    _missing: ClassVar[str] = (
        "this needs exact scores, which a surface of a scoring does not have, and the data, which a copied "
        "or pickled one does not contain; call surface again without scoring, or compute this before "
        "copying, or copy surface.with_data()"
    )

    @functools.cached_property
    def _told(self) -> tuple[tuple[float, float] | None, str, str | None]:
        evaluation: SurfaceEvaluation = self._reference()
        return evaluation.problem.score.range, evaluation.target(), evaluation.grid.axis

    def half_scores(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> HalfSurface:
        """The exact scores of random pairs of disjoint halves in all cells; see `standard_error`.

        Returns
        -------
        HalfSurface
            ``scores`` of shape (n_halvings, 2, n_K, n_sizes), ``train_sizes``, ``n_units``, ``warnings``.
            The arrays are read-only, since the halves of a seed are kept.
        """
        return cast(HalfSurface, super().half_scores(n_halvings, groups, random_state))

    def standard_error(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> Array:
        """The standard deviation of every exact score over samples of the population: the luck of the data.

        As ``complete_cv(..., Subsample(size)).standard_error(...)`` of the cell; all cells share the same
        halves. Computed from the data, to which the surface refers until it is pickled or copied.

        Parameters
        ----------
        n_halvings : int, default 200
            Number of random pairs of disjoint halves of the samples, at least 2.
        groups : array of shape (n_items,), optional
            Groups of samples that depend on each other: whole groups are drawn into the halves.
        random_state : int, numpy Generator or None, default 0
            Seed of the halvings. The halves of a seed are kept.

        Returns
        -------
        ndarray of shape (n_K, n_sizes)
            NaN where the rule does not suit halves, as K exceeds their training size, and where neighbor
            lists end too early: more than 0.01 of a half's weight is undecided.

        Raises
        ------
        ValueError, TypeError
            If an argument is not as above, there are fewer than four samples or groups, the surface was
            pickled or copied, or all cells would be NaN.

        Warns
        -----
        InferenceWarning
            With the number of cells in which standard errors are NaN, or were found to be unreliable: the
            halves train on fewer than 4 K samples, or score so much worse that the error is too large.

        Notes
        -----
        See `CompleteCV.standard_error` for the method. Votes and ranks without strata, and the squared
        errors, shares of votes and Brier scores, cost about `n_halvings` surfaces. All other rules cost
        `n_halvings` times `complete_cv` for every cell.
        """
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        errors: Array = np.sqrt(halves.variance)
        return errors

    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> SurfaceInterval:
        """Intervals for the expected scores in the population, cell by cell: the luck of the data.

        They hold for each cell by itself, not for all of them at once.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).
        n_halvings, groups, random_state
            As for `standard_error`.

        Returns
        -------
        SurfaceInterval
            The pair ``(low, high)`` of arrays of shape (n_K, n_sizes), with attributes ``method``,
            ``n_eff``, ``target``, …; as those of `CompleteCV.confidence_interval`.

        Raises
        ------
        ValueError, TypeError
            As `standard_error`; if the level is not in (0, 1).

        Warns
        -----
        InferenceWarning
            As `standard_error`; with the number of cells in which squared errors of single samples are very
            unequal.

        Notes
        -----
        For squared errors every cell is scored once more, as the skewness of the samples' errors matters.
        """
        level = check_level(confidence_level)
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        limits, target, _ = self._told
        low, high, n_eff, mean = np.full((4, *self.scores.shape), np.nan)
        unequal: list[str] = []
        for at in np.argwhere(halves.known):
            row, column = map(int, at)
            score, cell = float(self.scores[row, column]), halves.cell(row, column)
            if has_one_bound(limits):
                cell = replace(cell, deviations=self._reference().deviations(row, column, groups))
                unequal += unequal_errors(score, cell.deviations)
            found = confidence_interval(score, cell, level, limits, target)
            low[row, column], high[row, column] = found
            n_eff[row, column], mean[row, column] = found.n_eff, found.half_score
        if unequal:
            text = f"in {len(unequal)} of {low.size} cells: {unequal[0]}"
            warnings.warn(text, InferenceWarning, stacklevel=2)
        return SurfaceInterval(
            low,
            high,
            confidence_level=level,
            method=found.method,
            n_eff=n_eff,
            half_score=mean,
            half_train_size=halves.train_sizes.copy(),
            target=target,
        )

    def difference_to_best(
        self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0
    ) -> DifferenceToBest:
        """The difference of every K to the best K at each training size, and its standard error.

        What the samples do to both K cancels, so that this standard error is usually much smaller than
        those of the scores.

        Parameters
        ----------
        n_halvings, groups, random_state
            As for `standard_error`.

        Returns
        -------
        DifferenceToBest
            ``difference`` and ``standard_error`` of shape (n_K, n_sizes), ``n_neighbors`` (n_sizes,). The
            standard errors of a column are NaN if its best K has none.

        Raises
        ------
        ValueError, TypeError
            As `standard_error`.

        Warns
        -----
        InferenceWarning
            As `standard_error`.
        """
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        return self._differences(halves, self._best_rows())

    def not_worse(
        self,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> Array:
        """The K that are not significantly worse than the best K at each training size.

        The difference to the best is compared with the t distribution (two-sided, as in `knnccv.compare`),
        for each K by itself. The best is chosen by the same data. Differences within the truncation bounds
        of both scores count as 0. Differences that no half shows count as not significant, with a warning.
        Where the best K has no standard error, the others are compared with the best of those that have
        one.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).
        n_halvings, groups, random_state
            As for `standard_error`.

        Returns
        -------
        bool ndarray of shape (n_K, n_sizes)
            True for the best; False for other K without a standard error.

        Raises
        ------
        ValueError, TypeError
            As `standard_error`; if the level is not in (0, 1).

        Warns
        -----
        InferenceWarning
            As `standard_error`; if the best K of a column has no standard error, or its halves score the
            same as those of another K although the scores differ.
        """
        from scipy.special import stdtrit

        level = check_level(confidence_level)
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        near, agree = self._near(halves, float(stdtrit(halves.degrees_of_freedom, (1 + level) / 2)))
        if agree.any():
            warnings.warn(
                f"in {agree.sum()} of {agree.size} cells: the halves score the same as those of the best K "
                "although the scores differ: halves say nothing about these differences, which count as "
                "not significant",
                InferenceWarning,
                stacklevel=2,
            )
        kept: Array = near | agree
        return kept

    def _near(self, halves: HalfSurface, factor: float, column: int | None = None) -> tuple[Array, Array]:
        """The cells within `factor` standard errors of the best of their column, and the best itself.

        The second array has the cells that are not, but whose halves score the same as those of the best.

        Where the best has no standard error, the best that has one stands for it; `InferenceWarning` for
        all columns, or the one of interest.
        """
        columns = np.arange(self.scores.shape[1])
        known = halves.known
        best, rows = self._best_rows(), self._best_rows(known)
        other = (best != rows) & ((columns == column) | (column is None))
        if other.any():
            names = ", ".join(map(str, dict.fromkeys(self.train_sizes[other].tolist())))
            warnings.warn(
                f"the best K at training size {names} has no standard error: the others are compared with "
                "the best K that has one",
                InferenceWarning,
                stacklevel=3,
            )
        found = self._differences(halves, rows)
        bounds = self.truncation_bound + self.truncation_bound[rows, columns] + _rounding(self.scores)
        near: Array = np.abs(found.difference) <= factor * found.standard_error + bounds
        near[best, columns] = True
        return near, ~near & (found.standard_error == 0)

    def _differences(self, halves: HalfSurface, rows: Array) -> DifferenceToBest:
        columns = np.arange(self.scores.shape[1])
        best = halves.scores[:, :, rows, columns][:, :, None]
        return DifferenceToBest(
            self.scores - self.scores[rows, columns],
            _errors(halves.scores - best, 2 * halves.resolution),
            self.n_neighbors[rows],
        )

    def _best_rows(self, allowed: Array | None = None) -> Array:
        """The row of the best number of neighbors in each column, the smallest within the bounds.

        Only cells that are `allowed` (n_K, n_sizes) are compared, unless a column has none.
        """
        by_k = np.argsort(self.n_neighbors, kind="stable")
        scores, bounds = self.scores[by_k], self.truncation_bound[by_k]
        gains = -scores if self.is_loss else scores
        if allowed is not None:
            gains = np.where(allowed[by_k] | ~allowed.any(axis=0), gains, -np.inf)
        rows: Array = by_k[(gains + bounds >= (gains - bounds).max(axis=0)).argmax(axis=0)]
        return rows


def _errors(scores: Array, resolution: float) -> Array:
    """The root of a quarter of the mean squared difference of the halves; 0 within their resolution."""
    found = np.sqrt(np.square(scores[:, 0] - scores[:, 1]).mean(axis=0) / 4)
    errors: Array = np.where(found <= resolution, 0.0, found)
    return errors


def _rounding(scores: Array) -> Array:
    """What rounding may add to the difference of two scores."""
    found: Array = ROUNDING * np.spacing(np.abs(scores).max(axis=0))
    return found
