"""`FeatureSelector`, `FeatureWeights` and `Condense`, estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.compat import at_rows
from .._base.typing import Array
from .._base.validation import check, check_integer
from ..kernel import Variant
from ..kernel.registry import get_variant
from ..neighbors import neighbors_in_pool
from ._condense import condense
from ._search import GRID, search_weights, select_features


@dataclass(eq=False, repr=False)
class _BySearch(BaseEstimator):  # type: ignore[misc]
    """What `FeatureSelector` and `FeatureWeights` share: a search on checked data, by `_search`."""

    n_neighbors: int = 5
    _: KW_ONLY
    variant: str | Variant | type[Variant] = "knn"
    cv: Any = 5
    min_gain: float = 1e-6
    metric: str = "euclidean"
    average: Any = "pooled"
    loss: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search on the samples.

        Parameters
        ----------
        X : array of shape (n_items, n_features)
            Finite real numbers, at least 2 columns.
        y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
            Class labels or real targets.

        Returns
        -------
        FeatureSelector or FeatureWeights
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter is not allowed.
        """
        rule = get_variant(self.variant)
        real = rule.target == "values"
        options = {"multi_output": real, "y_numeric": real}
        data, targets = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
        given = self.get_params(deep=False)
        if "n_neighbors" not in rule.parameters:
            del given["n_neighbors"]
        if given["loss"] is None:
            del given["loss"]
        self.result_ = self._search(data, targets, **given)
        return self

    @property
    def _found(self) -> Any:
        """The result of the search; NotFittedError before `fit`."""
        check_is_fitted(self, "result_")
        return self.result_

    @property
    def inner_score_(self) -> float:
        """The exact score of the choice on the fitted samples, which is optimistic."""
        return float(self._found.inner_score)


@dataclass(eq=False, repr=False)
class FeatureSelector(SelectorMixin, _BySearch):  # type: ignore[misc]
    """Forward or backward selection of columns by the exact score of nearest neighbors.

    An estimator for `select_features`. The score of the selected columns on the fitted samples,
    `inner_score_`, is **optimistic**: the columns were selected for it. For an honest score
    cross-validate a pipeline that contains the selector, by `knnccv.sklearn.expected_score`.

    Parameters
    ----------
    n_neighbors : int, default 5
        K, the number of voters.
    variant : str, Variant or subclass of it, default "knn"
        The rule, "regression" for real targets; see `knnccv.complete_cv`.
    cv : int or design, default 5
        The training sets over which the score is the exact mean; an integer is a number of folds.
    direction : {"forward", "backward"}, default "forward"
    n_features : int, float or "auto", default "auto"
        The number or the share of columns to select; "auto": as many as are worth `min_gain`.
    min_gain : float, default 1e-6
        What a column must be worth for "auto", in units of the score.
    metric : {"euclidean", "sqeuclidean", "manhattan"}, default "euclidean"
    average : {"pooled", "item", "class"} or mapping, default "pooled"
        See `knnccv.complete_cv`.
    loss : array of shape (n_classes, n_classes), optional
        Costs of the answers, to be minimized; see `knnccv.complete_cv`.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.

    Attributes
    ----------
    columns_ : int64 ndarray of shape (n_chosen,)
        The selected columns, in the order of `FeatureSelection.columns`.
    inner_score_ : float
        Their exact score on the fitted samples, which is optimistic.
    result_ : FeatureSelection
        The steps of the search.
    n_features_in_, feature_names_in_
        The number of columns, and their names if X has any.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import FeatureSelector
    >>> from sklearn.preprocessing import StandardScaler
    >>> wine = load_wine()
    >>> X = StandardScaler().fit_transform(wine.X)
    >>> selector = FeatureSelector(n_features=3).fit(X, wine.y)
    >>> selector.get_support(indices=True)
    array([ 6,  9, 12])
    >>> selector.transform(X).shape
    (178, 3)

    The honest score, for which columns are selected in every training set:

    >>> from knnccv.sklearn import expected_score
    >>> from sklearn.model_selection import KFold
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> line = make_pipeline(StandardScaler(), FeatureSelector(n_features=3), KNeighborsClassifier(5))
    >>> cv = KFold(5, shuffle=True)
    >>> found = expected_score(line, wine.X, wine.y, cv=cv, n_runs=2, random_state=0)
    >>> round(found.score, 2)
    0.95
    """

    _: KW_ONLY
    direction: str = "forward"
    n_features: int | float | str = "auto"

    _search = staticmethod(select_features)

    @property
    def columns_(self) -> Array:
        """The selected columns, in the order of `FeatureSelection.columns`."""
        return np.asarray(self._found.columns)

    def _get_support_mask(self) -> Array:
        columns = self.columns_
        mask = np.zeros(self.n_features_in_, bool)
        mask[columns] = True
        return mask


@dataclass(eq=False, repr=False)
class FeatureWeights(OneToOneFeatureMixin, TransformerMixin, _BySearch):  # type: ignore[misc]
    """Weights of columns by the exact score of nearest neighbors: a simple kind of metric learning.

    An estimator for `search_weights`. The score of the chosen weights on the fitted samples,
    `inner_score_`, is **optimistic**: the weights were chosen for it. For an honest score
    cross-validate a pipeline that contains the estimator, by `knnccv.sklearn.expected_score`.

    Parameters
    ----------
    n_neighbors, variant, cv, metric, average, loss, n_jobs
        As in `FeatureSelector`.
    grid : sequence of float, default (0, 0.25, 0.5, 1, 2, 4)
        The weights to try, with 1 among them.
    max_cycles : int, default 20
        The largest number of passes over the columns.
    min_gain : float, default 1e-6
        The smallest gain for which a weight is changed, in units of the score.

    Attributes
    ----------
    weights_ : float64 ndarray of shape (n_features,)
        The factor of every column; 0 leaves it out.
    inner_score_ : float
        The exact score of the weighted columns on the fitted samples, which is optimistic.
    result_ : WeightSearch
        The changes of the search.
    n_features_in_, feature_names_in_
        The number of columns, and their names if X has any.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import FeatureWeights
    >>> from sklearn.preprocessing import StandardScaler
    >>> wine = load_wine()
    >>> X = StandardScaler().fit_transform(wine.X)
    >>> weights = FeatureWeights(max_cycles=1).fit(X, wine.y)
    >>> weights.transform(X).shape
    (178, 13)
    >>> weights.inner_score_ > weights.result_.start_score
    True
    """

    _: KW_ONLY
    grid: Any = GRID
    max_cycles: int = 20

    _search = staticmethod(search_weights)

    @property
    def weights_(self) -> Array:
        """The factor of every column; 0 leaves it out."""
        return np.asarray(self._found.weights)

    def transform(self, X: Any) -> Array:
        """Multiply every column by its weight.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)

        Returns
        -------
        float64 ndarray of shape (n_rows, n_features)
            Columns of weight 0 are 0.
        """
        weights = self.weights_
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False) * weights + 0.0)


@dataclass(eq=False, repr=False)
class Condense(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Nearest-neighbor classification by prototypes that the exact score selects.

    `fit` removes training samples as long as the exact score does not fall, see `condense`. `predict` takes
    a vote of the nearest prototypes; tied votes go to the smallest label, and of prototypes at the same
    distance the first in the data is nearer. `fit_resample` returns the prototypes, as the samplers of
    imbalanced-learn do.

    Parameters
    ----------
    n_neighbors : int, default 1
        The number of neighbors that vote, in the search and in `predict`.
    cv : design or int, optional
        How training sets are drawn from the pool of prototypes, as in `condense`. Default: `Subsample` of a
        tenth of all samples, and at least two for each class.
    metric, metric_params
        As in `complete_cv`; "precomputed" is refused.
    average : {"pooled", "item", "class"}, default "pooled"
        Whether all samples have equal weight in the score, or all classes.
    max_loss : float, default 0.0
        The score may fall below the highest score so far by this much.
    n_prototypes : int, default 1
        The smallest number of samples to keep.
    min_per_class : int, default 1
        The smallest number of samples to keep of each class.
    step : float, default 0.05
        The largest share of the prototypes that is removed at once.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.

    Attributes
    ----------
    sample_indices_ : int64 ndarray of shape (n_prototypes,)
        The prototypes among the fitted samples, ascending.
    result_ : Condensed
        The result of `condense`. Its score is optimistic; ``cross_val_score(Condense(), X, y)`` and
        `knnccv.sklearn.expected_score` are honest.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        The number of features, and their names if the data have any.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import Condense
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> wine = load_wine()
    >>> scores = cross_val_score(make_pipeline(StandardScaler(), Condense()), wine.X, wine.y, cv=3)
    >>> bool(scores.mean() > 0.9)
    True
    """

    n_neighbors: int = 1
    _: KW_ONLY
    cv: Any = None
    metric: Any = "euclidean"
    metric_params: Mapping[str, Any] | None = None
    average: str = "pooled"
    max_loss: float = 0.0
    n_prototypes: int = 1
    min_per_class: int = 1
    step: float = 0.05
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Condense:
        """Select the prototypes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_items, n_features)
            At least 2 samples.
        y : array of shape (n_items,)
            Class labels.

        Returns
        -------
        Condense
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the data or a parameter is not allowed.
        """
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        msg = "Condense needs the samples, since prototypes are rows of X; got metric 'precomputed'"
        check(not (isinstance(self.metric, str) and self.metric == "precomputed"), msg)
        data, labels = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        given = self.get_params(deep=False)
        if k == 1:
            del given["n_neighbors"]
        self.result_ = condense(data, codes, "nn" if k == 1 else "knn", **given)
        self.sample_indices_ = self.result_.sample_indices
        self._prototypes_ = data[self.sample_indices_]
        self._codes_ = codes[self.sample_indices_]
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Select the prototypes and return them.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_items, n_features)
        y : array or series of shape (n_items,)

        Returns
        -------
        X_resampled : of the type of X, of shape (n_prototypes, n_features)
        y_resampled : of the type of y, of shape (n_prototypes,)
        """
        self.fit(X, y)
        return at_rows(X, self.sample_indices_), at_rows(y, self.sample_indices_)

    def predict(self, X: Any) -> Array:
        """Predict the class with most votes among the nearest prototypes of every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        data = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        near, n_prototypes = neighbors_in_pool(self._prototypes_, data, self.metric, self.metric_params)
        items, _ = near.kneighbors(min(self.n_neighbors, n_prototypes), n_jobs=self.n_jobs)
        votes = self._codes_[items - near.n_items][:, :, None] == np.arange(len(self.classes_))
        return np.asarray(self.classes_[votes.sum(axis=1).argmax(axis=1)])
