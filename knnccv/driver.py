"""Complete cross-validation: from data, a rule and a design to the exact mean score.

The driver knows no variant by name. It poses the question (`Question`), walks over blocks of items in a
pool of threads, and for every block asks for the neighbour order, widens it row by row into scratch of
the thread, and calls the variant's kernel. Every item's A_x is computed on its own, and the items are
summed in their order, so that the answer does not depend on threads or blocks, to the last bit.

Depth (mathematics §9): neighbours beyond the first m matter only where fewer than K of those are in the
training set. The walk starts at the depth that makes this as rare as `tol` asks, and items for which it
was not enough are asked again, twice as deep.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numba import types

from ._labels import Coded, code_labels
from ._pool import map_blocks
from .designs import Design, KFold, StratifiedKFold, TrainingSets, as_design
from .kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Array,
    Constraints,
    Kernel,
    Labels,
    Order,
    Task,
    Variant,
    compile_kernel,
    constraints_for,
    jit,
)
from .neighbors import Lists, Neighbors, as_neighbors
from .result import CompleteCV
from .sampling import STRATIFIED_TAILS, fixed_tail, rounding_allowance, stratified_tails
from .variants import get_variant

TIES = ("index", "random")
AVERAGES = ("pooled", "item", "class")


@jit
def score_rows(kernel, items, values, lengths, targets, fair, labels, constraints, out, tied):  # type: ignore[no-untyped-def]
    """A_x of every row by the kernel, and whether its order ties different labels."""
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.empty(depth, labels.classes.dtype)
    for r in range(len(targets)):
        length = int(lengths[r])
        mixed = False
        start = 0
        while start < length:
            end = start + 1
            first = labels.classes[items[r, start]]
            while end < length and values[r, end] == values[r, start]:
                if labels.classes[items[r, end]] != first:
                    mixed = True
                end += 1
            for i in range(start, end):
                order[i] = int(items[r, i])
                group_end[i] = end if fair else i + 1
            start = end
        tied[r] = mixed
        out[r] = kernel(
            Order(order[:length], group_end[:length]), labels, targets[r], constraints
        )


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
    types.Array(types.boolean, 1, "C"),
)


def compiled(function: Kernel, signature: Any) -> Kernel:
    """Compile a driver for its one signature, on first use, in the calling thread."""
    if hasattr(function, "compile"):
        function.compile(signature)
    return function


@dataclass(frozen=True)
class Question:
    """What is asked, checked: everything but the neighbours.

    ``kinds`` are the design's training sets; ``item_weights`` of shape (n_kinds, n_classes), Fractions,
    tells what an item of a class counts in each of them, all items' together being 1.
    """

    variant: Variant
    parameters: dict[str, Any]
    labels: Coded
    design: Design
    kinds: tuple[TrainingSets, ...]
    item_weights: tuple[tuple[Fraction, ...], ...]
    ties: str
    average: str

    @property
    def largest(self) -> float:
        """Largest absolute score of one classification."""
        return self.variant.largest_score(**self.parameters)

    def nearest(self, kind: TrainingSets) -> int:
        """How many of the nearest training items decide."""
        return min(self.variant.n_nearest(**self.parameters), sum(kind.n_train))

    def task(self, kind: TrainingSets, number: type = float) -> Task:
        """The kind as the variant sees it."""
        return Task(
            kind.n_train,
            kind.counts,
            kind.stratified,
            held_out=1,
            n_classes=len(self.labels.classes),
            depth=len(self.labels.codes) - 1,
            number=number,
        )

    def constraints(self, task: Task) -> Constraints:
        """What the kernel gets for these training sets."""
        return constraints_for(task, self.variant.tables(task, **self.parameters))

    def kernel_labels(self) -> Labels:
        """What the kernel gets of the items."""
        return Labels(self.labels.codes, np.empty((0, 0)))


def pose(
    y: Any,
    n_items: int,
    variant: str | Variant | type[Variant],
    cv: Any,
    ties: str,
    average: str,
    parameters: Mapping[str, Any],
) -> Question:
    """Check a question.

    Raises
    ------
    ValueError, TypeError
        If a part of it is not allowed, or parts do not suit each other.
    """
    rule = get_variant(variant)
    settings = rule.settings(parameters)
    _check_choice("ties", ties, TIES)
    _check_choice("average", average, AVERAGES)
    if ties not in rule.tie_rules:
        allowed = " or ".join(repr(name) for name in rule.tie_rules)
        msg = f"variant {rule.name!r} offers ties={allowed}, got ties={ties!r}"
        raise ValueError(msg)
    design = as_design(cv)
    labels = code_labels(y, n_items)
    kinds = design.training_sets(labels)
    question = Question(
        rule, settings, labels, design, kinds, _item_weights(kinds, labels, average), ties, average
    )
    for kind in kinds:
        task = question.task(kind)
        rule.kernel_for(task)
        rule.check(task, **settings)
    return question


def complete_cv(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    cv: Any = 5,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str = "index",
    average: str = "pooled",
    tol: float = 1e-12,
    exact: bool = False,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    **parameters: Any,
) -> CompleteCV:
    """Mean score of a nearest-neighbour rule over all admissible training sets.

    Parameters
    ----------
    X : array of shape (n_items, n_features), or Neighbors
        The items. With ``metric="precomputed"`` a square matrix of dissimilarities, row = tested item.
        Distances must not depend on the split: scale or transform before, or not at all.
    y : array of shape (n_items,)
        Class labels.
    variant : str, Variant or subclass of it, default "knn"
        The rule: "nn" (parameter `loss`), "knn" (`n_neighbors` = 5, `loss`), "rank" (`rank` = 5), or
        another registered one.
    cv : int or design, default 5
        `Subsample`, `StratifiedSubsample`, `KFold`, `StratifiedKFold`, `LeaveOut`; an integer is that
        number of stratified folds.
    metric : str or callable, default "euclidean"
        See `Neighbors.from_data`. Not looked at where X is a `Neighbors`.
    metric_params : mapping, optional
        See `Neighbors.from_data`.
    ties : {"index", "random"}, default "index"
        Equally similar items in the order of the data, or the exact mean over all their orders (so far
        for "nn").
    average : {"pooled", "item", "class"}, default "pooled"
        "pooled": all classifications of a split count alike (the papers; for k-fold designs the mean of
        the folds' scores, as ``cross_val_score(...).mean()``). "item": all items that can be tested count
        alike (for k-fold designs the score of ``cross_val_predict``). "class": all classes count alike.
    tol : float, default 1e-12
        Admissible error, relative to the largest absolute score. 0 looks at all neighbours.
    exact : bool, default False
        Compute with rational numbers. Slow; for small data.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The answer does not depend on it.
    executor : concurrent.futures.Executor, optional
        Runs the blocks instead of own threads.
    progress : bool, default False
        Show a progress bar (needs tqdm).
    **parameters
        The variant's parameters.

    Returns
    -------
    CompleteCV

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is.

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
    0.739498
    """
    started = time.perf_counter()
    if not 0 <= _real("tol", tol) < 1:
        msg = f"tol must be in [0, 1), got {tol}"
        raise ValueError(msg)
    rule = get_variant(variant)
    rule.settings(parameters)
    neighbors = as_neighbors(X, metric, metric_params)
    question = pose(y, neighbors.n_items, rule, cv, ties, average, parameters)
    if exact:
        from ._exact import exact_scores

        found = exact_scores(question, neighbors)
    else:
        found = _float_scores(question, neighbors, tol, n_jobs, executor, progress)
    answer = _summarise(question, found)
    return replace(answer, seconds=time.perf_counter() - started)


@dataclass(frozen=True)
class Scores:
    """A_x of every item under every kind of training sets.

    ``scores`` (n_kinds, n_items), floats or Fractions; ``tails`` (n_kinds, n_items): the probability
    that the listed neighbours did not decide.
    """

    scores: Array
    tails: Array
    tied: Array
    depth: int


@dataclass(frozen=True)
class _Plan:
    """What a block of items needs; sent to the workers."""

    neighbors: Neighbors
    labels: Labels
    kernels: tuple[Kernel, ...]
    constraints: tuple[Constraints, ...]
    nearest: tuple[int, ...]
    fixed_tails: tuple[Array | None, ...]
    never: Array
    fair: bool

    def __call__(self, rows: Array, depth: int) -> tuple[Lists, Array, Array, Array]:
        """Neighbour lists of the rows, scores and tails (n_kinds, n_rows), and which are tied."""
        lists = self.neighbors.block(rows, depth)
        lengths = lists.lengths
        if self.fair or not self.neighbors.ordered_by_index:
            lengths = np.where(lists.open_end, _closed(lists), lengths)
        scores = np.empty((len(self.kernels), len(rows)))
        tails = np.empty((len(self.kernels), len(rows)))
        tied = np.zeros(len(rows), bool)
        for j, kernel in enumerate(self.kernels):
            score_rows(
                kernel,
                lists.items,
                lists.values,
                lengths,
                rows,
                self.fair,
                self.labels,
                self.constraints[j],
                scores[j],
                tied,
            )
            table = self.fixed_tails[j]
            if table is not None:
                tails[j] = table[lengths]
            else:
                stratified_tails(
                    lists.items,
                    lengths,
                    rows,
                    self.labels,
                    self.constraints[j],
                    self.nearest[j],
                    tails[j],
                )
            untested = self.never[j, self.labels.classes[rows]]
            scores[j, untested] = np.nan
            tails[j, untested] = 0.0
        return lists, scores, tails, tied


def _float_scores(
    question: Question,
    neighbors: Neighbors,
    tol: float,
    n_jobs: int | None,
    executor: Executor | None,
    progress: bool,
) -> Scores:
    plan = _plan(question, neighbors)
    depth = first_depth(question, neighbors, tol, plan.fixed_tails)
    n_kinds, n_items = len(question.kinds), neighbors.n_items
    scores = np.empty((n_kinds, n_items))
    tails = np.empty((n_kinds, n_items))
    tied = np.zeros(n_items, bool)
    rows = np.arange(n_items)
    deepest = depth
    cache = neighbors.new_cache(depth)
    while len(rows):
        deepest = depth
        blocks = list(neighbors.blocks(rows))
        calls = [(block, depth) for block in blocks]
        done = map_blocks(plan, calls, n_jobs=n_jobs, executor=executor, progress=progress)
        for block, (lists, block_scores, block_tails, block_tied) in zip(blocks, done, strict=True):
            scores[:, block] = block_scores
            tails[:, block] = block_tails
            tied[block] = block_tied
            if cache is not None:
                cache.items[block], cache.values[block] = lists.items, lists.values
                cache.lengths[block], cache.open_end[block] = lists.lengths, lists.open_end
        if cache is not None:
            neighbors.keep(cache)
            cache = None
        if depth >= neighbors.max_depth:
            break
        rows = rows[(tails[:, rows] > tol / 2).any(axis=0)]
        depth = min(2 * depth, neighbors.max_depth)
    return Scores(scores, tails, tied, deepest)


def _plan(question: Question, neighbors: Neighbors) -> _Plan:
    tasks = [question.task(kind) for kind in question.kinds]
    owner = f"variant {question.variant.name!r}"
    kernels = tuple(compile_kernel(question.variant.kernel_for(task), owner) for task in tasks)
    compiled(score_rows, SCORE_ROWS)
    if any(task.stratified for task in tasks):
        compiled(stratified_tails, STRATIFIED_TAILS)
    nearest = tuple(question.nearest(kind) for kind in question.kinds)
    return _Plan(
        neighbors,
        question.kernel_labels(),
        kernels,
        tuple(question.constraints(task) for task in tasks),
        nearest,
        tuple(
            None if task.stratified else fixed_tail(task.n_available, task.train_size, k)
            for task, k in zip(tasks, nearest, strict=True)
        ),
        never_tested(question),
        question.ties == "random",
    )


def never_tested(question: Question) -> Array:
    """Bool (n_kinds, n_classes): whether all items of the class are always in the training set."""
    n_classes = len(question.labels.classes)
    return np.array([[share == 0 for share in kind.tested_share(n_classes)] for kind in question.kinds])


def first_depth(
    question: Question, neighbors: Neighbors, tol: float, tails: tuple[Array | None, ...]
) -> int:
    """Depth that certifies `tol` for fixed-size training sets; a first guess for stratified ones."""
    depth = 1
    for kind, tail in zip(question.kinds, tails, strict=True):
        if tail is None:
            tail = fixed_tail(sum(kind.counts) - 1, sum(kind.n_train), question.nearest(kind))  # noqa: PLW2901
        enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
        depth = max(depth, enough)
    # One more position tells whether a tied group goes on beyond the list.
    return min(depth + (question.ties == "random"), neighbors.max_depth)


@jit
def _closed_lengths(values, lengths):  # type: ignore[no-untyped-def]
    closed = np.empty(len(lengths), np.int64)
    for r in range(len(lengths)):
        end = lengths[r]
        last = end - 1
        while last > 0 and values[r, last - 1] == values[r, end - 1]:
            last -= 1
        closed[r] = last
    return closed


def _closed(lists: Lists) -> Array:
    """Lengths without the last tied group, which may go on beyond the list."""
    found: Array = _closed_lengths(lists.values, lists.lengths)
    return found


def _item_weights(
    kinds: tuple[TrainingSets, ...], labels: Coded, average: str
) -> tuple[tuple[Fraction, ...], ...]:
    n_classes = len(labels.classes)
    counts = [int(count) for count in labels.counts]
    shares = [kind.tested_share(n_classes) for kind in kinds]
    if average == "pooled":
        return tuple(
            tuple(kind.probability * share / kind.n_test for share in row)
            for kind, row in zip(kinds, shares, strict=True)
        )
    tested = [
        sum((kind.probability * row[c] for kind, row in zip(kinds, shares, strict=True)), Fraction(0))
        for c in range(n_classes)
    ]
    n_tested = sum(count for count, share in zip(counts, tested, strict=True) if share)
    n_tested_classes = sum(1 for share in tested if share)

    def weight(kind: TrainingSets, share: Fraction, c: int) -> Fraction:
        if not tested[c]:
            return Fraction(0)
        within = n_tested if average == "item" else counts[c] * n_tested_classes
        return kind.probability * share / tested[c] / within

    return tuple(
        tuple(weight(kind, share, c) for c, share in enumerate(row))
        for kind, row in zip(kinds, shares, strict=True)
    )


def _summarise(question: Question, found: Scores) -> CompleteCV:
    labels = question.labels
    by_class = np.array([[float(w) for w in row] for row in question.item_weights])
    weights = by_class[:, labels.codes]  # (n_kinds, n_items)
    total = weights.sum(axis=0)
    exact = per_item_exact = None
    if found.scores.dtype == object:
        per_item_exact = _exact_per_item(question, found)
        exact = sum(
            (
                score * weight[c]
                for row, weight in zip(found.scores, question.item_weights, strict=True)
                for score, c in zip(row, labels.codes, strict=True)
                if score is not None
            ),
            Fraction(0),
        )
        score, bound = float(exact), 0.0
        per_item = np.array([np.nan if a is None else float(a) for a in per_item_exact])
    else:
        parts = np.where(weights > 0, weights * found.scores, 0.0)
        score = math.fsum(parts.ravel())
        per_item = np.full(len(total), np.nan)
        np.divide(parts.sum(axis=0), total, out=per_item, where=total > 0)
        if len(question.kinds) == 1:  # without the detour by the weights, to the last bit
            per_item = np.where(total > 0, found.scores[0], np.nan)
        missed = question.largest * math.fsum((weights * found.tails).ravel())
        bound = missed + max(
            rounding_allowance(
                sum(kind.counts) - 1, sum(kind.n_train), question.nearest(kind), question.largest
            )
            for kind in question.kinds
        )
    return CompleteCV(
        score=score,
        per_item=per_item,
        weights=total,
        error_bound=bound,
        n_train_sets=question.design.n_train_sets(labels),
        depth=found.depth,
        tied=int(found.tied.sum()),
        exact=exact,
        per_item_exact=per_item_exact,
        variant=question.variant.name,
        design=repr(question.design),
        ties=question.ties,
        average=question.average,
        parameters=question.parameters,
        classes=labels.classes,
        labels=labels.classes[labels.codes],
    )


def _exact_per_item(question: Question, found: Scores) -> tuple[Fraction | None, ...]:
    answers: list[Fraction | None] = []
    for x, c in enumerate(question.labels.codes):
        weights = [row[c] for row in question.item_weights]
        total = sum(weights, Fraction(0))
        if total == 0:
            answers.append(None)
            continue
        pairs = zip(weights, found.scores[:, x], strict=True)
        answers.append(sum((w * a for w, a in pairs if a is not None), Fraction(0)) / total)
    return tuple(answers)


def _check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        raise ValueError(msg)


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        msg = f"{name} must be a real number, got {value!r}"
        raise TypeError(msg)
    return float(value)


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
        parameters = {"n_neighbors": 1} if name == "knn" else {}
        for cv in (KFold(2), StratifiedKFold(2)):
            complete_cv(X, y, name, cv, **parameters)
