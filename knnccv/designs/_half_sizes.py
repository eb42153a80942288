"""Training sizes of halves of the samples, with the same share of tested samples as in the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

SMALL_SHARE = Fraction(1, 10)
"""Training sets of at most this share of the samples keep their size in the halves.

A score at a small training size depends on that size more than on the share. The variance of the halves is
then too large, never too small.
"""


def n_train_in_half(n_train: Sequence[int], counts: Sequence[int], half: Sequence[int]) -> tuple[int, ...]:
    """Training samples of every stratum in a half of the samples.

    Parameters
    ----------
    n_train, counts : sequence of int, one entry per stratum
        Training samples, and all samples.
    half : sequence of int
        Samples of the half.

    Returns
    -------
    tuple of int
        At least one sample of the half is tested, and at least one trains. Shares of strata are rounded by
        the largest remainders.
    """
    if sum(n_train) <= SMALL_SHARE * sum(counts):
        same = [min(n, size) for n, size in zip(n_train, half, strict=True)]
        if not any(same):  # the half has no sample of the classes that train
            same[max(range(len(half)), key=half.__getitem__)] = 1
        return tuple(same)
    triples = zip(n_train, counts, half, strict=True)
    wanted = [Fraction((count - n) * size, count or 1) for n, count, size in triples]
    total = min(max(1, round(sum(wanted, Fraction(0)))), sum(half) - 1)
    tested = [math.floor(share) for share in wanted]
    by_remainder = sorted(range(len(wanted)), key=lambda c: tested[c] - wanted[c])
    for c in by_remainder:
        if sum(tested) < total and tested[c] < half[c]:
            tested[c] += 1
    for c in reversed(by_remainder):
        if sum(tested) > total and tested[c] > 0:
            tested[c] -= 1
    return tuple(size - n for size, n in zip(half, tested, strict=True))
