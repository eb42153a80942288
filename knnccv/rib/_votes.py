"""Distance-weighted votes of near neighbors: their weights, the winning class, and the classes' shares.

Wilson & Martinez 1999, eqs. (7) to (11). Only the ratios of a list's weights matter. Where all weights
vanish (w_k = 0), they are replaced by the limit of their ratios, so a confidence is never 0 / 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .._validation import check_bool, check_choice, check_real
from ..kernel import jit

VOTE_WEIGHTINGS = ("majority", "linear", "gaussian", "exponential")
MAJORITY, LINEAR, GAUSSIAN, EXPONENTIAL = range(4)

EQUAL = 1e-12
"""Votes are tied if they differ by at most this share of the largest."""


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
        if w_k is not None or avgk:
            msg = f"kernel 'majority' has neither w_k nor avgk, got w_k={w_k!r}, avgk={avgk!r}"
            raise ValueError(msg)
        return None
    if w_k is None or not 0 <= check_real("w_k", w_k) <= 1:
        msg = f"w_k of kernel {kernel!r} must be between 0 and 1, got {w_k!r}"
        raise ValueError(msg)
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
    lists: VoteLists,
    n_classes: int,
    k: int,
    kernel: str,
    w_k: float | None,
    avgk: bool,
    nearest_first: bool = True,
) -> tuple[Array, Array]:
    """Return the classes' shares of the votes (n_rows, n_classes), and the chosen classes (n_rows,)."""
    shares = np.zeros((len(lists.distances), n_classes))
    chosen = np.empty(len(lists.distances), np.int64)
    weight = 1.0 if w_k is None else float(w_k)
    number = VOTE_WEIGHTINGS.index(kernel)
    _decide(lists, k, number, weight, avgk, nearest_first, shares, chosen)
    return shares, chosen


@jit
def _weights(distances, k, kernel, w_k, avgk, out):
    for r in range(len(distances)):
        weigh(distances[r], k, kernel, w_k, avgk, out[r])


def neighbor_weights(distances: Array, k: int, kernel: str, w_k: float | None, avgk: bool) -> Array:
    """Return the weights of the k nearest neighbors, shape (n_rows, k)."""
    out = np.empty((len(distances), k))
    weight = 1.0 if w_k is None else float(w_k)
    _weights(np.ascontiguousarray(distances), k, VOTE_WEIGHTINGS.index(kernel), weight, avgk, out)
    return out
