"""The warning of distances that use the labels of tested samples."""

from __future__ import annotations

import warnings

import numpy as np

from .._typing import Array
from ._neighbors import Neighbors


class SupervisedDistanceWarning(UserWarning):
    """Distances were fitted to the labels of all samples, including the labels to be predicted."""


def warn_label_leakage(neighbors: Neighbors, smallest_train: int, groups: Array | None = None) -> None:
    """Warn if the distances use more labels than the training sets, so that the score is optimistic.

    Parameters
    ----------
    neighbors : Neighbors
        Neighbors of all samples.
    smallest_train : int
        Size of the smallest training set. If it has all samples but the tested one, distances that leave
        out the label of the tested sample use exactly the labels of the training set.
    groups : int64 ndarray of shape (n_items,), optional
        The groups that are left out one by one. Distances that were fitted without each of these are exact.

    Warns
    -----
    SupervisedDistanceWarning
    """
    fitted = neighbors.fitted_to_labels
    if not fitted or (fitted == "exact" and smallest_train == neighbors.n_items - 1):
        return
    without = neighbors.fitted_without
    if groups is not None and without is not None and np.array_equal(without, groups):
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
