# mypy: allow-untyped-defs
"""Leave-one-out curves: `loo_curve` for all numbers of neighbors at once, and `loo_identity`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._labels import as_targets
from .._typing import Array
from .._validation import check_bool, check_choice
from ..driver import TIES, Jobs, deepen, usable_lengths
from ..kernel import jit
from ..neighbors import NeighborLists, Neighbors, as_neighbors, warn_label_leakage
from ._surface import listed_neighbors, surface

DEFAULT_MAX_K = 50
TOO_SHORT = 1e-9  # an error bound above this is not rounding


def _exact_neighbors(X: Any, metric: Any, metric_params: Mapping[str, Any] | None) -> Neighbors:
    near = as_neighbors(X, metric, metric_params)
    if near.approximate:
        msg = (
            f"leave-one-out curves need exact neighbors, but those of {near!r} are approximate; "
            "surface() and complete_cv() accept them, and mark the result"
        )
        raise ValueError(msg)
    return near


def _numbers(n_neighbors: Any, n_items: int) -> Array:
    if n_neighbors is None:
        return np.arange(1, min(DEFAULT_MAX_K, n_items - 1) + 1)
    return np.array(listed_neighbors(n_neighbors, n_items - 1))


def loo_curve(
    X: Any,
    y: Any,
    n_neighbors: Any = None,
    variant: str = "regression",
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Leave-one-out score for many K, from one set of neighbor lists.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        As for `complete_cv`.
    y : array of shape (n_items,) or (n_items, n_outputs)
        Real targets; for "knn" class labels.
    n_neighbors : int or sequence of int, default 1, 2, ..., 50
        Values of K between 1 and n_items - 1. The default stops at n_items - 1 if that is less than 50.
    variant : {"regression", "knn"}, default "regression"
        Mean squared error (summed over the outputs) of k-NN regression, or accuracy of the vote.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        Tied samples: the mean over all their orders, or the order of the data.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_k,)
        Equal to ``complete_cv(X, y, variant, LeaveOut(1), n_neighbors=K).score``.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed, or given neighbor lists are too short or approximate.

    Notes
    -----
    Every sample is left out by its index, so that duplicates do not matter. They do matter in the identity
    of Kanagawa 2024, §5 (`loo_identity`). O(n_items * K) for all K, in addition to the neighbor lists.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_diabetes
    >>> diabetes = load_diabetes()
    >>> curve = knnccv.loo_curve(diabetes.X, diabetes.y, [1, 5, 20])
    >>> curve.shape
    (3,)
    """
    check_choice("variant", variant, ("regression", "knn"))
    near = _exact_neighbors(X, metric, metric_params)
    if ties is not None:
        check_choice("ties", ties, TIES)
    ks = _numbers(n_neighbors, near.n_items)
    if variant == "knn":
        options: dict[str, Any] = {"ties": ties, "tol": 0.0, "n_jobs": n_jobs}
        found = surface(near, y, ks, near.n_items - 1, "knn", **options)
        if (found.error_bound > TOO_SHORT).any():
            msg = f"{ks.max()} neighbors are needed, and all that tie with the last; some list is too short"
            raise ValueError(msg)
        return found.scores[:, 0]
    warn_label_leakage(near, near.n_items - 1)
    average_ties = ties != "index"
    targets, _ = as_targets(y, near.n_items)
    max_k = int(ks.max())
    errors = np.empty((near.n_items, max_k))

    def take(block: Array, depth: int, found: tuple[Array], is_short: Array) -> None:
        (errors[block],) = found
        if depth == near.max_depth and is_short.any():
            at = int(block[np.argmax(is_short)])
            tied = ", and all that tie with the last" if average_ties else ""
            msg = f"{max_k} neighbors are needed{tied}; the list of sample {at} is too short"
            raise ValueError(msg)

    work = _LeftOut(near, targets, max_k, average_ties)
    depth = min(max_k + average_ties, near.max_depth)
    deepen(work, np.arange(near.n_items), depth, take, Jobs(n_jobs))
    curve: Array = errors.mean(axis=0)[ks - 1]
    return curve


@dataclass(frozen=True)
class _LeftOut:
    """The squared errors of samples that are left out, for 1 to `max_k` neighbors."""

    neighbors: Neighbors
    targets: Array
    max_k: int
    average_ties: bool

    def compile(self) -> None:
        """Do nothing: functions are compiled when they are called."""

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array], Array]:
        """The errors of the rows, and the rows whose lists are too short."""
        known = usable_lengths(lists, self.neighbors, self.average_ties)
        out = np.full((len(rows), self.max_k), np.nan)
        _errors_left_out(lists.items, lists.values, known, rows, self.targets, self.average_ties, out)
        return (out,), known < self.max_k


@jit
def _errors_left_out(items, values, lengths, rows, targets, average_ties, out):
    """``out[r, K - 1]`` = squared error of the mean target of the K nearest, for all K; O(depth * outputs).

    Within a tied group of b samples the last h of the K are a uniform subset: it holds a given sample with
    probability h / b, and two given samples with probability h (h - 1) / (b (b - 1)).
    """
    n_outputs = targets.shape[1]
    nearer = np.empty(n_outputs)
    group = np.empty(n_outputs)
    max_k = out.shape[1]
    for r in range(len(rows)):
        nearer[:] = 0.0
        start = 0
        while start < min(lengths[r], max_k):
            end = start + 1
            while average_ties and end < lengths[r] and values[r, end] == values[r, start]:
                end += 1
            size = end - start
            group[:] = 0.0
            squares = 0.0
            for i in range(start, end):
                for output in range(n_outputs):
                    gap = targets[items[r, i], output] - targets[rows[r], output]
                    group[output] += gap
                    squares += gap * gap
            before = 0.0
            across = 0.0
            within = -squares
            for output in range(n_outputs):
                before += nearer[output] * nearer[output]
                across += nearer[output] * group[output]
                within += group[output] * group[output]
            for h in range(1, min(size, max_k - start) + 1):
                one = h / size
                two = h * (h - 1) / (size * (size - 1)) if size > 1 else 0.0
                k = start + h
                out[r, k - 1] = (before + 2 * one * across + one * squares + two * within) / (k * k)
            for output in range(n_outputs):
                nearer[output] += group[output]
            start = end


def loo_identity(
    X: Any,
    y: Any,
    n_neighbors: Any = None,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    check: bool = True,
) -> Array:
    """Kanagawa's leave-one-out error of k-NN regression, from the training error of k + 1 neighbors.

    LOOCV(k) = ((k + 1) / k)^2 times the mean squared error, on the training data, of the mean target of the
    k + 1 nearest samples, where each sample is its own nearest neighbor. This holds if no two samples
    coincide; `loo_curve` is always correct.

    Parameters
    ----------
    X, y, n_neighbors, metric, metric_params, n_jobs
        As for `loo_curve`. X must hold data or distances. Samples at distance 0 are taken in the order of
        the data.
    check : bool, default True
        Raise if the condition does not hold. With False the formula is computed in any case.

    Returns
    -------
    ndarray of shape (n_k,)

    Raises
    ------
    ValueError
        If two samples are at distance 0 of each other.

    Notes
    -----
    Kanagawa 2024, "Fast Computation of Leave-One-Out Cross-Validation for k-NN Regression", Corollary 1
    and §5.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv import loo_curve, loo_identity
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    >>> identity = loo_identity(X, y, [1, 5])
    >>> bool(np.allclose(identity, loo_curve(X, y, [1, 5])))
    True
    """
    check_bool("check", check)
    near = _exact_neighbors(X, metric, metric_params)
    targets, _ = as_targets(y, near.n_items)
    ks = _numbers(n_neighbors, near.n_items)
    max_k = int(ks.max())
    if not near.measured:
        msg = f"the identity needs distances, but {near!r} holds none"
        raise ValueError(msg)
    # If samples coincide, k + 1 others may precede the sample itself.
    depth = max_k if check else min(max_k + 1, near.n_items - 1)
    found, distances = near.kneighbors(depth, n_jobs=n_jobs)
    coincident = distances[:, 0] == 0
    if check and coincident.any():
        msg = (
            f"{int(coincident.sum())} samples coincide with another one, the first of them sample "
            f"{int(np.argmax(coincident))}: the identity does not hold (loo_curve does); check=False "
            "computes it"
        )
        raise ValueError(msg)
    # If samples coincide, those with a smaller index precede the sample itself.
    itself = np.arange(near.n_items)[:, None]
    order = np.concatenate([itself, found], axis=1)
    gaps = np.concatenate([np.zeros_like(distances[:, :1]), distances], axis=1)
    order = np.take_along_axis(order, np.lexsort((order, gaps), axis=1), axis=1)
    sums = np.cumsum(targets[order[:, : max_k + 1]], axis=1)[:, 1:]
    sizes = np.arange(2, max_k + 2)[:, None]
    errors = ((sums / sizes - targets[:, None]) ** 2).sum(axis=2).mean(axis=0)
    curve: Array = (((ks + 1) / ks) ** 2) * errors[ks - 1]
    return curve
