"""Searches by the exact score: `select_features` chooses columns, `search_weights` weights of columns."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.formatting import Result
from .._base.parallel import check_pool, one_bar
from .._base.typing import Array
from .._base.validation import as_reals, check, check_choice, check_integer, check_real
from ..kernel import Variant
from ._scorer import ColumnScorer, as_table, column_problem

DIRECTIONS = ("forward", "backward")
EQUAL = 1e-11
"""Scores that differ by less, relative to the largest possible one, count as equal."""
GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False, repr=False)
class Searched(Result):
    """The scores of a search for columns or weights, base class of its results."""

    _json = "inner_score measure metric design average n_scored seconds"
    _note = (
        "inner_score is OPTIMISTIC, the choice was made for it; knnccv.sklearn.expected_score of a "
        "pipeline repeats the search in every training set"
    )

    scores: Array
    start_score: float | None
    measure: str
    metric: str
    design: str
    average: Any
    n_scored: int
    seconds: float

    @property
    def inner_score(self) -> float:
        """The exact score of the final choice on the samples of the search, which is optimistic."""
        last: Any = self.scores[-1] if len(self.scores) else self.start_score
        return float(last)


@dataclass(frozen=True, eq=False, repr=False)
class FeatureSelection(Searched):
    """Columns that a sequential search chose by the exact score.

    Attributes
    ----------
    columns : int64 ndarray of shape (n_chosen,)
        The chosen columns: in the order in which they were added (forward), or ascending (backward).
    order : int64 ndarray of shape (n_steps,)
        The column that every step added or removed.
    scores : float64 ndarray of shape (n_steps,)
        The exact inner score after every step.
    start_score : float or None
        The score of all columns, from which a backward search starts; None for a forward search.
    direction : str
        "forward" or "backward".
    n_features : int
        The number of columns of X.
    inner_score : float
        The exact score of `columns` on the samples of the search. It is **optimistic**: the columns were
        chosen for this score. Report `knnccv.sklearn.expected_score` of a pipeline with `FeatureSelector`.
    measure, metric, design, average
        The name of the score, and the arguments.
    n_scored : int
        The number of sets of columns that were scored.
    seconds : float
        Wall time of the search.

    Examples
    --------
    >>> from knnccv.selection import select_features
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = select_features(wine.X, wine.y, n_features=2)
    >>> len(found.columns), found.inner_score > 0.7
    (2, True)
    """

    _json = f"direction n_features columns order scores start_score {Searched._json}"

    columns: Array
    order: Array
    direction: str
    n_features: int


@dataclass(frozen=True, eq=False, repr=False)
class WeightSearch(Searched):
    """Weights of columns that a coordinate search chose by the exact score.

    Attributes
    ----------
    weights : float64 ndarray of shape (n_features,)
        The factor of every column.
    scores : float64 ndarray of shape (n_changes,)
        The exact inner score after every change of a weight.
    start_score : float
        The exact score with all weights 1.
    n_cycles : int
        Passes over all columns, including the last one, which changed nothing.
    converged : bool
        Whether the last pass changed nothing; False if `max_cycles` ended the search.
    inner_score, measure, metric, design, average, n_scored, seconds
        As in `FeatureSelection`.

    Examples
    --------
    >>> from knnccv.selection import search_weights
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = search_weights(wine.X[:, :3], wine.y, max_cycles=1)
    >>> found.inner_score >= found.start_score
    True
    """

    _json = f"weights scores start_score n_cycles converged {Searched._json}"

    weights: Array
    n_cycles: int
    converged: bool


def select_features(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    direction: str = "forward",
    n_features: int | float | str = "auto",
    min_gain: float = 1e-6,
    metric: str = "euclidean",
    average: Any = "pooled",
    n_jobs: int | None = None,
    progress: bool = False,
    **parameters: Any,
) -> FeatureSelection:
    """Choose columns, one at a time, by the exact complete cross-validation score.

    A forward search starts without columns and adds the one that gives the best score; a backward search
    starts with all and removes the one whose removal gives the best score. The score is the exact mean over
    all training sets, as `complete_cv` computes it: there are no random splits, so that the same data give
    the same columns, and a gain is never the luck of a split.

    **The score of the chosen columns is optimistic all the same**, since they were chosen for it. With many
    columns of noise it is near 1 where the truth is chance. The result therefore calls it `inner_score`.
    Report `knnccv.sklearn.expected_score` of a pipeline with `FeatureSelector`, which repeats the search
    within every training set.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
        Finite real numbers, at least 2 columns.
    y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
        Class labels of 2 classes or more; for "regression" real targets.
    variant : str, Variant or subclass of it, default "knn"
        The rule, as in `complete_cv`.
    cv : int or design, default 5
        As in `complete_cv`, except `LeaveGroupsOut`.
    direction : {"forward", "backward"}, default "forward"
    n_features : int, float or "auto", default "auto"
        The number of columns to choose, 1 to n_features, or their share, above 0 and at most 1 (rounded
        down, at least 1 column). "auto": as many as are worth `min_gain`.
    min_gain : float, default 1e-6
        For ``n_features="auto"``: what a column must be worth, in units of the score. A forward search
        stops when the best column gains less. A backward search stops when every removal would cost more.
    metric : {"euclidean", "sqeuclidean", "manhattan"}, default "euclidean"
        The metrics whose distances are (roots of) sums over the columns. Columns are not scaled.
    average : {"pooled", "item", "class"} or mapping, default "pooled"
        As in `complete_cv`.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    progress : bool, default False
        Show a counter of the finished tasks (needs tqdm). Their number is not known in advance.
    **parameters
        The variant's parameters, such as ``n_neighbors`` (default 5) and ``loss``.

    Returns
    -------
    FeatureSelection

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Notes
    -----
    Mullin & Sukthankar (ICML 2000, section 5) propose the exact score as the objective of searches, among
    them one for weights of features. That the score of the winner is optimistic: Hastie, Tibshirani &
    Friedman, The Elements of Statistical Learning, §7.10.2.

    Of equal scores (to 1e-11 of the largest possible score), the first column is added, and the last one
    removed. Tied samples count as in `complete_cv`: ``inner_score`` is
    ``complete_cv(X[:, columns], y, variant, cv, ...).score``, with the columns in this order.

    A step compares all pairs of samples for every candidate, O(n_items^2 n_features); a backward step takes
    up to n_features times longer. Distances are computed in blocks and never kept as a whole.

    Examples
    --------
    Three of wine's thirteen columns:

    >>> from knnccv.datasets import load_wine
    >>> from knnccv.selection import select_features
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> chosen = select_features(X, wine.y, n_features=3)
    >>> chosen.columns
    array([ 6,  9, 12])
    >>> chosen.scores.round(3)
    array([0.765, 0.925, 0.953])
    """
    started = time.perf_counter()
    check_choice("direction", direction, DIRECTIONS)
    check_pool(n_jobs, None, progress)
    worth = check_worth(min_gain)
    table = as_table(X, metric)
    problem = column_problem(y, table.shape[1], variant, cv, average, parameters)
    scorer = ColumnScorer(table, problem, metric, n_jobs)
    n_wanted = _number_of(n_features, len(table))
    search = _forward if direction == "forward" else _backward
    with one_bar(progress, known=False):
        columns, order, scores, start = search(scorer, n_wanted, worth)
    return FeatureSelection(
        scores=np.array(scores, dtype=float),
        start_score=start,
        measure=problem.measure,
        metric=metric,
        design=repr(problem.design),
        average=average,
        n_scored=scorer.n_scored,
        seconds=time.perf_counter() - started,
        columns=np.array(columns, dtype=np.int64),
        order=np.array(order, dtype=np.int64),
        direction=direction,
        n_features=len(table),
    )


def search_weights(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    grid: Sequence[float] = GRID,
    max_cycles: int = 20,
    min_gain: float = 1e-6,
    metric: str = "euclidean",
    average: Any = "pooled",
    n_jobs: int | None = None,
    progress: bool = False,
    **parameters: Any,
) -> WeightSearch:
    """Choose weights of columns, one at a time, by the exact complete cross-validation score.

    All weights start at 1. The search goes over the columns in their order, tries all weights of the grid
    for the column, and keeps the best one if it gains `min_gain`. It ends when a pass over all columns
    changes nothing. A weight multiplies its column, and so the differences in it; 0 leaves the column out.
    Nothing is random: the same data give the same weights.

    **The score of the chosen weights is optimistic**, since they were chosen for it. The result calls it
    `inner_score`. Report `knnccv.sklearn.expected_score` of a pipeline with `FeatureWeights`, which repeats
    the search within every training set.

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
    min_gain : float, default 1e-6
        The smallest gain for which a weight is changed, in units of the score.
    metric, average, n_jobs, progress
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
    worth = check_worth(min_gain)
    max_cycles = check_integer("max_cycles", max_cycles, 1)
    tried = _check_grid(grid)
    table = as_table(X, metric)
    problem = column_problem(y, table.shape[1], variant, cv, average, parameters)
    columns = (table[:, None, :] * tried[:, None] + 0.0).reshape(-1, table.shape[1])
    scorer = ColumnScorer(columns, problem, metric, n_jobs)
    with one_bar(progress, known=False):
        places, scores, start, n_cycles, converged = _descend(scorer, tried, len(table), max_cycles, worth)
    return WeightSearch(
        scores=np.array(scores, dtype=float),
        start_score=start,
        measure=problem.measure,
        metric=metric,
        design=repr(problem.design),
        average=average,
        n_scored=scorer.n_scored,
        seconds=time.perf_counter() - started,
        weights=tried[places],
        n_cycles=n_cycles,
        converged=converged,
    )


Steps = tuple[list[int], list[int], list[float], float | None]
"""The chosen columns, the column of every step, the score after it, and the score before the first."""


def _forward(scorer: ColumnScorer, n_wanted: int | None, worth: float) -> Steps:
    chosen: list[int] = []
    scores: list[float] = []
    left = list(range(len(scorer.columns)))
    while left and len(chosen) < (n_wanted or len(scorer.columns)):
        found = scorer.scores(chosen, [[c] for c in left])
        at = first_best(scorer, found)
        if n_wanted is None and scores and scorer.sign * (found[at] - scores[-1]) < worth:
            break
        chosen.append(left.pop(at))
        scores.append(float(found[at]))
    return chosen, chosen.copy(), scores, None


def _backward(scorer: ColumnScorer, n_wanted: int | None, worth: float) -> Steps:
    chosen = list(range(len(scorer.columns)))
    removed: list[int] = []
    scores: list[float] = []
    start = last = float(scorer.scores(chosen, [[]])[0])
    while len(chosen) > (n_wanted or 1):
        found = scorer.scores([], [[*chosen[:i], *chosen[i + 1 :]] for i in range(len(chosen))])
        at = len(found) - 1 - first_best(scorer, found[::-1])
        if n_wanted is None and scorer.sign * (last - found[at]) > worth:
            break
        removed.append(chosen.pop(at))
        last = float(found[at])
        scores.append(last)
    return chosen, removed, scores, start


def first_best(scorer: ColumnScorer, scores: Array) -> int:
    """The place of the first score that equals the best one."""
    gains = scorer.sign * scores
    return int(np.argmax(gains >= gains.max() - EQUAL * scorer.problem.largest))


def check_worth(min_gain: Any) -> float:
    """Return `min_gain` as a float; ValueError or TypeError unless it is finite and not negative."""
    value = check_real("min_gain", min_gain)
    check(value >= 0 and math.isfinite(value), f"min_gain must be finite and not negative, got {min_gain}")
    return value


def _number_of(n_features: Any, n_columns: int) -> int | None:
    """The number of columns to choose; None for "auto"."""
    if isinstance(n_features, str) and n_features == "auto":
        return None
    must = f"n_features must be 'auto', an integer from 1 to {n_columns}, or a share in (0, 1]"
    is_number = isinstance(n_features, (int, float, np.number)) and not isinstance(n_features, bool)
    check(is_number, must, n_features, TypeError)
    whole = isinstance(n_features, (int, np.integer))
    check(1 <= n_features <= n_columns if whole else 0 < n_features <= 1, f"{must}, got {n_features}")
    return int(n_features) if whole else max(int(float(n_features) * n_columns), 1)


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
    check(not isinstance(grid, (str, dict, set)), must, grid, TypeError)
    weights = as_reals("grid", grid, must)
    fits = weights.ndim == 1 and len(weights) > 1 and (weights >= 0).all() and (weights == 1).any()
    check(fits and len(np.unique(weights)) == len(weights), must, grid)
    return weights + 0.0
