"""Kanagawa's identity of leave-one-out errors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import Array
from ..neighbors import Neighbors


def loo_identity(X: Array, y: Array, n_neighbors: int | Iterable[int], *, check: bool = True) -> Array:
    """Leave-one-out errors of k-NN regression, shape (n_k,), from training errors of k + 1 neighbors.

    LOOCV(k) = ((k + 1) / k)^2 times the mean squared error, on the training data, of the mean target of the
    k + 1 nearest samples, where each sample is its own nearest neighbor: Kanagawa 2024, "Fast Computation
    of Leave-One-Out Cross-Validation for k-NN Regression", Corollary 1 and section 5. This holds if no two
    samples coincide.

    With `check` a ValueError is raised where the condition does not hold; otherwise the formula is computed
    in any case. Samples at distance 0 are taken in the order of the data.
    """
    ks = np.atleast_1d(np.array(n_neighbors if isinstance(n_neighbors, int) else [*n_neighbors]))
    max_k, n_items = int(ks.max()), len(X)
    # If samples coincide, k + 1 others may precede the sample itself.
    depth = max_k if check else min(max_k + 1, n_items - 1)
    found, distances = Neighbors.from_data(X).kneighbors(depth)
    coincident = distances[:, 0] == 0
    if check and coincident.any():
        msg = (
            f"{int(coincident.sum())} samples coincide with another one, the first of them sample "
            f"{int(np.argmax(coincident))}: the identity does not hold; check=False computes it"
        )
        raise ValueError(msg)
    # If samples coincide, those with a smaller index precede the sample itself.
    order = np.concatenate([np.arange(n_items)[:, None], found], axis=1)
    gaps = np.concatenate([np.zeros_like(distances[:, :1]), distances], axis=1)
    order = np.take_along_axis(order, np.lexsort((order, gaps), axis=1), axis=1)
    means = np.cumsum(y[order[:, : max_k + 1]], axis=1)[:, 1:] / np.arange(2, max_k + 2)
    errors = ((means - y[:, None]) ** 2).mean(axis=0)
    curve: Array = (((ks + 1) / ks) ** 2) * errors[ks - 1]
    return curve
