"""`ccv_scorer`, for complete cross-validation in scikit-learn's searches."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral
from typing import Any

from .._validation import check_bool, check_choice, check_integer, check_tol
from ..designs import Design, KFold, StratifiedKFold
from ..driver import TIES, InexactError, check_n_draws
from ._by_runs import score_by_runs
from ._estimators import as_target, needs_sklearn
from ._exact import exact_score
from ._request import AVERAGES, Request
from ._scoring import is_costs, several
from ._steps import prepare


@dataclass(frozen=True, eq=False, repr=False)
class ccv_scorer:  # it is called like scikit-learn's make_scorer
    """A scorer for scikit-learn that averages over all splits of its data.

    It reads ``n_neighbors``, ``weights`` and ``metric`` from the fitted estimator. With ``cv=WholeData()``
    a search over parameters is exact: there is one "fold" and no randomness. Within other folds the scorer
    raises an error, since it would get only the tested samples.

    Parameters
    ----------
    cv : int, design, or splitter of scikit-learn's, default 5
        A design of knnccv (`Subsample`, `KFold`, …) or any `cv` of `expected_score`; an integer is a number
        of folds over all shuffles, stratified for a classifier (as in `knnccv.complete_cv`).
    scoring : optional
        As for `expected_score`, but a single one. A matrix of costs gives *minus* the expected cost, since
        scikit-learn maximizes scores. A search accepts several scorers as a mapping,
        ``scoring={"accuracy": ccv_scorer(), "balanced": ccv_scorer(scoring="balanced_accuracy")}``.
    groups : array of shape (n_items,), optional
        For splitters that use groups: one group for each sample that the scorer gets.
    average : {"folds", "pooled"}, default "folds"
        As for `expected_score`.
    ties : {"index", "random"}, optional
        The order of tied training samples. Default: the order of the splitter; "random" for numbers of
        folds and designs of knnccv, as in `complete_cv`.
    tol, n_jobs
        As for `expected_score`.
    transductive : bool, default False
        As for `expected_score`: steps of a pipeline that are fitted to data, such as ``StandardScaler``,
        are refused unless True allows them to use the features of all samples, including the tested ones.
        They must not use labels.
    method : {"auto", "exact"}, default "auto"
        What happens if there is no exact score. "exact": an error. "auto": the score is estimated from
        drawn training sets or random runs, as by `expected_score`, on the same splits for every estimator.
    n_draws : int, default 1000
        The number of training sets that are drawn for each sample, if weights are what prevents it.
    n_runs : int, optional
        The number of random runs; see `expected_score`.
    random_state : int, default 0
        Seed of draws and runs.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed. When the scorer is called: if there is no exact score, if the
        estimator was fitted to other samples (for example by ``cv=5`` instead of ``cv=WholeData()``), or if
        a step uses labels.

    Warns
    -----
    SupervisedDistanceWarning
        When the scorer is called, if it is unknown whether a step uses labels, since two fits to the same
        data differ.

    Notes
    -----
    scikit-learn's searches turn errors of scorers into warnings and scores of nan, unless
    ``error_score="raise"`` is set.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from knnccv import Subsample
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.sklearn import WholeData, ccv_scorer
    >>> wine = load_wine()
    >>> search = GridSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": range(1, 10)},
    ...     scoring=ccv_scorer(Subsample(0.8)),
    ...     cv=WholeData(),
    ... ).fit(wine.X, wine.y)
    >>> search.best_params_, round(float(search.best_score_), 6)
    ({'n_neighbors': 1}, 0.749089)
    """

    cv: Any = 5
    scoring: Any = None
    _: KW_ONLY
    groups: Any = None
    average: str = "folds"
    ties: str | None = None
    tol: float = 1e-12
    n_jobs: int | None = None
    transductive: bool = False
    method: str = "auto"
    n_draws: int = 1000
    n_runs: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        needs_sklearn()
        check_choice("average", self.average, AVERAGES)
        if self.ties is not None:
            check_choice("ties", self.ties, TIES)
        check_tol(self.tol)
        if several(self.scoring) is not None:
            msg = (
                f"ccv_scorer computes one score, got scoring={self.scoring!r}; a search accepts several as "
                "a mapping of names to scorers: scoring={name: ccv_scorer(..., scoring=name), ...}"
            )
            raise TypeError(msg)
        cv = self.cv
        if isinstance(cv, Integral):
            check_integer("cv", cv, 2)
        elif isinstance(cv, (str, type)) or not (hasattr(cv, "split") or isinstance(cv, Design)):
            msg = f"cv must be a number of folds, a design or a splitter, got {cv!r}"
            raise TypeError(msg)
        check_bool("transductive", self.transductive)
        check_choice("method", self.method, ("exact", "auto"))
        check_n_draws(self.n_draws)
        if self.n_runs is not None:
            check_integer("n_runs", self.n_runs, 2)
        check_integer("random_state", self.random_state, 0)

    def __repr__(self) -> str:
        given = []
        for field in fields(self):
            value, usual = getattr(self, field.name), field.default
            differs = value is not usual and (usual is None or value != usual)
            if differs or field.name in ("cv", "scoring"):
                given.append(f"{field.name}={value!r}")
        return f"ccv_scorer({', '.join(given)})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Compute the expected score of the estimator's rule over all splits of these samples."""
        from sklearn.base import is_regressor

        target = as_target(estimator, X, y)
        prepared = prepare(estimator, X, target, self.transductive, fitted=True)
        cv = self.cv
        if isinstance(cv, Integral):
            cv = (KFold if is_regressor(estimator) else StratifiedKFold)(int(cv))
        n_draws = self.n_draws if self.method == "auto" else 0
        options = (self.groups, self.average, self.tol, self.n_jobs, self.random_state, n_draws, self.ties)
        request = Request(prepared, X, target, cv, *options)
        try:
            score = exact_score(request, self.scoring).score
        except InexactError as error:
            msg = f"ccv_scorer has no exact score: {error}"
            if self.method == "exact":
                raise ValueError(msg) from error
            try:
                score = score_by_runs(request, self.scoring, self.n_runs, str(error)).score
            except InexactError:
                raise ValueError(msg) from error
        return -score if is_costs(self.scoring) else score
