"""`KNeighborsClassifierCV` and `KNeighborsRegressorCV`, which choose their parameters by the exact score.

The scores are those of `ccv_scorer`. Those of all K of one metric and scaling come from one pass over the
neighbor lists where the splits have no strata, and from kernels on the same lists otherwise.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, StratifiedKFold, check_cv
from sklearn.model_selection import KFold as PlainFolds
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array
from .._validation import check_choice, check_integer
from ..designs import Design, KFold, LeaveGroupsOut
from ..driver import InexactError
from ..inference import InferenceWarning
from ..tuning import as_list
from ._estimators import Prepared, as_target, prepare, read_rule
from ._exact import scores_at_once
from ._expected_score import answer_of, ccv_scorer, expected_score, request_of
from ._request import ExpectedScore, Request
from ._runs import sample
from ._scoring import is_costs, several

SCALERS = {
    "standard": StandardScaler,
    "minmax": MinMaxScaler,
    "maxabs": MaxAbsScaler,
    "robust": RobustScaler,
}
RULES = ("best", "one-standard-error")
MOST_NEIGHBORS = 30
FOLDS = 5
N_REPEATS = 20
SLACK = 4e-12
"""Scores that differ by less, relative to the largest, are equal: the error of two of them."""


@dataclass(eq=False, repr=False)
class _NeighborsCV(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the search, and the methods of the estimator that it chooses."""

    n_neighbors: Any = None
    _: KW_ONLY
    metric: Any = "euclidean"
    scaling: Any = None
    weights: Any = "uniform"
    cv: Any = None
    scoring: Any = None
    rule: str = "best"
    n_jobs: int | None = None

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}
    _rule: ClassVar[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        tags.target_tags.multi_output = isinstance(self, RegressorMixin)
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Score all candidates, choose one, and fit it to all samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_items, n_features)
            At least 2 samples; square distances if the metric is "precomputed".
        y : array of shape (n_items,)
            Class labels; for a regressor values, also of shape (n_items, n_outputs).
        groups : array of shape (n_items,), optional
            For splitters that use them. With metadata routing they are requested by default.

        Returns
        -------
        KNeighborsClassifierCV or KNeighborsRegressorCV
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter is not allowed; the message says what is allowed.
        """
        check_choice("rule", self.rule, RULES)
        real = is_regressor(self)
        options = {"multi_output": real, "y_numeric": real, "ensure_min_samples": 2}
        X, y = validate_data(self, X, y, accept_sparse="csr", **options)
        if not real:
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        vars(self).pop("best_score_interval_", None)
        self._groups = groups
        grid, scores, errors = self._scores(X, y)
        slack = SLACK * np.abs(scores).max()
        ranks = (scores > scores[:, None] + slack).sum(axis=1) + 1
        best = int(ranks.argmin())
        self.best_estimator_ = self._estimator(**grid[best]).fit(X, y)
        if self.rule != "best":
            best = self._simplest(grid, scores, scores[best] - slack)
            self.best_estimator_ = self._estimator(**grid[best]).fit(X, y)
        self.best_index_, self.best_params_, self.best_score_ = best, grid[best], float(scores[best])
        self.n_neighbors_ = self.best_params_["n_neighbors"]
        self.cv_results_ = {
            **{f"param_{name}": _column([one[name] for one in grid]) for name in grid[0]},
            "params": grid,
            "mean_test_score": scores,
            "std_error": errors,
            "rank_test_score": ranks.astype(np.int32),
        }
        return self

    def _scores(self, X: Any, y: Array) -> tuple[list[dict[str, Any]], Array, Array]:
        """The candidates, their scores, and the standard errors of those that are not exact."""
        scorer, target = self._scorer(len(y)), as_target(self, X, y)
        ks = None if self.n_neighbors is None else as_list("n_neighbors", self.n_neighbors)
        for k in ks or ():
            check_integer("n_neighbors", k, 1)
        metrics = as_list("metric", self.metric)
        scalings, weights = as_list("scaling", self.scaling), as_list("weights", self.weights)
        found: dict[tuple[int, ...], tuple[float, float]] = {}
        for (m, metric), (s, scaling) in product(enumerate(metrics), enumerate(scalings)):
            prepared = prepare(self._estimator(metric, 1, scaling, "uniform"), X, target, transductive=True)
            if prepared.reason:
                msg = f"scaling must be None here, got {scaling!r} with metric={metric!r}: {prepared.reason}"
                raise ValueError(msg)
            with suppress(InexactError):  # of which the answer has to tell
                near = read_rule(prepared.estimator, prepared.X).neighbors
                prepared = replace(prepared, neighbors=near)
            least = request_of(scorer, prepared, X, target).least_train
            ks = ks or list(range(1, min(MOST_NEIGHBORS, least) + 1))
            for w, weight in enumerate(weights):
                rules = [clone(prepared.estimator).set_params(n_neighbors=k, weights=weight) for k in ks]
                asked = [request_of(scorer, replace(prepared, estimator=one), X, target) for one in rules]
                at_once = scores_at_once(asked[int(np.argmax(ks))], scorer.scoring, ks)
                for i in np.argsort(ks)[::-1].tolist():  # the deepest lists first
                    if at_once is None:
                        answer = _answer(scorer, asked[i])
                        found[m, i, s, w] = answer.score, answer.std_error
                    else:
                        found[m, i, s, w] = float(at_once[i]), 0.0
        order = sorted(found)  # as scikit-learn's ParameterGrid has them
        grid = [
            {"metric": metrics[m], "n_neighbors": int(ks[i]), "scaling": scalings[s], "weights": weights[w]}
            for m, i, s, w in order
        ]
        scores, errors = np.array([found[at] for at in order]).T
        return grid, self._sign * scores, errors

    def _simplest(self, grid: list[dict[str, Any]], scores: Array, best: float) -> int:
        """The candidate of the largest K, and then the best score, within one standard error of the best."""
        try:
            width = float(self._expected().standard_error(groups=self._units))
        except ValueError as error:
            msg = f"pass rule='best'; 'one-standard-error' needs the standard error of the best score: {error}"
            raise ValueError(msg) from error
        near = np.flatnonzero(scores >= best - width).tolist()
        return int(max(near, key=lambda at: (grid[at]["n_neighbors"], scores[at])))

    @property
    def _sign(self) -> float:
        """Expected costs are minimized."""
        return -1.0 if is_costs(self.scoring) else 1.0

    @property
    def _units(self) -> Any:
        """The groups that halves of the samples keep together; `LeaveGroupsOut` has its own."""
        return None if isinstance(self.cv, LeaveGroupsOut) else self._groups

    @property
    def _scoring(self) -> Any:
        return "neg_mean_squared_error" if self.scoring is None and is_regressor(self) else self.scoring

    def _scorer(self, n_items: int) -> ccv_scorer:
        cv = KFold(min(FOLDS, n_items)) if self.cv is None else self.cv
        if not isinstance(cv, Integral | Design):
            cv = check_cv(cv)
        if several(self.scoring) is not None:
            msg = f"scoring must be a single one, by which to choose, got {self.scoring!r}"
            raise TypeError(msg)
        return ccv_scorer(cv, self._scoring, groups=self._groups, n_jobs=self.n_jobs)

    def _estimator(self, metric: Any, n_neighbors: int, scaling: Any, weights: Any) -> Any:
        """An estimator of scikit-learn with these parameters, not fitted."""
        rule = self._rule(n_neighbors, weights=weights, metric=metric, n_jobs=self.n_jobs)
        if scaling is None:
            return rule
        scaler = SCALERS[scaling]() if isinstance(scaling, str) and scaling in SCALERS else scaling
        if not hasattr(scaler, "transform") or isinstance(scaler, type):
            names = ", ".join(map(repr, SCALERS))
            msg = f"scaling must be None, {names}, a transformer, or a list of these, got {scaling!r}"
            raise ValueError(msg)
        return make_pipeline(clone(scaler), rule)

    def _last(self) -> Any:
        """The nearest-neighbor rule of the fitted estimator."""
        check_is_fitted(self, "best_estimator_")
        found = self.best_estimator_
        return found[-1] if isinstance(found, Pipeline) else found

    def _expected(self) -> ExpectedScore:
        """The expected score of the fitted rule, on the samples that it has."""
        last = self._last()
        X, y = last._fit_X, last.classes_[last._y] if is_classifier(self) else last._y
        scorer = self._scorer(len(y))
        return _answer(scorer, request_of(scorer, Prepared(last, X), X, as_target(self, X, y)))

    @cached_property
    def best_score_interval_(self) -> tuple[float, float]:
        """The 95 % confidence interval of `best_score_`, computed when it is first asked for."""
        check_is_fitted(self, "best_estimator_")
        try:
            low, high = self._expected().confidence_interval(groups=self._units)
        except ValueError as error:
            warnings.warn(f"best_score_interval_ is nan: {error}", InferenceWarning, stacklevel=2)
            return float("nan"), float("nan")
        low, high = sorted((self._sign * low, self._sign * high))
        return low, high

    def _seen(self, X: Any) -> Any:
        """X as the last step gets it."""
        check_is_fitted(self, "best_estimator_")
        X, found = validate_data(self, X, accept_sparse="csr", reset=False), self.best_estimator_
        return found[:-1].transform(X) if isinstance(found, Pipeline) else X

    def predict(self, X: Any) -> Array:
        """Predict by the chosen rule, of all fitted samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            For the metric "precomputed" the distances to the fitted samples.

        Returns
        -------
        ndarray of shape (n_rows,)
            Also (n_rows, n_outputs) for several outputs.
        """
        return np.asarray(self._last().predict(self._seen(X)))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest fitted samples, as ``KNeighborsClassifier.kneighbors``, after the scaling.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features), optional
            Default: the fitted samples, each without itself.
        n_neighbors : int, optional
            Default: `n_neighbors_`.
        return_distance : bool, default True

        Returns
        -------
        distances, indices : ndarray of shape (n_rows, n_neighbors)
            The indices alone if `return_distance` is False.
        """
        seen = None if X is None else self._seen(X)
        return self._last().kneighbors(seen, n_neighbors, return_distance)

    def tuned_score(
        self, X: Any, y: Any, *, cv: Any = None, groups: Any = None, n_repeats: int = 20, random_state: Any = 0
    ) -> ExpectedScore:
        """The expected score of the whole procedure, with the choice within every training set.

        `best_score_` is optimistic, since it is the best of many. This is nested cross-validation, by the
        same scoring; nothing of a former fit is used.

        Parameters
        ----------
        X, y, groups
            As for `fit`. The groups are for the splits within the training sets, too.
        cv : splitter of scikit-learn, optional
            The outer splits. Default: 5 shuffled folds, stratified for a classifier, or of `groups`.
        n_repeats : int, default 20
            Runs of the outer splits, each with other random numbers.
        random_state : int, numpy Generator or None, default 0
            Seed of the runs.

        Returns
        -------
        ExpectedScore
            `score`, and its standard error `std_error`: the luck of the splits that were drawn. With
            ``cv=LeaveOneOut()`` of scikit-learn, a list of `n_neighbors`, equal weights, no scaling and
            accuracy, the score is that of 1,000 runs of `knnccv.tuned_score`. For costs: their expectation.

        Raises
        ------
        ValueError, TypeError
            As `fit` and `expected_score`.
        """
        if isinstance(self.cv, LeaveGroupsOut):
            msg = f"pass cv=LeaveOneGroupOut() and the groups: those of {self.cv!r} are not of a training set"
            raise ValueError(msg)
        if cv is None:
            folds = StratifiedKFold if is_classifier(self) else PlainFolds
            cv = (folds if groups is None else GroupKFold)(FOLDS, shuffle=True)
        options: dict[str, Any] = {"n_repeats": n_repeats, "random_state": random_state}
        return expected_score(clone(self), X, y, cv=cv, scoring=self._scoring, groups=groups, **options)

    def _as_grid_search(self) -> Any:
        """The same choice as a grid search, where `tuned_score` has that; otherwise the estimator itself."""
        plain = (self.rule, self.scaling, self.weights) == ("best", None, "uniform")
        if not plain or type(self.cv) is not LeaveOneOut or self.n_neighbors is None or not is_classifier(self):
            return self
        names = ("metric", "n_neighbors")
        grid = {name: as_list(name, getattr(self, name)) for name in names}
        return GridSearchCV(KNeighborsClassifier(), grid, scoring=self.scoring, cv=LeaveOneOut())


class KNeighborsClassifierCV(ClassifierMixin, _NeighborsCV):  # type: ignore[misc]
    """K nearest neighbors DOC"""

    _rule = KNeighborsClassifier

    def predict_proba(self, X: Any) -> Array:
        """The shares of the votes, by the chosen rule, of all fitted samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows, n_classes)
            Columns as `classes_`.
        """
        return np.asarray(self._last().predict_proba(self._seen(X)))


class KNeighborsRegressorCV(RegressorMixin, _NeighborsCV):  # type: ignore[misc]
    """K nearest neighbors DOC"""

    _rule = KNeighborsRegressor


def _column(values: list[Any]) -> Any:
    """A column of `cv_results_`, as scikit-learn has them."""
    column = np.ma.empty(len(values), dtype=int if isinstance(values[0], int) else object)
    column[:] = values
    return column


def _answer(scorer: ccv_scorer, request: Request) -> ExpectedScore:
    """The score that a scorer gives, or the mean of runs of scikit-learn where knnccv has none."""
    try:
        return answer_of(scorer, request)
    except InexactError as error:
        if isinstance(request.cv, Design):
            msg = f"pass a splitter of scikit-learn as cv: {request.cv!r} has no score, as {error}"
            raise ValueError(msg) from error
        return sample(request, scorer.scoring, N_REPEATS, str(error))
