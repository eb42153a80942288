# mypy: allow-untyped-defs
"""Scores of rules of several nearest training samples if several whole groups are left out.

The groups left out beside the tested sample's own are a random set. The walk follows the neighbor list; at
the first sample of a group it branches on whether the group is in the training set. Once the nearest
training samples are known, the groups not yet met do not matter. So all sets that agree on the groups met
are one case with their common probability, and the kernel scores one known training set. A sample with too
many cases is left out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from ...._base.typing import Array
from ....designs import GroupTrainingSets
from ....kernel import CONSTRAINTS, KERNEL, LABELS, Order, jit
from .._problem import ScoringProblem
from .._rows import ROWS, SCORES, fill_group_ends, first_mixed_tie
from ._group_members import DRAWN_GROUPS

MAX_SETS = 20_000
"""The largest number of sets of groups for which every sample may have any number of cases."""
MAX_CASES = 5_000
"""The largest number of cases of a sample if there are more: up to three times the work of sampling it."""
RARER = 1000
"""How many times rarer a case must be than all that may be left unknown."""


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


SCORE_GROUP_SETS = types.void(
    KERNEL,
    ROWS,
    LABELS,
    CONSTRAINTS,
    DRAWN_GROUPS,
    types.NamedTuple([types.int64, types.int64, types.int64, types.float64], SetSizes),
    types.NamedUniTuple(SCORES, 3, SetSums),
)


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
