"""Rank scoring of stratified training sets, for all R at once.

A tested item is right if fewer than R training items of other classes are nearer than its nearest
training item of its own class. So one law serves every R, that of the number D of those others:

    P(right with R) = P(D <= R - 1),  P(D = d) = sum over stops of P(nearest own one is here) P(S = d),

where a *stop* is an item of the own class, and S, the number of training items ahead of it, is a sum of
independent hypergeometric numbers, one for every other class. The product of their laws is taken anew at
every stop, up to the largest R: all terms are positive, and nothing is divided out again.

Several equally near items of the own class are one stop. Where items of other classes tie them, every tied
item gets a random time, and the mean over the time of the nearest own one is an integral of a polynomial,
which nodes give exactly (`sampling.tie_times`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel import Array, jit
from .sampling import fill_hypergeometric, tie_times

SHORT = 8  # factors are joined up to this degree before they meet the long product
TAPS = 4
MOST_ENTRIES = 2**22  # of the table of hypergeometric laws


class Strata(NamedTuple):
    """The training sets of several designs.

    ``n_train``
        int64 (n_designs, n_classes): items of every class in the training set.
    ``counts``
        int64 (n_classes,): items of the classes.
    ``starts``, ``widths``
        int64 (n_designs, n_classes): where in ``laws`` the laws of a class begin, -1 where they are not
        there; how many numbers each has.
    ``laws``
        float64 (any,): at ``start + m * width + h`` the probability that h of the class's m nearest items
        are in the training set.
    """

    n_train: Array
    counts: Array
    starts: Array
    widths: Array
    laws: Array


@jit
def _fill_laws(n_train, count, width, laws):  # type: ignore[no-untyped-def]
    for m in range(count + 1):
        law = np.zeros(m + 1)
        fill_hypergeometric(law, m, n_train, count, 1.0)
        for h in range(min(m + 1, width)):
            laws[m * width + h] = law[h]


def strata_of(n_train: Array, counts: Array, most: int) -> Strata:
    """The designs, with a table of laws where that is small; no more than `most` items of a class count."""
    starts = np.full(n_train.shape, -1)
    widths = np.minimum(n_train, most) + 1
    known: dict[tuple[int, int], int] = {}
    parts: list[Array] = []
    length = 0
    for at in np.ndindex(n_train.shape):
        kind = int(n_train[at]), int(counts[at[1]])
        if kind not in known:
            size = (kind[1] + 1) * int(widths[at])
            if length + size + kind[1] ** 2 > MOST_ENTRIES:
                continue
            laws = np.zeros(size)
            _fill_laws(*kind, int(widths[at]), laws)
            parts.append(laws)
            known[kind] = length
            length += size
        starts[at] = known[kind]
    return Strata(n_train, counts, starts, widths, np.concatenate([*parts, np.zeros(1)]))


@jit
def _times(product, low, high, law, degree, top, out):  # type: ignore[no-untyped-def]
    """``out`` = `product` times the first of `law`, up to degree `top`; the new highest degree.

    Degree d is at ``pad + d``, so that zeros can be read on both sides. Four taps at a time: what Numba
    turns into vector instructions.
    """
    pad = len(product) // 3
    for i in range(degree + TAPS):
        product[pad + low - 1 - i] = 0.0
    reach = min(high + degree, top)
    for i in range(high + 1, reach + 1):
        product[pad + i] = 0.0
    n = reach - low + 1
    start = pad + low
    target = out[start : start + n]
    for first in range(0, degree + 1, TAPS):
        a = law[first]
        b = law[first + 1] if first + 1 <= degree else 0.0
        c = law[first + 2] if first + 2 <= degree else 0.0
        d = law[first + 3] if first + 3 <= degree else 0.0
        x = product[start - first : start - first + n]
        y = product[start - first - 1 : start - first - 1 + n]
        z = product[start - first - 2 : start - first - 2 + n]
        w = product[start - first - 3 : start - first - 3 + n]
        if first == 0:
            for i in range(n):
                target[i] = x[i] * a + y[i] * b + z[i] * c + w[i] * d
        else:
            for i in range(n):
                target[i] += x[i] * a + y[i] * b + z[i] * c + w[i] * d
    return reach


@jit
def _fill_law(law, strata, design, c, m, members, time):  # type: ignore[no-untyped-def]
    """The law of how many of the class's items ahead are in T; its degree.

    ``m`` items are ahead, and `members` more with a random time, of which those before `time` are.
    """
    width = strata.widths[design, c]
    start = strata.starts[design, c]
    most = min(m + members, width - 1)
    for h in range(most + 1):
        law[h] = 0.0
    chance = 1.0
    likeliest = min(int((members + 1) * time), members)
    total = 1.0
    for side in range(2):  # from the likeliest number of members before it, up and then down
        chance = 1.0
        j = likeliest
        while True:
            if side == 0 or j < likeliest:
                if start >= 0:
                    for h in range(min(m + j, width - 1) + 1):
                        law[h] += chance * strata.laws[start + (m + j) * width + h]
                else:
                    one = np.zeros(m + j + 1)
                    fill_hypergeometric(one, m + j, strata.n_train[design, c], strata.counts[c], 1.0)
                    for h in range(min(m + j, width - 1) + 1):
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
def _multiply(room, side, low, high, strata, design, near, tied, some_tied, time, law, short, top, floor):  # type: ignore[no-untyped-def]
    """Multiply ``room[side]`` by the laws of classes that are ahead.

    With `some_tied` those of the classes in a tied group, at this time; else those of all others. Returns
    the side of the product, its lowest and highest degree (crossed where nothing is left), and the
    probability that was let go, being less than `floor` apiece.
    """
    pad = room.shape[1] // 3
    lost = 0.0
    degree = 0
    short[0] = 1.0
    n_classes = len(near)
    for c in range(n_classes + 1):
        added = 0
        if c < n_classes:
            if near[c] + tied[c] == 0 or (tied[c] > 0) != some_tied or strata.n_train[design, c] == 0:
                continue
            added = _fill_law(law, strata, design, c, near[c], tied[c] if some_tied else 0, time)
            if degree + added <= SHORT:
                for d in range(degree + added, -1, -1):
                    value = 0.0
                    for h in range(max(0, d - degree), min(d, added) + 1):
                        value += short[d - h] * law[h]
                    short[d] = value
                degree += added
                continue
        if degree > 0:
            high = _times(room[side], low, high, short, degree, top, room[1 - side])
            side = 1 - side
        if added > SHORT:
            high = _times(room[side], low, high, law, added, top, room[1 - side])
            side = 1 - side
        degree = 0
        short[0] = 1.0
        if 0 < added <= SHORT:
            degree = added
            for d in range(added + 1):
                short[d] = law[d]
        while low <= high and room[side, pad + low] < floor:
            lost += room[side, pad + low]
            low += 1
        while high >= low and room[side, pad + high] < floor:
            lost += room[side, pad + high]
            high -= 1
        if low > high:
            break
    return side, low, high, lost


@jit
def add_curve(n_stops, sizes, ahead, tied, listed, own, weight, design, strata, missing, floor, scores, tails):  # type: ignore[no-untyped-def]
    """Add the weighted law of D of one item, and what is unknown of it; the latter's share of the item.

    Parameters
    ----------
    n_stops, sizes, ahead, tied
        As `_search.ahead` fills them.
    listed : bool
        Whether items beyond the last stop are unknown: then row `n_stops` of `ahead` has those known.
    missing : float
        What may stay unknown of an item.
    scores, tails : float64 (top + 2,)
        By d; at top + 1 of `tails` what is unknown whatever the R.
    """
    top = len(scores) - 2
    n_classes = len(strata.counts)
    n_own = strata.n_train[design, own]
    left = strata.counts[own] - 1
    if n_own == 0:
        return 0.0
    pad = top + 1 + SHORT + TAPS
    room = np.empty((4, 3 * pad))
    law = np.empty(top + 2)
    short = np.empty(SHORT + 1)
    near = np.zeros(n_classes, np.int64)
    nobody = np.zeros(n_classes, np.int64)
    none = 1.0  # P(no own item so far is in T)
    lost = 0.0
    for b in range(n_stops + 1):
        if none <= 0.0:
            break
        if b == n_stops and not listed:  # farther own items were left out
            lost += none
            break
        mixed = 0
        for c in range(n_classes):
            near[c] += ahead[b, c]
            if b < n_stops:
                mixed += tied[b, c]
        group = tied[b] if mixed > 0 else nobody
        room[0, pad] = 1.0
        side, low, high, less = _multiply(
            room[:2], 0, 0, 0, strata, design, near, group, False, 0.0, law, short, top, floor
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
        here = 0.0  # P(the nearest own training item is one of these)
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
                part, first, last, less = _multiply(
                    room[2:],
                    0,
                    low,
                    high,
                    strata,
                    design,
                    near,
                    group,
                    True,
                    times[at],
                    law,
                    short,
                    top,
                    floor,
                )
                lost += less * now
                for d in range(first, last + 1):
                    scores[d] += weight * now * room[2 + part, pad + d]
            for c in range(n_classes):
                near[c] += group[c]
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
    """Density of the time of the nearest own training item, one of `size` tied ones.

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
