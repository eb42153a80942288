"""Draws of blocks of samples, and their scores; compiled."""

from __future__ import annotations

import numpy as np
from numba import types

from ..driver import DISTANCES, INTEGERS, ITEMS, SCORES
from ..kernel import CONSTRAINTS, DECIDE, KERNEL, LABELS, Order, jit
from ._draws import MISSED, draw_sets, estimate

_FLAG = types.Array(types.boolean, 1, "C")


@jit
def collect_draws(
    items,
    values,
    distances,
    lengths,
    targets,
    average_ties,
    strata_of,
    of_groups,
    sets,
    seed,
    kind,
    near,
    apart,
    found,
    reach,
    stop,
):
    """Fill the samples ``near`` (n_rows, n_draws, K) of the draws, their distances, and their numbers.

    Draws that go on beyond the list, or have fewer than K samples, are filled up with the last one.
    """
    chosen = np.empty(near.shape[1:], np.int64)
    for r in range(len(targets)):
        reach[r] = draw_sets(
            r,
            items,
            values,
            lengths[r],
            targets[r],
            average_ties,
            strata_of,
            of_groups,
            sets,
            seed,
            kind,
            chosen,
            found[r],
            stop,
        )
        if stop[0]:
            break
        for j in range(near.shape[1]):
            n = found[r, j]
            for i in range(near.shape[2]):
                at = chosen[j, min(i, n - 1)] if n > 0 else 0
                near[r, j, i] = items[r, at]
                apart[r, j, i] = distances[r, at]


_CUBE = types.Array(types.float64, 3, "C")
COLLECT_DRAWS = types.void(
    ITEMS,
    DISTANCES,
    DISTANCES,
    INTEGERS,
    INTEGERS,
    types.boolean,
    INTEGERS,
    types.boolean,
    CONSTRAINTS,
    types.uint64,
    types.int64,
    types.Array(types.int64, 3, "C"),
    _CUBE,
    types.Array(types.int64, 2, "C"),
    INTEGERS,
    _FLAG,
)


@jit
def score_draws(
    decide,
    kernel,
    has_decide,
    near,
    apart,
    found,
    targets,
    labels,
    constraints,
    scores,
    variances,
    missed,
    stop,
):
    """Estimate A_x of every row from its draws; ends early once ``stop[0]`` is set.

    ``constraints`` are those of a known training set, for `decide`, or for the `kernel` where the rule has
    no `decide`. ``missed`` is the share of the draws that go on beyond the list; they score 0.
    """
    n_draws, k = near.shape[1:]
    items, ends, distances = np.empty(k, np.int64), np.arange(1, k + 1), np.empty(k)
    single = np.empty(n_draws)
    for r in range(len(targets)):
        if stop[0]:
            break
        n_missed = 0
        for j in range(n_draws):
            n = found[r, j]
            if n == MISSED:
                n_missed += 1
                single[j] = 0.0
                continue
            for i in range(n):
                items[i], distances[i] = near[r, j, i], apart[r, j, i]
            if not has_decide:
                single[j] = kernel(Order(items[:n], ends[:n]), labels, targets[r], constraints)
            elif n == k:  # slices take time
                single[j] = decide(items, distances, labels, targets[r], constraints)
            else:
                single[j] = decide(items[:n], distances[:n], labels, targets[r], constraints)
        scores[r], variances[r] = estimate(single)
        missed[r] = n_missed / n_draws


SCORE_DRAWS = types.void(
    DECIDE,
    KERNEL,
    types.boolean,
    types.Array(types.int64, 3, "C"),
    _CUBE,
    types.Array(types.int64, 2, "C"),
    INTEGERS,
    LABELS,
    CONSTRAINTS,
    SCORES,
    SCORES,
    SCORES,
    _FLAG,
)


@jit
def kernel_unused(order, labels, target, constraints):  # noqa: ARG001
    """Stands for the kernel where the rule has a function `decide`."""
    return 0.0


@jit
def decide_unused(items, distances, labels, target, constraints):  # noqa: ARG001
    """Stands for `decide` where the kernel scores known training sets."""
    return 0.0
