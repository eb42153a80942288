"""The answer of `expected_score`: `ExpectedScore`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.formatting import Numeric
from .._base.validation import fixed_seed
from .._core.luck.inference import HalfScores, ScoredHalves, Terms
from .._core.scores.results import CompleteCV
from ._scoring import Measure

INEXACT: dict[str, Any] = {"is_exact": False, "error_bound": math.inf}
"""Fields of estimates."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ExpectedScore(Numeric, ScoredHalves):
    """The expectation of a cross-validated score over the splitter's random numbers.

    Exact scores in closed form have `standard_error` and `confidence_interval` for the population (the luck
    of the data), and can be compared by `knnccv.compare` and `knnccv.compare_all`.

    Attributes
    ----------
    score : float
        The expectation; if `is_exact` is False, an estimate from random training sets or runs.
    std_error : float
        Standard error of the estimate (the luck of the draws or splits): 0 if `score` is exact, NaN for a
        single run. The luck of the data is `standard_error`.
    is_exact : bool
        Whether `score` is the expectation, up to `error_bound`.
    error_bound : float
        Bound of ``|score - exact value|``, 0 for a score of scikit-learn; infinite if not `is_exact`.
    deterministic : bool
        Whether the splitter always makes the same splits. `score` is then the mean of
        ``cross_val_score``.
    average : str
        "folds" or "pooled", the argument.
    ties : str or None
        The order of tied training samples, "index" or "random"; None if scikit-learn computed the score.
    design : str
        The splitter.
    explanation : str
        A sentence about the computation.
    result : CompleteCV, tuple of CompleteCV, or None
        The results of `knnccv.complete_cv`, if it was used (one per column of y in a regression).
    n_draws : int
        The number of training sets that were drawn for every sample with too many of them; 0 if none were.
    n_runs : int
        The number of random runs of which `score` is the mean, or of nested runs; 0 if there were none.
    per_output : ndarray of shape (n_outputs,), or None
        The scores of several outputs, of which `score` is the mean. None for a single one, for scores that
        judge the outputs together, and if scikit-learn computed the score.

    Examples
    --------
    >>> from knnccv.sklearn import expected_score
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> found = expected_score(KNeighborsClassifier(5), wine.X, wine.y, cv=5)
    >>> round(found.score, 2)
    0.69
    """

    _json = (
        "score std_error is_exact error_bound deterministic average ties design explanation n_draws n_runs "
        "per_output measure"
    )
    _shown = "score std_error error_bound n_tied explanation"

    score: float
    std_error: float = 0.0
    is_exact: bool = True
    error_bound: float = 0.0
    deterministic: bool = False
    average: str
    ties: str | None = None
    design: str
    explanation: str
    result: Any = None
    n_draws: int = 0
    n_runs: int = 0
    per_output: Any = None
    # In closed form, `score` is `_measure` of the sum of `_shares` of the results' scores.
    _measure: Measure | None = None
    _shares: tuple[float, ...] = ()
    _n_tied: int = 0  # of runs

    def with_data(self) -> ExpectedScore:
        """Return this score, whose pickles and copies from now on take the data along."""
        self._sum()
        for result in self._results:
            result.with_data()
        return self

    def _words(self, name: str) -> str:
        return "" if name == "error_bound" and not self.is_exact else super()._words(name)

    @property
    def measure(self) -> str:
        """The name of the score; "score" if there is no closed form."""
        if self._measure is None:
            return "score"
        return self._measure.name if self._measure.changes else str(self._results[0].measure)

    @property
    def _results(self) -> tuple[CompleteCV, ...]:
        return self.result if isinstance(self.result, tuple) else (self.result,)

    def inference_terms(self) -> Terms:
        """What two results must share to be compared; for `knnccv.compare`."""
        _, parts = self._sum()
        weights = np.array([weight for weight, _ in parts])
        terms = [result.inference_terms() for _, result in parts]
        labels, first = terms[0].labels, terms[0]
        if any(each.labels is not labels and not np.array_equal(each.labels, labels) for each in terms):
            labels = np.column_stack([each.labels for each in terms])
        shares = weights / sum(weights)
        return first._replace(
            labels=labels,
            weights=sum(share * each.weights for share, each in zip(shares, terms, strict=True)),
            is_loss=first.is_loss != (parts[0][0] < 0),
            error_bound=float(np.abs(weights) @ [each.error_bound for each in terms]),
        )

    def half_scores(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> HalfScores:
        """The exact scores of random pairs of disjoint halves; arguments as for `standard_error`."""
        offset, parts = self._sum()
        seed = fixed_seed(random_state)
        found = [(weight, result.half_scores(n_halvings, groups, seed)) for weight, result in parts]
        larger = math.fsum(abs(weight * halves.mean) for weight, halves in found)
        of_all = math.fsum(abs(weight * halves.mean) / halves.growth for weight, halves in found)
        floors = [halves.floors * [weight, weight, 1 / len(found)] for weight, halves in found]
        return replace(
            found[0][1],
            scores=offset + np.sum([weight * halves.scores for weight, halves in found], axis=0),
            train_size=math.fsum(halves.train_size for _, halves in found) / len(found),
            deviations=np.sum([weight * halves.deviations for weight, halves in found], axis=0),
            resolution=sum(abs(weight) * halves.resolution for weight, halves in found),
            warnings=tuple(dict.fromkeys(text for _, halves in found for text in halves.warnings)),
            growth=larger / of_all if of_all else 1.0,
            floors=np.sum(floors, axis=0) + np.array([offset, offset, 0.0]),
        )

    def target_in_words(self) -> str:
        """What the score estimates."""
        self._sum()
        first, *more = self._results
        name = "" if self.measure == first.measure else f"{self.measure}, from the "
        return f"{name}{first.target_in_words()}{f', and {len(more)} more, averaged' if more else ''}"

    def score_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score of one classification, or None."""
        offset, parts = self._sum()
        ranges = [(weight, result.score_range()) for weight, result in parts]
        if any(limits is None for _, limits in ranges):
            return None
        ends = [sorted(weight * limit for limit in limits or ()) for weight, limits in ranges]
        return offset + sum(low for low, _ in ends), offset + sum(high for _, high in ends)

    def _sum(self) -> tuple[float, list[tuple[float, CompleteCV]]]:
        """The closed form: an offset, and results with their weights; ValueError if there is none."""
        if self._measure is not None:
            weights = [self._measure.factor * share for share in self._shares]
            return self._measure.offset, list(zip(weights, self._results, strict=True))
        population = "a standard error or an interval for the population (the luck of the data) needs"
        if not self.is_exact:
            what = f"an estimate from drawn training sets, n_draws={self.n_draws}"
            if not self.n_draws:
                what = f"the mean of sampled runs, n_runs={self.n_runs}"
            msg = (
                f"{population} an exact score, but this is {what}: take method='exact' where it is "
                "possible (scalers: with transductive=True), or knnccv.complete_cv; std_error is the luck "
                "of the split"
            )
        else:
            instead = "a splitter with shuffle=True, or knnccv.complete_cv"
            if self.ties:  # splits of whole groups, each of them computed
                instead = "knnccv.complete_cv with LeaveGroupsOut"
            msg = f"{population} a closed form, but this score is {self.explanation}: take {instead}"
        raise ValueError(msg)

    @property
    def n_tied(self) -> int:
        """The number of samples whose tied neighbors are taken in row order, and may decide; else 0."""
        if self.ties != "index":
            return 0
        return self._n_tied if self.result is None else max(result.n_tied for result in self._results)
