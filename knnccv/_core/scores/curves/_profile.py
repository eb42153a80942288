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

Squared errors, shares of votes and Brier scores are sums over samples, and pairs of samples, among the K
nearest, over K or K^2. A sample is among the K nearest with a probability that depends on its position, and
a pair of samples with one that depends on the farther of the two (`kernel.sampling.inclusion_law`). So
their profile has two numbers for every position i, which hold for all K and all training sizes: the sum of
the terms of the samples there, and of their pairs with nearer samples. In a tied group, averaged over all
orders, all samples have the mean of the group, and so have all pairs in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.parallel import stop_flag
from ...._base.typing import Array
from ....kernel import inner, jit
from ....kernel.sampling import step_without_replacement, total_of
from ....kernel.simd import LANES, add_product, everywhere, load, new_rows, store, sum_of_products
from ._profile_ties import add_ties

# C(i, K) rho^K must stay within the range of a double: below e^K, and above 2^-K.
MAX_NEIGHBORS = 500
BATCH = 16
SPAN = 32


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
            add_ties(listed, self, inside, out, stop_flag())

    def add_all(self, listed: Listed, inside: Array, out: Array) -> None:
        """Add the rest, for rows of one class after the other."""
        lengths = np.minimum(listed.lengths, len(self.rates) - 1)
        add_profile(listed._replace(lengths=lengths), inside, self, out)


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


@inner
def _group_ends(rows, classes):
    """Ends of the groups of at most LANES rows of one class; the first entry is 0."""
    ends = np.empty(len(rows) + 1, np.int64)
    ends[0] = 0
    n_groups = 0
    for r in range(len(rows)):
        start = ends[n_groups]
        if r > start and (r == start + LANES or classes[rows[r]] != classes[rows[r - 1]]):
            n_groups += 1
            ends[n_groups] = r
    ends[n_groups + 1] = len(rows)
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
def add_beaten_by_neither(own, others, length, wins_ties, low, high, ways, wins):
    """Add to ``wins[K]`` the ways in which two other classes have enough votes to win, but neither does.

    ``ways[s]`` = F_t(s): every t adds the choices in which one or both of them reach t votes (t - 1 for a
    class that wins ties).
    """
    ties_a, ties_b = wins_ties[0], wins_ties[1]
    margin, both = max(ties_a, ties_b), ties_a + ties_b
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
def add_beaten_by_none(arrays, length, wins_ties, seen_classes, margin, low, high):
    """The same for any number of other classes, by a truncated product for every number of own votes."""
    own, others, work, wins = arrays.own, arrays.others, arrays.work, arrays.wins
    for t in range(1, (high + margin - 1) // 2 + 1):
        max_others = high - t
        top = 0
        store(work, 0, everywhere(1.0))
        for j in seen_classes:
            limit = min(t - wins_ties[j], arrays.counts[j])
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
def advance_many(others, length, codes, rate, counts, lane_counts):
    """Move the rows of the samples' classes on by one sample, lane by lane."""
    for lane in range(LANES):
        j = codes[lane]
        if j >= len(counts):  # tested class, or no sample
            continue
        lane_counts[j, lane] += 1
        counts[j] = max(counts[j], lane_counts[j, lane])
        for b in range(min(length - 1, lane_counts[j, lane]), 0, -1):
            others[j * length + b, lane] += others[j * length + b - 1, lane] * rate


@jit
def add_profile(listed, inside, spec, out):
    """Add the rows' weighted P_x(K, i) to ``out``.

    O(depth * K^2) per sample for up to three classes; with c > 3 classes seen O(depth * c * K^3). Several
    groups go through a span of positions one after the other, so that the sums stay in the cache.

    Parameters
    ----------
    listed : Listed
        Rows of one class are adjacent. No list is longer than the depth of the profile.
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
    ends = _group_ends(listed.rows, spec.classes)
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
        longest = listed.lengths[groups[0] : groups[-1]].max()
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
                some = Listed(
                    listed.items[rows],
                    listed.values[rows],
                    listed.lengths[rows],
                    listed.rows[rows],
                    listed.weights[rows],
                )
                _add_span(some, inside[rows], start, end, spec, arrays, out)
            for i in range(start, end):
                all_going = sum_of_products(load(sums, (i - start) * width), everywhere(1.0))
                for k in range(spec.first[i], min(spec.max_k, i) + 1):
                    part = sum_of_products(
                        load(sums, (i - start) * width + k), everywhere(spec.scales[i, k])
                    )
                    ends_here = 1 if spec.first[i + 1] > k else 0
                    out[ends_here, i, k] += all_going - part if spec.ranked else part


@inner
def _add_span(listed, inside, start, end, spec, arrays, out):
    """One group from position `start` to before `end`; rows whose lists go on are added to the sums."""
    items, lengths, weights = listed.items, listed.lengths, listed.weights
    own_class = spec.classes[listed.rows[0]]
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
                add_beaten_by_none(arrays, length, wins_ties, seen, margin, low, high)
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


ERROR, SHARE, BRIER = range(3)


class PairSpec(NamedTuple):
    """What is summed over samples and pairs.

    ``kind``
        ERROR: squared errors of the mean of `targets`. SHARE: the true class's share of the votes. BRIER:
        half the Brier score of the shares.
    ``classes``, ``targets``
        int64 (n_items,) and float64 (n_items, n_outputs); the latter are read for ERROR only.
    """

    kind: int
    classes: Array
    targets: Array
    depth: int

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the profile."""
        return 2, self.depth

    def inside(self, n_rows: int, _average_ties: bool) -> Array:
        """Nothing: `add_tied` adds everything."""
        return np.zeros((n_rows, 0), bool)

    def add_tied(self, listed: Listed, average_ties: bool, _inside: Array, out: Array) -> None:
        """Add the rows; tied groups are listed to their end."""
        add_pair_profile(listed, self, average_ties, out, stop_flag())

    def add_all(self, listed: Listed, inside: Array, out: Array) -> None:
        """Add nothing."""


@jit
def add_pair_profile(listed, spec, average_ties, out, stop):
    """Add the rows' weighted terms to ``out``; O(depth * outputs).

    Parameters
    ----------
    listed : Listed
        Samples with equal values are tied, if `average_ties`. A group that goes on beyond the depth of the
        profile must be listed to its end.
    spec : PairSpec
    average_ties : bool
    out : float64 (2, depth)
        Terms of samples, and of pairs, at every position.
    stop : bool (1,)
        Once set, the pass ends early.
    """
    items, values, lengths, rows = listed.items, listed.values, listed.lengths, listed.rows
    kind, classes, targets = spec.kind, spec.classes, spec.targets
    depth = out.shape[1]
    n_outputs = targets.shape[1]
    nearer, group = np.zeros(n_outputs), np.zeros(n_outputs)
    n_classes = classes.max() + 1
    wrong_nearer, wrong_group = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for r in range(len(rows)):
        if stop[0]:
            return
        x, weight = rows[r], listed.weights[r]
        nearer[:] = 0.0
        wrong_nearer[:] = 0
        n_nearer = 0
        start = 0
        while start < min(lengths[r], depth):
            end = start + 1
            while average_ties and end < lengths[r] and values[r, end] == values[r, start]:
                end += 1
            size = end - start
            single = across = within = 0.0  # sums over samples, pairs with nearer ones, pairs in the group
            if kind == ERROR:
                group[:] = 0.0
                for i in range(start, end):
                    for o in range(n_outputs):
                        gap = targets[items[r, i], o] - targets[x, o]
                        single += gap * gap
                        within += 2 * gap * group[o]
                        group[o] += gap
                for o in range(n_outputs):
                    across += 2 * group[o] * nearer[o]
                    nearer[o] += group[o]
            else:
                n_wrong = 0
                for i in range(start, end):
                    c = classes[items[r, i]]
                    if c != classes[x]:
                        # With w wrong votes the score sums 1 + [same class] over ordered pairs of them.
                        across += n_nearer + wrong_nearer[c]
                        within += n_wrong + wrong_group[c]
                        wrong_group[c] += 1
                        n_wrong += 1
                single = size - n_wrong if kind == SHARE else n_wrong
                n_nearer += n_wrong
                for i in range(start, end):
                    c = classes[items[r, i]]
                    wrong_nearer[c] += wrong_group[c]
                    wrong_group[c] = 0
            for i in range(start, min(end, depth)):
                out[0, i] += weight * single / size
                if kind != SHARE:
                    out[1, i] += weight * across / size
                    if size > 1:
                        out[1, i] += weight * within * (i - start) * 2 / (size * (size - 1))
            start = end
