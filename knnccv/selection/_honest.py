"""The honest score of a search: the whole search, repeated within every training set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parallel import check_pool, for_each, one_blas_thread
from .._typing import Array
from .._validation import check_integer, check_random_state
from ..driver import ScoringProblem, validate_problem
from ..montecarlo import MonteCarloCV, RandomRuns, screened_cv
from ..neighbors import ranking
from ..runs import item_shares

Search = Callable[[Array, Array], Array]


class ByColumns:
    """A search as `screened_cv` takes it: fitted to training samples, then applied to any samples.

    Parameters
    ----------
    search : callable
        ``search(X_train, y_train)`` → the factors of all columns, float64 (n_features,), 0 for those that
        are left out.
    """

    def __init__(self, search: Search) -> None:
        self.search = search

    def fit(self, X: Array, y: Array) -> ByColumns:
        """Search on the training samples."""
        self.factors_ = self.search(X, y)
        return self

    def transform(self, X: Array) -> Array:
        """The samples with every column multiplied by its factor, without those of factor 0."""
        used = np.flatnonzero(self.factors_)
        scaled: Array = X[:, used] * self.factors_[used]
        return scaled


@dataclass(frozen=True)
class Reruns:
    """Random runs of a design that repeat a search within every training set.

    Attributes
    ----------
    search : callable or ByColumns
        A function (X_train, y_train) → column indices, or a `ByColumns`.
    X : float64 ndarray of shape (n_items, n_features)
    problem : ScoringProblem
        The problem of the search, whose rule and average are scored.
    cv, metric, n_jobs
        The arguments of the search.
    """

    search: Any
    X: Array
    problem: ScoringProblem
    cv: Any
    metric: str
    n_jobs: int | None

    def __call__(
        self, cv: Any, n_repeats: int, random_state: Any, n_jobs: int | None, progress: bool
    ) -> RandomRuns:
        """Return the runs; None for `cv` or `n_jobs` stands for that of the search.

        Raises
        ------
        ValueError, TypeError
            If an argument is not allowed, or the rule is not served.
        """
        problem = self.problem
        check_served(problem)
        cv = self.cv if cv is None else cv
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        if problem.variant.target == "values":
            return self._regression(cv, n_repeats, random_state, n_jobs, progress)
        return screened_cv(
            self.X,
            problem.targets,
            self.search,
            cv,
            n_neighbors=problem.variant.n_nearest(**problem.parameters),
            metric=self.metric,
            average=problem.average,
            n_repeats=n_repeats,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )

    def _regression(
        self, cv: Any, n_repeats: int, random_state: Any, n_jobs: int | None, progress: bool
    ) -> MonteCarloCV:
        """Mean squared errors of runs; of tied training samples the first in the data is nearer."""
        check_pool(n_jobs, None, progress)
        n_repeats = check_integer("n_repeats", n_repeats, 1)
        rng = check_random_state(random_state)
        old, targets = self.problem, self.problem.targets
        question = validate_problem(
            targets, len(self.X), old.variant, cv, "index", old.average, old.parameters
        )
        k = question.variant.n_nearest(**question.parameters)
        drawn = [question.design.draw(question.labels, rng) for _ in range(n_repeats)]
        n_folds = len(drawn[0][1])
        errors = np.zeros((n_repeats, n_folds))

        def run(piece: tuple[int, int]) -> None:
            at, fold = piece
            tested = drawn[at][0] == fold
            inside, outside = self._applied(~tested, tested)
            ranked = ranking(np.concatenate([inside, outside]), self.metric, None)
            values = ranked.compare(ranked.data[len(inside) :], ranked.data[: len(inside)])
            nearest = np.argsort(values, axis=1, kind="stable")[:, :k]
            gaps = question.values[~tested][nearest].mean(axis=1) - question.values[tested]
            errors[at, fold] = (gaps * gaps).sum()

        pieces = [(at, fold) for at in range(n_repeats) for fold in range(n_folds)]
        with one_blas_thread():
            for_each(run, pieces, n_jobs, progress, unit="training set")
        shares = item_shares(question, n_folds)[:, 0]
        kinds = np.array([kind for _, kind in drawn])
        return MonteCarloCV(
            scores=np.array([math.fsum(row) for row in errors * shares[kinds]]),
            variant=question.variant.name,
            design=repr(question.design),
            average=question.average,
            parameters=question.parameters,
            measure=question.measure,
        )

    def _applied(self, train: Array, test: Array) -> tuple[Array, Array]:
        """Training samples and tested samples after the search on the training samples."""
        X, y = self.X, self.problem.targets
        if isinstance(self.search, ByColumns):
            fitted = ByColumns(self.search.search).fit(X[train], y[train])
            return fitted.transform(X[train]), fitted.transform(X[test])
        columns = np.sort(self.search(X[train], y[train]))
        return X[train][:, columns], X[test][:, columns]


def check_served(problem: ScoringProblem) -> None:
    """Raise ValueError unless runs of the rule can be scored with other columns in every training set."""
    name, parameters = problem.variant.name, problem.parameters
    votes = name == "nn" or (name == "knn" and parameters["vote_ties"] == "smallest")
    plain = (votes and parameters["loss"] is None) or (
        name == "regression" and parameters["part"] == "error"
    )
    if not plain:
        msg = (
            "an honest score exists for the accuracy of 'nn' and of 'knn' with vote_ties='smallest', and "
            f"for the error of 'regression'; got variant {name!r} with {parameters}"
        )
        raise ValueError(msg)
