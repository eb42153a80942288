"""Scores where whole groups are left out.

With one group left out the training set is known: all samples outside the tested item's group. The kernel
gets these in order, and is told that all of them are in the training set.

With several, T is a random set of groups. Where one nearest training sample decides, it is the nearest
member of its group, so each group matters by its nearest member alone, and the law is that of one nearest
neighbor (ICML eq. 4) with groups for samples. If equally similar samples come in random order, they are an
urn: which of the groups among them are in T decides how many samples it holds, and each is drawn alike.
What one nearest sample is worth is asked of the kernel, with a training set of this sample. Where several
decide, few enough sets of groups are gone through (`_group_sets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numba import types

from .._parallel import stop_flag
from .._typing import Array, Kernel
from ..designs import GroupTrainingSets, LeaveGroupsOut
from ..kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Constraints,
    Labels,
    Order,
    as_python,
    compile_driver,
    compile_kernel,
    jit,
)
from ..neighbors import NeighborLists, Neighbors
from ..sampling import fixed_tail, place_of
from ._group_sets import SCORE_GROUP_SETS, check_number, score_group_sets, sizes_to_ask
from ._problem import ScoringProblem
from ._rational import as_objects, exact_labels, rational
from ._rows import SCORE_ROWS, score_rows, usable_lengths
from ._summary import Scores
from ._tails import labels_differ


@jit
def score_nearest_members(  # type: ignore[no-untyped-def]
    kernel,
    items,
    values,
    lengths,
    targets,
    average_ties,
    groups,
    n_groups,
    n_train,
    labels,
    constraints,
    out,
    passed,
    ties,
):
    """A_x of every row, T being `n_train` random groups without the item's own; groups passed.

    ``ties`` are the groups passed before the first tie of different labels (as in `score_rows`), or -1.
    ``constraints`` are those of a training set of one sample. O(depth), and for tied groups of unequal
    sizes what `_gain_of_urn` says.
    """
    unit = constraints.unit
    one = np.empty(1, labels.classes.dtype)
    end_of_one = np.arange(1, 2).astype(labels.classes.dtype)
    places = np.empty(n_groups, np.int64)
    seen = np.empty(n_groups, np.int64)
    members = np.empty(n_groups, np.int64)
    sums = np.full(n_groups, unit * 0)
    passed_before = np.empty(items.shape[1], np.int64)  # groups, before the tied samples at a position
    for r in range(len(targets)):
        own = groups[targets[r]]
        seen[0], places[own] = own, 0  # the own group is never in T, as those passed are not
        n_seen = 1
        score = unit * 0
        none = unit * 1  # P(no group so far is in T)
        start = 0
        while start < lengths[r] and none > 0:
            end = start + 1
            while average_ties and end < lengths[r] and values[r, end] == values[r, start]:
                end += 1
            before = n_seen
            passed_before[start:end] = before - 1
            n_items = 0
            first = total = unit * 0
            same = True
            for i in range(start, end):
                group = groups[items[r, i]]
                place = place_of(group, places, seen, n_seen)
                if place < before:
                    continue
                if place == n_seen:
                    places[group] = place
                    seen[place] = group
                    n_seen += 1
                    members[place - before] = 0
                    sums[place - before] = unit * 0
                one[0] = int(items[r, i])
                value = kernel(Order(one, end_of_one), labels, targets[r], constraints)
                members[place - before] += 1
                sums[place - before] += value
                if n_items == 0:
                    first = value
                same = same and value == first
                total += value
                n_items += 1
            new = n_seen - before
            alike = True
            for j in range(1, new):
                alike = alike and members[j] == members[0]
            left = n_groups - before
            some = unit * 0  # P(the nearest training sample is one of these)
            still = none
            for j in range(new):
                some += still * n_train / (left - j)
                still = still * (left - j - n_train) / (left - j)
            if same:
                score += some * first
            elif alike:
                score += some * total / n_items
            else:
                score += none * _gain_of_urn(members[:new], sums[:new], left, n_train, unit)
            none = still
            start = end
        ties[r] = last = begin = -1
        for i in range(start):
            if groups[items[r, i]] != own:
                if last < 0 or values[r, i] != values[r, last]:
                    begin = i
                elif labels_differ(labels, items[r, i], items[r, last]):
                    ties[r] = passed_before[begin]
                    break
                last = i
        out[r] = score
        passed[r] = n_seen - 1


SCORE_NEAREST_MEMBERS = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.boolean,
    types.Array(types.int64, 1, "C"),
    types.int64,
    types.int64,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
)


@jit
def _gain_of_urn(members, sums, left, n_train, unit):  # type: ignore[no-untyped-def]
    """Expected score of a sample drawn from tied groups, 0 where none of these is in T.

    Of `left` groups, these among them, `n_train` are in T. Group j brings ``members[j]`` samples, whose
    scores sum to ``sums[j]``; with the groups J in T it is E[sum of sums / sum of members over J]. A walk
    over the groups: ``chance[q, n]`` = P(q of them are of the rarer kind, in T or not, and those in T have
    n samples), ``gained[q, n]`` the expected sum of scores there. O(groups * rarer * samples).
    """
    n_out = left - n_train
    out_is_rarer = n_out < n_train
    rarer, other = (n_out, n_train) if out_is_rarer else (n_train, n_out)
    top = min(rarer, len(members))
    chance = np.full((top + 1, members.sum() + 1), unit * 0)
    gained = np.full((top + 1, members.sum() + 1), unit * 0)
    chance[0, 0] = unit * 1
    held = 0
    for j in range(len(members)):
        held += members[j]
        if_rarer, if_other = (0, members[j]) if out_is_rarer else (members[j], 0)
        worth_if_rarer, worth_if_other = (unit * 0, sums[j]) if out_is_rarer else (sums[j], unit * 0)
        for q in range(min(top, j + 1), -1, -1):
            for n in range(held, -1, -1):
                p = score = unit * 0
                if n >= if_other and q <= j:
                    rate = unit * (other - (j - q)) / (left - j)
                    p += chance[q, n - if_other] * rate
                    score += gained[q, n - if_other] * rate
                    score += chance[q, n - if_other] * rate * worth_if_other
                if n >= if_rarer and q > 0:
                    rate = unit * (rarer - (q - 1)) / (left - j)
                    p += chance[q - 1, n - if_rarer] * rate
                    score += gained[q - 1, n - if_rarer] * rate
                    score += chance[q - 1, n - if_rarer] * rate * worth_if_rarer
                chance[q, n] = p
                gained[q, n] = score
    gain = unit * 0
    for q in range(top + 1):
        for n in range(1, held + 1):
            gain += gained[q, n] / n
    return gain


@jit
def _keep_outside(items, values, lengths, targets, groups, nearest, kept_items, kept_values, kept):  # type: ignore[no-untyped-def]
    """Lists without the own group, down to the `nearest`-th sample and those that tie it; their lengths."""
    for r in range(len(targets)):
        own = groups[targets[r]]
        n = 0
        for i in range(lengths[r]):
            if groups[items[r, i]] == own:
                continue
            if n >= nearest[r] and values[r, i] != kept_values[r, n - 1]:
                break
            kept_items[r, n] = items[r, i]
            kept_values[r, n] = values[r, i]
            n += 1
        kept[r] = n


@dataclass(frozen=True)
class GroupScorer:
    """What a block of samples needs; sent to the workers.

    With one group left out, ``constraints`` and ``nearest`` are those of every size of training sets, and
    ``size_of`` (n_items,) tells which of these a sample has. Else, if one nearest sample decides, they are
    those of one sample, and ``fixed_tails`` has the probability that none of so many groups is in the
    training set; in exact mode only whether there is any. If several samples decide, they are those of the
    training sets that are too small to have so many, size by size, and those of the larger ones. Ties of
    different labels count if their own probability, ``tie_tails``, is above ``least_tail``.
    """

    neighbors: Neighbors
    labels: Labels
    kernel: Kernel
    constraints: tuple[Constraints, ...]
    nearest: Array
    size_of: Array
    groups: Array
    n_groups: int
    n_train: int
    fixed_tails: tuple[Array, ...]
    tie_tails: Array
    least_tail: float
    average_ties: bool
    exact: bool = False

    def compile(self) -> None:
        """Compile what the blocks call, or load it from the cache; every process needs it once."""
        compile_kernel(self.kernel, "the plan")
        compile_driver(score_rows, SCORE_ROWS)
        compile_driver(score_nearest_members, SCORE_NEAREST_MEMBERS)
        if self.by_sets:
            compile_driver(score_group_sets, SCORE_GROUP_SETS)

    @property
    def by_sets(self) -> bool:
        """Whether sets of groups are gone through."""
        return self.n_train < self.n_groups - 1 and int(self.nearest.max()) > 1

    def __call__(
        self, rows: Array, depth: int, keep_lists: bool
    ) -> tuple[NeighborLists | None, Array, Array, Array]:
        """The rows' lists, if wanted, scores and tails (1, n_rows), and which are tied."""
        lists = self.neighbors.search(rows, depth)
        lengths = usable_lengths(lists, self.neighbors, self.average_ties)
        scores = np.empty(len(rows), object if self.exact else float)
        tied = np.zeros(len(rows), bool)
        if self.n_train == self.n_groups - 1:
            score = self._score_outside
        else:
            score = self._score_sets if self.by_sets else self._score_members
        tails = score(lists, lengths, rows, scores, tied)
        return lists if keep_lists else None, scores[None], tails[None], tied

    def _score_outside(
        self, lists: NeighborLists, lengths: Array, rows: Array, scores: Array, tied: Array
    ) -> Array:
        """Fill in scores and ties where T is all that is outside the group; the tails."""
        walk = as_python(score_rows) if self.exact else score_rows
        size_of = self.size_of[rows]
        nearest = self.nearest[size_of]
        items, values = np.empty_like(lists.items), np.empty_like(lists.values)
        kept = np.empty(len(rows), np.int64)
        _keep_outside(lists.items, lists.values, lengths, rows, self.groups, nearest, items, values, kept)
        for size in np.unique(size_of):
            at = np.flatnonzero(size_of == size)
            part, ties = scores[at], np.empty(len(at), np.int64)
            walk(
                self.kernel,
                items[at],
                values[at],
                kept[at],
                self._targets(rows[at]),
                self.average_ties,
                self.labels,
                self.constraints[size],
                part,
                ties,
                stop_flag(),
            )
            scores[at] = part
            tied[at] = (ties >= 0) & (ties < nearest[at])
        return (kept < nearest).astype(float)

    def _score_members(
        self, lists: NeighborLists, lengths: Array, rows: Array, scores: Array, tied: Array
    ) -> Array:
        """Fill in scores and ties where T is some of the other groups; the tails."""
        walk = as_python(score_nearest_members) if self.exact else score_nearest_members
        passed, ties = np.empty((2, len(rows)), np.int64)
        walk(
            self.kernel,
            lists.items,
            lists.values,
            lengths,
            self._targets(rows),
            self.average_ties,
            self.groups,
            self.n_groups,
            self.n_train,
            self.labels,
            self.constraints[0],
            scores,
            passed,
            ties,
        )
        tied[:] = (ties >= 0) & (self.tie_tails[ties] > self.least_tail)
        tails: Array = self.fixed_tails[0][passed]
        return tails

    def _score_sets(
        self, lists: NeighborLists, lengths: Array, rows: Array, scores: Array, tied: Array
    ) -> Array:
        """Fill in scores and ties where T is some of the other groups, for several samples; the tails."""
        walk = as_python(score_group_sets) if self.exact else score_group_sets
        scores[:] = 0
        tails = np.zeros(len(rows))
        tie_shares = np.zeros(len(rows), scores.dtype)
        most = self.nearest[-1]
        for nearest, constraints in zip(self.nearest, self.constraints, strict=True):
            unknown = np.zeros(len(rows), scores.dtype)
            walk(
                self.kernel,
                lists.items,
                lists.values,
                lengths,
                self._targets(rows),
                self.average_ties,
                self.groups,
                self.n_groups,
                self.n_groups - self.n_train,
                nearest + (nearest < most),
                nearest if nearest < most else 0,
                self.labels,
                constraints,
                scores,
                unknown,
                tie_shares,
            )
            if nearest == most:
                tails[:] = unknown
        tied[:] = tie_shares > self.least_tail
        return tails

    def _targets(self, rows: Array) -> Array:
        return as_objects(rows) if self.exact else rows


def group_plan(
    question: ScoringProblem,
    neighbors: Neighbors,
    tol: float,
    exact: bool = False,
    kernel: Kernel | None = None,
) -> GroupScorer:
    """What computes the scores of a design of groups; by another kernel than the variant's, if given.

    Raises
    ------
    ValueError
        If several groups are left out, the rule looks at more than one training sample, and there are too
        many sets of groups.
    """
    kind = cast(GroupTrainingSets, question.kinds[0])
    groups = cast(LeaveGroupsOut, question.design).codes
    n_nearest = question.nearest(kind)
    sizes: tuple[int, ...] = (1,)
    if kind.n_test_groups == 1:
        sizes = kind.train_sizes
    nearest = [min(n_nearest, size) for size in sizes]
    if kind.n_test_groups > 1 and n_nearest > 1:
        check_number(question, kind)
        nearest = sizes_to_ask(kind.sizes, kind.n_test_groups, n_nearest)
        sizes = (*nearest[:-1], kind.most_train)
    tasks = [question.known_training_set_task(size, Fraction if exact else float) for size in sizes]
    kernel = kernel or question.variant.kernel_for(tasks[0])
    compile_kernel(kernel, f"variant {question.variant.name!r}")
    train_sizes = sum(kind.sizes) - np.array(kind.sizes)[groups]
    n_groups, n_train = kind.counts[0], kind.n_train[0]
    tie_tails = fixed_tail(n_groups - 1, n_train, 1)
    certain = np.arange(n_groups) >= kind.n_test_groups  # so many groups passed, one of them trains
    plan = GroupScorer(
        neighbors,
        exact_labels(question) if exact else question.kernel_labels(),
        as_python(kernel) if exact else kernel,
        tuple(question.constraints(task) for task in tasks),
        np.array(nearest),
        np.searchsorted(sizes, train_sizes),
        groups,
        n_groups,
        n_train,
        ((~certain).astype(float) if exact else tie_tails,),
        tie_tails,
        tol / 2,
        question.ties == "random",
        exact,
    )
    if not exact:
        plan.compile()
    return plan


def exact_group_scores(question: ScoringProblem, neighbors: Neighbors) -> Scores:
    """A_x of every sample as Fractions; which samples are tied is left out.

    Raises
    ------
    ValueError
        As `group_plan`, or if the neighbor lists end before the last position that can matter.
    """
    plan = group_plan(question, neighbors, 0.0, exact=True)
    n_items, depth = neighbors.n_items, neighbors.max_depth
    scores = np.full((1, n_items), None, dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        _, found, tails, _ = plan(rows, depth, False)
        if tails.any():
            at = int(rows[np.argmax(tails[0] > 0)])
            msg = (
                "exact=True needs all neighbors that can matter, ties included; the list of sample "
                f"{at} ends before there are enough of other groups"
            )
            raise ValueError(msg)
        scores[0, rows] = [rational(score, question, plan.constraints) for score in found[0]]
    return Scores(scores, np.zeros(scores.shape), np.zeros(n_items, bool), depth)


def first_group_depth(question: ScoringProblem, neighbors: Neighbors, tol: float) -> int:
    """A first guess, twice what would do if groups did not cluster; samples that miss it ask again."""
    kind = cast(GroupTrainingSets, question.kinds[0])
    tail = fixed_tail(neighbors.n_items - 1, kind.train_sizes[0], question.nearest(kind))
    enough = int(np.argmax(tail <= tol / 2)) if tol > 0 else len(tail) - 1
    return min(2 * enough + (question.ties == "random"), neighbors.max_depth)
