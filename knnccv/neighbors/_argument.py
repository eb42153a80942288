"""The argument `X` of public functions: its neighbors, and a warning if their distances know the labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ._metrics import Metric
from ._neighbors import Neighbors


def as_neighbors(X: Any, metric: Metric, metric_params: Mapping[str, Any] | None) -> Neighbors:
    """Neighbors of the argument `X` of public functions: `Neighbors`, dissimilarities, or features."""
    if isinstance(X, Neighbors):
        if metric_params or not (isinstance(metric, str) and metric == "euclidean"):
            msg = f"X is {X!r}, which already has a metric; omit metric and metric_params"
            raise ValueError(msg)
        X.check_unchanged()
        return X
    if hasattr(X, "neighbors") and hasattr(X, "pairwise"):
        msg = f"X is {X!r}, a distance; pass the neighbors of its fitted samples, {type(X).__name__}(...)"
        msg += ".fit(X, y).neighbors()"
        raise TypeError(msg)
    if isinstance(metric, str) and metric == "precomputed":
        if metric_params:
            msg = "metric 'precomputed' takes no metric_params"
            raise TypeError(msg)
        return Neighbors.from_distances(X)
    return Neighbors.from_data(X, metric, metric_params=metric_params)


class SupervisedDistanceWarning(UserWarning):
    """Distances were fitted to the labels of all samples, including the labels to be predicted."""


def warn_label_leakage(neighbors: Neighbors, smallest_train: int) -> None:
    """Warn if the distances use more labels than the training sets, so that the score is optimistic.

    Parameters
    ----------
    neighbors : Neighbors
        Neighbors of all samples.
    smallest_train : int
        Size of the smallest training set. If it has all samples but the tested one, distances that leave
        out the label of the tested sample use exactly the labels of the training set.

    Warns
    -----
    SupervisedDistanceWarning
    """
    fitted = neighbors.fitted_to_labels
    if not fitted or (fitted == "exact" and smallest_train == neighbors.n_items - 1):
        return
    what = (
        "the tested sample's own label is left out, but more labels are used than any training set has"
        if fitted == "exact"
        else "they include the labels of the tested samples, which columns of many values reveal"
    )
    msg = (
        f"the statistics of the {neighbors.metric} distance were fitted to the labels of all samples, once "
        f"for every split: {what}. The score is optimistic. Use a distance that does not use labels "
        "(knnccv.hvdm.HEOM), or cross-validate the whole estimator (knnccv.rib.RIBClassifier)"
    )
    warnings.warn(msg, SupervisedDistanceWarning, stacklevel=3)
