# mypy: allow-untyped-defs
"""The compiled passes over the lists of a block of samples, and the chains of kernels that they call.

Ties are found and ordered here. What one kernel of a chain does not serve goes to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..._base.parallel import stop_flag
from ..._base.typing import Array, Kernel
from ...kernel import (
    BY_DISTANCE,
    CONSTRAINTS,
    DISTANCE_KERNEL,
    JOINT,
    JOINT_KERNEL,
    KERNEL,
    LABELS,
    LANES,
    Constraints,
    Labels,
    Link,
    Order,
    Task,
    chain_of,
    compile_driver,
    compile_kernel,
    constraints_for,
    inner,
    jit,
)
from ...neighbors import NeighborLists, Neighbors
from ._problem import ScoringProblem

ITEMS = types.Array(types.int32, 2, "C")
DISTANCES = types.Array(types.float64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
SCORES = types.Array(types.float64, 1, "C")


class Rows(NamedTuple):
    """The lists of a block of tested samples, the ``targets``, as compiled passes read them.

    ``items`` and ``values`` (n_rows, depth) matter up to the ``lengths`` (n_rows,).
    """

    items: Array
    values: Array
    lengths: Array
    targets: Array
    average_ties: bool


ROWS = types.NamedTuple([ITEMS, DISTANCES, INTEGERS, INTEGERS, types.boolean], Rows)


@inner
def fill_group_ends(values, length, group_end):
    """``group_end[i]`` = one past the last of the first `length` positions that tie position i."""
    end = length
    for i in range(length - 1, -1, -1):
        if i + 1 < length and values[i] != values[i + 1]:
            end = i + 1
        group_end[i] = end


@inner
def order_of(order, group_end, items, values, length, average_ties):
    """The neighbor order of a row, in the first `length` entries of `order` and `group_end`."""
    for i in range(length):
        order[i] = int(items[i])
    if average_ties:
        fill_group_ends(values, length, group_end)
    return Order(order[:length], group_end[:length])


@jit
def score_rows(kernel, rows, labels, constraints, out, stop):
    """A_x of every row by the kernel; ends early once ``stop[0]`` is set."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        out[r] = kernel(near, labels, targets[r], constraints)


@jit
def score_rows_by_distance(kernel, rows, distances, labels, constraints, out, stop):
    """A_x of every row by a kernel that sees distances; ends early once ``stop[0]`` is set."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        length = int(lengths[r])
        near = order_of(order, group_end, items[r], values[r], length, average_ties)
        out[r] = kernel(near, distances[r, :length], labels, targets[r], constraints)


@jit
def score_jointly(kernel, rows, labels, constraints, scores, tails, stop):
    """Scores and tails (n_rows, n_kinds) of the rows; ends early at ``stop[0]``."""
    items, values, lengths, targets, average_ties = rows
    depth = items.shape[1]
    order = np.empty(depth, labels.classes.dtype)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    for r in range(len(targets)):
        if stop[0]:
            break
        near = order_of(order, group_end, items[r], values[r], int(lengths[r]), average_ties)
        kernel(near, labels, targets[r], constraints, scores[r], tails[r])


_STOP = types.Array(types.boolean, 1, "C")
SCORE_ROWS = types.void(KERNEL, ROWS, LABELS, CONSTRAINTS, SCORES, _STOP)
SCORE_ROWS_BY_DISTANCE = types.void(DISTANCE_KERNEL, ROWS, DISTANCES, LABELS, CONSTRAINTS, SCORES, _STOP)
SCORE_JOINTLY = types.void(JOINT_KERNEL, ROWS, LABELS, CONSTRAINTS, DISTANCES, DISTANCES, _STOP)


def usable_lengths(lists: NeighborLists, neighbors: Neighbors, average_ties: bool) -> Array:
    """Lengths up to which the tie rule can use the lists, int64 (n_rows,).

    A last tied group that may go on beyond the list is left out, unless both the tie rule and the lists
    order ties by index: the listed part of the group is then its beginning.
    """
    if average_ties or not neighbors.ordered_by_index:
        return np.where(lists.may_tie_beyond, _closed_lengths(lists.values, lists.lengths), lists.lengths)
    return lists.lengths


@jit
def _closed_lengths(values, lengths):
    """Lengths without the last tied group."""
    closed = np.empty(len(lengths), np.int64)
    for r in range(len(lengths)):
        end = lengths[r]
        last = end - 1
        while last > 0 and values[r, last - 1] == values[r, end - 1]:
            last -= 1
        closed[r] = last
    return closed


@inner
def labels_differ(labels, one, other):
    """Return True if two samples have different classes or targets."""
    if labels.classes[one] != labels.classes[other]:
        return True
    for output in range(labels.values.shape[1]):
        if labels.values[one, output] != labels.values[other, output]:
            return True
    return False


@inner
def first_mixed_tie(items, values, length, labels):
    """First position whose sample ties the one before it and has another label, or -1."""
    for i in range(1, length):
        if values[i] == values[i - 1] and labels_differ(labels, items[i], items[i - 1]):
            return i
    return -1


@jit
def first_mixed_groups(items, values, lengths, labels, out):
    """``out[r]`` = start of the first tied group of different labels in row r, or -1; O(depth) per row."""
    for r in range(len(lengths)):
        start = first_mixed_tie(items[r], values[r], lengths[r], labels)
        while start > 0 and values[r, start] == values[r, start - 1]:
            start -= 1
        out[r] = start


def mixed_groups(lists: Any, lengths: Array, labels: Labels) -> Array:
    """The start of the first tied group of different labels in every list, int64 (n_rows,); -1 for none."""
    found = np.empty(len(lengths), np.int64)
    first_mixed_groups(lists.items, lists.values, lengths, labels, found)
    return found


def order_ties_by_score(
    lists: NeighborLists, lengths: Array, rows: Array, labels: Labels, scores: Array, order: int
) -> NeighborLists:
    """The lists with the lowest (`order` -1) or highest (1) single score first in each tied group.

    ``scores[own_class, c]`` is the single score of a sample of class c: the score if it alone decides.
    """
    items = lists.items.copy()
    _order_ties(items, lists.values, lengths, rows, labels.classes, labels.values, scores, order)
    return replace(lists, items=items)


@jit
def _order_ties(items, distances, lengths, rows, classes, values, scores, order):
    """Sort every tied group, stably, by the single scores of its samples; O(b^2) for b tied samples."""
    keys = np.empty(items.shape[1])
    for r in range(len(rows)):
        own_class = classes[rows[r]]
        for i in range(lengths[r]):
            item = items[r, i]
            key = scores[own_class, classes[item]]
            for output in range(values.shape[1]):
                gap = values[item, output] - values[rows[r], output]
                key += gap * gap
            key *= order
            at = i
            while at > 0 and distances[r, at - 1] == distances[r, i] and keys[at - 1] < key:
                keys[at] = keys[at - 1]
                items[r, at] = items[r, at - 1]
                at -= 1
            keys[at] = key
            items[r, at] = item


PASSES = {
    "": (score_rows, SCORE_ROWS),
    BY_DISTANCE: (score_rows_by_distance, SCORE_ROWS_BY_DISTANCE),
    JOINT: (score_jointly, SCORE_JOINTLY),
}
"""The compiled passes over the rows of a block, by the form of the kernel."""


class Block(NamedTuple):
    """The lists of some tested samples, as far as the tie rule can use them.

    ``distances`` are those of the listed samples, None where no kernel sees them.
    """

    lists: NeighborLists
    lengths: Array
    rows: Array
    labels: Labels
    average_ties: bool
    distances: Array | None = None

    def as_read(self) -> Rows:
        """The block as compiled passes read it."""
        return Rows(self.lists.items, self.lists.values, self.lengths, self.rows, self.average_ties)

    def cut(self, at: Array) -> Block:
        """Some rows of the block; the block itself for all."""
        if len(at) == len(self.rows):
            return self
        lists = self.lists.cut(at, self.lists.items.shape[1])
        distances = None if self.distances is None else np.ascontiguousarray(self.distances[at])
        return self._replace(lists=lists, lengths=self.lengths[at], rows=self.rows[at], distances=distances)


class Step(NamedTuple):
    """A kernel with the constraints that it reads, and its form, see `Link`."""

    kernel: Kernel
    constraints: Constraints
    form: str
    owner: str

    def compiled(self) -> Kernel:
        """The kernel, compiled or loaded in the calling thread."""
        return _compiled(self.kernel, self.form, self.owner)


@functools.lru_cache(maxsize=256)
def _compiled(kernel: Kernel, form: str, owner: str) -> Kernel:
    if form in PASSES:
        compile_driver(*PASSES[form])
    return compile_kernel(kernel, owner, form, now=False)


@dataclass(frozen=True)
class Part:
    """A chain of kernels for some kinds of training sets.

    Attributes
    ----------
    kinds : slice
        The places of the kinds in the design.
    steps : tuple of Step
        The kernels in the order in which they are tried.
    """

    kinds: slice
    steps: tuple[Step, ...]

    def compile(self) -> None:
        """Compile what is tried first; the others are compiled when a sample needs them."""
        self.steps[0].compiled()

    @property
    def constraints(self) -> Constraints:
        """The constraints of the last kernel, which serves everything."""
        return self.steps[-1].constraints

    @property
    def sees_distances(self) -> bool:
        """Return True if some kernel sees distances."""
        return any(step.form == BY_DISTANCE for step in self.steps)

    def fill(self, block: Block, scores: Array, tails: Array) -> None:
        """Fill what is not yet served of the scores (n_kinds, n_rows); the tails where a joint kernel does.

        Both are of these kinds only.
        """
        for step in self.steps:
            at = unserved(scores.T)
            if not len(at):
                return
            _run(step, block.cut(at), at, scores, tails)

    def scores(self, block: Block) -> Array:
        """The scores (n_rows,) by the one kind of this part."""
        scores, tails = np.full((2, 1, len(block.rows)), np.inf)
        self.fill(block, scores, tails)
        return np.asarray(scores[0])


def unserved(scores: Array) -> Array:
    """The rows of which some score is `NOT_SERVED`."""
    left = np.isposinf(scores)
    rows: Array = np.flatnonzero(left if left.ndim == 1 else left.any(axis=1))
    return rows


def _run(step: Step, block: Block, at: Array, scores: Array, tails: Array) -> None:
    """Score a block, the rows `at`, by one kernel."""
    kernel, rows = step.compiled(), block.as_read()
    given = block.labels, step.constraints
    if step.form == JOINT:
        found, beyond = np.zeros((2, len(at), len(scores)))
        score_jointly(kernel, rows, *given, found, beyond, stop_flag())
        beyond[unserved(found)] = np.inf  # of the samples that it has left
        scores[:, at], tails[:, at] = found.T, beyond.T
        return
    out = np.zeros(len(at))
    if step.form == BY_DISTANCE:
        score_rows_by_distance(kernel, rows, block.distances, *given, out, stop_flag())
    else:
        score_rows(kernel, rows, *given, out, stop_flag())
    scores[0, at] = out


def part_of(problem: ScoringProblem, task: Task, at: int = 0, *, joint: bool = True) -> Part:
    """The chain for one kind of training sets, the kind `at` of the design; joint kernels are optional."""
    links = _chain(problem, [task])
    first = [link for link in links if link.form == JOINT] if joint else []
    rest = links[-1:] if first else [link for link in links if link.form != JOINT]
    return Part(slice(at, at + 1), steps_of(problem, task, [*first, *rest]))


def known_set_part(problem: ScoringProblem, task: Task) -> Part:
    """The chain for one known training set, whose samples are listed without distances; compiled.

    Raises
    ------
    ValueError
        If the rule needs distances.
    """
    problem.variant.kernel_for(task)
    part = part_of(problem, task)
    part.compile()
    return part


def parts_of(problem: ScoringProblem, tasks: Sequence[Task]) -> list[Part]:
    """The chains for all kinds of training sets: joint kernels for several kinds, then each kind alone.

    What a joint kernel leaves goes to the last kernel of each kind.
    """
    if len(tasks) == 1:
        return [part_of(problem, tasks[0])]
    parts: list[Part] = []
    for first in range(0, len(tasks), LANES):
        some = tasks[first : first + LANES]
        links = _chain(problem, some)
        if not links:
            return [part_of(problem, task, at) for at, task in enumerate(tasks)]
        parts.append(Part(slice(first, first + len(some)), steps_of(problem, some[0], links)))
    for at, task in enumerate(tasks):
        parts.append(Part(slice(at, at + 1), steps_of(problem, task, _chain(problem, [task])[-1:])))
    return parts


def _chain(problem: ScoringProblem, tasks: Sequence[Task]) -> Sequence[Link]:
    return chain_of(problem.variant, tasks, problem.parameters)


def steps_of(problem: ScoringProblem, task: Task, links: Sequence[Link]) -> tuple[Step, ...]:
    """The links of a chain with the constraints that they read."""
    nearest = problem.variant.n_nearest(**problem.parameters)
    owner = f"variant {problem.variant.name!r}"
    known: dict[int, Constraints] = {}  # links may share their tables
    steps = []
    for link in links:
        if id(link.tables) not in known:
            known[id(link.tables)] = (
                problem.constraints(task)
                if link.tables is None
                else constraints_for(task, link.tables, n_nearest=nearest)
            )
        steps.append(Step(link.kernel, known[id(link.tables)], link.form, owner))
    return tuple(steps)
