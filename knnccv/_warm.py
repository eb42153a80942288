"""Compiling ahead of the first question."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._screened import screened_cv
from ._surface import surface
from .designs import KFold, StratifiedKFold
from .driver import complete_cv, score_rows
from .kernel import compile_kernel
from .montecarlo import monte_carlo_cv
from .neighbors import FEWEST_ITEMS, MOST_FEATURES, Neighbors
from .variants import get_variant

BUILT_IN = ("nn", "knn", "rank", "confidence", "regression")


def warm() -> None:
    """Compile everything that the built-in variants need, or load it from the cache, ahead of time.

    Once per installation this takes minutes, later some seconds; ``knnccv warm`` on the command line does
    the same. Without it, every question compiles what it needs when it is first asked.

    Examples
    --------
    >>> import knnccv
    >>> knnccv.warm()
    """
    X = np.arange(8.0)[:, None] ** 1.5
    tied = np.arange(12.0)[:, None] // 6  # and different labels among the tied
    labels = {2: np.arange(12) % 2, 3: np.arange(12) % 3}
    for name in BUILT_IN:
        rule = get_variant(name)
        parameters: dict[str, Any] = {"n_neighbors": 1} if "n_neighbors" in rule.parameters else {}
        both = ((rule.fixed, KFold(2)), (rule.stratified, StratifiedKFold(2)))
        designs = [cv for kernel, cv in both if kernel is not None]
        for cv in designs:
            for y in labels.values():  # two classes have a way of their own
                complete_cv(X, y[:8], rule, cv, **parameters)
            monte_carlo_cv(X, y[:8], rule, cv, n_repeats=1, **parameters)
        for kernel in rule.kernels():  # after the light ones, which nobody would ask any more
            compile_kernel(kernel, f"variant {name!r}")
        for cv in designs:
            complete_cv(tied, labels[2], rule, cv, **parameters)
        for y in labels.values():
            surface(tied, y, variant=rule, train_sizes=4)
    screened_cv(X, labels[2][:8], lambda *_: [0], KFold(2), n_repeats=1)
    _warm_engines()


def _warm_engines() -> None:
    """The searches for many items, in both precisions."""
    rng = np.random.default_rng(0)
    for precision in (np.float32, np.float64):
        for n_features in (1, MOST_FEATURES + 1):
            X = rng.integers(0, 9, (FEWEST_ITEMS, n_features)).astype(precision)
            Neighbors.from_data(X).kneighbors(5)


def kept_in() -> str:
    """The folder of the compiled driver; the kernels are kept alike, beside their sources."""
    stats = getattr(score_rows, "stats", None)  # there are none while NUMBA_DISABLE_JIT is set
    return getattr(stats, "cache_path", None) or "the memory of this process only"
