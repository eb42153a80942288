"""The profile of the data: the outcome of K votes drawn from the first i neighbors, for all K at once.

Condition on the (K+1)-th nearest training sample being the sample at position i + 1. The voters are then a
uniform K-subset of the first i samples, for any size of the training set. Let P_x(K, i) be the probability
that such voters classify x correctly; it depends on the class counts g of the first i samples alone. Then

    A_x(K, alpha) = sum_i P_x(K, i) C(i, K) C(M-i-1, alpha-K-1) / C(M, alpha),

so the weighted mean of P_x over the samples serves every training size. For a list that ends at m, exactly
K training samples among its samples have the probability C(m, K) C(M-m, alpha-K) / C(M, alpha) and the same
P_x(K, m); only fewer than K remain unknown. `_vote_counts` counts P_x(K, i) C(i, K).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..kernel.simd import LANES, add_product, everywhere, load, new_rows, store, sum_of_products
from ..sampling import step_without_replacement
from ._vote_counts import (
    add_beaten_by_neither,
    add_beaten_by_none,
    advance,
    advance_many,
    fill_unbeatable,
    halve,
)

# C(i, K) rho^K must stay within the range of a double: below e^K, and above 2^-K.
MAX_NEIGHBORS = 500
BATCH = 16
SPAN = 32


class ProfileSpec(NamedTuple):
    """The K of a profile, and the numbers that all samples share.

    ``max_k`` is the largest K. ``ranked`` is True for rank-R accuracy, False for the vote. The depth is the
    last position that some K needs.

    ``classes``
        int64 array of shape (n_items,).
    ``first``
        int64 array of shape (depth + 2,): at i the smallest K that needs position i, or `max_k` + 1.
    ``rates``, ``scales``
        float64 arrays of shape (depth + 1,) and (depth + 1, max_k + 1): rho at i, and 1 / (C(i, K) rho^K).
    """

    max_k: int
    n_classes: int
    ranked: bool
    classes: Array
    first: Array
    rates: Array
    scales: Array


def pascal_scales(depth: int, max_k: int) -> tuple[Array, Array]:
    """``rates`` and ``scales`` of `ProfileSpec`."""
    rates = np.ones(depth + 1)
    scales = np.full((depth + 1, max_k + 1), np.inf)
    row = np.zeros(max_k + 1)
    row[0] = 1.0
    halving = 0.5 ** np.arange(max_k + 1)
    for i in range(1, depth + 1):
        rates[i] = rates[i - 1]
        if i * rates[i] > max(max_k, 32):
            rates[i] /= 2
            row *= halving
        row[1:] += row[:-1] * rates[i]
        top = min(i, max_k) + 1
        scales[i, :top] = 1 / row[:top]
    return rates, scales


@jit
def _group_ends(owns):
    """Ends of the groups of at most LANES rows of one class; the first entry is 0."""
    ends = np.empty(len(owns) + 1, np.int64)
    ends[0] = 0
    n_groups = 0
    for r in range(len(owns)):
        if r > ends[n_groups] and (r == ends[n_groups] + LANES or owns[r] != owns[r - 1]):
            n_groups += 1
            ends[n_groups] = r
    ends[n_groups + 1] = len(owns)
    return ends[: n_groups + 2]


class LaneRows(NamedTuple):
    """Working arrays of one group of eight samples, and those that all groups share.

    ``own``, ``rest``, ``others``
        Rows of Pascal's triangle: the tested class, all other classes together, each other class by itself.
    ``counts``, ``lane_counts``
        int64 (n_others,) and (n_others, LANES): samples of the other classes so far, at most and by lane.
    ``wins``, ``work``, ``sums``
        Ways for every K at one position, space for products, and sums over the lanes of a span of
        positions.
    """

    own: Array
    rest: Array
    others: Array
    counts: Array
    lane_counts: Array
    wins: Array
    work: Array
    sums: Array


@jit
def add_profile(items, lengths, owns, weights, inside, spec, out):
    """Add the rows' weighted P_x(K, i) to ``out``.

    O(depth * K^2) per sample for up to three classes; with c > 3 classes seen O(depth * c * K^3). Several
    groups go through a span of positions one after the other, so that the sums stay in the cache.

    Parameters
    ----------
    items : int32 (n_rows, depth)
        Neighbor lists, filled up to `lengths`, int64 (n_rows,).
    owns, weights : int64 and float64 (n_rows,)
        Class and weight of every row; rows of one class are adjacent.
    inside : bool (n_rows, depth + 1), or (n_rows, 0)
        Positions that a row leaves out.
    spec : ProfileSpec
    out : float64 (2, depth + 1, max_k + 1)
        At ``[0, i, K]`` rows whose list goes on for this K, at ``[1, i, K]`` rows where it ends at i.
    """
    width = spec.max_k + 1
    batch = BATCH if spec.n_classes <= 3 else 1
    length = spec.max_k // 2 + 1
    n_others = max(spec.n_classes - 1, 2)
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
        if spec.n_classes == 3:
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
                rows = slice(groups[g], groups[g + 1])
                arrays = LaneRows(
                    own[g * width : (g + 1) * width],
                    rest[g * width : (g + 1) * width],
                    others[g * n_others * length : (g + 1) * n_others * length],
                    counts,
                    lane_counts,
                    wins,
                    work,
                    sums,
                )
                _add_span(
                    items[rows],
                    lengths[rows],
                    owns[groups[g]],
                    weights[rows],
                    inside[rows],
                    start,
                    end,
                    spec,
                    arrays,
                    out,
                )
            for i in range(start, end):
                all_going = sum_of_products(load(sums, (i - start) * width), everywhere(1.0))
                for k in range(spec.first[i], min(spec.max_k, i) + 1):
                    part = sum_of_products(
                        load(sums, (i - start) * width + k), everywhere(spec.scales[i, k])
                    )
                    ends_here = 1 if spec.first[i + 1] > k else 0
                    out[ends_here, i, k] += all_going - part if spec.ranked else part


@jit
def _add_span(items, lengths, own_class, weights, inside, start, end, spec, arrays, out):
    """One group from position `start` to before `end`; rows whose lists go on are added to the sums."""
    own, rest, others, counts = arrays.own, arrays.rest, arrays.others, arrays.counts
    wins, work, sums = arrays.wins, arrays.work, arrays.sums
    max_k, n_classes = spec.max_k, spec.n_classes
    width = max_k + 1
    length = max_k // 2 + 1
    rest_length = width if spec.ranked else length
    n_others = max(n_classes - 1, 2)
    n_rows = len(lengths)
    shortest, longest = lengths.min(), lengths.max()
    wins_ties = np.zeros(n_others, np.int64)  # 1 for a class that wins a tied vote by its smaller label
    wins_ties[:own_class] = 1
    margin = 1 if own_class > 0 else 0
    hits, going = new_rows(4), new_rows(2)  # hits: tested class, any other, first and second other
    codes = np.full(LANES, n_others + 1)
    code_of = np.arange(n_classes)
    code_of[own_class:] -= 1
    code_of[own_class] = n_others
    for lane in range(n_rows):
        going[0, lane] = weights[lane]
    for i in range(start, min(end, longest + 1)):
        low, high = spec.first[i], min(max_k, i)
        rate = spec.rates[i]
        if rate != spec.rates[i - 1]:
            halve(own, 0, width)
            halve(rest, 0, rest_length)
            for j in range(n_others):
                if counts[j] > 0 or n_classes == 3:
                    halve(others, j * length, length)
        for lane in range(n_rows):
            code = n_others + 1
            if i <= lengths[lane]:
                code = code_of[spec.classes[items[lane, i - 1]]]
            codes[lane] = code
            hits[0, lane] = rate * (code == n_others)
            hits[1, lane] = rate * (code < n_others)
            hits[2, lane] = rate * (code == 0)
            hits[3, lane] = rate * (code == 1)
        counted = True
        if i >= shortest or inside.shape[1] > 0:
            counted = False
            for lane in range(n_rows):
                here = inside.shape[1] == 0 or not inside[lane, i]
                going[0, lane] = weights[lane] if here and i < lengths[lane] else 0.0
                going[1, lane] = weights[lane] if here and i == lengths[lane] else 0.0
                counted = counted or (here and i <= lengths[lane])
        advance(own, 0, high + 1, load(hits, 0))
        advance(rest, 0, min(rest_length, i + 1), load(hits, 1))
        if n_classes == 3:
            advance(others, 0, min(length, i + 1), load(hits, 2))
            advance(others, length, min(length, i + 1), load(hits, 3))
        elif n_classes > 3:
            advance_many(others, length, codes, rate, counts, arrays.lane_counts)
        if low > high or not counted:
            continue
        if spec.ranked:
            for k in range(low, high + 1):
                store(wins, k, load(rest, k))
        else:
            fill_unbeatable(own, rest, margin, low, high, i, rate, wins)
            if n_classes == 3:
                add_beaten_by_neither(own, others, length, wins_ties, low, high, work, wins)
            elif n_classes > 3:
                seen = np.flatnonzero(counts)
                add_beaten_by_none(
                    own, others, length, wins_ties, seen, counts, margin, low, high, work, wins
                )
        goes = load(going, 0)
        row = (i - start) * width
        store(sums, row, add_product(load(sums, row), goes, everywhere(1.0)))
        for k in range(low, high + 1):
            store(sums, row + k, add_product(load(sums, row + k), goes, load(wins, k)))
        if i >= shortest:
            gone = load(going, 1)
            total = sum_of_products(gone, everywhere(1.0))
            for k in range(low, high + 1):
                part = sum_of_products(gone, load(wins, k)) * spec.scales[i, k]
                out[1, i, k] += total - part if spec.ranked else part


@jit
def weigh_profile(profile, first, ended, n_available, n_train, scores, tails):
    """Scores and unknown shares of all K for training sets of one size; O(depth * K).

    Parameters
    ----------
    profile : float64 (2, depth + 1, max_k + 1)
        From `add_profile`.
    first : int64 (depth + 2,)
        As in `ProfileSpec`.
    ended : float64 (depth + 1,)
        Weight of the samples whose lists end at i, or at `depth` or later.
    scores, tails : float64 (max_k + 1,)
        Filled: the score, and the weighted probability that fewer than K neighbors are known.
    """
    depth, max_k = profile.shape[1] - 1, profile.shape[2] - 1
    law = np.zeros(max_k + 1)  # distribution of the number of training samples among the first i
    law[0] = 1.0
    going = ended.sum()
    scores[:] = 0.0
    tails[:] = 0.0
    stopped = first[1]  # smaller K are not needed
    for i in range(depth + 1):
        if i > 0:
            step_without_replacement(law, i - 1, n_train, n_available)
            for k in range(first[i], min(max_k, i) + 1):
                here = profile[1, i, k]
                if i < n_available:
                    here += profile[0, i, k] * (n_train - k) / (n_available - i)
                scores[k] += here * law[k]
        stops = first[i + 1] > stopped and i > 0
        if ended[i] > 0 or stops or i == depth:
            fewer = 0.0
            for k in range(1, max_k + 1):
                fewer += law[k - 1]
                if stopped <= k:
                    tails[k] += fewer * (going if k < first[i + 1] else ended[i])
            if i > 0:
                stopped = first[i + 1]
        going -= ended[i]
