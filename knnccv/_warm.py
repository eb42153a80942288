"""Compiling ahead of the first question."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._screened import screened_cv
from ._surface import surface
from .designs import KFold, StratifiedKFold
from .driver import complete_cv
from .montecarlo import monte_carlo_cv
from .variants import get_variant

BUILT_IN = ("nn", "knn", "rank", "confidence", "regression")


def warm() -> None:
    """Compile everything that the built-in variants need, or load it from the cache, ahead of time.

    Examples
    --------
    >>> import knnccv
    >>> knnccv.warm()
    """
    X = np.arange(8.0)[:, None]
    y = np.array([0, 1] * 4)
    for name in BUILT_IN:
        rule = get_variant(name)
        parameters: dict[str, Any] = {"n_neighbors": 1} if "n_neighbors" in rule.parameters else {}
        for kernel, cv in ((rule.fixed, KFold(2)), (rule.stratified, StratifiedKFold(2))):
            if kernel is None:
                continue
            complete_cv(X, y, rule, cv, **parameters)
            monte_carlo_cv(X, y, rule, cv, n_repeats=1, **parameters)
        surface(X, y, variant=rule, train_sizes=4)
    screened_cv(X, y, lambda *_: [0], KFold(2), n_repeats=1)
