"""Training sets that are drawn for one tested sample, along its neighbor list; compiled.

A draw goes along the list and puts every position into the training set with the probability that it has,
given the positions before it, until the K nearest training samples are known. The draws of a replicate are
systematic: number j of n follows the decisions of u = (j + U) / n, where U is uniform in [0, 1). If u < p
the position is included, and u / p decides the rest, otherwise (u - p) / (1 - p). So each draw has the
right distribution, and the draws divide the decisions at the nearest positions, which matter most, nearly
in proportion to their probabilities. Replicates are independent, and their spread gives the variance.
"""

from __future__ import annotations

import numpy as np
from numba import types

from ..kernel import CONSTRAINTS, DECIDE, KERNEL, LABELS, Order, jit
from ._random_stream import start_stream, uniform
from ._rows import DISTANCES, INTEGERS, ITEMS, SCORES, fill_group_ends

USED_UP = 2.0**-20
"""Share of [0, 1) below which u has too few random bits left; fresh ones are drawn."""


@jit
def list_positions(items, values, length, average_ties, classes, n_strata, order, group_end, strata):
    """Fill the positions of a row, the ends of their tied groups, and the strata of their samples."""
    for i in range(length):
        order[i] = i
        group_end[i] = i + 1
        strata[i] = classes[items[i]] if n_strata > 1 else 0
    if average_ties:
        fill_group_ends(values, length, group_end)


@jit
def choose_extra(state, own, n_train, counts, extra, n_extra, need):
    """Add one to `need` for `n_extra` strata that are flagged in `extra`, given that `own` is tested.

    Training sets with an extra sample of the tested sample's own stratum leave it out less often.
    """
    n_flagged = 0
    for flag in extra:
        n_flagged += flag
    if extra[own] == 1:
        spared = counts[own] - n_train[own]
        with_own, without = n_extra * (spared - 1.0), (n_flagged - n_extra) * float(spared)
        n_flagged -= 1
        if uniform(state) * (with_own + without) < with_own:
            need[own] += 1
            n_extra -= 1
    for s in range(len(extra)):
        if extra[s] == 1 and s != own:
            if uniform(state) * n_flagged < n_extra:
                need[s] += 1
                n_extra -= 1
            n_flagged -= 1


@jit
def draw_nearest(u, state, order, group_end, strata, length, left, need, chosen):
    """Fill the positions of the nearest training samples of one draw; return how many the list has.

    ``left`` and ``need`` (n_strata,) are the samples of every stratum, and those in the training set; they
    are as before at the end. Tied samples come in random order.
    """
    wanted = len(chosen)
    unused = 1.0
    found = 0
    i = 0
    while i < length and found < wanted:
        n_tied = group_end[i] - i
        if n_tied > 1:
            j = i + int(uniform(state) * n_tied)
            order[i], order[j] = order[j], order[i]
        at = order[i]
        s = strata[at]
        n_left, n_need = left[s], need[s]
        left[s] = n_left - 1
        taken = n_need == n_left
        if 0 < n_need < n_left:
            scaled = u * n_left
            taken = scaled < n_need
            if taken:
                u = scaled / n_need
                unused *= n_need / n_left
            else:
                u = (scaled - n_need) / (n_left - n_need)
                unused *= (n_left - n_need) / n_left
            if unused < USED_UP:
                u = uniform(state)
                unused = 1.0
        if taken:
            need[s] = n_need - 1
            chosen[found] = at
            found += 1
        i += 1
    for j in range(i):
        left[strata[order[j]]] += 1
    for j in range(found):
        need[strata[chosen[j]]] += 1
    return found


@jit
def open_strata(own, n_train, counts, left, need):
    """Set `left` and `need` for a tested sample of the stratum `own`."""
    for s in range(len(counts)):
        left[s] = counts[s]
        need[s] = n_train[s]
    left[own] -= 1


@jit
def score_draws(
    decide,
    kernel,
    has_decide,
    items,
    values,
    distances,
    lengths,
    targets,
    average_ties,
    labels,
    sets,
    constraints,
    sizes,
    seed,
    kind,
    scores,
    variances,
    missed,
    stop,
):
    """Estimate A_x of every row from ``sizes.sum()`` draws, in ``len(sizes)`` independent replicates.

    ``sets`` are the constraints of the training sets that are drawn, ``constraints`` those of a known
    training set, which `decide` gets (or the `kernel`, where the rule has no `decide`). The estimate is the
    mean of the replicates' means, ``variances`` its estimated variance. ``missed`` is the share of the
    draws that go on beyond the list; they score 0.
    """
    depth = items.shape[1]
    k = sets.n_nearest
    n_strata = len(sets.counts)
    order, group_end, strata = np.empty((3, depth), np.int64)
    left, need = np.empty((2, n_strata), np.int64)
    near = np.empty(k, np.int64)
    ends = np.arange(1, k + 1)
    chosen = np.empty(k, np.int64)
    apart = np.empty(k, np.float64)
    means = np.empty(len(sizes))
    state = np.empty(1, np.uint64)
    for r in range(len(targets)):
        target = targets[r]
        own = labels.classes[target] if n_strata > 1 else 0
        list_positions(
            items[r],
            values[r],
            lengths[r],
            average_ties,
            labels.classes,
            n_strata,
            order,
            group_end,
            strata,
        )
        start_stream(state, seed, target, kind)
        open_strata(own, sets.n_train, sets.counts, left, need)
        share_missed = 0.0
        for g in range(len(sizes)):
            first = uniform(state)
            total = 0.0
            for j in range(sizes[g]):
                if stop[0]:
                    return
                if sets.n_extra > 0:
                    open_strata(own, sets.n_train, sets.counts, left, need)
                    choose_extra(state, own, sets.n_train, sets.counts, sets.extra, sets.n_extra, need)
                u = (j + first) / sizes[g]
                found = draw_nearest(u, state, order, group_end, strata, lengths[r], left, need, chosen)
                if found < k:
                    share_missed += 1.0 / (sizes[g] * len(sizes))
                    continue
                for n in range(k):
                    near[n] = items[r, chosen[n]]
                if has_decide:
                    for n in range(k):
                        apart[n] = distances[r, chosen[n]]
                    total += decide(near, apart, labels, target, constraints)
                else:
                    total += kernel(Order(near, ends), labels, target, constraints)
            means[g] = total / sizes[g]
        mean = means.mean()
        spread = 0.0
        for g in range(len(sizes)):
            spread += (means[g] - mean) ** 2
        scores[r] = mean
        variances[r] = spread / (len(sizes) * (len(sizes) - 1))
        missed[r] = share_missed


SCORE_DRAWS = types.void(
    DECIDE,
    KERNEL,
    types.boolean,
    ITEMS,
    DISTANCES,
    DISTANCES,
    INTEGERS,
    INTEGERS,
    types.boolean,
    LABELS,
    CONSTRAINTS,
    CONSTRAINTS,
    INTEGERS,
    types.uint64,
    types.int64,
    SCORES,
    SCORES,
    SCORES,
    types.Array(types.boolean, 1, "C"),
)


@jit
def score_kernel_unused(order, labels, target, constraints):  # noqa: ARG001
    """Stands for the kernel where the rule has a function `decide`."""
    return 0.0


@jit
def decide_unused(items, distances, labels, target, constraints):  # noqa: ARG001
    """Stands for `decide` where the kernel scores known training sets."""
    return 0.0
