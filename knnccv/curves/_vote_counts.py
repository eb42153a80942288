"""Counts of the ways in which K votes classify a sample correctly, for eight samples at once.

Rows of binomial coefficients are carried along the neighbor list as rows of Pascal's triangle, C(g, b)
rho^b; rho is halved now and then, so that the numbers stay near 1. Eight samples of one class are processed
together (the *lanes*, `kernel.simd`), so that every multiplication and addition is one vector instruction.

P_x(K, i) C(i, K) = sum_t C(g(tested class), t) F_t(K - t), where F_t(s) counts the ways to choose s votes
of the other classes such that none of them outvotes t. All terms are positive. For small s no class can
outvote t, and F_t(s) is C(i - g(tested class), s). For two other classes F_{t+1}(s) is F_t(s) and two more
products.
"""

from __future__ import annotations

from ..kernel import jit
from ..kernel.simd import LANES, add_product, everywhere, load, store


@jit
def advance(rows, first, length, hits):
    """Move rows of Pascal's triangle, times rho^b, on by one sample in the lanes that have a hit."""
    for b in range(first + length - 1, first, -1):
        store(rows, b, add_product(load(rows, b), load(rows, b - 1), hits))


@jit
def halve(rows, first, length):
    """Halve rho; exact."""
    factor = 1.0
    for b in range(1, length):
        factor *= 0.5
        store(rows, first + b, add_product(everywhere(0.0), load(rows, first + b), everywhere(factor)))


@jit
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


@jit
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


@jit
def add_beaten_by_none(own, others, length, wins_ties, seen_classes, counts, margin, low, high, work, wins):
    """The same for any number of other classes, by a truncated product for every number of own votes."""
    for t in range(1, (high + margin - 1) // 2 + 1):
        max_others = high - t
        top = 0
        store(work, 0, everywhere(1.0))
        for j in seen_classes:
            limit = min(t - wins_ties[j], counts[j])
            reached = min(top + limit, max_others)
            for degree in range(reached, -1, -1):
                ways = load(work, degree) if degree <= top else everywhere(0.0)
                for b in range(max(1, degree - top), min(degree, limit) + 1):
                    ways = add_product(ways, load(work, degree - b), load(others, j * length + b))
                store(work, degree, ways)
            top = reached
        for s in range(max(t - margin + 1, low - t), top + 1):
            store(wins, t + s, add_product(load(wins, t + s), load(own, t), load(work, s)))


@jit
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
