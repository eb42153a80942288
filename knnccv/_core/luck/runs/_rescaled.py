# mypy: allow-untyped-defs
"""Nearest training samples in runs whose columns are scaled within the folds, by certified re-ranking.

How to call it, for a pipeline that ends with a nearest-neighbor rule:

    scaling = scaling_of(steps, X)             # of the steps before the rule; None: run scikit-learn itself
    search = RescaledSearch(scaling, p)        # p of the Minkowski distance: 2 Euclidean, 1 Manhattan
    items, distances = search.nearest(folds, n_neighbors)               # for every block of runs

A search keeps its lists for further blocks of runs. Its answers depend on the runs alone, not on how they
are cut into blocks, nor on threads.

A training set changes only the weights of the columns. The samples are listed once by their distance D
under the weights that are fitted to all samples. If the weights under a training set are at least `least`
times these, no sample beyond a place of the list is nearer than `least` times D of that place. So a walk
along the list measures training samples until the K-th nearest is nearer than that bound. Where a list
ends before, all samples are measured; if that happens often, the lists are made longer.

Up to 64 runs are walked at once: the differences of two samples are the same in all runs, so their
distances are a product of the weights (columns, runs) with one vector.

Rounding: a sample that is not measured is ruled out only if its bound exceeds the K-th distance by more
than the rounding of the table that was listed, which is relative to its largest entries, and of all sums.
Equal distances are ordered by sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.parallel import for_each
from ...._base.typing import Array
from ...._base.validation import check_integer, check_real
from ....kernel import inner, jit
from ....neighbors import Neighbors, offer, place_of_largest, sort_row
from ._planes import NEITHER, train_sizes
from ._scalers import EPS, ColumnScaling

LANES = 64
"""Runs that are walked at once, at most."""
CELLS = 2**22
"""Weights of columns that are held at once: leaving out one sample after another has many training sets."""
FEW = 0.01
"""Share of tested samples whose lists may end too early, before the lists are made longer."""
LIST_BYTES = 2**23, 2**30
"""Memory that lists may take at first, however few neighbors are asked for, and at most."""


class Listed(NamedTuple):
    """The samples and their lists.

    ``table`` (n_items, n_columns) times ``unit`` (n_columns,) has the weights of all samples; ``items`` and
    ``bounds`` (n_items, depth) are the lists and what the powers of all later distances cannot be below.
    """

    table: Array
    unit: Array
    p: float
    items: Array
    bounds: Array


class Lanes(NamedTuple):
    """At most 64 runs.

    ``folds`` (n_items, n_runs) test the samples. ``weights`` (n_columns, n_folds, n_runs) are p-th powers
    of weights, relative to those of all samples, and ``least`` (n_folds, n_runs) the smallest of them; a
    single fold stands for all.
    """

    folds: Array
    weights: Array
    least: Array


@inner
def measure(listed, i, j, gaps, weights, sums):
    """Fill in the powers of the distance of two samples under all weights; O(columns) for each.

    The last rows of `gaps` and `weights` are 0: four columns at once save a third of the time.
    """
    n_columns = listed.table.shape[1]
    for f in range(n_columns):
        gap = abs(listed.table[i, f] - listed.table[j, f]) * listed.unit[f]
        gaps[f] = gap * gap if listed.p == 2.0 else gap if listed.p == 1.0 else gap**listed.p
    sums[:] = 0.0
    for f in range(0, n_columns, 4):
        one, two, three, four = gaps[f], gaps[f + 1], gaps[f + 2], gaps[f + 3]
        for a in range(len(sums)):
            pair = weights[f, a] * one + weights[f + 1, a] * two
            sums[a] += pair + (weights[f + 2, a] * three + weights[f + 3, a] * four)


@jit
def walk(listed, lanes, nearest, powers):
    """Return how many lists ended too early; a measured pair costs O(columns) in every run.

    Filled in: the nearest training samples (n_runs, n_items, K) of tested samples, and the p-th powers of
    their distances.
    """
    n_items, depth, k, n_searched = len(listed.table), listed.items.shape[1], nearest.shape[2], 0
    n_columns, sums = listed.table.shape[1], np.empty(LANES)
    gaps, weights = np.zeros(n_columns + 3), np.zeros((n_columns + 3, LANES))
    runs, kept, last = np.empty(LANES, np.int64), np.empty(LANES, np.int64), place_of_largest(k)
    last_fold = len(lanes.least) - 1  # a single one may be that of all
    found, values = np.empty((LANES, k), np.int64), np.empty((LANES, k))
    for i in range(n_items):
        own, n_active, n_weighed = lanes.folds[i], 0, 0
        for r in range(len(own)):
            values[r, :], found[r, :], runs[n_active] = np.inf, n_items, r
            n_active += own[r] >= 0
        at, end, is_list = 0, min(k + 1 + k // 4, depth), True
        while n_active > 0:
            if n_active != n_weighed:
                for f in range(n_columns):
                    for a in range(n_active):
                        weights[f, a] = lanes.weights[f, min(own[runs[a]], last_fold), runs[a]]
                n_weighed = n_active
            for place in range(at, end):
                j = np.int64(listed.items[i, place]) if is_list else place
                if j == i:
                    continue
                measure(listed, i, j, gaps, weights, sums[:n_active])
                for a in range(n_active):
                    r = runs[a]
                    if sums[a] <= values[r, last] and NEITHER != lanes.folds[j, r] != own[r]:
                        offer(values, found, r, sums[a], j)
            if end >= n_items - 1:
                break
            n_open = 0
            for a in range(n_active):
                kept[n_open] = runs[a]
                bound = (
                    lanes.least[min(own[runs[a]], last_fold), runs[a]]
                    * listed.bounds[i, min(end, depth - 1)]
                )
                n_open += not values[runs[a], last] < bound
            if end == depth or 2 * n_open <= n_active:
                runs, kept, n_active = kept, runs, n_open
            at, end, is_list = end, min(end + 2 + end // 8, depth), end < depth
            if not is_list:
                n_searched += n_active
                at, end = 0, n_items
                for a in range(n_active):
                    values[runs[a], :], found[runs[a], :] = np.inf, n_items
        for r in range(len(own)):
            if own[r] >= 0:
                sort_row(values, found, r)
                for m in range(k):
                    nearest[r, i, m], powers[r, i, m] = found[r, m], values[r, m]
    return n_searched


class RescaledSearch:
    """Nearest training samples under distances whose columns are scaled within the folds.

    Parameters
    ----------
    scaling : ColumnScaling
    p : float, default 2
        Power of the Minkowski distance, at least 1 and finite.
    importance : float64 ndarray of shape (n_columns,), optional
        Weights w, not negative, of scikit-learn's weighted Minkowski distance ``sum(w |x - y|^p)^(1/p)``.

    Raises
    ------
    ValueError
        If `p` is not as above, or there are fewer than 2 samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from knnccv._core.luck.runs import RescaledSearch, scaling_of
    >>> X = np.array([[0.0, 0.0], [1.0, 9.0], [2.0, 4.0], [4.0, 1.0]])
    >>> search = RescaledSearch(scaling_of([MinMaxScaler()], X))
    >>> items, distances = search.nearest(np.array([[0, 1, 1, 0]]), n_neighbors=1)
    >>> items[0, :, 0]
    array([1, 3, 3, 2], dtype=int32)
    >>> distances[0, :, 0].round(2)
    array([2.06, 8.04, 3.04, 2.09])
    """

    def __init__(self, scaling: ColumnScaling, p: float = 2.0, importance: Array | None = None) -> None:
        self.p = check_real("p", p)
        if not 1 <= self.p < np.inf:
            msg = f"p must be at least 1 and finite, got {p}"
            raise ValueError(msg)
        table, self._scaling = scaling.table, scaling
        importance = np.ones(table.shape[1]) if importance is None else np.asarray(importance, dtype=float)
        self._everywhere = scaling.weights(np.full((1, len(table)), -1))[0, 0]
        self._unit = self._everywhere * importance ** (1 / self.p)
        self._matters = (table.max(axis=0) > table.min(axis=0)) & (importance > 0)
        scaled = (table - table.mean(axis=0)) * self._unit
        self._rounding = 4 * EPS * float((np.abs(scaled).max(axis=0) ** self.p).sum() ** (1 / self.p))
        metric, params = {1.0: ("manhattan", {}), 2.0: ("euclidean", {})}.get(
            p, ("minkowski", {"p": self.p})
        )
        self._neighbors = Neighbors.from_data(scaled, metric, metric_params=params)
        self._listed: Listed | None = None
        self._tried = 0

    def _list(self, depth: int, n_jobs: int | None) -> Listed:
        """Lists of at least this depth, if it is within reach."""
        table, most = self._scaling.table, self._neighbors.max_depth
        first, last = (max(n_bytes // (12 * len(table)), 1) for n_bytes in LIST_BYTES)
        depth = min(max(depth, first), most, last)
        if self._listed is None or self._listed.items.shape[1] < depth:
            items, distances = self._neighbors.kneighbors(depth, n_jobs=n_jobs)
            slack = (4 * table.shape[1] + 64 + 8 * self.p) * EPS
            bounds = np.maximum(distances * (1 - slack) - self._rounding, 0.0) ** self.p * (1 - slack)
            self._listed = Listed(table, self._unit, self.p, items, bounds)
        return self._listed

    def nearest(
        self, folds: Array, n_neighbors: int, n_jobs: int | None = None, fitted: Array | None = None
    ) -> tuple[Array, Array]:
        """The nearest training samples of tested samples in every run, ties in the order of the samples.

        Parameters
        ----------
        folds : int ndarray of shape (n_runs, n_items)
            See `ColumnScaling.weights`.
        n_neighbors : int
            K, at most the size of the smallest training set.
        n_jobs : int, optional
            Threads, each for up to 64 runs at once. Default: all processors that this process may use.
        fitted : int ndarray of shape (n_runs, n_items), optional
            One training set of every run, by which columns are scaled: -1 in it, 0 outside. Default: they
            are scaled by the training set of every fold.

        Returns
        -------
        items : int32 ndarray of shape (n_runs, n_items, n_neighbors)
            -1 where a sample is not tested.
        distances : float64 ndarray of shape (n_runs, n_items, n_neighbors)
            Under the weights of the training set, as scikit-learn's; NaN where a sample is not tested.

        Raises
        ------
        ValueError
            If `n_neighbors` is not between 1 and the size of the smallest training set.
        """
        folds = np.ascontiguousarray(folds, dtype=np.int32)
        sizes, fitted = train_sizes(folds), folds if fitted is None else fitted
        smallest = int(sizes.min(initial=folds.shape[1]))
        n_lanes = min(LANES, max(1, CELLS // (max(sizes.shape[1], 1) * len(self._unit))))
        k = check_integer("n_neighbors", n_neighbors, 1, smallest)
        items = np.full((*folds.shape, k), -1, np.int32)
        distances = np.full((*folds.shape, k), np.nan)
        listed = self._list(3 * k * folds.shape[1] // smallest + 32, n_jobs)

        n_searched = np.zeros(len(folds), np.int64)

        def search(start: int) -> None:
            part = slice(start, start + n_lanes)
            weights = (self._scaling.weights(fitted[part]) / self._everywhere) ** self.p
            least = weights[:, :, self._matters].min(axis=2, initial=np.finfo(float).max)
            lanes = Lanes(*(np.ascontiguousarray(each.T) for each in (folds[part], weights, least)))
            n_searched[start] = walk(listed, lanes, items[part], distances[part])
            distances[part] **= 1 / self.p

        starts = range(0, len(folds), n_lanes)
        n_first = int(k > self._tried)  # compiles, and tells whether the lists are deep enough
        self._tried = max(k, self._tried)
        for some in (starts[:n_first], starts[n_first:]):
            for_each(search, some, n_jobs)
            runs = slice(some.start, some.stop)
            if n_searched[runs].sum() > FEW * (items[runs, :, 0] >= 0).sum():
                listed = self._list(8 * listed.items.shape[1], n_jobs)
        return items, distances
