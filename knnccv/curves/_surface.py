"""All numbers of neighbors and all training sizes at once.

From the profile of the data (`_profile`) every pair of K and training size is a weighted sum, so that one
neighbor list and one pass serve them all. Rank scoring of stratified training sets has a pass of its own
(`_surface_ranks`). What neither serves (other stratified training sets, losses, votes tied by chance, other
rules) is asked cell by cell, of the kernels, over neighbor lists that are kept.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from .._formatting import uncertified
from .._labels import encode_labels, single_class
from .._parallel import ExecutorLike, WorkerPool, check_pool, for_each, stop_flag
from .._typing import Array
from .._validation import check_bool, check_integer, check_tol
from ..designs import Design, StratifiedSubsample, Subsample
from ..driver import (
    CompleteCV,
    ScoringProblem,
    announce_profile,
    complete_cv,
    of_many,
    usable_lengths,
    validate_problem,
)
from ..kernel import Variant, profile_of
from ..neighbors import (
    NeighborLists,
    Neighbors,
    SupervisedDistanceWarning,
    as_neighbors,
    warn_label_leakage,
)
from ..sampling import expected_position, fixed_tail, rounding_allowance
from ..variants import get_variant
from ._profile import MOST_NEIGHBORS, ProfileSpec, add_profile, pascal_scales, weigh_profile
from ._rank_surface import rank_surface, serves
from ._surface_result import Surface

CHUNK = 128
SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MOST_BY_DEFAULT = 30
AXES = ("n_neighbors", "rank")


def surface(
    X: Any,
    y: Any,
    n_neighbors: Any = None,
    train_sizes: Any = None,
    variant: str | Variant | type[Variant] = "knn",
    *,
    stratified: bool = False,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: str = "pooled",
    tol: float = 1e-6,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    **parameters: Any,
) -> Surface:
    """Mean score over all training sets, for many numbers of neighbors and many training sizes.

    Every cell is what ``complete_cv(X, y, variant, Subsample(size), n_neighbors=K).score`` would be, to
    within the bounds (`tol` is a millionth here), but all of them come from one neighbor list and one pass
    over it. Where given lists are too short, what they leave open counts as a score of 0.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        As for `complete_cv`.
    y : array of shape (n_items,)
        Class labels; real targets for "regression".
    n_neighbors : int or sequence of int, optional
        The K. Each must fit into every training set. Default: 1 to 30, or to the smallest training size.
        For "rank" the R (which may also be given as ``rank=``); not for "nn", which has one row.
    train_sizes : int, float or sequence of them, optional
        Training sizes as `Subsample` takes them: numbers of samples, or fractions in (0, 1) of all samples.
        With `stratified`, fractions of every class, or numbers of samples of every class: integers, the
        same from all, or mappings of label to number. Default: 0.1, 0.2, ..., 0.9.
    variant : str, Variant or subclass of it, default "knn"
        "knn", "nn", "rank", or another registered rule.
    stratified : bool, default False
        Training sets with the same fraction, or a fixed number, of every class (`StratifiedSubsample`).
        Slower, except for "rank": every cell is computed on its own, over the same neighbor lists.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        As for `complete_cv`.
    average : {"pooled", "item", "class"}, default "pooled"
        As for `complete_cv`.
    tol : float, default 1e-6
        Admissible error of every cell, relative to the largest absolute score. 0 looks at all neighbors.
    n_jobs, executor, progress
        As for `complete_cv`; the answer does not depend on them.
    **parameters
        Other parameters of the variant; with a `loss`, cell by cell.

    Returns
    -------
    Surface
        ``scores`` and ``error_bound`` of shape (n_K, n_sizes), `Surface.best`, `Surface.to_frame` and
        `Surface.plot`.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is.

    Notes
    -----
    Cost: the neighbor lists, whose depth the smallest training size decides, and O(n_items * depth * K^2)
    for up to three classes. Generalizes the compactness profile of one nearest neighbor (Vorontsov) to
    votes.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> result.scores.round(3)
    array([[0.683, 0.709, 0.76 ],
           [0.684, 0.691, 0.692],
           [0.689, 0.69 , 0.704]])
    >>> k, score = result.best(160)
    >>> k, round(score, 3)
    (1, 0.76)
    """
    started = time.perf_counter()
    check_tol(tol)
    check_bool("stratified", stratified)
    check_pool(n_jobs, executor, progress)
    rule = get_variant(variant)
    axis, values = _axis(rule, n_neighbors, parameters)
    designs, per_class = _designs(train_sizes, stratified)
    neighbors = as_neighbors(X, metric, metric_params)
    values_only = rule.target == "values"
    labels = single_class(neighbors.n_items) if values_only else encode_labels(y, neighbors.n_items)
    sizes = [sum(kind.n_train) for design in designs for kind in design.training_sets(labels)]
    if values is None:
        values = list(range(1, min(MOST_BY_DEFAULT, *sizes) + 1))
    cells = SurfaceGrid(axis, tuple(values), tuple(designs), tuple(sizes))
    others = {name: value for name, value in parameters.items() if name != axis}
    question = validate_problem(
        y, neighbors.n_items, rule, cells.smallest, ties, average, others | cells.setting(max(values))
    )
    warn_label_leakage(neighbors, min(sizes))
    if _has_profile(question, cells):
        found = _by_profile(question, neighbors, cells, tol, X is neighbors, n_jobs, executor, progress)
    elif serves(question):
        posed = [
            validate_problem(y, neighbors.n_items, rule, design, ties, average, question.parameters)
            for design in designs
        ]
        found = rank_surface(
            posed, neighbors, cells.nearest, tol, X is neighbors, n_jobs, executor, progress
        )
    else:

        def ask(row: int, column: int) -> CompleteCV:
            asked: dict[str, Any] = others | cells.setting(values[row])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SupervisedDistanceWarning)  # which has been said
                return complete_cv(
                    neighbors,
                    y,
                    rule,
                    designs[column],
                    ties=ties,
                    average=average,
                    tol=tol,
                    n_jobs=n_jobs,
                    executor=executor,
                    **asked,
                )

        with of_many(len(values) * len(designs)):
            found = _by_cells(ask, cells, progress)
    unranked = {name: value for name, value in question.parameters.items() if name != axis}
    of_any = {axis: "R" if axis == "rank" else "K"} if axis else {}
    result = Surface(
        scores=found[0],
        error_bound=found[1],
        truncation_bound=found[1],
        n_neighbors=np.array(values),
        train_sizes=np.array(sizes),
        is_loss=question.is_loss,
        variant=rule.name,
        stratified=stratified,
        per_class=per_class,
        ties=question.ties,
        average=average,
        parameters=unranked,
        measure=replace(question, parameters=unranked | of_any).measure,
        seconds=time.perf_counter() - started,
    )
    return uncertified(result) if neighbors.approximate else result


@dataclass(frozen=True)
class SurfaceGrid:
    """Rows: values of the parameter `axis` (None where the rule has none); columns: designs and sizes."""

    axis: str | None
    values: tuple[int, ...]
    designs: tuple[Design, ...]
    sizes: tuple[int, ...]

    @property
    def smallest(self) -> Design:
        """The design with the smallest training sets."""
        return self.designs[self.sizes.index(min(self.sizes))]

    def setting(self, value: int) -> dict[str, int]:
        """The parameter with this value."""
        return {self.axis: value} if self.axis else {}

    @property
    def nearest(self) -> Array:
        """How many of the nearest training samples decide, shape (n_rows, n_columns)."""
        return np.array([[min(value, size) for size in self.sizes] for value in self.values])


def _axis(
    rule: Variant, n_neighbors: Any, parameters: Mapping[str, Any]
) -> tuple[str | None, list[int] | None]:
    """The rule's parameter that counts neighbors, if it has one, and its values, if given."""
    axis = next((name for name in AXES if name in rule.parameters), None)
    if axis is None:
        if n_neighbors is not None:
            msg = f"variant {rule.name!r} has no number of neighbors to vary; leave n_neighbors out"
            raise TypeError(msg)
        return None, [1]
    name = "n_neighbors"
    given = n_neighbors
    if axis in parameters:
        if n_neighbors is not None:
            msg = f"give either n_neighbors or {axis}, got {n_neighbors!r} and {parameters[axis]!r}"
            raise TypeError(msg)
        name, given = axis, parameters[axis]
    if given is None:
        return axis, None
    return axis, listed_neighbors(given, name=name)


def listed_neighbors(values: Any, most: int | None = None, name: str = "n_neighbors") -> list[int]:
    """One number of neighbors or several, checked."""
    return [check_integer(name, value, 1, most) for value in _listed(name, values)]


def _designs(train_sizes: Any, stratified: bool) -> tuple[list[Design], tuple[Any, ...] | None]:
    """The designs, and what was asked of every class, where numbers were."""
    if isinstance(train_sizes, Mapping):
        train_sizes = [train_sizes]
    sizes = _listed("train_sizes", SIZES if train_sizes is None else train_sizes)
    if not stratified:
        for size in sizes:
            if isinstance(size, Mapping):
                msg = f"without stratified=True train_sizes must be numbers or fractions, got {size!r}"
                raise TypeError(msg)
        return [Subsample(size) for size in sizes], None
    numbers = [isinstance(size, Integral | Mapping) and not isinstance(size, bool) for size in sizes]
    if not any(numbers):
        return [StratifiedSubsample(size) for size in sizes], None
    if not all(numbers):
        msg = (
            "with stratified=True train_sizes must be fractions in (0, 1) of every class, or numbers of "
            f"items of every class, not both; got {train_sizes!r}"
        )
        raise TypeError(msg)
    per_class = tuple(dict(size) if isinstance(size, Mapping) else int(size) for size in sizes)
    return [StratifiedSubsample(per_class=number) for number in per_class], per_class


def _listed(name: str, values: Any) -> list[Any]:
    """One value or several, as a list of Python's or NumPy's numbers."""
    if isinstance(values, (str, bytes, Mapping)):
        msg = f"{name} must be a number or a sequence of numbers, got {values!r}"
        raise TypeError(msg)
    several = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0
    listed = list(values) if several else [values]
    if not listed:
        msg = f"{name} must hold at least one number, got {values!r}"
        raise ValueError(msg)
    return listed


def _has_profile(question: ScoringProblem, cells: SurfaceGrid) -> bool:
    return (
        bool(profile_of(question.variant, question.parameters))
        and not question.kinds[0].stratified
        and max(cells.values) <= MOST_NEIGHBORS
    )


@dataclass(frozen=True)
class ProfilePass:
    """The profile of some samples; sent to the workers."""

    neighbors: Neighbors
    rows: Array
    weights: Array
    asked: ProfileSpec
    depth: int
    nearest: Array
    average_ties: bool

    def compile(self) -> None:
        """Nothing here needs to be compiled before it is called."""

    def __call__(self, rows: Array, keep_lists: bool) -> tuple[NeighborLists | None, Array, Array]:
        """The lists of a chunk, if wanted, its share of the profile, and its lists' lengths.

        `rows` holds the number of one chunk.
        """
        chunk = self.chunk(int(rows[0]))
        size = self.neighbors.rows_at_once(self.depth)
        blocks = [chunk[start : start + size] for start in range(0, len(chunk), size)]
        parts = [self.neighbors.search(block, self.depth) for block in blocks]
        lists = _joined(parts)
        known = np.concatenate([usable_lengths(part, self.neighbors, self.average_ties) for part in parts])
        profile = np.zeros((2, self.depth + 1, self.asked.most + 1))
        lengths = np.minimum(known, self.depth)
        if self.average_ties:
            cut = (known < self.depth) & lists.may_tie_beyond
            lengths[cut] = self._add_deeper_ties(chunk[cut], profile)
            self._add_ties(lists, np.where(cut, 0, known), chunk, profile)
        owns = self.asked.classes[chunk]
        add_profile(lists.items, lengths, owns, self.weights[owns], self.asked, profile)
        return lists if keep_lists else None, profile, lengths

    def _add_deeper_ties(self, rows: Array, profile: Array) -> Array:
        """Where a tied group goes on beyond the depth: from lists that show its end. Returns lengths."""
        lengths = np.zeros(len(rows), np.int64)
        depth = self.depth
        waiting = np.arange(len(rows))
        while len(waiting):
            depth = min(2 * depth, self.neighbors.max_depth)
            size = self.neighbors.rows_at_once(depth)
            left = []
            for start in range(0, len(waiting), size):
                some = waiting[start : start + size]
                lists = self.neighbors.search(rows[some], depth)
                known = usable_lengths(lists, self.neighbors, average_ties=True)
                done = (known >= self.depth) | ~lists.may_tie_beyond | (depth == self.neighbors.max_depth)
                self._add_ties(
                    lists.cut(np.flatnonzero(done), depth), known[done], rows[some[done]], profile
                )
                lengths[some[done]] = np.minimum(known[done], self.depth)
                left.append(some[~done])
            waiting = np.concatenate(left)
        return lengths

    def _add_ties(self, lists: NeighborLists, known: Array, rows: Array, profile: Array) -> None:
        from ..voting import ANY_RIGHT, PLURALITY
        from ._profile_ties import add_ties

        owns = self.asked.classes[rows]
        add_ties(
            lists.items,
            lists.values,
            known,
            owns,
            self.weights[owns],
            self.asked.classes,
            self.asked.n_classes,
            self.nearest,
            ANY_RIGHT if self.asked.ranked else PLURALITY,
            self.asked.first,
            profile,
            stop_flag(),
        )

    def chunk(self, number: int) -> Array:
        """The rows that are summed together, whoever works on them."""
        return self.rows[number * CHUNK : (number + 1) * CHUNK]


def _joined(parts: Sequence[NeighborLists]) -> NeighborLists:
    names = ("items", "values", "lengths", "may_tie_beyond")
    return NeighborLists(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _by_profile(
    question: ScoringProblem,
    neighbors: Neighbors,
    cells: SurfaceGrid,
    tol: float,
    keep: bool,
    n_jobs: int | None,
    executor: ExecutorLike | None,
    progress: bool,
) -> tuple[Array, Array]:
    codes = question.labels.codes
    n_available = neighbors.n_items - 1
    first = _positions(cells, n_available, tol, neighbors.max_depth)
    depth = len(first) - 2
    most = int(cells.nearest.max())
    weights = np.array([float(weight) for weight in question.item_weights[0]])
    asked = ProfileSpec(
        most,
        len(question.labels.classes),
        question.variant.name == "rank",
        codes,
        first,
        *pascal_scales(depth, most),
    )
    if executor is None:
        neighbors.search_all(depth, n_jobs=n_jobs, progress=progress)
    # Sums are taken in this order, whatever the threads and the blocks: same class next to each other.
    near = neighbors.visiting_order(np.arange(neighbors.n_items), depth)
    rows = near[np.argsort(codes[near], kind="stable")]
    n_chunks = -(-len(rows) // CHUNK)
    cache = neighbors.room(depth) if keep else None
    lasting = neighbors if executor is None else neighbors.for_workers(depth)
    average_ties = question.ties == "random"
    work = ProfilePass(lasting, rows, weights, asked, depth, np.unique(cells.nearest), average_ties)
    profile = np.zeros((2, depth + 1, most + 1))
    ended = np.zeros(depth + 1)
    with WorkerPool(work, n_jobs=n_jobs, executor=executor, progress=progress, unit="chunk") as workers:
        if average_ties:
            announce_profile(work, question, workers.n_workers)
            workers.stand_apart()
        for number, (lists, part, lengths) in workers.map(np.arange(n_chunks), 1, cache is not None):
            chunk = work.chunk(int(number[0]))
            profile += part
            np.add.at(ended, lengths, weights[codes[chunk]])
            if cache is not None and lists is not None:
                cache.put(chunk, lists)
    if cache is not None:
        neighbors.store(cache)
    scores, bounds = np.empty((2, *cells.nearest.shape))
    by_k, tails = np.empty((2, most + 1))
    for column, size in enumerate(cells.sizes):
        weigh_profile(profile, first, ended, n_available, size, by_k, tails)
        for row, k in enumerate(cells.nearest[:, column]):
            walked = expected_position(n_available, size, int(k)) + (depth + n_chunks) / 8
            scores[row, column] = by_k[k]
            bounds[row, column] = tails[k] + rounding_allowance(int(k), walked, 1.0)
    return scores, bounds


def _positions(cells: SurfaceGrid, n_available: int, tol: float, max_depth: int) -> Array:
    """At i the least K that still needs position i for `tol`, one past the largest K where none does."""
    nearest = np.unique(cells.nearest)
    most = int(nearest[-1])
    stops = np.zeros(most + 1, np.int64)
    for k in nearest:
        # The smaller the training sets, the farther their K-th nearest sample.
        size = min(size for size in cells.sizes if size >= k)
        tail = fixed_tail(n_available, size, int(k))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else n_available
        stops[k] = min(max(enough, int(k)), max_depth)
    stops = np.maximum.accumulate(stops)
    return np.searchsorted(stops, np.arange(stops[-1] + 2), side="left")


def _by_cells(
    ask: Callable[[int, int], CompleteCV], cells: SurfaceGrid, progress: bool
) -> tuple[Array, Array]:
    """Every cell on its own, the one that needs the deepest lists first."""
    scores, bounds = np.empty((2, *cells.nearest.shape))
    columns = np.argsort(cells.sizes, kind="stable")
    rows = np.argsort(cells.values, kind="stable")[::-1]
    cells_in_turn = [(int(row), int(column)) for column in columns for row in rows]

    def fill(cell: tuple[int, int]) -> None:
        result = ask(*cell)
        scores[cell], bounds[cell] = result.score, result.truncation_bound

    for_each(fill, cells_in_turn, 1, progress, unit="cell")
    return scores, bounds
