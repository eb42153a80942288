"""What K voters drawn from the first i neighbors would say, for all K at once: the profile of the data.

Condition on the (K+1)-th nearest training sample being the sample at position i + 1: the voters are then a
uniform K-subset of the first i samples, whatever the size of the training set. With P_x(K, i) the
probability that such voters classify x rightly, which depends on the class counts g of the first i samples
alone,

    A_x(K, alpha) = sum_i P_x(K, i) C(i, K) C(M-i-1, alpha-K-1) / C(M, alpha),

so the weighted mean of P_x over the samples serves every training size. Where a list ends at m, the case of
exactly K training samples among its samples has the probability C(m, K) C(M-m, alpha-K) / C(M, alpha) and
the same P_x(K, m); only fewer than K remain unknown.

P_x(K, i) C(i, K) = sum_t C(g(own), t) F_t(K - t), where F_t(s) counts the ways to choose s votes of the
other classes of which none outvotes t. All terms are positive. F_t(s) is C(i - g(own), s) once s is so
small that nobody can outvote t; for two other classes F_{t+1}(s) is F_t(s) and two products more.

Rows of binomial coefficients are carried along the order as rows of Pascal's triangle, C(g, b) rho^b; rho
is halved now and then, so that numbers stay near 1. Eight samples of one class are walked together (the
*lanes*), so that every multiplication and addition is one vector instruction: hence functions on
8-tuples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..sampling import step_without_replacement
from ._simd import LANES, add_product, everywhere, load, new_rows, store, sum_of_products

# C(i, K) rho^K must stay within the range of a double: below e^K, and above 2^-K.
MOST_NEIGHBORS = 500
BATCH = 16
SPAN = 32


class ProfileSpec(NamedTuple):
    """What the profile is wanted for, and the numbers that all samples share.

    ``most`` is the largest K, ``n_classes`` C, ``ranked`` tells rank scoring from the vote. Depth is the
    last position that some K needs.

    ``classes``
        int64 array of shape (n_items,).
    ``first``
        int64 array of shape (depth + 2,): at i the least K that needs position i, or `most` + 1.
    ``rates``, ``scales``
        float64 arrays of shape (depth + 1,) and (depth + 1, most + 1): rho at i, and 1 / (C(i, K) rho^K).
    """

    most: int
    n_classes: int
    ranked: bool
    classes: Array
    first: Array
    rates: Array
    scales: Array


def pascal_scales(depth: int, most: int) -> tuple[Array, Array]:
    """``rates`` and ``scales`` of `ProfileSpec`."""
    rates = np.ones(depth + 1)
    scales = np.full((depth + 1, most + 1), np.inf)
    row = np.zeros(most + 1)
    row[0] = 1.0
    halving = 0.5 ** np.arange(most + 1)
    for i in range(1, depth + 1):
        rates[i] = rates[i - 1]
        if i * rates[i] > max(most, 32):
            rates[i] /= 2
            row *= halving
        row[1:] += row[:-1] * rates[i]
        top = min(i, most) + 1
        scales[i, :top] = 1 / row[:top]
    return rates, scales


@jit
def _advance(rows, first, length, hits):  # type: ignore[no-untyped-def]
    """One sample more in the lanes that have a hit: a row of Pascal's triangle, times rho^b."""
    for b in range(first + length - 1, first, -1):
        store(rows, b, add_product(load(rows, b), load(rows, b - 1), hits))


@jit
def _halve(rows, first, length):  # type: ignore[no-untyped-def]
    """Half of rho; exact."""
    factor = 1.0
    for b in range(1, length):
        factor *= 0.5
        store(rows, first + b, add_product(everywhere(0.0), load(rows, first + b), everywhere(factor)))


@jit
def _unbeaten(own, rest, margin, low, high, i, rate, wins):  # type: ignore[no-untyped-def]
    """Wins[K] = ways in which so few votes are left to others that none can outvote the own class.

    Own votes t >= h = ceil((K + margin) / 2). Where K + margin is odd, K + 1 needs as many: leaving out one
    sample after the other of every choice of K + 1 samples gives (i - K) times the choices of K, less what
    h own votes lose, so that (K + 1) W(K + 1) = (i - K) W(K) + h C(g, h) C(i - g, K + 1 - h).
    """
    k = low - 1 + (low + margin) % 2  # K + margin is odd
    while k <= high:
        ways = everywhere(0.0)
        least = (k + margin + 1) // 2
        for s in range(k - least + 1):
            ways = add_product(ways, load(own, k - s), load(rest, s))
        if k >= low:
            store(wins, k, ways)
        if k < high:
            more = add_product(everywhere(0.0), ways, everywhere((i - k) * rate / (k + 1)))
            if k + 1 >= least:
                edge = add_product(everywhere(0.0), load(own, least), everywhere(least / (k + 1)))
                more = add_product(more, edge, load(rest, k + 1 - least))
            store(wins, k + 1, more)
        k += 2


@jit
def _beaten_by_neither(own, others, length, lost, low, high, ways, wins):  # type: ignore[no-untyped-def]
    """Add to wins[K] where two other classes have enough votes to win, but neither does.

    ``ways[s]`` = F_t(s): with every t the choices are added in which one of them reaches t votes (t - 1
    where it wins ties), or both do.
    """
    lost_a, lost_b = lost[0], lost[1]
    margin, both = max(lost_a, lost_b), lost_a + lost_b
    for s in range(high + 1):
        store(ways, s, everywhere(0.0))
    for t in range(1, (high + margin - 1) // 2 + 1):
        own_t, a_t, b_t = load(own, t), load(others, t - lost_a), load(others, length + t - lost_b)
        last = 2 * t - both
        for s in range(t - margin + 1, min(last - 1, high - t) + 1):
            here = add_product(load(ways, s), a_t, load(others, length + s - t + lost_a))
            here = add_product(here, load(others, s - t + lost_b), b_t)
            store(ways, s, here)
            if t + s >= low:
                store(wins, t + s, add_product(load(wins, t + s), own_t, here))
        if t - margin + 1 <= last <= high - t:
            here = add_product(everywhere(0.0), a_t, b_t)
            store(ways, last, here)
            if t + last >= low:
                store(wins, t + last, add_product(load(wins, t + last), own_t, here))


@jit
def _beaten_by_none(own, others, length, lost, seen, counts, margin, low, high, work, wins):  # type: ignore[no-untyped-def]
    """The same for any number of other classes, by truncated products for every number of own votes."""
    for t in range(1, (high + margin - 1) // 2 + 1):
        most = high - t
        top = 0
        store(work, 0, everywhere(1.0))
        for j in seen:
            limit = min(t - lost[j], counts[j])
            reached = min(top + limit, most)
            for degree in range(reached, -1, -1):
                ways = load(work, degree) if degree <= top else everywhere(0.0)
                for b in range(max(1, degree - top), min(degree, limit) + 1):
                    ways = add_product(ways, load(work, degree - b), load(others, j * length + b))
                store(work, degree, ways)
            top = reached
        for s in range(max(t - margin + 1, low - t), top + 1):
            store(wins, t + s, add_product(load(wins, t + s), load(own, t), load(work, s)))


@jit
def _advance_many(others, length, codes, rate, counts, lane_counts):  # type: ignore[no-untyped-def]
    """One sample more in the row of its class, lane by lane."""
    for lane in range(LANES):
        j = codes[lane]
        if j >= len(counts):  # the own class, or none
            continue
        lane_counts[j, lane] += 1
        counts[j] = max(counts[j], lane_counts[j, lane])
        for b in range(min(length - 1, lane_counts[j, lane]), 0, -1):
            others[j * length + b, lane] += others[j * length + b - 1, lane] * rate


@jit
def _group_ends(owns):  # type: ignore[no-untyped-def]
    """Where the groups of at most LANES rows of one class end, the first of them starting at 0."""
    ends = np.empty(len(owns) + 1, np.int64)
    ends[0] = 0
    n_groups = 0
    for r in range(len(owns)):
        if r > ends[n_groups] and (r == ends[n_groups] + LANES or owns[r] != owns[r - 1]):
            n_groups += 1
            ends[n_groups] = r
    ends[n_groups + 1] = len(owns)
    return ends[: n_groups + 2]


@jit
def add_profile(items, lengths, owns, weights, asked, out):  # type: ignore[no-untyped-def]
    """Add the rows' weighted P_x(K, i) to ``out``.

    O(depth * K^2) per sample for up to three classes; else, with c classes seen, O(depth * c * K^3).
    Several
    groups go through a span of positions one after the other, so that sums over them stay in the cache.

    Parameters
    ----------
    items : int32 (n_rows, depth)
        Neighbor lists, filled up to `lengths`, int64 (n_rows,).
    owns, weights : int64 and float64 (n_rows,)
        Class of every row, and what it counts; rows of one class are next to each other.
    asked : Asked
    out : float64 (2, depth + 1, most + 1)
        At ``[0, i, K]`` rows whose list goes on for this K, at ``[1, i, K]`` rows where it ends at i.
    """
    width = asked.most + 1
    batch = BATCH if asked.n_classes <= 3 else 1
    length = asked.most // 2 + 1
    n_others = max(asked.n_classes - 1, 2)
    own, rest, others = (
        new_rows(batch * width),
        new_rows(batch * width),
        new_rows(batch * n_others * length),
    )
    lane_counts = np.zeros((n_others, LANES), np.int64)
    counts = np.zeros(n_others, np.int64)
    sums, wins, work = new_rows(SPAN * width), new_rows(width), new_rows(width)
    ends = _group_ends(owns)
    for first_group in range(0, len(ends) - 1, batch):
        groups = ends[first_group : first_group + batch + 1]
        own[:] = 0.0
        rest[:] = 0.0
        for g in range(batch):
            own[g * width] = 1.0
            rest[g * width] = 1.0
        if asked.n_classes == 3:
            others[:] = 0.0
        for j in range(batch * n_others):
            others[j * length] = 1.0
        for seen in np.flatnonzero(counts):
            others[seen * length + 1 : (seen + 1) * length] = 0.0
            lane_counts[seen] = 0
            counts[seen] = 0
        longest = lengths[groups[0] : groups[-1]].max()
        for start in range(1, longest + 1, SPAN):
            end = min(start + SPAN, longest + 1)
            sums[:] = 0.0
            for g in range(len(groups) - 1):
                some = slice(groups[g], groups[g + 1])
                _walk(
                    items[some],
                    lengths[some],
                    owns[groups[g]],
                    weights[some],
                    start,
                    end,
                    asked,
                    own[g * width : (g + 1) * width],
                    rest[g * width : (g + 1) * width],
                    others[g * n_others * length : (g + 1) * n_others * length],
                    counts,
                    lane_counts,
                    wins,
                    work,
                    sums,
                    out,
                )
            for i in range(start, end):
                all_going = sum_of_products(load(sums, (i - start) * width), everywhere(1.0))
                for k in range(asked.first[i], min(asked.most, i) + 1):
                    part = sum_of_products(
                        load(sums, (i - start) * width + k), everywhere(asked.scales[i, k])
                    )
                    ends_here = 1 if asked.first[i + 1] > k else 0
                    out[ends_here, i, k] += all_going - part if asked.ranked else part


@jit
def _walk(  # type: ignore[no-untyped-def]
    items,
    lengths,
    owner,
    weights,
    start,
    end,
    asked,
    own,
    rest,
    others,
    counts,
    lane_counts,
    wins,
    work,
    sums,
    out,
):
    """One group from position `start` to before `end`; rows whose lists go on are added to `sums`."""
    most, n_classes = asked.most, asked.n_classes
    width = most + 1
    length = most // 2 + 1
    rest_length = width if asked.ranked else length
    n_others = max(n_classes - 1, 2)
    n_rows = len(lengths)
    shortest, longest = lengths.min(), lengths.max()
    lost = np.zeros(n_others, np.int64)  # 1 for a class that wins a tied vote, having the smaller label
    lost[:owner] = 1
    margin = 1 if owner > 0 else 0
    hits, going = new_rows(4), new_rows(2)  # hits: own class, any other, the first and the second other
    codes = np.full(LANES, n_others + 1)
    code_of = np.arange(n_classes)
    code_of[owner:] -= 1
    code_of[owner] = n_others
    for lane in range(n_rows):
        going[0, lane] = weights[lane]
    for i in range(start, min(end, longest + 1)):
        low, high = asked.first[i], min(most, i)
        rate = asked.rates[i]
        if rate != asked.rates[i - 1]:
            _halve(own, 0, width)
            _halve(rest, 0, rest_length)
            for j in range(n_others):
                if counts[j] > 0 or n_classes == 3:
                    _halve(others, j * length, length)
        for lane in range(n_rows):
            code = n_others + 1
            if i <= lengths[lane]:
                code = code_of[asked.classes[items[lane, i - 1]]]
            codes[lane] = code
            hits[0, lane] = rate * (code == n_others)
            hits[1, lane] = rate * (code < n_others)
            hits[2, lane] = rate * (code == 0)
            hits[3, lane] = rate * (code == 1)
        if i >= shortest:
            for lane in range(n_rows):
                going[0, lane] = weights[lane] if i < lengths[lane] else 0.0
                going[1, lane] = weights[lane] if i == lengths[lane] else 0.0
        _advance(own, 0, high + 1, load(hits, 0))
        _advance(rest, 0, min(rest_length, i + 1), load(hits, 1))
        if n_classes == 3:
            _advance(others, 0, min(length, i + 1), load(hits, 2))
            _advance(others, length, min(length, i + 1), load(hits, 3))
        elif n_classes > 3:
            _advance_many(others, length, codes, rate, counts, lane_counts)
        if low > high:
            continue
        if asked.ranked:
            for k in range(low, high + 1):
                store(wins, k, load(rest, k))
        else:
            _unbeaten(own, rest, margin, low, high, i, rate, wins)
            if n_classes == 3:
                _beaten_by_neither(own, others, length, lost, low, high, work, wins)
            elif n_classes > 3:
                seen = np.flatnonzero(counts)
                _beaten_by_none(own, others, length, lost, seen, counts, margin, low, high, work, wins)
        goes = load(going, 0)
        row = (i - start) * width
        store(sums, row, add_product(load(sums, row), goes, everywhere(1.0)))
        for k in range(low, high + 1):
            store(sums, row + k, add_product(load(sums, row + k), goes, load(wins, k)))
        if i >= shortest:
            gone = load(going, 1)
            total = sum_of_products(gone, everywhere(1.0))
            for k in range(low, high + 1):
                part = sum_of_products(gone, load(wins, k)) * asked.scales[i, k]
                out[1, i, k] += total - part if asked.ranked else part


@jit
def weigh_profile(profile, first, ended, n_available, n_train, scores, tails):  # type: ignore[no-untyped-def]
    """Scores and unknown shares of all K for training sets of one size; O(depth * K).

    Parameters
    ----------
    profile : float64 (2, depth + 1, most + 1)
        From `add_profile`.
    first : int64 (depth + 2,)
        As in `ProfileSpec`.
    ended : float64 (depth + 1,)
        Weight of the samples whose lists end at i, or at `depth` and later.
    scores, tails : float64 (most + 1,)
        Filled: the score, and the weighted probability that fewer than K neighbors are known.
    """
    depth, most = profile.shape[1] - 1, profile.shape[2] - 1
    law = np.zeros(most + 1)  # of the number of training samples among the first i
    law[0] = 1.0
    going = ended.sum()
    scores[:] = 0.0
    tails[:] = 0.0
    stopped = first[1]  # K below this are not asked for
    for i in range(depth + 1):
        if i > 0:
            step_without_replacement(law, i - 1, n_train, n_available)
            for k in range(first[i], min(most, i) + 1):
                here = profile[1, i, k]
                if i < n_available:
                    here += profile[0, i, k] * (n_train - k) / (n_available - i)
                scores[k] += here * law[k]
        stops = first[i + 1] > stopped and i > 0
        if ended[i] > 0 or stops or i == depth:
            fewer = 0.0
            for k in range(1, most + 1):
                fewer += law[k - 1]
                if stopped <= k:
                    tails[k] += fewer * (going if k < first[i + 1] else ended[i])
            if i > 0:
                stopped = first[i + 1]
        going -= ended[i]
