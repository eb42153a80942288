"""Scores of rules of several nearest training samples where several whole groups are left out.

For a tested sample the groups that are left out beside its own are a random set. Walk along its order: the
first sample of a group asks whether the group is in the training set. Where the nearest training samples
are known, the groups not yet met do not matter; so the sets that agree on the groups met are one case, with
their common probability, and the kernel is asked for the score of a given training set.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numba import types

from ..designs import GroupTrainingSets
from ..kernel import CONSTRAINTS, KERNEL, LABELS, Order, jit
from ._problem import ScoringProblem
from ._tails import labels_differ

MOST_SETS = 20_000


@jit
def _mixes_labels(items, values, n_items, labels):  # type: ignore[no-untyped-def]
    """Whether the first `n_items` hold equally similar ones of different labels or targets."""
    for i in range(1, n_items):
        if values[i] == values[i - 1] and labels_differ(labels, items[i], items[i - 1]):
            return True
    return False


@jit
def score_group_sets(  # type: ignore[no-untyped-def]
    kernel,
    items,
    values,
    lengths,
    targets,
    average_ties,
    groups,
    n_groups,
    n_test,
    nearest,
    size,
    labels,
    constraints,
    out,
    tails,
    tie_shares,
):
    """Add A_x of every row over the sets of `n_test` groups that hold its own; O(cases * cost of a kernel).

    The cases are those in which `nearest` training samples are listed, with the samples that tie the last;
    or, with a `size` of one less, those in which the whole training set has this size. ``tails`` is the
    probability of the cases in which the list ends before `nearest` of an unknown number; the probability
    of those in which listed training samples tie and differ in their labels is added to ``tie_shares``.
    """
    unit = constraints.unit
    depth = items.shape[1]
    kept = np.empty(depth, labels.classes.dtype)
    kept_values = np.empty(depth)
    group_end = np.arange(1, depth + 1).astype(labels.classes.dtype)
    UNKNOWN, TRAINS, TESTED = 0, 1, 2
    fate = np.zeros(n_groups, np.int64)
    decided = np.empty(n_groups, np.int64)
    # Where a group was taken into the training set that might also be left out.
    at_position, at_kept = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    at_decided, at_left = np.empty(n_groups, np.int64), np.empty(n_groups, np.int64)
    at_chance = np.full(n_groups, unit * 0)
    for r in range(len(targets)):
        own = groups[targets[r]]
        length = lengths[r]
        complete = length == len(groups) - 1
        score = unit * 0
        unknown = unit * 0
        n_decided = n_kept = n_open = position = 0
        n_left = n_test - 1  # groups still to be left out
        chance = unit * 1
        while True:
            while position < length:
                if n_kept >= nearest and not (
                    average_ties and values[r, position] == kept_values[n_kept - 1]
                ):
                    break
                group = groups[items[r, position]]
                if group != own:
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
                            at_chance[n_open] = chance
                            n_open += 1
                            fate[group] = TRAINS
                            chance = chance * (others - n_left) / others
                        decided[n_decided] = group
                        n_decided += 1
                    if fate[group] == TRAINS:
                        kept[n_kept] = int(items[r, position])
                        kept_values[n_kept] = values[r, position]
                        n_kept += 1
                position += 1
            if n_kept < nearest and not complete:
                unknown += chance
            elif n_kept == size if size > 0 else n_kept >= nearest:
                if average_ties:
                    end = n_kept
                    for i in range(n_kept - 1, -1, -1):
                        if i + 1 < n_kept and kept_values[i] != kept_values[i + 1]:
                            end = i + 1
                        group_end[i] = end
                if _mixes_labels(kept, kept_values, n_kept, labels):
                    tie_shares[r] += chance
                order = Order(kept[:n_kept], group_end[:n_kept])
                score += chance * kernel(order, labels, targets[r], constraints)
            if n_open == 0:
                break
            n_open -= 1
            group = decided[at_decided[n_open]]
            for i in range(at_decided[n_open], n_decided):
                fate[decided[i]] = UNKNOWN
            n_decided = at_decided[n_open]
            others = n_groups - 1 - n_decided
            n_left = at_left[n_open]
            chance = at_chance[n_open] * n_left / others
            n_left -= 1
            fate[group] = TESTED
            n_decided += 1
            n_kept = at_kept[n_open]
            position = at_position[n_open] + 1
        for i in range(n_decided):
            fate[decided[i]] = UNKNOWN
        out[r] += score
        tails[r] = unknown


SCORE_GROUP_SETS = types.void(
    KERNEL,
    types.Array(types.int32, 2, "C"),
    types.Array(types.float64, 2, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.boolean,
    types.Array(types.int64, 1, "C"),
    types.int64,
    types.int64,
    types.int64,
    types.int64,
    LABELS,
    CONSTRAINTS,
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 1, "C"),
    types.Array(types.float64, 1, "C"),
)


def sizes_to_ask(sizes: tuple[int, ...], n_test: int, nearest: int) -> list[int]:
    """Training sets of fewer than `nearest` samples, by size, and `nearest`."""
    n_items = sum(sizes)
    if n_items - sum(sorted(sizes)[-n_test:]) >= nearest:
        return [nearest]
    small = {n_items - sum(test) for test in combinations(sizes, n_test)}
    return [*sorted(size for size in small if size < nearest), nearest]


def check_number(question: ScoringProblem, kind: GroupTrainingSets) -> None:
    """Raise ValueError if there are more sets of groups than are gone through."""
    number = kind.number
    if number > MOST_SETS:
        shown = f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"
        msg = (
            f"{question.design!r} has {shown} sets of tested groups. With p > 1, rules of several nearest "
            f"training samples (variant {question.variant.name!r} looks at {question.nearest(kind)}) are "
            f"served for at most {MOST_SETS:,} sets; take a smaller p, a rule of one nearest sample, or "
            "monte_carlo_cv"
        )
        raise ValueError(msg)
