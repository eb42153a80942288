# mypy: allow-untyped-defs
"""The profile of the data: the outcome of K votes drawn from the first i neighbors, for all K at once.

Condition on the (K+1)-th nearest training sample being the sample at position i + 1. The voters are then a
uniform K-subset of the first i samples, for any size of the training set. Let P_x(K, i) be the probability
that such voters classify x correctly; it depends on the class counts g of the first i samples alone. Then

    A_x(K, alpha) = sum_i P_x(K, i) C(i, K) C(M-i-1, alpha-K-1) / C(M, alpha),

so the weighted mean of P_x over the samples serves every training size. For a list that ends at m, exactly
K training samples among its samples have the probability C(m, K) C(M-m, alpha-K) / C(M, alpha) and the same
P_x(K, m); only fewer than K remain unknown.

The ways P_x(K, i) C(i, K) are counted for eight samples of one class at once (the *lanes*, `kernel.simd`),
so that every multiplication and addition is one vector instruction. Rows of binomial coefficients are
carried along the neighbor list as rows of Pascal's triangle, C(g, b) rho^b; rho is halved now and then, so
that the numbers stay near 1. With F_t(s), the ways to choose s votes of the other classes such that none of
them outvotes t, P_x(K, i) C(i, K) = sum_t C(g(tested class), t) F_t(K - t). All terms are positive. For
small s no class can outvote t, and F_t(s) is C(i - g(tested class), s). For two other classes F_{t+1}(s) is
F_t(s) and two more products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.typing import Array
from ....kernel import inner, jit
from ....kernel.sampling import step_without_replacement, total_of
from ....kernel.simd import LANES, add_product, everywhere, lane_rows, load, store, sum_of_products
from ._profile_ties import add_ties

# C(i, K) rho^K must stay within the range of a double: below e^K, and above 2^-K.
MAX_NEIGHBORS = 500


class Listed(NamedTuple):
    """Neighbor lists of tested samples.

    ``items``, ``values``, ``lengths``
        As in `NeighborLists`, without what the tie rule cannot use; samples with equal values are tied.
    ``rows``, ``weights``
        int64 and float64 (n_rows,): the tested samples and their weights.
    """

    items: Array
    values: Array
    lengths: Array
    rows: Array
    weights: Array


class ProfileSpec(NamedTuple):
    """The K of a profile, and the numbers that all samples share.

    ``max_k`` is the largest K. ``ranked`` is True for rank-R accuracy, False for the vote. The depth is the
    last position that some K needs.

    ``ks``
        int64 array of shape (any,): the K, ascending.
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
    ks: Array
    classes: Array
    first: Array
    rates: Array
    scales: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the profile."""
        return 2, len(self.rates), self.max_k + 1

    def inside(self, n_rows: int, average_ties: bool) -> Array:
        """Room for the positions within tied groups, which `add_tied` adds in place of `add_all`."""
        votes = average_ties and not self.ranked and self.n_classes > 2
        return np.zeros((n_rows, len(self.rates) if votes else 0), bool)

    def add_tied(self, listed: Listed, average_ties: bool, inside: Array, out: Array) -> None:
        """Add what depends on the order of tied samples; tied groups are listed to their end."""
        if average_ties:
            add_ties(listed, self, inside, out)

    def add_all(self, listed: Listed, inside: Array, out: Array) -> None:
        """Add the rest, for rows of one class after the other."""
        lengths = np.minimum(listed.lengths, len(self.rates) - 1)
        add_profile(listed._replace(lengths=lengths), inside, self, LaneRows.of(self), out)


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


class LaneRows(NamedTuple):
    """Working arrays of a group: of at most eight rows of one class, the lanes.

    ``own``, ``rest``, ``others``
        Rows of Pascal's triangle: the tested class, all other classes together, and each by itself: two
        other classes, or all classes if there are more.
    ``hits``, ``going``
        At one position, rho where the sample is of the tested class, of any other, of the first and of the
        second other; weights of the lists that go on, and of those that end there.
    ``wins``, ``work``
        Ways for every K at one position, and space for products.
    ``counts``, ``seen``, ``lane_counts``, ``codes``
        int64: samples of the other classes so far, at most; those classes of which there are some; samples
        by class and lane; the classes of the samples at one position, -1 at the end of a list.
    """

    own: Array
    rest: Array
    others: Array
    hits: Array
    going: Array
    wins: Array
    work: Array
    counts: Array
    seen: Array
    lane_counts: Array
    codes: Array

    @classmethod
    def of(cls, spec: ProfileSpec) -> LaneRows:
        """Zeros. They are not made in compiled code, as functions that make arrays compile longer."""
        width, length = spec.max_k + 1, spec.max_k // 2 + 1
        n_others = 2 if spec.n_classes <= 3 else spec.n_classes
        rows = map(lane_rows, (width, width, n_others * length, 4, 2, width, width))
        numbers = n_others, n_others, n_others * LANES, LANES
        return cls._make([*rows, *(np.zeros(size, np.int64) for size in numbers)])


@inner
def _end_of_group(listed, first_row, classes):
    """One past the last of the rows of one class, at most eight, from this row on."""
    end = first_row
    last = min(first_row + LANES, len(listed.rows))
    while end < last and classes[listed.rows[end]] == classes[listed.rows[first_row]]:
        end += 1
    return end


@inner
def start(rows, first, length):
    """Set the row of Pascal's triangle for no samples."""
    store(rows, first, everywhere(1.0))
    for b in range(1, length):
        store(rows, first + b, everywhere(0.0))


@inner
def advance(rows, first, length, hits):
    """Move rows of Pascal's triangle, times rho^b, on by one sample in the lanes that have a hit."""
    for b in range(first + length - 1, first, -1):
        store(rows, b, add_product(load(rows, b), load(rows, b - 1), hits))


@inner
def halve(rows, first, length):
    """Halve rho; exact."""
    factor = 1.0
    for b in range(1, length):
        factor *= 0.5
        store(rows, first + b, add_product(everywhere(0.0), load(rows, first + b), everywhere(factor)))


@inner
def fill_unbeatable(own, rest, margin, low, high, i, rate, wins):
    """``wins[K]`` = W(K), the ways in which the other classes cannot outvote the tested class.

    The tested class has t >= h = ceil((K + margin) / 2) votes. If K + margin is odd, K + 1 needs the same
    h. Leaving out each sample of every choice of K + 1 samples gives (i - K) times the choices of K, except
    the choices that fall below h own votes: (K + 1) W(K + 1) = (i - K) W(K) + h C(g, h) C(i - g, K + 1 -
    h).
    """
    k = low - 1 + (low + margin) % 2  # K + margin is odd
    while k <= high:
        ways = everywhere(0.0)
        min_own = (k + margin + 1) // 2
        for s in range(k - min_own + 1):
            ways = add_product(ways, load(own, k - s), load(rest, s))
        if k >= low:
            store(wins, k, ways)
        if k < high:
            more = add_product(everywhere(0.0), ways, everywhere((i - k) * rate / (k + 1)))
            if k + 1 >= min_own:
                edge = add_product(everywhere(0.0), load(own, min_own), everywhere(min_own / (k + 1)))
                more = add_product(more, edge, load(rest, k + 1 - min_own))
            store(wins, k + 1, more)
        k += 2


@inner
def add_beaten_by_neither(own, others, length, own_class, low, high, ways, wins):
    """Add to ``wins[K]`` the ways in which two other classes have enough votes to win, but neither does.

    ``ways[s]`` = F_t(s): every t adds the choices in which one or both of them reach t votes (t - 1 for a
    class that wins ties, as it has the smaller label).
    """
    ties_a, ties_b = min(own_class, 1), max(own_class - 1, 0)
    margin, both = ties_a, ties_a + ties_b
    for s in range(high + 1):
        store(ways, s, everywhere(0.0))
    for t in range(1, (high + margin - 1) // 2 + 1):
        own_t, a_t, b_t = load(own, t), load(others, t - ties_a), load(others, length + t - ties_b)
        last = 2 * t - both
        for s in range(t - margin + 1, min(last - 1, high - t) + 1):
            here = add_product(load(ways, s), a_t, load(others, length + s - t + ties_a))
            here = add_product(here, load(others, s - t + ties_b), b_t)
            store(ways, s, here)
            if t + s >= low:
                store(wins, t + s, add_product(load(wins, t + s), own_t, here))
        if t - margin + 1 <= last <= high - t:
            here = add_product(everywhere(0.0), a_t, b_t)
            store(ways, last, here)
            if t + last >= low:
                store(wins, t + last, add_product(load(wins, t + last), own_t, here))


@inner
def add_beaten_by_none(arrays, length, own_class, low, high):
    """The same for any number of other classes, by a truncated product for every number of own votes."""
    own, others, work, wins = arrays.own, arrays.others, arrays.work, arrays.wins
    margin = min(own_class, 1)
    n_seen = 0
    for j in range(len(arrays.counts)):
        if arrays.counts[j] > 0:
            arrays.seen[n_seen] = j
            n_seen += 1
    for t in range(1, (high + margin - 1) // 2 + 1):
        max_others = high - t
        top = 0
        store(work, 0, everywhere(1.0))
        for m in range(n_seen):
            j = arrays.seen[m]
            limit = min(t - 1 if j < own_class else t, arrays.counts[j])
            reached = min(top + limit, max_others)
            for degree in range(reached, -1, -1):
                ways = load(work, degree) if degree <= top else everywhere(0.0)
                for b in range(max(1, degree - top), min(degree, limit) + 1):
                    ways = add_product(ways, load(work, degree - b), load(others, j * length + b))
                store(work, degree, ways)
            top = reached
        for s in range(max(t - margin + 1, low - t), top + 1):
            store(wins, t + s, add_product(load(wins, t + s), load(own, t), load(work, s)))


@inner
def advance_many(others, length, own_class, codes, rate, counts, lane_counts):
    """Move the rows of the samples' classes on by one sample, lane by lane."""
    for lane in range(LANES):
        j = codes[lane]
        if j < 0 or j == own_class:
            continue
        at = j * LANES + lane
        lane_counts[at] += 1
        counts[j] = max(counts[j], lane_counts[at])
        for b in range(min(length - 1, lane_counts[at]), 0, -1):
            others[j * length + b, lane] += others[j * length + b - 1, lane] * rate


@jit
def add_profile(listed, inside, spec, arrays, out):
    """Add the rows' weighted P_x(K, i) to ``out``.

    O(depth * K^2) per sample for up to three classes; with c > 3 classes seen O(depth * c * K^3).

    Parameters
    ----------
    listed : Listed
        Rows of one class are adjacent. No list is longer than the depth of the profile.
    inside : bool (n_rows, depth + 1), or (n_rows, 0)
        Positions that a row leaves out.
    spec : ProfileSpec
    arrays : LaneRows
    out : float64 (2, depth + 1, max_k + 1)
        At ``[0, i, K]`` rows whose list goes on for this K, at ``[1, i, K]`` rows where it ends at i.
    """
    width, length = spec.max_k + 1, spec.max_k // 2 + 1
    counts, n_others = arrays.counts, len(arrays.counts)
    first_row = 0
    while first_row < len(listed.rows):
        end_row = _end_of_group(listed, first_row, spec.classes)
        start(arrays.own, 0, width)
        start(arrays.rest, 0, width)
        for j in range(n_others):
            if spec.n_classes <= 3 or first_row == 0 or counts[j] > 0:
                start(arrays.others, j * length, length)
            if counts[j] > 0:
                counts[j] = 0
                arrays.lane_counts[j * LANES : (j + 1) * LANES] = 0
        _add_group(listed, inside, first_row, end_row, spec, arrays, out)
        first_row = end_row


@inner
def _add_group(listed, inside, first_row, end_row, spec, arrays, out):
    """Add at most eight rows of one class."""
    n_rows = end_row - first_row
    shortest = longest = listed.lengths[first_row]
    for r in range(first_row, end_row):
        shortest, longest = min(shortest, listed.lengths[r]), max(longest, listed.lengths[r])
    items, classes, own_class = listed.items, spec.classes, spec.classes[listed.rows[first_row]]
    first_other, second_other = 0 if own_class > 0 else 1, 1 if own_class > 1 else 2
    max_k, n_classes = spec.max_k, spec.n_classes
    width, length, n_others = max_k + 1, max_k // 2 + 1, len(arrays.counts)
    rest_length = width if spec.ranked else length
    own, rest, others, wins, work = arrays.own, arrays.rest, arrays.others, arrays.wins, arrays.work
    counts, codes, hits, going = arrays.counts, arrays.codes, arrays.hits, arrays.going
    going[:] = 0.0
    for lane in range(n_rows):
        going[0, lane] = listed.weights[first_row + lane]
    hits[:] = 0.0
    codes[:] = -1
    for i in range(1, longest + 1):
        low, high = spec.first[i], min(max_k, i)
        rate = spec.rates[i]
        if rate != spec.rates[i - 1]:
            halve(own, 0, width)
            halve(rest, 0, rest_length)
            for j in range(n_others):
                if counts[j] > 0 or n_classes == 3:
                    halve(others, j * length, length)
        for lane in range(n_rows):
            r = first_row + lane
            c = -1
            if i <= listed.lengths[r]:
                c = classes[items[r, i - 1]]
            codes[lane] = c
            hits[0, lane] = rate * (c == own_class)
            hits[1, lane] = rate * (c >= 0) - hits[0, lane]
            hits[2, lane] = rate * (c == first_other)
            hits[3, lane] = rate * (c == second_other)
        counted = True
        if i >= shortest or inside.shape[1] > 0:
            counted = False
            for lane in range(n_rows):
                r = first_row + lane
                here = inside.shape[1] == 0 or not inside[r, i]
                going[0, lane] = listed.weights[r] if here and i < listed.lengths[r] else 0.0
                going[1, lane] = listed.weights[r] if here and i == listed.lengths[r] else 0.0
                counted = counted or (here and i <= listed.lengths[r])
        advance(own, 0, high + 1, load(hits, 0))
        advance(rest, 0, min(rest_length, i + 1), load(hits, 1))
        if n_classes == 3:
            advance(others, 0, min(length, i + 1), load(hits, 2))
            advance(others, length, min(length, i + 1), load(hits, 3))
        elif n_classes > 3:
            advance_many(others, length, own_class, codes, rate, counts, arrays.lane_counts)
        if low > high or not counted:
            continue
        if spec.ranked:
            for k in range(low, high + 1):
                store(wins, k, load(rest, k))
        else:
            fill_unbeatable(own, rest, min(own_class, 1), low, high, i, rate, wins)
            if n_classes == 3:
                add_beaten_by_neither(own, others, length, own_class, low, high, work, wins)
            elif n_classes > 3:
                add_beaten_by_none(arrays, length, own_class, low, high)
        goes, gone = load(going, 0), load(going, 1)
        all_going, all_gone = sum_of_products(goes, everywhere(1.0)), sum_of_products(gone, everywhere(1.0))
        for k in range(low, high + 1):
            ends_here = 1 if spec.first[i + 1] > k else 0
            part = sum_of_products(goes, load(wins, k)) * spec.scales[i, k]
            out[ends_here, i, k] += all_going - part if spec.ranked else part
            if i >= shortest:
                part = sum_of_products(gone, load(wins, k)) * spec.scales[i, k]
                out[1, i, k] += all_gone - part if spec.ranked else part


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
    going = total_of(ended)
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
