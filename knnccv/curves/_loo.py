"""Leave-one-out curves, which are surfaces of one training size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kernel import Variant
from ..neighbors import as_neighbors
from ._surface import surface
from ._surface_result import Surface

DEFAULT_MAX_K = 50


def loo_curve(
    X: Any,
    y: Any,
    n_neighbors: Any = None,
    variant: str | Variant | type[Variant] = "regression",
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    n_jobs: int | None = None,
) -> Surface:
    """Leave-one-out scores for many K: the surface of the training size n_items - 1.

    Parameters
    ----------
    X, y, metric, metric_params, ties, n_jobs
        As for `surface`.
    n_neighbors : int or sequence of int, default 1, 2, ..., 50
        Values of K between 1 and n_items - 1. The default stops at n_items - 1 if that is less than 50.
    variant : str, Variant or subclass of it, default "regression"
        A rule with a number of neighbors.

    Returns
    -------
    Surface
        ``scores`` has the shape (n_k, 1). They are ``complete_cv(X, y, variant, LeaveOut(1),
        n_neighbors=K).score``, to within the bounds.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    See Also
    --------
    surface : Other training sizes.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_diabetes
    >>> diabetes = load_diabetes()
    >>> curve = knnccv.loo_curve(diabetes.X, diabetes.y, [1, 5, 20])
    >>> curve.scores.round().tolist(), curve.best(441).n_neighbors
    ([[7087.0], [4576.0], [4144.0]], 20)
    """
    near = as_neighbors(X, metric, metric_params)
    most = near.n_items - 1
    ks = range(1, min(DEFAULT_MAX_K, most) + 1) if n_neighbors is None else n_neighbors
    return surface(near, y, ks, most, variant, ties=ties, n_jobs=n_jobs)
