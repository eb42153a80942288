"""What is asked: `Request`, the rule, the splits and the scoring, and what follows from them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.compat import read_scorer
from .._base.labels import EncodedLabels, encode_labels, single_class
from .._base.typing import Array
from .._core.driver import (
    InexactError,
    Pool,
    ScoringProblem,
    block_scorer,
    callers_level,
    first_depth,
    validate_problem,
)
from .._core.luck.runs import nearest_in_runs
from .._core.luck.scorings import TableScorer, table_scorer
from .._core.scores.results import CompleteCV, complete_cv
from ..designs import Design
from ._answer import ExpectedScore
from ._estimators import Prepared, Rule
from ._scoring import ACCURACIES, as_scorer, for_sklearn, metric_name
from ._splitters import FoldLaw, FromPool, GroupLaw, Law, in_words, law_of, reseeded

AVERAGES = ("folds", "pooled")
MANY_TIED = 0.05
"""The share of samples with tied neighbors from which `expected_score` warns."""
FORMULAS = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score")
"""Functions of the errors of a regression that are computed for many folds at once."""
RUNS_TOL = 1e-6
"""The probability that the lists of a run end too early, and are searched deeper."""


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
    n_runs : int, optional
        The number of random runs, where the score is their mean.
    n_draws : int
        The number of training sets per sample that stand for too many of them; 0: these are an error.
    ties : {"index", "random"}, optional
        The order of tied training samples, instead of that of the splits.
    searched : tuple of int
        The K of a search, whose requests differ in nothing else and share `drawn`; () of a single K.
    drawn : dict
        The results of a search from drawn training sets.
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
    n_runs: int | None = None
    n_draws: int = 0
    ties: str | None = None
    searched: tuple[int, ...] = ()
    drawn: dict[Any, dict[int, CompleteCV]] = field(default_factory=dict)

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
    def leaves_groups(self) -> bool:
        """Whether training sets leave out whole groups; InexactError if there is no closed form."""
        return isinstance(self.law, GroupLaw) or (
            isinstance(self.law, FoldLaw) and self.law.design.leaves_groups
        )

    def splits(self) -> Any:
        """The splits of the splitter, with a fixed seed."""
        return reseeded(self.cv, 0).split(np.zeros(len(self.y)), self.y, self.groups)

    @property
    def least_train(self) -> int:
        """The size of the smallest training set."""
        try:
            law = self.law
        except InexactError:
            law = tuple(self.splits())
        if isinstance(law, tuple):
            return min(len(train) for train, _ in law)
        if isinstance(law, GroupLaw):
            return min(int(np.sort(law.sizes)[:n_train].sum()) for _, n_train, _ in law.parts)
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
        if self.regression and getattr(read_scorer(scorer), "responses", ("predict",)) != ("predict",):
            msg = f"scoring={self.scoring!r} is for classifiers; take one of regressions, such as 'r2'"
            raise ValueError(msg)
        return scorer

    @cached_property
    def scorer(self) -> TableScorer | None:
        """The scoring as a function of tables, if it is one."""
        return (
            None
            if self.by_output
            else table_scorer(for_sklearn(self.scoring, self.y), self.all_labels.classes)
        )

    @cached_property
    def formula(self) -> str | None:
        """The function of scikit-learn for which there is a formula by outputs."""
        made = read_scorer(self.sklearn_scorer) if self.by_output else None
        plain = made is not None and not made.options
        names = FORMULAS if self.regression else ACCURACIES
        return metric_name(made) if plain and metric_name(made) in names else None

    @property
    def votes_alike(self) -> bool:
        """Whether the votes can be counted for many runs at once."""
        return self.prepared.search is None and self.rule.weights is None and not self.rule.by_distance

    @cached_property
    def problem(self) -> ScoringProblem:
        """The votes, or the means, of neighbors with equal weights."""
        law, n = self.law, self.n_tested
        assert not isinstance(law, tuple)
        if self.regression:
            values, variant = self.y.astype(float), "regression"
        else:
            values, variant = self.y if self.y.ndim == 1 else self.together, "knn"
        design: Any = (
            law.design if isinstance(law, FoldLaw) else law.leaving(min(n for _, n, _ in law.parts))
        )
        pool = Pool(values[n:], len(values) - n) if n else None
        parameters, n_scored = {"n_neighbors": self.rule.n_neighbors}, n or len(values)
        return validate_problem(
            values[:n_scored], n_scored, variant, design, law.ties, "pooled", parameters, pool=pool
        )

    @cached_property
    def _depth(self) -> int:
        return first_depth(self.problem, self.rule.neighbors, RUNS_TOL)

    def nearest(self, folds: Array) -> tuple[Array, Array]:
        """The nearest training samples in some runs, by the neighbors of the rule, and their distances."""
        near, k, ties = self.rule.neighbors, self.rule.n_neighbors, self.problem.ties
        return nearest_in_runs(near, folds, k, ties, self._depth, n_jobs=self.n_jobs, seed=self.seed)

    def of_equal_weights(self, design: Design, column: Array) -> CompleteCV:
        """The exact result of neighbors with equal weights; ValueError if there is none."""
        variant, ties, near = self.problem.variant.name, self.problem.ties, self.rule.neighbors
        given: dict[str, Any] = {
            "n_neighbors": self.rule.n_neighbors,
            "n_jobs": self.n_jobs,
            **self.data(column),
        }
        return complete_cv(near, variant=variant, cv=design, ties=ties, method="exact", **given)

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
            rows, scorer = np.arange(near.n_items), block_scorer(self.problem, near, tol)
        except ValueError:
            return 0
        lists = near.all_lists(first_depth(self.problem, near, tol), self.n_jobs)
        return int(scorer.ties(*scorer.usable(lists, rows), rows).sum())

    def answer(self, score: float, how: str, **fields: Any) -> ExpectedScore:
        """Return the score, `how` it was computed in words, and further `fields` of `ExpectedScore`."""
        note = f"{self.prepared.note}; " if self.prepared.note else ""
        if self.n_tested:
            note += f"training sets within X, scored on the test set of {self.n_tested} samples; "
        fields |= {"average": self.average, "design": in_words(self.cv), "explanation": note + how}
        return ExpectedScore(score=float(score), **fields)


def warn_of_ties(found: Iterable[ExpectedScore], request: Request) -> None:
    """Warn if scores depend much on the order of tied neighbors, as scikit-learn may take another."""
    rule, n_items = request.prepared.estimator, len(request.y)
    n_tied = max(one.n_tied for one in found)
    same = getattr(rule, "algorithm", "brute") == "brute" and getattr(rule, "n_neighbors", 1) == 1
    if not same and n_tied > MANY_TIED * n_items:
        warnings.warn(
            "see knnccv.tie_report for the range of the score over the orders of tied neighbors, which "
            f"{n_tied} of {n_items} samples have. Here they are taken in the order of the rows. "
            "scikit-learn finds them in other orders (in this one with algorithm='brute' and one "
            "neighbor), and its score can differ by far more than the error",
            UserWarning,
            stacklevel=callers_level(),
        )
