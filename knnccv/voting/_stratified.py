"""Votes where tied samples come at random times, in stratified designs."""

from __future__ import annotations

import numpy as np

from ..kernel import jit
from ..sampling import tie_times
from ._tied_groups import is_mixed
from ._vote_scores import score_votes


@jit
def score_stratified(order, labels, target, constraints, losses):  # type: ignore[no-untyped-def]
    """ICML §2.5 over all tie orders, for any rule; O(depth * cost of a vote) without mixed groups.

    With ``constraints.extra``, `n_extra` of the strata flagged there have one training sample more,
    any of them alike: the mark of a law tells how many of the strata passed do.
    """
    classes, items, group_end = labels.classes, order.items, order.group_end
    k, rule, width = constraints.integers[:3]
    nodes = constraints.numbers
    n_train, extra = constraints.n_train, constraints.extra
    own = classes[target]
    counts = constraints.counts.copy()  # of what is available
    counts[own] -= constraints.held_out
    unit = constraints.unit
    zero = unit * 0
    n_classes = len(counts)
    n_extra = constraints.n_extra
    n_flagged = 0
    for flag in extra:
        n_flagged += flag
    n_levels = 2 if n_flagged > 0 else 1
    rows = np.full((n_classes + 2, n_levels, k + 1), zero)
    tops = np.zeros(n_classes + 2, counts.dtype)
    marks = np.full(min(n_extra, n_flagged, len(items) + 1) + 1, zero)
    product = np.full((2 * len(marks), k + 1), zero)
    most = np.zeros(n_classes + 2, counts.dtype)
    seen = np.empty(n_classes, np.int64)
    met = np.zeros(n_classes, np.bool_)
    met[own] = True
    n_seen = _add_class(own, rows, tops, seen, 0, marks, n_flagged, n_extra, extra, unit)
    tested = unit
    if n_flagged > 0:
        # With one training sample more fewer samples of the class are tested, so it counts from the start.
        tested = zero
        for level in range(tops[own] + 1):
            rows[own, level, 0] = unit * (counts[own] + 1 - n_train[own] - level) / (counts[own] + 1)
            tested += rows[own, level, 0] * marks[level]
        if tested == 0:  # always in the training set
            return zero
    score = zero
    start = 0
    pure = 0
    while start < len(items):
        end = group_end[start]
        if end > start + 1 and (start < pure or not is_mixed(items, classes, start, end)):
            pure = end
            end = start + 1
        for i in range(start, end):
            c = classes[items[i]]
            if not met[c]:
                met[c] = True
                n_seen = _add_class(c, rows, tops, seen, n_seen, marks, n_flagged, n_extra, extra, unit)
        if end == start + 1:
            c = classes[items[start]]
            if _law_at_item(rows, tops, most, c, counts[c] - most[c], n_train[c], unit):
                score += score_votes(
                    rows, tops, most, seen, n_seen, c, own, k, rule, width, nodes, losses, marks, product
                )
            _advance_class(rows, tops, most[c], c, counts[c], n_train[c], unit)
            most[c] += 1
        else:
            members = np.zeros(n_seen, counts.dtype)
            for i in range(start, end):
                for s in range(n_seen):
                    if seen[s] == classes[items[i]]:
                        members[s] += 1
            score += _mixed_group(
                members,
                own,
                rows,
                tops,
                most,
                seen,
                n_seen,
                counts,
                n_train,
                unit,
                k,
                rule,
                width,
                nodes,
                losses,
                marks,
                product,
            )
        start = end
    return score / tested


@jit
def _add_class(c, rows, tops, seen, n_seen, marks, n_flagged, n_extra, extra, unit):  # type: ignore[no-untyped-def]
    """A class that has not been met: its law, and what the marks weigh now."""
    rows[c, 0, 0] = unit
    seen[n_seen] = c
    if n_flagged == 0:
        marks[0] = unit
        return n_seen + 1
    if extra[c] == 1:
        tops[c] = 1
        rows[c, 1, 0] = unit
    met = 0  # of the flagged ones
    for s in range(n_seen + 1):
        met += tops[seen[s]]
    # P(given e of those met have one more, and the other met - e have not), whichever these are.
    for e in range(len(marks)):
        chance = unit
        for j in range(met):
            if j < e:
                chance = chance * max(n_extra - j, 0) / (n_flagged - j)
            else:
                chance = chance * max(n_flagged - n_extra - j + e, 0) / (n_flagged - j)
        marks[e] = chance if e <= met else unit * 0
    return n_seen + 1


@jit
def _law_at_item(rows, tops, most, c, left, n_train, unit):  # type: ignore[no-untyped-def]
    """The last row: this sample of class c is in T, and b - 1 of its class before it. Whether that can be."""
    joint = len(rows) - 1
    k = rows.shape[2] - 1
    tops[joint] = tops[c]
    most[joint] = min(most[c] + 1, n_train + tops[c], k)
    share = unit / left
    possible = False
    for level in range(tops[c] + 1):
        rows[joint, level, 0] = share * 0
        for b in range(1, most[joint] + 1):
            rows[joint, level, b] = rows[c, level, b - 1] * (max(n_train + level - b + 1, 0) * share)
            possible = possible or rows[joint, level, b] > 0
    return possible


@jit
def _advance_class(rows, tops, passed, c, available, n_train, unit):  # type: ignore[no-untyped-def]
    """One more sample of class c is passed, in T or not."""
    left = available - passed
    share = unit / left
    top = min(passed + 1, rows.shape[2] - 1)
    for level in range(tops[c] + 1):
        drawn = n_train + level
        for b in range(top, 0, -1):
            stay = rows[c, level, b] * (max(left - drawn + b, 0) * share)
            rows[c, level, b] = stay + rows[c, level, b - 1] * (max(drawn - b + 1, 0) * share)
        rows[c, level, 0] = rows[c, level, 0] * (max(left - drawn, 0) * share)


@jit
def _mixed_group(  # type: ignore[no-untyped-def]
    members,
    own,
    rows,
    tops,
    most,
    seen,
    n_seen,
    counts,
    n_train,
    unit,
    k,
    rule,
    width,
    nodes,
    losses,
    marks,
    product,
):
    """Expected score where the K-th nearest training sample is in the group; then the group is passed.

    ``members[s]`` samples of it are of class ``seen[s]``. Every sample has a random time. At time x, j of
    the t samples of a class are before it with binomial probability, and the class's law is that of j more
    samples passed; the sample itself is one of t.
    """
    joint = len(rows) - 1
    n_levels, n_votes = rows.shape[1], rows.shape[2]
    # The laws after 0, 1, ... t samples of the class, for one class after the other.
    first = np.zeros(n_seen + 1, np.int64)
    for s in range(n_seen):
        first[s + 1] = first[s] + (members[s] + 1 if members[s] > 0 else 0)
    laws = np.full((first[n_seen], n_levels, n_votes), unit * 0)
    for s in range(n_seen):
        c = seen[s]
        for j in range(members[s] + 1):
            if members[s] > 0:
                _copy(rows, c, laws, first[s] + j)
            if j < members[s]:
                _advance_class(rows, tops, most[c] + j, c, counts[c], n_train[c], unit)
    joints = np.full((n_seen, n_levels, n_votes), unit * 0)
    before = most.copy()
    score = unit * 0
    times, weights = tie_times(members.sum(), unit)
    for at in range(len(times)):
        for s in range(n_seen):
            if members[s] > 0:
                c = seen[s]
                rows[c] = 0
                joints[s] = 0
                _mix_over_times(
                    rows[c],
                    joints[s],
                    laws[first[s] : first[s + 1]],
                    times[at],
                    counts[c] - before[c],
                    n_train[c],
                    tops[c] + 1,
                    unit,
                )
                most[c] = before[c] + members[s]
        now = unit * 0
        for s in range(n_seen):
            if members[s] > 0:
                c = seen[s]
                _copy(joints, s, rows, joint)
                tops[joint] = tops[c]
                most[joint] = min(most[c], n_train[c] + tops[c], k)
                now += score_votes(
                    rows, tops, most, seen, n_seen, c, own, k, rule, width, nodes, losses, marks, product
                )
        score += now * weights[at]
    for s in range(n_seen):
        if members[s] > 0:
            _copy(laws, first[s + 1] - 1, rows, seen[s])
    return score


@jit
def _copy(laws, place, others, other):  # type: ignore[no-untyped-def]
    """``others[other] = laws[place]``, which would compile a broadcast and its error message: seconds."""
    for level in range(laws.shape[1]):
        for b in range(laws.shape[2]):
            others[other, level, b] = laws[place, level, b]


@jit
def _mix_over_times(row, joint, laws, time, left, n_train, n_levels, unit):  # type: ignore[no-untyped-def]
    """A class's law at a time, and that of a sample of it coming just then."""
    members = len(laws) - 1
    chances = np.full(members + 1, unit * 0)  # that j of the members come before
    likeliest = int(members * time)
    chances[likeliest] = unit
    total = unit * 1
    for j in range(likeliest, members):
        chances[j + 1] = chances[j] * (members - j) / (j + 1) * time / (1 - time)
        total += chances[j + 1]
    for j in range(likeliest, 0, -1):
        chances[j - 1] = chances[j] * j / (members - j + 1) * (1 - time) / time
        total += chances[j - 1]
    for j in range(members + 1):
        chance = chances[j] / total
        for level in range(n_levels):
            for b in range(row.shape[1]):
                row[level, b] += chance * laws[j, level, b]
        if j < members:
            # One of those not before comes now: t Bin(t - 1, x)(j) = Bin(t, x)(j) (t - j) / (1 - x).
            now = chance * (members - j) / (1 - time) / (left - j)
            for level in range(n_levels):
                for b in range(1, row.shape[1]):
                    more = max(n_train + level - b + 1, 0)
                    joint[level, b] += now * laws[j, level, b - 1] * more
