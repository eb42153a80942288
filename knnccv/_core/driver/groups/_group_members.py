# mypy: allow-untyped-defs
"""Scores of rules of one nearest training sample if several whole groups are left out.

T is a random set of groups, and each group matters by its nearest member alone. So the distribution is that
of one nearest neighbor (ICML eq. 4), with groups in place of samples. The kernel scores a training set of
one sample. Tied samples in random order are an urn: the groups among them that are in T decide how many
samples it holds, and each of these is drawn with equal probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from ...._base.typing import Array
from ....kernel import CONSTRAINTS, KERNEL, LABELS, Order, inner, jit
from ....kernel.sampling import place_of, total_of
from .._rows import INTEGERS, ROWS, SCORES, labels_differ


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
