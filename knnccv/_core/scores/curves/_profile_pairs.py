# mypy: allow-untyped-defs
"""The profile of squared errors, shares of votes and Brier scores.

These scores are sums over samples, and pairs of samples, among the K nearest, over K or K^2. A sample is
among the K nearest with a probability that depends on its position, and a pair of samples with one that
depends on the farther of the two (`kernel.sampling.inclusion_law`). So their profile has two numbers for
every position i, which hold for all K and all training sizes: the sum of the terms of the samples there,
and of their pairs with nearer samples. In a tied group, averaged over all orders, all samples have the mean
of the group, and so have all pairs in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._base.parallel import stop_flag
from ...._base.typing import Array
from ....kernel import jit
from ._profile import Listed

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
