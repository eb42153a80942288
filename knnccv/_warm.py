"""Compiling ahead of the first question."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._surface import surface
from .designs import KFold, StratifiedKFold
from .driver import complete_cv
from .montecarlo import monte_carlo_cv


def warm() -> None:
    """Compile everything that the built-in variants need, or load it from the cache, ahead of time.

    Examples
    --------
    >>> import knnccv
    >>> knnccv.warm()
    """
    X = np.arange(8.0)[:, None]
    y = np.array([0, 1] * 4)
    for name in ("nn", "knn", "rank"):
        parameters: dict[str, Any] = {"n_neighbors": 1} if name == "knn" else {}
        for cv in (KFold(2), StratifiedKFold(2)):
            complete_cv(X, y, name, cv, **parameters)
            monte_carlo_cv(X, y, name, cv, n_repeats=1, **parameters)
        surface(X, y, variant=name, train_sizes=4)
