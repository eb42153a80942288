"""Elementary symmetric polynomials of the chances that a class has no support nearer: compiled.

The other classes of an episode are a random subset. With S_c the probability that none of the K supports
of class c is nearer than a given own support, the probability that no other class is nearer is
``e_{N-1}({S_c}) / C(C-1, N-1)``. The polynomials are built class by class, ``e_k += S_c e_{k-1}``: sums of
positive products, no division. Many own supports stand side by side (`WIDTH`), so the inner loops are
over vectors.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit

WIDTH = 64


@jit
def add_polynomials(chances, weights, n_others, n_terms, polynomials, sums):
    """Add ``weights * e_k`` to ``sums[k]``, k < n_terms, for each of `WIDTH` own supports.

    ``chances`` (n_classes - 1, WIDTH) is S_c, ``polynomials`` (n_terms, WIDTH) is scratch. Cost per own
    support: n_others * (n_terms - 1).
    """
    polynomials[:n_terms] = 0.0
    polynomials[0] = 1.0
    for c in range(n_others):
        for k in range(min(c + 1, n_terms - 1), 0, -1):
            for p in range(WIDTH):
                polynomials[k, p] += chances[c, p] * polynomials[k - 1, p]
    for k in range(n_terms):
        for p in range(WIDTH):
            sums[k, p] += weights[p] * polynomials[k, p]


@jit
def add_without_each(chances, weights, n_others, functional, before, rest, sums):
    """Add the functional of the polynomials without class c to ``sums[c]``, for every other class c.

    ``sum_k functional[k] e_k({S_d : d != c})`` for all c from one pass forward and one back: ``before[c]``
    (n_terms, WIDTH) holds the polynomials of the classes before c, ``rest`` the functional after the
    classes behind c are multiplied in. Cost per own support: about 3 * n_others * n_terms.
    """
    n_terms = len(functional)
    before[0] = 0.0
    before[0, 0] = 1.0
    for c in range(n_others - 1):
        before[c + 1, 0] = 1.0
        for k in range(1, n_terms):
            for p in range(WIDTH):
                before[c + 1, k, p] = before[c, k, p] + chances[c, p] * before[c, k - 1, p]
    for k in range(n_terms):
        rest[k] = functional[k]
    for c in range(n_others - 1, -1, -1):
        for k in range(n_terms):
            for p in range(WIDTH):
                sums[c, p] += weights[p] * before[c, k, p] * rest[k, p]
        for k in range(n_terms - 1):
            for p in range(WIDTH):
                rest[k, p] += chances[c, p] * rest[k + 1, p]


@jit
def fill_none_nearer(sizes, starts, shots, out):
    """Fill in the probability that none of ``shots[c]`` drawn samples is among the g nearest of class c.

    ``C(n - g, K) / C(n, K)`` at ``out[starts[c] + g]``, as a product of K factors.
    """
    for c in range(len(sizes)):
        n = sizes[c]
        for g in range(n + 1):
            value = 1.0
            for k in range(shots[c]):
                value *= max(n - g - k, 0) / (n - k)
            out[starts[c] + g] = value


@jit
def fill_share_tied(n_tied, n_behind, n_nearer, n_shot, law):
    """Fill in the law of the tied samples among `n_shot` drawn ones, of which none is nearer.

    ``law[j]`` is ``C(tied, j) C(behind, K - j) / C(tied + behind + nearer, K)``, drawn one by one.
    """
    n = n_tied + n_behind + n_nearer
    law[: n_shot + 1] = 0.0
    law[0] = 1.0
    for k in range(n_shot):
        for j in range(k + 1, -1, -1):
            value = law[j] * max(n_behind - (k - j), 0) / (n - k)
            if j > 0:
                value += law[j - 1] * max(n_tied - (j - 1), 0) / (n - k)
            law[j] = value


@jit
def polynomial_at(law, degree, z):
    """The polynomial with these coefficients at z."""
    value = law[degree]
    for j in range(degree - 1, -1, -1):
        value = value * z + law[j]
    return value


def binomials(n: int, n_terms: int) -> np.ndarray:
    """C(n, k) for k < n_terms, as floats."""
    values = np.ones(n_terms)
    for k in range(1, n_terms):
        values[k] = values[k - 1] * (n - k + 1) / k
    return values
