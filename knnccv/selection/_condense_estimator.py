"""`Condense`, an estimator of scikit-learn that classifies by prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array
from .._validation import check_integer
from ..neighbors import Neighbors
from ._condense import condense
from ._condense_runs import k_nearest


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
    average : {"item", "class"}, default "item"
        Whether all samples have equal weight in the score, or all classes.
    tol : float, default 0.0
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
        `condensed_cv` are honest.
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
    average: str = "item"
    tol: float = 0.0
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
        if isinstance(self.metric, str) and self.metric == "precomputed":
            msg = "Condense needs the samples, since prototypes are rows of X; got metric 'precomputed'"
            raise ValueError(msg)
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
        return _safe_indexing(X, self.sample_indices_), _safe_indexing(y, self.sample_indices_)

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
        gallery = self._prototypes_
        distances = Neighbors.between(data, gallery, self.metric, metric_params=self.metric_params)
        k = min(self.n_neighbors, len(self._codes_))
        chosen = np.empty(data.shape[0], np.int64)
        for start in range(0, len(chosen), distances.rows_at_once):
            stop = min(start + distances.rows_at_once, len(chosen))
            nearest = k_nearest(distances.block(start, stop), k)[0][:, :k]
            votes = self._codes_[nearest][:, :, None] == np.arange(len(self.classes_))
            chosen[start:stop] = votes.sum(axis=1).argmax(axis=1)
        predicted: Array = self.classes_[chosen]
        return predicted
