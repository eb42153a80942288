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
from sklearn import model_selection as ms
from sklearn import preprocessing
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.compat import fitted_samples, fitted_targets
from .._base.typing import Array
from .._base.validation import as_reals, check, check_choice, check_integer
from .._core.driver import InexactError
from .._core.luck.inference import InferenceWarning, difference_of
from .._core.luck.runs import SCALERS, read_scaling
from .._core.scores.tuning import as_list
from ..designs import Design, KFold, LeaveGroupsOut
from ._estimators import Prepared, as_target, check_metric, last_step, prepare, read_rule, takes_distances
from ._exact import scores_at_once
from ._expected_score import ccv_scorer, expected_score, first_score, request_of, ways_of
from ._request import ExpectedScore, Request
from ._runs import plain_runs
from ._scoring import is_costs, several

CHOICES = ("best", "one-standard-error")
MOST_NEIGHBORS = 30
FOLDS = 5
SLACK = 4e-12
"""Scores that differ by less, relative to the largest, are equal: the error of two of them."""


@dataclass(eq=False, repr=False)
class _NeighborsCV(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: the search, and the methods of the estimator that it chooses."""

    n_neighbors: Any = None
    _: KW_ONLY
    metric: Any = "euclidean"
    p: Any = 2
    scaling: Any = None
    weights: Any = "uniform"
    cv: Any = None
    scoring: Any = None
    choose: str = "best"
    n_jobs: int | None = None

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}
    _rule: ClassVar[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        scalings = self.scaling if isinstance(self.scaling, list | tuple) else [self.scaling]
        pairwise = takes_distances(self)
        tags.input_tags.pairwise, tags.input_tags.positive_only = pairwise, pairwise
        tags.input_tags.sparse = not pairwise and all(one in (None, "maxabs") for one in scalings)
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
        check_choice("choose", self.choose, CHOICES)
        real = isinstance(self, RegressorMixin)
        options = {"multi_output": real, "y_numeric": real, "ensure_min_samples": 2}
        X, y = validate_data(self, X, y, accept_sparse="csr", **options)
        if not real:
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        self.__dict__.pop("best_score_interval_", None)
        self._groups = groups
        grid, scores, errors = self._scores(X, y)
        slack = SLACK * np.abs(scores).max()
        ranks = (scores > scores[:, None] + slack).sum(axis=1) + 1
        best = int(ranks.argmin())
        self.best_estimator_ = self._estimator(**grid[best]).fit(X, y)
        if self.choose != "best":
            best = self._simplest(grid, scores, best, X, y)
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
        ks = self.n_neighbors
        if ks is None:
            least = request_of(scorer, Prepared(self, X), X, target).least_train
            ks = range(1, min(MOST_NEIGHBORS, least) + 1)
        axes = {name: as_list(name, getattr(self, name)) for name in ("metric", "scaling", "weights")}
        axes["n_neighbors"] = ks = [check_integer("n_neighbors", k, 1) for k in as_list("n_neighbors", ks)]
        powers = as_list("p", self.p)
        if powers != [2]:
            axes["p"] = powers
            msg = f"pass metric='minkowski', whose power is p={self.p!r}, got metric={self.metric!r}"
            check("minkowski" in [metric for metric in axes["metric"] if isinstance(metric, str)], msg)
        sizes = [len(axes["metric"]), len(ks), len(powers), len(axes["scaling"]), len(axes["weights"])]
        table = np.zeros((2, *sizes))
        named = (enumerate(values) for values in (axes["metric"], powers, axes["scaling"]))
        for (m, metric), (q, p), (s, scaling) in product(*named):
            rule = self._estimator(metric, 1, scaling, "uniform", p)
            prepared = prepare(rule, X, target, transductive=True)
            msg = f"scaling must be None, got {scaling!r} with metric={metric!r}: {prepared.reason}"
            check(not prepared.reason, msg)
            with suppress(InexactError):  # of which the answer has to tell
                near = read_rule(prepared.estimator, prepared.X).neighbors
                prepared = replace(prepared, neighbors=near)
            for w, weight in enumerate(axes["weights"]):
                rules = [self._estimator(metric, k, None, weight, p) for k in ks]
                asked = [request_of(scorer, replace(prepared, estimator=one), X, target) for one in rules]
                asked = [replace(one, searched=tuple(ks), drawn=asked[0].drawn) for one in asked]
                at_once = scores_at_once(asked[int(np.argmax(ks))], ks)
                if at_once is not None:
                    table[0, m, :, q, s, w] = at_once
                    continue
                # The deepest lists first; of drawn training sets the smallest K, which brings the others.
                for i in np.argsort(ks)[:: -1 if weight in (None, "uniform") else 1]:
                    answer = _answer(scorer, asked[i])
                    table[:, m, i, q, s, w] = answer.score, answer.std_error
        scores, errors = table.reshape(2, -1)
        return list(ms.ParameterGrid(axes)), scores, errors

    def _simplest(self, grid: list[dict[str, Any]], scores: Array, best: int, X: Any, y: Array) -> int:
        """Of the candidates within a standard error of their difference to the best, the largest K.

        Of these the best score. Candidates that the halves are too small for are left out.
        """
        try:
            expected, units = self._expected(self.best_estimator_)
            of_best = expected.half_scores(groups=units)
        except ValueError as error:
            msg = f"pass choose='best': there is no standard error of the best score, as {error}"
            raise ValueError(msg) from error
        for text in of_best.warnings:
            warnings.warn(text, InferenceWarning, stacklevel=3)
        slack = SLACK * np.abs(scores).max()
        by_k = sorted(range(len(grid)), key=lambda at: (grid[at]["n_neighbors"], scores[at]), reverse=True)
        for at in by_k[: by_k.index(best)]:
            candidate, units = self._expected(self._estimator(**grid[at]).fit(X, y))
            try:
                halves = candidate.half_scores(groups=units)
            except ValueError:
                continue
            if scores[best] - scores[at] <= difference_of(of_best, halves)[1] + slack:
                return at
        return best

    @property
    def _scoring(self) -> Any:
        """What is maximized."""
        if is_costs(self.scoring):
            return -as_reals("scoring", self.scoring, "scoring as a matrix of costs must hold real numbers")
        real = isinstance(self, RegressorMixin)
        return "neg_mean_squared_error" if self.scoring is None and real else self.scoring

    def _scorer(self, n_items: int) -> ccv_scorer:
        cv = KFold(min(FOLDS, n_items)) if self.cv is None else self.cv
        if not isinstance(cv, Integral | Design):
            cv = ms.check_cv(cv)
        must = "scoring must be a single one, by which to choose"
        check(several(self.scoring) is None, must, self.scoring, TypeError)
        return ccv_scorer(cv, self._scoring, groups=self._groups, n_jobs=self.n_jobs)

    def _estimator(self, metric: Any, n_neighbors: int, scaling: Any, weights: Any, p: Any = 2) -> Any:
        """An estimator of scikit-learn with these parameters, not fitted."""
        rule = self._rule(n_neighbors, weights=weights, metric=metric, p=p, n_jobs=self.n_jobs)
        check_metric(rule)
        return rule if scaling is None else make_pipeline(self._scaler(scaling), rule)

    @staticmethod
    def _scaler(scaling: Any) -> Any:
        """The step of a pipeline that scales."""
        if scaling is None:
            return "passthrough"
        named = isinstance(read_scaling(scaling), str)
        return getattr(preprocessing, SCALERS[scaling])() if named else clone(scaling)

    def _last(self) -> Any:
        """The nearest-neighbor rule of the fitted estimator."""
        check_is_fitted(self, "best_estimator_")
        return last_step(self.best_estimator_)

    def _expected(self, fitted: Any) -> tuple[ExpectedScore, Any]:
        """The expected score of the rule of a fitted estimator, on its samples.

        And the groups of whose samples halves are drawn: none for splits that leave out groups.
        """
        last = last_step(fitted)
        X, y = fitted_samples(last), fitted_targets(last)
        scorer = self._scorer(len(y))
        request = request_of(scorer, Prepared(last, X), X, as_target(self, X, y))
        return _answer(scorer, request), None if request.leaves_groups else self._groups

    @cached_property
    def best_score_interval_(self) -> tuple[float, float]:
        """The 95 % confidence interval of `best_score_`, computed when it is first asked for."""
        check_is_fitted(self, "best_estimator_")
        try:
            expected, units = self._expected(self.best_estimator_)
            low, high = expected.confidence_interval(groups=units)
        except ValueError as error:
            warnings.warn(f"best_score_interval_ is nan: {error}", InferenceWarning, stacklevel=2)
            return float("nan"), float("nan")
        return float(low), float(high)

    def _seen(self, X: Any) -> Any:
        """X as the last step gets it."""
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

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
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
        return self._last().kneighbors(None if X is None else self._seen(X), n_neighbors, return_distance)

    def tuned_score(
        self, X: Any, y: Any, *, cv: Any = None, groups: Any = None, **options: Any
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
        **options
            Further arguments of `expected_score`, such as ``n_runs=20``, the number of runs of the outer
            splits, and ``random_state``, their seed.

        Returns
        -------
        ExpectedScore
            `score`, and its standard error `std_error`: the luck of the splits that were drawn. Runs of
            knnccv serve ``LeaveOneOut()`` of scikit-learn as the parameter `cv`, with a list of
            `n_neighbors`; others are twenty runs of scikit-learn.

        Raises
        ------
        ValueError, TypeError
            As `fit` and `expected_score`.
        """
        msg = f"pass groups, and LeaveOneGroupOut() as cv: {self.cv!r} has the groups of all samples"
        check(not isinstance(self.cv, LeaveGroupsOut), msg)
        if cv is None:
            folds = ms.StratifiedKFold if isinstance(self, ClassifierMixin) else ms.KFold
            cv = (folds if groups is None else ms.GroupKFold)(FOLDS, shuffle=True)
        options |= {"cv": cv, "scoring": self._scoring, "groups": groups}
        found: ExpectedScore = expected_score(clone(self), X, y, **options)
        return found

    def _as_grid_search(self) -> Any:
        """The same choice as a grid search that has runs of knnccv, if there is one; else the estimator."""
        if (self.choose, type(self.cv)) != ("best", ms.LeaveOneOut) or self.n_neighbors is None:
            return self
        names = ("metric", "n_neighbors", "p", "scaling", "weights")
        axes = {name: as_list(name, getattr(self, name)) for name in names}
        others = [axes[name] for name in names[2:]]
        if self._rule is KNeighborsClassifier and others == [[2], [None], ["uniform"]]:
            grid = {name: axes[name] for name in names[:2]}
            return ms.GridSearchCV(KNeighborsClassifier(), grid, scoring=self.scoring, cv=ms.LeaveOneOut())
        axes["scaling"] = [self._scaler(one) for one in axes["scaling"]]
        places = {name: "scaling" if name == "scaling" else f"rule__{name}" for name in names}
        # One by one, as another order of the names would be another order of equals.
        grids = [{places[name]: [one[name]] for name in names} for one in ms.ParameterGrid(axes)]
        model = Pipeline([("scaling", "passthrough"), ("rule", self._rule())])
        return ms.GridSearchCV(model, grids, scoring=self._scoring, cv=ms.LeaveOneOut())


class KNeighborsClassifierCV(ClassifierMixin, _NeighborsCV):  # type: ignore[misc]
    """K nearest neighbors that choose K, the metric, the scaling and the weights by the exact score.

    As `RidgeCV` is to `Ridge`: a search without luck of the splits, whose candidates share their neighbors.
    The choice is that of ``GridSearchCV`` with `ccv_scorer` and `WholeData`.

    Parameters
    ----------
    n_neighbors : int or sequence of int, optional
        The K to choose from. Default: 1 to 30, or to the size of the smallest training set.
    metric : str, callable or list of them, default "euclidean"
        The metrics to choose from, as of `KNeighborsClassifier`; "precomputed" for square distances.
    p : float or sequence of float, default 2
        The powers to choose from, of the metric "minkowski" alone.
    scaling : {None, "standard", "minmax", "maxabs", "robust"}, transformer, or list of these, default None
        The scalings of columns to choose from: scikit-learn's scalers, or any transformer that uses no
        labels. For the scores a scaler is fitted once, to all samples without labels, as by `tuned_score`
        of knnccv and ``transductive=True``, so that they are exact. So is the chosen one.
        The method `tuned_score` fits it within every training set.
    weights : {"uniform", "distance"}, callable or list of them, default "uniform"
        The weights of the neighbors to choose from. With "distance" and many neighbors the scores are
        estimates, from training sets that are drawn for each sample, once for all K.
    cv : int, design, splitter or iterable of splits, optional
        What the scores are the exact means over: a design of knnccv, or any `cv` of `expected_score`; an
        integer is a number of folds over all shuffles, stratified.
        Default: ``KFold(5)`` of knnccv, five folds without strata, or as many as there are samples. Without
        strata or groups the scores of all K come from one pass over the neighbors; otherwise every K takes
        a pass.
    scoring : str, scorer or array of shape (n_classes, n_classes), optional
        A single scoring, as for `expected_score`. Default: accuracy. Scores that have no
        closed form are means over random runs.
    choose : {"best", "one-standard-error"}, default "best"
        "best": the best score, the first of equals. "one-standard-error": of all candidates whose score is
        within one standard error of the best, those with the largest K, which are the smoothest, and of
        these the best score. It is the standard error of the difference to the best, as of `Surface.best`:
        the luck of the data, as far as it does not concern both alike.
    n_jobs : int, optional
        Threads of the search (default: all processors), and jobs of the chosen estimator (default: one).
        The scores do not depend on it.

    Attributes
    ----------
    best_params_ : dict
        The chosen "metric", "n_neighbors", "scaling" and "weights"; "p" unless it is 2.
    best_index_ : int
        Its number in `cv_results_`.
    best_score_ : float
        Its mean score over all splits; minus the expected cost
        for a matrix of costs. It is **optimistic**, since it
        was chosen for its score: report `tuned_score`.
    best_score_interval_ : tuple of two floats
        The 95 % confidence interval of `best_score_` for the population: the luck of the data, without that
        of the choice. It is computed when it is first asked for. nan, with a warning that says why, where
        `best_score_` is not exact or the samples are too few.
    best_estimator_ : KNeighborsClassifier or Pipeline
        The chosen estimator, fitted to all samples; a pipeline if it is scaled.
    n_neighbors_ : int
        The chosen K.
    cv_results_ : dict of arrays of shape (n_candidates,)
        As of ``GridSearchCV``, in its order: "params", "param_metric", …, "mean_test_score" and
        "rank_test_score" (equal scores have equal ranks); "std_error" is the standard error of scores that
        are not exact, otherwise 0.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_, feature_names_in_
        The number of columns, and their names if X has any.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.sklearn import KNeighborsClassifierCV
    >>> wine = load_wine()
    >>> model = KNeighborsClassifierCV(scaling=[None, "standard"]).fit(wine.X, wine.y)
    >>> model.n_neighbors_, model.best_params_["scaling"], round(model.best_score_, 4)
    (30, 'standard', 0.9728)
    >>> model.predict(wine.X[:3])
    array([1, 1, 1])
    """

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
    """K nearest neighbors that choose K, the metric, the scaling and the weights by the exact score.

    As `RidgeCV` is to `Ridge`: a search without luck of the splits, whose candidates share their neighbors.
    The choice is that of ``GridSearchCV`` with `ccv_scorer` and `WholeData`.

    Parameters
    ----------
    n_neighbors, metric, p, scaling, weights, choose, n_jobs
        As in `KNeighborsClassifierCV`.
    cv : int, design, splitter or iterable of splits, optional
        As in `KNeighborsClassifierCV`, but an integer is a number of folds without strata.
    scoring : str or scorer, optional
        As in `KNeighborsClassifierCV`. Default: "neg_mean_squared_error"; the mean over several outputs.

    Attributes
    ----------
    best_params_, best_index_, best_score_, best_score_interval_, n_neighbors_, cv_results_
        As in `KNeighborsClassifierCV`.
    best_estimator_ : KNeighborsRegressor or Pipeline
        The chosen estimator, fitted to all samples.
    n_features_in_, feature_names_in_
        The number of columns, and their names if X has any.

    Examples
    --------
    >>> from knnccv.datasets import load_diabetes
    >>> from knnccv.sklearn import KNeighborsRegressorCV
    >>> patients = load_diabetes()
    >>> model = KNeighborsRegressorCV().fit(patients.X, patients.y)
    >>> model.n_neighbors_, round(model.best_score_)
    (13, -4166)
    >>> low, high = model.best_score_interval_
    >>> low < model.best_score_ < high
    True
    """

    _rule = KNeighborsRegressor


def _column(values: list[Any]) -> Any:
    """A column of `cv_results_`, as scikit-learn has them."""
    column = np.ma.empty(len(values), dtype=int if isinstance(values[0], int) else object)
    column[:] = values
    return column


def _answer(scorer: ccv_scorer, request: Request) -> ExpectedScore:
    """The score that a scorer gives, or the mean of runs of scikit-learn where knnccv has none."""
    try:
        return first_score(request, (*ways_of(scorer), plain_runs))
    except InexactError as error:
        msg = f"pass a splitter of scikit-learn as cv: {request.cv!r} has no score, as {error}"
        raise ValueError(msg) from error
