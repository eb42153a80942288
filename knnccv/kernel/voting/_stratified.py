# mypy: allow-untyped-defs
"""Votes averaged over the orders of tied samples, in stratified designs: tied samples get random times.

The samples of a tied group get independent uniform times, and the score is an integral over the time of the
sample that decides. In a large group only the beginning of the unit interval matters, and the integrand is
so smooth there that few nodes suffice; both are bounded by `NEGLIGIBLE`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..._base.typing import Array
from .. import inner, jit
from ..sampling import multiply_into, tie_times, total_of
from ._fixed_size import passed_together
from ._vote_scores import VoteDistributions, score_votes

LARGE_GROUP = 64
"""Samples from which the integral is cut and its nodes are counted; smaller groups take all nodes."""
NEGLIGIBLE = 1e-18  # of a score; far below its rounding
RARE = 1e-24  # of a probability, relative to the mode


def is_rounded(unit: Any) -> bool:
    """Return True if the numbers are floats, False if they are Fractions. Compiled kernels can call it."""
    return not isinstance(unit, Fraction)


@overload(is_rounded)
def _is_rounded_compiled(unit):  # noqa: ARG001
    return lambda unit: True  # noqa: ARG005


class Strata(NamedTuple):
    """The classes' samples without the tested one, how many of each are trained, and the number 1."""

    available: Array
    n_train: Array
    unit: Any


@inner
def score_stratified(order, labels, target, constraints, rule, ties=True):
    """ICML §2.5 over all tie orders, for any `VotingRule`; O(depth * cost of a vote) without mixed groups.

    With ``constraints.extra``, `n_extra` of the strata flagged there, chosen at random, have one more
    training sample: the mark of a distribution counts how many of the strata passed have one. ``ties=None``
    serves orders without mixed groups, and no ``constraints.extra``; what those need is then not compiled.
    """
    classes, items, group_end = labels.classes, order.items, order.group_end
    k, n_train, extra = constraints.n_nearest, constraints.n_train, constraints.extra
    own_class = classes[target]
    available = constraints.counts.copy()
    available[own_class] -= constraints.held_out
    unit = constraints.unit
    zero = unit * 0
    strata = Strata(available, n_train, unit)
    n_classes = len(available)
    n_flagged = 0
    if ties is not None:
        n_flagged = total_of(extra)
    n_levels = 2 if n_flagged > 0 else 1
    n_marks = min(constraints.n_extra, n_flagged, len(items) + 1) + 1
    distributions = VoteDistributions(
        rows=np.full((n_classes + 2, n_levels, k + 1), zero),
        max_marks=np.zeros(n_classes + 2, available.dtype),
        max_votes=np.zeros(n_classes + 2, available.dtype),
        seen_classes=np.empty(n_classes, np.int64),
        marks=np.full(n_marks, zero),
        product=np.full((2 * n_marks, k + 1), zero),
    )
    rows, passed = distributions.rows, distributions.max_votes
    met = np.zeros(n_classes, np.bool_)
    met[own_class] = True
    rows[own_class, 0, 0] = distributions.marks[0] = unit
    distributions.seen_classes[0] = own_class
    n_seen = 1
    tested = unit
    if ties is not None and n_flagged > 0:
        _flag_class(own_class, distributions, n_seen, n_flagged, constraints)
        if constraints.held_out > 0:
            # With one more training sample fewer samples of the class are tested: it counts from the start.
            tested = zero
            for level in range(distributions.max_marks[own_class] + 1):
                n_own = available[own_class] + 1
                rows[own_class, level, 0] = unit * (n_own - n_train[own_class] - level) / n_own
                tested += rows[own_class, level, 0] * distributions.marks[level]
            if tested == 0:  # always in the training set
                return zero
    tested_without = rows[own_class, 0, 0]
    score = zero
    start = 0
    one_class = 0
    while start < len(items):
        end = start + 1
        if ties is not None:
            end, one_class = passed_together(items, classes, start, group_end[start], one_class)
        for i in range(start, end):
            c = classes[items[i]]
            if not met[c]:
                met[c] = True
                rows[c, 0, 0] = unit
                distributions.seen_classes[n_seen] = c
                n_seen += 1
                if ties is not None and n_flagged > 0:
                    _flag_class(c, distributions, n_seen, n_flagged, constraints)
        if ties is None or end == start + 1:
            c = classes[items[start]]
            if _law_at_item(distributions, strata, c):
                score += score_votes(distributions, n_seen, c, own_class, k, rule)
            _advance_class(distributions, strata, c, passed[c])
            passed[c] += 1
        else:
            members = np.zeros(n_seen, available.dtype)
            for i in range(start, end):
                for s in range(n_seen):
                    if distributions.seen_classes[s] == classes[items[i]]:
                        members[s] += 1
            score += _mixed_group(distributions, strata, members, tested_without, own_class, k, rule)
        start = end
    return score / tested


@inner
def _flag_class(c, distributions, n_seen, n_flagged, constraints):
    """Mark the class c, the last of those seen, if it is flagged, and fill the weights of all marks."""
    max_marks, marks, unit = distributions.max_marks, distributions.marks, constraints.unit
    if constraints.extra[c] == 1:
        max_marks[c] = 1
        distributions.rows[c, 1, 0] = unit
    n_extra = constraints.n_extra
    met = 0  # of the flagged classes
    for s in range(n_seen):
        met += max_marks[distributions.seen_classes[s]]
    # P(e given ones of the classes met have one more, and the other met - e have not).
    for e in range(len(marks)):
        probability = unit
        for j in range(met):
            if j < e:
                probability = probability * max(n_extra - j, 0) / (n_flagged - j)
            else:
                probability = probability * max(n_flagged - n_extra - j + e, 0) / (n_flagged - j)
        marks[e] = probability if e <= met else unit * 0


@inner
def _law_at_item(distributions, strata, c):
    """Fill the last row: this sample of class c is in T, with b - 1 of its class before it.

    Returns True if this is possible.
    """
    rows, max_marks, max_votes = distributions.rows, distributions.max_marks, distributions.max_votes
    last_row = len(rows) - 1
    k, n_train = rows.shape[2] - 1, strata.n_train[c]
    max_marks[last_row] = max_marks[c]
    max_votes[last_row] = min(max_votes[c] + 1, n_train + max_marks[c], k)
    share = strata.unit / (strata.available[c] - max_votes[c])
    possible = False
    for level in range(max_marks[c] + 1):
        rows[last_row, level, 0] = share * 0
        for b in range(1, max_votes[last_row] + 1):
            rows[last_row, level, b] = rows[c, level, b - 1] * (max(n_train + level - b + 1, 0) * share)
            possible = possible or rows[last_row, level, b] > 0
    return possible


@inner
def _advance_class(distributions, strata, c, passed):
    """Pass one more sample of class c, in T or not."""
    rows = distributions.rows
    left = strata.available[c] - passed
    share = strata.unit / left
    top = min(passed + 1, rows.shape[2] - 1)
    for level in range(distributions.max_marks[c] + 1):
        drawn = strata.n_train[c] + level
        for b in range(top, 0, -1):
            stay = rows[c, level, b] * (max(left - drawn + b, 0) * share)
            rows[c, level, b] = stay + rows[c, level, b - 1] * (max(drawn - b + 1, 0) * share)
        rows[c, level, 0] = rows[c, level, 0] * (max(left - drawn, 0) * share)


@inner
def _mixed_group(distributions, strata, members, tested_without, own_class, k, rule):
    """Expected score where the K-th nearest training sample is in the group; then the group is passed.

    ``members[s]`` of its samples are of class ``seen_classes[s]``. Every sample has a random time. At time
    x, j of the t samples of a class are before it with binomial probability, and the class's distribution
    is that after j more samples; the sample itself is one of t. O(b^2) for b samples; a large group costs
    O(b) and about sqrt(b) votes.
    """
    rows, max_marks, max_votes = distributions.rows, distributions.max_marks, distributions.max_votes
    seen_classes, unit = distributions.seen_classes, strata.unit
    n_seen = len(members)
    last_row = len(rows) - 1
    n_levels, n_votes = rows.shape[1], rows.shape[2]
    # The distributions after 0, 1, ... t samples of the class, for one class after the other.
    first = np.zeros(n_seen + 1, np.int64)
    for s in range(n_seen):
        first[s + 1] = first[s] + (members[s] + 1 if members[s] > 0 else 0)
    after = np.full((first[n_seen], n_levels, n_votes), unit * 0)
    for s in range(n_seen):
        c = seen_classes[s]
        for j in range(members[s] + 1):
            if members[s] > 0:
                _copy(rows, c, after, first[s] + j)
            if j < members[s]:
                _advance_class(distributions, strata, c, max_votes[c] + j)
    at_item = np.full((n_seen, n_levels, n_votes), unit * 0)
    before = max_votes.copy()
    score = unit * 0
    size = total_of(members)
    degree = size
    end = unit * 1
    rare = 0.0
    if size > LARGE_GROUP and is_rounded(unit):
        end = last_time(rows, seen_classes, members, after, first, tested_without, unit)
        degree = degree_for(size, end) if end > 0 else 0
        rare = RARE
    times, weights = tie_times(degree, unit)
    for at in range(len(times)):
        for s in range(n_seen):
            if members[s] > 0:
                c = seen_classes[s]
                rows[c], at_item[s] = 0, 0
                left, of_class = strata.available[c] - before[c], after[first[s] : first[s + 1]]
                time = times[at] * end
                mix_over_times(rows[c], at_item[s], of_class, time, left, strata.n_train[c], rare)
                max_votes[c] = before[c] + members[s]
        now = unit * 0
        for s in range(n_seen):
            if members[s] > 0:
                c = seen_classes[s]
                _copy(at_item, s, rows, last_row)
                max_marks[last_row] = max_marks[c]
                max_votes[last_row] = min(max_votes[c], strata.n_train[c] + max_marks[c], k)
                now += score_votes(distributions, n_seen, c, own_class, k, rule)
        score += now * weights[at] * end
    for s in range(n_seen):
        if members[s] > 0:
            _copy(after, first[s + 1] - 1, rows, seen_classes[s])
    return score


@jit
def _copy(sources, source, rows, row):
    """Set ``rows[row] = sources[source]``; as a slice assignment it would take seconds to compile."""
    for level in range(sources.shape[1]):
        for b in range(sources.shape[2]):
            rows[row, level, b] = sources[source, level, b]


@inner
def fill_earlier(probabilities, time, unit, rare):
    """``probabilities[j]`` = P(j of t samples have an earlier time), up to a factor; t + 1 zeros at first.

    Returns the first and the last j that are filled, and the sum. Those below `rare`, relative to the most
    likely j, are left out.
    """
    members = len(probabilities) - 1
    mode = int(members * time)
    probabilities[mode] = unit
    total = unit * 1
    last = mode
    while last < members and probabilities[last] >= rare:
        j = last
        probabilities[j + 1] = probabilities[j] * (members - j) / (j + 1) * time / (1 - time)
        total += probabilities[j + 1]
        last += 1
    first = mode
    while first > 0 and probabilities[first] >= rare:
        j = first
        probabilities[j - 1] = probabilities[j] * j / (members - j + 1) * (1 - time) / time
        total += probabilities[j - 1]
        first -= 1
    return first, last, total


@inner
def mix_over_times(row, at_item, after, time, left, n_train, rare):
    """Add a class's distribution at a time, and that given a sample of the class at exactly this time.

    ``after[j]`` is the distribution after j of its samples; `left` samples of the class are in the group or
    farther.
    """
    members = len(after) - 1
    probabilities = np.full(members + 1, time * 0)
    first, last, total = fill_earlier(probabilities, time, time * 0 + 1, rare)
    for j in range(first, last + 1):
        probability = probabilities[j] / total
        for level in range(row.shape[0]):
            for b in range(row.shape[1]):
                row[level, b] += probability * after[j, level, b]
        if j < members:
            # The next one has the time: t Bin(t - 1, x)(j) = Bin(t, x)(j) (t - j) / (1 - x).
            now = probability * (members - j) / (1 - time) / (left - j)
            for level in range(row.shape[0]):
                for b in range(1, row.shape[1]):
                    more = max(n_train + level - b + 1, 0)
                    at_item[level, b] += now * after[j, level, b - 1] * more


@inner
def last_time(rows, seen_classes, members, after, first, tested, unit):
    """A time by which the K-th nearest training sample has come, except with probability `NEGLIGIBLE`.

    `rows` are the distributions of the classes before the group, ``after[first[s]:first[s + 1]]`` those of
    class ``seen_classes[s]`` after 0, 1, ... of its ``members[s]`` samples in the group. Strata that may
    have one more training sample count without it: with it, the K-th comes earlier. ``rows[own, 0]`` is
    `tested` times a distribution.
    """
    if _share_later(unit * 0, rows, seen_classes, members, after, first, unit) <= NEGLIGIBLE * tested:
        return unit * 0
    end = unit * 1
    for factor in (0.5, 0.8):
        while _share_later(end * factor, rows, seen_classes, members, after, first, unit) <= (
            NEGLIGIBLE * tested
        ):
            end = end * factor
    return end


@inner
def _share_later(time, rows, seen_classes, members, after, first, unit):
    """P(fewer than K training samples have come by a time), times the weight of the rows."""
    k = rows.shape[2] - 1
    product = np.full(k, unit * 0)
    product[0] = unit
    row = np.full(k, unit * 0)
    for s in range(len(members)):
        if members[s] == 0:
            for b in range(k):
                row[b] = rows[seen_classes[s], 0, b]
        else:
            for b in range(k):
                row[b] = unit * 0
            probabilities = np.full(members[s] + 1, unit * 0)
            low, high, total = fill_earlier(probabilities, time, unit, RARE)
            for j in range(low, high + 1):
                for b in range(k):
                    row[b] += probabilities[j] / total * after[first[s] + j, 0, b]
        multiply_into(product, row, k - 1)
    return total_of(product)


@jit
def degree_for(size, end):
    """The degree up to which a quadrature on [0, end] must be exact for a group of this size.

    The integrand f is a polynomial of degree ``size - 1``, with positive coefficients in the powers of x
    and 1 - x, and at most `size` on [0, 1]. So |f(z)| <= size (|z| + |1 - z|)^(size - 1) in the plane. In
    the ellipse with foci 0 and end, and semiaxes that add to r end / 2, the sum of the distances to 0 and 1
    is at most 1 + end (c - 1), where c = (r + 1 / r) / 2. If M bounds |f| there, the Chebyshev coefficients
    of f on [0, end] are at most 2 M / r^k, and n nodes of positive weights, exact for degrees below 2 n,
    err by at most 4 end M r^(-2n) / (1 - 1 / r). The best of some r is taken, and never more nodes than are
    exact for f.
    """
    n_nodes = (size + 1) // 2
    excess = 0.02
    while excess < 8:
        r = 1 + excess
        largest = math.log(4 * end * size / (1 - 1 / r) / NEGLIGIBLE)
        largest += (size - 1) * math.log1p(end * ((r + 1 / r) / 2 - 1))
        n_nodes = min(n_nodes, max(math.ceil(largest / (2 * math.log(r))), 1))
        excess *= 1.4
    return 2 * n_nodes
