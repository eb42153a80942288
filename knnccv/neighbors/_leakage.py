"""What to say of scores on distances that were fitted to labels."""

from __future__ import annotations

import warnings

from ._neighbors import Neighbors


class SupervisedDistanceWarning(UserWarning):
    """Distances were fitted to the labels of all samples, those to be predicted among them."""


def warn_label_leakage(neighbors: Neighbors, smallest_train: int) -> None:
    """Say so if the score will be too good since the distances know more labels than the training sets.

    Parameters
    ----------
    neighbors : Neighbors
        Of all samples.
    smallest_train : int
        Size of the smallest training set. If it has all samples but the tested one, distances that leave
        that one's label out are what they would be without it.
    """
    fitted = neighbors.fitted_to_labels
    if not fitted or (fitted == "exact" and smallest_train == neighbors.n_items - 1):
        return
    what = (
        "the tested item's own label is left out, but more samples have a say than any training set has"
        if fitted == "exact"
        else "the tested items' own labels are among them, which columns of many values give away"
    )
    msg = (
        f"the statistics of the {neighbors.metric} distance were fitted to the labels of all samples, once "
        f"for every split: {what}. The score is optimistic. Take a distance that looks at no labels "
        "(knnccv.hvdm.HEOM), or cross-validate the whole estimator (knnccv.rib.RIBClassifier)"
    )
    warnings.warn(msg, SupervisedDistanceWarning, stacklevel=3)
