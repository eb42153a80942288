"""The kernels of a kind of training sets in a chain: what one does not serve goes to the next."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.parallel import stop_flag
from ..._base.typing import Array, Kernel
from ...kernel import (
    BY_DISTANCE,
    JOINT,
    LANES,
    Constraints,
    Labels,
    Link,
    Task,
    chain_of,
    compile_driver,
    compile_kernel,
    constraints_for,
)
from ...neighbors import NeighborLists
from ._problem import ScoringProblem
from ._rows import (
    SCORE_JOINTLY,
    SCORE_ROWS,
    SCORE_ROWS_BY_DISTANCE,
    Rows,
    score_jointly,
    score_rows,
    score_rows_by_distance,
)

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
