# mypy: allow-untyped-defs
"""Rank-R accuracy over stratified training sets, for all R at once.

A tested sample counts as correct if fewer than R training samples of other classes are nearer than its
nearest training sample of its class. So the distribution of the number D of those others serves every R:

    P(correct with R) = P(D <= R - 1),
    P(D = d) = sum over stops of P(the nearest of the class is here) P(S = d).

A *stop* is a sample of the tested class. S, the number of training samples of other classes ahead of it,
is a sum of independent hypergeometric numbers, one for each other class. The product of their distributions
(*laws*) is recomputed at every stop, up to the largest R: all terms are positive, and nothing is divided
out again.

Several tied samples of the tested class are one stop. If samples of other classes tie with them, every tied
sample gets a random time, and the mean over the time of the nearest one of the class is an integral of a
polynomial, which a quadrature computes exactly (`sampling.tie_times`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import ZERO, inner, jit
from ..sampling import fill_hypergeometric, tie_times

TAPS = 8  # factors are multiplied up to one degree less before the long product is multiplied by them
MAX_ENTRIES = 2**23  # of the table of laws


class Strata(NamedTuple):
    """The training sets of several designs, with a table of hypergeometric distributions (*laws*).

    Of a class with m samples ahead the law has the number ``bases + m``; classes of equal sizes share their
    laws. The table has powers of short laws as well, as long as they fit into `TAPS` numbers.

    ``n_train``
        int64 (n_designs, n_classes): samples of every class in the training set.
    ``counts``
        int64 (n_classes,): samples of every class.
    ``bases``
        int64 (n_designs, n_classes): number of the class's first law, -1 if it is not in the table.
    ``limit``
        Largest number of samples of a class that matters.
    ``starts``, ``degrees``, ``powers``
        int64 (n_laws,): start of a law in ``laws``, its degree, and the number of its powers, one every
        `TAPS` numbers.
    ``laws``
        float64 (any,): the probabilities that 0, 1, ... of the m samples are in the training set.
    """

    n_train: Array
    counts: Array
    bases: Array
    limit: int
    starts: Array
    degrees: Array
    powers: Array
    laws: Array


@jit
def _fill_laws(n_train, count, limit, first, starts, degrees, powers, laws):
    """Fill in the laws of one class, from number `first` on; return the end of them in ``laws``."""
    start = starts[first]
    for m in range(count + 1):
        law = np.zeros(m + 1)
        fill_hypergeometric(law, m, n_train, count, 1.0)
        degree = min(m, n_train, limit)
        starts[first + m], degrees[first + m] = start, degree
        for h in range(degree + 1):
            laws[start + h] = law[h]
        if degree >= TAPS:
            powers[first + m] = 1
            start += degree + 1
            continue
        powers[first + m] = (TAPS - 1) // max(degree, 1)
        for power in range(1, powers[first + m]):
            before, here = start + (power - 1) * TAPS, start + power * TAPS
            for d in range(degree * power + 1):
                for h in range(degree + 1):
                    laws[here + d + h] += laws[before + d] * law[h]
        start += TAPS * powers[first + m]
    return start


def strata_of(n_train: Array, counts: Array, limit: int) -> Strata:
    """The designs, with a table of the laws as far as it stays small."""
    bases = np.full(n_train.shape, -1)
    known: dict[tuple[int, int], int] = {}
    n_laws = n_entries = 0
    for at in np.ndindex(n_train.shape):
        kind = int(n_train[at]), int(counts[at[1]])
        if kind not in known:
            longest = max(min(*kind, limit) + 1, TAPS * (TAPS - 1))
            if n_entries + (kind[1] + 1) * max(longest, kind[1]) > MAX_ENTRIES:
                continue
            known[kind] = n_laws
            n_laws += kind[1] + 1
            n_entries += (kind[1] + 1) * longest
        bases[at] = known[kind]
    starts = np.zeros(n_laws + 1, np.int64)
    degrees, powers = np.zeros((2, n_laws + 1), np.int64)
    laws = np.zeros(n_entries + 1)
    for kind, first in known.items():
        starts[first + kind[1] + 1] = _fill_laws(*kind, limit, first, starts, degrees, powers, laws)
    return Strata(n_train, counts, bases, limit, starts, degrees, powers, laws)


class RankSpec(NamedTuple):
    """The designs, and the numbers that all samples share.

    ``classes``
        int64 (n_items,): class of every sample.
    ``weights``
        float64 (n_designs, n_classes): weight of a sample of every class.
    ``strata``
        The training sets.
    ``average_ties``
        Whether the tie rule is the mean over all orders.
    ``missing``
        The probability of a sample that may stay unknown.
    ``floor``
        Terms of a product below this are dropped, and count as unknown.
    """

    classes: Array
    weights: Array
    strata: Strata
    average_ties: bool
    missing: float
    floor: float


class Stops(NamedTuple):
    """The stops of one sample.

    ``sizes``
        int64 (any,): samples of the tested class at every stop.
    ``ahead``, ``tied``
        int64 (any, n_classes): samples of other classes between the stop before and this one, and those
        that tie with it.
    """

    sizes: Array
    ahead: Array
    tied: Array


@inner
def _times(product, low, high, law, at, degree, top, out):
    """``out`` = `product` times ``law[at] .. law[at + degree]``, up to degree `top`; the highest degree.

    Degree d is at ``pad + d``, so that zeros can be read on both sides. Numba turns several taps at a time
    with unsigned indices, which cannot count from the end, into vector instructions. Slices would cost more
    than the multiplications.
    """
    pad = len(product) // 3
    for i in range(pad + low - degree - TAPS, pad + low):
        product[i] = 0.0
    reach = min(high + degree, top)
    for i in range(high + 1, reach + 1):
        product[pad + i] = 0.0
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    to, end = np.uint64(pad + low), np.uint64(pad + reach + 1)
    for first in range(0, degree + 1, 4):
        taps = min(degree + 1 - first, 4)
        a = law[at + first]
        b = law[at + first + 1] if taps > 1 else 0.0
        c = law[at + first + 2] if taps > 2 else 0.0
        d = law[at + first + 3] if taps > 3 else 0.0
        back = np.uint64(first)
        if first == 0 and taps <= 2:
            for i in range(to, end):
                out[i] = product[i] * a + product[i - one] * b
        elif first == 0:
            for i in range(to, end):
                near = product[i] * a + product[i - one] * b
                out[i] = near + (product[i - two] * c + product[i - three] * d)
        else:
            for i in range(to, end):
                j = i - back
                near = product[j] * a + product[j - one] * b
                out[i] += near + (product[j - two] * c + product[j - three] * d)
    return reach


@inner
def _trim(product, low, high, floor):
    """Lowest and highest degree without the outer terms below `floor`, and the sum of these terms."""
    pad = len(product) // 3
    lost = 0.0
    while low <= high and product[pad + low] < floor:
        lost += product[pad + low]
        low += 1
    while high >= low and product[pad + high] < floor:
        lost += product[pad + high]
        high -= 1
    return low, high, lost


@jit
def _product(room, strata, design, near, group, active, n_active, number, loose, law, top, floor):
    """The law of the number of samples ahead in T, without the classes in the tied `group`.

    ``near`` (n_classes,) are the samples ahead, ``active`` the laws met so far, ``number`` (n_laws,) the
    classes that have each law, and ``loose`` the classes without laws in the table. Returns the side of
    `room` that holds the product, its lowest and highest degree (crossed where nothing is left), and the
    probability that was dropped.
    """
    side, low, high = ZERO, ZERO, ZERO
    room[0, room.shape[1] // 3] = 1.0
    lost = 0.0
    for i in range(n_active):
        which = active[i]
        left = number[which]
        while left > 0 and low <= high:
            power = min(left, strata.powers[which])
            start = strata.starts[which] + (power - 1) * TAPS
            degree = strata.degrees[which] * power
            high = _times(room[side], low, high, strata.laws, start, degree, top, room[1 - side])
            side = 1 - side
            low, high, less = _trim(room[side], low, high, floor)
            lost += less
            left -= power
    for i in range(len(loose)):
        c = loose[i]
        if near[c] > 0 and group[c] == 0 and low <= high:
            degree = _fill_law(law, np.empty(1), strata, design, c, near[c], ZERO, 0.0)
            high = _times(room[side], low, high, law, ZERO, degree, top, room[1 - side])
            side = 1 - side
            low, high, less = _trim(room[side], low, high, floor)
            lost += less
    return side, low, high, lost


@inner
def _fill_binomial(terms, n, chance):
    """Fill in the chances of 0 .. n, from the most probable number, the mode, up and then down from it.

    They are those of so many of n with this `chance` each, relative to the mode's. Returns the mode, and
    the sum. The number at i is mode + i, or n - i beyond n.
    """
    mode = min(int((n + 1) * chance), n)
    terms[0] = total = term = 1.0
    for j in range(mode, n):
        term *= (n - j) / (j + 1) * chance / (1 - chance)
        terms[j - mode + 1] = term
        total += term
    term = 1.0
    for j in range(mode, 0, -1):
        term *= j / (n - j + 1) * (1 - chance) / chance
        terms[n - j + 1] = term
        total += term
    return mode, total


@inner
def _fill_law(law, terms, strata, design, c, m, members, time):
    """Fill in the law of the number of the class's samples ahead that are in T; return its degree.

    ``m`` samples are ahead, and of `members` more, which have random times, those with a time before
    `time`.
    """
    n_train = strata.n_train[design, c]
    base = strata.bases[design, c]
    max_degree = min(m + members, n_train, strata.limit)
    for h in range(max_degree + 1):
        law[h] = 0.0
    mode, total = _fill_binomial(terms, members, time)
    for i in range(members + 1):
        ahead = m + (mode + i if mode + i <= members else members - i)
        top = min(ahead, max_degree)
        if base >= 0:
            start = strata.starts[base + ahead]
            for h in range(top + 1):
                law[h] += terms[i] * strata.laws[start + h]
        else:
            one = np.zeros(ahead + 1)
            fill_hypergeometric(one, ahead, n_train, strata.counts[c], 1.0)
            for h in range(top + 1):
                law[h] += terms[i] * one[h]
    if members > 0:
        for h in range(max_degree + 1):
            law[h] /= total
    return max_degree


@inner
def _move(c, step, base, near, number, active, met, n_active):
    """Count `step` more samples of class c, whose laws start at `base`; return the number of laws met."""
    before = near[c]
    near[c] += step
    if base < 0:
        return n_active
    if before > 0:
        number[base + before] -= 1
    now = base + near[c]
    number[now] += 1
    if not met[now]:
        met[now] = True
        active[n_active] = now
        n_active += 1
    return n_active


@inner
def _count_group(change, group, bases, near, number):
    """Add `change` to the numbers of the laws of the classes in a tied group."""
    for c in range(len(group)):
        if group[c] > 0 and near[c] > 0 and bases[c] >= 0:
            number[bases[c] + near[c]] += change


@jit
def add_curve(
    n_stops, sizes, ahead, tied, listed, own_class, weight, design, strata, missing, floor, scores, tails
):
    """Add the weighted law of D of one sample, and its unknown part; return its unknown share.

    The arguments are fields of `RankSpec` and `Stops`. Tuples taken apart in here would cost a fifth more
    time, because access to their fields counts references.

    Parameters
    ----------
    listed : bool
        Whether samples beyond the last stop are unknown: row `n_stops` of ``ahead`` then has the known
        ones.
    scores, tails : float64 (top + 2,)
        By d. The last entry of `tails` is unknown for every R.
    """
    top = len(scores) - 2
    n_classes = len(strata.counts)
    n_own = strata.n_train[design, own_class]
    left = strata.counts[own_class] - 1
    if n_own == 0:
        return 0.0
    pad = top + 1 + 2 * TAPS
    room = np.empty((4, 3 * pad))
    law = np.empty(top + 2)
    near, empty_group = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    n_laws = len(strata.starts)
    number, active, met = np.zeros(n_laws, np.int64), np.empty(n_laws, np.int64), np.zeros(n_laws, np.bool_)
    loose = np.empty(n_classes, np.int64)
    bases = np.empty(n_classes, np.int64)
    n_loose = 0
    for c in range(n_classes):
        base = strata.bases[design, c]
        if base < 0:
            loose[n_loose] = c
            n_loose += 1
        bases[c] = base if strata.n_train[design, c] > 0 else -1  # the others do not vary
    loose = loose[:n_loose]
    n_active = ZERO
    p_none = 1.0  # P(no sample of the class so far is in T)
    lost = 0.0
    for b in range(n_stops + 1):
        if p_none <= 0.0:
            break
        if b == n_stops and not listed:  # farther samples of the class were left out
            lost += p_none
            break
        n_tied = ZERO
        for c in range(n_classes):
            if ahead[b, c] > 0:
                n_active = _move(c, ahead[b, c], bases[c], near, number, active, met, n_active)
            if b < n_stops:
                n_tied += tied[b, c]
        group = tied[b] if n_tied > 0 else empty_group
        if n_tied > 0:
            _count_group(-1, group, bases, near, number)
        side, low, high, less = _product(
            room[:2], strata, design, near, group, active, n_active, number, loose, law, top, floor
        )
        lost += less * p_none
        if low > high:  # too many are ahead for any R
            break
        if b == n_stops:
            rest = 0.0
            for d in range(low, high + 1):
                tails[d] += weight * p_none * room[side, pad + d]
                rest += p_none * room[side, pad + d]
            return rest + _drop(lost, weight, tails)
        size = sizes[b]
        p_later = p_none
        p_here = 0.0  # P(the nearest own training sample is one of these)
        for j in range(size):
            p_here += p_later * n_own / (left - j)
            p_later *= max(left - j - n_own, 0) / (left - j)
        if n_tied == 0:
            for d in range(low, high + 1):
                scores[d] += weight * p_here * room[side, pad + d]
        else:
            product = side, low, high
            own = size, left, n_own, p_none
            lost = _add_tied_stop(
                product, own, group, n_tied, weight, near, room, law, strata, design, floor, lost, scores
            )
            _count_group(1, group, bases, near, number)
            for c in range(n_classes):
                if group[c] > 0:
                    n_active = _move(c, group[c], bases[c], near, number, active, met, n_active)
        p_none = p_later
        left -= size
        rest = 0.0
        for d in range(low, high + 1):
            rest += room[side, pad + d]
        if p_none > 0 and p_none * rest <= missing:
            for d in range(low, high + 1):
                tails[d] += weight * p_none * room[side, pad + d]
            return p_none * rest + _drop(lost, weight, tails)
    return _drop(lost, weight, tails)


@inner
def _add_tied_stop(
    product, own, group, n_tied, weight, near, room, law, strata, design, floor, lost, scores
):
    """Add a stop that ties with samples of other classes; return `lost` plus the dropped probability.

    `product` is the row of `room` with the law of the other classes ahead, and its degrees; `own`
    has the tied samples of the class, all from here on, those in T, and P(none before is in T).
    """
    side, low, high = product
    size, left, n_own, p_none = own
    top = len(scores) - 2
    pad = top + 1 + 2 * TAPS
    times, weights = tie_times(size + n_tied, 1.0)
    terms = np.empty(size + n_tied)
    for at in range(len(times)):
        now = p_none * weights[at] * _density_of_first(terms, size, left, n_own, times[at])
        for d in range(low, high + 1):
            room[2, pad + d] = room[side, pad + d]
        part, first, last = 2, low, high
        for c in range(len(group)):
            if group[c] > 0 and first <= last:
                degree = _fill_law(law, terms, strata, design, c, near[c], group[c], times[at])
                last = _times(room[part], first, last, law, ZERO, degree, top, room[5 - part])
                part = 5 - part
                first, last, less = _trim(room[part], first, last, floor)
                lost += less * now
        for d in range(first, last + 1):
            scores[d] += weight * now * room[part, pad + d]
    return lost


@inner
def _drop(lost, weight, tails):
    tails[-1] += weight * lost
    return lost


@inner
def _density_of_first(terms, size, left, n_own, time):
    """Density of the time of the nearest training sample of the class, one of `size` tied samples.

    j of the other size - 1 have an earlier time, with a binomial probability, and none of these j is in T.
    """
    mode, total = _fill_binomial(terms, size - 1, time)
    density = 0.0
    for i in range(size):
        earlier = mode + i if mode + i < size else size - 1 - i
        value = terms[i] * size * n_own / (left - earlier)
        for j in range(earlier):
            value *= max(left - j - n_own, 0) / (left - j)
        density += value
    return density / total
