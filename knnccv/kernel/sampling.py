# mypy: allow-untyped-defs
"""Sampling without replacement, as recurrences in which every term is positive.

A kernel walks along the neighbor order. A stratum has ``available`` samples, of which ``n_train`` are in
the training set T; the walk has passed ``seen`` of them, and b of these are in T. The next one is in T with
probability (n_train - b) / (available - seen). Every formula of the papers is a product of such steps. In
this form no binomial coefficient is needed, nothing cancels and nothing overflows, and on Fractions the
same lines are exact.

Random numbers for compiled code are those of SplitMix64 (Steele, Lea and Flood 2014): ``state[0]`` is the
state, and advances.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from .._base.typing import Array
from .._base.validation import check_integer
from . import as_python, inner, jit

__all__ = [
    "Inclusion",
    "expected_position",
    "fill_binomial",
    "fill_hypergeometric",
    "fixed_tail",
    "inclusion_law",
    "multiply_into",
    "place_of",
    "position_law",
    "rounding_allowance",
    "step_by_thinning",
    "step_without_replacement",
    "stratified_tails",
    "tie_times",
]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MAX_KEPT_TAILS = 256
"""Lists shorter than this are looked up by the numbers of their two classes."""


@inner
def total_of(numbers):
    """The sum of numbers (n,), one added after the other: NumPy's own, not compiled, has other bits."""
    total = 0  # not NumPy's, which would make Fractions of fixed size
    for number in numbers:
        total += number
    return total


@inner
def step_without_replacement(row, seen, n_train, available):
    """Advance ``row[b]`` = P(b of the first `seen` samples of the stratum are in T) to ``seen + 1``.

    It builds a hypergeometric distribution sample by sample; probability beyond the row's end is dropped.
    O(len(row)).
    """
    left = available - seen
    for b in range(len(row) - 1, 0, -1):
        row[b] = (row[b] * (left - n_train + b) + row[b - 1] * (n_train - b + 1)) / left
    row[0] = row[0] * (left - n_train) / left


@inner
def place_of(c, places, seen, n_seen):
    """The index of class c in ``seen[:n_seen]``, or `n_seen` if it is not there; O(1).

    ``places[seen[p]] == p``; all other entries of `places` may hold any value, so that the array needs no
    initialization (Briggs & Torczon, "An efficient representation for sparse sets", 1993).
    """
    place = places[c]
    if 0 <= place < n_seen and seen[place] == c:
        return place
    return n_seen


@inner
def step_by_thinning(rows, row, top, miss, hit):
    """Advance ``rows[row, b]``, the weight of choosing b of the samples so far, by one sample; b <= `top`.

    With ``miss = 1 - hit`` it builds a binomial distribution; with both 1, a row of Pascal's triangle. A
    slice as argument would cost a counted reference in every step.
    """
    for b in range(top, 0, -1):
        rows[row, b] = rows[row, b] * miss + rows[row, b - 1] * hit
    rows[row, 0] = rows[row, 0] * miss


@inner
def multiply_into(product, row, limit):
    """Multiply the polynomial `product` in place by ``row[0] .. row[limit]``; it keeps its length."""
    for degree in range(len(product) - 1, -1, -1):
        coefficient = product[degree] * row[0]
        for b in range(1, min(degree, limit) + 1):
            coefficient += product[degree - b] * row[b]
        product[degree] = coefficient


@inner
def fill_hypergeometric(law, marked, n_train, available, unit):
    """Fill ``law[w]`` = P(w of `marked` samples are in T), for `n_train` drawn of `available`; O(marked).

    The recurrence starts at the mode and is scaled to sum 1, so that no relevant term underflows.
    """
    min_chosen = max(0, n_train - (available - marked))
    max_chosen = min(marked, n_train)
    mode = min(max((marked + 1) * (n_train + 1) // (available + 2), min_chosen), max_chosen)
    law[mode] = unit
    total = unit * 1
    for w in range(mode, max_chosen):
        rest = available - marked - n_train + w + 1
        law[w + 1] = law[w] * (marked - w) * (n_train - w) / (w + 1) / rest
        total += law[w + 1]
    for w in range(mode, min_chosen, -1):
        rest = available - marked - n_train + w
        law[w - 1] = law[w] * w * rest / (marked - w + 1) / (n_train - w + 1)
        total += law[w - 1]
    for w in range(min_chosen, max_chosen + 1):
        law[w] = law[w] / total


@jit
def fill_binomial(law, rate):
    """Fill ``law[b]`` = P(b of ``len(law) - 1`` samples are taken, each at this rate), scaled to sum 1."""
    n = len(law) - 1
    mode = min(int((n + 1) * rate), n)
    odds = rate / (1 - rate)
    law[mode] = 1.0
    for b in range(mode, n):
        law[b + 1] = law[b] * (n - b) / (b + 1) * odds
    for b in range(mode, 0, -1):
        law[b - 1] = law[b] * b / (n - b + 1) / odds
    total = total_of(law)
    for b in range(n + 1):
        law[b] /= total


@jit
def _fill_position_law(law, n_available, n_train, k, unit):
    """Fill ``law[i - 1]`` = Pi_{K,alpha}(i) for i = 1 .. n_available, up to a common factor.

    The recurrence starts at the mode: the first probability may be too small for a double.
    """
    last = n_available - n_train + k
    mode = k
    if n_train > 1:
        mode = min(max((k - 1) * n_available // (n_train - 1) + 1, k), last)
    law[mode - 1] = unit
    for i in range(mode, last):
        law[i] = law[i - 1] * i * (n_available - i - n_train + k) / (n_available - i) / (i - k + 1)
    for i in range(mode - 1, k - 1, -1):
        law[i - 1] = law[i] * (n_available - i) * (i - k + 1) / (n_available - i - n_train + k) / i


@jit
def _gauss_legendre(n):
    """Gauss-Legendre nodes and weights on [0, 1], by Newton's method; O(n^2)."""
    nodes, weights = np.empty(n), np.empty(n)
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        slope = 1.0
        for _ in range(100):
            before, here = 1.0, x
            for j in range(2, n + 1):
                before, here = here, ((2 * j - 1) * x * here - (j - 1) * before) / j
            slope = n * (x * here - before) / (x * x - 1)
            step = here / slope
            x -= step
            if abs(step) < 1e-15:
                break
        nodes[i] = (1 - x) / 2
        weights[i] = 1 / ((1 - x * x) * slope * slope)
    return nodes, weights


@functools.lru_cache(maxsize=128)
def _newton_cotes(size: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The interpolating quadrature at `size` equidistant inner nodes of [0, 1], in rational numbers."""
    nodes = [Fraction(i + 1, size + 1) for i in range(size)]
    weights = []
    for i, node in enumerate(nodes):
        polynomial = [Fraction(1)]  # 1 at the node, 0 at the others
        for j, other in enumerate(nodes):
            if j != i:
                scale = node - other
                shifted = [Fraction(0), *(c / scale for c in polynomial)]
                polynomial = [
                    a - b * other / scale for a, b in zip(shifted, [*polynomial, Fraction(0)], strict=True)
                ]
        weights.append(sum((c / (power + 1) for power, c in enumerate(polynomial)), Fraction(0)))
    return tuple(nodes), tuple(weights)


def tie_times(size: int, unit: Any) -> tuple[Any, Any]:
    """The quadrature that integrates every polynomial of degree below `size` over [0, 1] exactly.

    Independent uniform times order tied samples at random. An expected score is then such an integral over
    the time of the sample that decides. Compiled kernels can call this function.

    Parameters
    ----------
    size : int
        Number of tied samples, at least 1.
    unit : float or Fraction
        1.0 for floats (Gauss-Legendre: half as many nodes, positive weights), ``Fraction(1)`` for exact
        rational numbers (`size` equidistant nodes).

    Returns
    -------
    nodes, weights : ndarray, or tuples of Fraction
    """
    if isinstance(unit, Fraction):
        return _newton_cotes(size)
    return _gauss_legendre((size + 1) // 2)  # type: ignore[no-any-return]


@overload(tie_times)
def _tie_times_compiled(size, unit):  # noqa: ARG001
    return lambda size, unit: _gauss_legendre((size + 1) // 2)  # noqa: ARG005


def position_law(n_available: int, n_train: int, k: int, number: type = float) -> Array:
    """The distribution of the position of the K-th nearest training sample.

    Parameters
    ----------
    n_available : int
        Number of samples that the training set is drawn from (M).
    n_train : int
        Size of the training set (alpha), at most `n_available`.
    k : int
        Rank of the training sample (K), 1 to `n_train`.
    number : type
        float or Fraction.

    Returns
    -------
    ndarray of shape (n_available,)
        At i - 1 the probability that the K-th nearest training sample is the sample at position i:
        C(i-1, K-1) C(M-i, alpha-K) / C(M, alpha). For K = 1 the weights of ICML eq. 4. O(M).
    """
    check_integer("k", k, 1, n_train, "the size of the training set")
    if number is Fraction:
        law = np.full(n_available, Fraction(0), dtype=object)
        as_python(_fill_position_law)(law, n_available, n_train, k, Fraction(1))
        return law / sum(law, Fraction(0))  # type: ignore[no-any-return]
    law = np.zeros(n_available)
    _fill_position_law(law, n_available, n_train, k, 1.0)
    return law / law.sum()  # type: ignore[no-any-return]


class Inclusion(NamedTuple):
    """Two probabilities of every position.

    ``single``
        P(the sample at the position is among the K nearest of T).
    ``with_nearer``
        P(it and a given nearer sample both are). It depends on the farther sample only.
    """

    single: Array
    with_nearer: Array


def inclusion_law(n_available: int, n_train: int, k: int, number: type = float) -> Inclusion:
    """The probabilities that samples, and pairs, are among the K nearest; arguments as for `position_law`.

    Given that the K-th nearest is at position p, the K - 1 others are a uniform subset of the p - 1 nearer
    samples, so both are sums of positive terms over p.
    """
    law = position_law(n_available, n_train, k, number)
    nearer = np.arange(n_available, dtype=object if number is Fraction else np.int64)  # before position p
    one = law * (k - 1) / np.maximum(nearer, 1)
    two = one * (k - 2) / np.maximum(nearer - 1, 1) if k > 1 else one * 0
    return Inclusion(law + _after(one), one + _after(two))


def _after(terms: Array) -> Array:
    """At i the sum of the terms at the positions after it."""
    sums = np.cumsum(terms[::-1])[::-1]
    return np.concatenate([sums[1:], sums[:1] * 0])


def fixed_tail(n_available: int, n_train: int, nearest: int) -> Array:
    """The probability that positions beyond a depth matter, for training sets of one fixed size.

    Returns
    -------
    ndarray of shape (n_available + 1,)
        At m the probability that fewer than `nearest` of the first m positions are in the training set.
        The sums start at the far end, so that small tails keep their relative accuracy.
    """
    tail = np.zeros(n_available + 1)
    law = position_law(n_available, n_train, min(nearest, n_train))
    tail[:-1] = np.cumsum(law[::-1])[::-1]
    return np.minimum(tail, 1.0)


@jit
def stratified_tails(items, lengths, targets, labels, constraints, nearest, out):
    """Fill ``out[r]`` = P(fewer than `nearest` of the samples listed in row r are in T).

    T is stratified by class. O(depth * nearest + classes seen * nearest^2) per row; with two classes, once
    for every number of samples of each class.
    """
    n_strata = len(constraints.counts)
    rows = np.zeros((n_strata, nearest))
    passed = np.zeros(n_strata, np.int64)
    seen_classes = np.empty(n_strata, np.int64)
    product = np.zeros(nearest)
    size = items.shape[1] + 1 if n_strata == 2 and items.shape[1] < MAX_KEPT_TAILS else 0
    kept = np.full((2, size, size), np.nan)  # by the tested class, and the samples of each class
    n_others = total_of(constraints.counts) - constraints.held_out
    for r in range(len(targets)):
        if lengths[r] >= n_others:  # all are listed; the walk below counts no samples beyond `n_train`
            out[r] = 0.0
            continue
        own_class = labels.classes[targets[r]]
        n_ones = 0
        if size > 0:
            for position in range(lengths[r]):
                n_ones += labels.classes[items[r, position]]
            known = kept[own_class, lengths[r] - n_ones, n_ones]
            if not np.isnan(known):
                out[r] = known
                continue
        n_seen_classes = 0
        for position in range(lengths[r]):
            c = labels.classes[items[r, position]]
            available = constraints.counts[c]
            if c == own_class:
                available -= constraints.held_out
            if passed[c] == 0:
                seen_classes[n_seen_classes] = c
                n_seen_classes += 1
                rows[c, :] = 0.0
                rows[c, 0] = 1.0
            step_without_replacement(rows[c], passed[c], constraints.n_train[c], available)
            passed[c] += 1
        product[:] = 0.0
        product[0] = 1.0
        if size > 0 and n_seen_classes == 2:  # the same product whichever class comes first
            seen_classes[0], seen_classes[1] = 0, 1
        for s in range(n_seen_classes):
            multiply_into(product, rows[seen_classes[s]], nearest - 1)
            passed[seen_classes[s]] = 0
        if size > 0:
            kept[own_class, lengths[r] - n_ones, n_ones] = min(total_of(product), 1.0)
        out[r] = min(total_of(product), 1.0)


def expected_position(n_available: int, n_train: int, k: int) -> float:
    """Mean position of the K-th nearest training sample: K (M + 1) / (alpha + 1)."""
    return k * (n_available + 1) / (n_train + 1)


def rounding_allowance(k: int, walked: float, largest: float) -> float:
    """Bound, to first order, of the rounding errors of one A_x in double precision.

    It allows a few roundings for every position walked, for the K (K + 1) / 2 products of a vote, and for
    underflow.
    """
    steps = 1.0 + walked + k * (k + 1) / 2
    limits = np.finfo(float)
    return float(16 * limits.eps * steps * largest + steps * float(limits.smallest_subnormal))


@inner
def scramble(number):
    """The output function, a bijection of 64 bits."""
    z = number
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def random_word(state):
    """64 random bits; advances ``state[0]``."""
    state[0] += GOLDEN
    return scramble(state[0])


@inner
def random_below(state, n):
    """A random integer below n, for n up to 2**32."""
    return np.int64(((random_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit
def uniform(state):
    """A random number of 53 bits in [0, 1); advances ``state[0]``."""
    return float(random_word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
