"""CVC and LCV of votes, and the weighted leave-one-out votes of near neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from .._validation import as_reals, check_integer
from ..neighbors import as_neighbors
from ._votes import EQUAL, VoteLists, check_votes, decide, neighbor_weights

LARGEST = 1e300
"""The largest allowed distance: sums of distances must not overflow."""


def cvc_score(y_true: Any, votes: Any) -> float:
    """Compute the CVC, cross-validation and confidence, of any voting classifier.

    Parameters
    ----------
    y_true : array of shape (n_items,)
        Class labels.
    votes : array of shape (n_items, n_classes)
        Non-negative votes of each left-out sample for every class, in the order of the sorted labels of
        `y_true`: from ``loo_votes``, or from ``cross_val_predict(..., cv=LeaveOneOut(),
        method="predict_proba")`` of scikit-learn.

    Returns
    -------
    float
        (r + c) / (n + 1), with r the number of samples whose true class has most votes, and c the mean
        share of votes for the true class. A tied vote goes to the smallest label (in `RIBClassifier` to the
        nearest class, by default). A row without votes counts as equal votes.

    Raises
    ------
    ValueError, TypeError
        If a vote is negative or not finite, or the shape does not match the labels.

    Notes
    -----
    Wilson & Martinez 1999, eqs. (1) and (2). One more correct sample adds 1 / (n + 1); no change of the
    confidence outweighs it. CVC therefore orders settings by r, and settings with equal r by confidence.

    Examples
    --------
    >>> from knnccv.rib import cvc_score
    >>> round(cvc_score(["a", "b", "b"], [[2, 1], [1, 3], [2, 2]]), 6)
    0.659722
    """
    n_correct, confidence, n_items = _left_out(y_true, votes)
    return (n_correct + confidence) / (n_items + 1)


def lcv_score(y_true: Any, votes: Any) -> float:
    """Compute the LCV, leave-one-out accuracy, of any voting classifier.

    Parameters
    ----------
    y_true, votes
        As for `cvc_score`.

    Returns
    -------
    float
        Share of the samples whose true class has most votes; a tied vote goes to the smallest label.

    Raises
    ------
    ValueError, TypeError
        As for `cvc_score`.

    Examples
    --------
    >>> from knnccv.rib import lcv_score
    >>> lcv_score(["a", "b", "b", "b"], [[2, 1], [1, 3], [2, 2], [0, 1]])
    0.75
    """
    n_correct, _, n_items = _left_out(y_true, votes)
    return n_correct / n_items


def _left_out(y_true: Any, votes: Any) -> tuple[int, float, int]:
    given = as_reals("votes", votes, "votes must hold real numbers, (n_items, n_classes)")
    if given.ndim != 2:
        msg = f"votes must have shape (n_items, n_classes), got shape {given.shape}"
        raise ValueError(msg)
    labels = encode_labels(y_true)
    n_items, n_classes = len(labels.codes), len(labels.classes)
    if given.shape != (n_items, n_classes) or not n_items:
        msg = (
            f"votes must have shape ({n_items}, {n_classes}), a row for every sample and a column for "
            f"every label of y_true, got shape {given.shape}"
        )
        raise ValueError(msg)
    if (given < 0).any():
        row, column = (int(at) for at in np.argwhere(given < 0)[0])
        msg = f"votes[{row}, {column}] is {given[row, column]}; votes must be at least 0"
        raise ValueError(msg)
    largest = given.max(axis=1, keepdims=True)
    # Scale every row first, so that no sum overflows; a row without votes has equal votes.
    sized = np.where(largest > 0, given / np.where(largest > 0, largest, 1), 1.0)
    chosen = (sized >= 1 - EQUAL).argmax(axis=1)
    confidence = sized[np.arange(n_items), labels.codes] / sized.sum(axis=1)
    return int((chosen == labels.codes).sum()), float(confidence.mean()), n_items


def _check_distances(distances: Array) -> None:
    """Raise ValueError if ratios of the distances cannot be weights."""
    outside = (distances < 0) | (distances > LARGEST)
    if outside.any():
        row, column = (int(at) for at in np.argwhere(outside)[0])
        msg = f"distances must be between 0 and {LARGEST:g}, got {distances[row, column]} in row {row}"
        raise ValueError(msg)


def vote_weights(
    distances: Any,
    kernel: str = "majority",
    *,
    w_k: float | None = None,
    avgk: bool = False,
) -> Array:
    """Compute the weights of the votes of near neighbors.

    Parameters
    ----------
    distances : array of shape (n_rows, k)
        Distances of the k nearest neighbors, ascending.
    kernel : {"majority", "linear", "gaussian", "exponential"}, default "majority"
        With D_j the distance of the j-th neighbor: 1; max(1 - (1 - w_k) D_j / D_k, 0);
        w_k ** (D_j / D_k)**2; w_k ** (D_j / D_k).
    w_k : float in [0, 1], optional
        The weight at distance D_k. Required, except for "majority", which does not allow it.
    avgk : bool, default False
        Use D'_k = 2 (D_1 + ... + D_k) / (k + 1) instead of D_k.

    Returns
    -------
    float64 ndarray of shape (n_rows, k)
        All 1 if D_k is 0. If every weight would be 0, their limit for w_k → 0.

    Raises
    ------
    ValueError, TypeError
        If a distance is negative, not finite or greater than 1e300, the distances are not ascending, or a
        parameter is not allowed.

    Notes
    -----
    Wilson & Martinez 1999, eqs. (7) to (11).

    Examples
    --------
    >>> from knnccv.rib import vote_weights
    >>> vote_weights([[0.0, 1.0, 2.0]], "linear", w_k=0.5)
    array([[1.  , 0.75, 0.5 ]])
    """
    given = as_reals("distances", distances, "distances must hold real numbers, (n_rows, k)")
    if given.ndim != 2 or given.shape[1] < 1:
        msg = f"distances must have shape (n_rows, k), got shape {given.shape}"
        raise ValueError(msg)
    if (np.diff(given, axis=1) < 0).any():
        msg = "distances must ascend in every row"
        raise ValueError(msg)
    _check_distances(given)
    weight = check_votes(kernel, w_k, avgk)
    return neighbor_weights(given, given.shape[1], kernel, weight, bool(avgk))


def loo_votes(
    neighbors: Any,
    y: Any,
    n_neighbors: int = 3,
    kernel: str = "majority",
    *,
    w_k: float | None = None,
    avgk: bool = False,
    n_jobs: int | None = None,
) -> Array:
    """Compute the classes' shares of the votes of every sample's nearest neighbors, the sample left out.

    Parameters
    ----------
    neighbors : Neighbors, or array of shape (n_items, n_features)
        The neighbor orders, for example ``HVDM().fit(X, y).neighbors()``; rows of an array are compared by
        the Euclidean distance. Lists without distances get the distances 0, 1, 2, …. Of samples tied at the
        k-th place, the first ones in the data vote (``complete_cv(..., LeaveOut(1))`` averages over all
        orders).
    y : array of shape (n_items,)
        Class labels.
    n_neighbors : int, default 3
        k, 1 to n_items - 1.
    kernel, w_k, avgk
        As for `vote_weights`.
    n_jobs : int, optional
        Threads of the neighbor search. Default: all processors that this process may use.

    Returns
    -------
    float64 ndarray of shape (n_items, n_classes)
        Shares; every row sums to 1. Columns are in the order of the sorted labels.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or the weights depend on a distance that is negative or greater than
        1e300.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.rib import cvc_score, loo_votes
    >>> wine = load_wine()
    >>> votes = loo_votes(wine.X, wine.y, 5, "linear", w_k=0.2)
    >>> round(cvc_score(wine.y, votes), 4)
    0.7469
    """
    near = as_neighbors(neighbors, "euclidean", None)
    labels = encode_labels(y, near.n_items)
    weight = check_votes(kernel, w_k, avgk)
    k = check_integer("n_neighbors", n_neighbors, 1, near.max_depth)
    items, distances = near.kneighbors(k, n_jobs=n_jobs)
    if kernel != "majority":
        _check_distances(distances)
    lists = VoteLists.of(items, distances, labels.codes, labels.codes)
    return decide(lists, len(labels.classes), k, kernel, weight, bool(avgk))[0]
