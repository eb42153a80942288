"""Groups of tied samples of several classes, and their random times in stratified designs.

The samples of a tied group get independent uniform times, and the score is an integral over the time of the
sample that decides. In a large group only the beginning of the unit interval matters, and the integrand is
so smooth there that few nodes suffice; both are bounded by `NEGLIGIBLE`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numba.extending import overload

from ..kernel import inner, jit
from ..sampling import multiply_into

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


@inner
def has_mixed_group(order, labels):
    """Return True if samples of different classes tie; O(depth)."""
    classes, items, group_end = labels.classes, order.items, order.group_end
    for i in range(1, len(items)):
        if group_end[i - 1] > i and classes[items[i]] != classes[items[i - 1]]:
            return True
    return False


@jit
def is_mixed(items, classes, start, end):
    """Return True if the samples at the positions `start` .. `end` - 1 have several classes."""
    c = classes[items[start]]
    same = True
    for i in range(start + 1, end):
        same = same and classes[items[i]] == c
    return not same


@inner
def passed_together(items, classes, start, end, one_class):
    """The end of the samples that are passed at once, of a tied group from `start` to `end`.

    Those of one class are passed one by one. Also returns the end of the last such group, to be given for
    the next sample.
    """
    if end > start + 1 and (start < one_class or not is_mixed(items, classes, start, end)):
        return start + 1, end
    return end, one_class


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
    return product.sum()


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
