# mypy: allow-untyped-defs
"""Scores of designs that leave whole groups out.

- One group left out, or several samples decide: `score_group_sets` goes through the sets of groups. The
  groups left out beside the tested sample's own are a random set; without any there is a single one. The
  walk follows the neighbor list; at the first sample of a group it branches on whether the group is in the
  training set. Once the nearest training samples are known, the groups not yet met do not matter. So all
  sets that agree on the groups met are one case with their common probability, and the kernel scores one
  known training set. A sample with too many cases is left out.
- Several groups left out, one nearest sample decides: `score_nearest_members`. T is a random set of groups,
  and each group matters by its nearest member alone. So the distribution is that of one nearest neighbor
  (ICML eq. 4), with groups in place of samples. The kernel scores a training set of one sample. Tied
  samples in random order are an urn: the groups among them that are in T decide how many samples it holds,
  and each of these is drawn with equal probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from numba import types

from ..._base.typing import Array, Kernel
from ...designs import GroupTrainingSets, LeaveGroupsOut
from ...kernel import (
    CONSTRAINTS,
    KERNEL,
    LABELS,
    Constraints,
    Labels,
    Order,
    as_python,
    compile_driver,
    compile_kernel,
    inner,
    jit,
)
from ...kernel.sampling import fixed_tail, place_of, total_of
from ...neighbors import NeighborLists, Neighbors
from ._problem import ScoringProblem
from ._rows import (
    INTEGERS,
    ROWS,
    SCORES,
    Rows,
    fill_group_ends,
    first_mixed_tie,
    labels_differ,
    usable_lengths,
)
from ._scores import Scores, as_objects, exact_labels, rational

MAX_SETS = 20_000
"""The largest number of sets of groups for which every sample may have any number of cases."""
MAX_CASES = 5_000
"""The largest number of cases of a sample if there are more: up to three times the work of sampling it."""
RARER = 1000
"""How many times rarer a case must be than all that may be left unknown."""


class DrawnGroups(NamedTuple):
    """A training set of `n_train` random groups: the groups of the samples, and their number.

    A list of ``n_others`` samples is complete.
    """

    groups: Array
    n_groups: int
    n_train: int
    n_others: int


DRAWN_GROUPS = types.NamedTuple([INTEGERS, types.int64, types.int64, types.int64], DrawnGroups)


@jit
def score_nearest_members(kernel, rows, labels, constraints, drawn, out, passed, ties):
    """A_x of every row for a T of random groups other than the sample's, and the groups passed.

    ``ties[r]`` is the number of groups passed before the first tie of different labels, or -1.
    ``constraints`` are those of a training set of one sample. O(depth); tied groups of unequal sizes cost
    more, see `_gain_of_urn`.
    """
    items, values, lengths, targets, average_ties = rows
    groups, n_groups, n_train, _ = drawn
    unit = constraints.unit
    one = np.empty(1, labels.classes.dtype)
    end_of_one = np.arange(1, 2).astype(labels.classes.dtype)
    places = np.empty(n_groups, np.int64)
    seen_groups = np.empty(n_groups, np.int64)
    members = np.empty(n_groups, np.int64)
    sums = np.full(n_groups, unit * 0)
    passed_before = np.empty(items.shape[1], np.int64)  # groups, before the tied samples at a position
    for r in range(len(targets)):
        own_group = groups[targets[r]]
        seen_groups[0], places[own_group] = own_group, 0  # never in T, like the groups that were passed
        n_seen = 1
        score = unit * 0
        p_none = unit * 1  # P(no group so far is in T)
        start = 0
        while start < lengths[r] and p_none > 0:
            end = start + 1
            while average_ties and end < lengths[r] and values[r, end] == values[r, start]:
                end += 1
            before = n_seen
            passed_before[start:end] = before - 1
            n_items = 0
            first = total = unit * 0
            equal_scores = True
            for i in range(start, end):
                group = groups[items[r, i]]
                place = place_of(group, places, seen_groups, n_seen)
                if place < before:
                    continue
                if place == n_seen:
                    places[group] = place
                    seen_groups[place] = group
                    n_seen += 1
                    members[place - before] = 0
                    sums[place - before] = unit * 0
                one[0] = int(items[r, i])
                value = kernel(Order(one, end_of_one), labels, targets[r], constraints)
                members[place - before] += 1
                sums[place - before] += value
                if n_items == 0:
                    first = value
                equal_scores = equal_scores and value == first
                total += value
                n_items += 1
            n_new = n_seen - before
            equal_sizes = True
            for j in range(1, n_new):
                equal_sizes = equal_sizes and members[j] == members[0]
            left = n_groups - before
            p_here = unit * 0  # P(the nearest training sample is one of these)
            p_later = p_none
            for j in range(n_new):
                p_here += p_later * n_train / (left - j)
                p_later = p_later * (left - j - n_train) / (left - j)
            if equal_scores:
                score += p_here * first
            elif equal_sizes:
                score += p_here * total / n_items
            else:
                score += p_none * _gain_of_urn(members[:n_new], sums[:n_new], left, n_train, unit)
            p_none = p_later
            start = end
        ties[r] = last = begin = -1
        for i in range(start):
            if groups[items[r, i]] != own_group:
                if last < 0 or values[r, i] != values[r, last]:
                    begin = i
                elif labels_differ(labels, items[r, i], items[r, last]):
                    ties[r] = passed_before[begin]
                    break
                last = i
        out[r] = score
        passed[r] = n_seen - 1


SCORE_NEAREST_MEMBERS = types.void(
    KERNEL, ROWS, LABELS, CONSTRAINTS, DRAWN_GROUPS, SCORES, INTEGERS, INTEGERS
)


@inner
def _gain_of_urn(members, sums, left, n_train, unit):
    """Expected score of a sample drawn from tied groups, 0 if none of these groups is in T.

    Of `left` groups, the tied ones among them, `n_train` are in T. Group j adds ``members[j]`` samples,
    whose scores sum to ``sums[j]``. If the set J of tied groups is in T, the expectation is that of the sum
    of `sums` over the sum of `members`, both over J. The rarer of the two states (in T, not in T) is
    counted: ``probability[q, n]`` = P(q of the groups so far have the rarer state, and those in T have n
    samples), and ``gained[q, n]`` is the expected sum of scores there. O(groups * rarer * samples).
    """
    n_out = left - n_train
    out_is_rarer = n_out < n_train
    rarer, other = (n_out, n_train) if out_is_rarer else (n_train, n_out)
    top = min(rarer, len(members))
    probability = np.full((top + 1, total_of(members) + 1), unit * 0)
    gained = np.full((top + 1, total_of(members) + 1), unit * 0)
    probability[0, 0] = unit * 1
    n_members = 0
    for j in range(len(members)):
        n_members += members[j]
        if_rarer, if_other = (0, members[j]) if out_is_rarer else (members[j], 0)
        gain_if_rarer, gain_if_other = (unit * 0, sums[j]) if out_is_rarer else (sums[j], unit * 0)
        for q in range(min(top, j + 1), -1, -1):
            for n in range(n_members, -1, -1):
                p = score = unit * 0
                if n >= if_other and q <= j:
                    rate = unit * (other - (j - q)) / (left - j)
                    p += probability[q, n - if_other] * rate
                    score += gained[q, n - if_other] * rate
                    score += probability[q, n - if_other] * rate * gain_if_other
                if n >= if_rarer and q > 0:
                    rate = unit * (rarer - (q - 1)) / (left - j)
                    p += probability[q - 1, n - if_rarer] * rate
                    score += gained[q - 1, n - if_rarer] * rate
                    score += probability[q - 1, n - if_rarer] * rate * gain_if_rarer
                probability[q, n] = p
                gained[q, n] = score
    gain = unit * 0
    for q in range(top + 1):
        for n in range(1, n_members + 1):
            gain += gained[q, n] / n
    return gain


class SetSizes(NamedTuple):
    """The cases to add: with `size` 0 those in which `n_nearest` training samples are listed.

    Samples that tie the last are listed with them. With ``size = n_nearest - 1`` the cases are those in
    which the whole training set has this size. A sample with more than `most` cases is left out, its score
    NaN; early, where the share of the cases so far shows that there will be. Rare cases, of a total
    probability up to `slack`, are left unknown.
    """

    n_nearest: int
    size: int
    most: int
    slack: float


class SetSums(NamedTuple):
    """What the pass fills, each (n_rows,).

    The scores; the probability ``tails`` of the cases that are rare, or for which the list ends too early;
    and ``tie_shares``, that of the cases in which listed training samples tie and differ in their labels.
    """

    scores: Array
    tails: Array
    tie_shares: Array


@jit
def score_group_sets(kernel, rows, labels, constraints, drawn, cases, sums):
    """Add A_x of every row over the sets of groups that leave out its own; O(cases * cost of a kernel)."""
    items, values, lengths, targets, average_ties = rows
    groups, n_groups, n_train, n_others = drawn
    n_nearest, size, most, slack = cases
    unit = constraints.unit
    depth = items.shape[1]
    # If one group is left out, its ties with the last are counted in the order of the rows as well.
    lists_ties = average_ties or n_groups - n_train == 1
    kept = np.empty(depth, labels.classes.dtype)
    kept_values = np.empty(depth)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    UNKNOWN, TRAINS, TESTED = 0, 1, 2
    fate = np.zeros(n_groups, np.int64)
    decided = np.empty(n_groups, np.int64)
    # The state at every group that was put into the training set and may also be left out.
    at_position, at_kept = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    at_decided, at_left = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    at_probability = np.full(n_groups, unit * 0)
    for r in range(len(targets)):
        own_group = groups[targets[r]]
        length = lengths[r]
        complete = length == n_others
        score = unit * 0
        unknown = unit * 0
        n_decided = n_kept = n_open = position = 0
        n_left = n_groups - n_train - 1  # groups still to be left out
        probability = unit * 1
        n_cases, checkpoint, done = 0, most // 32, unit * 0
        spare = unit * slack
        while True:
            is_rare = probability * RARER <= slack and probability <= spare
            while position < length and not is_rare:
                if n_kept >= n_nearest and not (
                    lists_ties and values[r, position] == kept_values[n_kept - 1]
                ):
                    break
                group = groups[items[r, position]]
                if group != own_group:
                    if fate[group] == UNKNOWN:
                        others = n_groups - 1 - n_decided
                        if n_left == 0:
                            fate[group] = TRAINS
                        elif n_left == others:
                            fate[group] = TESTED
                            n_left -= 1
                        else:
                            at_position[n_open], at_kept[n_open] = position, n_kept
                            at_decided[n_open], at_left[n_open] = n_decided, n_left
                            at_probability[n_open] = probability
                            n_open += 1
                            fate[group] = TRAINS
                            probability = probability * (others - n_left) / others
                        decided[n_decided] = group
                        n_decided += 1
                    if fate[group] == TRAINS:
                        kept[n_kept] = int(items[r, position])
                        kept_values[n_kept] = values[r, position]
                        n_kept += 1
                position += 1
            if is_rare:
                spare -= probability
            if is_rare or (n_kept < n_nearest and not complete):
                unknown += probability
            elif n_kept == size if size > 0 else n_kept >= n_nearest:
                if average_ties:
                    fill_group_ends(kept_values, n_kept, group_end)
                if first_mixed_tie(kept, kept_values, n_kept, labels) >= 0:
                    sums.tie_shares[r] += probability
                order = Order(kept[:n_kept], group_end[:n_kept])
                score += probability * kernel(order, labels, targets[r], constraints)
            if n_open == 0:
                break
            n_cases += 1
            done += probability
            if n_cases > checkpoint:
                if n_cases > most or done * most < n_cases:
                    score, unknown = unit * np.nan, unit * 0
                    break
                checkpoint *= 2
            n_open -= 1
            group = decided[at_decided[n_open]]
            for i in range(at_decided[n_open], n_decided):
                fate[decided[i]] = UNKNOWN
            n_decided = at_decided[n_open]
            others = n_groups - 1 - n_decided
            n_left = at_left[n_open]
            probability = at_probability[n_open] * n_left / others
            n_left -= 1
            fate[group] = TESTED
            n_decided += 1
            n_kept = at_kept[n_open]
            position = at_position[n_open] + 1
        for i in range(n_decided):
            fate[decided[i]] = UNKNOWN
        sums.scores[r] += score
        sums.tails[r] = unknown


_SIZES = types.NamedTuple([types.int64, types.int64, types.int64, types.float64], SetSizes)
_SUMS = types.NamedUniTuple(SCORES, 3, SetSums)
SCORE_GROUP_SETS = types.void(KERNEL, ROWS, LABELS, CONSTRAINTS, DRAWN_GROUPS, _SIZES, _SUMS)


def sizes_to_score(kind: GroupTrainingSets, n_nearest: int) -> list[int]:
    """The sizes of training sets below `n_nearest`, ascending, and `n_nearest`."""
    if kind.n_test_groups == 1:
        return [*(size for size in kind.train_sizes if size < n_nearest), n_nearest]
    n_train = kind.n_train[0]
    found: list[set[int]] = [{0}, *(set() for _ in range(n_train))]
    for size in kind.sizes:
        for n in range(n_train, 0, -1):
            found[n] |= {size + other for other in found[n - 1] if size + other < n_nearest}
    return [*sorted(found[n_train]), n_nearest]


def most_cases(problem: ScoringProblem, kind: GroupTrainingSets, exact: bool) -> int:
    """The largest number of cases of a sample; ValueError if rational numbers would need more."""
    number = kind.number
    if number <= MAX_SETS or kind.n_test_groups == 1:
        return np.iinfo(np.int64).max // 2
    if exact:
        shown = f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"
        msg = (
            f"leave out exact=True: {problem.design!r} has {shown} sets of tested groups. With p > 1, "
            f"rational numbers of rules of several nearest training samples (variant "
            f"{problem.variant.name!r} looks at {problem.nearest(kind)}) are possible for at most "
            f"{MAX_SETS:,} sets"
        )
        raise ValueError(msg)
    return MAX_CASES


@dataclass(frozen=True)
class GroupScorer:
    """Everything a worker needs to score a block of samples.

    ``constraints`` has an entry for each

    - size of training sets in ``nearest``: those below K, and one for all larger ones;
    - training set of one sample, if several groups are left out and one nearest sample decides.

    A sample with more than ``most_cases`` sets of groups to go through is left out, its score NaN.
    ``group_tail[m]`` is the probability that none of m groups is in the training set; in exact mode 1
    where that is possible, otherwise 0. Ties of different labels count if their own probability, in
    ``tie_tails``, is above ``min_tail``.
    """

    neighbors: Neighbors
    labels: Labels
    kernel: Kernel
    constraints: tuple[Constraints, ...]
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
        if self.nearest:
            compile_driver(score_group_sets, SCORE_GROUP_SETS)
        else:
            compile_driver(score_nearest_members, SCORE_NEAREST_MEMBERS)

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
        tails, tied = (self._score_sets if self.nearest else self._score_members)(given, scores)
        return scores[None], tails[None], tied

    def _score_members(self, rows: Rows, scores: Array) -> tuple[Array, Array]:
        """Fill in the scores if T is random groups and one sample decides; return tails and ties."""
        passed, ties = np.empty((2, len(scores)), np.int64)
        score = as_python(score_nearest_members) if self.exact else score_nearest_members
        score(self.kernel, rows, self.labels, self.constraints[0], self.drawn, scores, passed, ties)
        return self.group_tail[passed], (ties >= 0) & (self.tie_tails[ties] > self.min_tail)

    def _score_sets(self, rows: Rows, scores: Array) -> tuple[Array, Array]:
        """Fill in the scores if T is random groups and several samples decide; return tails and ties."""
        tails = np.zeros(len(scores))
        tie_shares = np.zeros(len(scores), scores.dtype)
        largest, slack = self.nearest[-1], 0.0 if self.exact else self.min_tail / 2
        score = as_python(score_group_sets) if self.exact else score_group_sets
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
    rows: Array | None = None,
) -> GroupScorer:
    """The scorer of a design of groups; with `rows` it has groups of these samples only.

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
    nearest, most = [], 0
    n_groups, n_train, n_test = kind.counts[0], kind.n_train[0], kind.n_test_groups
    if problem.pool is not None:  # the samples tested are a group of their own, which never trains
        groups = np.concatenate([np.full(neighbors.n_items, n_groups), groups])
        n_groups, n_test = n_groups + 1, n_test + 1
    if n_nearest > 1 or n_test == 1:
        most = most_cases(problem, kind, exact)
        nearest = sizes_to_score(kind, n_nearest)
        sizes = (*nearest[:-1], kind.most_train)
    tasks = [problem.known_training_set_task(size, Fraction if exact else float) for size in sizes]
    kernel = problem.variant.kernel_for(tasks[0])
    compile_kernel(kernel, f"variant {problem.variant.name!r}", now=False)
    tie_tails = fixed_tail(n_groups - 1, n_train, 1)
    may_miss = np.arange(n_groups) < n_test  # all of them may be test groups
    scorer = GroupScorer(
        neighbors,
        exact_labels(problem) if exact else problem.kernel_labels(),
        as_python(kernel) if exact else kernel,
        tuple(problem.constraints(task) for task in tasks),
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


def exact_group_scores(problem: ScoringProblem, neighbors: Neighbors, tol: float) -> Scores:
    """A_x of every sample as Fractions; ties matter if they are reached with probability > ``tol / 2``.

    Raises
    ------
    ValueError
        As `group_scorer`, or if the neighbor lists end before the last position that can matter.
    """
    scorer = group_scorer(problem, neighbors, tol, exact=True)
    n_items, depth = neighbors.n_items, neighbors.max_depth
    scores, tied = np.full((1, n_items), None, dtype=object), np.zeros(n_items, bool)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        (found, tails, tied[rows]), _ = scorer(neighbors.search(rows, depth), rows)
        if tails.any():
            at = int(rows[np.argmax(tails[0] > 0)])
            msg = (
                "exact=True needs all neighbors that can matter, ties included; the list of sample "
                f"{at} has too few samples of other groups"
            )
            raise ValueError(msg)
        scores[0, rows] = [rational(score, problem, scorer.constraints) for score in found[0]]
    return Scores(scores, np.zeros(scores.shape), tied, depth)
