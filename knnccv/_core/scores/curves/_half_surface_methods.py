"""Standard errors, intervals and comparisons of a surface, methods of its result."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from ...._base.typing import Array
from ...luck.halves import HalvesRequest, check_request
from ...luck.inference import (
    Described,
    InferenceWarning,
    KeptHalves,
    check_level,
    confidence_interval,
    has_one_bound,
    mean_squared_difference,
    unequal_errors,
)
from ._half_surface import HalfSurface, SurfaceEvaluation

ROUNDING = 8
"""Units in the last place of the largest score by which equal scores may differ."""


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
    std_error: Array | None
    is_loss: bool
    _missing: ClassVar[str] = (
        "this needs the data, which a copied or pickled surface does not contain; call surface again, or "
        "compute this before copying, or copy surface.with_data()"
    )

    @functools.cached_property
    def _told(self) -> tuple[tuple[float, float] | None, str, str | None]:
        evaluation: SurfaceEvaluation = self._reference()
        is_exact, score = evaluation.scoring is None, evaluation.problem.score
        limits = score.range if is_exact else evaluation.scale().limits
        return limits, evaluation.target(), evaluation.grid.axis

    def _halves_request(self, n_halvings: Any, groups: Any, random_state: Any) -> HalvesRequest:
        return check_request(self._reference().problem, n_halvings, groups, random_state)

    def _score_halves(self, request: HalvesRequest) -> HalfSurface:
        evaluation: SurfaceEvaluation = self._reference()
        return evaluation.half_scores(self, request)

    def half_scores(
        self, n_halvings: int | None = None, groups: Any = None, random_state: Any = 0
    ) -> HalfSurface:
        """The scores of random pairs of disjoint halves in all cells; see `standard_error`.

        Returns
        -------
        HalfSurface
            ``scores`` of shape (n_halvings, 2, n_K, n_sizes), ``train_sizes``, ``n_units``, ``warnings``.
            The arrays are read-only, since the halves of a seed are kept.
        """
        return cast(HalfSurface, super().half_scores(n_halvings, groups, random_state))

    def standard_error(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> Array:
        """The standard deviation of every score over samples of the population: the luck of the data.

        As ``complete_cv(..., Subsample(size)).standard_error(...)`` of the cell; all cells share the same
        halves. For a scoring they are scored by random runs, as by `ExpectedScore.standard_error`. Computed
        from the data, to which the surface refers until it is pickled or copied.

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
            if has_one_bound(limits) and self.std_error is None:
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
        rounding = ROUNDING * np.spacing(np.abs(self.scores).max(axis=0))
        bounds = self.truncation_bound + self.truncation_bound[rows, columns] + rounding
        near: Array = np.abs(found.difference) <= factor * found.standard_error + bounds
        near[best, columns] = True
        return near, ~near & (found.standard_error == 0)

    def _differences(self, halves: HalfSurface, rows: Array) -> DifferenceToBest:
        columns = np.arange(self.scores.shape[1])
        best, runs = halves.scores[:, :, rows, columns][:, :, None], halves.runs
        if len(runs):
            runs = runs - runs[..., rows, columns][..., None, :]
        errors = np.sqrt(mean_squared_difference(halves.scores - best, runs) / 4)
        noise = np.zeros(errors.shape) + halves.noise
        noise = noise + noise[rows, columns]
        noise[rows, columns] = 0.0
        return DifferenceToBest(
            self.scores - self.scores[rows, columns],
            np.hypot(np.where(errors <= 2 * halves.resolution, 0.0, errors), np.sqrt(noise)),
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
