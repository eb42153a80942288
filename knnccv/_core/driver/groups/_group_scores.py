# mypy: allow-untyped-defs
"""Scores of designs that leave whole groups out.

- One group left out: the training set is known, and holds all samples outside the tested sample's group.
  The kernel gets these samples in order, and a task that puts all of them into the training set.
- Several groups left out, one nearest training sample decides: `_group_members`.
- Several groups left out, several samples decide: the sets of groups are enumerated by `_group_sets`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from ...._base.parallel import stop_flag
from ...._base.typing import Array, Kernel
from ....designs import GroupTrainingSets, LeaveGroupsOut
from ....kernel import Constraints, Labels, as_python, compile_driver, compile_kernel
from ....kernel.sampling import fixed_tail
from ....neighbors import NeighborLists, Neighbors, within
from .. import (
    FIRST_MIXED_GROUPS,
    SCORE_ROWS,
    Rows,
    Scores,
    ScoringProblem,
    as_objects,
    exact_labels,
    first_mixed_groups,
    rational,
    score_rows,
    usable_lengths,
)
from ._group_members import SCORE_NEAREST_MEMBERS, DrawnGroups, score_nearest_members
from ._group_sets import SCORE_GROUP_SETS, SetSizes, SetSums, most_cases, score_group_sets, sizes_to_score


@dataclass(frozen=True)
class Outside:
    """The known training sets of a design that leaves out one group: the samples of the other groups.

    ``groups`` (n_items,) are the groups; ``size_of`` (n_items,) is the index of the size of a tested
    sample's training set; ``nearest`` (n_sizes,) are the numbers of nearest samples that decide.
    """

    groups: Array
    size_of: Array
    nearest: Array

    def cut(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[NeighborLists, Array]:
        """The lists of training samples, as far as they decide; and how many decide, (n_rows,)."""
        nearest = self.nearest[self.size_of[rows]]
        known = replace(lists, lengths=lengths)
        every, first = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        own = self.groups[rows]
        return within(known, every, self.groups[None], first, own, nearest, equal=False), nearest


def outside_of(problem: ScoringProblem, n_nearest: int, groups: Array | None = None) -> Outside:
    """The known training sets of a problem that leaves out one group, by the `groups` of the samples."""
    kind = cast(GroupTrainingSets, problem.training_sets[0])
    if groups is None:
        groups = cast(LeaveGroupsOut, problem.design).codes
    size_of = np.searchsorted(kind.train_sizes, sum(kind.sizes) - np.array(kind.sizes)[groups])
    return Outside(groups, size_of, np.array([min(n_nearest, size) for size in kind.train_sizes]))


@dataclass(frozen=True)
class GroupScorer:
    """Everything a worker needs to score a block of samples.

    ``constraints`` has an entry for each

    - size of training sets, if one group is left out; `outside` knows them;
    - training set of one sample, if several groups are left out and one nearest sample decides;
    - size of training sets in ``nearest``: those below K, and one for all larger ones, otherwise.

    A sample with more than ``most_cases`` sets of groups to go through is left out, its score NaN.
    ``group_tail[m]`` is the probability that none of m groups is in the training set; in exact mode 1
    where that is possible, otherwise 0. Ties of different labels count if their own probability, in
    ``tie_tails``, is above ``min_tail``.
    """

    neighbors: Neighbors
    labels: Labels
    kernel: Kernel
    constraints: tuple[Constraints, ...]
    outside: Outside | None
    drawn: DrawnGroups
    nearest: tuple[int, ...]
    most_cases: int
    group_tail: Array
    tie_tails: Array
    min_tail: float
    average_ties: bool
    exact: bool = False

    def compile(self) -> None:
        """Compile the functions that blocks call, or load them from the cache; once per process."""
        compile_kernel(self.kernel, "the scorer", now=False)
        compile_driver(score_rows, SCORE_ROWS)
        compile_driver(first_mixed_groups, FIRST_MIXED_GROUPS)
        compile_driver(score_nearest_members, SCORE_NEAREST_MEMBERS)
        if self.nearest:
            compile_driver(score_group_sets, SCORE_GROUP_SETS)

    def __call__(self, lists: NeighborLists, rows: Array) -> tuple[tuple[Array, Array, Array], Array]:
        """Return scores and tails (1, n_rows) and a mask of tied rows; and a mask of open rows."""
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        found = self._score(lists, lengths, rows)
        return found, found[1][0] > self.min_tail

    def scores_and_tails(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[Array, Array]:
        """Scores and tails, (1, n_rows)."""
        return self._score(lists, lengths, rows)[:2]

    def _score(self, lists: NeighborLists, lengths: Array, rows: Array) -> tuple[Array, Array, Array]:
        scores = np.zeros(len(rows), object if self.exact else float)
        targets = as_objects(rows) if self.exact else rows
        given = Rows(lists.items, lists.values, lengths, targets, self.average_ties)
        if self.outside is not None:
            tails, tied = self._score_outside(self.outside, lists, lengths, rows, scores)
        else:
            tails, tied = (self._score_sets if self.nearest else self._score_members)(given, scores)
        return scores[None], tails[None], tied

    def _python(self, function: Kernel) -> Kernel:
        """One of the passes over rows, unjitted in exact mode."""
        return as_python(function) if self.exact else function

    def _score_outside(
        self, outside: Outside, lists: NeighborLists, lengths: Array, rows: Array, scores: Array
    ) -> tuple[Array, Array]:
        """Fill in the scores if T holds all samples outside the group; return tails and ties."""
        lists, nearest = outside.cut(lists, lengths, rows)
        size_of = outside.size_of[rows]
        for size in np.unique(size_of):
            at = np.flatnonzero(size_of == size)
            part, some = scores[at], lists.cut(at, lists.items.shape[1])
            targets = as_objects(rows[at]) if self.exact else rows[at]
            given = some.items, some.values, some.lengths, targets, self.average_ties, self.labels
            self._python(score_rows)(self.kernel, *given, self.constraints[size], part, stop_flag())
            scores[at] = part
        tied = np.zeros(len(rows), bool)
        if not self.exact:
            mixed = np.empty(len(rows), np.int64)
            first_mixed_groups(lists.items, lists.values, lists.lengths, self.labels, mixed)
            tied = (mixed >= 0) & (mixed < nearest)
        return (lists.lengths < nearest).astype(float), tied

    def _score_members(self, rows: Rows, scores: Array) -> tuple[Array, Array]:
        """Fill in the scores if T is random groups and one sample decides; return tails and ties."""
        passed, ties = np.empty((2, len(scores)), np.int64)
        score = self._python(score_nearest_members)
        score(self.kernel, rows, self.labels, self.constraints[0], self.drawn, scores, passed, ties)
        return self.group_tail[passed], (ties >= 0) & (self.tie_tails[ties] > self.min_tail)

    def _score_sets(self, rows: Rows, scores: Array) -> tuple[Array, Array]:
        """Fill in the scores if T is random groups and several samples decide; return tails and ties."""
        tails = np.zeros(len(scores))
        tie_shares = np.zeros(len(scores), scores.dtype)
        largest, slack = self.nearest[-1], 0.0 if self.exact else self.min_tail / 2
        score = self._python(score_group_sets)
        for nearest, constraints in zip(self.nearest, self.constraints, strict=True):
            unknown = np.zeros(len(scores), scores.dtype)
            small = nearest < largest
            cases = SetSizes(nearest + small, nearest if small else 0, self.most_cases, slack)
            sums = SetSums(scores, unknown, tie_shares)
            score(self.kernel, rows, self.labels, constraints, self.drawn, cases, sums)
            if not small:
                tails[:] = unknown
        return tails, tie_shares > self.min_tail


def group_scorer(
    problem: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    exact: bool = False,
    kernel: Kernel | None = None,
    rows: Array | None = None,
) -> GroupScorer:
    """The scorer of a design of groups; with another kernel than the variant's, if given.

    With `rows` the design has groups of these samples only.

    Raises
    ------
    ValueError
        If several groups are left out, the rule looks at more than one training sample, and there are too
        many sets of groups for rational numbers.
    """
    kind = cast(GroupTrainingSets, problem.training_sets[0])
    groups = cast(LeaveGroupsOut, problem.design).codes
    if rows is not None:
        of_rows, groups = groups, np.zeros(neighbors.n_items, np.int64)
        groups[rows] = of_rows
    n_nearest = problem.nearest(kind)
    sizes: tuple[int, ...] = (1,)
    outside, nearest, most = None, [], 0
    n_groups, n_train, n_test = kind.counts[0], kind.n_train[0], kind.n_test_groups
    if problem.pool is not None:  # the samples tested are a group of their own, which never trains
        groups = np.concatenate([np.full(neighbors.n_items, n_groups), groups])
        n_groups, n_test = n_groups + 1, n_test + 1
    if n_test == 1:
        sizes = kind.train_sizes
        outside = outside_of(problem, n_nearest, groups)
    elif n_nearest > 1:
        most = most_cases(problem, kind, exact)
        nearest = sizes_to_score(kind.sizes, n_train, n_nearest)
        sizes = (*nearest[:-1], kind.most_train)
    tasks = [problem.known_training_set_task(size, Fraction if exact else float) for size in sizes]
    kernel = kernel or problem.variant.kernel_for(tasks[0])
    compile_kernel(kernel, f"variant {problem.variant.name!r}", now=False)
    tie_tails = fixed_tail(n_groups - 1, n_train, 1)
    may_miss = np.arange(n_groups) < n_test  # all of them may be test groups
    scorer = GroupScorer(
        neighbors,
        exact_labels(problem) if exact else problem.kernel_labels(),
        as_python(kernel) if exact else kernel,
        tuple(problem.constraints(task) for task in tasks),
        outside,
        DrawnGroups(groups, n_groups, n_train, kind.n_available),
        tuple(nearest),
        most,
        may_miss.astype(float) if exact else tie_tails,
        tie_tails,
        tol / 2,
        problem.ties == "random",
        exact,
    )
    if not exact:
        scorer.compile()
    return scorer


def exact_group_scores(problem: ScoringProblem, neighbors: Neighbors) -> Scores:
    """A_x of every sample as Fractions; tied samples are not counted.

    Raises
    ------
    ValueError
        As `group_scorer`, or if the neighbor lists end before the last position that can matter.
    """
    scorer = group_scorer(problem, neighbors, 0.0, exact=True)
    n_items, depth = neighbors.n_items, neighbors.max_depth
    scores = np.full((1, n_items), None, dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        (found, tails, _), _ = scorer(neighbors.search(rows, depth), rows)
        if tails.any():
            at = int(rows[np.argmax(tails[0] > 0)])
            msg = (
                "exact=True needs all neighbors that can matter, ties included; the list of sample "
                f"{at} has too few samples of other groups"
            )
            raise ValueError(msg)
        scores[0, rows] = [rational(score, problem, scorer.constraints) for score in found[0]]
    return Scores(scores, np.zeros(scores.shape), np.zeros(n_items, bool), depth)
