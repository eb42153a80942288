"""Rank scoring of stratified training sets, for all R at once.

A tested sample is right if fewer than R training samples of other classes are nearer than its nearest
training sample of its own class. So one law serves every R, that of the number D of those others:

    P(right with R) = P(D <= R - 1),  P(D = d) = sum over stops of P(nearest own one is here) P(S = d),

where a *stop* is a sample of the own class, and S, the number of training samples ahead of it, is a sum of
independent hypergeometric numbers, one for every other class. The product of their laws is taken anew at
every stop, up to the largest R: all terms are positive, and nothing is divided out again.

Several equally near samples of the own class are one stop. Where samples of other classes tie them, every
tied
sample gets a random time, and the mean over the time of the nearest own one is an integral of a polynomial,
which nodes give exactly (`sampling.tie_times`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..sampling import fill_hypergeometric, tie_times

TAPS = 8  # factors are joined up to one degree less before they meet the long product
MOST_ENTRIES = 2**23  # of the table of laws


class Strata(NamedTuple):
    """The training sets of several designs.

    A class of which m samples are ahead has the law ``bases + m``; classes of equal sizes share theirs. The
    table has powers of short laws too, as long as they fit into `TAPS` numbers.

    ``n_train``
        int64 (n_designs, n_classes): samples of every class in the training set.
    ``counts``
        int64 (n_classes,): samples of the classes.
    ``bases``
        int64 (n_designs, n_classes): number of the class's first law, -1 where it is not in the table.
    ``limit``
        No more than so many samples of a class count.
    ``starts``, ``degrees``, ``powers``
        int64 (n_laws,): where a law begins in ``laws``, its degree, and how many powers are there, one
        every `TAPS` numbers.
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
def _fill_laws(n_train, count, limit, first, starts, degrees, powers, laws):  # type: ignore[no-untyped-def]
    """The laws of one class, from number `first` on; where the next class's begin in ``laws``."""
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
    """The designs, with a table of laws where it is small; at most `limit` samples of a class count."""
    bases = np.full(n_train.shape, -1)
    known: dict[tuple[int, int], int] = {}
    n_laws = n_entries = 0
    for at in np.ndindex(n_train.shape):
        kind = int(n_train[at]), int(counts[at[1]])
        if kind not in known:
            longest = max(min(*kind, limit) + 1, TAPS * (TAPS - 1))
            if n_entries + (kind[1] + 1) * max(longest, kind[1]) > MOST_ENTRIES:
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


@jit
def _times(product, low, high, law, at, degree, top, out):  # type: ignore[no-untyped-def]
    """``out`` = `product` times ``law[at] .. law[at + degree]``, up to degree `top`; the highest degree.

    Degree d is at ``pad + d``, so that zeros can be read on both sides. Several taps at a time and unsigned
    indices, which cannot count from the end: what Numba turns into vector instructions. Slices would cost
    more than the work.
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


@jit
def _trim(product, low, high, floor):  # type: ignore[no-untyped-def]
    """Lowest and highest degree without what is less than `floor`, and how much that is."""
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
def _product(room, strata, design, near, group, active, n_active, number, loose, law, top, floor):  # type: ignore[no-untyped-def]
    """The law of how many samples ahead are in T, those of classes in the tied `group` left out.

    Returns the side of `room` that holds it, its lowest and highest degree (crossed where nothing is
    left), and the probability that was let go.
    """
    side, low, high = 0, 0, 0
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
            degree = _fill_law(law, strata, design, c, near[c], 0, 0.0)
            high = _times(room[side], low, high, law, 0, degree, top, room[1 - side])
            side = 1 - side
            low, high, less = _trim(room[side], low, high, floor)
            lost += less
    return side, low, high, lost


@jit
def _fill_law(law, strata, design, c, m, members, time):  # type: ignore[no-untyped-def]
    """The law of how many of the class's samples ahead are in T; its degree.

    ``m`` samples are ahead, and `members` more with a random time, of which those before `time` are.
    """
    n_train = strata.n_train[design, c]
    base = strata.bases[design, c]
    most = min(m + members, n_train, strata.limit)
    for h in range(most + 1):
        law[h] = 0.0
    likeliest = min(int((members + 1) * time), members)
    total = 1.0
    for side in range(2):  # from the likeliest number of members before it, up and then down
        chance = 1.0
        j = likeliest
        while True:
            if side == 0 or j < likeliest:
                top = min(m + j, most)
                if base >= 0:
                    start = strata.starts[base + m + j]
                    for h in range(top + 1):
                        law[h] += chance * strata.laws[start + h]
                else:
                    one = np.zeros(m + j + 1)
                    fill_hypergeometric(one, m + j, n_train, strata.counts[c], 1.0)
                    for h in range(top + 1):
                        law[h] += chance * one[h]
            if side == 0:
                if j == members:
                    break
                chance *= (members - j) / (j + 1) * time / (1 - time)
                j += 1
            else:
                if j == 0:
                    break
                chance *= j / (members - j + 1) * (1 - time) / time
                j -= 1
            total += chance
    if members > 0:
        for h in range(most + 1):
            law[h] /= total
    return most


@jit
def _move(c, step, near, number, active, n_active, met, strata, design):  # type: ignore[no-untyped-def]
    """So many samples more of class c are ahead; how many laws have been met."""
    base = strata.bases[design, c]
    before = near[c]
    near[c] += step
    if base < 0 or strata.n_train[design, c] == 0:
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


@jit
def add_curve(  # type: ignore[no-untyped-def]
    n_stops, sizes, ahead, tied, listed, own, weight, design, strata, missing, floor, scores, tails
):
    """Add the weighted law of D of one sample, and what is unknown of it; the latter's share of the sample.

    Parameters
    ----------
    n_stops, sizes, ahead, tied
        As `_search.ahead` fills them.
    listed : bool
        Whether samples beyond the last stop are unknown: then row `n_stops` of `ahead` has those known.
    missing : float
        What may stay unknown of a sample.
    scores, tails : float64 (top + 2,)
        By d; at top + 1 of `tails` what is unknown whatever the R.
    """
    top = len(scores) - 2
    n_classes = len(strata.counts)
    n_own = strata.n_train[design, own]
    left = strata.counts[own] - 1
    if n_own == 0:
        return 0.0
    pad = top + 1 + 2 * TAPS
    room = np.empty((4, 3 * pad))
    law = np.empty(top + 2)
    near = np.zeros(n_classes, np.int64)
    nobody = np.zeros(n_classes, np.int64)
    n_laws = len(strata.starts)
    number, active, met = np.zeros(n_laws, np.int64), np.empty(n_laws, np.int64), np.zeros(n_laws, np.bool_)
    n_active = 0
    loose = np.flatnonzero(strata.bases[design] < 0)
    none = 1.0  # P(no own sample so far is in T)
    lost = 0.0
    for b in range(n_stops + 1):
        if none <= 0.0:
            break
        if b == n_stops and not listed:  # farther own samples were left out
            lost += none
            break
        mixed = 0
        for c in range(n_classes):
            if ahead[b, c] > 0:
                n_active = _move(c, ahead[b, c], near, number, active, n_active, met, strata, design)
            if b < n_stops:
                mixed += tied[b, c]
        group = tied[b] if mixed > 0 else nobody
        if mixed > 0:
            for c in range(n_classes):
                if group[c] > 0 and near[c] > 0 and strata.bases[design, c] >= 0:
                    number[strata.bases[design, c] + near[c]] -= 1
        side, low, high, less = _product(
            room[:2], strata, design, near, group, active, n_active, number, loose, law, top, floor
        )
        lost += less * none
        if low > high:  # too many are ahead for any R
            break
        if b == n_stops:
            rest = 0.0
            for d in range(low, high + 1):
                tails[d] += weight * none * room[side, pad + d]
                rest += none * room[side, pad + d]
            return rest + _let_go(lost, weight, tails)
        size = sizes[b]
        after = none
        here = 0.0  # P(the nearest own training sample is one of these)
        for j in range(size):
            here += after * n_own / (left - j)
            after *= max(left - j - n_own, 0) / (left - j)
        if mixed == 0:
            for d in range(low, high + 1):
                scores[d] += weight * here * room[side, pad + d]
        else:
            times, weights = tie_times(size + mixed, 1.0)
            for at in range(len(times)):
                now = none * weights[at] * _comes_now(size, left, n_own, times[at])
                for d in range(low, high + 1):
                    room[2, pad + d] = room[side, pad + d]
                part, first, last = 2, low, high
                for c in range(n_classes):
                    if group[c] > 0 and first <= last:
                        degree = _fill_law(law, strata, design, c, near[c], group[c], times[at])
                        last = _times(room[part], first, last, law, 0, degree, top, room[5 - part])
                        part = 5 - part
                        first, last, less = _trim(room[part], first, last, floor)
                        lost += less * now
                for d in range(first, last + 1):
                    scores[d] += weight * now * room[part, pad + d]
            for c in range(n_classes):
                if group[c] > 0:
                    if near[c] > 0 and strata.bases[design, c] >= 0:
                        number[strata.bases[design, c] + near[c]] += 1
                    n_active = _move(c, group[c], near, number, active, n_active, met, strata, design)
        none = after
        left -= size
        rest = 0.0
        for d in range(low, high + 1):
            rest += room[side, pad + d]
        if none > 0 and none * rest <= missing:
            for d in range(low, high + 1):
                tails[d] += weight * none * room[side, pad + d]
            return none * rest + _let_go(lost, weight, tails)
    return _let_go(lost, weight, tails)


@jit
def _let_go(lost, weight, tails):  # type: ignore[no-untyped-def]
    tails[-1] += weight * lost
    return lost


@jit
def _comes_now(size, left, n_own, time):  # type: ignore[no-untyped-def]
    """Density of the time of the nearest own training sample, one of `size` tied ones.

    Of the other size - 1 j come before, binomially, and none of these is in T.
    """
    likeliest = min(int(size * time), size - 1)
    total = density = 0.0
    for step in range(2):
        chance = 1.0
        j = likeliest
        while True:
            if step == 0 or j < likeliest:
                total += chance
                value = chance * size * n_own / (left - j)
                for i in range(j):
                    value *= max(left - i - n_own, 0) / (left - i)
                density += value
            if step == 0:
                if j == size - 1:
                    break
                chance *= (size - 1 - j) / (j + 1) * time / (1 - time)
                j += 1
            else:
                if j == 0:
                    break
                chance *= j / (size - j) * (1 - time) / time
                j -= 1
    return density / total
