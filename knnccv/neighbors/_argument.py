"""Neighbors from the argument `X` of public functions."""

from __future__ import annotations

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
