"""`item_values`: what each sample is worth to a nearest-neighbor rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._formatting import error_phrase, item_frame
from .._labels import EncodedLabels, encode_labels
from .._typing import Array
from .._validation import as_reals, check_choice, check_integer, lowest
from ..driver import TIES
from ..neighbors import Neighbors, as_neighbors
from ..results import complete_cv
from ._shapley import shapley_values

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("shapley", "influence")
FULL_DEPTH = 20_000
DEPTH = 1000


@dataclass(frozen=True, eq=False, repr=False)
class ItemValues:
    """What every training sample is worth; a positive value helps.

    Attributes
    ----------
    values : ndarray of shape (n_items,)
        The value of every sample.
    method : {"shapley", "influence"}
    labels : ndarray of shape (n_items,)
        The label of every sample.
    rule : str
        The rule and what it is tested on, in words.
    error_bound : float
        Bound of the error of every value: samples beyond the lists count as if they were in random order,
        and rounding.
    certified : bool
        False for approximate neighbors, whose error has no bound.

    Examples
    --------
    >>> from knnccv import item_values
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> values = item_values(wine.X, wine.y, n_neighbors=5)
    >>> values.values.shape
    (178,)
    """

    values: Array
    method: str
    labels: Array
    rule: str
    error_bound: float
    certified: bool = True

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype, copy=copy)

    def least_valuable(self, n: int = 10) -> Array:
        """Return the samples of the lowest values, the lowest first: candidates for wrong labels.

        Parameters
        ----------
        n : int, default 10
            Number of samples, at least 1; all samples if there are fewer.

        Returns
        -------
        int64 ndarray of shape (min(n, n_items),)
            Indices of samples; equal values in the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If n is not a positive integer.
        """
        return lowest(self.values, n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label and value, as a pandas DataFrame.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        return item_frame(self.labels, value=self.values)

    def __repr__(self) -> str:
        worst = int(self.least_valuable(1)[0])
        return (
            f"<ItemValues of {len(self)} samples ({self.method}, {self.rule}): from "
            f"{self.values.min():.3g} (sample {worst}) to {self.values.max():.3g}, {error_phrase(self)}>"
        )


def item_values(
    X: Any,
    y: Any,
    method: str = "shapley",
    *,
    n_neighbors: int = 5,
    X_test: Any = None,
    y_test: Any = None,
    cv: Any = None,
    depth: int | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str = "random",
    n_jobs: int | None = None,
) -> ItemValues:
    """What every sample is worth to the K-nearest-neighbor rule.

    Parameters
    ----------
    X : array of shape (n_items, n_features), or Neighbors
        Samples, or their neighbors.
    y : array of shape (n_items,)
        Class labels.
    method : {"shapley", "influence"}, default "shapley"
        "shapley": the mean, over all orders in which samples may join the training set, of what a sample
        adds to the share of right ones among the K nearest. "influence": the change of the exact
        cross-validation score of the vote without the sample (`CompleteCV.influence`).
    n_neighbors : int, default 5
        K.
    X_test : array of shape (n_tests, n_features), optional
        Samples that are tested; "shapley" only. Default: every sample of X is tested on all others.
    y_test : array of shape (n_tests,), optional
        Their labels, required with `X_test`.
    cv : Design, int or scikit-learn splitter, optional
        With "influence": as for `complete_cv`.
    depth : int, optional
        With "shapley" and without `X_test`: the number of nearest samples that are ordered; those behind
        count as if they were in random order, which `error_bound` covers. Default: all for up to 20,000
        samples, then 1,000. Given lists are used as far as they go.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        Equally distant samples: the mean over all their orders, or in the order of the rows.
    n_jobs : int, optional
        Threads. Default: all processors. Results are the same to the last bit for any number.

    Returns
    -------
    ItemValues

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    KNN-Shapley values: Jia et al. 2019, "Efficient Task-Specific Data Valuation for Nearest Neighbor
    Algorithms", Theorem 1, as a sum: with f(t) = 1 / max(t, K) and m_t = 1 if the sample at position t has
    the tested class, the one at position t is worth f(t) m_t - sum over s > t of m_s (f(s - 1) - f(s)). The
    values of one tested sample's training set sum to the share of right ones among its K nearest.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> values = knnccv.item_values(wine.X, wine.y, n_neighbors=5)
    >>> len(values), values.least_valuable(3).shape
    (178, (3,))
    """
    check_choice("method", method, METHODS)
    check_choice("ties", ties, TIES)
    k = check_integer("n_neighbors", n_neighbors, 1)
    if (X_test is None) != (y_test is None):
        missing = "y_test" if y_test is None else "X_test"
        msg = f"X_test and y_test belong together, but {missing} is missing"
        raise ValueError(msg)
    known = {"metric": metric, "metric_params": metric_params}
    if method == "influence":
        _refuse(method, X_test=X_test, depth=depth)
        design = {} if cv is None else {"cv": cv}
        result = complete_cv(X, y, "knn", n_neighbors=k, ties=ties, n_jobs=n_jobs, **known, **design)
        influence = result.influence(n_jobs=n_jobs)
        certified = bool(np.isfinite(influence.error_bound))
        rule = f"K = {k}, {result.design}"
        return ItemValues(influence.total, method, influence.labels, rule, influence.error_bound, certified)
    _refuse(method, cv=cv)
    targets = None
    if X_test is not None:
        _refuse("shapley, with X_test", depth=depth)
        both = _features_of_both(X, X_test, y_test)
        near = Neighbors.from_data(np.concatenate(both), **known)
        labels = encode_labels(y, len(both[1]))
        targets = _codes_of(encode_labels(y_test, len(both[0])), labels)
        wanted, rule = near.n_items - 1, f"K = {k}, {len(targets)} other samples tested"
    else:
        near = as_neighbors(X, metric, metric_params)
        labels = encode_labels(y, near.n_items)
        if depth is None:
            wanted = near.max_depth if near.n_items <= FULL_DEPTH else min(DEPTH, near.max_depth)
        else:
            wanted = min(check_integer("depth", depth, 1, near.n_items - 1), near.max_depth)
        rule = f"K = {k}, every sample tested on all others"
    values, bound = shapley_values(near, labels, targets, k, wanted, ties, n_jobs)
    if near.approximate:
        bound = np.inf
    return ItemValues(values, method, labels.classes[labels.codes], rule, bound, not near.approximate)


def _features_of_both(X: Any, X_test: Any, y_test: Any) -> tuple[Array, Array]:
    """The features of the tested samples and of the training samples, checked."""
    if isinstance(X, Neighbors):
        msg = f"X is {X!r}, the neighbors of samples among themselves; with X_test pass their features"
        raise TypeError(msg)
    both = []
    for name, given in (("X_test", X_test), ("X", X)):
        data = as_reals(name, given, f"{name} must hold real numbers")
        if data.ndim != 2:
            msg = f"{name} must have shape (n_samples, n_features), got {data.shape}"
            raise ValueError(msg)
        both.append(data)
    first, second = both
    if first.shape[1] != second.shape[1]:
        msg = f"X_test and X must have the same features, got {first.shape[1]} and {second.shape[1]}"
        raise ValueError(msg)
    if hasattr(y_test, "__len__") and len(y_test) != len(first):
        msg = f"X_test has {len(first)} samples, but y_test has {len(y_test)} labels"
        raise ValueError(msg)
    return first, second


def _codes_of(tests: EncodedLabels, labels: EncodedLabels) -> Array:
    """The tested samples' classes as codes of the training samples; all must occur there."""
    known = np.isin(tests.classes, labels.classes)
    if not known.all():
        unknown = ", ".join(map(repr, tests.classes[~known].tolist()[:5]))
        msg = f"y_test holds labels that do not occur in y: {unknown}"
        raise ValueError(msg)
    codes: Array = np.searchsorted(labels.classes, tests.classes)[tests.codes]
    return codes


def _refuse(method: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            msg = f"method {method} does not use {name}, got {value!r}"
            raise ValueError(msg)
