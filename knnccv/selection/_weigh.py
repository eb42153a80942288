"""`search_weights`, a coordinate search of weights of columns by the exact score."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .._parallel import check_pool, one_bar
from .._typing import Array
from .._validation import as_reals, check_integer
from ..kernel import Variant
from ..neighbors import check_features
from ._honest import ByColumns, Reruns, WeightSearch, check_served
from ._scorer import ColumnScorer, as_table
from ._select import check_worth, first_best

GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


def search_weights(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    grid: Sequence[float] = GRID,
    max_cycles: int = 20,
    tol: float = 1e-6,
    metric: str = "euclidean",
    average: Any = "pooled",
    nested: int = 0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    **parameters: Any,
) -> WeightSearch:
    """Choose weights of columns, one at a time, by the exact complete cross-validation score.

    All weights start at 1. The search goes over the columns in their order, tries all weights of the grid
    for the column, and keeps the best one if it gains `tol`. It ends when a pass over all columns changes
    nothing. A weight multiplies its column, and so the differences in it; 0 leaves the column out. Nothing
    is random: the same data give the same weights.

    **The score of the chosen weights is optimistic**, since they were chosen for it. The result calls it
    `inner_score`. Report `honest_score`, which repeats the search within every training set.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        Finite real numbers, at least 2 columns. Columns of very different scales should be standardized
        before, since the grid is narrow.
    y, variant, cv
        As in `select_features`.
    grid : sequence of float, default (0, 0.25, 0.5, 1, 2, 4)
        The weights to try, not negative, all different, with 1 among them.
    max_cycles : int, default 20
        The largest number of passes over the columns.
    tol : float, default 1e-6
        The smallest gain for which a weight is changed, in units of the score.
    metric, average, nested, random_state, n_jobs, progress
        As in `select_features`.
    **parameters
        The variant's parameters, such as ``n_neighbors`` (default 5).

    Returns
    -------
    WeightSearch

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Notes
    -----
    Mullin & Sukthankar (ICML 2000, section 5; technical report, section 4) propose the exact score as the
    objective of feature weighting, by gradient descent. For votes it is constant between jumps as a
    function of the weights, so that this search goes over a grid.

    ``inner_score`` is ``complete_cv(X * weights, y, variant, cv, ...).score``. Of equal scores (to 1e-11 of
    the largest possible score) the current weight is kept, and otherwise the first of the grid taken.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.selection import search_weights
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.column_stack([y + 0.3 * rng.normal(size=40), rng.normal(size=40)])
    >>> found = search_weights(X, y, n_neighbors=3)
    >>> bool(found.weights[0] > found.weights[1])
    True
    """
    started = time.perf_counter()
    check_pool(n_jobs, None, progress)
    worth = check_worth(tol)
    nested = check_integer("nested", nested, 0)
    max_cycles = check_integer("max_cycles", max_cycles, 1)
    tried = _check_grid(grid)
    table = as_table(X, metric)
    columns = (table[:, None, :] * tried[:, None] + 0.0).reshape(-1, table.shape[1])
    scorer = ColumnScorer(columns, y, variant, cv, metric, average, parameters, n_jobs)
    if nested:
        check_served(scorer.problem)
    with one_bar(progress, known=False):
        places, scores, start, n_cycles, converged = _descend(scorer, tried, len(table), max_cycles, worth)
    data = check_features(X).copy()  # the caller may change the original
    options: dict[str, Any] = {
        "grid": tried,
        "max_cycles": max_cycles,
        "tol": worth,
        "metric": metric,
        "average": average,
        **copy.deepcopy(parameters),  # the caller may change the original
    }

    search_again = ByColumns(partial(_weights_from, variant=variant, cv=cv, n_jobs=1, **options))
    result = WeightSearch(
        inner_score=scores[-1] if scores else start,
        measure=scorer.problem.measure,
        metric=metric,
        design=repr(scorer.problem.design),
        average=average,
        n_scored=scorer.n_scored,
        seconds=time.perf_counter() - started,
        nested=None,
        _runs=Reruns(search_again, data, scorer.problem, cv, metric, n_jobs),
        weights=tried[places],
        scores=np.array(scores, dtype=float),
        start_score=start,
        n_cycles=n_cycles,
        converged=converged,
    )
    if nested:
        result.honest(n_repeats=nested, random_state=random_state, progress=progress)
    return result


def _weights_from(X: Array, y: Array, **options: Any) -> Array:
    return search_weights(X, y, **options).weights


def _descend(
    scorer: ColumnScorer, grid: Array, n_features: int, max_cycles: int, worth: float
) -> tuple[list[int], list[float], float, int, bool]:
    """The place of every weight in the grid, the score after every change and before, cycles, convergence.

    Column c with the weight ``grid[i]`` is column ``c * len(grid) + i`` of the scorer.
    """
    size = len(grid)
    places = [int(np.flatnonzero(grid == 1)[0])] * n_features
    numbers = [c * size + at for c, at in enumerate(places)]
    start = last = float(scorer.scores(numbers, [[]])[0])
    scores: list[float] = []
    for cycle in range(1, max_cycles + 1):
        changed = False
        for c in range(n_features):
            alone = not any(grid[at] for other, at in enumerate(places) if other != c)
            others = [i for i in range(size) if i != places[c] and not (alone and grid[i] == 0)]
            if not others:
                continue
            found = scorer.scores(numbers[:c], [[c * size + i, *numbers[c + 1 :]] for i in others])
            best = first_best(scorer, found)
            gain = scorer.sign * (found[best] - last)
            if gain > 0 and gain >= worth:
                places[c] = others[best]
                numbers[c] = c * size + places[c]
                last = float(found[best])
                scores.append(last)
                changed = True
        if not changed:
            return places, scores, start, cycle, True
    return places, scores, start, max_cycles, False


def _check_grid(grid: Any) -> Array:
    must = "grid must be a sequence of at least 2 weights, not negative, all different, with 1 among them"
    if isinstance(grid, (str, dict, set)):
        msg = f"{must}, got {grid!r}"
        raise TypeError(msg)
    weights = as_reals("grid", grid, must)
    fits = weights.ndim == 1 and len(weights) > 1 and (weights >= 0).all() and (weights == 1).any()
    if not fits or len(np.unique(weights)) < len(weights):
        msg = f"{must}, got {grid!r}"
        raise ValueError(msg)
    return weights + 0.0
