"""Stratified training sets of several designs, with a table of hypergeometric distributions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..kernel import jit
from ..sampling import fill_hypergeometric

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
