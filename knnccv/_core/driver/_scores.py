# mypy: allow-untyped-defs
"""A_x of every sample: chains of kernels on lists that are deepened until the tolerance holds.

In exact mode (`exact_scores`) the source of the kernels runs, unjitted, on rational numbers.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._base.parallel import stop_flag
from ..._base.typing import Array
from ...designs import TrainingSets
from ...kernel import Constraints, Labels, Task, as_python
from ...kernel.sampling import expected_position, fixed_tail, rounding_allowance, stratified_tails
from ...neighbors import NeighborLists, Neighbors
from ._deepen import Jobs, Watch, alike_samples, deepen, first_depth
from ._problem import ScoringProblem
from ._rows import (
    Block,
    Part,
    Rows,
    mixed_groups,
    order_ties_by_score,
    parts_of,
    score_rows,
    usable_lengths,
)
from ._validation import Sampling


class InexactError(ValueError):
    """There is no exact score; the message says why."""


@dataclass(frozen=True)
class Evaluation:
    """A problem, the neighbors that it is solved with, and the options of the computation."""

    problem: ScoringProblem
    neighbors: Neighbors
    tol: float
    exact: bool
    n_jobs: int | None
    tie_order: int = 0
    sampling: Sampling | None = None


@dataclass(frozen=True)
class Reach:
    """How far a neighbor list matters, for one kind of training sets.

    A position of a neighbor list matters as long as fewer than K of the samples before it are in the
    training set. The probability of that, its *tail*, falls along the list.

    Attributes
    ----------
    constraints : Constraints
        The training sets.
    n_nearest : int
        The number of nearest training samples that decide.
    fixed_tail : ndarray of shape (n_available + 1,), or None
        The tail after every number of samples; None if it depends on their classes (stratified designs).
    untested : bool ndarray of shape (n_classes,)
        Classes whose samples are in every training set.
    radius : float, or None
        The distance within which all training samples decide; None if the `n_nearest` do.
    """

    constraints: Constraints
    n_nearest: int
    fixed_tail: Array | None
    untested: Array
    radius: float | None = None

    def tails(self, lengths: Array, items: Array, rows: Array, labels: Labels) -> Array:
        """The tails after that many samples of every row; `items` matter in stratified designs only."""
        if self.fixed_tail is not None:
            known: Array = self.fixed_tail[lengths]
            return known
        tails = np.empty(len(rows))
        stratified_tails(items, lengths, rows, labels, self.constraints, self.n_nearest, tails)
        return tails

    def end_within(self, distances: Array, lengths: Array) -> Array:
        """1 for lists that may go on within the radius, as they end before it and are not whole; or 0."""
        last = distances[np.arange(len(lengths)), np.maximum(lengths, 1) - 1]
        n_others = self.constraints.counts.sum() - self.constraints.held_out
        ended: Array = (lengths >= n_others) | ((lengths > 0) & (last > self.radius))
        return np.where(ended, 0.0, 1.0)

    def ties_that_matter(
        self, mixed: Array, lists: NeighborLists, rows: Array, labels: Labels, tol: float
    ) -> Array:
        """Mark rows with a tied group of different labels that is reached with probability > ``tol / 2``.

        `mixed` has the start of the first such group of every row, -1 for none: later ones are reached less
        often. All lists that are deep enough for `tol` give the same answer, whatever their depth.
        """
        tied = (mixed >= 0) & (self.radius is None)
        unsure = np.flatnonzero(tied & (mixed >= self.n_nearest))  # fewer samples never decide
        if len(unsure):
            items = lists.items if self.fixed_tail is not None else lists.items[unsure]
            tied[unsure] = self.tails(mixed[unsure], items, rows[unsure], labels) > tol / 2
        tied &= ~self.untested[labels.classes[rows]]
        return tied


def reach_of(problem: ScoringProblem, task: Task, constraints: Constraints, untested: Array) -> Reach:
    """How far lists matter for the training sets of a task."""
    nearest = min(problem.variant.n_nearest(**problem.parameters), task.train_size)
    tail = None if task.stratified else fixed_tail(task.n_available, task.train_size, nearest)
    return Reach(constraints, nearest, tail, untested, problem.radius)


@dataclass(frozen=True)
class BlockScorer:
    """Everything a worker needs to score a block of samples.

    ``tie_order`` is not 0 if tied samples are ordered by their single scores, ``losses``, see
    `order_ties_by_score`.
    """

    neighbors: Neighbors
    labels: Labels
    reaches: tuple[Reach, ...]
    parts: tuple[Part, ...]
    average_ties: bool
    tol: float
    tie_order: int = 0
    losses: Array | None = None

    def compile(self) -> None:
        """Compile the functions that blocks call first, or load them from the cache; once per process."""
        begun = 0
        for part in self.parts:
            if part.kinds.stop > begun:
                part.compile()
                begun = part.kinds.stop

    @property
    def fixed_tails(self) -> tuple[Array | None, ...]:
        """The `fixed_tail` of every kind of training sets."""
        return tuple(reach.fixed_tail for reach in self.reaches)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, Array, Array], Array]:
        """Return scores and tails (n_kinds, n_rows) and a mask of tied rows; and a mask of open rows."""
        lists, lengths = self.usable(lists, rows)
        scores, tails = self.scores_and_tails(lists, lengths, rows)
        is_open = np.asarray((tails > self.tol / 2).any(axis=0))
        return (scores, tails, self.ties(lists, lengths, rows)), is_open

    def ties(self, lists: NeighborLists, lengths: Array, rows: Array) -> Array:
        """Mark rows with ties that matter."""
        mixed = mixed_groups(lists, lengths, self.labels)
        tied = np.zeros(len(rows), bool)
        for reach in self.reaches:
            tied |= reach.ties_that_matter(mixed, lists, rows, self.labels, self.tol)
        return tied

    def usable(self, lists: NeighborLists, rows: Array) -> tuple[NeighborLists, Array]:
        """The lists in the order that the tie rule wants, and the lengths up to which it can use them."""
        lengths = usable_lengths(lists, self.neighbors, self.average_ties or self.tie_order != 0)
        if self.losses is not None:
            lists = order_ties_by_score(lists, lengths, rows, self.labels, self.losses, self.tie_order)
        return lists, lengths

    def scores_and_tails(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[Array, Array]:
        """Scores, NaN if a sample is never tested, and the shares that lists leave undecided.

        Both have the shape (n_kinds, n_rows).
        """
        scores, tails = np.full((2, len(self.reaches), len(rows)), np.inf)
        seen = any(part.sees_distances for part in self.parts)
        distances = self.neighbors.distances_of(lists) if seen else None
        block = Block(lists, lengths, rows, self.labels, self.average_ties, distances)
        for part in self.parts:
            part.fill(block, scores[part.kinds], tails[part.kinds])
        for reach, score, tail in zip(self.reaches, scores, tails, strict=True):
            untested = reach.untested[self.labels.classes[rows]]
            if reach.radius is not None and distances is not None:
                tail[:] = reach.end_within(distances, lengths)
            unknown = np.flatnonzero(tail == np.inf)  # no kernel has filled them
            if len(unknown):
                some = block.cut(unknown)
                tail[unknown] = reach.tails(some.lengths, some.lists.items, some.rows, self.labels)
            score[untested], tail[untested] = np.nan, 0.0
        return scores, tails


def block_scorer(
    problem: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    tie_order: int = 0,
) -> BlockScorer:
    """The scorer of a problem, compiled."""
    tasks = [problem.task(kind) for kind in problem.training_sets]
    parts = parts_of(problem, tasks)
    alone = parts[-len(tasks) :]  # after the parts for several kinds
    reaches = [
        reach_of(problem, task, part.constraints, untested)
        for task, part, untested in zip(tasks, alone, problem.never_tested(), strict=True)
    ]
    scorer = BlockScorer(
        neighbors,
        problem.kernel_labels(),
        tuple(reaches),
        tuple(parts),
        problem.ties == "random" and not tie_order,
        tol,
        tie_order,
        problem.single_neighbor_scores() if tie_order else None,
    )
    scorer.compile()
    return scorer


def float_scores(given: Evaluation, scorer: Any, jobs: Jobs, *, keep: bool = False) -> Scores:
    """A_x of every sample in floating point, from lists that are deepened until the tolerance holds.

    Parameters
    ----------
    given : Evaluation
    scorer : frozen dataclass
        `block_scorer` of the problem, or other work of `deepen` that finds scores, tails and ties.
    jobs : Jobs
    keep : bool, default False
        Let the neighbors keep their lists.

    Raises
    ------
    InexactError
        At the first sample that the kernel leaves out and that may not be sampled.
    """
    problem, neighbors, tol = given.problem, given.neighbors, given.tol
    must_serve = problem.way.may_leave_out and not problem.way.samples_rest
    tails_of = getattr(scorer, "fixed_tails", None)
    depth = first_depth(problem, neighbors, tol, tails_of)
    alike = None if given.tie_order else alike_samples(problem, neighbors)
    first = np.arange(neighbors.n_items) if alike is None else alike
    scores, tails = np.empty((2, len(problem.training_sets), neighbors.n_items))
    tied = np.zeros(neighbors.n_items, bool)
    # Lists that are kept must be those of all samples.
    keep = keep and neighbors.room(depth) is not None
    rows = np.arange(neighbors.n_items) if keep else np.unique(first)
    silent = tails_of is None or given.tie_order != 0
    watch = Watch(problem, neighbors, lambda row: list(deepen(scorer, row, depth)), silent=silent)

    def begin(rows: Array, *now: Any) -> None:
        watch(rows[first[rows] == rows], *now)

    for block, deepest, found, is_open in deepen(scorer, rows, depth, jobs, keep=keep, begin=begin):
        scores[:, block], tails[:, block], tied[block] = found
        is_open &= first[block] == block
        if must_serve:
            last = (found[1] <= tol / 2) | (deepest >= neighbors.max_depth)
            _check_complete(problem, block, np.where(last, found[0], 0.0))
    return Scores(scores[:, first], tails[:, first], tied[first], deepest)


def _check_complete(problem: ScoringProblem, rows: Array, scores: Array) -> None:
    """Raise InexactError if the kernel has left one of these samples out; `scores` (n_kinds, n_rows)."""
    left = np.flatnonzero((np.isnan(scores) & problem.tested()[:, rows]).any(axis=0))
    if not len(left):
        return
    why = "its kernel does not serve these parameters, or would take too long"
    if problem.leaves_groups:
        why = f"it would go through too many sets of groups of {problem.design!r}"
    msg = f"variant {problem.variant.name!r} cannot score sample {rows[left[0]]} exactly: {why}"
    if problem.way.method == "auto":
        msg += ", and it has no function decide to estimate the score"
    else:
        msg += "; method='auto' estimates such scores from random training sets"
    raise InexactError(msg)


def exact_scores(problem: ScoringProblem, neighbors: Neighbors, tol: float) -> Scores:
    """A_x of every sample as Fractions; ties matter if they are reached with probability > ``tol / 2``.

    Raises
    ------
    ValueError
        If the neighbor lists end before the last position that can matter.
    """
    n_items = neighbors.n_items
    kinds = problem.training_sets
    # There K of the samples passed are in every training set.
    depth = max(
        1, *(kind.n_available - max(sum(kind.n_train) - problem.nearest(kind), 0) for kind in kinds)
    )
    if depth > neighbors.max_depth:
        msg = (
            f"exact=True needs {depth} neighbors of every sample, but {neighbors!r} has at most "
            f"{neighbors.max_depth}"
        )
        raise ValueError(msg)
    needed = depth
    average_ties = problem.ties == "random"
    if average_ties or not neighbors.ordered_by_index:  # a tied group must be complete
        depth = neighbors.max_depth
    labels = exact_labels(problem)
    untested = problem.never_tested()
    tasks = [problem.task(kind) for kind in problem.training_sets]
    reaches = [
        reach_of(problem, task, problem.constraints(task), never)
        for task, never in zip(tasks, untested, strict=True)
    ]
    scorer = BlockScorer(neighbors, problem.kernel_labels(), tuple(reaches), (), average_ties, tol)
    tied = np.zeros(n_items, bool)
    score_rows_exactly = as_python(score_rows)
    scores = np.full((len(problem.training_sets), n_items), Fraction(0), dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        lists = neighbors.search(rows, depth)
        lengths = usable_lengths(lists, neighbors, average_ties)
        wanted = ~untested[:, problem.labels.codes[rows]].all(axis=0)
        missing = (lengths < needed) & wanted
        if missing.any():
            at = int(rows[np.argmax(missing)])
            msg = (
                f"exact=True needs {needed} neighbors, ties included; the list of sample {at} is too short"
            )
            raise ValueError(msg)
        tied[rows] = scorer.ties(lists, lengths, rows)
        for j, kind in enumerate(problem.training_sets):
            task = problem.task(kind, Fraction)
            kernel = as_python(problem.variant.kernel_for(task))
            constraints = problem.constraints(task)
            tested = ~untested[j, problem.labels.codes[rows]]
            out = np.full(int(tested.sum()), None, dtype=object)
            given = Rows(
                lists.items[tested],
                lists.values[tested],
                lengths[tested],
                as_objects(rows[tested]),
                average_ties,
            )
            score_rows_exactly(kernel, given, labels, constraints, out, stop_flag())
            scores[j, rows[tested]] = [rational(score, problem, (constraints,)) for score in out]
    return Scores(scores, np.zeros(scores.shape), tied, depth)


def exact_labels(problem: ScoringProblem) -> Labels:
    """Classes as Python integers and targets as Fractions, as the kernel reads them in exact mode."""
    given = problem.kernel_labels()
    values = np.empty(given.values.shape, dtype=object)
    for at in np.ndindex(values.shape):
        values[at] = Fraction(float(given.values[at]))
    return Labels(as_objects(given.classes), values)


def rational(score: Any, problem: ScoringProblem, constraints: tuple[Constraints, ...]) -> Fraction:
    """The kernel's score as a Fraction; otherwise TypeError, which names tables() or the kernel."""
    if isinstance(score, (int, Fraction)):
        return Fraction(score)
    name = problem.variant.name
    found = _not_rational(constraints)
    if found:
        msg = (
            f"tables() of variant {name!r} does not keep to rational numbers: in exact mode it gave "
            f"{found} and the kernel returned {score!r}; tables() must make its numbers with task.number"
        )
    else:
        msg = (
            f"the kernel of variant {name!r} does not keep to rational numbers: it returned {score!r} in "
            "exact mode; products must start from constraints.unit"
        )
    raise TypeError(msg)


def _not_rational(constraints: tuple[Constraints, ...]) -> str:
    """The first entry of the tables that is neither integer nor Fraction, with its place, or ""."""
    for each, part in itertools.product(constraints, ("numbers", "weights", "table")):
        values: Array = getattr(each, part)
        for at in np.ndindex(values.shape):
            if not isinstance(values[at], (int, Fraction, np.integer)):
                return f"{part}[{', '.join(map(str, at))}] = {values[at]!r}"
    return ""


def as_objects(values: Array) -> Array:
    """An array of Python integers; with NumPy's integers Fractions would not stay exact."""
    out = np.empty(len(values), dtype=object)
    out[:] = [int(value) for value in values]
    return out


ROUNDING = 1e-9
"""How far beyond its range rounding may take a score, per unit."""


@dataclass(frozen=True)
class Scores:
    """A_x of every sample for every kind of training sets.

    ``scores`` (n_kinds, n_items) are floats or Fractions, ``tails`` (n_kinds, n_items) the probabilities
    that the listed neighbors did not decide. ``tied`` (n_items,) marks samples whose ties matter; ``depth``
    is the largest depth used.
    """

    scores: Array
    tails: Array
    tied: Array
    depth: int


@dataclass(frozen=True, eq=False, repr=False)
class Scored:
    """The mean score of a problem with its bound, and the scores of the samples.

    The attributes are those of `CompleteCV`, which says what they mean.
    """

    score: float
    per_item: Array
    weights: Array
    error_bound: float
    kinds: tuple[TrainingSets, ...]
    depth: int
    n_tied: int
    fraction: Fraction | None = None
    per_item_fraction: tuple[Fraction | None, ...] | None = None
    truncation_bound: float = 0.0


def summarize_scores(problem: ScoringProblem, found: Scores) -> Scored:
    """Return the mean score with its bound and the samples' scores."""
    labels = problem.labels
    by_class = np.array([[float(w) for w in row] for row in problem.item_weights])
    weights = by_class[:, labels.codes]  # (n_kinds, n_items)
    total = weights.sum(axis=0)
    fraction = per_item_fraction = None
    if found.scores.dtype == object:
        fraction = (np.array(problem.item_weights)[:, labels.codes] * found.scores).sum()
        means = (kind_weights(problem, exact=True) * found.scores).sum(axis=0)
        per_item_fraction = tuple(a if w else None for a, w in zip(means, total, strict=True))
        score, bound = float(fraction), 0.0
        per_item = np.array([np.nan if a is None else float(a) for a in per_item_fraction])
    else:
        parts = np.where(weights > 0, weights * found.scores, 0.0)
        score = math.fsum(parts.ravel())
        per_item = np.full(len(total), np.nan)
        np.divide(parts.sum(axis=0), total, out=per_item, where=total > 0)
        if len(problem.training_sets) == 1:  # without the weights, which would change the last bit
            per_item = np.where(total > 0, found.scores[0], np.nan)
        truncated = problem.largest * float((weights * found.tails).sum())
        underflow = weights.size * float(np.finfo(float).smallest_subnormal)
        bound = (
            truncated
            + underflow
            + max(_rounding(problem, kind, found.depth) for kind in problem.training_sets)
        )
        if not np.isfinite(score):  # an error of the kernel: nothing is certain
            bound = math.inf
    _check_range(problem, per_item, bound)
    return Scored(
        score=min(max(score, problem.score.low), problem.score.high),  # rounding may leave the range
        per_item=per_item,
        weights=total,
        error_bound=bound,
        kinds=problem.training_sets,
        depth=found.depth,
        n_tied=int(found.tied.sum()),
        fraction=fraction,
        per_item_fraction=per_item_fraction,
        truncation_bound=bound,
    )


def _check_range(problem: ScoringProblem, per_item: Array, bound: float) -> None:
    """Raise ValueError if scores are not in the range that the rule declares."""
    declared = problem.score
    low, high = declared.low, declared.high
    slack = bound + ROUNDING * max(1.0, declared.largest_for(problem.values))
    outside = np.flatnonzero((per_item < low - slack) | (per_item > high + slack))
    if len(outside):
        msg = (
            f"declare the range of the score in score() of variant {problem.variant.name!r}: it is "
            f"{low:g} to {high:g} now, and sample {outside[0]} scores {per_item[outside[0]]:g}"
        )
        raise ValueError(msg)


def kind_weights(problem: ScoringProblem, exact: bool) -> Array:
    """Weight of every kind of training sets for a sample, (n_kinds, n_items); 1 in sum over the kinds.

    0 for a sample that is never tested. Fractions if `exact`.
    """
    by_class = np.array(problem.item_weights, dtype=object)
    total = by_class.sum(axis=0)
    total[total == 0] = Fraction(1)
    shares = by_class / total
    weights: Array = (shares if exact else shares.astype(float))[:, problem.labels.codes]
    return weights


def _rounding(problem: ScoringProblem, kind: TrainingSets, depth: int) -> float:
    """Bound of the rounding error of the score, for one kind of training sets.

    Fixed-size weights are most accurate where they are large, so the mean position of the K-th nearest
    training sample decides. A product along a stratified walk is rounded twice at every step, one over tied
    groups six times.
    """
    if problem.radius is not None:  # laws of all samples within, each number a product of a few factors
        return rounding_allowance(1, 2.0 * depth, problem.largest)
    k = problem.nearest(kind)
    walked = expected_position(sum(kind.counts) - kind.held_out, sum(kind.n_train), k)
    if kind.stratified:
        walked += depth / 8
    elif problem.leaves_groups and problem.ties == "random":
        walked += depth / 2
    return rounding_allowance(k, walked, problem.largest)
