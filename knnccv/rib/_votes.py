# mypy: allow-untyped-defs
"""CVC and LCV of votes, and the distance-weighted votes of near neighbors.

Wilson & Martinez 1999, eqs. (1), (2) and (7) to (11). Only the ratios of a list's weights matter. Where all
weights vanish (w_k = 0), they are replaced by the limit of their ratios, so a confidence is never 0 / 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._base.labels import encode_labels
from .._base.typing import Array
from .._base.validation import as_reals, check, check_bool, check_choice, check_integer, check_real
from ..kernel import jit
from ..neighbors import as_neighbors

VOTE_WEIGHTINGS = ("majority", "linear", "gaussian", "exponential")
MAJORITY, LINEAR, GAUSSIAN, EXPONENTIAL = range(4)

EQUAL = 1e-12
"""Votes are tied if they differ by at most this share of the largest."""

LARGEST = 1e300
"""The largest allowed distance: sums of distances must not overflow."""


@dataclass(frozen=True)
class Setting:
    """The parameters of the votes; w_k and avgk are None for majority votes."""

    n_neighbors: int
    kernel: str
    w_k: float | None
    avgk: bool | None


class Fitness(NamedTuple):
    """Leave-one-out results of votes: the number of correct samples and the mean confidence."""

    n_correct: int
    confidence: float
    n_items: int

    @property
    def lcv(self) -> float:
        """Share of correct samples."""
        return self.n_correct / self.n_items

    @property
    def cvc(self) -> float:
        """Eq. (2): (n_correct + confidence) / (n_items + 1)."""
        return (self.n_correct + self.confidence) / (self.n_items + 1)


class VoteLists(NamedTuple):
    """Neighbor lists with the classes of the neighbors.

    Attributes
    ----------
    distances : float64 ndarray of shape (n_items, depth)
        Ascending.
    local_codes : int32 ndarray of shape (n_items, depth)
        The neighbors' classes, numbered by their first occurrence in the list.
    classes : int32 ndarray of shape (n_items, depth)
        The class of every such number; undefined beyond the classes that occur.
    own_class : int32 ndarray of shape (n_items,)
        The number of the sample's class; -1 if it does not occur in the list.
    """

    distances: Array
    local_codes: Array
    classes: Array
    own_class: Array

    @classmethod
    def of(cls, items: Array, distances: Array, codes: Array, own_codes: Array | None = None) -> VoteLists:
        """Create them from neighbors (n_rows, depth), the classes of all samples, and those of the rows."""
        local_codes = np.empty(items.shape, np.int32)
        classes = np.zeros(items.shape, np.int32)
        own_class = np.full(len(items), -1, np.int32)
        known = own_class.astype(np.int64) if own_codes is None else own_codes
        _number_classes(items, codes, known, local_codes, classes, own_class)
        return cls(np.ascontiguousarray(distances), local_codes, classes, own_class)

    def part(self, start: int, end: int) -> VoteLists:
        """Return the lists of some rows."""
        return VoteLists(*(array[start:end] for array in self))


@jit
def _number_classes(items, codes, known, local_codes, classes, own_class):
    for r in range(len(items)):
        n_local = 0
        for j in range(items.shape[1]):
            code = codes[items[r, j]]
            local = 0
            while local < n_local and classes[r, local] != code:
                local += 1
            if local == n_local:
                classes[r, n_local] = code
                n_local += 1
                if code == known[r]:
                    own_class[r] = local
            local_codes[r, j] = local


def check_votes(kernel: Any, w_k: Any, avgk: Any) -> float | None:
    """Check the parameters of the weights, and return w_k as a float or None.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not allowed, alone or together with the others.
    """
    check_choice("kernel", kernel, VOTE_WEIGHTINGS)
    check_bool("avgk", avgk)
    if kernel == "majority":
        msg = f"kernel 'majority' has neither w_k nor avgk, got w_k={w_k!r}, avgk={avgk!r}"
        check(w_k is None and not avgk, msg)
        return None
    must = f"w_k of kernel {kernel!r} must be between 0 and 1"
    check(w_k is not None and 0 <= check_real("w_k", w_k) <= 1, must, w_k)
    return float(w_k)


@jit
def scale_of(distances, k, avgk):
    """Return the distance at which the weight is w_k: D_k, or D'_k of eq. (11)."""
    if not avgk:
        return distances[k - 1]
    total = 0.0
    for j in range(k):
        total += distances[j]
    return 2 * total / (k + 1)


@jit
def weigh(distances, k, kernel, w_k, avgk, out):
    """Set ``out[:k]`` to the weights of eqs. (7) to (10), or to their limit for small w_k if all vanish."""
    scale = scale_of(distances, k, avgk)
    if kernel == MAJORITY or scale == 0:
        out[:k] = 1.0
        return
    for j in range(k):
        ratio = distances[j] / scale
        if kernel == LINEAR:
            # Not 1 - ratio, which cancels for distances that are nearly equal. Weights of distances beyond
            # D'_k are not negative.
            out[j] = max(w_k + (1 - w_k) * ((scale - distances[j]) / scale), 0.0)
        elif w_k == 0:
            out[j] = 1.0 if distances[j] == 0 else 0.0
        else:
            out[j] = w_k ** (ratio * ratio if kernel == GAUSSIAN else ratio)
    total = 0.0
    for j in range(k):
        total += out[j]
    if total == 0:
        for j in range(k):
            out[j] = 1.0 if kernel == LINEAR or distances[j] == distances[0] else 0.0


@jit
def winner(votes, n_local, classes, distances, local_codes, nearest_first):
    """Return the local number of the class with most votes; the nearest tied one, then the smallest label.

    ``votes`` (n_local,); local numbers ascend with the distance of the class's nearest neighbor.
    """
    most = 0.0
    for local in range(n_local):
        most = max(most, votes[local])
    least = most - EQUAL * most
    best = -1
    near = 0.0
    for local in range(n_local):
        if votes[local] < least:
            continue
        if best < 0:
            best = local
            if nearest_first:
                near = distances[_first(local_codes, local)]
            continue
        tied = not nearest_first or distances[_first(local_codes, local)] == near
        if tied and classes[local] < classes[best]:
            best = local
    return best


@jit
def _first(local_codes, local):
    j = 0
    while local_codes[j] != local:
        j += 1
    return j


@jit
def _decide(lists, k, kernel, w_k, avgk, nearest_first, shares, chosen):
    """Set ``shares[r, class]`` to the shares of the votes and ``chosen[r]`` to the winning class."""
    weights = np.empty(k)
    votes = np.empty(k)
    for r in range(len(lists.distances)):
        distances, local_codes, classes = lists.distances[r], lists.local_codes[r], lists.classes[r]
        weigh(distances, k, kernel, w_k, avgk, weights)
        votes[:] = 0.0
        n_local = 0
        total = 0.0
        for j in range(k):
            votes[local_codes[j]] += weights[j]
            n_local = max(n_local, local_codes[j] + 1)
            total += weights[j]
        for local in range(n_local):
            shares[r, classes[local]] = votes[local] / total
        chosen[r] = classes[winner(votes, n_local, classes, distances, local_codes, nearest_first)]


def decide(
    lists: VoteLists, n_classes: int, setting: Setting, nearest_first: bool = True
) -> tuple[Array, Array]:
    """Return the classes' shares of the votes (n_rows, n_classes), and the chosen classes (n_rows,)."""
    shares = np.zeros((len(lists.distances), n_classes))
    chosen = np.empty(len(lists.distances), np.int64)
    weight = 1.0 if setting.w_k is None else float(setting.w_k)
    kernel, avgk = VOTE_WEIGHTINGS.index(setting.kernel), bool(setting.avgk)
    _decide(lists, setting.n_neighbors, kernel, weight, avgk, nearest_first, shares, chosen)
    return shares, chosen


@jit
def _weights(distances, kernel, w_k, avgk, out):
    for r in range(len(distances)):
        weigh(distances[r], distances.shape[1], kernel, w_k, avgk, out[r])


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
    return _left_out(y_true, votes).cvc


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
    return _left_out(y_true, votes).lcv


def _left_out(y_true: Any, votes: Any) -> Fitness:
    given = as_reals("votes", votes, "votes must hold real numbers, (n_items, n_classes)")
    labels = encode_labels(y_true)
    n_items, n_classes = len(labels.codes), len(labels.classes)
    msg = (
        f"votes must have shape ({n_items}, {n_classes}), a row for every sample and a column for "
        f"every label of y_true, got shape {given.shape}"
    )
    check(given.shape == (n_items, n_classes) and n_items, msg)
    if (given < 0).any():
        row, column = (int(at) for at in np.argwhere(given < 0)[0])
        msg = f"votes[{row}, {column}] is {given[row, column]}; votes must be at least 0"
        raise ValueError(msg)
    largest = given.max(axis=1, keepdims=True)
    # Scale every row first, so that no sum overflows; a row without votes has equal votes.
    sized = np.where(largest > 0, given / np.where(largest > 0, largest, 1), 1.0)
    chosen = (sized >= 1 - EQUAL).argmax(axis=1)
    confidence = sized[np.arange(n_items), labels.codes] / sized.sum(axis=1)
    return Fitness(int((chosen == labels.codes).sum()), float(confidence.mean()), n_items)


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
    msg = f"distances must have shape (n_rows, k), got shape {given.shape}"
    check(given.ndim == 2 and given.shape[1] >= 1, msg)
    check(not (np.diff(given, axis=1) < 0).any(), "distances must ascend in every row")
    _check_distances(given)
    weight = check_votes(kernel, w_k, avgk)
    out = np.empty(given.shape)
    _weights(given, VOTE_WEIGHTINGS.index(kernel), 1.0 if weight is None else weight, bool(avgk), out)
    return out


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
    return decide(lists, len(labels.classes), Setting(k, kernel, weight, avgk))[0]
