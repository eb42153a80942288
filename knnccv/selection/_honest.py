"""The results of a search: an inner score, and on request the honest one of the whole search repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.formatting import Result
from .._base.parallel import check_pool
from .._base.typing import Array
from .._base.validation import check_integer, check_random_state
from .._core.driver import ScoringProblem, validate_problem
from .._core.luck.runs import RandomRuns, ScoredRuns, draw_runs, item_shares
from .._core.scores.montecarlo import screened, screened_cv
from ..kernel import profile_of
from ..neighbors import ranking

N_REPEATS = 10
"""Random runs of an honest score."""


@dataclass(eq=False, repr=False)
class Searched(Result):
    """The scores of a search for columns or weights, base class of its results.

    Attributes
    ----------
    inner_score : float
        The exact score of the final choice on the samples of the search. It is **optimistic**: the choice
        was made for this score. Report `honest_score`.
    nested : RandomRuns or None
        The runs of the honest score; None until `honest` has computed them.
    measure, metric, design, average
        The name of the score, and the arguments.
    n_scored : int
        The number of choices that were scored.
    seconds : float
        Wall time of the search.
    """

    _json = "inner_score honest_score honest_std_error measure metric design average n_scored seconds"
    _note = "inner_score is OPTIMISTIC, the choice was made for it; honest() computes honest_score"

    inner_score: float
    measure: str
    metric: str
    design: str
    average: Any
    n_scored: int
    seconds: float
    nested: RandomRuns | None
    _runs: Callable[..., RandomRuns]

    def honest(
        self,
        cv: Any = None,
        *,
        n_runs: int = N_REPEATS,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> RandomRuns:
        """Estimate the score of the whole procedure: the search is repeated within every training set.

        The tested samples never take part in the choice. Every training set of every run costs a whole
        search.

        Parameters
        ----------
        cv : int or design, optional
            The design of the outer runs. Default: that of the search.
        n_runs : int, default 10
            Random runs.
        random_state : int, numpy Generator or None, default 0
            Seed of the splits.
        n_jobs : int, optional
            Threads. The result does not depend on it.
        progress : bool, default False
            Show a progress bar (needs tqdm) of the training sets.

        Returns
        -------
        ScreenedCV, or ScoredRuns for regression
            Also kept as `nested`, from which `honest_score` and `honest_std_error` are taken.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, a training set is too small for the search, or the rule has no
            such runs (they exist for the accuracy of "nn" and "knn", and the error of "regression").
        """
        options = {"n_runs": n_runs, "random_state": random_state, "progress": progress}
        self.nested = self._runs(cv, n_jobs, **options)
        return self.nested

    @property
    def honest_score(self) -> float | None:
        """The mean score of the whole procedure on samples that it did not see; None until computed."""
        return None if self.nested is None else self.nested.score

    @property
    def honest_std_error(self) -> float | None:
        """The standard error of `honest_score`: the randomness of the splits, not that of the samples."""
        return None if self.nested is None else self.nested.std_error


@dataclass(eq=False, repr=False)
class FeatureSelection(Searched):
    """Columns that a sequential search chose by the exact score.

    Attributes
    ----------
    columns : int64 ndarray of shape (n_chosen,)
        The chosen columns: in the order in which they were added (forward), or ascending (backward).
    order : int64 ndarray of shape (n_steps,)
        The column that every step added or removed.
    scores : float64 ndarray of shape (n_steps,)
        The exact inner score after every step.
    start_score : float or None
        The score of all columns, from which a backward search starts; None for a forward search.
    direction : str
        "forward" or "backward".
    n_features : int
        The number of columns of X.
    inner_score : float
        The exact score of `columns` on the samples of the search. It is **optimistic**: the columns were
        chosen for this score. Report `honest_score`.
    nested : RandomRuns or None
        The runs of the honest score; None until `honest` has computed them.
    honest_score, honest_std_error : float or None
        Mean and standard error of these runs.
    measure, metric, design, average
        The name of the score, and the arguments.
    n_scored : int
        The number of sets of columns that were scored.
    seconds : float
        Wall time of the search.

    Examples
    --------
    >>> from knnccv.selection import select_features
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = select_features(wine.X, wine.y, n_features=2)
    >>> len(found.columns), found.inner_score > 0.7
    (2, True)
    """

    _json = f"direction n_features columns order scores start_score {Searched._json}"

    columns: Array
    order: Array
    scores: Array
    start_score: float | None
    direction: str
    n_features: int


@dataclass(eq=False, repr=False)
class WeightSearch(Searched):
    """Weights of columns that a coordinate search chose by the exact score.

    Attributes
    ----------
    weights : float64 ndarray of shape (n_features,)
        The factor of every column.
    scores : float64 ndarray of shape (n_changes,)
        The exact inner score after every change of a weight.
    start_score : float
        The exact score with all weights 1.
    n_cycles : int
        Passes over all columns, including the last one, which changed nothing.
    converged : bool
        Whether the last pass changed nothing; False if `max_cycles` ended the search.
    inner_score, nested, honest_score, honest_std_error, measure, metric, design, average, n_scored, \
seconds
        As in `FeatureSelection`.

    Examples
    --------
    >>> from knnccv.selection import search_weights
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = search_weights(wine.X[:, :3], wine.y, max_cycles=1)
    >>> found.inner_score >= found.start_score
    True
    """

    _json = f"weights scores start_score n_cycles converged {Searched._json}"

    weights: Array
    scores: Array
    start_score: float
    n_cycles: int
    converged: bool


@dataclass(frozen=True)
class ToColumns:
    """A search for columns as `screened_cv` takes it, a function of training samples."""

    search: Callable[[Array, Array], FeatureSelection]

    def __call__(self, X: Array, y: Array) -> Array:
        return self.search(X, y).columns


@dataclass
class ToWeights:
    """A search for weights as `screened_cv` takes it: fitted to training samples, applied to all."""

    search: Callable[[Array, Array], WeightSearch]

    def fit(self, X: Array, y: Array) -> ToWeights:
        """Search on the training samples."""
        self.weights_ = self.search(X, y).weights
        return self

    def transform(self, X: Array) -> Array:
        """The samples with every column multiplied by its weight, without those of weight 0."""
        used = np.flatnonzero(self.weights_)
        scaled: Array = X[:, used] * self.weights_[used]
        return scaled


@dataclass(frozen=True)
class Reruns:
    """Random runs of a design that repeat a search within every training set.

    Attributes
    ----------
    search : ToColumns or ToWeights
    X : float64 ndarray of shape (n_items, n_features)
    problem : ScoringProblem
        The problem of the search, whose rule and average are scored.
    cv, metric, n_jobs
        The arguments of the search.
    """

    search: ToColumns | ToWeights
    X: Array
    problem: ScoringProblem
    cv: Any
    metric: str
    n_jobs: int | None

    def __call__(self, cv: Any, n_jobs: int | None, **options: Any) -> RandomRuns:
        """Return the runs; None for `cv` or `n_jobs` stands for that of the search.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, or the rule is not served.
        """
        problem = self.problem
        check_served(problem)
        options["cv"] = self.cv if cv is None else cv
        options["n_jobs"] = self.n_jobs if n_jobs is None else n_jobs
        if problem.variant.target == "values":
            return self._regression(**options)
        return screened_cv(
            self.X,
            problem.targets,
            self.search,
            n_neighbors=problem.variant.n_nearest(**problem.parameters),
            metric=self.metric,
            average=problem.average,
            **options,
        )

    def _regression(
        self, cv: Any, n_runs: int, random_state: Any, n_jobs: int | None, progress: bool
    ) -> ScoredRuns:
        """Mean squared errors of runs; of tied training samples the first in the data is nearer."""
        check_pool(n_jobs, None, progress)
        n_runs = check_integer("n_runs", n_runs, 1)
        rng = check_random_state(random_state)
        X, old, targets = self.X, self.problem, self.problem.targets
        question = validate_problem(targets, len(X), old.variant, cv, "index", old.average, old.parameters)
        k = question.variant.n_nearest(**question.parameters)
        runs = draw_runs(question, n_runs, rng)
        errors = np.zeros((n_runs, runs.n_folds))

        def run_fold(run: int, fold: int, train: Array, test: Array) -> None:
            features, _ = screened(self.search, X, targets, train, test)
            ranked = ranking(features, self.metric, None)
            values = ranked.compare(ranked.data[len(train) :], ranked.data[: len(train)])
            nearest = np.argsort(values, axis=1, kind="stable")[:, :k]
            gaps = question.values[train][nearest].mean(axis=1) - question.values[test]
            errors[run, fold] = (gaps * gaps).sum()

        runs.for_each_fold(run_fold, n_jobs, progress)
        shares = item_shares(question, runs.n_folds)[:, 0]
        scores = np.array([math.fsum(row) for row in errors * shares[runs.kinds]])
        return ScoredRuns(scores=scores, measure=question.measure)


def check_served(problem: ScoringProblem) -> None:
    """Raise ValueError unless runs of the rule can be scored with other columns in every training set."""
    variant, parameters = problem.variant, problem.parameters
    if profile_of(variant, parameters) not in ("votes", "error"):
        msg = (
            "an honest score exists for the accuracy of 'nn' and of 'knn' with vote_ties='smallest', and "
            f"for the error of 'regression'; got variant {variant.name!r} with {parameters}"
        )
        raise ValueError(msg)
