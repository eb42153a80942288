"""What is asked, `Request`: the rule, the splits and the scoring; and the answer, `ExpectedScore`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._base.compat import read_scorer
from .._base.formatting import Numeric
from .._base.labels import EncodedLabels, encode_labels, single_class
from .._base.typing import Array
from .._base.validation import check, fixed_seed
from .._core import driver
from .._core.luck.inference import HalfScores, ScoredByRuns, Terms
from .._core.luck.runs import depth_of_runs, nearest_in_runs, train_sizes
from .._core.luck.scorings import ACCURACIES, ControlledMean, TableScorer, Wish, table_scorer
from .._core.scores.results import CompleteCV, complete_cv
from ..designs import Design
from ._estimators import Prepared, Rule
from ._scoring import Measure, as_scorer, for_sklearn, metric_name, name_of
from ._splitters import FoldLaw, FromPool, GroupLaw, Law, in_words, law_of, reseeded

INEXACT: dict[str, Any] = {"is_exact": False, "error_bound": math.inf}
"""Fields of estimates."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ExpectedScore(Numeric, ScoredByRuns):
    """The expectation of a cross-validated score over the splitter's random numbers.

    It has `standard_error` and `confidence_interval` for the population (the luck of the data), and can be
    compared by `knnccv.compare` and `knnccv.compare_all`. Without closed form, halves of the samples are
    scored by two random runs each.

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
    _name: str = "score"
    _evaluation: Any = None  # scores halves, see `_halves`; copies have none
    _missing: ClassVar[str] = (
        "ask the score that was computed, or pickle it after with_data(): a copy does not have the data"
    )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers in types that JSON has, with the 95 % interval if it was asked for before."""
        return super().to_dict() | self._known_interval()

    def with_data(self) -> ExpectedScore:
        """Return this score, whose pickles and copies from now on take the data along."""
        for result in self._results if self._measure else ():
            result.with_data()
        super().with_data()
        return self

    def _words(self, name: str) -> str:
        return "" if name == "error_bound" and not self.is_exact else super()._words(name)

    @property
    def measure(self) -> str:
        """The name of the score."""
        if self._measure is None:
            return self._name
        return self._measure.name if self._measure.is_named else str(self._results[0].measure)

    @property
    def _results(self) -> tuple[CompleteCV, ...]:
        return self.result if isinstance(self.result, tuple) else (self.result,)

    @property
    def _has_usual_halves(self) -> bool:
        if self._measure is None:
            return super()._has_usual_halves
        return all(result._has_usual_halves for result in self._results)

    @property
    def _takes_no_time(self) -> bool:
        return self._evaluation is not None and not self._is_of_some and self._evaluation.takes_no_time

    @property
    def _is_of_some(self) -> bool:
        """Whether its splits are fixed and not all of a kind, as all those that leave one group out are."""
        evaluation = self._evaluation
        return self.deterministic and not (evaluation and evaluation.request.goes_through_all)

    @property
    def _is_in_closed_form(self) -> bool:
        """Whether halves are scored exactly."""
        return self._measure is not None

    def _by_runs(self) -> ExpectedScore:
        """Return this score, whose halves are scored by random runs, to compare it with others."""
        return self if self._measure is None else self._scored_by_runs

    @cached_property
    def _scored_by_runs(self) -> ExpectedScore:
        return replace(self, _measure=None, result=None)

    def inference_terms(self) -> Terms:
        """What two results must share to be compared; for `knnccv.compare`."""
        if self._measure is None:
            return super().inference_terms()
        parts = self._parts
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
            target=self._told.target,
        )

    def half_scores(
        self, n_halvings: int | None = None, groups: Any = None, random_state: Any = 0
    ) -> HalfScores:
        """The scores of random pairs of disjoint halves; arguments as for `standard_error`."""
        if self._measure is None:
            return super().half_scores(n_halvings, groups, random_state)
        offset, parts, seed = self._measure.offset, self._parts, fixed_seed(random_state)
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

    def _halves_request(self, n_halvings: Any, groups: Any, random_state: Any) -> Any:
        if self._is_of_some:
            msg = (
                "take a splitter that draws, such as KFold(5, shuffle=True), or with groups "
                "GroupShuffleSplit or GroupKFold(5, shuffle=True): a standard error or an interval for the "
                "population (the luck of the data) needs random splits, but this score is "
                f"{self.explanation}"
            )
            raise ValueError(msg)
        return super()._halves_request(n_halvings, groups, random_state)

    def score_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score of one classification, or None."""
        if self._measure is None:
            return super().score_range()
        if self._measure.is_recall:
            low, high = sorted((0.0, self._measure.factor))
            return low, high
        offset, parts = self._measure.offset, self._parts
        ranges = [(weight, result.score_range()) for weight, result in parts]
        if any(limits is None for _, limits in ranges):
            return None
        ends = [sorted(weight * limit for limit in limits or ()) for weight, limits in ranges]
        return offset + sum(low for low, _ in ends), offset + sum(high for _, high in ends)

    @property
    def _parts(self) -> list[tuple[float, CompleteCV]]:
        """The results with their weights, of which the score of a closed form is the sum, and an offset."""
        assert self._measure is not None
        factor = self._measure.factor
        return [(factor * share, one) for share, one in zip(self._shares, self._results, strict=True)]

    @property
    def n_tied(self) -> int:
        """The number of samples whose tied neighbors are taken in row order, and may decide; else 0."""
        if self.ties != "index":
            return 0
        return self._n_tied if self.result is None else max(result.n_tied for result in self._results)


AVERAGES = ("folds", "pooled")
MANY_TIED = 0.05
"""The share of samples with tied neighbors from which `expected_score` warns."""
FORMULAS = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score")
"""Functions of the errors of a regression that are computed for many folds at once."""
BOUNDED = ("_score", "_corrcoef", "zero_one_loss", "hamming_loss", "brier_score_loss")
"""How functions of scikit-learn end whose scores are at most 1."""


@dataclass(frozen=True, eq=False)
class Request:
    """The validated arguments of `expected_score` for one scoring, or of a scorer.

    Attributes
    ----------
    prepared : Prepared
        The estimator and its data after the earlier steps.
    X, y : array
        The data for splitters, and labels or values of shape (n_items,) or (n_items, n_outputs).
    cv : splitter or Design
        What is averaged over.
    seed : int
        Of all random numbers, so that several scorings get the same ones.
    precision, n_runs : float, int, optional
        The standard error, or the number, of random runs where the score is their mean.
    n_draws : int
        The number of training sets per sample that stand for too many of them; 0: these are an error.
    ties : {"index", "random"}, optional
        The order of tied training samples, instead of that of the splits.
    searched : tuple of int
        The K of a search, whose requests differ in nothing else and share `drawn`; () of a single K.
    drawn : dict
        The results of a search from drawn training sets; or scores of halves, and why some have none.
    family : list of Request
        All that were asked at once. They differ in the scoring.
    joined : bool
        Whether the predictions of all folds are scored together.
    """

    prepared: Prepared
    X: Any
    y: Array
    cv: Any
    scoring: Any = None
    groups: Any = None
    average: str = "folds"
    tol: float = 1e-12
    n_jobs: int | None = None
    seed: int = 0
    precision: float | None = None
    n_runs: int | None = None
    n_draws: int = 0
    ties: str | None = None
    searched: tuple[int, ...] = ()
    drawn: dict[Any, Any] = field(default_factory=dict)
    family: list[Request] = field(default_factory=list)
    joined: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what was asked, not what can be found again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def regression(self) -> bool:
        """Whether the estimator predicts values."""
        from sklearn.base import is_regressor

        return bool(is_regressor(self.prepared.estimator))

    @property
    def rule(self) -> Rule:
        """The nearest-neighbor rule; InexactError if the estimator is none."""
        return self.prepared.rule

    @property
    def pooled(self) -> bool:
        """Whether all classifications have equal weight, for all sizes of the folds."""
        return self.average == "pooled"

    @property
    def n_tested(self) -> int:
        """The number of samples of a test set, which are the first; 0 if there is no test set."""
        return self.cv.n_tested if isinstance(self.cv, FromPool) else 0

    @property
    def targets(self) -> Array:
        """The labels or values by output, (n_items, n_outputs)."""
        return self.y.reshape(len(self.y), -1)

    @property
    def by_output(self) -> bool:
        """Whether every output has a mean that says how good it is: all but votes for a single label."""
        return self.regression or self.y.ndim == 2

    def data(self, y: Array) -> dict[str, Any]:
        """The arguments y and `test` of `complete_cv`, for the rule's neighbors."""
        n = self.n_tested
        return {"y": y[n:], "test": (None, y[:n])} if n else {"y": y}

    @cached_property
    def law(self) -> Law:
        """The distribution of the splits; InexactError if there is no closed form."""
        law = law_of(self.cv, self.X, self.y, self.groups, regression=self.regression)
        return replace(law, ties=self.ties) if self.ties and isinstance(law, FoldLaw) else law

    def asking(self, **changes: Any) -> Request:
        """The request with other fields that the splits do not depend on; their law is kept, if known."""
        other = replace(self, **changes)
        if "law" in vars(self):
            vars(other)["law"] = self.law
        return other

    @property
    def goes_through_all(self) -> bool:
        """Whether the splits are all those of a kind, such as those that leave one group out."""
        try:
            return not isinstance(self.law, tuple) and bool(self.law.every)
        except driver.InexactError:
            return False

    @property
    def leaves_groups(self) -> bool:
        """Whether training sets leave out whole groups; InexactError if there is no closed form."""
        return not isinstance(self.law, tuple) and self.law.design.leaves_groups

    def splits(self, seed: int = 0) -> Any:
        """The splits of the splitter, with this seed."""
        return reseeded(self.cv, seed).split(np.zeros(len(self.y)), self.y, self.groups)

    @property
    def least_train(self) -> int:
        """The size of the smallest training set."""
        try:
            law = self.law
        except driver.InexactError:
            law = tuple(self.splits())
        if isinstance(law, tuple):
            return min(len(train) for train, _ in law)
        return min(kind.least_train for kind in law.design.training_sets(self.labels))

    def classes_of(self, y: Array) -> EncodedLabels:
        """The classes of some samples; one for a regression, and for several outputs."""
        return single_class(len(y)) if self.regression or y.ndim == 2 else encode_labels(y)

    @cached_property
    def labels(self) -> EncodedLabels:
        """The classes of the samples that are split."""
        return self.classes_of(self.y[self.n_tested :])._replace(pool=self.n_tested > 0)

    @cached_property
    def all_labels(self) -> EncodedLabels:
        """The classes of all samples, those of a test set included."""
        return self.classes_of(self.y)

    @cached_property
    def outputs(self) -> tuple[EncodedLabels, ...]:
        """The classes of every output; single ones for a regression."""
        return tuple(map(self.classes_of, self.targets.T))

    @cached_property
    def together(self) -> Array:
        """Labels that differ if any output does."""
        codes = np.column_stack([labels.codes for labels in self.outputs])
        return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)

    @cached_property
    def sklearn_scorer(self) -> Any:
        """The scorer of scikit-learn."""
        scorer = as_scorer(for_sklearn(self.scoring, self.y), regression=self.regression)
        suits = getattr(read_scorer(scorer), "responses", ("predict",)) == ("predict",)
        msg = f"scoring={self.scoring!r} is for classifiers; take one of regressions, such as 'r2'"
        check(suits or not self.regression, msg)
        return scorer

    @cached_property
    def scorer(self) -> TableScorer | None:
        """The scoring as a function of tables, if it is one."""
        if self.by_output:
            return None
        return table_scorer(for_sklearn(self.scoring, self.y), self.all_labels.classes)

    @cached_property
    def formula(self) -> str | None:
        """The function of scikit-learn for which there is a formula by outputs."""
        made = read_scorer(self.sklearn_scorer) if self.by_output else None
        plain = made is not None and not made.options
        names = FORMULAS if self.regression else ACCURACIES
        return metric_name(made) if plain and metric_name(made) in names else None

    @property
    def wish(self) -> Wish:
        """How many random runs there have to be; the scale of errors and losses is that of the score."""
        made = read_scorer(self.sklearn_scorer)
        is_bounded = made is not None and made.metric.endswith(BOUNDED) and made.metric != "dcg_score"
        is_relative = made is None or not is_bounded or made.options.get("normalize") is False
        return Wish(self.n_tested or len(self.y), self.precision, self.n_runs, is_relative)

    @property
    def votes_alike(self) -> bool:
        """Whether the votes can be counted for many runs at once."""
        return self.prepared.search is None and self.rule.weights is None and not self.rule.by_distance

    @cached_property
    def problem(self) -> driver.ScoringProblem:
        """The votes, or the means, of neighbors with equal weights."""
        law, n = self.law, self.n_tested
        assert not isinstance(law, tuple)
        if self.regression:
            values, variant = self.y.astype(float), "regression"
        else:
            values, variant = self.y if self.y.ndim == 1 else self.together, "knn"
        pool = driver.Pool(values[n:], len(values) - n) if n else None
        parameters, n_scored = {"n_neighbors": self.rule.n_neighbors}, n or len(values)
        return driver.validate_problem(
            values[:n_scored], n_scored, variant, law.design, law.ties, "pooled", parameters, pool=pool
        )

    def nearest(self, folds: Array, seed: int) -> tuple[Array, Array]:
        """The nearest training samples in some runs, by the neighbors of the rule, and their distances."""
        near, k, ties = self.rule.neighbors, self.rule.n_neighbors, self.problem.ties
        depth = depth_of_runs(self.problem, near, int(train_sizes(folds).min()))
        return nearest_in_runs(near, folds, k, ties, depth, n_jobs=self.n_jobs, seed=seed)

    def of_equal_weights(self, design: Design, column: Array) -> CompleteCV:
        """The exact result of neighbors with equal weights; ValueError if there is none."""
        near, k, ties = self.rule.neighbors, self.rule.n_neighbors, self.problem.ties
        given: Any = {"n_neighbors": k, "ties": ties, "n_jobs": self.n_jobs, **self.data(column)}
        return complete_cv(near, variant=self.problem.variant.name, cv=design, method="exact", **given)

    @cached_property
    def expected(self) -> Array | None:
        """The exact confusion table of equal weights, or the means by output; None if it is unknown."""

        def means(design: Design) -> Array:
            if not self.by_output:
                return np.asarray(self.of_equal_weights(design, self.y).confusion(normalize="all"))
            return np.array([self.of_equal_weights(design, column).score for column in self.targets.T])

        try:
            law = self.law
            if not isinstance(law, GroupLaw):
                return means(self.problem.design)
            return np.asarray(sum(float(share) * means(law.leaving(n)) for share, n, _ in law.parts))
        except ValueError:
            return None

    @property
    def n_tied(self) -> int:
        """The number of samples with tied neighbors that may decide; 0 if it is unknown."""
        near, tol = self.rule.neighbors, 1e-12
        try:
            if self.problem.leaves_groups:
                return self.of_equal_weights(self.problem.design, self.targets[:, 0]).n_tied
            rows, scorer = np.arange(near.n_items), driver.block_scorer(self.problem, near, tol)
        except ValueError:
            return 0
        lists = near.all_lists(driver.first_depth(self.problem, near, tol), self.n_jobs)
        return int(scorer.ties(*scorer.usable(lists, rows), rows).sum())

    def of_runs(
        self, mean: ControlledMean, n_runs: int, how: str, ties: str | None = None, n_tied: int = 0
    ) -> ExpectedScore:
        """Return the answer that is the mean of random runs."""
        fields: dict[str, Any] = {"ties": ties, "n_runs": n_runs, "_n_tied": n_tied, **INEXACT}
        return self.answer(mean.mean, how, std_error=mean.std_error, **fields)

    def answer(self, score: float, how: str, **fields: Any) -> ExpectedScore:
        """Return the score, `how` it was computed in words, and further `fields` of `ExpectedScore`."""
        note = f"{self.prepared.note}; " if self.prepared.note else ""
        if self.n_tested:
            note += f"training sets within X, scored on the test set of {self.n_tested} samples; "
        fields |= {"average": self.average, "design": in_words(self.cv), "explanation": note + how}
        name = name_of(self.sklearn_scorer)
        return ExpectedScore(score=float(score), _name=name, **fields)


def warn_of_ties(found: Iterable[ExpectedScore], request: Request) -> None:
    """Warn if scores depend much on the order of tied neighbors, as scikit-learn may take another."""
    rule, n_items = request.prepared.estimator, len(request.y)
    n_tied = max(one.n_tied for one in found)
    same = getattr(rule, "algorithm", "brute") == "brute" and getattr(rule, "n_neighbors", 1) == 1
    if not same and n_tied > MANY_TIED * n_items:
        warnings.warn(
            "see CompleteCV.tie_report for the range of the score over the orders of tied neighbors, which "
            f"{n_tied} of {n_items} samples have. Here they are taken in the order of the rows. "
            "scikit-learn finds them in other orders (in this one with algorithm='brute' and one "
            "neighbor), and its score can differ by far more than the error",
            UserWarning,
            stacklevel=driver.callers_level(),
        )
