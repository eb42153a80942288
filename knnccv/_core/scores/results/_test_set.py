"""The argument `test`: a test set, whose neighbors are all in a pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...._base.validation import in_columns_of
from ....neighbors import Between, Neighbors, as_neighbors, neighbors_in_pool, warn_of_signs
from ...driver import Pool


def with_test_set(
    X: Any, y: Any, test: Any, metric: Any, metric_params: Mapping[str, Any] | None
) -> tuple[Neighbors, Any, Pool | None]:
    """The neighbors that the samples of the test set have in the pool X, their labels, and the pool's.

    Without a test set those of X among themselves, their labels, and None.

    Raises
    ------
    ValueError, TypeError
        If `test` is no pair (X_test, y_test), or no labels where X holds distances; or if the data do not
        fit together.
    """
    if test is None:
        return as_neighbors(X, metric, metric_params), y, None
    queries, tested = _split(test, X, metric)
    neighbors, n_pool = neighbors_in_pool(X, queries, metric, metric_params)
    if queries is not None:
        warn_of_signs(metric, X, queries, stacklevel=4)
    return neighbors, tested, Pool(y, n_pool)


def _split(test: Any, X: Any, metric: Any) -> tuple[Any, Any]:
    """The features and the labels of the samples tested; no features if X holds distances to the pool."""
    if isinstance(X, Between) or (isinstance(metric, str) and metric == "precomputed"):
        if isinstance(test, tuple) and len(test) == 2 and np.ndim(test[0]):
            msg = "test must hold the labels of the test set alone, as X has its distances; got a pair"
            raise TypeError(msg)
        return None, test
    if not isinstance(test, tuple) or len(test) != 2:
        msg = (
            f"test must be a pair (X_test, y_test), got {type(test).__name__}; only with distances or "
            "Neighbors.between in place of X it holds the labels alone"
        )
        raise TypeError(msg)
    return in_columns_of(X, test[0]), test[1]
