"""Complete cross-validation: from data, a rule and a design to the exact mean score.

The driver knows no variant by name. It poses the question (`Question`), walks over blocks of items in a
pool of threads, and for every block asks for the neighbour order, widens it row by row into scratch of
the thread, and calls the variant's kernel. Every item's A_x is computed on its own, and the items are
summed in their order, so that the answer does not depend on threads or blocks, to the last bit.

Depth: neighbours beyond the first m matter only where fewer than K of those are in the
training set. The walk starts at the depth that makes this as rare as `tol` asks, and items for which it
was not enough are asked again, twice as deep.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numba import types

from ._checks import check_bool, check_tol
from ._cost import HARD, announce_scores, hardest, may_be_long
from ._groups import GroupTrainingSets, LeaveGroupsOut
from ._light import compile_first, first_kernel, light_kernels, not_served
from ._pool import Submits, Workers, check_pool
from ._question import Question, pose
from ._summary import Scores, kind_weights, summarise
from ._supervised import warn_of_labels
from ._tails import fill_tails, labels_differ, ties_that_matter
from ._threads import stop_flag
from .kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Array,
    Constraints,
    Kernel,
    Labels,
    Order,
    Variant,
    compile_kernel,
    compiled,
    jit,
)
from .neighbors import Lists, Neighbors, as_neighbors
from .result import CompleteCV, uncertified
from .sampling import STRATIFIED_TAILS, fixed_tail, stratified_tails


@jit
def score_rows(kernel, items, values, lengths, targets, fair, labels, constraints, out, ties, stop):  # type: ignore[no-untyped-def]
    """A_x of every row by the kernel, and where the first tied group of different labels begins, or -1.

    Ends early once ``stop[0]`` is set.
    """
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        length = int(lengths[r])
        first = -1
        for i in range(length):
            order[i] = int(items[r, i])
        for i in range(1, length):
            if values[r, i] == values[r, i - 1] and labels_differ(labels, items[r, i], items[r, i - 1]):
                first = i
                break
        while first > 0 and values[r, first] == values[r, first - 1]:
            first -= 1
        if fair:
            end = length
            for i in range(length - 1, -1, -1):
                if i + 1 < length and values[r, i] != values[r, i + 1]:
                    end = i + 1
                group_end[i] = end
        ties[r] = first
        out[r] = kernel(Order(order[:length], group_end[:length]), labels, targets[r], constraints)


@jit
def no_score(order, labels, target, constraints):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """A kernel for those who want to know no more than which items are tied."""
    return 0.0


SCORE_ROWS = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.boolean,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.boolean, 1, "C"),
)


def complete_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: str = "pooled",
    tol: float = 1e-12,
    exact: bool = False,
    n_jobs: int | None = None,
    executor: Submits | None = None,
    progress: bool = False,
    **parameters: Any,
) -> CompleteCV:
    """Mean score of a nearest-neighbour rule over all admissible training sets.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        The items. With ``metric="precomputed"`` a square matrix of dissimilarities, row = tested item.
        Distances must not depend on the split: scale or transform before, or not at all.
    y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
        Class labels; for "regression" real targets.
    variant : str, Variant or subclass of it, default "knn"
        The rule: "nn" (parameter `loss`), "knn" (`n_neighbors` = 5, `loss`, `vote_ties` = "smallest" or
        "random"), "rank" (`rank` = 5), "confidence" (`n_neighbors`, `score` = "share" or "brier"),
        "regression" (`n_neighbors`; the score is the mean squared error), or another registered one.
    cv : int or design, default 5
        `Subsample`, `StratifiedSubsample`, `KFold`, `StratifiedKFold`, `LeaveOut`, `LeaveGroupsOut`; an
        integer is that number of stratified folds, for "regression" of plain ones.
    metric : str or callable, default "euclidean"
        See `Neighbors.from_data`. To be left out where X is a `Neighbors`.
    metric_params : mapping, optional
        See `Neighbors.from_data`.
    ties : {"random", "index"}, default "random"
        The exact mean over all orders of equally similar items, so that the order of the data does not
        matter; or in the order of the data. For a rule that does not offer "random" the default is "index".
    average : {"pooled", "item", "class"}, default "pooled"
        "pooled": all classifications of a split count alike (the papers; for k-fold designs the mean of
        the folds' scores, as ``cross_val_score(...).mean()``). "item": all items that can be tested count
        alike (for k-fold designs the score of ``cross_val_predict``). "class": all classes count alike.
    tol : float, default 1e-12
        Admissible error, relative to the largest absolute score. 0 looks at all neighbours.
    exact : bool, default False
        Compute with rational numbers. Slow; for small data; not for approximate neighbours.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The answer does not depend on it.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Who computes instead of own threads: a pool of threads or processes, or whatever else has their
        interface, or a dask cluster. The answer does not depend on it. See ``docs/cluster.md``.
    progress : bool, default False
        Show a progress bar (needs tqdm): of the items, and of those that are asked again for more depth.
    **parameters
        The variant's parameters.

    Returns
    -------
    CompleteCV

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is.

    Warns
    -----
    SlowComputationWarning
        If large groups of equally similar items make it take more than about a minute.

    Notes
    -----
    Mullin & Sukthankar, "Complete Cross-Validation for Nearest Neighbor Classifiers", ICML 2000.

    Examples
    --------
    >>> from knnccv import complete_cv, KFold
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = complete_cv(wine.X, wine.y, "knn", KFold(10), n_neighbors=3)
    >>> round(result.score, 6)
    0.712135
    """
    started = time.perf_counter()
    check_tol(tol)
    check_bool("exact", exact)
    check_pool(n_jobs, executor, progress)
    neighbors = as_neighbors(X, metric, metric_params)
    question = pose(y, neighbors.n_items, variant, cv, ties, average, parameters)
    warn_of_labels(neighbors, question.smallest_train)
    if exact and neighbors.approximate:
        msg = (
            f"exact=True needs exact neighbours, but those of {neighbors!r} are approximate: the fraction "
            "would promise what nobody knows"
        )
        raise ValueError(msg)
    asked = Asked(question, neighbors, tol, exact, n_jobs)
    keep = isinstance(X, Neighbors)  # else nobody may ask these neighbours again
    found = asked.answer(keep, executor, progress)
    answer = replace(found, seconds=time.perf_counter() - started)
    object.__setattr__(answer, "_asked", asked)
    return answer


@dataclass(frozen=True)
class Asked:
    """A question, the neighbours it is asked of, and how."""

    question: Question
    neighbors: Neighbors
    tol: float
    exact: bool
    n_jobs: int | None
    tie_order: int = 0

    def again(self, **parameters: Any) -> CompleteCV:
        """The answer with other parameters; the neighbours keep their lists."""
        question = replace(self.question, parameters={**self.question.parameters, **parameters})
        return replace(self, question=question).answer(keep=True)

    def answer(self, keep: bool, executor: Submits | None = None, progress: bool = False) -> CompleteCV:
        """The answer; with `keep` the neighbours keep their lists."""
        found = self._scores(keep, executor, progress)
        linear = type(self.question.variant).over_kinds is Variant.over_kinds
        if not linear and self._asks_several():
            found = replace(found, scores=self._over_kinds(found.scores, executor))
        answer = summarise(self.question, found)
        return uncertified(answer) if self.neighbors.approximate else answer

    def _asks_several(self) -> bool:
        """Whether kernels see several kinds of training sets, or one set of groups at a time."""
        kind = self.question.kinds[0]
        sets_of_groups = isinstance(kind, GroupTrainingSets) and kind.n_test_groups > 1
        return len(self.question.kinds) > 1 or sets_of_groups

    def _over_kinds(self, scores: Array, executor: Submits | None) -> Array:
        """The scores as the variant wants several kinds of training sets to be averaged."""
        question = self.question

        def ask(**parameters: Any) -> Array:
            other = replace(question, parameters={**question.parameters, **parameters})
            return replace(self, question=other)._scores(True, executor).scores

        return question.variant.over_kinds(
            scores, kind_weights(question, self.exact), ask, question.values.shape[1], **question.parameters
        )

    def _scores(self, keep: bool, executor: Submits | None, progress: bool = False) -> Scores:
        if self.exact:
            from ._exact import exact_scores

            found = exact_scores(self.question, self.neighbors)
            # Ties count among the neighbours that floating point looks at, so that both modes agree.
            floating = _float_scores(replace(self, exact=False), False, None, False, no_score)
            return replace(found, tied=floating.tied)
        return _float_scores(self, keep, executor, progress)


@dataclass(frozen=True)
class _Plan:
    """What a block of items needs; sent to the workers."""

    neighbors: Neighbors
    labels: Labels
    kernels: tuple[Kernel, ...]
    light: tuple[Kernel | None, ...]
    constraints: tuple[Constraints, ...]
    nearest: tuple[int, ...]
    fixed_tails: tuple[Array | None, ...]
    never: Array
    fair: bool
    tol: float
    tie_order: int = 0
    losses: Array | None = None

    def compile(self) -> None:
        """Compile what the blocks call, or load it from the cache; every process needs it once."""
        compile_first(self.light, self.kernels, "the plan")
        compiled(score_rows, SCORE_ROWS)
        if any(table is None for table in self.fixed_tails):
            compiled(stratified_tails, STRATIFIED_TAILS)

    def __call__(
        self, rows: Array, depth: int, keep_lists: bool
    ) -> tuple[Lists | None, Array, Array, Array]:
        """The rows' lists, if wanted, scores and tails (n_kinds, n_rows), and which are tied."""
        lists, lengths = self.known(rows, depth)
        scores, tied = self.scores(lists, lengths, rows)
        tails = self.tails(lists, lengths, rows)
        return lists if keep_lists else None, scores, tails, tied

    def known(self, rows: Array, depth: int) -> tuple[Lists, Array]:
        """The rows' lists, and how far they tell what the tie rule needs."""
        lists = self.neighbors.block(rows, depth)
        lengths = known_lengths(lists, self.neighbors, self.fair or self.tie_order != 0)
        if self.losses is not None:
            from ._ties import reordered

            lists = reordered(lists, lengths, rows, self.labels, self.losses, self.tie_order)
        return lists, lengths

    def scores(self, lists: Lists, lengths: Array, rows: Array) -> tuple[Array, Array]:
        """Scores (n_kinds, n_rows), NaN where an item is never tested, and which rows are tied."""
        scores = np.zeros((len(self.kernels), len(rows)))
        ties = np.full(len(rows), -1)  # what follows reads it, also where `score_rows` was told to stop
        tied = np.zeros(len(rows), bool)
        for j, kernel in enumerate(self.kernels):
            first = first_kernel(self.light[j], kernel)
            self._score(first, j, lists, lengths, rows, scores[j], ties)
            left = not_served(scores[j]) if first is not kernel else rows[:0]
            if len(left):
                rest = lists.cut(left, lists.items.shape[1])
                found = np.empty(len(left))
                full = compile_kernel(kernel, "the plan")
                self._score(full, j, rest, lengths[left], rows[left], found, np.empty(len(left), np.int64))
                scores[j, left] = found
            untested = self.never[j, self.labels.classes[rows]]
            scores[j, untested] = np.nan
            tied |= ties_that_matter(lists.items, ties, rows, *self._kind(j), self.tol) & ~untested
        return scores, tied

    def tails(self, lists: Lists, lengths: Array, rows: Array) -> Array:
        """How much of every score the lists leave open, shape (n_kinds, n_rows)."""
        tails = np.empty((len(self.kernels), len(rows)))
        for j in range(len(self.kernels)):
            fill_tails(lists.items, lengths, rows, *self._kind(j), tails[j])
            tails[j, self.never[j, self.labels.classes[rows]]] = 0.0
        return tails

    def _kind(self, j: int) -> tuple[Labels, Constraints, int, Array | None]:
        """What decides how likely a position is to matter in training sets of kind j."""
        return self.labels, self.constraints[j], self.nearest[j], self.fixed_tails[j]

    def _score(
        self, kernel: Kernel, j: int, lists: Lists, lengths: Array, rows: Array, out: Array, ties: Array
    ) -> None:
        """Have the kernel score the rows as training sets of kind j."""
        args = lists.items, lists.values, lengths, rows, self.fair, self.labels, self.constraints[j]
        score_rows(kernel, *args, out, ties, stop_flag())


def _float_scores(
    asked: Asked, keep: bool, executor: Submits | None, progress: bool, kernel: Kernel | None = None
) -> Scores:
    """Scores in floating point; by another kernel than the variant's, if one is given."""
    question, neighbors, tol, n_jobs = asked.question, asked.neighbors, asked.tol, asked.n_jobs
    plan: Any
    if isinstance(question.design, LeaveGroupsOut):
        from ._group_scores import group_plan

        plan = group_plan(question, neighbors, tol, kernel=kernel)
    else:
        plan = _plan(question, neighbors, tol, asked.tie_order, kernel)
    depth = first_depth(question, neighbors, tol, plan.fixed_tails)
    if executor is not None:
        plan = replace(plan, neighbors=neighbors.without_lists_below(depth))
    n_kinds, n_items = len(question.kinds), neighbors.n_items
    scores = np.empty((n_kinds, n_items))
    tails = np.empty((n_kinds, n_items))
    tied = np.zeros(n_items, bool)
    rows = np.arange(n_items)
    deepest = depth
    cache = neighbors.new_cache(depth) if keep else None
    with Workers(plan, n_jobs=n_jobs, executor=executor, progress=progress) as workers:
        announced = asked.tie_order != 0 or kernel is not None or not isinstance(plan, _Plan)
        while len(rows):
            # Of rows that are asked again, tied groups may go on to the very end.
            reach = depth if depth == deepest else neighbors.max_depth
            deepest = depth
            if not announced and may_be_long(question, reach, len(rows)):
                announced = announce_scores(plan, question, rows, depth, tol, workers.n_workers)
            if hardest(question, depth) > HARD:
                workers.stand_apart()
            neighbors.prepare(depth)
            if executor is None and len(rows) == n_items:
                neighbors.search_all(depth, n_jobs=n_jobs, progress=progress)
            near = neighbors.sorted(rows, depth)
            for block, (lists, *found) in workers.map(
                near, neighbors.block_size(depth), depth, cache is not None
            ):
                scores[:, block], tails[:, block], tied[block] = found
                if cache is not None and lists is not None:
                    cache.put(block, lists)
            if cache is not None:
                neighbors.keep(cache)
                cache = None
            if depth >= neighbors.max_depth:
                break
            rows = rows[(tails[:, rows] > tol / 2).any(axis=0)]
            depth = min(2 * depth, neighbors.max_depth)
    return Scores(scores, tails, tied, deepest)


def _plan(
    question: Question, neighbors: Neighbors, tol: float, tie_order: int, kernel: Kernel | None
) -> _Plan:
    tasks = [question.task(kind) for kind in question.kinds]
    kernels = tuple(kernel or question.variant.kernel_for(task) for task in tasks)
    constraints = tuple(question.constraints(task) for task in tasks)
    light: tuple[Kernel | None, ...] = (None,) * len(tasks)
    if kernel is None:
        light = light_kernels(question.variant, tasks, constraints)
    compile_first(light, kernels, f"variant {question.variant.name!r}")
    nearest = tuple(question.nearest(kind) for kind in question.kinds)
    plan = _Plan(
        neighbors,
        question.kernel_labels(),
        kernels,
        light,
        constraints,
        nearest,
        tuple(
            None if task.stratified else fixed_tail(task.n_available, task.train_size, k)
            for task, k in zip(tasks, nearest, strict=True)
        ),
        question.never_tested(),
        question.ties == "random" and not tie_order,
        tol,
        tie_order,
        question.alone() if tie_order else None,
    )
    plan.compile()
    return plan


def first_depth(
    question: Question, neighbors: Neighbors, tol: float, tails: tuple[Array | None, ...] | None = None
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for other ones.

    `tails` are the kinds' `fixed_tail`, where they are known.
    """
    if isinstance(question.design, LeaveGroupsOut):
        from ._group_scores import first_group_depth

        return first_group_depth(question, neighbors, tol)
    depth = 1
    for kind, tail in zip(question.kinds, tails or repeat(None), strict=False):
        if tail is None:
            tail = fixed_tail(sum(kind.counts) - 1, sum(kind.n_train), question.nearest(kind))
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, enough)
    # One more position tells whether a tied group goes on beyond the list.
    return min(depth + (question.ties == "random"), neighbors.max_depth)


def known_lengths(lists: Lists, neighbors: Neighbors, fair: bool) -> Array:
    """How far the lists tell what the tie rule needs: a tied group that may go on is left out.

    Not so where ties go by index and so do the lists: what is there of a group then is the first of it.
    """
    if fair or not neighbors.ordered_by_index:
        return np.where(lists.open_end, _closed_lengths(lists.values, lists.lengths), lists.lengths)
    return lists.lengths


@jit
def _closed_lengths(values, lengths):  # type: ignore[no-untyped-def]
    """Lengths without the last tied group, which may go on beyond the list."""
    closed = np.empty(len(lengths), np.int64)
    for r in range(len(lengths)):
        end = lengths[r]
        last = end - 1
        while last > 0 and values[r, last - 1] == values[r, end - 1]:
            last -= 1
        closed[r] = last
    return closed
